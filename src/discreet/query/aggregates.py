"""What the analyst asks for, one value each: a statistic, what it is of, and of which rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any

import ibis.expr.operations as ops
import ibis.expr.types as ir

from discreet.errors import InvalidQuery
from discreet.query.language.arithmetic import name_of
from discreet.query.language.check import checked
from discreet.query.language.values import Kind, Value, integer
from discreet.sensitivity.intervals import LARGEST, LARGEST_INT, SMALLEST_INT, Interval

Tables = Mapping[ops.Relation, Mapping[str, Value]]


class Statistic(Enum):
    """What can be asked of a column."""

    COUNT = "count"
    UNITS = "units"
    SUM = "sum"
    MEAN = "mean"
    VARIANCE = "variance"
    STD = "std"

    @property
    def degree(self) -> int:
        """The highest power of the column that it needs."""
        return {"count": 0, "units": 0, "sum": 1, "mean": 1, "variance": 2, "std": 2}[self.value]


@dataclass(frozen=True, kw_only=True)
class Aggregate:
    """One column of an answer."""

    name: str
    statistic: Statistic
    value: Value | None = None
    """What it is of; none for a count of rows or units."""
    where: Value | None = None
    """Which rows; all of them where there is none."""
    sample: bool = False
    """Whether a variance divides by n - 1."""


MOMENTS: dict[type[ops.Node], Statistic] = {
    ops.Count: Statistic.COUNT,
    ops.Sum: Statistic.SUM,
    ops.Mean: Statistic.MEAN,
    ops.Variance: Statistic.VARIANCE,
    ops.StandardDev: Statistic.STD,
}


def aggregate(name: str, bound: ir.Value, tables: Tables, *, unit: tuple[str, ...]) -> Aggregate:
    """The checked form of one aggregate. `unit` names the columns that still hold the privacy unit."""
    op = bound.op()
    while isinstance(op, ops.Alias):
        op = op.arg
    where = _where(op, tables)
    if isinstance(op, ops.CountStar):
        return Aggregate(name=name, statistic=Statistic.COUNT, where=where)
    if isinstance(op, ops.CountDistinct):
        _is_unit(op, unit)
        return Aggregate(name=name, statistic=Statistic.UNITS, where=where)
    statistic = MOMENTS.get(type(op))
    if statistic is None:
        raise InvalidQuery(
            f"Expected count, nunique of the unit, sum, mean, variance or std, got {name_of(op)}.\n"
            f"Hint: end each column of .agg(...) with one of them, as in {name}=_.column.mean(); calculate with the released answers."
        )
    if not isinstance(op, ops.Count | ops.Sum | ops.Mean | ops.Variance | ops.StandardDev):
        raise TypeError(op)
    value = integer(checked(op.arg.to_expr(), tables))
    if statistic is not Statistic.COUNT:
        bounded(value, op, tables)
    sample = isinstance(op, ops.Variance | ops.StandardDev) and op.how == "sample"
    return Aggregate(name=name, statistic=statistic, value=value, where=where, sample=sample)


def _where(op: ops.Node, tables: Tables) -> Value | None:
    condition = getattr(op, "where", None)
    if condition is None:
        return None
    value = checked(condition.to_expr(), tables)
    if value.kind is not Kind.BOOLEAN:
        raise InvalidQuery(
            f"Expected a condition as where=, got a {value.kind.value}.\nHint: compare it with something."
        )
    return value


def _is_unit(op: ops.CountDistinct, unit: tuple[str, ...]) -> None:
    if not isinstance(op.arg, ops.Field) or unit != (op.arg.name,):
        what = f"of the unit {unit[0]!r}" if len(unit) == 1 else "of a unit that is one column"
        raise InvalidQuery(
            f"Expected nunique() {what}, got {name_of(op)}.\nHint: other columns have no bound on how many values one person adds; group by them with keys."
        )


def bounded(value: Value, op: ops.Node, tables: Tables) -> Interval:
    """The interval of a value that has to be bounded; otherwise an error that names the columns without bounds."""
    if value.interval is None:
        raise InvalidQuery(
            f"Expected numbers, got {name_of(op)} of a {value.kind.value}.\nHint: take .count() of it, or a number out of it."
        )
    if not unbounded(value.interval):
        return value.interval
    fields = op.find(ops.Field)
    names = sorted(
        {f.name for f in fields if (c := tables[f.rel][f.name]).interval is not None and unbounded(c.interval)}
    )
    columns = ", ".join(map(repr, names))
    example = names[0] if names else "column"
    raise InvalidQuery(
        f"Expected bounds for {columns}, got none.\n"
        f"Hint: state what is publicly known, dp.protect(bounds={{{example!r}: (low, high)}}), or write _.{example}.clip(low, high). "
        "Bounds taken from the rows would give people away."
    )


def unbounded(interval: Interval) -> bool:
    """Whether an interval is no more than what the type can hold."""
    if interval.integer:
        return interval.low <= SMALLEST_INT or interval.high >= LARGEST_INT
    return interval.low <= -LARGEST or interval.high >= LARGEST
