"""The least errors of a test between two neighbors, from a privacy profile.

Claim
    No test whose type-I error is `level` has a type-II error below `least_error(delta, level)`, where `delta` encloses
    the profile of one direction; nor, in either direction, one below `least_errors(epsilons, deltas, levels)`, where
    `deltas` bound the profiles of both directions at the `epsilons`.
Requires
    Levels from 0 to 1; epsilons of 0 or more.
Relies on
    Upper ends of delta; exp to within 8 rounding units.
Proof
    A test that rejects on S has Q(S) <= level and power P(S) <= delta(t) + e^t Q(S), for each real t: its type-II error
    is at least 1 - delta(t) - e^t level, and the best of several t is a bound. With the directions exchanged, for the
    complement of S and t >= 0: 1 - level <= 1 - Q(S) <= delta'(t) + e^t (1 - P(S)), so the error is at least e^-t (1 -
    delta'(t) - level). Only how near the bound comes depends on the t: the first is concave in e^t, so golden sections
    find its top.
Rounding
    Down: the level is rounded up; 16 units of all terms are taken off.
Source
    Wasserman and Zhou (2010); Dong, Roth and Su (2022), Proposition 2.12.
Mutant
    errors-to-nearest: what rounding may have added is not taken off; killed by test_errors_are_rounded_down.
    backward-is-free: the other direction is not divided by e^t; killed by test_a_profile_bounds_both_directions.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np

from discreet.accounting.contour_integral import Bounds
from discreet.accounting.dominating_pairs import Reals
from discreet.accounting.pairwise_summation import UNIT
from discreet.exact.bisection import float_up

FARTHEST = 40.0
"""Beyond e^40 and e^-40, in both ways, no slope is tried."""
STEEPEST = 700.0
"""So far e^epsilon is a float."""
SECTIONS = 48
SPENT = 16.0 * UNIT


def least_error(delta: Callable[[float], Bounds], level: Fraction) -> float:
    """The largest over t of 1 - delta(t) - e^t level, by golden sections."""
    low, high, part = -FARTHEST, FARTHEST, (math.sqrt(5.0) - 1.0) / 2.0
    alpha = float_up(level)

    def bound(t: float) -> float:
        given = math.exp(t) * alpha
        return 1.0 - delta(t).upper - given - SPENT * (1.0 + given)

    left, right = high - part * (high - low), low + part * (high - low)
    at_left, at_right = bound(left), bound(right)
    for _ in range(SECTIONS):
        if at_left >= at_right:
            high, right, at_right = right, left, at_left
            left = high - part * (high - low)
            at_left = bound(left)
        else:
            low, left, at_left = left, right, at_right
            right = low + part * (high - low)
            at_right = bound(right)
    return max(at_left, at_right, 0.0)


def least_errors(epsilons: Reals, deltas: Reals, levels: Reals) -> Reals:
    """The same for each of many levels, from points of the profile alone and in both directions."""
    near = epsilons < STEEPEST
    slope, kept, alpha = np.exp(epsilons[near])[:, None], 1.0 - deltas[near][:, None], levels[None, :]
    there = kept - slope * alpha - SPENT * (1.0 + slope * alpha)
    back = (kept - alpha - SPENT) / slope * (1.0 - SPENT)
    result: Reals = np.maximum(np.maximum(there, back).max(axis=0, initial=0.0), 0.0)
    return result
