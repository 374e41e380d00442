"""A series that the curator of a data set declared: what it is, whether it can go on, and what is on record of it.

Claim
    What is told of a series comes from its declaration and from the ledger: its terms, its price, its errors, and why
    it does not go on. What is shown of its numbers are those of its first steps on record, read by the plan that they
    were drawn by; nothing here looks at a row, charges, or draws.
Requires
    As `series_record`.
Relies on
    `series.series_record`: an opening has all that its numbers are read by, and refuses what it was not opened with.
    `job_budgets.without_waiting`: the charge of an opening waits for no look.
Proof
    `standing` compares the declaration, its version aside, with the opening in the ledger and, where there is none, the
    price with what remains; it knows neither points nor rows. `answer` and `excerpt` cut what they read from the ledger
    to the steps that they are asked for. `publish` alone draws; it is called by the publisher, never by a request.
Rounding
    None.
Source
    As `series_record`.
Mutant
    requests-show-what-is-drawn: an excerpt has all that is on record; killed by
    test_an_excerpt_ends_with_the_steps_that_are_shown.
    openings-wait-for-looks: an opening asks the connection whether it lives; killed by
    test_an_opening_waits_for_no_look.
    declared-anew-goes-on: an opening is not compared with the declaration; killed by
    test_another_declaration_is_told_to_the_curator_alone.
"""

from __future__ import annotations

import hashlib
from base64 import b64encode
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.curator.transaction import charge_to
from discreet.errors import BudgetExceeded, DiscreetError, InvalidParameter, InvalidQuery, LedgerError, expected
from discreet.ledger.budget import Budget
from discreet.query.table import PrivateTable
from discreet.series.declared_series import declared_series
from discreet.series.explain_series import series_receipt
from discreet.series.series_plan import SeriesPlan, parameters
from discreet.series.series_record import Opening, Point, key_of, points_of
from discreet.series.series_release import SeriesRelease
from discreet.service.analyst_budgets import analyst_budget
from discreet.service.answer_timing import Pace
from discreet.service.job_budgets import without_waiting
from discreet.service.recently_used import RecentlyUsed
from discreet.service.series_settings import SeriesFacts
from discreet.service.series_timing import StepMoments

ANSWERS = 2
"""How many are held in memory of each series: of the last step, and of the one before, where its moment passes."""
CONFIDENCE = 0.95
FORESEEN = 10
"""Years of which a look takes no longer than is stated, where a series has no end."""


@dataclass(frozen=True, kw_only=True, eq=False)
class OpenedSeries:
    """An opening in the ledger, with the plan that its numbers are read by."""

    name: str
    """Of the opening, for the state."""
    opening: Opening
    stored: bytes
    plan: SeriesPlan


