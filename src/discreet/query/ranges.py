"""A histogram that is asked for all sums of neighboring bins at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from discreet.answers.ranges_release import RangesRelease
from discreet.errors import InvalidParameter, printable
from discreet.exact.amounts import positive
from discreet.exact.given_values import flag
from discreet.planning.batch_planner import BatchPlan, BatchQuery, BatchTable
from discreet.planning.planner import level
from discreet.query.batch_question import BatchQuestion, check_cells
from discreet.query.batch_targets import cheapest
from discreet.query.explain_batch import WORST, explain_batch, range_errors
from discreet.query.explanation import Explanation
from discreet.query.question import Question
from discreet.query.question_documents import document_of
from discreet.query.recorded_verbs import RecordedRanges
from discreet.query.source import ReleaseCall
from discreet.query.unreleased import Unreleased
from discreet.workloads.cell_tables import CellTable


def ranges_of(question: Question, edges: tuple[Any, ...], asked: RecordedRanges) -> RangesQuestion:
    """All ranges of the bins of a histogram."""
    query = question._query
    check_cells(query, (query.cells,), [(0,)])
    table = CellTable((0,), (None,))
    bins = BatchTable(name="bins", query=query, table=table, places=(0,))
    batch = BatchQuery(cells=query, sizes=(query.cells,), tables=(bins,), ranges=True)
    return RangesQuestion(BatchQuestion(question._source, batch), edges, asked)


@dataclass(frozen=True, eq=False, repr=False)
class RangesQuestion(Unreleased):
    """The rows in any range of neighboring bins of a column: one charge for all of them.

    >>> from discreet.testing import people
    >>> people().histogram("age", bins=11, ranges=True, max_groups=1, max_rows=5)
    <all ranges of 11 bins, about 'people'>
    """

    _batch: BatchQuestion
    _edges: tuple[Any, ...]
    _asked: RecordedRanges

    def __repr__(self) -> str:
        name = self._batch.source.declaration.title
        return printable(f"<all ranges of {len(self._edges) - 1:,} bins, about {name!r}>")

    def document(self) -> dict[str, Any]:
        """What is asked, ready for JSON; see ``Question.document``.

        >>> from discreet.testing import people
        >>> question = people().histogram("age", bins=2, ranges=True, max_groups=1, max_rows=5)
        >>> question.document()["ranges"]["edges"]
        [0, 55, 110]
        """
        return document_of(self._asked)

    def plan(
        self,
        *,
        epsilon: object = None,
        delta: object = 0,
        rho: object = None,
        within: object = None,
        confidence: float = 0.95,
    ) -> BatchPlan:
        """The priced question: what would be measured and charged. Arguments as of `release`."""
        if within is None:
            return self._batch.plan(epsilon=epsilon, delta=delta, rho=rho)
        if (epsilon, rho) != (None, None):
            named = "epsilon" if rho is None else "rho"
            raise InvalidParameter(f"Expected {named} or within, got both.\nHint: `within` finds the epsilon.")
        target, wanted = float(positive("within", within)), level(confidence)
        first = self._batch.plan(epsilon=1, delta=delta)

        def reaches(plan: BatchPlan) -> bool:
            return range_errors(plan, wanted)[WORST].amount <= target

        return cheapest(self._batch.query, first, reaches, delta, within)

    def explain(
        self,
        *,
        epsilon: object = None,
        delta: object = 0,
        rho: object = None,
        within: object = None,
        confidence: float = 0.95,
    ) -> Explanation:
        """The strategy, the noise and the error of a bin, of ranges on average, and of the worst range; without reading
        a row.

        >>> from discreet.testing import people
        >>> question = people().histogram("age", bins=11, ranges=True, max_groups=1, max_rows=5)
        >>> sorted(question.explain(epsilon=1)["ranges"])
        ['on average', 'worst']
        """
        plan = self.plan(epsilon=epsilon, delta=delta, rho=rho, within=within, confidence=confidence)
        statement = self._batch.source.statement(plan.cells)
        facts = explain_batch(plan, statement, confidence=level(confidence), assume=None).facts
        return Explanation({**facts, "ranges": range_errors(plan, level(confidence))})

    def release(
        self,
        *,
        epsilon: object = None,
        delta: object = 0,
        rho: object = None,
        within: object = None,
        confidence: float = 0.95,
        fresh: bool = False,
    ) -> RangesRelease:
        """The noisy bins and all that follows from them, charged before a row is read; arguments and errors as of
        ``Question.release``, but `within`: by how many rows the worst of all ranges may be off, for which the smallest
        epsilon is found.
        """
        wanted = level(confidence)
        flag("fresh", fresh)
        plan = self.plan(epsilon=epsilon, delta=delta, rho=rho, within=within, confidence=confidence)
        worst = None if within is None else {WORST: within}
        price = {"epsilon": epsilon, "delta": delta, "rho": rho, "within": worst}
        call = ReleaseCall(document=self.document, price=price)
        found = self._batch.source.release_batch(plan, fresh=fresh, confidence=wanted, call=call)
        return RangesRelease(found, self._edges, wanted)
