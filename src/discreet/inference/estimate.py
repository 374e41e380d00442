"""From noisy totals to values and intervals: post-processing, which costs nothing and sees no data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.inference import covariances, moments, quantile_estimates, regressions
from discreet.inference.fieller import Pivot
from discreet.inference.regressions import RegressionLine
from discreet.mechanisms.gaussian import Gaussian
from discreet.noise.weighted_sums import LAPLACE, NORMAL
from discreet.planning.aggregates import Aggregate, Statistic
from discreet.planning.column_lattice import Lattice
from discreet.planning.linear_error import half_width
from discreet.planning.noise_laws import width_of
from discreet.planning.plan import Column, Form, Plan, PricedBlock
from discreet.planning.signed_products import forms_of_line

Reals = NDArray[np.float64]
LARGEST_COUNT = 2**62


@dataclass(frozen=True, slots=True, eq=False)
class Estimate:
    """One column of an answer: its values, and ends that the bounded and weighted total lies between."""

    values: NDArray[Any]
    low: NDArray[Any]
    high: NDArray[Any]


def estimates(plan: Plan, totals: Sequence[NDArray[Any]], confidence: float) -> dict[str, Estimate]:
    """Values and intervals of every column, from each block's noisy integer totals, of shape (cells, components)."""
    confidence = confidence if plan.rounds == 1 else 1 - (1 - confidence) / plan.rounds
    rows = [_in_rows(noisy, block.steps) for noisy, block in zip(totals, plan.blocks, strict=False)]
    ranked = totals[len(plan.blocks) :]
    return {
        column.aggregate.name: _estimate(plan, column, rows, confidence)
        if column.ranks is None
        else Estimate(*quantile_estimates.ranked(plan, column, ranked[column.ranks], confidence))
        for column in plan.columns
    }


def _in_rows(noisy: NDArray[Any], steps: int) -> Reals:
    """Totals divided by the steps of one row."""
    return (noisy / steps).astype(np.float64)


def _estimate(plan: Plan, column: Column, rows: Sequence[Reals], confidence: float) -> Estimate:
    statistic = column.aggregate.statistic
    if column.linear:
        return _linear(plan, column, rows, confidence)
    block = plan.blocks[column.blocks[0]]
    totals = rows[column.blocks[0]]
    if block.block.form is Form.TWINS:
        found = twins_line(plan, column, [rows[i] for i in column.blocks], confidence)
        return _in_units(column.aggregate, lattices_of(plan, column), found)
    if statistic.degrees:
        return _paired(block, column, totals, confidence)
    return (
        _mean(block, totals, confidence)
        if statistic is Statistic.MEAN
        else _variance(block, column, totals, confidence)
    )


def _linear(plan: Plan, column: Column, rows: Sequence[Reals], confidence: float) -> Estimate:
    values = column.offset + sum(rows[i] @ np.array(c) for i, c in zip(column.blocks, column.coefficients, strict=True))
    low, high = _linear_ends(plan, column, rows, values, confidence)
    if column.aggregate.statistic.counts:
        return Estimate(_whole(np.rint(values)), _whole(np.floor(low)), _whole(np.ceil(high)))
    return Estimate(values, low, high)


def _linear_ends(
    plan: Plan, column: Column, rows: Sequence[Reals], values: Reals, confidence: float
) -> tuple[Reals, Reals]:
    """The same distance on either side; of a count that had to reach a threshold, what is right given that it did."""
    if plan.shown is None:
        half = half_width(plan, column, confidence)
        return values - half, values + half
    [[factor]], [place] = column.coefficients, column.blocks
    ends = [column.offset + factor * end for end in plan.shown.interval(rows[place][:, 0], confidence)]
    return np.minimum(*ends), np.maximum(*ends)


def _whole(values: Reals) -> NDArray[np.int64]:
    return np.clip(values, -LARGEST_COUNT, LARGEST_COUNT).astype(np.int64)


def _ends(lattice: Lattice) -> tuple[float, float]:
    """The values at u = 0 and u = 1."""
    low = float(lattice.origin)
    return low, low + float(lattice.high * lattice.step)


def widths(lattices: Sequence[Lattice]) -> list[float]:
    """The ranges of columns."""
    return [high - low for low, high in map(_ends, lattices)]


def lattices_of(plan: Plan, column: Column) -> list[Lattice]:
    """The lattices of all columns that an aggregate is of."""
    first = plan.blocks[column.blocks[0]]
    if first.block.form is not Form.TWINS:
        return [first.lattice, *first.others]
    own = [plan.blocks[i] for i in column.blocks]
    known = {
        value.expr.op(): lattice
        for one in own
        for value, lattice in zip(one.block.values, (one.lattice, *one.others), strict=True)
    }
    return [known[value.expr.op()] for value in column.aggregate.values]


def products(block: PricedBlock, totals: Reals) -> Reals:
    """The components of a product of columns, without that of NULLs."""
    return np.delete(totals, -2, axis=1) if block.block.nulls else totals


