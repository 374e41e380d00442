"""Steps: where they begin and end, on which side of them a moment lies, and the same in the engine."""

from __future__ import annotations

import datetime
from typing import Any

import pyarrow as pa
import pytest

import discreet as dp
from discreet.errors import InvalidParameter, InvalidQuery
from discreet.language.checked_expressions import Kind
from discreet.series.step_calendar import StepCalendar

DATES = [datetime.date(2026, 1, 1) + datetime.timedelta(days=3 * i) for i in range(-5, 60)]
TIMES = [datetime.datetime(2026, 1, 1) + datetime.timedelta(hours=7 * i) for i in range(-5, 60)]  # noqa: DTZ001 (UTC)


@pytest.mark.parametrize(
    ("kind", "values", "start", "every"),
    [
        (Kind.DATE, DATES, "2026-01-01", "1 day"),
        (Kind.DATE, DATES, "2026-01-01", "10 days"),
        (Kind.DATE, DATES, "2026-01-05", "2 weeks"),
        (Kind.DATE, DATES, "2026-02-01", "1 month"),
        (Kind.DATE, DATES, "2025-01-01", "1 quarter"),
        (Kind.TIMESTAMP, TIMES, "2026-01-01", "1 day"),
        (Kind.TIMESTAMP, TIMES, "2026-01-01 06:00", "6 hours"),
        (Kind.TIMESTAMP, TIMES, "2025-01-01", "1 year"),
        (Kind.INTEGER, list(range(-9, 30)), -3, 4),
    ],
)
def test_the_engine_counts_as_python_does(kind: Kind, values: list[Any], start: Any, every: Any) -> None:
    """A histogram of step numbers, of rows that are counted with hardly any noise."""
    calendar = StepCalendar.of(kind, start=start, every=every)
    values = [value for value in values if 0 <= calendar.number(value) < calendar.steps]
    numbers = [calendar.number(value) for value in values]
    for value, number in zip(values, numbers, strict=True):
        assert calendar.begin(number) <= value < calendar.begin(number + 1)
    table = dp.protect(pa.table({"at": values}), unit=dp.ROW, budget=dp.Budget(epsilon=10**4), name=f"steps of {every}")
    keys = sorted(set(numbers))
    found = (
        table.mutate(step=calendar.expression("at"))
        .group_by("step", keys={"step": keys})
        .agg(n=lambda t: t.count())
        .release(epsilon=1000)
    )
    assert found["n"].tolist() == [numbers.count(key) for key in keys]


def test_ends_are_the_last_days() -> None:
    months = StepCalendar.of(Kind.DATE, start="2026-01-01", every="1 month", until="2026-12-31")
    assert (months.steps, months.ended("2026-02-28"), months.ended("2026-12-31")) == (12, 1, 11)
    days = StepCalendar.of(Kind.DATE, start="2024-02-01", every="1 day")
    assert (days.steps, days.ended("2024-02-29"), days.begin(29)) == (365, 28, datetime.date(2024, 3, 1))
    hours = StepCalendar.of(Kind.TIMESTAMP, start="2026-01-01", every="1 hour", until="2026-01-01 23:00")
    assert (hours.steps, hours.ended("2026-01-01 22:00")) == (24, 22)
    numbers = StepCalendar.of(Kind.INTEGER, start=1, every=10, until=50)
    assert (numbers.steps, numbers.ended(20)) == (5, 1)


def test_calendar_windows_begin_with_their_part_of_the_calendar() -> None:
    days = StepCalendar.of(Kind.DATE, start="2026-01-02", every="1 day", until="2026-02-03")  # a Friday
    begins = days.calendar_windows()
    assert begins["week"][:5].tolist() == [0, 0, 0, 3, 3]
    assert begins["month"][-5:].tolist() == [0, 0, 30, 30, 30]
    assert set(begins["year"]) == {0}
    assert StepCalendar.of(Kind.INTEGER, start=0, every=1).calendar_windows() == {}


@pytest.mark.parametrize(
    "stated",
    [
        {"start": "2026-01-01", "every": "1 hour"},
        {"start": "2026-01-01", "every": "daily"},
        {"start": "2026-01-01", "every": "0 days"},
        {"start": "2026-01-02", "every": "1 month"},
        {"start": "yesterday", "every": "1 day"},
        {"start": 3, "every": "1 day"},
        {"start": "2026-01-01", "every": "1 week", "until": "2026-01-09"},
        {"start": "2026-01-01", "every": "1 day", "until": "2025-12-31"},
        {"start": "2026-01-01", "every": "1 day", "until": "2126-12-31"},
    ],
)
def test_what_are_no_steps_is_refused(stated: dict[str, Any]) -> None:
    with pytest.raises(InvalidParameter):
        StepCalendar.of(Kind.DATE, **stated)


@pytest.mark.parametrize(
    ("kind", "stated"),
    [
        (Kind.TIMESTAMP, {"start": "2026-01-01T06:00", "every": "1 day"}),
        (Kind.TIMESTAMP, {"start": "2026-01-01T06:00", "every": "1 month"}),
        (Kind.TIMESTAMP, {"start": "2026-01-01T00:30:00.500000", "every": "1 hour"}),
    ],
)
def test_steps_that_the_engine_would_count_otherwise_are_refused(kind: Kind, stated: dict[str, Any]) -> None:
    """It counts whole days from midnight, and whole seconds."""
    with pytest.raises(InvalidParameter, match="Hint: begin at 2026-01-01"):
        StepCalendar.of(kind, **stated)


@pytest.mark.parametrize(
    ("kind", "stated"),
    [
        (Kind.DATE, {"start": "9999-12-31", "every": "1 day", "until": "9999-12-31"}),
        (Kind.DATE, {"start": "9999-06-01", "every": "1 day"}),
        (Kind.DATE, {"start": "9999-12-01", "every": "1 month", "until": "9999-12-31"}),
        (Kind.TIMESTAMP, {"start": "9999-12-31 23:00", "every": "1 hour", "until": "9999-12-31 23:00"}),
        (Kind.INTEGER, {"start": 2**63 - 9, "every": 1}),
        (Kind.INTEGER, {"start": -(2**63), "every": 1, "until": 5 - 2**63}),
    ],
)
def test_steps_beyond_what_columns_hold_are_refused(kind: Kind, stated: dict[str, Any]) -> None:
    with pytest.raises(InvalidParameter, match="steps that a column can hold"):
        StepCalendar.of(kind, **stated)


@pytest.mark.parametrize("through", ["2026-01-09", "2025-12-28", "2027-01-03", "2026-01-11 12:00", None])
def test_a_moment_at_which_no_step_ends_is_refused(through: Any) -> None:
    weeks = StepCalendar.of(Kind.DATE, start="2026-01-05", every="1 week", until="2026-12-27")
    with pytest.raises(InvalidParameter):
        weeks.ended(through)


def test_text_is_no_moment() -> None:
    with pytest.raises(InvalidQuery, match="dates, timestamps or whole numbers"):
        StepCalendar.of(Kind.TEXT, start="2026-01-01", every="1 day")
