"""A batch in which some questions leave keys, limits or bounds open: these stand beside the listed tables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NoReturn

from discreet.errors import InvalidParameter, expected, printable
from discreet.planning.batch_planner import Name
from discreet.planning.mixed_batch_plan import MixedBatchPlan, MixedBatchQuery, price_mixed_batch
from discreet.query.batch_question import BatchQuestion
from discreet.query.explain_mixed_batch import explain_mixed_batch
from discreet.query.explanation import Explanation


@dataclass(frozen=True, eq=False, repr=False)
class MixedBatchQuestion(BatchQuestion):
    """Several questions for one charge, of which some have to find keys, limits or bounds first.

    The listed tables are planned together, as a batch of their own. Each other question has a part of the price for
    itself: with even weights, that of one table; otherwise the cube root of its weight is its part, or, at a price in
    rho, the square root. Its cells agree with no other table. There is no `within`: how good what is found will be
    depends on the rows.

    >>> import discreet as dp
    >>> from discreet.testing import people
    >>> table = people()
    >>> by_plan = table.group_by("plan", keys=dp.UNKNOWN, max_groups=1).agg(n=lambda t: t.count())
    >>> both = dp.batch(by_plan=by_plan, all_ages=table.count(), max_groups=1, max_rows=5)
    >>> both
    <batch about 'people': 2 tables, keys, limits or bounds to be found in by_plan>
    >>> both.names
    ('by_plan', 'all_ages')
    >>> both.explain(epsilon=1, delta=1e-6)["parts"]
    {'listed tables': '0.5', 'by_plan': '0.5'}
    """

    _mixed: MixedBatchQuery = field(kw_only=True)

    @property
    def names(self) -> tuple[Name, ...]:
        """The names of the tables, in the order of the answer."""
        return self._mixed.names

    @property
    def mixed(self) -> MixedBatchQuery:
        """What is asked, for the rooms above: `query` is of the listed tables alone."""
        return self._mixed

    def __repr__(self) -> str:
        name, found = self._source.declaration.title, ", ".join(self._mixed.open)
        return printable(
            f"<batch about {name!r}: {len(self.names)} tables, keys, limits or bounds to be found in {found}>"
        )

    def plan(self, **stated: Any) -> MixedBatchPlan:  # type: ignore[override]  # its parts are plans of two kinds
        """The priced batch, with stand-ins for what is open; arguments as of a batch's `release`."""
        found: Any = super().plan(**stated)
        priced: MixedBatchPlan = found
        return priced

    def _priced(self, **price: Any) -> MixedBatchPlan:  # type: ignore[override]  # as above
        """The plan at a stated price, with stand-ins for what is open."""
        return price_mixed_batch(self._mixed, **price)

    def _targets(self, within: object, *, relative: bool, assume: Mapping[str, int] | None) -> NoReturn:
        """Refused: how good what is found will be depends on the rows."""
        del relative, assume
        cure = "state a price, epsilon=...; .explain(epsilon=...) shows the errors."
        raise InvalidParameter(expected("a price where something is to be found", "within", within, cure))

    def _account(  # type: ignore[override]  # as above
        self, plan: MixedBatchPlan, confidence: float, assume: Mapping[str, int] | None
    ) -> Explanation:
        """The part of the price, the noise and the error of each table, and the first looks."""
        texts = [self._source.statement(plan.listed.cells), *map(self._source.statement, plan.open.values())]
        return explain_mixed_batch(plan, "\n".join(texts), confidence=confidence, assume=assume)
