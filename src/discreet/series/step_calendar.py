"""The steps of a series: which moments belong to each, and when it has ended."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any

import ibis
import numpy as np
from numpy.typing import NDArray

from discreet.errors import InvalidParameter, InvalidQuery, expected, nearest_name, shown
from discreet.language.checked_expressions import Kind
from discreet.series.step_windows import MOST_OPEN
from discreet.workloads.ordered_queries import MOST_CELLS

Moment = date | datetime | int

DAYS = {"day": 1, "week": 7}
MONTHS = {"month": 1, "quarter": 3, "year": 12}
HOUR = timedelta(hours=1)
EVERY = re.compile(r"\s*(\d{1,4})\s+(hour|day|week|month|quarter|year)s?\s*")
KINDS = (Kind.DATE, Kind.TIMESTAMP, Kind.INTEGER)
YEAR = 365
OPEN = "open"
"""The `until` of a series whose end nobody knows."""


@dataclass(frozen=True, slots=True)
class StepCalendar:
    """Steps of one length, from a first moment on.

    >>> weeks = StepCalendar.of(Kind.DATE, start="2026-01-05", every="1 week", until="2026-12-27")
    >>> weeks.steps, weeks.begin(2), weeks.ended("2026-01-18")
    (51, datetime.date(2026, 1, 19), 1)
    """

    kind: Kind
    start: Moment
    every: str
    unit: str
    length: int
    """So many units."""
    steps: int
    open_ended: bool = False
    """Whether these are as many steps as there can be."""

    @classmethod
    def of(cls, kind: Kind, *, start: object, every: object, until: object = None) -> StepCalendar:
        """Checked steps, up to the one that ends with `until`; a year of them without; "open" for as many as there are.

        Raises:
            InvalidParameter: something is no moment of this kind, or no length.
        """
        if kind not in KINDS:
            cure = "go by a column of dates, timestamps or whole numbers; .mutate() makes one."
            raise InvalidQuery(expected("a column of dates, timestamps or whole numbers", "by", kind.value, cure))
        text, unit, length = _length(kind, every)
        first = _moment(kind, "start", start)
        if unit in MONTHS and isinstance(first, date) and first.day != 1:
            raise InvalidParameter(expected("the first day of a month", "start", start, "begin there, or count weeks."))
        if isinstance(first, datetime) and first != _counted_from(first, unit):
            cure = f"begin at {_counted_from(first, unit)}: rows are told apart by whole days, or by whole seconds."
            raise InvalidParameter(expected("midnight, or of hours a whole second", "start", start, cure))
        made = cls(kind, first, text, unit, length, MOST_CELLS)
        open_ended = isinstance(until, str) and until == OPEN
        if open_ended:
            last = made._all()
        elif until is None:
            last = made.year
        else:
            last = made.ended(until, "until") + 1
        made.begin(last)  # which refuses what no column can hold
        return cls(kind, first, text, unit, length, last, open_ended)

    def _all(self) -> int:
        """As many steps as the calendar has, or as anybody will ever want."""
        first: Any = self.start
        if isinstance(first, int):
            left = (2**63 - 1 - first) // self.length
        elif self.unit in MONTHS:
            left = ((date.max.year - first.year) * 12 + 12 - first.month) // (MONTHS[self.unit] * self.length)
        else:
            left = (type(first).max - first) // (self.length * self._unit)
        return max(1, min(MOST_OPEN, left))

    @property
    def _unit(self) -> timedelta:
        return HOUR if self.unit == "hour" else timedelta(days=DAYS[self.unit])

    @property
    def year(self) -> int:
        """So many steps are a year; of whole numbers, 365."""
        if self.unit in MONTHS:
            return max(1, 12 // (MONTHS[self.unit] * self.length))
        if self.unit in DAYS:
            return max(1, YEAR // (DAYS[self.unit] * self.length))
        return min(MOST_CELLS, max(1, YEAR // self.length))

    def begin(self, step: int) -> Any:
        """The first moment of a step.

        Raises:
            InvalidParameter: it is beyond the calendar, or beyond 64 bits.
        """
        try:
            found = self._begin(step)
        except (OverflowError, ValueError):  # of dates
            found = None
        if found is None or (isinstance(self.start, int) and (self.start <= -(2**63) or found >= 2**63)):
            cure = "begin earlier, or end earlier with until=."
            raise InvalidParameter(expected("steps that a column can hold", "start", self.start, cure))
        return found

    def _begin(self, step: int) -> Any:
        first: Any = self.start
        if isinstance(first, int):
            return first + step * self.length
        if self.unit in MONTHS:
            month = first.month - 1 + step * self.length * MONTHS[self.unit]
            return first.replace(year=first.year + month // 12, month=month % 12 + 1)
        return first + step * self.length * self._unit

    def number(self, moment: Any) -> int:
        """The step that a moment belongs to."""
        first: Any = self.start
        if isinstance(first, int):
            return int((moment - first) // self.length)
        if self.unit in MONTHS:
            months = (moment.year - first.year) * 12 + moment.month - first.month
            return int(months // (self.length * MONTHS[self.unit]))
        return int((moment - first) // (self.length * self._unit))

    def ended(self, through: object, name: str = "through") -> int:
        """The step whose end this is: its last day; its last number; of hours, the beginning of the last.

        Raises:
            InvalidParameter: no step ends there.
        """
        moment: Any = _moment(self.kind, name, through)
        step = self.number(moment)
        if not 0 <= step < self.steps:
            what = f"a moment of one of the {self.steps:,} steps from {shown(self.start)} on"
            cure = "a series ends where it was opened to end; open another one under another name for what comes then."
            raise InvalidParameter(expected(what, name, through, cure))
        if self.last(step) != moment:
            cure = f"the step that began on {self.begin(step)} ends on {self.last(step)}."
            raise InvalidParameter(expected("the last day of a step", name, through, cure))
        return step

    def last(self, step: int) -> Any:
        """The last day or number of a step; of hours, when it begins."""
        if isinstance(self.start, int):
            return self.begin(step + 1) - 1
        if self.unit == "hour":
            return self.begin(step)
        return self.begin(step + 1) - timedelta(days=1)

    def expression(self, column: str) -> Callable[[Any], Any]:
        """The number of the step of a row, for `.mutate()`."""
        first: Any = self.start
        if isinstance(first, int):
            ends = first - 1, self.begin(self.steps)  # outside of all steps, so that nothing overflows
            return lambda t: (t[column].clip(*ends) - first) // self.length
        if self.unit in MONTHS:
            many = self.length * MONTHS[self.unit]
            return lambda t: ((t[column].year() - first.year) * 12 + t[column].month() - first.month) // many
        if self.unit == "hour":
            seconds = int(first.replace(tzinfo=UTC).timestamp())
            return lambda t: (t[column].epoch_seconds() - seconds) // (3600 * self.length)
        return lambda t: t[column].delta(ibis.literal(first), unit="day") // (self.length * DAYS[self.unit])

    def calendar_windows(self) -> dict[str, NDArray[np.int64]]:
        """Of the week, month, quarter and year so far the first step, for each step; none of whole numbers."""
        if isinstance(self.start, int):
            return {}
        places = np.arange(self.steps)
        if self.unit in MONTHS:
            month = np.datetime64(self.start, "M") + places * self.length * MONTHS[self.unit]
            days = month.astype("datetime64[D]")
        else:
            begun = np.datetime64(self.start, "s") + places * np.timedelta64(self.length * self._unit)
            days = begun.astype("datetime64[D]")
        months = days.astype("datetime64[M]").astype(np.int64)
        # 1970 began on a Thursday
        named = {
            "week": (days.astype(np.int64) + 3) // 7,
            "month": months,
            "quarter": months // 3,
            "year": months // 12,
        }
        return {name: _first_of_each(own) for name, own in named.items()}


def _first_of_each(numbers: NDArray[np.int64]) -> NDArray[np.int64]:
    """For each place the first one that has the same number, where equal numbers lie together."""
    begun = np.diff(numbers, prepend=numbers[0] - 1) != 0
    return np.maximum.accumulate(np.where(begun, np.arange(len(numbers)), 0))


def _counted_from(first: datetime, unit: str) -> datetime:
    """The moment that rows are told apart from: midnight, or of hours the whole second."""
    whole = first.replace(microsecond=0)
    return whole if unit == "hour" else whole.replace(hour=0, minute=0, second=0)


def _length(kind: Kind, every: object) -> tuple[str, str, int]:
    """A length as text, its unit and its number."""
    if kind is Kind.INTEGER:
        if isinstance(every, bool) or not isinstance(every, int) or every < 1:
            raise InvalidParameter(expected("a whole number of 1 or more", "every", every, "write every=1."))
        return str(every), "", every
    found = EVERY.fullmatch(every) if isinstance(every, str) else None
    units = ["day", "week", "month", "quarter", "year", *(["hour"] if kind is Kind.TIMESTAMP else [])]
    if not found or found[2] not in units or not int(found[1]):
        hint = (
            nearest_name(every, [f"1 {unit}" for unit in units]) if isinstance(every, str) else "write every='1 day'."
        )
        raise InvalidParameter(expected(f"a number of {'s, '.join(units)}s", "every", every, hint))
    number = int(found[1])
    return f"{number} {found[2]}{'s' if number > 1 else ''}", found[2], number


def _moment(kind: Kind, name: str, given: Any) -> Moment:
    """A moment of a column's kind: of timestamps a time without a zone, in UTC."""
    wrong = expected(f"a {kind.value}", name, given, f"write {name}='2026-01-31'.")
    if kind is Kind.INTEGER:
        if isinstance(given, bool) or not isinstance(given, int):
            raise InvalidParameter(expected("a whole number", name, given, f"write {name}=1."))
        return given
    try:
        found = datetime.fromisoformat(given) if isinstance(given, str) else given
    except ValueError:
        raise InvalidParameter(wrong) from None
    if not isinstance(found, date) or (isinstance(found, datetime) and found.utcoffset() is not None):
        raise InvalidParameter(wrong)
    exact = found if isinstance(found, datetime) else datetime(found.year, found.month, found.day)  # noqa: DTZ001 (UTC)
    if kind is Kind.TIMESTAMP:
        return exact
    if exact != exact.replace(hour=0, minute=0, second=0, microsecond=0):
        raise InvalidParameter(wrong)
    return exact.date()
