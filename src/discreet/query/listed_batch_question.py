"""A batch of which all keys are listed and all limits and bounds stated: one plan for all of its tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from discreet.errors import InvalidQuery, printable
from discreet.planning.batch_planner import BatchPlan, BatchQuery
from discreet.planning.first_look_budget import NOTHING_TO_FIND
from discreet.planning.joint_batch import price_together
from discreet.planning.table_names import Name
from discreet.query.batch_question import BatchQuestion
from discreet.query.batch_targets import BatchTargets, batch_targets, cheapest, wanted_tables
from discreet.query.explain_batch import explain_batch
from discreet.query.explanation import Explanation


@dataclass(frozen=True, eq=False, repr=False)
class ListedBatchQuestion(BatchQuestion):
    """Several tables of the same cells, all of them known beforehand.

    >>> from discreet.testing import people
    >>> cube = people().group_by("plan", cube=True, max_groups=1, max_rows=5).agg(n=lambda t: t.count())
    >>> cube.query.names
    ((), ('plan',))
    """

    query: BatchQuery
    """What is asked, for the rooms above."""

    @property
    def planned(self) -> Sequence[BatchQuery]:
        """The tables, which have one plan."""
        return (self.query,)

    @property
    def names(self) -> tuple[Name, ...]:
        """The names of the tables, in the order of the answer."""
        return self.query.names

    def __repr__(self) -> str:
        columns = ", ".join(dict.fromkeys(a.name for table in self.query.tables for a in table.query.aggregates))
        name = self._source.declaration.title
        return printable(f"<batch about {name!r}: {len(self.query.tables)} tables, {columns}>")

    def _priced(self, *, first_look: object = None, **price: Any) -> BatchPlan:
        """The plan at a stated price."""
        if first_look is not None:
            raise InvalidQuery(NOTHING_TO_FIND)
        return price_together(self.query, **price)

    def _targets(self, within: object, *, relative: bool, assume: Mapping[str, int] | None) -> BatchTargets:
        """The wanted errors, in the units of each column."""
        return batch_targets(self.query, within, relative=relative, assume=assume)

    def _cheapest(
        self, targets: BatchTargets, delta: object, weights: Mapping[Any, object] | None, confidence: float
    ) -> BatchPlan:
        """The plan of the smallest epsilon that reaches the targets, of all that there are."""
        return cheapest(wanted_tables(self.query, targets, weights, confidence), delta)

    def _account(self, plan: BatchPlan, confidence: float, assume: Mapping[str, int] | None) -> Explanation:
        """All that is known of a plan."""
        return explain_batch(plan, self._source.statement(plan.cells), confidence=confidence, assume=assume)