class PublishedSeries:
    """One series of a data set."""

    def __init__(self, table: PrivateTable, facts: SeriesFacts, *, dataset: str) -> None:
        """Checks the declaration by the names and types of columns; nothing is read."""
        self.name, self.facts, self._dataset = facts.name, facts, dataset
        source: Any = table._source  # noqa: SLF001 (stands in for the curator here)
        self._declaration, budget = source.declaration, source.budget
        if not isinstance(budget, Budget):
            raise InvalidQuery(
                expected("a table with a budget of its own", "table", "another", "declare it by itself.")
            )
        self._budget: Budget = budget.for_asker(f"series {facts.name}")
        self.question = declared_series(
            without_waiting(table, self._budget),
            facts.statement,
            facts.options,
            name=facts.name,
            called=dataset,
            dialect=facts.dialect,
        )
        self._terms = self.question._terms  # noqa: SLF001 (a question of this library)
        self.key = key_of(self._declaration.name, self.name, budget._scope)  # noqa: SLF001 (as series.publish_steps)
        self._planned: SeriesPlan | DiscreetError | None = None
        self._opened: OpenedSeries | DiscreetError | None = None
        self._answers: RecentlyUsed[SeriesRelease] = RecentlyUsed(ANSWERS)

    def moments(self, pace: Pace) -> StepMoments:
        """When its steps are shown; how long a look takes is stated in public.

        Raises:
            InvalidParameter, InvalidQuery: its steps have no clock, or leave no time for a look.
        """
        terms, query = self._terms, self.question._question._query  # noqa: SLF001 (as above)
        calendar = terms.calendar
        steps = min(self.steps, FORESEEN * calendar.year) if calendar.open_ended else self.steps
        least = pace.first_step(totals=len(query.aggregates), cells=query.cells * steps)
        return StepMoments.of(terms.calendar, terms.settled, self.facts.publish, least=least)

    @property
    def steps(self) -> int:
        """How many it has in all."""
        return self._terms.calendar.steps

    def prepare(self) -> None:
        """Plans what is not opened yet, which takes a while; from public facts alone."""
        _ = self.standing()
        if self._planned is not None or self._opened is not None:
            return
        try:
            self._planned = self.question._plan(self.facts.prices)  # noqa: SLF001 (as above)
        except (InvalidParameter, InvalidQuery) as refusal:
            self._planned = refusal.with_traceback(None)

    def opened(self) -> OpenedSeries | None:
        """What is on record under its name, if it was opened: then it never changes.

        Raises:
            InvalidParameter, InvalidQuery: it was opened with something else than is declared.
        """
        if self._opened is None and (stored := self._budget.stored(self.key)) is not None:
            self._opened = self._checked(stored)
        if isinstance(self._opened, DiscreetError):
            raise type(self._opened)(str(self._opened))
        return self._opened

    def _checked(self, stored: bytes) -> OpenedSeries | DiscreetError:
        opening = Opening.of(stored)
        try:
            opening.check({**self.question._asked, "price": self.facts.price})  # noqa: SLF001 (as above)
            plan = self.question._plan(opening.price, opening.strategy)  # noqa: SLF001 (as above)
            opening.check({"noise": parameters(plan)})
        except (InvalidParameter, InvalidQuery) as refusal:
            return refusal.with_traceback(None)
        name = hashlib.sha256(stored).hexdigest()
        return OpenedSeries(name=name, opening=opening, stored=stored, plan=plan)

    def standing(self) -> tuple[OpenedSeries | None, DiscreetError | None]:
        """What is on record of it, and why it cannot go on, from public facts alone."""
        try:
            opened = self.opened()
        except (InvalidParameter, InvalidQuery) as refusal:
            return None, refusal
        if self._budget.standing != "open":
            cure = "unfreeze it; what was published stays, and steps that are over are published then."
            return opened, BudgetExceeded(expected("a budget that is open", "budget", self._budget.standing, cure))
        return opened, self._refused() if opened is None else None

    def _refused(self) -> DiscreetError | None:
        """Why it would not be opened, as far as that is known."""
        if not isinstance(self._planned, SeriesPlan):
            return self._planned
        plan = self._planned
        charge = charge_to(self._declaration, self.key, self.question.in_words, plan.charge, plan.event)
        if analyst_budget(self._dataset, self._budget, "", None).refuses(charge) is None:
            return None
        cure = "raise the allowance of the data set, state a lower price, or leave the series out."
        return BudgetExceeded(expected("a series that fits into what remains", "price", plan.charge, cure))

    def account(self, opened: OpenedSeries | None) -> dict[str, Any] | None:
        """Its noise, the error of each window and its cost, ready for JSON; none, while it is being planned."""
        if opened is not None:
            return {name: fact for name, fact in opened.opening.receipt.items() if name != "private"}
        if isinstance(self._planned, SeriesPlan):
            return series_receipt(self._planned, self._terms.stated)
        return None

    @property
    def terms(self) -> dict[str, Any]:
        """What was stated of its steps, ready for JSON."""
        return dict(self._terms.stated)

    def step_label(self, step: int) -> str:
        """The last day of a step; of hours, when the last one begins."""
        return str(self._terms.calendar.last(step))

    def on_record(self) -> int:
        """How many steps are on record in the ledger."""
        points = points_of(self._budget.points(self.key))
        return points[-1].end if points else 0

    def publish(self, steps: int) -> None:
        """Draws what is missing of the first steps, all of which are over; the first time, it is charged before."""
        self.question.release(through=self._terms.calendar.last(steps - 1), **self.facts.prices)

    def answer(self, steps: int) -> SeriesRelease:
        """The numbers of the first steps, all of which are on record."""
        opened = self._open()
        return self._answers.get((opened.name, steps), lambda: self._answer(opened, steps))

    def _answer(self, opened: OpenedSeries, steps: int) -> SeriesRelease:
        points = self._points(0, steps)
        return SeriesRelease(opened.plan, points, opened.opening.facts_of(points), CONFIDENCE, steps)

    def excerpt(self, after: int, steps: int) -> dict[str, Any]:
        """What was measured in the steps behind `after`, up to `steps`, as it is stored; the opening beside the first.

        A client makes the numbers of it. Which steps were drawn together is not told: it depends on how long looks
        took.
        """
        opening = b64encode(self._open().stored).decode() if not after else None
        points = self._points(after, steps)
        if not points:
            return {"opening": opening, "point": None}
        noisy = [np.concatenate(blocks) for blocks in zip(*(point.noisy for point in points), strict=True)]
        private = all(point.private for point in points)
        point = Point(points[0].first, self._declaration.version, private, noisy)
        return {"opening": opening, "point": b64encode(point.to_bytes()).decode()}

    def _open(self) -> OpenedSeries:
        opened = self.opened()
        if opened is None:
            raise LedgerError(expected("a series that was opened", "series", self.name, "wait until it is."))
        return opened

    def _points(self, after: int, steps: int) -> list[Point]:
        """What is on record of some steps, and nothing of others."""
        found = []
        for point in points_of(self._budget.points(self.key)):
            first, end = max(point.first, after), min(point.end, steps)
            if first < end:
                noisy = [block[first - point.first : end - point.first] for block in point.noisy]
                found.append(Point(first, point.version, point.private, noisy))
        return found
