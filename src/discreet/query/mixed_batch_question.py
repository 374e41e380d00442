"""A batch with all ranges of bins, or with keys, limits or bounds to be found, beside listed tables or without any."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from discreet.errors import printable
from discreet.planning.batch_planner import BatchQuery
from discreet.planning.mixed_batch_plan import MixedBatchPlan, MixedBatchQuery, price_mixed_batch
from discreet.planning.table_names import Name
from discreet.query.batch_question import BatchQuestion
from discreet.query.explain_mixed_batch import explain_mixed_batch, runners_up
from discreet.query.explanation import Explanation
from discreet.query.mixed_batch_targets import MixedBatchTargets, cheapest_mixed, mixed_batch_targets

if TYPE_CHECKING:
    from discreet.answers.mixed_batch_release import MixedBatchRelease


@dataclass(frozen=True, eq=False, repr=False)
class MixedBatchQuestion(BatchQuestion):
    """Several questions for one charge, of which some have noise of their own: those about ranges, and those which have
    to find keys, limits or bounds first.

    The listed tables, if there are any, are planned together, as a batch of their own. Each other question has a part
    of the price for itself: with even weights, that of one table; otherwise the cube root of its weight is its part,
    or, at a price in rho, the square root. Its cells agree with no other table. Where something is to be found there is
    no `within`: how good what is found will be depends on the rows. Elsewhere, `within` of ranges is of the worst of
    them.

    >>> import discreet as dp
    >>> from discreet.testing import people
    >>> table = people()
    >>> by_plan = table.group_by("plan", keys=dp.UNKNOWN, max_groups=1).agg(n=lambda t: t.count())
    >>> ages = table.histogram("age", bins=11, ranges=True, max_groups=1, max_rows=5)
    >>> both = dp.batch(by_plan=by_plan, by_age=ages, all_ages=table.count(), max_groups=1, max_rows=5)
    >>> both
    <batch about 'people': 3 tables, ranges of by_age, keys, limits or bounds to be found in by_plan>
    >>> both.names
    ('by_plan', 'by_age', 'all_ages')
    >>> both.explain(epsilon=1, delta=1e-6)["parts"]
    {'listed tables': '0.333333', 'by_age': '0.333333', 'by_plan': '0.333333'}
    """

    mixed: MixedBatchQuery
    """What is asked, for the rooms above."""

    @property
    def names(self) -> tuple[Name, ...]:
        """The names of the tables, in the order of the answer."""
        return self.mixed.names

    @property
    def planned(self) -> Sequence[BatchQuery]:
        """The listed tables, if there are any, and the bins of each question about ranges."""
        return tuple(self.mixed.planned.values())

    @property
    def _is_open(self) -> bool:
        return bool(self.mixed.open)

    def __repr__(self) -> str:
        asked, name = self.mixed, self._source.declaration.title
        ranges = f", ranges of {', '.join(asked.ranges)}" if asked.ranges else ""
        found = f", keys, limits or bounds to be found in {', '.join(asked.open)}" if asked.open else ""
        return printable(f"<batch about {name!r}: {len(self.names)} tables{ranges}{found}>")

    def plan(self, **stated: Any) -> MixedBatchPlan:  # type: ignore[override]  # its parts are plans of two kinds
        """The priced batch, with stand-ins for what is open; arguments as of a batch's `release`."""
        found: Any = super().plan(**stated)
        priced: MixedBatchPlan = found
        return priced

    def _priced(self, **price: Any) -> MixedBatchPlan:  # type: ignore[override]  # as above
        """The plan at a stated price, with stand-ins for what is open."""
        return price_mixed_batch(self.mixed, **price)

    def _targets(  # type: ignore[override]  # as above
        self, within: object, *, relative: bool, assume: Mapping[str, int] | None
    ) -> MixedBatchTargets:
        """The wanted errors; refused where something is open: how good what is found will be depends on the rows."""
        return mixed_batch_targets(self.mixed, within, relative=relative, assume=assume)

    def _cheapest(  # type: ignore[override]  # as above
        self, targets: MixedBatchTargets, delta: object, weights: Mapping[Any, object] | None, confidence: float
    ) -> MixedBatchPlan:
        """Each part at the smallest epsilon that reaches what is wanted of it."""
        return cheapest_mixed(self.mixed, targets, delta, weights, confidence)

    def _account(  # type: ignore[override]  # as above
        self, plan: MixedBatchPlan, confidence: float, assume: Mapping[str, int] | None
    ) -> Explanation:
        """The part of the price, the noise and the error of each table, the first looks, and what else was priced."""
        planned = (self._source.statement(one.cells) for one in plan.planned.values())
        texts = [*planned, *map(self._source.statement, plan.open.values())]
        found = explain_mixed_batch(plan, "\n".join(texts), confidence=confidence, assume=assume).facts
        return Explanation({**found, "also priced": runners_up(plan, confidence=confidence, assume=assume)})

    def release(self, **stated: Any) -> MixedBatchRelease:
        """All tables and ranges, noisy, charged once before a row is read; arguments and errors as of
        ``BatchQuestion.release``.
        """
        found: Any = super().release(**stated)
        answer: MixedBatchRelease = found
        return answer
