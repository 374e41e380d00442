"""Whether a step is over, and its rows are there, by the clock of the machine that publishes it.

Claim
    `check` refuses a step of dates or timestamps unless its end, and what was stated to pass until its rows are there,
    lies in the past by the machine's clock: of dates by its local time, of timestamps by UTC, in which they are read.
Requires
    A clock that is not ahead. That rows come later than stated, or are changed, no clock tells: the curator states
    `settled`, and how rows that come late are counted.
Relies on
    Nothing.
Proof
    `StepCalendar.begin(step + 1)` is the first moment that no longer belongs to the step. What is drawn of a step that
    is not over would leave rows out that the same step holds later on, and the bound on a series rests on the rows of
    all steps as they are in the end (`active_steps`). Whole numbers have no clock.
Rounding
    None.
Source
    The rule is our own.
Mutant
    future-is-published: a step that has begun counts as over; killed by
    test_a_step_that_is_not_over_is_refused_before_it_costs_anything.
"""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta
from typing import Any

from discreet.errors import InvalidParameter, InvalidQuery, expected
from discreet.language.checked_expressions import Kind
from discreet.series.step_calendar import StepCalendar

WAIT = re.compile(r"\s*(\d{1,4})\s+(hour|day|week)s?\s*")


def waiting(calendar: StepCalendar, settled: object) -> timedelta:
    """How long after its end a step is published at the earliest.

    Raises:
        InvalidParameter, InvalidQuery: it is no length of time, or the steps have no clock.

    >>> days = StepCalendar.of(Kind.DATE, start="2026-01-01", every="1 day")
    >>> waiting(days, "2 days"), waiting(days, None)
    (datetime.timedelta(days=2), datetime.timedelta(0))
    """
    if settled is None:
        return timedelta()
    if calendar.kind is Kind.INTEGER:
        cure = "leave it out: steps of whole numbers have no clock, and who publishes one says that it is over."
        raise InvalidQuery(expected("steps of dates or timestamps", "settled", settled, cure))
    found = WAIT.fullmatch(settled) if isinstance(settled, str) else None
    if not found:
        raise InvalidParameter(expected("a number of hours, days or weeks", "settled", settled, "write '2 days'."))
    return int(found[1]) * timedelta(**{f"{found[2]}s": 1})


def wait_text(wait: timedelta) -> str:
    """A length of time as `waiting` reads it, in the longest unit of which it is a whole number.

    >>> wait_text(timedelta(days=2)), wait_text(timedelta(hours=25)), wait_text(timedelta(weeks=9999))
    ('2 days', '25 hours', '9999 weeks')
    """
    units = {"weeks": timedelta(weeks=1), "days": timedelta(days=1), "hours": timedelta(hours=1)}
    unit = next(name for name, length in units.items() if not wait % length)
    return f"{wait // units[unit]} {unit}"


def now(kind: Kind) -> datetime:
    """The present: of dates by local time, of timestamps by UTC."""
    return datetime.now() if kind is Kind.DATE else datetime.now(UTC).replace(tzinfo=None)  # noqa: DTZ005 (a wall clock)


def check(calendar: StepCalendar, step: int, wait: timedelta) -> None:
    """Refuses a step that is not over, or whose rows may still come.

    Raises:
        InvalidParameter: what the clock says, and when to publish it.
    """
    if calendar.kind is Kind.INTEGER:
        return
    end: Any = calendar.begin(step + 1)
    over = (end if isinstance(end, datetime) else _midnight(end)) + wait
    if now(calendar.kind) < over:
        where = "local time" if calendar.kind is Kind.DATE else "UTC"
        cure = f"publish it from {over} {where} on: what is drawn before would leave out rows that are still to come."
        raise InvalidParameter(expected("a step that is over", "through", calendar.last(step), cure))


def _midnight(day: date) -> datetime:
    return datetime(day.year, day.month, day.day)  # noqa: DTZ001 (a wall clock)
