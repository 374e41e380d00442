"""From noisy totals to values and intervals: post-processing, which costs nothing and sees no data."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.inference import quantile_estimates
from discreet.inference.estimators import ESTIMATORS, StatedEnds, lattices_of, widths
from discreet.planning.bernstein_polynomials import Reals
from discreet.planning.linear_error import half_width
from discreet.planning.plan import Column, NoiseClasses, Plan, PricedValues

LARGEST_COUNT = 2**62
ROUNDINGS = 8
"""Units in the last place that sums and products of doubles are off by at most."""
Flags = NDArray[np.bool_]
FINE_RANGE = 2.0**-20
"""Of the bounds themselves: in a range that is smaller, doubles are not much finer than noise."""


@dataclass(frozen=True, slots=True, eq=False)
class Estimate:
    """One column of an answer: its values, and ends that the bounded and weighted total lies between."""

    values: NDArray[Any]
    low: NDArray[Any]
    high: NDArray[Any]
    untold: NDArray[np.bool_] | None = None
    """Where the ends are those of all possible values, so that a value says nothing: a function of released numbers."""


def estimates(plan: Plan, totals: Sequence[NDArray[Any]], confidence: float) -> dict[str, Estimate]:
    """Values and intervals of every column, from each block's noisy integer totals, of shape (cells, components)."""
    if plan.classes is not None:
        return _by_class(plan, plan.classes, totals, confidence)
    confidence = confidence if plan.rounds == 1 else 1 - (1 - confidence) / plan.rounds
    rows = [(noisy / block.steps).astype(np.float64) for noisy, block in zip(totals, plan.blocks, strict=False)]
    apart = totals[len(plan.blocks) :]
    found: dict[str, Estimate] = {}
    for column in plan.columns:
        if column.ranks is not None:
            ends = quantile_estimates.rank_estimates(plan, column, apart[column.ranks], confidence)
            found[column.aggregate.name] = Estimate(*ends)
        elif column.values is not None:
            own = apart[len(plan.ranks) + column.values]
            found[column.aggregate.name] = _at_least(plan.values[column.values], own, confidence)
        else:
            found[column.aggregate.name] = _estimate(plan, column, rows, confidence)
    return found


def _at_least(priced: PricedValues, chosen: NDArray[Any], confidence: float) -> Estimate:
    """A number of values from its limit and noisy count: with a lower end, and no upper one."""
    [[place, noisy]] = chosen.tolist()
    low = max(0, int(noisy) - priced.noise.margin(int(place), confidence))
    ends = np.array([[max(0, int(noisy))], [low], [math.inf]], dtype=np.float64)
    return Estimate(*ends)


def _by_class(
    plan: Plan, classes: NoiseClasses, totals: Sequence[NDArray[Any]], confidence: float
) -> dict[str, Estimate]:
    """The same where groups differ in their noise: class by class."""
    found: dict[str, Estimate] = {}
    for place, blocks in enumerate(classes.blocks):
        rows = classes.of == place
        own = estimates(replace(plan, blocks=blocks, classes=None), [part[rows] for part in totals], confidence)
        for name, one in own.items():
            if name not in found:
                untold = None if one.untold is None else np.zeros(len(rows), np.bool_)
                value, low, high = (np.zeros(len(rows), part.dtype) for part in (one.values, one.low, one.high))
                found[name] = Estimate(value, low, high, untold)
            whole = found[name]
            whole.values[rows], whole.low[rows], whole.high[rows] = one.values, one.low, one.high
            if whole.untold is not None and one.untold is not None:
                whole.untold[rows] = one.untold
    return found


def _estimate(plan: Plan, column: Column, rows: Sequence[Reals], confidence: float) -> Estimate:
    if column.linear:
        return _linear(plan, column, rows, confidence)
    blocks, asked = [plan.blocks[i] for i in column.blocks], column.aggregate
    totals = [np.delete(rows[i], -2, axis=1) if plan.blocks[i].block.nulls else rows[i] for i in column.blocks]
    estimator, lattices = ESTIMATORS[asked.statistic], lattices_of(blocks, asked)
    start, unit = float(lattices[-1].origin) * estimator.shifted, estimator.unit(asked, widths(lattices))
    value, low, high = estimator.interval(blocks, asked, totals, confidence)
    untold = estimator.tells_nothing(asked, low, high)
    found = Estimate(start + unit * value, start + unit * low, start + unit * high, untold)
    ends = estimator.ends(asked)
    return found if ends is None else _within_ends(found, ends, low <= ends.least, high >= ends.most)


def _within_ends(found: Estimate, ends: StatedEnds, at_low: Flags, at_high: Flags) -> Estimate:
    """An estimate within what the stated bounds allow, and as far as that where it was as far as the lattice allows:
    the last point of that may lie below or above. Where doubles are few in so small a range, ends are rounded outward.
    """
    first, last = ends.low, ends.high
    lower, upper = found.low, found.high
    if last - first < FINE_RANGE * max(abs(first), abs(last)):
        lower, upper = np.nextafter(lower, -np.inf), np.nextafter(upper, np.inf)
    values, lower, upper = (np.clip(part, first, last) for part in (found.values, lower, upper))
    return replace(found, values=values, low=np.where(at_low, first, lower), high=np.where(at_high, last, upper))


def half_width_for(plan: Plan, column: Column, rows: float, confidence: float) -> float:
    """Half the width of the interval of a column that is not linear, for so many rows."""
    blocks, asked = [plan.blocks[i] for i in column.blocks], column.aggregate
    estimator = ESTIMATORS[asked.statistic]
    unit: float = estimator.unit(asked, widths(lattices_of(blocks, asked)))
    return unit * estimator.half_width(blocks, asked, rows, confidence)


def _linear(plan: Plan, column: Column, rows: Sequence[Reals], confidence: float) -> Estimate:
    values = column.offset + sum(rows[i] @ np.array(c) for i, c in zip(column.blocks, column.coefficients, strict=True))
    low, high = _linear_ends(plan, column, rows, values, confidence)
    if column.aggregate.statistic.counts and not plan.reconciled:
        return Estimate(_whole(np.rint(values)), _whole(np.floor(low)), _whole(np.ceil(high)))
    sizes = sum(np.abs(rows[i]) @ np.abs(c) for i, c in zip(column.blocks, column.coefficients, strict=True))
    slack = ROUNDINGS * np.spacing(abs(column.offset) + sizes)
    few = high - low < slack / FINE_RANGE  # noise is 0 so often that the interval is a point, which rounding may miss
    return Estimate(values, np.where(few, low - slack, low), np.where(few, high + slack, high))


def _linear_ends(
    plan: Plan, column: Column, rows: Sequence[Reals], values: Reals, confidence: float
) -> tuple[Reals, Reals]:
    """The same distance on either side; for a count that had to reach a threshold, the interval given that it did."""
    if plan.shown is None:
        half = half_width(plan, column, confidence)
        return values - half, values + half
    [[factor]], [place] = column.coefficients, column.blocks
    ends = [column.offset + factor * end for end in plan.shown.interval(rows[place][:, 0], confidence)]
    return np.minimum(*ends), np.maximum(*ends)


def _whole(values: Reals) -> NDArray[np.int64]:
    return np.clip(values, -LARGEST_COUNT, LARGEST_COUNT).astype(np.int64)
