"""``discreet count-distinct``: how many values of a column occur that nobody listed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import typer

from discreet.cli.options import option, taking
from discreet.cli.verb_answers import Column, VerbOptions, answer
from discreet.query.table import PrivateTable

app = typer.Typer(add_completion=False)


@dataclass(frozen=True, kw_only=True)
class DistinctOptions(VerbOptions):
    """The number of values of a column of a file."""

    statement: Column = None
    max_values: Annotated[int | None, option("N", "How many values one unit may count; chosen if left out.")] = None


@app.command()
@taking(DistinctOptions)
def count_distinct(asked: DistinctOptions) -> None:
    """Print how many different values of a column occur, where nobody listed them: a lower bound, for one charge.

    A unit may have any number of values. Exit codes: 0, answered; 1, an output file could not be written; 2, refused
    (nothing was spent, unless the message says so); 130, interrupted.
    """

    def question(asked: Any, table: PrivateTable) -> Any:
        return table.count_distinct(str(asked.statement), max_values=asked.max_values or "auto")

    answer(asked, question)
