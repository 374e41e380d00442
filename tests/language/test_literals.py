"""Constants: each in one wide type, and none that a statement could not hold."""

from __future__ import annotations

import datetime
import decimal
import enum
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import ibis
import numpy as np
import pandas as pd
import pytest
from ibis import _

from discreet.errors import InvalidQuery
from discreet.language.allow_list import bind
from discreet.language.checked_expressions import DTYPES, Kind
from discreet.language.literals import constant, plain_text
from discreet.sensitivity.intervals import Interval

Refused = Callable[..., str]


class Plan(enum.StrEnum):
    FREE = "free"


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        (True, Kind.BOOLEAN),
        (5, Kind.INTEGER),
        (-(2**63), Kind.INTEGER),
        (0.1, Kind.REAL),
        (-0.0, Kind.REAL),
        (decimal.Decimal("0.1"), Kind.REAL),
        ("", Kind.TEXT),
        ("it's", Kind.TEXT),
        (datetime.date(1, 1, 1), Kind.DATE),
        (datetime.datetime(9999, 12, 31, 23, 59, 59, 999_999), Kind.TIMESTAMP),  # noqa: DTZ001 - read as UTC
        (pd.Timestamp("2020-01-01 00:00:00.000001"), Kind.TIMESTAMP),
    ],
)
def test_constants(hostile: Any, value: object, kind: Kind) -> None:
    made = constant(value)
    assert (made.kind, made.nullable) == (kind, False)
    computed = hostile.compute([made])[0].values
    assert computed.null_count == 0
    assert computed[0].as_py() == (
        float(value) if isinstance(value, decimal.Decimal) else ibis.literal(value).op().value
    )
    assert made.expr.type() == DTYPES[kind] or kind in (Kind.BOOLEAN, Kind.TEXT, Kind.DATE)


def test_numbers_are_points() -> None:
    assert constant(7).interval == Interval(Fraction(7), Fraction(7), integer=True)
    assert constant(0.1).interval == Interval(Fraction(0.1), Fraction(0.1))
    assert constant(decimal.Decimal("1e-5")).interval == Interval(Fraction(1e-5), Fraction(1e-5))


def test_zero_has_one_sign() -> None:
    """What is equal is one question: its statement may not depend on which was asked first."""
    assert ibis.to_sql(constant(-0.0).expr) == ibis.to_sql(constant(0.0).expr)


def test_small_constants_are_computed_in_64_bits(hostile: Any) -> None:
    """An engine takes 100 for 8 bits, and would overflow at 100 * 100."""
    hostile.assert_kept(
        _.small * 100 * 100, _.small + (ibis.literal(100) * ibis.literal(100)), _.small * ibis.literal(5, "int8")
    )


def test_zones_are_taken_off(hostile: Any) -> None:
    tokyo = datetime.timezone(datetime.timedelta(hours=9))
    moments = [datetime.datetime(2020, 1, 1, 9, tzinfo=tokyo), datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC)]
    moments.append(datetime.datetime(2020, 1, 1))  # noqa: DTZ001 - read as UTC
    assert {one.values[0].as_py() for one in hostile.compute([constant(m) for m in moments])} == {moments[2]}


WRONG: list[tuple[object, str]] = [
    (None, "constant of type NoneType"),
    (2**63, "whole numbers of 64 bits"),
    (-(10**400), "whole numbers of 64 bits"),
    (float("nan"), "finite numbers"),
    (float("inf"), "finite numbers"),
    (decimal.Decimal("1e999999"), "finite numbers"),
    ("\ud800", "text that SQL can hold"),
    ("a\0b", "text that SQL can hold"),
    (b"bytes", "constant of type bytes"),
    ([1, 2], "constant of type list"),
    (datetime.time(10), "constant of type time"),
    (datetime.datetime(1, 1, 1, tzinfo=datetime.timezone(datetime.timedelta(hours=5))), "between the years 1 and 9999"),
    (datetime.datetime(9999, 12, 31, 12, tzinfo=datetime.timezone(datetime.timedelta(hours=-23))), "in UTC"),
]


@pytest.mark.parametrize(("value", "said"), WRONG, ids=lambda value: type(value).__name__)
def test_refusals(refused: Refused, value: object, said: str) -> None:
    assert said in refused(InvalidQuery, constant, value)


def test_refusals_by_way_of_an_expression(hostile: Any, refused: Refused) -> None:
    for expression in (
        _.name == "\ud800",
        _.name.contains("\0"),
        _.small < ibis.literal(2**63, "uint64"),
        _.share + float("nan"),
    ):
        refused(InvalidQuery, hostile.check, expression)
    assert plain_text("é") == "é"
    assert constant(Plan.FREE).kind is Kind.TEXT


@pytest.mark.parametrize("missing", [pd.NaT, np.datetime64("NaT")])
def test_a_time_that_is_missing_is_refused(refused: Refused, missing: Any) -> None:
    assert "got NaT" in refused(InvalidQuery, constant, ibis.literal(missing).op().value)


@pytest.mark.parametrize(
    "time",
    [
        pd.Timestamp("2020-01-05 00:00:00.000000001"),
        np.datetime64("2020-01-05T00:00:00.000000001"),
        np.datetime64("2020-01-05T00:00:00.000000000001"),
    ],
)
def test_digits_below_microseconds_are_refused(refused: Refused, time: Any) -> None:
    """Ibis cuts them off: a time one nanosecond later than another one was equal to it."""
    table = ibis.table({"at": "timestamp"})
    for written in (time, _.at > time, ~_.at.isin([time]), ibis.cases((_.at > time, 1), else_=0)):
        assert "Expected whole microseconds" in refused(InvalidQuery, bind, table, written)
    for fine in (pd.Timestamp("2020-01-05 00:00:00.000001"), np.datetime64("2020-01-05T00:00:00.000001000"), pd.NaT):
        assert bind(table, _.at > fine).type().is_boolean()
