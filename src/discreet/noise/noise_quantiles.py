"""Quantiles of noise on the whole numbers, found from its tail.

Claim
    `least_step` gives the smallest t >= 0 with P(|Z_i| <= t for all i of `dimension` independent draws) >= confidence,
    or a larger one where the tail's ball at the working precision does not tell.
Requires
    `folded_tail(t)` is a ball around P(|Z| >= t), which falls with t, for t >= 1.
Relies on
    Arb: a comparison of balls is true only if it holds for all numbers in them.
Proof
    The draws are independent, so all of them are within t with probability (1 - P(|Z| >= t + 1))^d, which is no less
    than c where P(|Z| >= t + 1) <= 1 - c^(1/d). The search keeps an upper end at which that was seen to hold, and ends
    next to a lower one at which it was not.
Rounding
    Up.
Source
    None: the definition.
Mutant
    draws-as-one: the number of draws is passed over; killed by test_quantiles_of_several_draws.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from flint import arb, ctx

from discreet.exact.amounts import at_least_one, confidence_level
from discreet.exact.bisection import least_whole
from discreet.noise.certified_comparison import real


def checked_level(confidence: object, dimension: object) -> tuple[Fraction, int]:
    """A confidence strictly between 0 and 1, and how many draws it is about.

    >>> checked_level(0.95, 3)
    (Fraction(19, 20), 3)
    """
    return confidence_level(confidence), at_least_one("dimension", dimension)


def miss_probability(level: Fraction, draws: int) -> arb:
    """1 - level^(1/draws) at the working precision: how often one draw may be beyond.

    >>> miss_probability(Fraction(1, 2), 1).contains(arb(0.5))
    True
    """
    return -(real(level).log() / draws).expm1()


def least_step(folded_tail: Callable[[int], arb], confidence: object, dimension: object, precision: int) -> int:
    """The smallest t with P(|Z_i| <= t for all i of `dimension` independent draws) >= confidence.

    >>> least_step(lambda t: arb(2) ** -t, 0.9, 1, 64)  # 1/16 of the draws are beyond 3, 1/8 beyond 2
    3
    """
    level, draws = checked_level(confidence, dimension)
    with ctx.workprec(precision):
        most = miss_probability(level, draws)
        return least_whole(lambda t: bool(folded_tail(t + 1) <= most), -1, 1)
