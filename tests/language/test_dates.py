"""Calculating with dates: what leaves the calendar, what a month is, and what is refused."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from typing import Any

import ibis
import pytest
from ibis import _

from discreet.errors import InvalidQuery
from discreet.language.dates import CLOCK, DAYS, LONGEST

FIRST, LAST = datetime.date(1, 1, 1), datetime.date(9999, 12, 31)


def test_days_are_added_and_the_calendar_ends(hostile: Any) -> None:
    days = hostile.column(_.day)
    later = hostile.column(_.day + ibis.interval(days=1))
    assert [None if d is None else d if d == LAST else d + datetime.timedelta(1) for d in days] == later
    assert set(hostile.column(_.day - ibis.interval(days=DAYS))) == {None, FIRST}
    assert set(hostile.column(_.day + ibis.interval(years=9999))) == {None, LAST}


def test_a_month_later_is_the_same_day_or_the_last(hostile: Any) -> None:
    at = hostile.column(ibis.ifelse(_.flag, ibis.literal(datetime.date(2020, 1, 31)), _.day) + ibis.interval(months=1))
    assert datetime.date(2020, 2, 29) in at


@pytest.mark.parametrize("unit", [*LONGEST, *CLOCK])
def test_the_farthest_that_is_accepted_never_fails(hostile: Any, unit: str) -> None:
    number = {**LONGEST, **CLOCK}[unit]
    moments = [_.at, _.zoned, _.day.cast("timestamp")] + ([_.day] if unit in LONGEST else [])
    step = ibis.interval(number, unit=unit)
    hostile.assert_kept(*(moment + step for moment in moments), *(moment - step for moment in moments))


def test_days_between(hostile: Any) -> None:
    first, second, found = (hostile.column(e) for e in (_.day, _.lately, _.day.delta(_.lately, unit="day")))
    assert [None if None in (a, b) else (a - b).days for a, b in zip(first, second, strict=True)] == found
    nights = hostile.column(_.at.delta(_.at.truncate("D"), unit="day"))
    assert set(nights) == {None, 0}


def test_seconds_are_whole_and_round_down(hostile: Any) -> None:
    moment = datetime.datetime.fromisoformat("1969-12-31T23:59:59.999999")
    seconds = dict(zip(hostile.column(_.at), hostile.column(_.at.epoch_seconds()), strict=True))
    assert seconds[moment] == -1
    assert seconds[None] is None


@pytest.mark.parametrize(
    ("written", "cure"),
    [
        (_.day + ibis.interval(years=10_000), "ibis.interval(days=30)"),
        (_.day + _.small.as_interval("D"), "ibis.interval(days=30)"),
        (_.day.delta(_.lately, unit="month"), "unit='day'"),
        (_.at.delta(_.zoned, unit="hour"), "subtract .epoch_seconds()"),
        (_.day - _.lately, "write .delta(..., unit='day')"),
    ],
)
def test_refusals(hostile: Any, refused: Callable[..., str], written: Any, cure: str) -> None:
    assert cure in refused(InvalidQuery, hostile.check, written)
