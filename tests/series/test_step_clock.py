"""A step is published when it is over, by a clock that the tests set."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pyarrow as pa
import pytest

import discreet as dp
from discreet.errors import InvalidParameter, InvalidQuery
from discreet.language.checked_expressions import Kind
from discreet.series import step_clock
from discreet.series.step_calendar import StepCalendar
from discreet.series.step_clock import check, now, waiting
from series_fixtures import asked, protected

DAILY = StepCalendar.of(Kind.DATE, start="2026-01-01", every="1 day")
MONTHLY = StepCalendar.of(Kind.DATE, start="2026-01-01", every="1 month")
HOURLY = StepCalendar.of(Kind.TIMESTAMP, start="2026-01-01 00:00:00", every="6 hours")
NUMBERED = StepCalendar.of(Kind.INTEGER, start=0, every=10)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Sets the time, of dates and of timestamps alike."""

    def put(text: str) -> None:
        monkeypatch.setattr(step_clock, "now", lambda _: datetime.fromisoformat(text))

    return put


@pytest.mark.parametrize(
    ("calendar", "step", "wait", "over"),
    [
        (DAILY, 0, timedelta(), "2026-01-02 00:00:00"),
        (DAILY, 30, timedelta(days=2), "2026-02-03 00:00:00"),
        (MONTHLY, 1, timedelta(), "2026-03-01 00:00:00"),
        (HOURLY, 0, timedelta(hours=1), "2026-01-01 07:00:00"),
    ],
)
def test_a_step_is_over_with_its_last_moment(
    calendar: StepCalendar, step: int, wait: timedelta, over: str, clock: Any
) -> None:
    clock(over)
    check(calendar, step, wait)
    clock(str(datetime.fromisoformat(over) - timedelta(microseconds=1)))
    with pytest.raises(InvalidParameter, match=f"publish it from {over}"):
        check(calendar, step, wait)


def test_a_step_that_is_not_over_is_refused_before_it_costs_anything(clock: Any) -> None:
    table = protected()
    clock("2026-01-05 23:59:59")
    with pytest.raises(InvalidParameter, match="a step that is over"):
        asked(table).release(through="2026-01-05", rho=1)
    assert table.budget.spent.rho == 0
    first = asked(table).release(through="2026-01-04", rho=1)
    with pytest.raises(InvalidParameter, match="a step that is over"):
        asked(table).release(through="2026-01-05")
    clock("2026-01-06 00:00:00")
    assert len(asked(table).release(through="2026-01-05")) > len(first)
    clock("2025-12-31 12:00:00")  # a clock that was put back: what is on record is shown all the same
    assert len(asked(table).release(through="2026-01-04")) >= len(first)


def test_a_series_that_settles_waits(clock: Any) -> None:
    table = protected()
    question = asked(table, settled="2 days")
    clock("2026-01-03 12:00:00")
    with pytest.raises(InvalidParameter, match="from 2026-01-04 00:00:00 local time"):
        question.release(through="2026-01-01", rho=1)
    clock("2026-01-04 00:00:00")
    question.release(through="2026-01-01", rho=1)
    with pytest.raises(InvalidQuery, match="settled"):
        asked(table).release(through="2026-01-01")  # another series than the one that was opened


def test_whole_numbers_have_no_clock() -> None:
    check(NUMBERED, 10**3, timedelta())
    with pytest.raises(InvalidQuery, match="have no clock"):
        waiting(NUMBERED, "1 day")


@pytest.mark.parametrize("settled", ["soon", "2", 2, "2 months", "-1 days", ""])
def test_what_is_no_length_of_time(settled: object) -> None:
    with pytest.raises(InvalidParameter, match="write '2 days'"):
        waiting(DAILY, settled)


def test_the_real_clock() -> None:
    assert abs(now(Kind.DATE) - datetime.now()) < timedelta(minutes=1)  # noqa: DTZ005 - the wall clock
    far = pa.table({"p": [1], "day": pa.array([datetime(9000, 1, 1).date()])})  # noqa: DTZ001 - a date
    table = dp.protect(far, unit="p", max_rows=1, budget=dp.Budget(rho=1), name="far off")
    with pytest.raises(InvalidParameter, match="a step that is over"):
        table.series(by="day", start="9000-01-01", max_steps=1).agg(n=lambda t: t.count()).release(
            through="9000-01-01", rho=1
        )
