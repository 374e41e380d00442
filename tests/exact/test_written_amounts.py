"""Amounts in text are exact, and read in bounded time or refused."""

from __future__ import annotations

import time
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import InvalidParameter, expected
from discreet.exact.amounts import fraction
from discreet.exact.written_amounts import LONGEST_TEXT, is_amount, stored_amount, written_amount

FAR = ("1e99999999", "1e-99999999", "1E+1000", "-1e-9999", "0e99999999")
LONG = ("1" * 31, "0." + "3" * 10**5, "1" * 10**6, "1/" + "3" * 31, "1" * 10**6 + "/3", "9" * 10**5 + "e999")
NONE = ("", "a", "1/0", "0/00", "0,5", "1/2/3", "0x1", "nan", "inf", "1e", "e5", ".", "1_0", "\u0661", " 1", "1/2e5")
LONGEST = 1.0
"""Seconds of a processor for all of them; each would take minutes."""


def test_what_would_take_long_is_refused_at_once() -> None:
    began = time.process_time()
    for text in (*FAR, *LONG, *NONE):
        assert not is_amount(text), text[:80]
        with pytest.raises(InvalidParameter, match="Expected a number of at most 30 digits, got epsilon=") as refusal:
            written_amount("epsilon", text)
        assert len(str(refusal.value)) < 300
    assert time.process_time() - began < LONGEST


def test_a_record_keeps_no_power_of_ten_that_would_take_long() -> None:
    began = time.process_time()
    for text in (*FAR, *NONE, None, 0.5, True):
        with pytest.raises((ValueError, ZeroDivisionError)):
            stored_amount(text)
    assert stored_amount("3" * 900 + "/7") == Fraction(int("3" * 900), 7)
    assert time.process_time() - began < LONGEST


@given(st.fractions(max_denominator=10**20).filter(lambda one: abs(one) < 10**20))
def test_a_fraction_is_read_back(amount: Fraction) -> None:
    assert written_amount("epsilon", str(amount)) == stored_amount(str(amount)) == amount


@given(st.decimals(allow_nan=False, allow_infinity=False, places=6, min_value=-(10**12), max_value=10**12))
def test_a_decimal_means_what_it_says(amount: Decimal) -> None:
    assert written_amount("epsilon", str(amount)) == Fraction(amount)
    assert written_amount("epsilon", f"{amount:e}") == Fraction(amount)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_every_float_can_be_written(amount: float) -> None:
    assert written_amount("epsilon", repr(amount)) == Fraction(repr(amount))


@given(st.text("0123456789.eE+-/", max_size=LONGEST_TEXT))
def test_what_is_an_amount_is_read(text: str) -> None:
    if is_amount(text):
        assert fraction("epsilon", Fraction(text)) == written_amount("epsilon", text)
    else:
        with pytest.raises(InvalidParameter):
            written_amount("epsilon", text)


def test_long_numbers_are_refused_at_once() -> None:
    """Also where a refusal shows them."""
    began = time.process_time()
    for value in (Decimal("0." + "1" * 10**6), Decimal("1" * 999 + "." + "1" * 10**6), 16**10**6):
        with pytest.raises(InvalidParameter, match="of at most 1000 digits"):
            fraction("epsilon", value)
        for shown in (value, [value], Fraction(1, 16**10**6)):
            assert "a longer number" in expected("a number", "epsilon", shown, "write another.")
    assert time.process_time() - began < LONGEST
