"""``discreet top``: the most common values of a column."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import typer

from discreet.cli import option_values
from discreet.cli.options import option, taking
from discreet.cli.verb_answers import Column, VerbOptions, answer
from discreet.query.table import PrivateTable
from discreet.query.table_view import view_of

app = typer.Typer(add_completion=False)


@dataclass(frozen=True, kw_only=True)
class TopOptions(VerbOptions):
    """The most common values of a column of a file."""

    statement: Column = None
    k: Annotated[int, option("N", "How many of them.", None, "--k")] = 1
    as_set: Annotated[bool, option(None, "Without their order, where that is better.", None, "--as-set")] = False


@app.command()
@taking(TopOptions)
def top(asked: TopOptions) -> None:
    """Print the values of a column that most units have, best first, for one charge.

    The values are public: --keys plan=free,25%, or declared with --table. A unit may have any number of them. Exit
    codes: 0, answered; 1, an output file could not be written; 2, refused (nothing was spent, unless the message says
    so); 130, interrupted.
    """

    def question(asked: Any, table: PrivateTable) -> Any:
        column = str(asked.statement)
        known = view_of(table).columns
        kinds = {column: known[column].kind} if column in known else {}
        keys: Any = option_values.stated_keys(asked.keys or (), kinds)
        listed = keys.get(column) if isinstance(keys, dict) else keys
        return table.top(column, k=asked.k, keys=listed, order=not asked.as_set)

    answer(asked, question)
