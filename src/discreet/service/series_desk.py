"""The series of all data sets: what is shown of each at a moment, and the attempts to publish what is over."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import pyarrow as pa

from discreet.errors import DiscreetError
from discreet.series.series_plan import sums_of
from discreet.series.series_release import SeriesRelease
from discreet.service.data_sets import DataSet
from discreet.service.published_series import OpenedSeries, PublishedSeries
from discreet.service.series_book import SeriesBook
from discreet.service.series_timing import StepMoments
from discreet.service.service_errors import HELD_SERIES, LATE_SERIES

logger = logging.getLogger("discreet.service")

AGAIN = 60.0
"""Seconds from an attempt that failed to the next one."""
MOST_ROWS = 100_000
"""Of one page of numbers, which has whole steps, and one at least."""


class View(NamedTuple):
    """What is shown of a series at a moment."""

    opened: OpenedSeries | None
    """What is on record of it."""
    shown: int
    """So many steps."""
    next: float | None
    """When that may change."""
    is_late: bool
    obstacle: DiscreetError | None


@dataclass(frozen=True, kw_only=True)
class SeriesPage:
    """Some steps of a series, with what formats ask of a release."""

    release: SeriesRelease
    table: pa.Table
    after: int
    steps: int
    """How many steps are shown in all."""
    end: int
    """The page ends before this one."""

    @property
    def following(self) -> int | None:
        """What the next page comes after, where there is one."""
        return self.end if self.end < self.steps else None

    @property
    def receipt(self) -> Any:
        """That of the series."""
        return self.release.receipt

    @property
    def groups(self) -> tuple[str, ...]:
        """The keys, the step and the window."""
        return tuple(self.release.groups)

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the aggregates."""
        return tuple(self.release.columns)

    def to_pyarrow(self) -> pa.Table:
        """The rows of these steps."""
        return self.table


class ServedSeries:
    """One series as a service shows and publishes it."""

    def __init__(self, dataset: DataSet, series: PublishedSeries, book: SeriesBook, clock: Callable[[], float]) -> None:
        self.dataset, self.series = dataset, series
        self._book, self._clock = book, clock
        declared = book.declared(f"{dataset.name} {series.key}")  # now, and not when a look lets it
        self.moments: StepMoments = replace(series.moments(dataset.pace), since=declared)
        self._known = -1
        self._again: float | None = None
        self._told = ""
        self._attempting = threading.Lock()

    def view(self) -> View:
        """What is shown of it now."""
        now = self._clock()
        opened, obstacle = self.series.standing()
        shown = self._shown(opened, now)
        following = self.moments.next(shown, now)
        is_late = self.moments.is_late(shown, now)
        return View(opened, shown, following, is_late, None if following is None else obstacle)

    def _shown(self, opened: OpenedSeries | None, now: float) -> int:
        return 0 if opened is None else self.moments.shown(self._book.on_record(opened.name), now)

    def line(self, *, is_curator: bool) -> dict[str, Any]:
        """What is told of it; why it is held up in full to curators alone."""
        view, series = self.view(), self.series
        problem = None if view.obstacle is None else str(view.obstacle) if is_curator else HELD_SERIES
        if problem is None and view.is_late:
            problem = LATE_SERIES
        return {
            "name": series.name,
            "state": self._state(view),
            "declared": series.facts.declared,
            "terms": series.terms,
            "price": series.facts.price,
            "account": series.account(view.opened),
            "publish": series.facts.publish,
            "steps": series.steps,
            "published": view.shown,
            "latest": series.step_label(view.shown - 1) if view.shown else None,
            "next": view.next,
            "problem": problem,
        }

    @staticmethod
    def _state(view: View) -> str:
        if view.next is None:
            return "ended"
        if view.obstacle is not None:
            return "held"
        return "late" if view.is_late else "open"

    def page(self, after: int, most: int) -> SeriesPage | None:
        """The numbers of some steps behind `after`; none, where nothing is shown yet.

        Raises:
            InvalidQuery: the data set or the series was declared anew since it was opened.
        """
        shown = self._shown(self.series.opened(), self._clock())
        if not shown:
            return None
        release = self.series.answer(shown)
        first, table = min(after, shown), release.to_pyarrow()
        groups, windows = len(release._series.groups), release._series.strategy.windows  # noqa: SLF001 (its own size)
        rows = [0] * (shown + 1)
        for step, _, _ in sums_of(windows, shown):
            rows[step + 1] += groups
        for step in range(shown):
            rows[step + 1] += rows[step]
        end = min(shown, first + most)
        while end > first + 1 and rows[end] - rows[first] > MOST_ROWS:
            end -= 1
        part = table.slice(rows[first], rows[end] - rows[first])
        return SeriesPage(release=release, table=part, after=first, steps=shown, end=end)

    def excerpt(self, after: int, most: int) -> dict[str, Any] | None:
        """The same steps as they are stored, for a client."""
        page = self.page(after, most)
        if page is None:
            return None
        stored = self.series.excerpt(page.after, page.end)
        return {**stored, "steps": page.steps, "after": page.after, "next": page.following}

    def attempt(self) -> None:
        """Publishes what is over; what fails is told to the log, and tried again."""
        with self._attempting:
            now = self._clock()
            if self._again is not None and 0 < self._again - now <= AGAIN:  # a clock that was set back stops nothing
                return
            self._again = None
            try:
                self.series.prepare()
                self._publish(now)
            except Exception:
                logger.exception("the series %r of %r was not published", self.series.name, self.dataset.name)
                self._again = now + AGAIN

    def _publish(self, now: float) -> None:
        over, is_new = self.moments.over(now), self._known < 0
        if not is_new and over <= self._known:
            return
        obstacle = self.series.standing()[1]
        self._tell(obstacle)
        if self._note() >= over:
            return
        if obstacle is not None:
            self._again = now + AGAIN
            return
        self.series.publish(over)
        self._note()

    def _tell(self, obstacle: DiscreetError | None) -> None:
        """Tells the log why a series does not go on, once."""
        told = "" if obstacle is None else str(obstacle)
        if told and told != self._told:
            logger.error("the series %r of %r is held: %s", self.series.name, self.dataset.name, told)
        self._told = told

    def _note(self) -> int:
        """How many steps are on record, which the state is told of, where they have become more."""
        opened, _ = self.series.standing()
        steps = 0 if opened is None else self.series.on_record()
        if opened is not None and steps > self._known:
            self._book.note(opened.name, steps)
        self._known = steps
        return steps


class SeriesDesk:
    """All series of a service, by data set and name."""

    def __init__(self, datasets: Iterable[DataSet], book: SeriesBook, clock: Callable[[], float]) -> None:
        self.served = {
            one.name: {name: ServedSeries(one, series, book, clock) for name, series in one.series.items()}
            for one in datasets
        }
        """What is declared; a data set without series has none."""
