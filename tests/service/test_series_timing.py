"""When steps are shown: moments from clock and configuration, whatever the record says of how long looks took."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from discreet.errors import InvalidParameter, InvalidQuery
from discreet.language.checked_expressions import Kind
from discreet.series.step_calendar import StepCalendar
from discreet.service.series_timing import StepMoments

HOUR, DAY = 3600.0, 86400.0
NO_WAIT = timedelta()
TEN_DAYS = StepCalendar.of(Kind.DATE, start="2026-01-01", every="1 day", until="2026-01-10")


@pytest.fixture
def zone(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Sets the time zone of this process, and puts it back."""

    def put(name: str) -> None:
        monkeypatch.setenv("TZ", name)
        time.tzset()

    yield put
    monkeypatch.undo()
    time.tzset()


def moments(publish: str = "3 hours", **more: Any) -> StepMoments:
    stated = {"calendar": TEN_DAYS, "settled": timedelta(hours=2), "least": 1.0, **more}
    return StepMoments.of(stated["calendar"], stated["settled"], publish, least=stated["least"])


def utc(*at: int) -> float:
    return datetime(*at, tzinfo=UTC).timestamp()  # type: ignore[misc,arg-type]  # numbers of a date


def test_a_step_is_shown_at_its_moment_however_long_the_look_took(zone: Any) -> None:
    zone("UTC")
    found, over = moments(), utc(2026, 1, 2, 2)
    for took in (0.0, 1.0, HOUR, 3 * HOUR - 1):
        on_record = [(1, over + took)]
        assert [found.shown(on_record, over + at * HOUR) for at in (0, 1, 2.999)] == [0, 0, 0]
        assert found.shown(on_record, over + 3 * HOUR) == 1
    for took in (3.5 * HOUR, 5.9 * HOUR):  # late by a whole moment, and by no part of one
        on_record = [(1, over + took)]
        assert found.shown(on_record, over + 5.99 * HOUR) == 0
        assert found.shown(on_record, over + 6 * HOUR) == 1


def test_the_next_moment_does_not_depend_on_the_record(zone: Any) -> None:
    zone("UTC")
    found, over = moments(), utc(2026, 1, 2, 2)
    records: tuple[list[tuple[int, float]], ...] = (
        [],
        [(1, over + 60)],
        [(1, over + 4 * HOUR)],
        [(1, over + 5 * HOUR)],
    )
    for at in (0.0, 1.0, 2.9):
        now = over + at * HOUR
        assert {found.next(found.shown(one, now), now) for one in records} == {over + 3 * HOUR}
        assert {found.is_late(found.shown(one, now), now) for one in records} == {False}
    for at in (3.0, 4.5, 5.9):
        now = over + at * HOUR
        late = [one for one in records if found.shown(one, now) == 0]
        assert len(late) == 3
        assert {found.next(0, now) for _ in late} == {over + 6 * HOUR}
        assert found.is_late(0, now)


def test_what_is_late_is_shown_with_the_next_step_at_the_latest(zone: Any) -> None:
    zone("UTC")
    found, over = moments(), utc(2026, 1, 2, 2)
    caught_up = over + 7.5 * DAY  # eight steps at once, after a week without a service
    on_record = [(8, caught_up)]
    assert found.shown(on_record, caught_up + 1) == 0
    following = found.next(0, caught_up + 1)
    assert following is not None
    assert caught_up < following <= utc(2026, 1, 10, 5)
    assert found.shown([*on_record, (9, utc(2026, 1, 10, 2, 1))], utc(2026, 1, 10, 5)) == 9


def test_what_was_over_when_the_series_was_declared_is_waited_for_from_then_on(zone: Any) -> None:
    zone("UTC")
    declared = utc(2026, 7, 1, 12)
    found = replace(moments(), since=declared)
    assert found.over(declared) == 10
    assert found.next(0, declared) == declared + 3 * HOUR
    assert found.shown([(10, declared + HOUR)], declared + 3 * HOUR - 1) == 0
    assert found.shown([(10, declared + HOUR)], declared + 3 * HOUR) == 10
    assert found.next(10, declared + DAY) is None


@pytest.mark.parametrize(
    ("name", "publish", "over", "shown"),
    [
        ("UTC", "03:15", (2026, 1, 2, 2), (2026, 1, 2, 3, 15)),
        ("UTC", "02:00", (2026, 1, 2, 2), (2026, 1, 3, 2)),  # no time for a look before the next day's
        ("Europe/Berlin", "03:15", (2026, 1, 2, 1), (2026, 1, 2, 2, 15)),
        ("America/New_York", "90 minutes", (2026, 1, 2, 7), (2026, 1, 2, 8, 30)),
        ("Asia/Kolkata", "1 day", (2026, 1, 1, 20, 30), (2026, 1, 2, 20, 30)),
    ],
)
def test_dates_go_by_local_time(zone: Any, name: str, publish: str, over: Any, shown: Any) -> None:
    zone(name)
    schedule = moments(publish).schedule(0)
    assert schedule.start == utc(*over)
    assert schedule.start + schedule.first == utc(*shown)


