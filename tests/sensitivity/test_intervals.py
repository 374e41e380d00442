"""Every interval holds what doubles and 64-bit integers really give: at the corners, at random, and at the edges."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from discreet.sensitivity import intervals
from discreet.sensitivity.intervals import LARGEST, LARGEST_INT, SMALLEST_INT, Interval

ODD_DOUBLES = [0.0, -0.0, 5e-324, -5e-324, 2.2250738585072014e-308, 0.1, -0.3, 1.0, 3.0, 2.0**52 + 1, 2.0**53, 1e16]
ODD_DOUBLES += [1e154, -1e154, 1.3407807929942597e154, 1.7976931348623157e308, -1.7976931348623157e308]
ODD_INTEGERS = [0, 1, -1, 7, -7, 2**31, 2**53 - 1, 2**53 + 1, 2**62, 2**63 - 1, -(2**63)]

doubles = st.floats(allow_nan=False, allow_infinity=False) | st.sampled_from(ODD_DOUBLES)
integers = st.integers(-(2**63), 2**63 - 1) | st.sampled_from(ODD_INTEGERS) | st.integers(-20, 20)


def between(low: object, high: object, *, integer: bool) -> Interval:
    ends = sorted((Fraction(low), Fraction(high)))  # type: ignore[call-overload]  # numbers of either kind
    return Interval(ends[0], ends[1], integer)


@st.composite
def reals_within(draw: st.DrawFn, among: st.SearchStrategy[float] = doubles) -> tuple[float, Interval]:
    """A double, and an interval around it."""
    low, value, high = sorted(draw(st.tuples(among, among, among)))
    return draw(st.sampled_from([low, value, high])), between(low, high, integer=False)


@st.composite
def integers_within(draw: st.DrawFn, among: st.SearchStrategy[int] = integers) -> tuple[int, Interval]:
    """A 64-bit integer, and an interval around it."""
    low, value, high = sorted(draw(st.tuples(among, among, among)))
    return draw(st.sampled_from([low, value, high])), between(low, high, integer=True)


above_zero = st.floats(5e-324, 1.7976931348623157e308) | st.sampled_from([x for x in ODD_DOUBLES if x > 0])
below_zero = above_zero.map(operator.neg)
counting = st.integers(1, 2**63 - 1) | st.integers(1, 20)
moderate = st.floats(-(2.0**54), 2.0**54) | st.sampled_from([x for x in ODD_DOUBLES if abs(x) < 2.0**54])


def holds(interval: Interval, value: float) -> bool:
    """Whether a computed value lies inside; nothing is claimed once the interval leaves the type."""
    return not interval.fits or interval.low <= Fraction(value) <= interval.high


def fits(value: float) -> bool:
    return math.isfinite(value)


REAL_OPERATIONS: dict[str, tuple[Callable[[Interval, Interval], Interval], Callable[[float, float], float]]] = {
    "add": (intervals.add, operator.add),
    "subtract": (intervals.subtract, operator.sub),
    "multiply": (intervals.multiply, operator.mul),
    "greatest": (intervals.greatest, max),
    "least": (intervals.least, min),
}


@pytest.mark.parametrize("name", REAL_OPERATIONS)
@given(x=reals_within(), y=reals_within())
@example(x=(-3.0, between(-3, 2, integer=False)), y=(4.0, between(1, 4, integer=False)))
@example(x=(2.0, between(-3, 2, integer=False)), y=(-4.0, between(-4, 1, integer=False)))
@example(x=(1e200, between(0, 1e200, integer=False)), y=(1e200, between(0, 1e200, integer=False)))
def test_operations_enclose_their_values(name: str, x: tuple[float, Interval], y: tuple[float, Interval]) -> None:
    claimed, computed = REAL_OPERATIONS[name]
    interval = claimed(x[1], y[1])
    value = computed(x[0], y[0])
    assert holds(interval, value) if fits(value) else not interval.fits


@pytest.mark.parametrize("name", REAL_OPERATIONS)
@given(x=integers_within(), y=integers_within())
@example(x=(-3, between(-3, 2, integer=True)), y=(4, between(1, 4, integer=True)))
def test_integers_are_exact(name: str, x: tuple[int, Interval], y: tuple[int, Interval]) -> None:
    claimed, computed = REAL_OPERATIONS[name]
    interval = claimed(x[1], y[1])
    assert interval.integer
    assert interval.low <= computed(x[0], y[0]) <= interval.high


@given(x=reals_within(), y=reals_within(above_zero) | reals_within(below_zero))
@example(x=(1.0, between(0, 1, integer=False)), y=(5e-324, between(5e-324, 1, integer=False)))
def test_quotients(x: tuple[float, Interval], y: tuple[float, Interval]) -> None:
    interval = intervals.divide(x[1], y[1])
    with np.errstate(over="ignore"):
        value = float(np.float64(x[0]) / np.float64(y[0]))
    assert holds(interval, value) if fits(value) else not interval.fits
    if fits(value) and interval.fits:
        whole = intervals.floor_divide(x[1], y[1])
        assert whole.low <= math.floor(value) <= whole.high


def test_only_divisors_without_zero() -> None:
    assert not between(-1, 1, integer=False).excludes_zero()
    assert not between(0, 1, integer=False).excludes_zero()
    assert not between(-1, 0, integer=True).excludes_zero()
    assert between(5e-324, 1, integer=False).excludes_zero()
    assert between(-2, -1, integer=True).excludes_zero()
    product = intervals.multiply(*[between(1e-200, 1, integer=False)] * 2)
    assert not product.excludes_zero()  # the smallest product underflows to zero


@given(x=integers_within(), y=integers_within(counting))
def test_integer_remainders(x: tuple[int, Interval], y: tuple[int, Interval]) -> None:
    interval = intervals.remainder(x[1], y[1])
    of_x = int(math.copysign(abs(x[0]) % y[0], x[0]))
    assert interval.integer
    assert interval.low <= x[0] % y[0] <= interval.high
    if abs(x[0]) < 2**53:
        assert interval.low <= of_x <= interval.high


@given(x=reals_within(), y=reals_within(above_zero))
def test_real_remainders(x: tuple[float, Interval], y: tuple[float, Interval]) -> None:
    interval = intervals.remainder(x[1], y[1])
    assert interval.low <= Fraction(math.fmod(x[0], y[0])) <= interval.high


@given(x=reals_within(), exponent=st.integers(1, 16))
@example(x=(-3.0, between(-3, 2, integer=False)), exponent=2)
@example(x=(-3.0, between(-3, 2, integer=False)), exponent=3)
@example(x=(0.1, between(0.1, 0.1, integer=False)), exponent=16)
def test_real_powers(x: tuple[float, Interval], exponent: int) -> None:
    interval = intervals.power(x[1], exponent)
    value = x[0]
    for _ in range(exponent - 1):
        value *= x[0]
    assert holds(interval, value) if fits(value) else not interval.fits


@given(x=integers_within(), exponent=st.integers(1, 16))
def test_integer_powers(x: tuple[int, Interval], exponent: int) -> None:
    interval = intervals.power(x[1], exponent)
    assert interval.integer
    assert interval.low <= x[0] ** exponent <= interval.high


@given(x=reals_within(moderate))
@example(x=(2.0**52 + 1, between(2.0**52 + 1, 2.0**52 + 1, integer=False)))
@example(x=(0.49999999999999994, between(0, 0.49999999999999994, integer=False)))
@example(x=(-0.5, between(-0.5, -0.5, integer=False)))
def test_rounding(x: tuple[float, Interval]) -> None:
    value, interval = x
    assert holds(intervals.floor(interval), math.floor(value))
    assert holds(intervals.ceiling(interval), math.ceil(value))
    assert holds(intervals.nearest(interval), math.floor(value + 0.5))
    assert holds(intervals.negate(interval), -value)
    assert holds(intervals.absolute(interval), abs(value))


@given(x=integers_within())
def test_signs_of_integers(x: tuple[int, Interval]) -> None:
    for claimed, value in ((intervals.negate, -x[0]), (intervals.absolute, abs(x[0]))):
        interval = claimed(x[1])
        assert interval.low <= value <= interval.high
    assert intervals.absolute(between(-(2**63), 0, integer=True)).fits is False


@given(x=reals_within(), ends=st.tuples(doubles, doubles))
def test_clip(x: tuple[float, Interval], ends: tuple[float, float]) -> None:
    low, high = sorted(ends)
    value, interval = x
    exact = (Fraction(low), Fraction(high))
    assert holds(intervals.clip(interval, *exact), min(max(value, low), high))
    assert holds(intervals.clip(interval, exact[0], None), max(value, low))
    assert holds(intervals.clip(interval, None, exact[1]), min(value, high))
    assert intervals.clip(interval, *exact).low >= exact[0]


def test_clipped_integers_stay_integers_between_integers() -> None:
    ages = between(0, 110, integer=True)
    assert intervals.clip(ages, Fraction(18), Fraction(65)) == between(18, 65, integer=True)
    assert not intervals.clip(ages, Fraction(1, 2), None).integer
    assert intervals.clip(ages, None, None) == ages
    assert intervals.clip(ages, Fraction(200), Fraction(300)) == between(200, 200, integer=True)


FUNCTIONS: dict[str, tuple[Callable[[float], float], float, float, int]] = {
    "sqrt": (math.sqrt, 0.0, 1.7e308, 0),
    "exp": (math.exp, -1.7e308, 700.0, 8),
    "log": (math.log, 5e-324, 1.7e308, 8),
    "log2": (math.log2, 5e-324, 1.7e308, 8),
    "log10": (math.log10, 5e-324, 1.7e308, 8),
}


@pytest.mark.parametrize("name", FUNCTIONS)
@given(data=st.data())
def test_monotone_functions(name: str, data: st.DataObject) -> None:
    function, above, below, places = FUNCTIONS[name]
    low, value, high = sorted(data.draw(st.lists(st.floats(above, below), min_size=3, max_size=3)))
    interval = intervals.monotone(function, between(low, high, integer=False), places=places)
    assert holds(interval, function(value))
    assert holds(interval, float(getattr(np, name)(np.float64(value))))  # another library's last digits


def test_ends_move_outward() -> None:
    tenth = Fraction(1, 10)
    found = intervals.outward(tenth, tenth)
    assert found.low < tenth < found.high
    assert found.high == Fraction(math.nextafter(float(found.low), math.inf))
    half = Fraction(1, 2)
    assert intervals.outward(half, half) == Interval(half, half)
    assert intervals.outward(half, half, places=2).width == Fraction(3, 2**53)


def test_what_leaves_the_type_does_not_fit() -> None:
    assert between(-LARGEST, LARGEST, integer=False).fits
    assert not between(0, LARGEST + 1, integer=False).fits
    assert not intervals.outward(LARGEST, LARGEST, places=1).fits
    assert between(SMALLEST_INT, LARGEST_INT, integer=True).fits
    assert not between(0, LARGEST_INT + 1, integer=True).fits
    assert intervals.point(0.5) == Interval(Fraction(1, 2), Fraction(1, 2))


def test_hull() -> None:
    ages, shares = between(0, 110, integer=True), between(-0.5, 0.5, integer=False)
    assert intervals.hull(ages, shares) == between(-0.5, 110, integer=False)
    assert intervals.hull(ages, between(-1, 0, integer=True)).integer
    assert ages.width == 110
