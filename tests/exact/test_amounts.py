"""Amounts are exact, and what is no amount is refused."""

from __future__ import annotations

from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal, localcontext
from enum import Enum
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import InvalidParameter
from discreet.exact import amounts
from discreet.exact.amounts import (
    LEAST,
    MOST,
    PLACES,
    checked_amount,
    decimal_text,
    fraction,
    positive,
    root_above,
    short_down,
    short_up,
    sum_up,
    sums,
)

HOUR = np.timedelta64(1, "h")
"""Which NumPy counts among its integers."""


class Constant(float, Enum):
    """A number whose text is its name."""

    HALF = 0.5


@pytest.mark.parametrize(
    ("value", "exact"),
    [
        (1, Fraction(1)),
        (0.1, Fraction(1, 10)),
        (-0.0, Fraction(0)),
        (5e-324, Fraction("5e-324")),
        (1.7976931348623157e308, Fraction("1.7976931348623157e308")),
        (Decimal("0.10"), Fraction(1, 10)),
        (Decimal("1e400"), Fraction(10**400)),
        (Decimal("0e99999"), Fraction(0)),
        (Fraction(1, 3), Fraction(1, 3)),
        (np.float64(0.1), Fraction(1, 10)),
        (np.float32(0.1), Fraction(1, 10)),
        (np.float16(0.1), Fraction("0.1")),
        (np.longdouble("0.1"), Fraction(1, 10)),
        (np.int64(7), Fraction(7)),
        (np.uint8(255), Fraction(255)),
        (Constant.HALF, Fraction(1, 2)),
    ],
)
def test_a_number_means_what_it_prints(value: object, exact: Fraction) -> None:
    assert fraction("epsilon", value) == exact


def test_numpy_integers_do_not_wrap_around() -> None:
    exact = fraction("epsilon", np.int64(2**62))
    assert type(exact.numerator) is int
    assert exact * 4 == 2**64


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_every_float_means_its_decimal(value: float) -> None:
    assert fraction("epsilon", value) == Fraction(Decimal(repr(value)))
    assert float(fraction("epsilon", value)) == value


@pytest.mark.parametrize("value", [True, False, np.True_, "1", b"1", None, [1], np.array([1.0]), object, HOUR])
def test_what_is_no_number_is_refused(value: object) -> None:
    with pytest.raises(InvalidParameter, match=r"^Expected a number, got epsilon=[\s\S]*Hint: .*epsilon=0\.5"):
        fraction("epsilon", value)


@pytest.mark.parametrize(
    "value",
    [
        float("nan"),
        float("inf"),
        float("-inf"),
        np.float32("nan"),
        Decimal("NaN"),
        Decimal("sNaN"),
        Decimal("-inf"),
        1j,
    ],
)
def test_what_is_not_finite_is_refused(value: object) -> None:
    with pytest.raises(InvalidParameter, match="Expected a finite number, got delta="):
        fraction("delta", value)


@pytest.mark.parametrize(
    "value",
    [
        10**PLACES + 1,
        -(10**5000),
        Fraction(1, 10**PLACES + 1),
        Decimal("1e999999"),
        Decimal("1e-999999"),
        Decimal("0." + "1" * (PLACES + 1)),
    ],
    ids=["large", "huge", "small", "huge-decimal", "tiny-decimal", "long-decimal"],
)
def test_what_is_too_long_to_print_is_refused(value: object) -> None:
    with pytest.raises(InvalidParameter, match=f"at most {PLACES} digits"):
        fraction("epsilon", value)


@pytest.mark.parametrize(
    "value", [10**PLACES, Fraction(1, 10**PLACES), Decimal(f"1e-{PLACES}"), Decimal(f"1e{PLACES}")]
)
def test_the_longest_amounts_pass(value: object) -> None:
    assert fraction("epsilon", value) == value


@pytest.mark.parametrize("value", [0, 0.0, -0.0, -1, -5e-324, Fraction(-1, 3)])
def test_positive_means_above_zero(value: object) -> None:
    assert positive("epsilon", 1e-100) > 0
    with pytest.raises(InvalidParameter, match="Expected a number above 0, got epsilon="):
        positive("epsilon", value)


