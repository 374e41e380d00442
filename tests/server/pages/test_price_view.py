"""The error of a column as the library states it, as a number, in words, and along prices."""

from __future__ import annotations

from fractions import Fraction

import pytest

from discreet.query.explanation import Accuracy, ErrorOf
from discreet.server.pages.price_view import ExpectedError, PriceView, first_price, prices, span_of, three_digits

SUFFIXES = {
    ErrorOf.VALUE: "",
    ErrorOf.VALUE_TIMES_ROWS: " / n",
    ErrorOf.RANK: " rows of rank",
    ErrorOf.SHORT: " short at most",
    ErrorOf.TOO_LARGE: " too large",
    ErrorOf.TOO_SMALL: " too small",
}


def read(accuracy: Accuracy, rows: int | None = None) -> ExpectedError:
    return ExpectedError.read({"name": "x", "statistic": "mean", "plus_minus": str(accuracy)}, rows)


@pytest.mark.parametrize("of", ErrorOf)
@pytest.mark.parametrize("amount", [0.00123, 1.5, 149.0, 16134.2, 3.2e9])
def test_every_error_that_the_library_states_is_read(of: ErrorOf, amount: float) -> None:
    found = read(Accuracy(amount, of))
    if of in (ErrorOf.RANGE, ErrorOf.ROWS):
        assert (found.amount, found.shown) == (None, of.value)
        return
    assert found.amount == pytest.approx(amount, rel=0.01)
    assert found.suffix == SUFFIXES.get(of, " rows beyond")


def test_the_worst_case_is_told_beside() -> None:
    assert read(Accuracy(468, ErrorOf.RANK, 5160)).note == "at most 5.16e+03"
    assert read(Accuracy(468, ErrorOf.ROWS_BEYOND_OF_MORE)).note == "the whole range where there are fewer"


def test_rows_make_a_number_of_an_error() -> None:
    found = read(Accuracy(20_000, ErrorOf.VALUE_TIMES_ROWS), rows=1000)
    assert (found.amount, found.shown, found.suffix) == (20.0, "20", "")
    assert "1,000 rows" in found.note


def test_what_is_heard_is_what_is_seen() -> None:
    columns = [read(Accuracy(149)), read(Accuracy(2.5, ErrorOf.VALUE_TIMES_ROWS))]
    said = PriceView(columns=columns, epsilon="0.1", payable=False).said
    assert said == "At epsilon 0.1: x plus or minus 149; x plus or minus 2.5 / n. This is more than is left."


@pytest.mark.parametrize("left", [Fraction(1, 3), Fraction(10), Fraction(1, 10**9), Fraction(123456, 99999)])
def test_what_is_offered_fits(left: Fraction) -> None:
    least, most = (Fraction(end) for end in span_of(left))
    assert 0 < least < most <= left
    assert Fraction(first_price(left, "0.1")) <= left
    offered = prices(least, most)
    assert offered == sorted(offered)
    assert (Fraction(offered[0]), Fraction(offered[-1])) == (least, most)


@pytest.mark.parametrize(("amount", "text"), [(0.0, "0"), (1e-9, "1.00e-09"), (999_999, "1,000,000"), (12.345, "12.3")])
def test_numbers_have_three_digits(amount: float, text: str) -> None:
    assert three_digits(amount) == text
