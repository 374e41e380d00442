"""The lattice rounds to the nearest step, holds every value of its interval, and stays within its bits."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import InvalidParameter
from discreet.planning.column_lattice import (
    FEWEST_BITS,
    MOST_BITS,
    PRODUCT_BITS,
    SCALE_BITS,
    ColumnLattice,
    bits_for,
    centered,
    counting,
    spanning,
)
from discreet.sensitivity.intervals import Interval, outward

ENDS = st.floats(min_value=-1e12, max_value=1e12, allow_nan=False)
BITS = st.integers(FEWEST_BITS, MOST_BITS)


def step_of(lattice: ColumnLattice, x: Fraction) -> int:
    """The lattice's integer for x, in exact arithmetic."""
    q = math.floor((x - lattice.origin) * Fraction(2) ** lattice.exponent + Fraction(1, 2))
    return max(lattice.low, min(lattice.high, q))


def reals(low: float, high: float) -> Interval:
    """An interval of reals with a width that the lattice accepts."""
    ends = sorted((low, high))
    if ends[1] - ends[0] < 1e-9:
        ends[1] = ends[0] + 1.0
    return outward(Fraction(ends[0]), Fraction(ends[1]))


@given(ENDS, ENDS, BITS, st.fractions(0, 1))
def test_lattice_rounds_to_nearest(low: float, high: float, bits: int, place: Fraction) -> None:
    interval = reals(low, high)
    lattice = spanning(interval, bits)
    x = interval.low + place * interval.width
    assert abs(lattice.value(Fraction(step_of(lattice, x))) - x) <= lattice.step / 2
    assert lattice.steps <= 2**bits
    assert lattice.steps > 2 ** (bits - 2)


@given(ENDS, ENDS, BITS, st.fractions(0, 1))
def test_a_lone_sum_keeps_signs_and_zero(low: float, high: float, bits: int, place: Fraction) -> None:
    interval = reals(low, high)
    lattice = centered(interval, bits, weighted=True)
    x = interval.low + place * interval.width
    q = step_of(lattice, x)
    assert abs(lattice.value(Fraction(q)) - x) <= lattice.step / 2
    assert q * x >= 0
    assert abs(q) * lattice.fine <= lattice.steps <= 2**bits


@given(st.integers(-(10**9), 10**9), st.integers(1, 10**6), BITS)
def test_integers_are_kept_as_they_are(low: int, width: int, bits: int) -> None:
    lattice = spanning(Interval(Fraction(low), Fraction(low + width), integer=True), bits)
    if width < 2**bits:
        assert lattice.exact
        assert [step_of(lattice, Fraction(low + i)) for i in (0, 1, width)] == [0, 1, width]
        assert lattice.steps <= 2**bits


def test_no_range_is_without_noise() -> None:
    """A value that is the same in every row still needs noise: its number of rows is private."""
    five = Interval(Fraction(5), Fraction(5), integer=True)
    zero = Interval(Fraction(0), Fraction(0), integer=True)
    assert spanning(five, 30).steps > 0
    assert centered(zero, 30, weighted=False).steps == 1
    assert centered(Interval(Fraction(0), Fraction(0)), 30, weighted=False).steps == 1
    assert centered(five, 30, weighted=False).steps == 5
    assert spanning(Interval(Fraction(5), Fraction(5)), 30).steps > 0


def test_integers_beyond_the_doubles_lie_above_their_origin() -> None:
    """The origin is a double, so it is the next one below."""
    low = Fraction(2**53 + 3)
    lattice = spanning(Interval(low, low + 2**50, integer=True), 40)
    assert not lattice.exact
    assert lattice.origin == 2**53 + 2
    assert step_of(lattice, low + 2**50) <= lattice.high


def test_counts_have_one_step_a_row_unless_weighted() -> None:
    assert counting(40, weighted=False).steps == 1
    assert counting(30, weighted=True).steps == 2**30


@given(st.integers(1, 2**20), st.fractions(min_value=Fraction(1, 1000), max_value=10**6))
def test_bits_leave_room_for_contributions_and_noise(product: int, rows: Fraction) -> None:
    bits = bits_for(product, rows)
    assert product * 2**bits <= 2**PRODUCT_BITS
    assert rows * 2**bits <= 2**SCALE_BITS


@pytest.mark.parametrize(("product", "rows"), [(2**33, Fraction(1)), (1, Fraction(2**40))])
def test_limits_that_leave_too_few_bits_are_refused(product: int, rows: Fraction) -> None:
    with pytest.raises(InvalidParameter, match="Hint: lower max_groups"):
        bits_for(product, rows)


def test_ranges_beyond_the_doubles_are_refused() -> None:
    for size in (Fraction(2) ** 900, Fraction(2) ** -900):
        with pytest.raises(InvalidParameter, match="Hint: state the bounds"):
            spanning(Interval(Fraction(0), size), 30)