def test_the_rule_of_what_amounts_are_taken() -> None:
    """Its ends are taken, and what is next to them is refused in words."""
    for end in (amounts.LEAST, amounts.MOST):
        assert positive("scale", end) == amounts.checked_amount("scale", end) == end
    for beyond in (1e-101, 5e-324, 1e101, 10**400, amounts.MOST + Fraction(1, 3), amounts.LEAST - Fraction(1, 10**200)):
        with pytest.raises(InvalidParameter, match="Expected an amount from 1e-100 to 1e100, got scale="):
            positive("scale", beyond)
    assert amounts.proper_delta(5e-324) == amounts.delta_or_zero(5e-324) == amounts.LEAST_DELTA
    assert amounts.delta_or_zero(0) == 0
    for small in (Fraction(1, 10**400), amounts.LEAST_DELTA - Fraction(1, 10**400)):
        for door in (amounts.proper_delta, amounts.delta_or_zero):
            with pytest.raises(InvalidParameter, match="Expected a delta that is not 0 as a float"):
                door(small)
    for wrong in (0, 1, -1e-9):
        with pytest.raises(InvalidParameter, match="a delta between 0 and 1"):
            amounts.proper_delta(wrong)
    for wrong in (1, -1e-9):
        with pytest.raises(InvalidParameter, match="a delta from 0 to below 1, got delta="):
            amounts.delta_or_zero(wrong)


def test_confidences_keep_away_from_certainty() -> None:
    near = Fraction(1, 10**50)
    assert amounts.confidence_level(near) == 1 - amounts.confidence_level(1 - near) == near
    for wrong in (0, 1, -0.5, 1.5):
        with pytest.raises(InvalidParameter, match="strictly between 0 and 1"):
            amounts.confidence_level(wrong)
    with pytest.raises(InvalidParameter, match="no nearer to 0 or 1 than 1e-50, got confidence=1e-51"):
        amounts.confidence_level(near / 10)
    with pytest.raises(InvalidParameter, match="no nearer to 0 or 1 than 1e-50, got 1 - confidence=1e-78"):
        amounts.confidence_level(1 - Fraction(1, 10**78))


@given(st.integers(-(10**1200), 10**1200), st.integers(1, 10**1200))
def test_shortening_is_to_the_side_it_names(numerator: int, denominator: int) -> None:
    exact = Fraction(numerator, denominator)
    short = short_up(exact)
    assert exact <= short < exact + Fraction(1, 10**PLACES)
    assert short.denominator <= 10**PLACES
    assert short == exact or exact.denominator > 10**PLACES
    assert short - short_down(exact) == (0 if short == exact else Fraction(1, 10**PLACES))


lengths = st.sampled_from([1, 2, 10**6, 2 * 10**12, 10**999, 10**1000, 10**1000 + 1, 3 * 10**1200])


@given(st.integers(0, 10**1200), lengths, st.integers(0, 10**1200), lengths)
def test_sums_are_shortened_alike(one: int, below: int, other: int, under: int) -> None:
    a, b = Fraction(one, below), Fraction(other, under)
    assert sum_up(a, b) == short_up(a + b)
    total = Fraction(0)
    for _ in range(5):
        total = sum_up(total, b)
    assert 5 * b <= total < 5 * b + Fraction(5, 10**PLACES)


@given(st.lists(st.floats(0, 10), max_size=20))
def test_sums_of_floats_are_never_shortened(values: list[float]) -> None:
    total = sum((fraction("epsilon", value) for value in values), start=Fraction(0))
    assert short_up(total) == total


@pytest.mark.parametrize(
    ("amount", "text"),
    [
        (Fraction(0), "0"),
        (Fraction(10**9), "1000000000"),
        (Fraction(1, 10**8), "0.00000001"),
        (Fraction(-5, 4), "-1.25"),
        (Fraction(1, 2**30), "0.000000000931322574615478515625"),
        (Fraction(1, 3), "0.333333"),
        (Fraction(-2, 3), "-0.666667"),
        (Fraction(1000001, 3), "333334"),
        (Fraction(10**7, 3), "3.33333e+6"),
        (Fraction(1, 3 * 10**3), "0.000333333"),
        (Fraction(1, 3 * 10**4), "3.33333e-5"),
        (Fraction("5e-324"), "5e-324"),
        (Fraction(10**400, 3), "3.33333e+399"),
        (Fraction(1, 3 * 10**400), "3.33333e-401"),
        (Fraction(3001, 3), "1000.33"),
    ],
)
def test_amounts_print_as_decimals(amount: Fraction, text: str) -> None:
    assert decimal_text(amount) == text


def test_printing_does_not_depend_on_the_decimal_context() -> None:
    with localcontext() as context:
        context.prec = 2
        context.Emax = 5
        assert decimal_text(Fraction(1, 3)) == "0.333333"
        assert decimal_text(Fraction(10**40, 3), 10) == "3.333333333e+39"


