"""A histogram that is asked for all sums of neighboring bins at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from discreet.answers.ranges_release import RangesRelease
from discreet.errors import printable
from discreet.planning.batch_planner import BatchPlan, BatchQuery, BatchTable
from discreet.planning.planner import level
from discreet.query.batch_question import BatchQuestion, check_cells
from discreet.query.explain_batch import range_errors
from discreet.query.explanation import Explanation
from discreet.query.question import Question
from discreet.query.unreleased import Unreleased
from discreet.workloads.cell_tables import CellTable


def ranges_of(question: Question, edges: tuple[Any, ...]) -> RangesQuestion:
    """All ranges of the bins of a histogram."""
    query = question._query
    check_cells(query, (query.cells,), [(0,)])
    table = CellTable((0,), (None,))
    asked = BatchTable(name="bins", query=query, table=table, places=(0,))
    batch = BatchQuery(cells=query, sizes=(query.cells,), tables=(asked,), ranges=True)
    return RangesQuestion(BatchQuestion(question._source, batch), edges)


@dataclass(frozen=True, eq=False, repr=False)
class RangesQuestion(Unreleased):
    """The rows in any range of neighboring bins of a column: one charge for all of them.

    >>> from discreet.testing import people
    >>> people().histogram("age", bins=11, ranges=True, max_groups=1, max_rows=5)
    <all ranges of 11 bins, about 'people'>
    """

    _batch: BatchQuestion
    _edges: tuple[Any, ...]

    def __repr__(self) -> str:
        name = self._batch.source.declaration.name
        return printable(f"<all ranges of {len(self._edges) - 1:,} bins, about {name!r}>")

    def plan(self, *, epsilon: object = None, delta: object = 0, rho: object = None) -> BatchPlan:
        """The priced question: what would be measured and charged."""
        return self._batch.plan(epsilon=epsilon, delta=delta, rho=rho)

    def explain(
        self, *, epsilon: object = None, delta: object = 0, rho: object = None, confidence: float = 0.95
    ) -> Explanation:
        """The strategy, the noise and the error of a bin, of ranges on average, and of the worst range; without reading
        a row.

        >>> from discreet.testing import people
        >>> question = people().histogram("age", bins=11, ranges=True, max_groups=1, max_rows=5)
        >>> sorted(question.explain(epsilon=1)["ranges"])
        ['on average', 'worst']
        """
        plan = self.plan(epsilon=epsilon, delta=delta, rho=rho)
        facts = self._batch.explain(epsilon=epsilon, delta=delta, rho=rho, confidence=confidence).facts
        return Explanation({**facts, "ranges": range_errors(plan, level(confidence))})

    def release(
        self,
        *,
        epsilon: object = None,
        delta: object = 0,
        rho: object = None,
        confidence: float = 0.95,
        fresh: bool = False,
    ) -> RangesRelease:
        """The noisy bins and all that follows from them, charged before a row is read; arguments and errors as of
        ``Question.release``.
        """
        found = self._batch.release(epsilon=epsilon, delta=delta, rho=rho, confidence=confidence, fresh=fresh)
        return RangesRelease(found, self._edges, level(confidence))
