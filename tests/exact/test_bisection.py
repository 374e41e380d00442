from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import InvalidParameter
from discreet.exact.bisection import RELATIVE, falling, first_power, float_down, float_up, greatest, least, least_whole


@given(st.fractions())
def test_floats_next_to_a_fraction(amount: Fraction) -> None:
    up, down = float_up(amount), float_down(amount)
    assert down <= amount <= up
    assert up in (down, math.nextafter(down, math.inf))


def test_fractions_beyond_the_floats() -> None:
    assert float_up(Fraction(10) ** 400) == math.inf
    assert float_down(Fraction(10) ** 400) == math.nextafter(math.inf, 0)
    assert float_up(-(Fraction(10) ** 400)) == -math.nextafter(math.inf, 0)


@given(st.floats(1e-300, 1e300), st.floats(1.0, 1e6))
def test_the_condition_holds_at_the_result(border: float, factor: float) -> None:
    high = min(border * factor, 1e305)
    found = least(lambda x: x >= border, 0.0, high)
    assert border <= found <= border * (1 + 2 * RELATIVE)
    found = greatest(lambda x: x <= border, border / factor, 1e305)
    assert border * (1 - 2 * RELATIVE) <= found <= border


@given(st.integers(-3, 10**40), st.integers(1, 100))
def test_the_least_whole_number_is_found(border: int, first: int) -> None:
    assert least_whole(lambda n: n >= border, min(border, 0) - 1, first) == border
    assert least_whole(lambda n: n >= border, border, first) >= border


def test_the_first_power_that_holds() -> None:
    assert first_power(lambda x: x >= 1000, Fraction(3), Fraction(2)) == 1536
    assert first_power(lambda x: x <= 0.2, 1.0, 0.5) == 0.125
    assert first_power(lambda x: x > 0.0, 1.0, 0.5) == 1.0


def test_an_empty_range_is_refused() -> None:
    with pytest.raises(InvalidParameter, match="widen"):
        least(lambda _: False, 0.0, 1.0)


@pytest.mark.parametrize("root", [1e-12, 0.3, 7.0, 1e9])
def test_a_falling_function_is_at_most_zero_there(root: float) -> None:
    def excess(x: float) -> float:
        return 30.0 if x <= 0 else 5.0 * math.log(root / x)

    found = falling(excess, root * 3.0, slope=-1.0 / root)
    assert excess(found) <= 0.0
    assert found <= root * (1 + 1e-6)


def test_jumps_and_constants_end_the_search() -> None:
    found = falling(lambda x: 1.0 if x < 2.0 else -math.inf, 0.0, slope=-1.0)
    assert 2.0 <= found <= 2.1
    assert falling(lambda _: 1.0, 0.0, slope=-1.0) == math.inf