@given(st.fractions(), st.integers(1, 12))
def test_directions_enclose(amount: Fraction, digits: int) -> None:
    low, high = (Fraction(decimal_text(amount, digits, rounding=way)) for way in (ROUND_FLOOR, ROUND_CEILING))
    nearest = Fraction(decimal_text(amount, digits))
    assert low <= amount <= high
    assert low <= nearest <= high
    assert high - low <= abs(amount) * Fraction(10, 10**digits)


@given(st.decimals(allow_nan=False, allow_infinity=False, places=20, min_value=-(10**9), max_value=10**9))
def test_short_decimals_print_exactly(value: Decimal) -> None:
    assert Fraction(decimal_text(Fraction(value))) == Fraction(value)


@given(st.fractions(min_value=0, max_value=10**9))
def test_roots_are_just_above(square: Fraction) -> None:
    root = root_above(square)
    assert square <= root**2 <= square * (1 + Fraction(1, 2**59))


def test_roots_are_rounded_up() -> None:
    assert root_above(Fraction(9, 4)) == Fraction(3, 2)
    for square in (Fraction(2), Fraction(1, 3), Fraction(10**30 + 1), Fraction(1, 10**40 + 7)):
        root = root_above(square)
        assert square < root**2 < square * (1 + Fraction(1, 2**58))


def test_sums_are_enclosed_and_stay_short() -> None:
    """Exact where a denominator of a thousand digits fits all; a thousand digits and no more where none does."""
    few = [Fraction(1, n) for n in range(1, 60)]
    assert sums(few) == (sum(few), sum(few))
    assert sums([]) == (Fraction(0), Fraction(0))
    many = [Fraction((-1) ** n, 10**9 + n * n) for n in range(400)]
    lower, upper = sums(many)
    exact = sum(many, start=Fraction(0))
    assert lower < exact < upper <= lower + Fraction(400, 10**1000)
    assert max(lower.denominator, upper.denominator) <= 10**1000 < exact.denominator
    assert sums([*many, *(-one for one in many)])[0] <= 0 <= sums([*many, *(-one for one in many)])[1]


@pytest.mark.parametrize("value", [True, 1.0, "1", None, np.float64(2), np.array([1, 2]), HOUR], ids=repr)
def test_what_is_no_whole_number_is_refused(value: object) -> None:
    with pytest.raises(InvalidParameter, match="Expected a whole number, got n="):
        amounts.whole_number("n", value)
    with pytest.raises(InvalidParameter, match="Hint"):
        amounts.count("n", value)
    with pytest.raises(InvalidParameter, match="Hint"):
        amounts.at_least_one("n", value)


def test_whole_numbers_are_counted() -> None:
    assert amounts.count("n", np.uint8(3)) == amounts.at_least_one("n", np.uint8(3)) == 3
    assert amounts.whole_number("t", np.int64(-3)) == -3
    with pytest.raises(InvalidParameter, match="0 or more, got n=-1"):
        amounts.count("n", -1)
    with pytest.raises(InvalidParameter, match="1 or more, got n=0"):
        amounts.at_least_one("n", 0)
    with pytest.raises(InvalidParameter, match="an amount from 1e-100 to 1e100"):
        amounts.at_least_one("n", 10**101)


@pytest.mark.parametrize("power", [-334, -333, -332, -331, -330, 330, 331, 332, 333])
@pytest.mark.parametrize("part", [Fraction(1), Fraction(3, 2), Fraction(2**60 - 1, 2**60), Fraction(2**60 + 1, 2**60)])
def test_amounts_near_the_ends_are_compared(power: int, part: Fraction) -> None:
    """What is told by its length in bits is what a comparison says."""
    amount = part * Fraction(2) ** power
    if LEAST <= amount <= MOST:
        assert checked_amount("epsilon", amount) == amount
    else:
        with pytest.raises(InvalidParameter, match="1e-100 to 1e100"):
            checked_amount("epsilon", amount)


@pytest.mark.parametrize("amount", [LEAST, MOST])
def test_the_ends_are_amounts(amount: Fraction) -> None:
    assert checked_amount("epsilon", amount) == amount
    for beyond in (amount * (1 - Fraction(1, 10**30)), amount * (1 + Fraction(1, 10**30)), -amount, 0 * amount):
        if not LEAST <= beyond <= MOST:
            with pytest.raises(InvalidParameter, match="1e-100 to 1e100"):
                checked_amount("epsilon", beyond)


def test_a_fraction_of_numpy_integers_is_made_anew() -> None:
    """Inside of it they would wrap around."""
    wrapping = Fraction(1)
    wrapping._numerator = np.int64(2**62)  # type: ignore[attr-defined]  # as arithmetic with NumPy's integers leaves it
    assert type(fraction("epsilon", wrapping).numerator) is int
