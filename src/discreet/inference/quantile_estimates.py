"""Estimates quantiles and their intervals from cuts and noisy masses.

Claim
    The interval of a quantile, a minimum or a maximum holds the exact one, of the bounded and weighted rows on their
    lattice, with at least the stated confidence, whatever the rows are and however few.
Requires
    Cuts and masses as `selection.quantiles` releases them.
Relies on
    `noise.laplace_sum.quantile` and `chernoff`: bounds on a weighted sum of noise.
Proof
    Given the cuts, the masses between the counted ones have fresh noise. Let D_i = (1 - a) (mass below cut i) - a (mass
    above it): below 0 if and only if less than the share a lies below, which puts the quantile at or above cut i. Its
    noise exceeds t_i with probability at most m. For the lower end, go up from the lowest cut as long as D_i is seen
    below -t_i, and take the last. The end is too high only if some D_i >= 0 was seen below -t_i; D_i >= 0 for all
    further cuts too, so the first such cut is where it went wrong, and that has probability m at most (tests in a fixed
    order). The upper end likewise. If no cut is certain, the end is that of the range.
    *One side.* Unless masses decide which value is released, it is a cut, and the ends are moved to include it. The
    quantile lies below the cut or not. If not, no lower end is above it, as none is above the cut; if so, no upper end
    is below it. So one side alone can be wrong, and may be so with probability 1 - confidence. Where masses do decide,
    the cut that is meant depends on the noise, and either side has half of that.
    *Chernoff.* P(S >= t) <= exp(-h t) E exp(h S) for every h, and E exp(h c Z) = 1 / (1 - (h c)^2) for Laplace Z of
    scale 1; discrete noise of step g is within g of it.
    *Maximum.* Given the cut, the mass M at or above its cell has fresh noise, which exceeds t with probability at most
    1 - confidence. If M is seen above t, the lower end is that cell; otherwise it is that of the range. The end is too
    high only if no value lies at or above it: then M = 0, and its noise was above t. The upper end is that of the
    range. A minimum likewise.
Rounding
    The ends of a cell of a lattice that rounds are moved outward by half a step; the last one to the stated bound.
    With n masses, D_i in doubles is off by at most (2 n + 16) 2^-53 of the sum of their sizes, which is added to t_i.
    Moments are ranked by whole seconds: an upper end is the last microsecond of its second.
Source
    Maurer, Hothorn, Lehmacher (1995): testing in a fixed order. Chernoff (1952).
Mutant
    sides-are-sure: what one side may be wrong by is given to either side where both can be; killed by
    test_an_interval_of_many_quantiles_may_be_wrong_on_either_side.
    sums-are-exact: nothing is added for sums in doubles; killed by test_the_rounding_of_sums_decides_nothing.
    any-certain-cut: the innermost certain cut is taken, whatever lies before it; killed by test_doubt_ends_the_search.
    ends-of-the-lattice: the range ends with the last point of the lattice, and not with the stated bound; killed by
    test_the_range_ends_with_the_stated_bounds.
    ends-are-trusted: the cut of an end is taken for one of its rows; killed by test_ends_hold_in_small_groups.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.exact.amounts import fraction
from discreet.language.checked_expressions import Kind, Value
from discreet.mechanisms.laplace import Laplace
from discreet.noise.laplace import DiscreteLaplace
from discreet.noise.laplace_sum import MOST_TERMS, quantile
from discreet.planning.column_lattice import ColumnLattice
from discreet.planning.plan import Column, Plan
from discreet.planning.quantile_measurements import PricedRanks
from discreet.selection.rank_exponential import PARTS, UNIT
from discreet.sensitivity.intervals import Interval

Reals = NDArray[np.float64]

HEIGHTS = np.linspace(0.02, 0.98, 49)
"""Where Chernoff's bound is tried, as shares of the largest h for which it is finite."""

LEAST_ROWS = 0.3
"""A stretch between two cuts is taken to hold at least so many rows, however few the noise leaves it."""

Ends = tuple[NDArray[Any], NDArray[Any], NDArray[Any]]
"""Values, lower ends and upper ends."""


