"""What the analyst asks for, one value each: a statistic, what it is of, and of which rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from fractions import Fraction

import ibis.expr.datatypes as dt
import ibis.expr.operations as ops
import ibis.expr.types as ir
from ibis.common.typing import VarTuple
from ibis.expr.operations.reductions import Filterable

from discreet.errors import InvalidQuery
from discreet.language.arithmetic import name_of
from discreet.language.check import Tables, checked, column
from discreet.language.checked_expressions import Kind, Value, integer
from discreet.language.column_lineage import rests_on
from discreet.privacy.declaration import Key


class Statistic(Enum):
    """What can be asked of a column."""

    COUNT = "count"
    UNITS = "units"
    DISTINCT = "distinct"
    SUM = "sum"
    MEAN = "mean"
    VARIANCE = "variance"
    STD = "std"
    COVARIANCE = "covariance"
    CORRELATION = "correlation"
    SLOPE = "slope"
    INTERCEPT = "intercept"
    QUANTILE = "quantile"
    MIN = "minimum"
    MAX = "maximum"

    @property
    def ranked(self) -> bool:
        """Whether it depends on the order of the values, and so has a mechanism of its own."""
        return self in (Statistic.QUANTILE, Statistic.MIN, Statistic.MAX)

    @property
    def is_line(self) -> bool:
        """Whether it is a part of a line over one or several predictors."""
        return self in (Statistic.SLOPE, Statistic.INTERCEPT)

    @property
    def counts(self) -> bool:
        """Whether it is a number of rows, units or values, for which no bounds matter."""
        return self in (Statistic.COUNT, Statistic.UNITS, Statistic.DISTINCT)

    @property
    def degrees(self) -> tuple[int, ...]:
        """The highest power of each of several columns that it needs together; none where it is of one column."""
        lines = {"slope": (2, 1), "intercept": (2, 1)}
        return {"covariance": (1, 1), "correlation": (2, 2), **lines}.get(self.value, ())

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
    listed: tuple[Key, ...] = ()
    """The public values of which a count of distinct ones counts those that there are."""
    where: Value | None = None
    """Which rows; all of them where there is none."""
    sample: bool = False
    """Whether a variance divides by n - 1."""
    share: Fraction | None = None
    """Which share of the rows a quantile has below it."""
    place: int = 0
    """Which of several predictors a slope is over."""
    moment: Kind | None = None
    """The kind of date that its number stands for."""

    @property
    def values(self) -> tuple[Value, ...]:
        """All that it is of."""
        return () if self.value is None else (self.value, *self.others)

    @property
    def degrees(self) -> tuple[int, ...]:
        """The highest power of each of its columns that it needs, the outcome of a line last; none of one column."""
        first, *last = self.statistic.degrees or (0,)
        return (*(first,) * len(self.others), *last)


MOST_LISTED = 10_000
"""Values that a statement can name."""

MOMENTS: dict[type[ops.Node], Statistic] = {
    ops.Count: Statistic.COUNT,
    ops.Sum: Statistic.SUM,
    ops.Mean: Statistic.MEAN,
    ops.Variance: Statistic.VARIANCE,
    ops.StandardDev: Statistic.STD,
}


class Slope(Filterable, ops.Reduction):  # type: ignore[misc]  # Ibis has no types here
    """The slope of the least-squares line of one column over another; Ibis has no operation for it."""

    left: ops.Column
    """What the line runs over."""
    right: ops.Column
    beside: VarTuple[ops.Column] = ()
    """Further predictors."""
    place: int = 0
    """Which of all predictors it is the slope over."""
    dtype = dt.float64


class Intercept(Slope):
    """The height of that line where all predictors are 0."""


PAIRED: dict[type[ops.Node], Statistic] = {
    ops.Covariance: Statistic.COVARIANCE,
    ops.Correlation: Statistic.CORRELATION,
    Slope: Statistic.SLOPE,
    Intercept: Statistic.INTERCEPT,
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Known:
    """What is publicly known beside the columns' kinds and bounds."""

    unit: tuple[str, ...]
    """The columns that still hold the privacy unit."""
    auto: frozenset[str] = frozenset()
    """Those whose bounds a release chooses."""
    keys: Mapping[ops.Node, tuple[Key, ...]] = field(default_factory=dict)
    """The public values of columns, by what these are computed from."""


