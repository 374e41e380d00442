"""The statistics that can be asked for, one value each, and `Aggregate`: one of them, of some columns and rows.

One more statistic is a value here, or in a file of its own, listed in `STATISTICS`; and where it is no linear form of
totals, its estimator in `inference.estimators`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction

import ibis.expr.datatypes as dt
import ibis.expr.operations as ops
from ibis.common.typing import VarTuple
from ibis.expr.operations.reductions import Filterable

from discreet.language.checked_expressions import Kind, Value
from discreet.planning import forms
from discreet.planning.bernstein_polynomials import Basis
from discreet.planning.forms import Block, Form
from discreet.planning.signed_products import EVEN, twins_matter
from discreet.privacy.declaration import Key

Linear = tuple[tuple[float, ...], float]
"""What each of a block's components counts, in rows, and what is added to their sum."""


def variance_of_linear(asked: Aggregate, block: Block, _: int = 0) -> float:
    """The sum of the squares of a linear statistic's coefficients, over the public range."""
    interval = None if block.value is None else block.value.interval
    width = (interval.width if interval else 0) or Fraction(1)
    low, high = (interval.low / width, interval.high / width) if interval else (Fraction(0), Fraction(0))
    found = asked.statistic.linear(asked, block, low, high)
    # A sum that can only be zero has no noise of its own beside a count; 1 keeps its share in proportion.
    return (sum(c * c for c in found[0]) if found else 0.0) or 1.0


@dataclass(frozen=True, kw_only=True, eq=False)
class Statistic:
    """What can be asked of columns."""

    name: str
    form: Form | None = None
    """The least that it is computed from; none where it has a mechanism of its own."""
    operations: tuple[type[ops.Node], ...] = ()
    """What it is written as."""
    degrees: tuple[int, ...] = ()
    """The highest power of each of several columns that it needs together; none where it is of one column."""
    counts: bool = False
    """Whether it is a number of rows, units or values, for which no bounds matter."""
    sampled: bool = False
    """Whether it can divide by n - 1."""
    linear: Callable[[Aggregate, Block, Fraction, Fraction], Linear | None] = lambda *_: None
    """What it is of a block's totals, from the values at u = 0 and u = 1; None where its noise depends on the data."""
    variance: Callable[[Aggregate, Block, int], float] = variance_of_linear
    """Its variance over the public range squared, from noise of scale 1 in the totals of one of its blocks, at this
    place among them; in the middle of the range where it depends on the data.
    """

    def __reduce__(self) -> str:
        """The constant that it is here: an answer that was carried elsewhere has the same statistics."""
        return next(name for name, value in globals().items() if value is self)

    @property
    def apart(self) -> bool:
        """Whether it has a mechanism of its own, and is computed from no totals."""
        return self.form is None

    @property
    def ranked(self) -> bool:
        """Whether it depends on the order of the values."""
        return self.apart and not self.counts


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
    def released_kind(self) -> Kind:
        """The type of its column in an answer: that of its values for an order statistic, otherwise of a number."""
        if self.moment is not None:
            return self.moment
        interval = None if self.value is None else self.value.interval
        if self.statistic is AT_LEAST:  # it has no upper end, which no integer says
            return Kind.REAL
        is_whole = self.statistic.counts or (self.statistic.ranked and interval is not None and interval.integer)
        return Kind.INTEGER if is_whole else Kind.REAL

    @property
    def degrees(self) -> tuple[int, ...]:
        """The highest power of each of its columns that it needs, the outcome of a line last; none of one column."""
        first, *last = self.statistic.degrees or (0,)
        return (*(first,) * len(self.others), *last)


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


def _count(asked: Aggregate, block: Block, _: Fraction, __: Fraction) -> Linear:
    """All rows, or those that have a value."""
    if asked.value is None:
        return (1.0,) * block.components, 0.0
    return block.without_nulls((1,) * (block.components - block.nulls)), 0.0


def _sum(_: Aggregate, block: Block, low: Fraction, high: Fraction) -> Linear:
    return block.without_nulls(block.form.total(low, high)), float(low * block.size)


def _mean_of_all(_: Aggregate, block: Block, low: Fraction, high: Fraction) -> Linear | None:
    """The sum over the number of rows, where that is public."""
    return ((float((high - low) / block.size),), float(low)) if block.size else None


def _of_products(unit: float) -> Callable[[Aggregate, Block, int], float]:
    """The variance for columns, spread evenly, that have nothing to do with each other; of a line, for its slope."""

    def variance(asked: Aggregate, block: Block, _: int) -> float:
        basis, columns = Basis(block.degrees), range(len(block.degrees))
        crossed = basis.product(*(basis.single(k, k in (asked.place, columns[-1]), 0.5) for k in columns))
        return float(((crossed / unit) ** 2).sum())

    return variance


def _of_line(asked: Aggregate, block: Block, place: int) -> float:
    if block.form is not forms.SIGNED_PRODUCTS:
        return _of_products(EVEN)(asked, block, place)
    return twins_matter(len(asked.others), asked.place if asked.statistic is SLOPE else -1, place)


COUNT = Statistic(name="count", form=forms.COUNT, operations=(ops.Count, ops.CountStar), counts=True, linear=_count)
UNITS = Statistic(name="units", form=forms.UNITS, counts=True, linear=_count)
DISTINCT = Statistic(name="distinct", form=forms.DISTINCT, operations=(ops.CountDistinct,), counts=True, linear=_count)
AT_LEAST = Statistic(name="distinct at least", counts=True)
"""The number of values that nobody listed: written as `DISTINCT` is."""
SUM = Statistic(name="sum", form=forms.SUM, operations=(ops.Sum,), linear=_sum)
MEAN = Statistic(
    name="mean",
    form=forms.PAIR,
    operations=(ops.Mean,),
    linear=_mean_of_all,
    variance=lambda _, block, __: 1.0 if block.size else 0.5,  # at the middle of the range
)
VARIANCE = Statistic(
    name="variance",
    form=forms.TRIPLE,
    operations=(ops.Variance,),
    sampled=True,
    variance=lambda *_: 2 * (1 / 4 - EVEN) ** 2 + (1 / 4 + EVEN) ** 2,  # of values spread evenly
)
STD = replace(VARIANCE, name="std", operations=(ops.StandardDev,))
COVARIANCE = Statistic(
    name="covariance",
    form=forms.PRODUCT,
    operations=(ops.Covariance,),
    degrees=(1, 1),
    sampled=True,
    variance=_of_products(1.0),
)
CORRELATION = Statistic(
    name="correlation",
    form=forms.PRODUCT,
    operations=(ops.Correlation,),
    degrees=(2, 2),
    variance=_of_products(2 * EVEN),
)
SLOPE = Statistic(name="slope", form=forms.SIGNED_PRODUCTS, operations=(Slope,), degrees=(2, 1), variance=_of_line)
INTERCEPT = replace(SLOPE, name="intercept", operations=(Intercept,))
QUANTILE = Statistic(name="quantile", operations=(ops.Median, ops.Quantile, ops.MultiQuantile))
MIN = Statistic(name="minimum", operations=(ops.Min,))
MAX = Statistic(name="maximum", operations=(ops.Max,))

STATISTICS = (
    COUNT, UNITS, DISTINCT, AT_LEAST, SUM, MEAN, VARIANCE, STD, COVARIANCE, CORRELATION, SLOPE, INTERCEPT, QUANTILE,
    MIN, MAX,
)  # fmt: skip

WRITTEN = {operation: statistic for statistic in STATISTICS for operation in statistic.operations}
