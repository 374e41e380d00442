"""The smallest epsilon for a wanted error.

Claim
    `smallest_epsilon(meets)` is an epsilon at which `meets` holds; a ten-thousandth of the next power of ten less, and
    it does not, unless the epsilon is `LEAST` or less.
Requires
    `meets` holds above some epsilon and not below.
Relies on
    `exact.bisection`: the side on which a condition holds.
Proof
    The power of ten is the least at which `meets` holds, so the smallest epsilon is in (top/10, top], and is sought
    among the multiples of top/10,000 there.
Rounding
    Up, to four digits.
Source
    Arithmetic.
Mutant
    other-end: the next multiple below is returned; killed by test_the_smallest_and_no_smaller.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from discreet.errors import InvalidParameter, expected
from discreet.exact.amounts import decimal_text
from discreet.exact.bisection import first_power, least_whole

LEAST, LARGEST = Fraction(1, 10**9), Fraction(10**4)
DIGITS = 10**4


def smallest_epsilon(
    meets: Callable[[Fraction], bool], within: object, *, least: Fraction = LEAST, largest: Fraction = LARGEST
) -> Fraction:
    """The smallest epsilon, to four digits, at which an error is small enough; no smaller ones than `least` are tried.

    Raises:
        InvalidParameter: even the largest epsilon is not enough.
    """
    top = first_power(lambda epsilon: epsilon >= largest or meets(epsilon), Fraction(1), Fraction(10))
    if not meets(min(top, largest)):
        cure = f"allow a larger error, or ask more people; epsilons up to {decimal_text(largest)} were tried."
        raise InvalidParameter(expected("an error that some epsilon reaches", "within", within, cure))
    top = first_power(lambda epsilon: epsilon <= least or not meets(epsilon / 10), top, Fraction(1, 10))
    digits = least_whole(lambda n: n >= DIGITS or meets(n * top / DIGITS), DIGITS // 10, DIGITS)
    return min(digits * top / DIGITS, largest)