def aggregate(name: str, bound: ir.Value, tables: Tables, known: Known) -> Aggregate:
    """The checked form of one aggregate."""
    op = bound.op()
    while isinstance(op, ops.Alias):
        op = op.arg
    where = condition_of(op, tables)
    if isinstance(op, ops.CountStar):
        _is_own(op, tables)
        return Aggregate(name=name, statistic=Statistic.COUNT, where=where)
    if type(op) is ops.CountDistinct:  # there are approximate ones below it
        return replace(_distinct(name, op, tables, known), where=where)
    if isinstance(op, ops.Covariance | ops.Correlation | Slope):
        return _paired(name, op, tables, where, known.auto)
    statistic = MOMENTS.get(type(op))
    if statistic is None:
        cure = f"end each column of .agg(...) with one of them, as in {name}=_.column.mean(); "
        cure += "calculate with the released answers."
        if isinstance(op, ops.Mode):
            cure = most_common(op.arg.name)
        raise InvalidQuery(
            f"Expected count, nunique, sum, mean, var, std, cov, corr, quantile, min or max, got {name_of(op)}.\n"
            f"Hint: {cure}"
        )
    if not isinstance(op, ops.Count | ops.Sum | ops.Mean | ops.Variance | ops.StandardDev):
        raise TypeError(op)
    value = checked(op.arg.to_expr(), tables)
    if statistic is not Statistic.COUNT:
        check_bounded(value, op.arg, tables, known.auto)
    sample = isinstance(op, ops.Variance | ops.StandardDev) and op.how == "sample"
    return Aggregate(
        name=name, statistic=statistic, value=replace(integer(value), text=value.text), where=where, sample=sample
    )


def most_common(column: str) -> str:
    """What to ask instead of a mode."""
    return f'write people.top("{column}", k=1, epsilon=0.5): the most common of its public values, without a count.'


def _paired(
    name: str, op: ops.Covariance | ops.Correlation | Slope, tables: Tables, where: Value | None, auto: frozenset[str]
) -> Aggregate:
    """A statistic of two columns."""
    found = []
    line = isinstance(op, Slope)
    for part in (op.left, *(op.beside if line else ()), op.right):
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
        place=op.place if line else 0,
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


def _distinct(name: str, op: ops.CountDistinct, tables: Tables, known: Known) -> Aggregate:
    """A count of the unit, or of the public values of a column."""
    of = column(op.arg, tables) if isinstance(op.arg, ops.Field) else None
    if isinstance(op.arg, ops.Field) and known.unit == (op.arg.name,):
        return Aggregate(name=name, statistic=Statistic.UNITS)
    truths = (False, True) if of is not None and of.kind is Kind.BOOLEAN else ()
    listed = tuple(key for key in known.keys.get(of.expr.op(), truths) if key is not None) if of is not None else ()
    if of is None or not listed:
        what = f"of the unit {known.unit[0]!r}" if len(known.unit) == 1 else "of a unit that is one column"
        raise InvalidQuery(
            f"Expected nunique() {what}, or of a column with public keys, got {name_of(op)}.\n"
            "Hint: list the values that there can be, dp.protect(keys={'column': [...]}), or use .cut(...): "
            "values taken from the rows would give people away."
        )
    if len(listed) > MOST_LISTED:
        raise InvalidQuery(
            f"Expected nunique() of a column with at most {MOST_LISTED:,} public keys, got {len(listed):,}.\n"
            "Hint: group by it, and count the groups that have enough rows."
        )
    value = replace(of, text=op.arg.name if isinstance(op.arg, ops.Field) else of.text)
    return Aggregate(name=name, statistic=Statistic.DISTINCT, value=value, listed=listed)


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
