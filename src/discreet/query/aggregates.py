"""What the analyst asks for, one value each: a statistic, what it is of, and of which rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum
from fractions import Fraction

import ibis.expr.operations as ops
import ibis.expr.types as ir

from discreet.errors import InvalidQuery
from discreet.query.language.arithmetic import name_of
from discreet.query.language.check import Tables, checked, column
from discreet.query.language.values import Kind, Value, integer
from discreet.query.origins import rests_on


class Statistic(Enum):
    """What can be asked of a column."""

    COUNT = "count"
    UNITS = "units"
    SUM = "sum"
    MEAN = "mean"
    VARIANCE = "variance"
    STD = "std"
    COVARIANCE = "covariance"
    CORRELATION = "correlation"
    QUANTILE = "quantile"
    MIN = "minimum"
    MAX = "maximum"

    @property
    def ranked(self) -> bool:
        """Whether it depends on the order of the values, and so has a mechanism of its own."""
        return self in (Statistic.QUANTILE, Statistic.MIN, Statistic.MAX)

    @property
    def degrees(self) -> tuple[int, ...]:
        """The highest power of each of several columns that it needs together; none where it is of one column."""
        return {"covariance": (1, 1), "correlation": (2, 2)}.get(self.value, ())

    @property
    def degree(self) -> int:
        """The highest power of the column that it needs."""
        return {"sum": 1, "mean": 1, "variance": 2, "std": 2}.get(self.value, 0)


@dataclass(frozen=True, kw_only=True)
class Aggregate:
    """One column of an answer."""

    name: str
    statistic: Statistic
    value: Value | None = None
    """What it is of; none for a count of rows or units."""
    others: tuple[Value, ...] = ()
    """What else it is of, where it is of several columns; rows with NULL in one of them do not count."""
    where: Value | None = None
    """Which rows; all of them where there is none."""
    sample: bool = False
    """Whether a variance divides by n - 1."""
    share: Fraction | None = None
    """Which share of the rows a quantile has below it."""
    moment: Kind | None = None
    """The kind of date that its number stands for."""

    @property
    def values(self) -> tuple[Value, ...]:
        """All that it is of."""
        return () if self.value is None else (self.value, *self.others)


MOMENTS: dict[type[ops.Node], Statistic] = {
    ops.Count: Statistic.COUNT,
    ops.Sum: Statistic.SUM,
    ops.Mean: Statistic.MEAN,
    ops.Variance: Statistic.VARIANCE,
    ops.StandardDev: Statistic.STD,
}
PAIRED: dict[type[ops.Node], Statistic] = {
    ops.Covariance: Statistic.COVARIANCE,
    ops.Correlation: Statistic.CORRELATION,
}


def aggregate(
    name: str, bound: ir.Value, tables: Tables, *, unit: tuple[str, ...], auto: frozenset[str] = frozenset()
) -> Aggregate:
    """The checked form of one aggregate. `unit` names the columns that still hold the privacy unit, and `auto` those
    whose bounds a release chooses.
    """
    op = bound.op()
    while isinstance(op, ops.Alias):
        op = op.arg
    where = condition_of(op, tables)
    if isinstance(op, ops.CountStar):
        _is_own(op, tables)
        return Aggregate(name=name, statistic=Statistic.COUNT, where=where)
    if type(op) is ops.CountDistinct:  # there are approximate ones below it
        _is_unit(op, tables, unit)
        return Aggregate(name=name, statistic=Statistic.UNITS, where=where)
    if isinstance(op, ops.Covariance | ops.Correlation):
        return _paired(name, op, tables, where, auto)
    statistic = MOMENTS.get(type(op))
    if statistic is None:
        raise InvalidQuery(
            f"Expected count, nunique, sum, mean, var, std, cov, corr, quantile, min or max, got {name_of(op)}.\n"
            f"Hint: end each column of .agg(...) with one of them, as in {name}=_.column.mean(); "
            "calculate with the released answers."
        )
    if not isinstance(op, ops.Count | ops.Sum | ops.Mean | ops.Variance | ops.StandardDev):
        raise TypeError(op)
    value = checked(op.arg.to_expr(), tables)
    if statistic is not Statistic.COUNT:
        check_bounded(value, op.arg, tables, auto)
    sample = isinstance(op, ops.Variance | ops.StandardDev) and op.how == "sample"
    return Aggregate(
        name=name, statistic=statistic, value=replace(integer(value), text=value.text), where=where, sample=sample
    )


def _paired(
    name: str, op: ops.Covariance | ops.Correlation, tables: Tables, where: Value | None, auto: frozenset[str]
) -> Aggregate:
    """A statistic of two columns."""
    found = []
    for part in (op.left, op.right):
        value = checked(part.to_expr(), tables)
        check_bounded(value, part, tables, auto)
        found.append(replace(integer(value), text=value.text))
    return Aggregate(
        name=name,
        statistic=PAIRED[type(op)],
        value=found[0],
        others=tuple(found[1:]),
        where=where,
        sample=isinstance(op, ops.Covariance) and op.how == "sample",
    )


def condition_of(op: ops.Node, tables: Tables) -> Value | None:
    """The checked condition of `where=`, if there is one."""
    condition = getattr(op, "where", None)
    if condition is None:
        return None
    value = checked(condition.to_expr(), tables)
    if value.kind is not Kind.BOOLEAN:
        raise InvalidQuery(
            f"Expected a condition as where=, got a {value.kind.value}.\nHint: compare it with something."
        )
    return value


def _is_own(op: ops.CountStar, tables: Tables) -> None:
    if op.arg not in tables:
        raise InvalidQuery(
            "Expected a count of this table's rows, got one of another table.\n"
            "Hint: write _.count(where=...), or .filter(...) before .agg(...)."
        )


def _is_unit(op: ops.CountDistinct, tables: Tables, unit: tuple[str, ...]) -> None:
    if isinstance(op.arg, ops.Field):
        column(op.arg, tables)
    if not isinstance(op.arg, ops.Field) or unit != (op.arg.name,):
        what = f"of the unit {unit[0]!r}" if len(unit) == 1 else "of a unit that is one column"
        raise InvalidQuery(
            f"Expected nunique() {what}, got {name_of(op)}.\n"
            "Hint: other columns have no bound on how many values one person adds; group by them with keys."
        )


def check_bounded(value: Value, of: ops.Node, tables: Tables, auto: frozenset[str] = frozenset()) -> None:
    """Refuses what is no number, and a number without bounds, naming the columns that lack them; `of` is how it was
    written.
    """
    if value.interval is None and value.kind is not Kind.BOOLEAN:
        raise InvalidQuery(
            f"Expected numbers, got an aggregate of {name_of(of)}, a {value.kind.value}.\n"
            "Hint: take .count() of it, or a number out of it."
        )
    if not value.unbounded:
        return
    fields = {f.name: tables[f.rel][f.name] for f in of.find(ops.Field, filter=ops.Value)}
    names = sorted(name for name, column in fields.items() if column.unbounded and not _is_auto(column, auto))
    if not names:
        return
    raise InvalidQuery(
        f"Expected bounds for {', '.join(map(repr, names))}, got none.\n"
        f"Hint: state what is publicly known, dp.protect(bounds={{{names[0]!r}: (low, high)}}), "
        f"or write _.{names[0]}.clip(low, high). Bounds taken from the rows would give people away; "
        f"bounds={{{names[0]!r}: 'auto'}} has them chosen privately, at a part of epsilon."
    )


def _is_auto(column: Value, auto: frozenset[str]) -> bool:
    """Whether no bounds are missing but those that a release chooses."""
    return bool(auto) and rests_on(column.expr.op().find(ops.Field, filter=ops.Value)) <= auto
