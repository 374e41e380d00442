"""Where the value of a row-wise expression can lie.

Claim
    For x in X and y in Y (closed intervals with finite ends), the result of each operation here contains the value that
    IEEE double arithmetic (or exact 64-bit integer arithmetic, where `integer` is set) gives for the same operation on
    x and y.
Requires
    Finite ends with low <= high.
Relies on
    Correct rounding, hence monotonicity, of IEEE double +, -, *, / and sqrt; exp and the logarithms within 4 units in
    the last place.
Proof
    Sums, differences, products and quotients are monotone in each argument apart from the other's sign, so their
    extremes lie at the corners; rounding is monotone, so the rounded value lies between the rounded corners. Floor,
    ceiling, absolute value, clip, minimum and maximum are monotone or even. A power is a product with itself, whose
    size grows with that of x at every step. A remainder is smaller than the divisor, and no larger than x >= 0.
Rounding
    Ends are exact fractions; an end that is no double is moved outward to the next one, and as many places more as the
    mathematical library may be off.
Source
    Moore, Interval Analysis (1966), chapter 3.
Mutant
    products-at-two-corners: a product is bounded by the low and the high corner alone; killed by
    test_operations_enclose_their_values.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

LARGEST = Fraction(1.7976931348623157e308)
"""The largest finite double."""
SMALLEST_INT, LARGEST_INT = Fraction(-(2**63)), Fraction(2**63 - 1)


@dataclass(frozen=True, slots=True)
class Interval:
    """The closed interval [low, high]; of integers where `integer` is set.

    >>> divide(Interval(Fraction(0), Fraction(120)), Interval(Fraction(12), Fraction(12)))
    Interval(low=Fraction(0, 1), high=Fraction(10, 1), integer=False)
    """

    low: Fraction
    high: Fraction
    integer: bool = False

    @property
    def width(self) -> Fraction:
        """high - low."""
        return self.high - self.low

    @property
    def fits(self) -> bool:
        """Whether every value is a 64-bit integer, or a finite double."""
        low, high = (SMALLEST_INT, LARGEST_INT) if self.integer else (-LARGEST, LARGEST)
        return low <= self.low and self.high <= high

    def excludes_zero(self) -> bool:
        """Whether a division by any of these values is safe."""
        return self.low > 0 or self.high < 0


def point(value: float | Fraction, *, integer: bool = False) -> Interval:
    """The interval that holds one value."""
    exact = Fraction(value)
    return Interval(exact, exact, integer)


def outward(low: Fraction, high: Fraction, *, places: int = 0) -> Interval:
    """The smallest interval with doubles as ends that contains [low, high], widened by further doubles."""
    return Interval(_double(low, -math.inf, places), _double(high, math.inf, places))


def _double(end: Fraction, toward: float, places: int) -> Fraction:
    if abs(end) > LARGEST:
        return end  # outside the doubles already: `fits` will say so
    double = float(end)
    if (Fraction(double) > end) if toward < 0 else (Fraction(double) < end):
        double = math.nextafter(double, toward)
    for _ in range(places):
        double = math.nextafter(double, toward)
    return Fraction(double) if math.isfinite(double) else end * 2


def hull(*intervals: Interval) -> Interval:
    """The smallest interval that contains all of these."""
    return Interval(min(i.low for i in intervals), max(i.high for i in intervals), all(i.integer for i in intervals))


def _corners(operation: Callable[[Fraction, Fraction], Fraction], x: Interval, y: Interval) -> list[Fraction]:
    return [operation(a, b) for a in (x.low, x.high) for b in (y.low, y.high)]


def _combined(ends: list[Fraction], *, integer: bool) -> Interval:
    low, high = min(ends), max(ends)
    return Interval(low, high, integer=True) if integer else outward(low, high)


def add(x: Interval, y: Interval) -> Interval:
    """x + y."""
    return _combined([x.low + y.low, x.high + y.high], integer=x.integer and y.integer)


def subtract(x: Interval, y: Interval) -> Interval:
    """x - y."""
    return _combined([x.low - y.high, x.high - y.low], integer=x.integer and y.integer)


def multiply(x: Interval, y: Interval) -> Interval:
    """x * y."""
    return _combined(_corners(lambda a, b: a * b, x, y), integer=x.integer and y.integer)


def divide(x: Interval, y: Interval) -> Interval:
    """x / y as doubles, for y that excludes zero."""
    return _combined(_corners(lambda a, b: a / b, x, y), integer=False)


def floor_divide(x: Interval, y: Interval) -> Interval:
    """floor(x / y), for y that excludes zero."""
    return floor(divide(x, y))


def remainder(x: Interval, y: Interval) -> Interval:
    """What is left of x after division by y > 0, with the sign of x or of y (engines differ)."""
    integer = x.integer and y.integer
    largest = y.high - 1 if integer else y.high
    if x.low >= 0:
        return Interval(Fraction(0), min(largest, x.high), integer)
    return Interval(max(-largest, x.low), largest, integer)


def negate(x: Interval) -> Interval:
    """-x."""
    return Interval(-x.high, -x.low, x.integer)


def absolute(x: Interval) -> Interval:
    """|x|."""
    low = Fraction(0) if x.low <= 0 <= x.high else min(abs(x.low), abs(x.high))
    return Interval(low, max(abs(x.low), abs(x.high)), x.integer)


def power(x: Interval, exponent: int) -> Interval:
    """x multiplied by itself, for a whole exponent of 1 or more."""
    if exponent % 2 == 0:
        x = absolute(x)
    ends = []
    for end in (x.low, x.high):
        size = base = point(abs(end), integer=x.integer)
        for _ in range(exponent - 1):
            size = multiply(size, base)
        ends.append(negate(size) if end < 0 else size)
    return hull(*ends)


def clip(x: Interval, low: Fraction | None, high: Fraction | None) -> Interval:
    """x moved into [low, high]."""
    ends = [end if low is None else max(end, low) for end in (x.low, x.high)]
    ends = [end if high is None else min(end, high) for end in ends]
    stays = x.integer and all(end is None or end.denominator == 1 for end in (low, high))
    return Interval(ends[0], ends[1], stays)


def greatest(*intervals: Interval) -> Interval:
    """The greatest of one value from each."""
    return Interval(max(i.low for i in intervals), max(i.high for i in intervals), all(i.integer for i in intervals))


def least(*intervals: Interval) -> Interval:
    """The least of one value from each."""
    return negate(greatest(*map(negate, intervals)))


def floor(x: Interval) -> Interval:
    """The largest integer up to x."""
    return Interval(Fraction(math.floor(x.low)), Fraction(math.floor(x.high)), integer=True)


def ceiling(x: Interval) -> Interval:
    """The smallest integer from x on."""
    return negate(floor(negate(x)))


def nearest(x: Interval) -> Interval:
    """floor(x + 1/2), added as doubles: from 2**52 on that can be x + 1."""
    return floor(add(x, point(0.5)))


def monotone(function: Callable[[float], float], x: Interval, *, places: int) -> Interval:
    """An increasing function of x whose computed value is off by at most `places` doubles."""
    return outward(Fraction(function(float(x.low))), Fraction(function(float(x.high))), places=places)
