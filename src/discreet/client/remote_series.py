"""A series that a service publishes: its terms, and all its numbers as an answer, read by the plan that is made here.

Claim
    The numbers are made of what was measured and its opening, whose receipt states the very plan by which they are
    read: the same charge, limits, groups, steps, noise and scales.
Requires
    A service that is what it says it is, which TLS sees to.
Relies on
    `series.explain_series`, which says all of a plan that measured numbers are read by. `remote_table.check_receipt`.
Proof
    The question is made of the public declaration and of what is declared of the series, by the code that makes it
    there. What the receipt of the opening states is compared with the plan of this question before numbers are read.
Rounding
    None.
Source
    None.
Mutant
    openings-unread: the plan of the opening is not compared with the own one; killed by
    test_numbers_of_another_plan_are_refused.
"""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Mapping
from typing import Any

from discreet.answers.release import Release
from discreet.client.remote_table import check_receipt, checked_receipt
from discreet.client.service_bodies import malformed, mapping, reading
from discreet.client.service_connection import ServiceConnection
from discreet.errors import printable
from discreet.planning.planner import level
from discreet.query.table import PrivateTable
from discreet.series.declared_series import declared_series
from discreet.series.explain_series import series_receipt
from discreet.series.series_record import Opening, Point, points_of
from discreet.series.series_release import SeriesRelease

CONFIDENCE = 0.95
SERIES: Mapping[str, type | tuple[type, ...]] = {"name": str, "published": int, "steps": int, "declared": dict}
PAGE: Mapping[str, type | tuple[type, ...]] = {
    **dict.fromkeys(("opening", "point"), (str, type(None))),
    "next": (int, type(None)),
}
"""What is read of a series and of a page of its numbers."""


class RemoteSeries:
    """One series of a data set that is elsewhere, as it was when it was asked for."""

    def __init__(self, connection: ServiceConnection, table: PrivateTable, facts: Mapping[str, Any]) -> None:
        self._connection = connection
        self._table = table
        self.facts = dict(facts)
        """What its service tells: the declaration, the price, the errors, the state, the next public moment."""
        self._place = f"/datasets/{table.declaration.name}/series/{facts['name']}/numbers"
        self._opening: bytes | None = None
        self._points: list[bytes] = []

    def __repr__(self) -> str:
        of, told = self._table.declaration.name, self.facts
        return printable(f"<series {told['name']!r} of {of!r}: {told['published']:,} of {told['steps']:,} steps>")

    @property
    def latest(self) -> Release:
        """The numbers of the last published step."""
        return self.release().latest

    def release(self, *, confidence: float = CONFIDENCE) -> SeriesRelease:
        """All numbers that are published by now; nothing is charged, and what was fetched before is not fetched again.

        Raises:
            ServiceRefused: nothing is published yet, or the series was declared anew.
            DiscreetError: it was opened with another plan than its declaration gives.
        """
        wanted = level(confidence)
        points = self._fetched()
        with reading("the numbers of a series"):
            opening = Opening.of(self._opening or b"")
            declared = self.facts["declared"]
            options, told = dict(declared["options"]), {"name": self.facts["name"], "dialect": declared["dialect"]}
            called = self._table.declaration.name
            question = declared_series(self._table, declared["statement"], options, called=called, **told)
            plan = question._plan(opening.price, opening.strategy)  # noqa: SLF001 (a question of this library)
            terms = question._terms.stated  # noqa: SLF001 (as above)
            receipt, _ = checked_receipt(opening.receipt), mapping("an opening", opening.asked)
        opening.check(terms)
        check_receipt(series_receipt(plan, terms), receipt)
        with reading("the numbers of a series"):
            return SeriesRelease(plan, points, opening.facts_of(points), wanted, points[-1].end)

    def _fetched(self) -> list[Point]:
        """What was measured, page by page from the step on that is not here yet."""
        points = points_of(self._points)
        after: int | None = points[-1].end if points else 0
        opening, fetched = self._opening, list(self._points)
        while after is not None:
            sent = self._connection.get(self._place, format="stored", after=after)
            with reading("a page of numbers"):
                page = mapping("a page of numbers", sent, **PAGE)
                if page["opening"] is not None:
                    opening = b64decode(page["opening"], validate=True)
                if page["point"] is not None:
                    fetched.append(b64decode(page["point"], validate=True))
                    points_of(fetched)
                if page["next"] is not None and page["next"] <= after:
                    raise malformed("pages that follow each other")
                after = page["next"]
        self._opening, self._points = opening, fetched
        return points_of(self._points)
