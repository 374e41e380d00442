"""One `Estimator` for each statistic that is not a linear form of totals, listed in `ESTIMATORS`.

The totals are those of the column's blocks, in rows and without the NULLs; the mathematics is in `inference.moments`,
`covariances` and `regressions`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.inference import covariances, moments, regressions
from discreet.inference.quantile_estimates import bounds_of
from discreet.inference.ratio_intervals import PivotNoise
from discreet.inference.regressions import RegressionLine
from discreet.mechanisms.gaussian import Gaussian
from discreet.noise.weighted_sums import LAPLACE, NORMAL
from discreet.planning import aggregates, forms
from discreet.planning.aggregates import Aggregate, Statistic
from discreet.planning.bernstein_polynomials import Reals
from discreet.planning.column_lattice import ColumnLattice
from discreet.planning.plan import PricedBlock
from discreet.planning.signed_products import evenly_spread_totals, forms_of_line
from discreet.sensitivity.intervals import outward

Blocks = Sequence[PricedBlock]
Unit = Callable[[Aggregate, Sequence[Any]], Any]
Ends = tuple[Reals, Reals, Reals]
"""Values, lower ends and upper ends."""


@dataclass(frozen=True, kw_only=True, slots=True)
class StatedEnds:
    """The ends of all values that a statistic can have: over ranges of 1, and in the units of its columns."""

    least: float
    most: float
    low: float
    high: float
    """Both rounded outward."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Estimator:
    """How a statistic is estimated from blocks, over ranges of 1, and brought to the units of its columns."""

    interval: Callable[..., Ends]
    """From the blocks, what is asked, the totals and a confidence."""
    half_width: Callable[[Blocks, Aggregate, float, float], float]
    """Half the width of the interval for so many rows, at a confidence: at most, or, of a standard deviation and of
    several columns, for values that are spread evenly and have nothing to do with each other.
    """
    unit: Unit
    """What both are multiplied by, from the ranges of the columns."""
    possible: Callable[[Aggregate], tuple[float, float]]
    """The ends of all values that there can be, whatever the rows."""
    shifted: bool = False
    """Whether it lies in the range of the last column."""

    def tells_nothing(self, asked: Aggregate, low: Reals, high: Reals) -> NDArray[np.bool_]:
        """Where an interval holds all that was possible before anything was released: so few rows, so much noise.

        >>> ESTIMATORS[aggregates.MEAN].possible(Aggregate(name="m", statistic=aggregates.MEAN))
        (0.0, 1.0)
        """
        least, most = self.possible(asked)
        return (low <= least) & (high >= most)

    def ends(self, asked: Aggregate) -> StatedEnds | None:
        """The ends of all values that there can be between the stated bounds of its columns; None where there are none.

        Of these bounds, and not of the lattice, whose range may be smaller, or larger.
        """
        least, most = self.possible(asked)
        if not math.isfinite(most):
            return None
        bounds = [bounds_of(value) for value in asked.values]
        unit = Fraction(self.unit(asked, [own.high - own.low for own in bounds]))
        start = bounds[-1].low if self.shifted else Fraction(0)
        ends = outward(start + Fraction(least) * unit, start + Fraction(most) * unit)
        return StatedEnds(least=least, most=most, low=float(ends.low), high=float(ends.high))


def lattices_of(blocks: Blocks, asked: Aggregate) -> list[ColumnLattice]:
    """The lattices of all columns that an aggregate is of."""
    known = {v.expr.op(): lattice for b in blocks for v, lattice in zip(b.block.values, b.lattices, strict=True)}
    return [known[value.expr.op()] for value in asked.values]


def widths(lattices: Sequence[ColumnLattice]) -> list[float]:
    """The ranges of columns."""
    return [float(lattice.high * lattice.step) for lattice in lattices]


def _noise(block: PricedBlock, confidence: float) -> dict[str, Any]:
    """What the intervals of `inference.moments` have to know of the noise in a block's totals."""
    law = NORMAL if isinstance(block.noise, Gaussian) else LAPLACE
    return {"scale": block.scale, "step": block.spacing, "confidence": confidence, "law": law}


def _mean(blocks: Blocks, _: Aggregate, totals: Sequence[Reals], confidence: float) -> Ends:
    noise = _noise(blocks[0], confidence)
    if blocks[0].block.form is forms.TRIPLE:
        return moments.triple_mean(_triple(totals)), *moments.triple_mean_interval(_triple(totals), **noise)
    return moments.mean(*totals[0].T), *moments.mean_interval(*totals[0].T, **noise)


def _mean_half_width(blocks: Blocks, _: Aggregate, rows: float, confidence: float) -> float:
    of_triple = blocks[0].block.form is forms.TRIPLE
    return float(moments.mean_half_width(rows, of_triple=of_triple, **_noise(blocks[0], confidence)))


def _triple(totals: Sequence[Reals]) -> tuple[Reals, Reals, Reals]:
    """Sums of (1-u)², 2u(1-u) and u², from the order in which a block keeps them."""
    high, low, middle = totals[0].T
    return low, middle, high


def _of_triple(value: Callable[..., Reals], interval: Callable[..., tuple[Reals, Reals]]) -> Callable[..., Ends]:
    def ends(blocks: Blocks, asked: Aggregate, totals: Sequence[Reals], confidence: float) -> Ends:
        triple, sample = _triple(totals), asked.sample
        return value(triple, sample=sample), *interval(triple, sample=sample, **_noise(blocks[0], confidence))

    return ends


