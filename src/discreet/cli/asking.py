"""From options to a question: the same for ``query`` and ``explain``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from discreet.cli import option_values
from discreet.cli.options import QueryOptions
from discreet.curator.protect import protect
from discreet.curator.public_data import public
from discreet.errors import InvalidParameter, expected
from discreet.ledger.budget import Budget
from discreet.privacy.definitions import ROW, Row
from discreet.query.public_table import PublicTable
from discreet.query.table import Question
from discreet.statements.dialects import dialect_named
from discreet.statements.lowering import lower

TABLE = "data"
"""What the file is called in the statement."""
EACH_ROW = "row"


def question(asked: QueryOptions, budget: Budget) -> Question:
    """The checked question; nothing is read but the names and types of the columns, and nothing is spent."""
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
    statement = lower(asked.statement, {TABLE: table, **_public(asked.public or ())}, dialect_named(asked.dialect))
    return statement.question(keys=option_values.stated_keys(asked.keys or (), statement.kinds))


def _public(texts: Sequence[str]) -> dict[str, PublicTable]:
    """The public tables by their names in the statement."""
    files = option_values.columns("public", texts, "zips=zips.parquet")
    if taken := next((name for name in files if name.casefold() == TABLE), None):
        raise InvalidParameter(expected("other names than data", "public", taken, "the private file has this name."))
    return {name: public(path) for name, path in files.items()}


def _unit(asked: QueryOptions) -> tuple[str, ...] | Row | None:
    if asked.each_row and asked.unit not in (None, EACH_ROW):
        raise InvalidParameter(expected("--unit or --each-row", "unit", asked.unit, "leave one of them out."))
    if asked.each_row or asked.unit == EACH_ROW:
        return ROW
    return None if asked.unit is None else tuple(asked.unit.split(","))


def assumption(rows: int | None) -> Mapping[str, int] | None:
    """The number of rows that errors are shown for."""
    return None if rows is None else {"rows": rows}