def paired(block: PricedBlock, asked: Aggregate, parts: Reals, confidence: float, *, exact: bool = False) -> Estimate:
    """A covariance, a correlation or a part of a line, in units of the ranges; with ``exact``, of rows not rounded."""
    noise, degrees = Pivot.of(**noise_of(block, confidence)), block.block.degrees
    if asked.statistic is Statistic.COVARIANCE:
        ends = covariances.covariance_interval(parts, degrees, noise, confidence=confidence, sample=asked.sample)
        return Estimate(covariances.covariance(parts, degrees, sample=asked.sample), *ends)
    if asked.statistic is Statistic.CORRELATION:
        own = covariances.correlation_interval(parts, noise, confidence=confidence)
        return Estimate(covariances.correlation(parts), *own)
    rounding = 0.0 if exact else 2 * off(block)
    line = RegressionLine.of(parts, degrees)
    return _line(asked, (block.lattice, *block.others), line, noise, confidence=confidence, rounding=rounding)


def twins_line(
    plan: Plan, column: Column, totals: Sequence[Reals], confidence: float, *, exact: bool = False
) -> Estimate:
    """The same part of a line from all of its blocks, whose totals are taken in units of the noise of each."""
    blocks, asked = [plan.blocks[i] for i in column.blocks], column.aggregate
    own = RegressionLine.of_forms(*forms_of_line(totals, [block.scale for block in blocks], len(asked.others)))
    step = max(float(1 / width_of(block.noise)) for block in blocks)
    noise = Pivot.of(**{**noise_of(blocks[0], confidence), "scale": 1.0, "step": step})
    rounding = 0.0 if exact else sum(block.block.components * off(block) / block.scale for block in blocks)
    return _line(asked, lattices_of(plan, column), own, noise, confidence=confidence, rounding=rounding)


def _line(
    asked: Aggregate,
    lattices: Sequence[Lattice],
    own: RegressionLine,
    noise: Pivot,
    *,
    confidence: float,
    rounding: float,
) -> Estimate:
    """A slope, or the height where all predictors are 0, in units of the ranges."""
    form = [0.0 for _ in lattices]
    if asked.statistic is Statistic.SLOPE:
        form[1 + asked.place] = 1.0
    else:
        predictors = list(zip(lattices, widths(lattices), strict=True))[:-1]
        form = [1.0, *(-float(one.origin) / width - 0.5 for one, width in predictors)]
    ends = regressions.line_interval(own, form, noise, confidence=confidence, rounding=rounding)
    return Estimate(regressions.line(own, form, scale=noise.scale), *ends)


def _paired(block: PricedBlock, column: Column, totals: Reals, confidence: float) -> Estimate:
    found = paired(block, column.aggregate, products(block, totals), confidence)
    return _in_units(column.aggregate, (block.lattice, *block.others), found)


def _in_units(asked: Aggregate, lattices: Sequence[Lattice], found: Estimate) -> Estimate:
    low = float(lattices[-1].origin) if asked.statistic is Statistic.INTERCEPT else 0.0
    return Estimate(*(low + unit_of(asked, lattices) * end for end in (found.values, found.low, found.high)))


def off(block: PricedBlock) -> float:
    """By how much of a row a product of columns is off at most: of polynomials, each by a step, and twice its value; of
    twins, each w by half a step of its own and one of its value, and 2 w² - 1 by up to five times as much.
    """
    lattices = (block.lattice, *block.others)
    values = sum(0.0 if lattice.exact else 1 / lattice.high for lattice in lattices)
    if block.block.form is Form.TWINS:
        return 5 * (1 / (2 * block.factors[0]) + values)
    return sum(1 / steps for steps in block.factors) + values


def unit_of(asked: Aggregate, lattices: Sequence[Lattice]) -> float:
    """What a statistic of values in [0, 1] is multiplied by."""
    first, *others = own = widths(lattices)
    statistic = asked.statistic
    if statistic is Statistic.COVARIANCE:
        return first * others[0]
    if statistic.is_line:
        return others[-1] / (own[asked.place] if statistic is Statistic.SLOPE else 1.0)
    return {Statistic.CORRELATION: 1.0, Statistic.VARIANCE: first**2}.get(statistic, first)


def noise_of(block: PricedBlock, confidence: float) -> dict[str, Any]:
    """What the intervals of `inference.moments` have to know of the noise in a block's totals."""
    law = NORMAL if isinstance(block.noise, Gaussian) else LAPLACE
    return {"scale": block.scale, "step": 1 / block.steps, "confidence": confidence, "law": law}


def _mean(block: PricedBlock, totals: Reals, confidence: float) -> Estimate:
    low, high = _ends(block.lattice)
    if block.block.form is Form.PAIR:
        parts = (totals[:, 0], totals[:, -1])
        value, ends = moments.mean(*parts), moments.mean_interval(*parts, **noise_of(block, confidence))
    else:
        triple = _triple(totals)
        value, ends = moments.triple_mean(triple), moments.triple_mean_interval(triple, **noise_of(block, confidence))
    return Estimate(*(low + (high - low) * u for u in (value, *ends)))


def _triple(totals: Reals) -> tuple[Reals, Reals, Reals]:
    """Sums of (1-u)², 2u(1-u) and u², from the order in which a block keeps them."""
    return totals[:, 1], totals[:, -1], totals[:, 0]


def _variance(block: PricedBlock, column: Column, totals: Reals, confidence: float) -> Estimate:
    low, high = _ends(block.lattice)
    sample, triple = column.aggregate.sample, _triple(totals)
    value = moments.variance(triple, sample=sample)
    ends = moments.variance_interval(triple, sample=sample, **noise_of(block, confidence))
    if column.aggregate.statistic is Statistic.STD:
        return Estimate(*((high - low) * np.sqrt(v) for v in (value, *ends)))
    return Estimate(*((high - low) ** 2 * v for v in (value, *ends)))
