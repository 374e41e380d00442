"""``discreet truncated-total``: rows or amounts of which one unit may have any number."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import typer

from discreet.cli.options import argument, option, taking
from discreet.cli.verb_answers import VerbOptions, answer
from discreet.cli.verb_statements import statement_of, values_of
from discreet.errors import InvalidParameter, InvalidQuery, expected
from discreet.query.table import PrivateTable

app = typer.Typer(add_completion=False)

CHOSEN = ("auto", "race")


@dataclass(frozen=True, kw_only=True)
class TotalOptions(VerbOptions):
    """A total of a file, and how a limit on one unit's part of it is found."""

    statement: Annotated[str | None, argument("SQL", "One SELECT of a count or a sum.")] = None
    limit: Annotated[str, option("N", "How much of one unit counts; chosen with auto, and with race by R2T.")] = "auto"
    most: Annotated[int | None, option("N", "The largest limit that is tried.")] = None


@app.command()
@taking(TotalOptions)
def truncated_total(asked: TotalOptions) -> None:
    """Print how many rows there are, or what amounts add up to, where one unit may have any number: a bound from below.

    The statement has one column, COUNT(*) or SUM(...), and no groups. No --max-rows is needed: what one unit has is cut
    where noise says. Exit codes: 0, answered; 1, an output file could not be written; 2, refused (nothing was spent,
    unless the message says so); 130, interrupted.
    """

    def question(asked: Any, table: PrivateTable) -> Any:
        statement = statement_of(asked, table, str(asked.statement))
        values = values_of(statement)
        if statement.groups or len(values) != 1:
            cure = "write SELECT SUM(visits) FROM data WHERE age >= 18."
            raise InvalidQuery(expected("one count or sum, without GROUP BY", "SQL", asked.statement, cure))
        [value] = values.values()
        return statement.table.truncated_total(value, limit=_limit(asked.limit), most=asked.most)

    answer(asked, question)


def _limit(text: str) -> int | str:
    if text in CHOSEN:
        return text
    if not text.isascii() or not text.isdigit():
        raise InvalidParameter(expected("a whole number, auto or race", "limit", text, "write --limit 100."))
    return int(text)
