"""What releases without a plan need of a protected table: its source, its rows so far, its columns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import ibis.expr.types as ir

from discreet.language.checked_expressions import Value
from discreet.language.input_barrier import UNIT
from discreet.planning.contribution_bounding import units
from discreet.planning.contribution_limits import check_moved, check_one_owner
from discreet.query.query_steps import Chain
from discreet.query.source import Source


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class TableView:
    """A chain's parts, for the rooms above; the columns of `relation` are behind the barrier."""

    source: Source
    relation: ir.Table
    columns: Mapping[str, Value]
    units: tuple[ir.Value, ...]
    """The columns that name the unit; none where each row is one."""
    closed: Mapping[str, str]
    """The columns that are not read, and their types."""


def view_of(table: Chain, *, each_of: bool = False) -> TableView:
    """The parts of a protected table, after the steps taken so far; with `each_of`, of one whose rows belong to each
    unit that one of some columns names.

    >>> from discreet.testing import people
    >>> list(view_of(people().select("plan")).columns), len(view_of(people()).units)
    (['plan'], 1)
    """
    check_moved(table._source.declaration, "table")
    if not each_of:
        check_one_owner(table._source.declaration, "table")
    hidden = units(table._relation)
    return TableView(
        source=table._source,
        relation=table._relation,
        columns=table._columns,
        units=tuple(table._relation[name] for name in sorted(hidden, key=lambda name: int(name.removeprefix(UNIT)))),
        closed=table._closed,
    )
