"""``discreet hierarchy``: counts and sums on all levels of a path of columns, which add up."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import typer

from discreet.cli import option_values
from discreet.cli.options import TABLE, argument, option, taking
from discreet.cli.verb_answers import VerbOptions, answer
from discreet.cli.verb_statements import statement_of
from discreet.curator.public_data import public_keys
from discreet.errors import InvalidParameter, InvalidQuery, expected
from discreet.query.table import PrivateTable
from discreet.query.table_view import view_of

app = typer.Typer(add_completion=False)


@dataclass(frozen=True, kw_only=True)
class PathOptions(VerbOptions):
    """Counts and sums of a file on the levels of a path."""

    statement: Annotated[str | None, argument("SQL", "One SELECT that groups by the path, from the top down.")] = None
    cells: Annotated[
        list[str] | None, option("COLUMN=A,B", "A further column of each place, and its values.", TABLE)
    ] = None


@app.command()
@taking(PathOptions)
def hierarchy(asked: PathOptions) -> None:
    """Print counts and sums on all levels of a path, such as state, county and block, for one charge.

    The statement groups by the path, from the top down; --keys places.parquet has the places of its last level, with
    all columns of the path. The levels agree with each other. Exit codes: 0, answered; 1, an output file could not be
    written; 2, refused (nothing was spent, unless the message says so); 130, interrupted.
    """

    def question(asked: Any, table: PrivateTable) -> Any:
        statement = statement_of(asked, table, str(asked.statement))
        if not statement.groups:
            cure = "write SELECT state, county, COUNT(*) AS n FROM data GROUP BY state, county."
            raise InvalidQuery(expected("a statement that groups by the path", "SQL", asked.statement, cure))
        kinds = {name: value.kind for name, value in view_of(statement.table).columns.items()}
        path = statement.table.hierarchy(
            [group.name for group in statement.groups],
            keys=_places(asked),
            cells=option_values.keys(asked.cells or (), kinds, option="cells") or (),
        )
        return path.agg(**{one.name: one.written for one in statement.aggregates})

    answer(asked, question)


def _places(asked: PathOptions) -> Any:
    """The places of the last level; whoever writes a command has the table's own path, and so is the curator."""
    file = option_values.key_file(asked.keys or ())
    if file is None:
        cure = "write them to a file, a column for each level and a row for each place: --keys places.parquet."
        raise InvalidParameter(expected("a Parquet file of all places", "keys", list(asked.keys or ()), cure))
    return public_keys(file)
