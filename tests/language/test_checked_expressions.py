"""What a checked value is, and the conversions that all rules share."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import ibis
import pytest
from ibis import _

from discreet.errors import InvalidQuery
from discreet.language.checked_expressions import (
    FULL_INTEGER,
    FULL_REAL,
    NARROW,
    Kind,
    Value,
    checked_number,
    float_text,
    integer,
    joined,
    numeric,
    real,
    same_kind,
    shown,
)
from discreet.sensitivity.intervals import LARGEST, Interval

Refused = Callable[..., str]
T = ibis.table({"n": "int64", "x": "float64", "b": "boolean", "s": "string"}, name="t")
N = Value(T.n, Kind.INTEGER, Interval(Fraction(0), Fraction(9), integer=True), nullable=False)
X = Value(T.x, Kind.REAL, Interval(Fraction(0), Fraction(1)), nullable=True)
B = Value(T.b, Kind.BOOLEAN, None, nullable=True)
S = Value(T.s, Kind.TEXT, None, nullable=True)


def test_only_two_kinds_are_numbers() -> None:
    assert {kind for kind in Kind if kind.numeric} == {Kind.INTEGER, Kind.REAL} == set(NARROW)


def test_integers_become_real_outward(hostile: Any) -> None:
    large = Value(T.n, Kind.INTEGER, Interval(Fraction(2**53 + 1), Fraction(2**63 - 1), integer=True), nullable=False)
    assert real(large).interval == Interval(Fraction(2**53), Fraction(2**63))
    assert real(X) is X
    assert real(S) is S
    hostile.assert_kept(_.any + 0.0, _.any.cast("float64") - 0.5)


def test_booleans_become_integers() -> None:
    assert integer(B).interval == Interval(Fraction(0), Fraction(1), integer=True)
    assert integer(B).nullable
    assert integer(N) is N


def test_alike(refused: Refused) -> None:
    assert same_kind([N, N], "n") == [N, N]
    assert [value.kind for value in same_kind([N, X], "n + x")] == [Kind.REAL, Kind.REAL]
    assert "integer and text in n + s" in refused(InvalidQuery, same_kind, [N, S], "n + s")


def test_numeric(refused: Refused) -> None:
    assert numeric(B, "b")[1].high == 1
    assert "Expected a number, got Sqrt(s) of a text" in refused(InvalidQuery, numeric, S, "Sqrt(s)")


def test_number_refuses_what_overflows(refused: Refused) -> None:
    wide = Interval(-LARGEST, 2 * LARGEST)
    said = refused(InvalidQuery, checked_number, T.x, wide, nullable=True, what="Add(x, x)")
    assert "got Add(x, x), which can reach [-1.79769e+308, infinity]" in said
    assert checked_number(T.x, FULL_REAL, nullable=True, what="x").kind is Kind.REAL
    assert checked_number(T.n, FULL_INTEGER, nullable=True, what="n").kind is Kind.INTEGER


def test_joined() -> None:
    assert joined([N, X]) == Interval(Fraction(0), Fraction(9))
    assert joined([S]) is None


@pytest.mark.parametrize(
    ("end", "text"),
    [(Fraction(5), "5"), (Fraction(1, 3), "0.333333"), (Fraction(10**16), "1e+16"), (-2 * LARGEST, "-infinity")],
)
def test_ends_for_people(end: Fraction, text: str) -> None:
    assert shown(end) == text
    assert float_text(Interval(end, end)) == f"[{text}, {text}]"
