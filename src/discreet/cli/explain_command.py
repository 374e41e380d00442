"""``discreet explain``: what ``discreet query`` would do and cost."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import typer

from discreet.cli import accounts, table_option
from discreet.cli.amount_texts import amount
from discreet.cli.asking import question
from discreet.cli.messages import print_line
from discreet.cli.options import Format, QueryOptions, option, taking
from discreet.cli.standard_output import json_text, write_output
from discreet.errors import InvalidParameter, expected, printable
from discreet.ledger.ledger_location import place_text as ledger_told

app = typer.Typer(add_completion=False)


@dataclass(frozen=True, kw_only=True)
class Considered(QueryOptions):
    """A question about a file that is only considered."""

    rows_assumed: Annotated[int | None, option("N", "Show the errors for a group of N rows.")] = None
    sql: Annotated[bool, option(None, "Show the statement that DuckDB would run.", None, "--sql")] = False


@app.command()
@taking(Considered)
def explain(asked: Considered) -> None:
    """Show mechanism, sensitivity, noise, error bars and cost of a query, from public facts alone.

    Takes the options of query, so that only the word has to be replaced; reads no row, spends nothing and writes no
    file. Exit codes: 0, explained; 2, refused.
    """
    if asked.format is Format.CSV:
        raise InvalidParameter(expected("table or json", "format", "csv", "an explanation is no table of rows."))
    asked = table_option.settled(asked, make=False)
    found = accounts.recorded(asked)
    account = question(asked, accounts.this_question_alone(asked)).explain(
        **accounts.price(asked),
        delta=amount("delta", asked.delta),
        confidence=float(amount("confidence", asked.confidence)),
        assume=None if asked.rows_assumed is None else {"rows": asked.rows_assumed},
    )
    if asked.format is Format.JSON:
        facts = dict(account) if asked.sql else {name: fact for name, fact in account.items() if name != "sql"}
        write_output(json_text(facts))
    else:
        statement = [printable(line) for line in account["sql"].split("\n")] if asked.sql else []
        write_output("\n".join([repr(account), "", *statement]).rstrip() + "\n")
    if found is not None and asked.ledger is not None:
        print_line(f"{ledger_told(asked.ledger)}: {accounts.balance(found)}.")
