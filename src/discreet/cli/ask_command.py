"""``discreet ask``: one private answer from a service."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from discreet.cli import answer_output
from discreet.cli.amount_texts import amount
from discreet.cli.messages import working
from discreet.cli.options import ANSWER, COST, Format, taking
from discreet.cli.standard_output import json_text, written
from discreet.client.connect import connect
from discreet.errors import InvalidParameter, expected

app = typer.Typer(add_completion=False)


@dataclass(frozen=True, kw_only=True)
class ServiceQuestion:
    """A question to a service, as it is written on the command line."""

    url: Annotated[str, typer.Argument(metavar="URL", help="The service: https, or http on this machine.")]
    statement: Annotated[str, typer.Argument(metavar="SQL", help="One SELECT; data sets are its tables.")]
    token_file: Annotated[str, typer.Option(metavar="FILE", help="A file that holds your token and nothing else.")]
    epsilon: Annotated[
        str | None, typer.Option(metavar="NUMBER", help="What the answer may cost.", rich_help_panel=COST)
    ] = None
    rho: Annotated[
        str | None, typer.Option(metavar="NUMBER", help="The same in rho, instead of epsilon.", rich_help_panel=COST)
    ] = None
    delta: Annotated[str, typer.Option(metavar="NUMBER", help="For Gaussian noise.", rich_help_panel=COST)] = "0"
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Draw and pay anew for a repeated question.", rich_help_panel=COST)
    ] = False
    explain: Annotated[
        bool, typer.Option("--explain", help="Show error and cost; nothing is sent and charged.", rich_help_panel=COST)
    ] = False
    max_groups: Annotated[int | None, typer.Option(metavar="N", help="In how many groups one unit counts.")] = None
    max_rows: Annotated[int | None, typer.Option(metavar="N", help="With how many rows in each of them.")] = None
    dialect: Annotated[str, typer.Option(metavar="NAME", help="Of the SQL: duckdb, postgres or spark.")] = "duckdb"
    confidence: Annotated[str, typer.Option(metavar="NUMBER", help="Of the intervals.", rich_help_panel=ANSWER)] = (
        "0.95"
    )
    format: Annotated[Format, typer.Option(help="How it is printed.", rich_help_panel=ANSWER)] = Format.TABLE


@app.command()
@taking(ServiceQuestion)
def ask(asked: ServiceQuestion) -> None:
    """Ask a service a SELECT statement, and print its answer with error bars.

    The service keeps the budget and charges it; a request that is lost on the way is charged once. Exit codes: 0,
    answered; 2, refused (nothing was spent, unless the message says so); 130, interrupted.
    """
    prices = {"epsilon": asked.epsilon, "rho": asked.rho}
    price: dict[str, Any] = {name: amount(name, text) for name, text in prices.items() if text is not None}
    if len(price) != 1:
        raise InvalidParameter(expected("--epsilon or --rho", "price", sorted(price), "write --epsilon 0.1."))
    price |= {"delta": amount("delta", asked.delta), "confidence": float(amount("confidence", asked.confidence))}
    if asked.explain and asked.format is Format.CSV:
        raise InvalidParameter(expected("table or json", "format", "csv", "an explanation is no table of rows."))
    with connect(asked.url, token=_token(asked.token_file)) as service:
        limits = {"max_groups": asked.max_groups, "max_rows": asked.max_rows}
        question = service.sql(asked.statement, dialect=asked.dialect, **limits)  # type: ignore[arg-type]  # numbers, or none
        if asked.explain:
            account = question.explain(**price)
            facts = {name: fact for name, fact in account.items() if name != "sql"}
            written(json_text(facts) if asked.format is Format.JSON else f"{account!r}\n")
            return
        with working("waiting for the service"):
            answer = question.release(**price, fresh=asked.fresh)
        written(answer_output.PRINTED[asked.format](answer))


def _token(path: str) -> str:
    """The token in a file."""
    try:
        return Path(path).read_text(encoding="utf-8").strip()
    except (OSError, ValueError):
        cure = "write the token into a file that only you can read, and name it."
        raise InvalidParameter(expected("a file with a token", "token-file", path, cure)) from None
