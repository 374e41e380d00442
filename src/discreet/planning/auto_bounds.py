"""From a noisy histogram of units to a limit or to bounds: powers of two, chosen without another look at the rows.

Claim
    `covering_limit`, `limit` and `bounds` are functions of noisy counts and public numbers alone.
Requires
    Counts by size, each unit in one of them: `engines.preliminary_totals` makes them, and a mechanism adds noise to
    them.
Relies on
    Nothing.
Proof
    Post-processing. A bin whose noisy count is below `floor` is taken for empty: noise in an empty one gets there with
    probability `FALSE_ALARM` over all bins together (a union bound over P(Z >= t) <= q^t of the discrete law); beside a
    filled bin less is enough. The rest is judgment: limits and bounds make the sum of two errors small, both as
    estimated from the bins: what weighting or clipping takes from the units beyond (one group, or one row, of each),
    and the noise, which grows in proportion.
Rounding
    None that matters.
Source
    Google's approximate bounds (Wilson et al., PETS 2020) for bins of powers of two and their threshold; Huang, Liang,
    Yi, Instance-optimal Mean Estimation under Differential Privacy (NeurIPS 2021), for weighing bias against noise.
Mutant
    noise-is-data: bins that hold nothing but noise count; killed by test_noise_alone_moves_no_bound.
    alarms-are-frequent: one table in a hundred has such a bin; killed by test_false_alarms_are_rare.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

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

Reals = NDArray[np.float64]


def floor(scale: Fraction, bins: int) -> float:
    """The noisy count from which a bin counts as filled."""
    return float(scale) * math.log(bins / FALSE_ALARM)


def filled(noisy: NDArray[Any], scale: Fraction) -> Reals:
    """Noisy counts, with 0 for bins that may hold only noise."""
    counts = noisy.astype(np.float64)
    kept, near = counts >= floor(scale, counts.size), counts >= float(scale) * math.log(1 / (2 * BESIDE))
    for _ in counts:  # sizes lie together: a bin beside a filled one needs less to be taken for filled
        beside = np.zeros_like(kept)
        beside[1:] |= kept[:-1]
        beside[:-1] |= kept[1:]
        grown = kept | (beside & near)
        if np.array_equal(grown, kept):
            break
        kept = grown
    return np.where(kept, counts, 0.0)


def covering_limit(noisy: NDArray[Any], scale: Fraction) -> int:
    """The smallest power of two that covers 19 of 20 units, by the noisy counts; 1 where all of them may be noise.

    >>> covering_limit(np.array([40, 950, 30, 20, 0, 0]), Fraction(1))
    2
    """
    counts = filled(noisy, scale)
    return 1 << int(np.argmax(np.cumsum(counts) >= WITHIN * counts.sum())) if counts.any() else 1


def limit(noisy: NDArray[Any], scale: Fraction, cost: float) -> int:
    """A power of two that covers at least half of the units; 1 where all noisy counts may be noise.

    `cost` is the error, over all groups, that noise has for each one that the limit is raised by.

    >>> noisy = np.array([400, 900, 300, 100, 0, 0])
    >>> [limit(noisy, Fraction(1), cost) for cost in (10.0, 100.0, 5000.0)]
    [8, 4, 2]
    """
    counts = filled(noisy, scale)
    return 1 << least(counts, np.exp2(np.arange(counts.size)), cost, MOST_WEIGHTED * counts.sum())


def bounds(noisy: NDArray[Any], scale: Fraction, cost: float) -> tuple[Fraction, Fraction]:
    """Bounds from the noisy counts of bins -SIZES..SIZES: two of 0 and the powers of two, low < high.

    `cost` is the error, in the units of the sum, that noise has for each unit of the bound.

    >>> noisy = np.zeros(2 * SIZES + 1)
    >>> noisy[SIZES - LOWEST + 3] = 1000
    >>> bounds(noisy, Fraction(1), 10.0)
    (Fraction(0, 1), Fraction(8, 1))
    """
    counts = filled(noisy, scale)
    most = MOST_CLIPPED * counts.sum()
    high, low = (_end(side, cost, most) for side in (counts[SIZES:], counts[SIZES::-1]))
    return (-low, high) if low or high else (Fraction(0), Fraction(2) ** LOWEST if counts.any() else Fraction(1))


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