def _variance_half_width(blocks: Blocks, asked: Aggregate, rows: float, confidence: float) -> float:
    return float(moments.variance_half_width(rows, sample=asked.sample, **_noise(blocks[0], confidence)))


EVEN_STD = 12**-0.5
"""That of values spread evenly over a range of 1."""


def _std_half_width(blocks: Blocks, asked: Aggregate, rows: float, confidence: float) -> float:
    error = _variance_half_width(blocks, asked, rows, confidence)
    return (math.sqrt(EVEN_STD**2 + error) - math.sqrt(max(0.0, EVEN_STD**2 - error))) / 2


def _covariance(blocks: Blocks, asked: Aggregate, totals: Sequence[Reals], confidence: float, **_: bool) -> Ends:
    parts, degrees, sample = totals[0], blocks[0].block.degrees, asked.sample
    noise = PivotNoise.of(**_noise(blocks[0], confidence))
    ends = covariances.covariance_interval(parts, degrees, noise, confidence=confidence, sample=sample)
    return covariances.covariance(parts, degrees, sample=sample), *ends


def _correlation(blocks: Blocks, _: Aggregate, totals: Sequence[Reals], confidence: float, **__: bool) -> Ends:
    noise = PivotNoise.of(**_noise(blocks[0], confidence))
    ends = covariances.correlation_interval(totals[0], noise, confidence=confidence)
    return covariances.correlation(totals[0]), *ends


def _line(blocks: Blocks, asked: Aggregate, totals: Sequence[Reals], confidence: float, *, exact: bool = False) -> Ends:
    """A slope, or the height where all predictors are 0; with ``exact``, of rows that were not rounded."""
    form = [float(k == 1 + asked.place) for k in range(len(asked.values))]
    if asked.statistic is aggregates.INTERCEPT:
        predictors = lattices_of(blocks, asked)[:-1]
        starts = zip(predictors, widths(predictors), strict=True)
        form = [1.0, *(-float(lattice.origin) / width - 0.5 for lattice, width in starts)]
    noise = _noise(blocks[0], confidence)
    if blocks[0].block.form is forms.SIGNED_PRODUCTS:  # whose totals are taken in units of the noise of each
        own = RegressionLine.of_forms(*forms_of_line(totals, [block.scale for block in blocks], len(asked.others)))
        noise |= {"scale": 1.0, "step": max(block.step for block in blocks)}
        rounding = sum(block.block.components * block.rounding / block.scale for block in blocks)
    else:
        own, rounding = RegressionLine.of(totals[0], blocks[0].block.degrees), 2 * blocks[0].rounding
    pivot, rounding = PivotNoise.of(**noise), 0.0 if exact else rounding
    ends = regressions.line_interval(own, form, pivot, confidence=confidence, rounding=rounding)
    return regressions.line(own, form, scale=pivot.scale), *ends


def _within(low: float, high: float) -> Callable[[Aggregate], tuple[float, float]]:
    return lambda _: (low, high)


def _spread(asked: Aggregate) -> tuple[float, float]:
    return 0.0, moments.LARGEST_VARIANCE[asked.sample]


def _root_spread(asked: Aggregate) -> tuple[float, float]:
    return 0.0, math.sqrt(moments.LARGEST_VARIANCE[asked.sample])


def _joint_spread(asked: Aggregate) -> tuple[float, float]:
    return -covariances.LARGEST[asked.sample], covariances.LARGEST[asked.sample]


ANY = _within(-math.inf, math.inf)


def _of_products(
    interval: Callable[..., Ends],
    unit: Unit,
    possible: Callable[[Aggregate], tuple[float, float]] = ANY,
    *,
    shifted: bool = False,
) -> Estimator:
    def half_width(blocks: Blocks, asked: Aggregate, rows: float, confidence: float) -> float:
        block = blocks[0].block
        components = block.components - block.nulls
        is_even = block.form is not forms.SIGNED_PRODUCTS
        totals = (
            [np.full((1, components), rows / components)] if is_even else evenly_spread_totals(rows, len(asked.others))
        )
        _, low, high = interval(blocks, asked, totals, confidence, exact=True)
        return float(high[0] - low[0]) / 2

    return Estimator(interval=interval, half_width=half_width, unit=unit, possible=possible, shifted=shifted)


ESTIMATORS: dict[Statistic, Estimator] = {
    aggregates.MEAN: Estimator(
        interval=_mean,
        half_width=_mean_half_width,
        unit=lambda _, widths: widths[0],
        possible=_within(0.0, 1.0),
        shifted=True,
    ),
    aggregates.VARIANCE: Estimator(
        interval=_of_triple(moments.variance, moments.variance_interval),
        half_width=_variance_half_width,
        unit=lambda _, widths: widths[0] ** 2,
        possible=_spread,
    ),
    aggregates.STD: Estimator(
        interval=_of_triple(moments.std, moments.std_interval),
        half_width=_std_half_width,
        unit=lambda _, widths: widths[0],
        possible=_root_spread,
    ),
    aggregates.COVARIANCE: _of_products(_covariance, lambda _, widths: widths[0] * widths[1], _joint_spread),
    aggregates.CORRELATION: _of_products(_correlation, lambda *_: 1.0, _within(-1.0, 1.0)),
    aggregates.SLOPE: _of_products(_line, lambda asked, widths: widths[-1] / widths[asked.place]),
    aggregates.INTERCEPT: _of_products(_line, lambda _, widths: widths[-1], shifted=True),
}
