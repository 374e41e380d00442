"""The largest of several independent errors: its mean, and upper bounds.

Claim
    For independent integers Z_1..Z_d with P(|Z| >= t) <= ``tail(t)``, `expected_largest` is at least E max |Z_i|
    and `union_largest` at least that, with no use of independence; both exceed the exact sums of their formulas by
    at most about one part in 10^5. `union_quantile` is a t with P(max |Z_i| > t) <= miss by the union bound, the
    smallest one up to the rounding of `tail`.
Requires
    ``tail`` takes an array of integers t >= 1 and never rises; beyond `reach`, d * tail is below 1e-15 and falls at
    least geometrically per `reach`.
Relies on
    NumPy's expm1 and log1p to within four units in the last place.
Proof
    E max |Z_i| = sum over t >= 1 of P(max |Z_i| >= t) = sum of 1 - (1 - P(|Z| >= t))^d, which grows with P(|Z| >= t),
    and is at most the sum of min(1, d P(|Z| >= t)). Where terms are too many, w of them are replaced by w times the
    first, which is the largest; with w at most reach / 2^20 that adds at most w.
Rounding
    Up, by a factor of 1 + 1e-9, which is more than the rounding of the sums and what lies beyond `reach`.
Source
    Dwork, Roth, The Algorithmic Foundations of Differential Privacy (2014), theorem 3.8, for the union bound.
Mutant
    one-of-many: the dimension is left out; killed by test_the_largest_of_county_counts.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from discreet.exact.bisection import least_whole

Reals: TypeAlias = NDArray[np.float64]
Tail: TypeAlias = Callable[[Reals], Reals]

TERMS = 1 << 20
UP = 1 + 1e-9


def expected_largest(tail: Tail, reach: float, dimension: int) -> float:
    """E max |Z_i| of `dimension` independent draws, rounded up.

    >>> round(expected_largest(lambda t: np.exp(-t), 60.0, 1), 4)  # 1 / (e - 1)
    0.582
    """
    return _summed(lambda t: -np.expm1(dimension * np.log1p(-np.minimum(tail(t), 1 - 2.0**-53))), reach)


def union_largest(tail: Tail, reach: float, dimension: int) -> float:
    """The same by the union bound, which needs no independence.

    >>> round(union_largest(lambda t: np.exp(-t), 60.0, 1), 4)
    0.582
    """
    return _summed(lambda t: np.minimum(1.0, dimension * tail(t)), reach)


def union_quantile(tail: Tail, reach: float, dimension: int, miss: float) -> int:
    """A t with dimension * P(|Z| > t) <= miss.

    >>> union_quantile(lambda t: np.exp(-t), 60.0, 1, 0.01)
    4
    """
    return least_whole(lambda t: bool(dimension * tail(np.array([t + 1.0]))[0] * UP <= miss), -1, int(reach) + 1)


def _summed(terms: Callable[[Reals], Reals], reach: float) -> float:
    width = max(1, int(reach) // TERMS)
    at = np.arange(1, int(reach) + width + 1, width, dtype=np.float64)
    return float(width * terms(at).sum() * UP)
