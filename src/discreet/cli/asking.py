"""From options to a question: the same for ``query`` and ``explain``."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from discreet.cli import option_values, table_option
from discreet.cli.options import QueryOptions
from discreet.curator.protect import protect
from discreet.curator.public_data import public
from discreet.errors import InvalidParameter, expected
from discreet.ledger.budget import Budget
from discreet.privacy.definitions import ROW, Row
from discreet.query.public_table import PublicTable
from discreet.query.table import PrivateTable, Question
from discreet.statements.dialects import dialect_named
from discreet.statements.sql_translation import lower

TABLE = "data"
"""What the file is called in the statement."""
EACH_ROW = "row"


def question(asked: QueryOptions, budget: Budget) -> Question:
    """The checked question; nothing is read but the names and types of the columns, and nothing is spent."""
    return question_of(asked, table_of(asked, budget))


def table_of(asked: QueryOptions, budget: Budget) -> PrivateTable:
    """The table that the options state, or that a declaration does, under a budget."""
    return _stated(asked, budget) if asked.table is None else _declared(asked, asked.table, budget)


def question_of(asked: QueryOptions, table: PrivateTable) -> Question:
    """The question that the statement is about a table."""
    names = {TABLE: table} if asked.table is None else {TABLE: table, table.declaration.name: table}
    public_ones = _public(asked.public or (), names)
    statement = lower(asked.statement or "", {**names, **public_ones}, dialect_named(asked.dialect))
    return statement.question(keys=option_values.stated_keys(asked.keys or (), statement.kinds))


def _declared(asked: QueryOptions, path: str, budget: Budget) -> PrivateTable:
    """The table that a file declares, under this budget."""
    connections = table_option.connections_of(asked.connection)
    table: Any = table_option.declaration(path).under(budget, connections=connections)
    found: PrivateTable = table  # or one of rows of two people each, which refuses the verbs that it has not
    return found


def _stated(asked: QueryOptions, budget: Budget) -> PrivateTable:
    """The table that the options state."""
    unit = _unit(asked)
    table = protect(
        asked.file,
        unit=unit,
        budget=budget,
        bounds=option_values.bounds(asked.bounds or ()),
        max_groups=asked.max_groups,
        max_rows=asked.max_rows,
        neighbors=asked.neighbors,
        rows=asked.rows,
        units=asked.units,
        schema=option_values.columns("schema", asked.schema, "person=int64,plan=string") if asked.schema else None,
        name=asked.name,
        version=asked.version,
    )
    if unit is ROW and not asked.each_row and EACH_ROW in table.columns:
        cure = "--each-row says that each row is a person of its own; rename the column if it names the person."
        raise InvalidParameter(expected("a unit with one meaning", "unit", EACH_ROW, cure))
    return table


def _public(texts: Sequence[str], private: Iterable[str]) -> dict[str, PublicTable]:
    """The public tables by their names in the statement."""
    files = option_values.columns("public", texts, "zips=zips.parquet")
    names = {name.casefold(): name for name in private}
    if taken := next((name for name in files if name.casefold() in names), None):
        what = f"other names than {names[taken.casefold()]}"
        raise InvalidParameter(expected(what, "public", taken, "the private file has this name."))
    return {name: public(path) for name, path in files.items()}


def _unit(asked: QueryOptions) -> tuple[str, ...] | Row | None:
    if asked.each_row and asked.unit not in (None, EACH_ROW):
        raise InvalidParameter(expected("--unit or --each-row", "unit", asked.unit, "leave one of them out."))
    if asked.each_row or asked.unit == EACH_ROW:
        return ROW
    return None if asked.unit is None else tuple(asked.unit.split(","))