def test_timestamps_go_by_utc(zone: Any) -> None:
    hours = StepCalendar.of(Kind.TIMESTAMP, start="2026-01-01", every="6 hours", until="2026-01-01T18:00:00")
    for name in ("UTC", "Asia/Kolkata"):
        zone(name)
        found = moments("03:15", calendar=hours, settled=NO_WAIT)
        assert [found.schedule(step).start for step in (0, 1)] == [utc(2026, 1, 1, 6), utc(2026, 1, 1, 12)]
        first = [found.schedule(step) for step in range(4)]
        assert {one.start + one.first for one in first} == {utc(2026, 1, 2, 3, 15)}


def test_an_hour_that_comes_twice_is_over_after_the_second(zone: Any) -> None:
    zone("Europe/Berlin")  # 25 October 2026: 03:00 summer time is 02:00 again
    one = StepCalendar.of(Kind.DATE, start="2026-10-24", every="1 day", until="2026-10-26")
    found = moments("1 hour", calendar=one, settled=timedelta(hours=2))
    assert found.schedule(0).start == utc(2026, 10, 25, 1)  # 02:00, for the second time
    zone("America/Havana")  # 1 November 2026: 01:00 is 00:00 again, so the day ends twice
    day = StepCalendar.of(Kind.DATE, start="2026-10-31", every="1 day", until="2026-11-02")
    assert moments("1 hour", calendar=day, settled=NO_WAIT).schedule(0).start == utc(2026, 11, 1, 5)


def test_an_hour_that_is_left_out_has_a_moment(zone: Any) -> None:
    zone("Europe/Berlin")  # 29 March 2026: 02:00 is 03:00
    day = StepCalendar.of(Kind.DATE, start="2026-03-28", every="1 day", until="2026-03-30")
    schedule = moments("02:30", calendar=day, settled=NO_WAIT).schedule(0)
    assert schedule.start == utc(2026, 3, 28, 23)
    assert schedule.start + schedule.first == utc(2026, 3, 29, 1, 30)


def test_no_step_is_over_before_the_library_says_so(zone: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from discreet.series import step_clock

    for name in ("UTC", "Europe/Berlin", "America/New_York", "Asia/Kolkata", "Pacific/Apia"):
        zone(name)
        year = StepCalendar.of(Kind.DATE, start="2026-01-01", every="1 day", until="2026-12-31")
        for wait in (NO_WAIT, timedelta(hours=2), timedelta(hours=3)):
            found = moments("1 hour", calendar=year, settled=wait)
            for step in range(365):
                now = datetime.fromtimestamp(found.schedule(step).start)  # noqa: DTZ006 (a wall clock)
                monkeypatch.setattr(step_clock, "now", lambda _, now=now: now)
                step_clock.check(year, step, wait)


def test_a_clock_that_is_set_back_hides_what_lies_ahead(zone: Any) -> None:
    zone("UTC")
    found, over = moments(), utc(2026, 1, 2, 2)
    on_record = [(1, over), (2, over + DAY)]
    assert found.shown(on_record, over + DAY + 3 * HOUR) == 2
    assert found.shown(on_record, over + 4 * HOUR) == 1
    assert found.over(over + 4 * HOUR) == 1
    assert found.shown(on_record, 0.0) == found.over(0.0) == 0


def test_what_is_no_moment_is_refused() -> None:
    for publish in ("24:00", "3:15", "0.5 hours", "1 fortnight", "", 3, None, "03"):
        with pytest.raises(InvalidParameter, match="a time of day"):
            moments(publish)  # type: ignore[arg-type]  # the refusal is the test
    with pytest.raises(InvalidParameter, match="longer than a look"):
        moments("1 minute", least=61)
    with pytest.raises(InvalidQuery, match="steps that end by a clock"):
        moments(calendar=StepCalendar.of(Kind.INTEGER, start=1, every=1, until=9))
    last = StepCalendar.of(Kind.DATE, start="9999-12-01", every="1 day", until="9999-12-30")
    with pytest.raises(InvalidParameter, match="steps that a clock can show"):
        moments("900 days", calendar=last, settled=timedelta(weeks=5))
