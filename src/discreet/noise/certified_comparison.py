"""Comparisons of real numbers, decided with certainty.

Claim
    `decided` returns an answer that its question gave at some precision; `whole_part` answers only with the floor of
    every number above zero in the ball; `floors` returns integers with every floor of the ball between them;
    `float_above` returns a float that no number in the ball exceeds.
Requires
    Questions whose answer depends on balls alone, and is reached at some precision: the caller shows that the number
    asked about is not one (an integer, for a floor) where it never would be.
Relies on
    Arb: every operation returns a ball that contains the true result, at *any* working precision. The working
    precision is one variable for the whole process; a thread that changes it under us can therefore cost time, not
    truth.
Proof
    `whole_part`, `floors`: floor is monotone, so the floors of both ends enclose the floors of all that lies between.
    `float_above`: the upper end is a dyadic number m 2**e; m is cut to 53 bits by a shift that rounds up, and below
    the smallest float and above the largest the answer is that float and infinity.
Rounding
    `float_above`: up. The others: none.
Source
    Johansson, Arb: efficient arbitrary-precision midpoint-radius interval arithmetic (IEEE Trans. Computers 66,
    2017).
Mutant
    ends-in-callers-bits: an end is rounded to the working precision of the program around; killed by
    test_figures_of_noise_do_not_depend_on_the_program_around.
    float-to-nearest: the last bit is cut off instead of rounded up; killed by test_the_float_is_never_below.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import TypeVar

from flint import arb, ctx, fmpq

T = TypeVar("T")

FLOAT_BITS = 53
SMALLEST_EXPONENT = -1074
"""The smallest float above zero is 2 to this power."""


def decided(question: Callable[[], T | None], precision: int) -> T:
    """What `question` answers at the first precision where it does not answer None, doubling from `precision` bits."""
    while True:
        with ctx.workprec(precision):
            answer = question()
        if answer is not None:
            return answer
        precision *= 2


def real(value: Fraction) -> arb:
    """A ball around an exact fraction."""
    return arb(fmpq(value.numerator, value.denominator))


def whole_part(number: arb) -> int | None:
    """The floor of a number above zero, or None while its ball does not tell.

    >>> decided(lambda: whole_part(arb(10).sqrt()), precision=64)
    3
    """
    # A ball that reaches below zero is cut there, since the number is above: it settles exp(-10**100) at any precision.
    low, high = number.lower().floor().unique_fmpz(), number.upper().floor().unique_fmpz()
    if low is None or high is None:
        return None
    return int(high) if max(int(low), 0) == int(high) else None


def floors(number: arb) -> tuple[int, int]:
    """The floors of both ends of a finite ball, not below 0.

    >>> floors(arb(10).sqrt())
    (3, 3)
    """
    # The ends are dyadic, so their floors are exact; a midpoint and an error, as `floor` gives, need not be.
    ends = (number.lower(), number.upper())
    low, high = (int(m) << int(e) if e >= 0 else int(m) >> -int(e) for m, e in (end.man_exp() for end in ends))
    return max(0, low), max(0, high)


def float_above(number: arb) -> float:
    """A float, within two of the smallest such, that no number in a ball of positive numbers exceeds.

    >>> float_above(arb(3))
    3.0
    """
    if not number.is_finite():
        return math.inf
    with ctx.workprec(4 * FLOAT_BITS):  # the end is rounded up to the working precision, which may be anybody's
        mantissa, exponent = (int(part) for part in number.upper().man_exp())
    surplus = max(mantissa.bit_length() - FLOAT_BITS, SMALLEST_EXPONENT - exponent, 0)
    surplus = min(surplus, mantissa.bit_length() + 1)  # a number below every float: one bit is left, the smallest float
    mantissa = -(-mantissa >> surplus)
    try:
        return math.ldexp(mantissa, max(exponent + surplus, SMALLEST_EXPONENT))
    except OverflowError:
        return math.inf
