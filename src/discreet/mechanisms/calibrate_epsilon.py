"""The smallest epsilon for a wanted error.

Claim
    `smallest_epsilon(meets)` is an epsilon at which `meets` holds; a ten-thousandth of the next power of ten less, and
    it does not.
Requires
    `meets` holds above some epsilon and not below.
Relies on
    Exact fractions.
Proof
    The power of ten is the least at which `meets` holds, so the smallest epsilon is in (top/10, top]; bisection over
    the multiples of top/10,000 there keeps one end where it holds and one where it does not.
Rounding
    Up, to four digits.
Source
    Arithmetic.
Mutant
    other-end: the end at which it does not hold is returned; killed by test_the_smallest_and_no_smaller.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from discreet.errors import InvalidParameter, expected

LEAST, LARGEST = Fraction(1, 10**9), Fraction(10**4)
DIGITS = 10**4


def smallest_epsilon(meets: Callable[[Fraction], bool], within: object) -> Fraction:
    """The smallest epsilon, to four digits, at which an error is small enough."""
    top = LEAST
    while not meets(top):
        if top >= LARGEST:
            cure = "allow a larger error, or ask more people."
            raise InvalidParameter(expected("an error that some epsilon reaches", "within", within, cure))
        top *= 10
    below, above = DIGITS // 10, DIGITS
    while above - below > 1:
        middle = (below + above) // 2
        below, above = (below, middle) if meets(middle * top / DIGITS) else (middle, above)
    return above * top / DIGITS
