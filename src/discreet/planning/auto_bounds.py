"""From a noisy histogram of units to a limit or to bounds: powers of two, chosen without another look at the rows.

Claim
    `covering_limit`, `limit` and `bounds` are functions of noisy counts and public numbers alone.
Requires
    Counts by size, each unit in one of them: `engines.first_looks` makes them, and a mechanism adds noise to
    them.
Relies on
    `noise.laplace_sum.quantile`, for how often noise alone looks like units.
Proof
    Post-processing. Bins, up to eight next to each other, whose noisy counts add up to less than `filled_threshold` are
    taken for empty: noise in empty ones gets there with probability `FALSE_ALARM` over all of these sums together (a
    union bound); beside a filled bin less is enough. Units that no filled bin shows count as well: in the bin after the
    last of them, as many as the counts before it let expect, and its own noise allows. The rest is judgment. *The worst
    case.* A unit with m rows whose limit is L has weights of L / m, and loses m - L of them: at most (m - L) U of a sum
    of values up to U in size, and that much where all are U. The noise has a standard deviation of c U L. So over all
    values the error of a sum is at most U times the sum over units of max(m - L, 0), and c U L. It is least where about
    c units are beyond: at the order statistic of m that has floor(c) above it. Limits and bounds (of which m is the
    largest value of a unit) minimize this over powers of two, which cost a factor of 2 at most: the power of two that
    follows the order statistic has twice its noise, and loses no more. Of a unit the bin alone is known, of which the
    middle is taken.
Rounding
    None that matters.
Source
    Google's approximate bounds (Wilson et al., PETS 2020) for bins of powers of two and their threshold; Huang, Liang,
    Yi, Instance-optimal Mean Estimation under Differential Privacy (NeurIPS 2021), for weighing bias against noise;
    Amin, Kulesza, Munoz and Vassilvitskii, Bounding User Contributions (ICML 2019), for limits.
    `counts_after_last_filled` is discreet's own; `benchmarks/clipping.py` compares it. Rameshwar and Tandon, Bounding
    User Contributions (2025, arXiv 2502.04749), for the least error in the worst case; they clip the sum of a unit at
    both ends, around the middle that its public number of samples gives, which halves what is lost. Here the number is
    private.
Mutant
    noise-is-data: bins that hold nothing but noise count; killed by test_noise_alone_moves_no_bound.
    alarms-are-frequent: one table in a hundred has such a bin; killed by test_false_alarms_are_rare.
    nobody-behind-the-last: no unit is expected behind the last filled bin; killed by
    test_a_falling_tail_goes_on_behind_the_last_filled_bin.
    tails-rise-too: where counts rise to the last filled bin, units are expected behind it all the same; killed by
    test_where_counts_rise_nothing_is_expected_behind.
    tails-at-any-noise: what is expected is not held to what the noise allows; killed by
    test_what_is_expected_keeps_to_what_noise_allows.
    sums-alarm-apart: sums of two, four and eight bins have false alarms of their own; killed by
    test_all_sums_of_noise_together_look_like_units_once_in_10_000.
    noise-is-cheap: a limit is as if noise cost half; killed by
    test_limits_have_nearly_the_least_error_in_the_worst_case.
    bins-alone: bins that hold units together are taken for noise; killed by
    test_bins_count_together_where_none_counts_alone.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from discreet.noise.laplace_sum import quantile

LOWEST = -30
"""Sizes up to 2**LOWEST are as good as zero."""
HIGHEST = 63
SIZES = HIGHEST - LOWEST
"""How many bins there are on either side of zero: bin k holds sizes up to 2**(LOWEST + k) and above half of that."""
COUNTS = 49
"""Bins of a number of rows or groups: bin k holds numbers up to 2**k and above half of that."""
WITHIN = 0.95
"""The part of the units all of whose keys are looked at, where keys are to be found."""
MOST_WEIGHTED = 0.5
"""Of the units, no more are weighted down, whatever that would save."""
MOST_CLIPPED = 0.1
"""Of the units, no more are clipped on either side, whatever that would save."""
FALSE_ALARM = 1e-4
"""How likely some bin is taken for filled that holds nothing but noise: such a bound may be 2**60 times too large."""
BESIDE = 0.05
"""The same for one bin beside a filled one."""
TOGETHER = (1, 2, 4, 8)
"""So many bins next to each other may show by their sum that some unit is in them, where none does by itself."""

Reals = NDArray[np.float64]


@lru_cache(maxsize=256)
def filled_threshold(scale: Fraction, bins: int, together: int = 1) -> float:
    """The noisy count from which so many bins next to each other, of all of them, count as filled."""
    rare = 2 * FALSE_ALARM / (len(TOGETHER) * bins)  # on either side of zero, of which one matters
    return float(scale) * float(quantile([1.0] * together, 1 - rare, step=float(1 / scale)))


def filled_counts(noisy: NDArray[Any], scale: Fraction) -> Reals:
    """Noisy counts, with 0 for bins that may hold only noise."""
    counts = noisy.astype(np.float64)
    kept, near = np.zeros(counts.size, dtype=bool), counts >= float(scale) * math.log(1 / (2 * BESIDE))
    for width in TOGETHER:  # the fewest bins that make it certain that somebody is there: the fullest of them is filled
        if width > counts.size:
            break
        windows = sliding_window_view(counts, width)
        certain = windows.sum(axis=1) >= filled_threshold(scale, counts.size, width)
        news = np.flatnonzero(certain & ~sliding_window_view(kept, width).any(axis=1))
        kept[news + windows[news].argmax(axis=1)] = True
    for _ in counts:  # sizes lie together: a bin beside a filled one needs less to be taken for filled
        beside = np.zeros_like(kept)
        beside[1:] |= kept[:-1]
        beside[:-1] |= kept[1:]
        grown = kept | (beside & near)
        if np.array_equal(grown, kept):
            break
        kept = grown
    return np.where(kept, counts, 0.0)


def counts_after_last_filled(counts: Reals, noisy: NDArray[Any], scale: Fraction) -> Reals:
    """Filled counts, and in the bin after the last filled one what is to be expected there, if counts fall toward it.

    It is less than the last by as much as that is less than the one before, or by more if the fall grows; and it is
    within one scale of its own noisy count, where that leaves it the choice.

    >>> counts_after_last_filled(
    ...     np.array([0.0, 900, 400, 100, 0, 0]), np.array([3, 900, 400, 100, 4, -8]), Fraction(10)
    ... )
    array([  0., 900., 400., 100.,  14.,   0.])
    """
    last = int(np.max(np.flatnonzero(counts), initial=0))
    if not 0 < last < counts.size - 1 or counts[last] > counts[last - 1]:
        return counts
    fall = counts[last] / counts[last - 1]
    before = counts[last - 1] / counts[last - 2] if last > 1 and counts[last - 2] else fall
    expected = counts[last] * fall * min(fall / before, 1.0)
    seen, step = float(noisy[last + 1]), float(scale)
    found = counts.copy()
    found[last + 1] = np.clip(expected, max(seen - step, 0.0), max(seen + step, 0.0))
    return found


def covering_limit(noisy: NDArray[Any], scale: Fraction) -> int:
    """The smallest power of two that covers 19 of 20 units, by the noisy counts; 1 where all of them may be noise.

    >>> covering_limit(np.array([40, 950, 30, 20, 0, 0]), Fraction(1))
    2
    """
    counts = filled_counts(noisy, scale)
    return 1 << int(np.argmax(np.cumsum(counts) >= WITHIN * counts.sum())) if counts.any() else 1


def limit(noisy: NDArray[Any], scale: Fraction, cost: float) -> int:
    """A power of two that covers at least half of the units; 1 where all noisy counts may be noise.

    `cost` is the error, over all groups, that noise has for each one that the limit is raised by.

    >>> noisy = np.array([400, 900, 300, 100, 0, 0])
    >>> [limit(noisy, Fraction(1), cost) for cost in (10.0, 100.0, 5000.0)]
    [8, 4, 2]
    """
    counts = filled_counts(noisy, scale)
    most = MOST_WEIGHTED * float(counts.sum())
    return 1 << least(counts_after_last_filled(counts, noisy, scale), np.exp2(np.arange(counts.size)), cost, most)


def bounds(
    noisy: NDArray[Any], scale: Fraction, cost: float, otherwise: tuple[Fraction, Fraction] | None = None
) -> tuple[Fraction, Fraction]:
    """Bounds from the noisy counts of bins -SIZES..SIZES: two of 0 and the powers of two, low < high.

    `cost` is the error, in the units of the sum, that noise has for each unit of the bound. `otherwise`, or (0, 1), is
    taken where all noisy counts may be noise.

    >>> noisy = np.zeros(2 * SIZES + 1)
    >>> noisy[SIZES - LOWEST + 3] = 1000
    >>> bounds(noisy, Fraction(1), 10.0)
    (Fraction(0, 1), Fraction(8, 1))
    """
    counts = filled_counts(noisy, scale)
    if not counts.any():
        return otherwise or (Fraction(0), Fraction(1))
    most = MOST_CLIPPED * float(counts.sum())
    high, low = (
        _end(np.append(counts[SIZES], counts_after_last_filled(counts[side], noisy[side], scale)), cost, most)
        for side in (slice(SIZES + 1, None), slice(SIZES - 1, None, -1))
    )
    return (-low, high) if low or high else (Fraction(0), Fraction(2) ** LOWEST)


def _end(counts: Reals, cost: float, most: float) -> Fraction:
    """The end on one side: 0, or a power of two."""
    best = least(counts, np.append(0.0, 2.0 ** (LOWEST + np.arange(1, counts.size))), cost, most)
    return Fraction(2) ** (LOWEST + best) if best else Fraction(0)


def least(counts: Reals, tops: Reals, cost: float, most: float) -> int:
    """The bin whose top has the least estimated error, among those with at most `most` units beyond it.

    A unit in bin j, whose sizes have their middle at 3/4 of the top, loses what its size is beyond the top of bin k.
    """
    last = int(np.max(np.flatnonzero(counts), initial=0))
    errors = {
        k: float(np.sum(counts[k + 1 :] * np.maximum(0.75 * tops[k + 1 :] - tops[k], 0.0))) + cost * float(tops[k])
        for k in range(last + 1)
        if float(counts[k + 1 :].sum()) <= most
    }
    return min(errors, key=lambda k: errors[k])
