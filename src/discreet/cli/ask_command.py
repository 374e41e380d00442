"""``discreet ask``: one private answer from a service."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from discreet.answers.release import Release
from discreet.cli import answer_output, option_values
from discreet.cli.amount_texts import amount
from discreet.cli.messages import print_line, working
from discreet.cli.options import (
    COST,
    Confidence,
    Epsilon,
    Format,
    Fresh,
    Output,
    Picture,
    Printed,
    Rho,
    argument,
    option,
    taking,
)
from discreet.cli.standard_output import json_text, write_output
from discreet.cli.verb_answers import VerbAnswer, write_files
from discreet.client.connect import RemoteService, connect
from discreet.curator.public_data import public_keys
from discreet.errors import DiscreetError, InvalidParameter, expected
from discreet.planning.planner import level
from discreet.query.question import Question
from discreet.query.read_question import question as read_question
from discreet.query.unpriced_question import UnpricedQuestion
from discreet.service.asked_tables import as_one
from discreet.statements.dialects import dialect_named
from discreet.statements.sql_translation import lower

app = typer.Typer(add_completion=False)


@dataclass(frozen=True, kw_only=True)
class ServiceQuestion:
    """A question to a service, as it is written on the command line."""

    url: Annotated[str, argument("URL", "The service: https, or http on this machine.")]
    statement: Annotated[str | None, argument("SQL", "One SELECT; data sets are its tables.")] = None
    document: Annotated[str | None, option("FILE", "A question as a document, of any kind, instead of SQL.")] = None
    public_keys: Annotated[
        list[str] | None, option("NAME=FILE", "Public keys that the document names, as the curator marked them.")
    ] = None
    token_file: Annotated[str, option("FILE", "A file that holds your token and nothing else.")]
    epsilon: Epsilon = None
    within: Annotated[
        list[str] | None, option("COLUMN=NUMBER", "By how much it may be off, instead of epsilon.", COST)
    ] = None
    rho: Rho = None
    delta: Annotated[str, option("NUMBER", "For Gaussian noise.", COST)] = "0"
    fresh: Fresh = False
    explain: Annotated[bool, option(None, "Show error and cost; nothing is sent and charged.", COST, "--explain")] = (
        False
    )
    keys: Annotated[
        list[str] | None, option("GROUP=A,B", "The public keys of a group that declares none, or unknown; \\N is NULL.")
    ] = None
    max_groups: Annotated[int | None, option("N", "In how many groups one unit counts.")] = None
    max_rows: Annotated[int | None, option("N", "With how many rows in each of them.")] = None
    dialect: Annotated[str, option("NAME", "Of the SQL: duckdb, postgres or spark.")] = "duckdb"
    confidence: Confidence = "0.95"
    format: Printed = Format.TABLE
    output: Output = None
    plot: Picture = None


@app.command()
@taking(ServiceQuestion)
def ask(asked: ServiceQuestion) -> None:
    """Ask a service a SELECT statement, or a question in a document, and print its answer with error bars.

    The service keeps the budget and charges it; a request that is lost on the way is charged once. The answer goes to
    standard output, what was charged and what is left to standard error.

    Exit codes: 0, answered; 1, a file could not be written; 2, refused (nothing was spent, unless the message says so);
    130, interrupted.
    """
    price = _price(asked)
    if asked.explain and asked.format is Format.CSV:
        raise InvalidParameter(expected("table or json", "format", "csv", "an explanation is no table of rows."))
    answer_output.check_files(asked, kept=(asked.token_file, asked.document))
    with connect(asked.url, token=_token(asked.token_file)) as service:
        question = _question(service, asked) if asked.document is None else _read(service, asked, asked.document)
        if asked.document is not None:
            _check_price(question, price, asked)
        if asked.explain:
            account = question.explain(**price)
            facts = {name: fact for name, fact in account.items() if name != "sql"}
            write_output(json_text(facts) if asked.format is Format.JSON else f"{account!r}\n")
            return
        with working("waiting for the service"):
            answer = _printable(question.release(**price, fresh=asked.fresh), asked)
        write_output(answer_output.PRINTED[asked.format](answer))
        with suppress(DiscreetError):  # the answer is paid for and printed, and the account is for people
            print_line(_account(service))
        write_files(answer, asked, "Repeat the command: the service gives it again for nothing.")


def _price(asked: ServiceQuestion) -> dict[str, Any]:
    """What the answer may cost, or how good it has to be."""
    texts = {"epsilon": asked.epsilon, "rho": asked.rho}
    price: dict[str, Any] = {name: amount(name, text) for name, text in texts.items() if text is not None}
    if asked.within:
        wanted = option_values.columns("within", asked.within, "n=25")
        price["within"] = {name: amount("within", text) for name, text in wanted.items()}
    if len(price) != 1:
        raise InvalidParameter(
            expected("--epsilon, --rho or --within", "price", sorted(price), "write --epsilon 0.1, or --within n=25.")
        )
    confidence = level(amount("confidence", asked.confidence))
    return price | {"delta": amount("delta", asked.delta), "confidence": confidence}


def _question(service: RemoteService, asked: ServiceQuestion) -> Question:
    """The checked question; nothing is spent."""
    if asked.statement is None:
        cure = 'write discreet ask URL "SELECT ...", or --document question.json.'
        raise InvalidParameter(expected("SQL or a document", "arguments", None, cure))
    statement = lower(asked.statement, service.tables_in(asked.statement), dialect_named(asked.dialect))
    if option_values.key_file(asked.keys or ()) is not None:
        cure = "list them, --keys plan=free,25%; a file of keys is for its curator to declare."
        raise InvalidParameter(expected("keys that are listed, or unknown", "keys", asked.keys, cure))
    keys = option_values.stated_keys(asked.keys or (), statement.kinds)
    limits = {"max_groups": asked.max_groups, "max_rows": asked.max_rows}
    return statement.question(keys=keys, **{name: one for name, one in limits.items() if one is not None})


def _read(service: RemoteService, asked: ServiceQuestion, path: str) -> Any:
    """The question of a document; nothing is spent."""
    stated = (asked.statement, *(asked.keys or ()), asked.max_groups, asked.max_rows)
    if any(one is not None for one in stated):
        cure = "a document says all of it: leave SQL, --keys, --max-groups and --max-rows out."
        raise InvalidParameter(expected("a document alone", "document", path, cure))
    try:
        text = Path(path).read_text(encoding="utf-8")
        document = json.loads(text)
    except (OSError, ValueError, RecursionError):
        cure = "write one, json.dump(question.document(), file)."
        raise InvalidParameter(expected("a file with a document", "document", path, cure)) from None
    files = option_values.columns("public-keys", asked.public_keys or (), "places=places.parquet")
    keys = {name: public_keys(file, name=name) for name, file in files.items()}
    return read_question(document, {**keys, **service.tables_in(text)})


def _check_price(question: Any, price: dict[str, Any], asked: ServiceQuestion) -> None:
    """Leaves out what the kind of question has no use for, or refuses it."""
    if asked.plot is not None and not isinstance(question, Question):
        raise InvalidParameter(expected("an answer with a picture", "plot", asked.plot, "leave --plot out."))
    if isinstance(question, UnpricedQuestion):
        if "within" in price:
            cure = "write --epsilon 0.1; --explain says how good that is."
            raise InvalidParameter(expected("--epsilon or --rho", "within", asked.within, cure))
        if not asked.explain:
            del price["confidence"]  # of what is printed, not of the release


def _printable(answer: Any, asked: ServiceQuestion) -> Any:
    """An answer with all that is asked of one here."""
    if isinstance(answer, Release):
        return answer
    return VerbAnswer(as_one(answer), level(amount("confidence", asked.confidence)))


def _account(service: RemoteService) -> str:
    """One line on what was charged, to whom, and what is left."""
    latest = service.latest or {}
    level = service.budget(latest["dataset"])[-1]
    what = f"Charged {_amounts(latest['cost'])}" if latest["paid"] else "Repeated, nothing charged"
    return f"{what}; of {level['level']} {level['name']!r}, {_amounts(level['remaining'] or {})} remains."


def _amounts(told: Mapping[str, str]) -> str:
    """Amounts that are not 0; the first of them, where all are."""
    shown = {name: one for name, one in told.items() if one != "0"} or dict(list(told.items())[:1])
    return ", ".join(f"{name}={one}" for name, one in shown.items())


def _token(path: str) -> str:
    """The token in a file."""
    try:
        return Path(path).read_text(encoding="utf-8").strip()
    except (OSError, ValueError):
        cure = "write the token into a file that only you can read, and name it."
        raise InvalidParameter(expected("a file with a token", "token-file", path, cure)) from None
