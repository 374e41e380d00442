"""What was asked, verb by verb: recorded as tables and questions are made, and written as a document on demand."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import ibis.expr.operations as ops
import ibis.expr.types as ir

from discreet.planning.aggregates import COUNT, Statistic

if TYPE_CHECKING:
    from discreet.query.query_steps import Chain


@dataclass(frozen=True, eq=False, slots=True)
class RecordedVerb:
    """One verb of a table, with its checked arguments: bound expressions, names, other tables."""

    name: str
    stated: Mapping[str, Any]


@dataclass(frozen=True, eq=False, slots=True)
class RecordedGroups:
    """What a table was grouped by."""

    columns: tuple[str, ...]
    keys: Any = None
    """As they were given: a dict of lists, what the curator marked, `dp.UNKNOWN`; None where they were declared."""
    limits: Mapping[str, int | str | None] = field(default_factory=dict)
    """As they were given."""
    sets: tuple[tuple[str, ...], ...] | None = None
    """The groupings, where there are several."""


@dataclass(frozen=True, eq=False, slots=True)
class RecordedQuestion:
    """What was asked of a table."""

    table: Chain
    aggregates: Mapping[str, ir.Value | None]
    """Bound expressions by name; None is the number of units."""
    groups: RecordedGroups | None = None
    where: ir.Value | None = None
    """The condition of a number of units."""


@dataclass(frozen=True, eq=False, slots=True)
class RecordedRanges:
    """A histogram that was asked for all of its ranges, or for its prefixes."""

    table: Chain
    column: str
    edges: tuple[Any, ...]
    limits: Mapping[str, int | str | None]
    by: RecordedGroups | None = None
    """The groups that have one each; their limits are its own."""
    sums: str = "ranges"


@dataclass(frozen=True, eq=False, slots=True)
class RecordedBatch:
    """Questions that were asked together."""

    questions: Mapping[str, RecordedQuestion | RecordedRanges]
    limits: Mapping[str, int | str | None]


@dataclass(frozen=True, eq=False, slots=True)
class RecordedApplication:
    """What was asked by a verb of a room above."""

    table: Chain
    verb: str
    stated: Callable[[], Mapping[str, Any]]
    """Writes its arguments as parts of a document."""


def given_limits(max_groups: int | str | None, max_rows: int | str | None) -> dict[str, int | str | None]:
    """The limits that were given."""
    limits = {"max_groups": max_groups, "max_rows": max_rows}
    return {name: limit for name, limit in limits.items() if limit is not None}


def kept(keys: object) -> Any:
    """Keys as they were given, in lists of their own."""
    return {name: tuple(values) for name, values in keys.items()} if isinstance(keys, Mapping) else keys


def counted(visible: ir.Table, unit: tuple[str, ...], statistic: Statistic, where: ir.Value | None) -> ir.Value | None:
    """A number of rows or of units as `.agg` takes it; None for units that no column names."""
    condition = None if where is None else where.op()
    if statistic is COUNT:
        return ops.CountStar(visible.op(), where=condition).to_expr()
    return ops.CountDistinct(visible[unit[0]].op(), where=condition).to_expr() if len(unit) == 1 else None
