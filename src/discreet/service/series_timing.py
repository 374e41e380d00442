"""When the steps of a series may be shown: at moments that follow from the clock and the configuration alone.

Claim
    How many steps of a series are shown at time t, and the next moment at which that may change, is a function of
    public facts and, for each step, of the number k of the public moment at which it was on record. How long a look at
    the rows took, how often it failed, and which process made it make no other difference.
Requires
    As `answer_timing`: what says that a step is on record was written before the moment it is compared with. The same
    configuration, time zone and clock wherever it is asked.
Relies on
    `answer_timing.Schedule`, for each step by itself. `StepCalendar`: when a step ends.
Proof
    A step is over at o, its end and the time that was stated until its rows are there, or when the series was declared
    to the service, if that is later; its first moment is o + f, where f is the stated wait, or ends at the stated time
    of day, and is at least what the pace of the data set gives for the look. Each step is a job that was accepted at o
    and whose first step is f. What is shown is the longest run of steps whose last one is shown as ready: a function of
    these views. The next moment is the first one, among those of all steps that are not shown, at which a step that is
    on record by then would be; no record has a part in it.
    *Local time.* Where a clock shows an hour twice, a step is over when it has passed for the second time; an hour that
    is left out ends when the clock was moved. So o is never before `step_clock` says that the step is over.
    *A clock that is set back* hides what lies ahead of it, and draws nothing: what is on record stays.
Rounding
    A wait that is shorter than the pace gives is refused, not made longer.
Source
    As `answer_timing`.
Mutant
    steps-are-shown-when-drawn: what is on record is shown at once; killed by
    test_a_step_is_shown_at_its_moment_however_long_the_look_took.
    next-moment-follows-the-record: the next moment is that of what is on record; killed by
    test_the_next_moment_does_not_depend_on_the_record.
    first-of-two-hours: an hour that comes twice is over after the first; killed by
    test_an_hour_that_comes_twice_is_over_after_the_second.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import Any

from discreet.errors import InvalidParameter, InvalidQuery, expected
from discreet.language.checked_expressions import Kind
from discreet.series.step_calendar import StepCalendar
from discreet.service.answer_timing import Schedule, State

WAIT = re.compile(r"\s*(\d{1,4})\s+(minute|hour|day)s?\s*")
TIME = re.compile(r"\s*([01]\d|2[0-3]):([0-5]\d)\s*")


@dataclass(frozen=True, kw_only=True)
class StepMoments:
    """The public moments of the steps of one series, in seconds since 1970."""

    calendar: StepCalendar
    settled: timedelta
    """How long after its end the rows of a step are there."""
    wait: timedelta | None
    """From then to the first moment; or"""
    at: time | None
    """the time of day at which a step is shown: local time of dates, UTC of timestamps."""
    least: float
    """Seconds that are left for a look, at least."""
    since: float = float("-inf")
    """When the series was declared: what was over before is waited for from then on."""

    @classmethod
    def of(cls, calendar: StepCalendar, settled: timedelta, publish: object, *, least: float) -> StepMoments:
        """The moments that are stated as a time of day, "03:15", or as a wait, "2 hours".

        Raises:
            InvalidParameter: it is neither, or the wait is shorter than a look may take.
            InvalidQuery: the steps have no clock.
        """
        if calendar.kind is Kind.INTEGER:
            cure = "publish a series by whole numbers with discreet series; or go by a column of dates or timestamps."
            raise InvalidQuery(expected("steps that end by a clock", "by", "whole numbers", cure))
        text = publish if isinstance(publish, str) else ""
        clock, length = TIME.fullmatch(text), WAIT.fullmatch(text)
        if not clock and not length:
            cure = 'write publish = "03:15", or a wait: publish = "2 hours".'
            raise InvalidParameter(expected("a time of day, or minutes, hours or days", "publish", publish, cure))
        wait = None if length is None else int(length[1]) * timedelta(**{f"{length[2]}s": 1})
        at = None if clock is None else time(int(clock[1]), int(clock[2]))
        if wait is not None and wait.total_seconds() < least:
            cure = (
                f"wait for {least:.0f} seconds or more: a look takes as long, by the rows and seconds that are stated."
            )
            raise InvalidParameter(expected("a wait that is longer than a look", "publish", publish, cure))
        made = cls(calendar=calendar, settled=settled, wait=wait, at=at, least=least)
        try:
            for step in (0, calendar.steps - 1):
                made.schedule(step)
        except (OverflowError, ValueError, OSError):  # of dates and of the machine's clock
            cure = "begin later, or end earlier with until."
            raise InvalidParameter(expected("steps that a clock can show", "start", calendar.start, cure)) from None
        return made

    def schedule(self, step: int) -> Schedule:
        """When a step is over and its rows are there, and how long after that it may be shown first."""
        over = max(self._over(step), self.since)
        return Schedule(start=over, first=self._first(over) - over)

    def over(self, now: float) -> int:
        """How many steps are over, with their rows there."""
        low, high = 0, self.calendar.steps
        while low < high:
            middle = (low + high) // 2
            low, high = (middle + 1, high) if self._over(middle) <= now else (low, middle)
        return low

    def shown(self, on_record: Iterable[tuple[int, float]], now: float) -> int:
        """How many steps are shown; `on_record` has numbers of steps, each with the time at which so many were."""
        left = sorted(on_record)
        last, done = left[-1][0] if left else 0, float("inf")
        for step in reversed(range(min(last, self.calendar.steps))):
            while left and left[-1][0] > step:
                done = min(done, left.pop()[1])
            if self.schedule(step).view(done, now)[0] is State.READY:
                return step + 1
        return 0

    def next(self, shown: int, now: float) -> float | None:
        """The next moment at which a further step may be shown; none, after the last one."""
        found: float | None = None
        for step in range(shown, self.calendar.steps):
            schedule = self.schedule(step)
            if found is not None and schedule.start + schedule.first >= found:
                break
            moment = schedule.view(None, now)[1]
            found = moment if found is None else min(found, moment)
        return found

    def is_late(self, shown: int, now: float) -> bool:
        """Whether the first moment of a step has passed that is not shown."""
        if shown >= self.calendar.steps:
            return False
        schedule = self.schedule(shown)
        return schedule.start + schedule.first <= now

    def _over(self, step: int) -> float:
        end: Any = self.calendar.begin(step + 1)
        return self._seconds((end if isinstance(end, datetime) else _midnight(end)) + self.settled)

    def _first(self, over: float) -> float:
        if self.wait is not None:
            return over + self.wait.total_seconds()
        zone = None if self.calendar.kind is Kind.DATE else UTC
        day = datetime.fromtimestamp(over + self.least, zone).date()
        found = (self._seconds(datetime.combine(day + timedelta(days=more), self.at or time())) for more in (0, 1, 2))
        return next(one for one in found if one >= over + self.least)

    def _seconds(self, wall: datetime) -> float:
        """When a clock shows this: the later moment, where there are two, or none."""
        if self.calendar.kind is not Kind.DATE:
            return wall.replace(tzinfo=UTC).timestamp()
        return max(wall.replace(fold=fold).timestamp() for fold in (0, 1))


def _midnight(day: date) -> datetime:
    return datetime(day.year, day.month, day.day)  # noqa: DTZ001 (a wall clock)
