"""Answers about real numbers are certain, whatever precision they were first asked at."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from flint import arb, ctx
from hypothesis import given
from hypothesis import strategies as st

from discreet.noise.certified_comparison import decided, float_above, floors, real, whole_part


def test_precision_grows_until_the_question_is_answered() -> None:
    """exp(pi sqrt 163) is an integer but for 7.5e-13: its floor needs 100 bits. The working precision is restored."""
    before = ctx.prec
    asked = list[int]()

    def floor() -> int | None:
        asked.append(ctx.prec)
        return whole_part((arb.pi() * arb(163).sqrt()).exp())

    assert decided(floor, precision=16) == 262_537_412_640_768_743
    assert asked == [16, 32, 64, 128]
    assert ctx.prec == before


@pytest.mark.parametrize("exponent", [10**3, 10**30, 10**1000], ids=["small", "tiny", "below every ball"])
def test_the_floor_of_a_number_next_to_zero_is_zero(exponent: int) -> None:
    assert decided(lambda: whole_part(arb(-exponent).exp()), precision=64) == 0


@given(st.fractions(min_value=Fraction(1, 10**9), max_value=10**9))
def test_the_floor_is_the_floor(value: Fraction) -> None:
    if value.denominator > 1:  # an exact integer is never told from its neighborhood, as the card says
        assert decided(lambda: whole_part(real(value)), precision=8) == math.floor(value)


@given(st.fractions(min_value=Fraction(1, 10**400), max_value=10**400))
def test_the_float_is_never_below(value: Fraction) -> None:
    """Not below, and at most two floats above the nearest."""
    above = decided(lambda: float_above(real(value)), precision=64)
    if above == math.inf:
        assert value > Fraction(1.7976931348623155e308)
        return
    assert Fraction(above) >= value
    assert Fraction(math.nextafter(math.nextafter(above, 0), 0)) <= value


@pytest.mark.parametrize(
    ("number", "above"),
    [
        (arb(3), 3.0),
        (arb(0), 0.0),
        (arb(2) ** -1074, 5e-324),
        (arb(3) * arb(2) ** -1075, 1e-323),
        (arb(2) ** -(10**30), 5e-324),
        (arb(2) ** 1024, math.inf),
        (arb(10**400).exp(), math.inf),
        (arb(2) ** 1024 - 1, math.inf),
        (arb("inf"), math.inf),
    ],
    ids=str,
)
def test_floats_at_the_ends_of_their_range(number: arb, above: float) -> None:
    assert float_above(number) == above


def test_floors_enclose_a_ball() -> None:
    """Also where the ball straddles an integer, and where it reaches below zero."""
    assert floors(arb(3)) == (3, 3)
    assert floors(arb(3, 0.5)) == (2, 3)
    assert floors(arb(0, 0.5)) == (0, 0)
    assert floors(arb(2) ** 500) == (2**500, 2**500)
    with ctx.workprec(64):
        assert floors(arb(2) ** 100) == (2**100, 2**100)
