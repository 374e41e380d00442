"""``discreet choose``: the largest column of a statement, without a number."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import typer

from discreet.cli.options import argument, taking
from discreet.cli.verb_answers import VerbOptions, answer
from discreet.cli.verb_statements import not_of_a_row, statement_of, values_of
from discreet.errors import InvalidQuery, expected
from discreet.query.table import PrivateTable

app = typer.Typer(add_completion=False)


@dataclass(frozen=True, kw_only=True)
class ChoiceOptions(VerbOptions):
    """Candidates, each with a count or a sum of a file that is its score."""

    statement: Annotated[str | None, argument("SQL", "One SELECT of counts and sums: a column for each candidate.")] = (
        None
    )


@app.command()
@taking(ChoiceOptions)
def choose(asked: ChoiceOptions) -> None:
    """Print which column of a SELECT is the largest, by the exponential mechanism, and none of its numbers.

    Each column is a candidate, and its score COUNT(*) FILTER (WHERE ...) or SUM(...); the answer is the name of one of
    them. Many candidates cost next to no more than two. Exit codes: 0, answered; 1, an output file could not be
    written; 2, refused (nothing was spent, unless the message says so); 130, interrupted.
    """

    def question(asked: Any, table: PrivateTable) -> Any:
        statement = statement_of(asked, table, str(asked.statement))
        if statement.groups or asked.where is not None:
            cure = "write a column for each candidate, and conditions in WHERE."
            raise InvalidQuery(expected("a statement without GROUP BY, and no --where", "SQL", asked.statement, cure))
        scores = values_of(statement)
        for name in (name for name, value in scores.items() if value is None):
            raise not_of_a_row(name)
        return statement.table.choose(list(scores), score=scores.__getitem__)

    answer(asked, question)