def rank_estimates(plan: Plan, column: Column, released: NDArray[Any], confidence: float) -> Ends:
    """The values of a column of ranks and their intervals; `released` is what its block's mechanism gave."""
    priced = plan.ranks[column.ranks or 0]
    size = priced.cuts.size
    cuts, counted = released[:, :size], released[:, priced.cuts.counted]
    if not priced.block.shares:
        place = (cuts[:, 0] // PARTS).astype(np.int64)
        low, high = end_interval(priced, place, released[:, size:], confidence)
    else:
        masses = released[:, size:].astype(np.float64) / UNIT / priced.steps
        share = column.aggregate.share or Fraction(1, 2)
        low, high = (end // PARTS for end in interval(priced, counted, masses, share, confidence))
        position = cuts[:, priced.places[column.place]]
        place = (interpolated(priced, cuts, masses, share) if priced.is_recounted else position // PARTS).astype(
            np.int64
        )
    low, high = np.minimum(low.astype(np.int64), place), np.maximum(high.astype(np.int64), place)
    values = (_number(priced, at, side) for at, side in ((place, 0), (low, -1), (high, 1)))
    kind = column.aggregate.released_kind
    found, lower, upper = (RELEASED_AS[kind](numbers) for numbers in values)
    return (found, lower, upper) if kind is not Kind.TIMESTAMP else _in_whole_seconds(priced, found, lower, upper)


def end_interval(
    priced: PricedRanks, place: NDArray[np.int64], masses: NDArray[Any], confidence: float
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Cells between which an end lies, group by group; `masses` are those below and above its cut, in units."""
    top, noise = priced.block.top, priced.cuts.noise
    beyond = masses[:, 1 if top else 0]
    seen = np.zeros(len(place), dtype=bool) if noise is None else beyond > noise_quantile_at_end(noise, confidence)
    return np.where(seen & top, place, 0), np.where(seen & (not top), place, priced.lattice.high)


def noise_quantile_at_end(noise: Laplace, confidence: float) -> int:
    """What the noise in one mass, on one side, exceeds with probability 1 - confidence at most."""
    both_sides = 2 * fraction("confidence", confidence) - 1
    return DiscreteLaplace.of_scale(noise.scale).quantile(both_sides) if both_sides > 0 else 0


def interval(
    priced: PricedRanks, cuts: NDArray[Any], masses: Reals, share: Fraction, confidence: float
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Positions between which the quantile lies, group by group; `masses` are in rows."""
    a, rounding = float(share), (masses.shape[1] + 8) * 2.0**-52
    below = np.cumsum(masses, axis=1)[:, :-1]
    signed = below - a * masses.sum(axis=1, keepdims=True)
    doubt = noise_quantiles(priced, a, confidence) + rounding * np.abs(masses).sum(axis=1, keepdims=True)
    surely_below = np.logical_and.accumulate(signed < -doubt, axis=1).sum(axis=1)
    surely_above = np.logical_and.accumulate((signed > doubt)[:, ::-1], axis=1).sum(axis=1)
    groups, last = np.arange(len(cuts)), priced.lattice.high * PARTS + UNIT
    padded = np.hstack([np.zeros((len(cuts), 1), dtype=object), cuts, np.full((len(cuts), 1), last, dtype=object)])
    low: NDArray[Any] = padded[groups, surely_below]
    high: NDArray[Any] = padded[groups, padded.shape[1] - 1 - surely_above]
    return low, high


def noise_quantiles(priced: PricedRanks, share: float, confidence: float) -> Reals:
    """For each counted cut by how many rows the noise in (1 - share) below - share above is off on either side, but for
    the chance that an interval of this confidence has to be wrong on that side.
    """
    size, noise = len(priced.cuts.counted), priced.cuts.noise
    if noise is None:
        return np.full(size, np.inf)
    one_side = confidence if priced.is_recounted else 2 * fraction("confidence", confidence) - 1
    if one_side <= 0:
        return np.zeros(size)
    below = np.arange(1, size + 1)
    step, scale = float(1 / noise.scale), float(noise.scale / (UNIT * priced.steps))
    if size + 1 <= MOST_TERMS:
        terms = np.where(np.arange(size + 1) < below[:, None], 1 - share, share)
        return np.asarray(quantile(terms, one_side, step=step)) * scale
    miss = float(1 - one_side) / 2
    return np.array([chernoff(n, size + 1 - n, share, miss) + step * (n * (1 - share) + (size + 1 - n) * share)
                     for n in below.tolist()]) * scale  # fmt: skip


def chernoff(below: int, above: int, share: float, miss: float) -> float:
    """A t that a sum of so many Laplace variables, of scales 1 - share and share, exceeds with probability `miss` at
    most.
    """
    h = HEIGHTS / max(1 - share, share)
    growth = -below * np.log1p(-((h * (1 - share)) ** 2)) - above * np.log1p(-((h * share) ** 2))
    return float(((growth - math.log(miss)) / h).min() * (1 + 2.0**-40))


def interpolated(priced: PricedRanks, cuts: NDArray[Any], masses: Reals, share: Fraction) -> NDArray[Any]:
    """The cells where the counted masses reach a share, in a straight line between cuts."""
    groups, none = np.arange(len(cuts)), np.zeros((len(cuts), 1))
    last = np.full((len(cuts), 1), float(priced.lattice.high * PARTS + UNIT))
    places = np.hstack([none, cuts.astype(np.float64), last])
    reached = np.hstack([none, np.cumsum(np.maximum(masses, LEAST_ROWS), axis=1)])
    wanted = float(share) * reached[:, -1]
    next_ = np.clip((reached <= wanted[:, None]).sum(axis=1), 1, places.shape[1] - 1)
    before, after = reached[groups, next_ - 1], reached[groups, next_]
    into = (wanted - before) / (after - before)
    found = places[groups, next_ - 1] * (1 - into) + places[groups, next_] * into
    cell: NDArray[Any] = np.clip(np.floor(found / PARTS), 0, priced.lattice.high)
    return cell


def _number(priced: PricedRanks, cell: NDArray[np.int64], side: int) -> NDArray[Any]:
    """The values of cells; on a lattice that rounds the outer end of the cell, inside of the stated bounds."""
    lattice = priced.lattice
    if lattice.exact:
        whole: NDArray[np.int64] = int(lattice.origin) + cell
        return whole
    ends = bounds_of(priced.block.value)
    if priced.block.value.kind is Kind.INTEGER:
        return _whole_number(lattice, cell, side, ends)
    found = float(lattice.origin) + (cell + side / 2) * float(lattice.step)
    # The last point of the lattice may lie below the upper bound: all that is above it is in its cell.
    found = np.where((cell == lattice.high) & (side > 0), float(ends.high), found)
    real: Reals = np.clip(found, float(ends.low), float(ends.high))
    return real


def _whole_number(lattice: ColumnLattice, cell: NDArray[np.int64], side: int, ends: Interval) -> NDArray[np.int64]:
    """The same of whole numbers, exactly: steps are whole, too, and doubles may not hold where they lie."""
    halves = (2 * cell + side) if ends.width < 2**60 else (2 * cell + side).astype(object)
    twice = halves * int(lattice.step)
    offset = -(-twice // 2) if side < 0 else twice // 2
    offset = np.where((cell == lattice.high) & (side > 0), int(ends.high - lattice.origin), offset)
    first, last = int(ends.low - lattice.origin), int(ends.high - lattice.origin)
    inside = np.clip(offset, first, last) + int(lattice.origin)
    return inside.astype(np.int64)


def bounds_of(value: Value) -> Interval:
    """The bounds that were stated for what is ranked."""
    if value.interval is None:  # numbers of days and seconds have bounds, too
        raise RuntimeError
    return value.interval


def _in_whole_seconds(priced: PricedRanks, found: NDArray[Any], low: NDArray[Any], high: NDArray[Any]) -> Ends:
    """Moments are ranked by whole seconds: an upper end is the last moment of its second, within the stated bounds."""
    span = priced.block.value.span
    last = np.datetime64(span[1] if span else int(bounds_of(priced.block.value).high), "us" if span else "s")
    return np.minimum(found, last), np.minimum(low, last), np.minimum(high + np.timedelta64(999_999, "us"), last)


RELEASED_AS: dict[Kind, Callable[[NDArray[Any]], NDArray[Any]]] = {
    Kind.REAL: lambda numbers: numbers,
    Kind.INTEGER: lambda numbers: numbers if numbers.dtype == np.int64 else np.rint(numbers).astype(np.int64),
    Kind.DATE: lambda days: days.astype(np.int64).astype("datetime64[D]"),
    Kind.TIMESTAMP: lambda seconds: np.rint(seconds * 1e6).astype(np.int64).astype("datetime64[us]"),
}
"""What the numbers of a lattice stand for."""
