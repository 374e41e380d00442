"""Arithmetic on the ends of intervals in doubles, each result rounded away from the middle.

Claim
    Each function takes intervals with finite or infinite ends, and gives ends between which the exact result lies for
    all numbers of these intervals. A result that a double has exactly is given as it is.
Requires
    Doubles of IEEE 754, rounded to the nearest. Divisors that are not 0; roots and logarithms of 0 and more.
Relies on
    NumPy's logarithm and exponential being off by less than two units in the last place.
Proof
    The double nearest to a result is above it, below it, or equal, and the neighbor on the other side is beyond it.
    *Sums.* What the rounding of a + b leaves is a double, and six operations compute it (Knuth; Møller).
    *Products.* The same of a * b, by halves of 26 bits whose products are exact (Dekker), where nothing underflows or
    overflows: elsewhere both neighbors are taken.
    *Quotients and roots.* q * b is close to a, so that a less its double is exact (Sterbenz), and the sign of what is
    left of it, over b, says on which side of the quotient q is; in the same way for q * q.
    *Corners.* A product, or a quotient by what is on one side of 0, is monotone in each argument on a box, so its ends
    are among those of the corners, and rounding keeps their order.
Rounding
    Away from the middle, by at most two units in the last place.
Source
    Møller, "Quasi double-precision in floating point addition" (1965); Dekker, "A floating-point technique for
    extending the available precision" (1971).
Mutant
    sums-to-the-nearest: a sum is the nearest double; killed by test_ends_are_on_the_outer_side.
    products-to-the-nearest: a product is; killed by test_ends_are_on_the_outer_side.
    quotients-on-the-wrong-side: the sign of a divisor does not matter; killed by test_ends_are_on_the_outer_side.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Reals = NDArray[np.float64]
Ends = tuple[Reals, Reals]

HALVES = 2.0**27 + 1
LEAST, MOST = 2.0**-960, 2.0**990
"""Between them, products of halves neither underflow nor overflow."""


def _split(a: Reals) -> Ends:
    moved = HALVES * a
    high = moved - (moved - a)
    return high, a - high


def _of_sum(a: Reals, b: Reals) -> Ends:
    """The nearest double, and what it leaves."""
    found = a + b
    other = found - a
    return found, (a - (found - other)) + (b - other)


def _of_product(a: Reals, b: Reals) -> Ends:
    found = a * b
    (a_high, a_low), (b_high, b_low) = _split(a), _split(b)
    left = ((a_high * b_high - found) + a_high * b_low + a_low * b_high) + a_low * b_low
    is_zero, size = (a == 0) | (b == 0), np.abs(found)
    is_known = is_zero | ((size > LEAST) & (size < MOST) & (np.abs(a) < MOST) & (np.abs(b) < MOST))
    return found, np.where(is_zero, 0.0, np.where(is_known, left, np.nan))


def _of_quotient(a: Reals, b: Reals) -> Ends:
    found = a / b
    product, left = _of_product(found, b)
    return found, np.where(a == 0, 0.0, ((a - product) - left) * np.sign(b))


def _of_root(a: Reals, _: Reals) -> Ends:
    found = np.sqrt(a)
    product, left = _of_product(found, found)
    return found, (a - product) - left


Rule = Callable[[Reals, Reals], Ends]


def _outer(rule: Rule, a: Reals, b: Reals) -> Ends:
    """Doubles on both sides of the result of two numbers; the same one, where it is exact."""
    with np.errstate(all="ignore"):  # of infinite ends, which stay
        found, left = rule(a, b)
    is_open = np.isnan(left) & np.isfinite(a) & np.isfinite(b)  # nothing is known, or it is beyond all doubles
    low = np.where((left < 0) | is_open, np.nextafter(found, -np.inf), found)
    return low, np.where((left > 0) | is_open, np.nextafter(found, np.inf), found)


def _corners(rule: Rule, x: Ends, y: Ends) -> Ends:
    found = [_outer(rule, a, b) for a in x for b in y]
    return np.minimum.reduce([low for low, _ in found]), np.maximum.reduce([high for _, high in found])


def added(x: Ends, y: Ends) -> Ends:
    """The ends of a sum.

    >>> low, high = added((np.array(0.1), np.array(0.5)), (np.array(0.2), np.array(0.25)))
    >>> float(low), float(high)
    (0.3, 0.75)
    """
    return _outer(_of_sum, x[0], y[0])[0], _outer(_of_sum, x[1], y[1])[1]


def subtracted(x: Ends, y: Ends) -> Ends:
    """Those of a difference."""
    return added(x, (-y[1], -y[0]))


def multiplied(x: Ends, y: Ends) -> Ends:
    """Those of a product."""
    return _corners(_of_product, x, y)


def divided(x: Ends, y: Ends) -> Ends:
    """Those of a quotient; of a divisor that may be 0, those of all numbers."""
    low, high = _corners(_of_quotient, x, y)
    around = (y[0] <= 0) & (y[1] >= 0)
    return np.where(around, -np.inf, low), np.where(around, np.inf, high)


def root(x: Ends) -> Ends:
    """Those of a square root."""
    return _outer(_of_root, x[0], x[0])[0], _outer(_of_root, x[1], x[1])[1]


def nearly(function: Callable[[Reals], Reals], x: Ends, least: float) -> Ends:
    """Those of an increasing function that is off by less than two units in the last place, and never below `least`."""
    with np.errstate(all="ignore"):
        low, high = function(x[0]), function(x[1])
    low = np.nextafter(np.nextafter(low, -np.inf), -np.inf)
    return np.maximum(low, least), np.nextafter(np.nextafter(high, np.inf), np.inf)
