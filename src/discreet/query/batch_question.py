"""A batch: several tables that are asked for together, ready to be explained or released for one charge."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from discreet.errors import InvalidParameter, InvalidQuery, expected, nearest, printable
from discreet.exact.amounts import fraction, positive
from discreet.exact.given_values import flag, in_memory
from discreet.mechanisms.calibrate_epsilon import smallest_epsilon
from discreet.planning.batch_planner import (
    BatchPlan,
    BatchQuery,
    Name,
    plan_batch,
    price_batch,
    table_named,
)
from discreet.planning.contribution_limits import check_moved
from discreet.planning.forms import DISTINCT, UNITS
from discreet.planning.linear_error import half_width
from discreet.planning.noise_laws import Law
from discreet.planning.plan import Query
from discreet.planning.planner import LARGEST_EPSILON, level, offers_of, stated_price
from discreet.planning.unspecified import open_values
from discreet.plots.lines import lines_figure
from discreet.plots.saving import kept
from discreet.query.batch_tradeoffs import trade_offs
from discreet.query.explain import rows_of
from discreet.query.explain_batch import explain_batch, label
from discreet.query.explanation import Explanation
from discreet.query.question_documents import document_of
from discreet.query.recorded_verbs import RecordedBatch, RecordedQuestion
from discreet.query.source import ReleaseCall, Source
from discreet.query.unreleased import Unreleased
from discreet.workloads.cell_tables import MOST_CELLS, Axes

if TYPE_CHECKING:
    import pyarrow as pa
    from matplotlib.figure import Figure

    from discreet.answers.batch_release import BatchRelease

EPSILONS = (0.1, 0.2, 0.5, 1, 2, 5, 10)
MOST_CURVES = 7


def check_cells(query: Query, sizes: Sequence[int], asked: Sequence[Axes]) -> None:
    """Refuses what no batch can answer, before anything is priced: tables over axes of these sizes."""
    check_moved(query.declaration, "batch")
    if math.prod(sizes) > MOST_CELLS:
        cells = sum(math.prod(sizes[axis] for axis in axes) for axes in asked)
        if cells > MOST_CELLS:
            cure = "ask for fewer attributes at a time, group more coarsely, or make several releases."
            raise InvalidQuery(expected(f"at most {MOST_CELLS:,} cells in all tables", "cells", f"{cells:,}", cure))
    if query.limits.auto or open_values(query):
        cure = "find them by a question of their own, and state them in this one."
        raise InvalidQuery(expected("limits and bounds that are stated", "batch", '"auto"', cure))
    for a in query.aggregates:
        if a.statistic.ranked or a.statistic.form is DISTINCT:
            cure = "ask for it by a question of its own; a batch has counts, sums, means, variances and lines."
            raise InvalidQuery(expected("columns that add up", a.name, a.statistic.name, cure))
        if a.statistic.form is UNITS and query.limits.max_groups != 1:
            cure = "with max_groups=1 each unit counts once in all, in parts where it is in several cells."
            raise InvalidQuery(expected("max_groups=1 beside a number of units", "max_groups", "another", cure))


def cheapest(
    batch: BatchQuery, first: BatchPlan, reaches: Callable[[BatchPlan], bool], delta: object, within: object
) -> BatchPlan:
    """Of a plan and its runners-up, each at the smallest epsilon that reaches what is wanted, the cheapest."""
    found = [_smallest(batch, plan, reaches, delta, within) for plan in (first, *first.runners_up)]
    return min(found, key=lambda plan: plan.charge.epsilon)


def _smallest(
    batch: BatchQuery, plan: BatchPlan, reaches: Callable[[BatchPlan], bool], delta: object, within: object
) -> BatchPlan:
    """The plan with this strategy at the smallest epsilon that reaches what is wanted."""

    def at(epsilon: Fraction) -> BatchPlan:
        extra = delta if plan.law is Law.GAUSSIAN else 0
        offer = offers_of(stated_price(epsilon=epsilon, delta=extra))[-1]
        return plan_batch(batch, offer, plan.strategy)

    def meets(epsilon: Fraction) -> bool:
        try:
            return reaches(at(epsilon))
        except InvalidParameter:  # so little epsilon that the noise would leave 64 bits
            return False

    return at(smallest_epsilon(meets, within, least=1 / LARGEST_EPSILON, largest=LARGEST_EPSILON))


@dataclass(frozen=True, eq=False, repr=False)
class BatchQuestion(Unreleased):
    """Several tables about one protected table, planned together. `explain` reads and spends nothing; `release` charges
    once and answers all.

    >>> from discreet.testing import people
    >>> cube = people().group_by("plan", cube=True, max_groups=1, max_rows=5).agg(n=lambda t: t.count())
    >>> cube
    <batch about 'people': 2 tables, n>
    >>> cube.explain(epsilon=1)["tables"]
    ['all', 'plan']
    """

    _source: Source
    _batch: BatchQuery
    _asked: RecordedQuestion | RecordedBatch | None = None
    """What a document says of it."""

    @property
    def query(self) -> BatchQuery:
        """What is asked, for the rooms above."""
        return self._batch

    @property
    def source(self) -> Source:
        """Whom it is asked, for the rooms above."""
        return self._source

    @property
    def names(self) -> tuple[Name, ...]:
        """The names of the tables, in the order of the answer."""
        return self._batch.names

    def __repr__(self) -> str:
        columns = ", ".join(dict.fromkeys(a.name for table in self._batch.tables for a in table.query.aggregates))
        name = self._source.declaration.title
        return printable(f"<batch about {name!r}: {len(self._batch.tables)} tables, {columns}>")

    def document(self) -> dict[str, Any]:
        """What is asked, ready for JSON; see ``Question.document``.

        >>> from discreet.testing import people
        >>> cube = people().group_by("plan", cube=True, max_groups=1, max_rows=5).agg(n=lambda t: t.count())
        >>> cube.document()["question"]["by"]["sets"]
        [[], ['plan']]
        """
        return document_of(self._asked)

    def plan(
        self,
        *,
        epsilon: object = None,
        delta: object = 0,
        rho: object = None,
        within: Mapping[Any, object] | None = None,
        weights: Mapping[Any, object] | None = None,
        confidence: float = 0.95,
    ) -> BatchPlan:
        """The priced batch: what would be measured and charged. Arguments as of `release`."""
        if within is None:
            return price_batch(self._batch, epsilon=epsilon, delta=delta, rho=rho, weights=weights)
        if (epsilon, rho) != (None, None):
            named = "epsilon" if rho is None else "rho"
            raise InvalidParameter(f"Expected {named} or within, got both.\nHint: `within` finds the epsilon.")
        return self._cheapest(within, delta, weights, level(confidence))

    def _cheapest(
        self, within: object, delta: object, weights: Mapping[Any, object] | None, confidence: float
    ) -> BatchPlan:
        """The plan of the smallest epsilon that reaches the targets, of all that there are."""
        targets = self._targets(within)
        own = {name: 1 / min(stated.values()) ** 2 for name, stated in targets.items()}
        scale = max(own.values())
        stated = {name: weight / scale for name, weight in own.items()} if weights is None else weights
        first = price_batch(self._batch, epsilon=1, delta=delta, weights=stated)
        for place, name in enumerate(self._batch.names):
            for column in targets.get(name, ()):
                if first.column(place, column) is None:
                    cure = "give epsilon, and look at .explain(epsilon=..., assume={'rows': n})."
                    raise InvalidQuery(expected("a column whose error is known beforehand", "within", column, cure))

        def reaches(plan: BatchPlan) -> bool:
            return all(
                half_width(own, column, confidence) <= targets[name][column.aggregate.name]
                for name, own in zip(self._batch.names, plan.tables, strict=True)
                for column in own.columns
                if column.aggregate.name in targets.get(name, ())
            )

        return cheapest(self._batch, first, reaches, delta, within)

    def trade_offs(
        self,
        *,
        epsilon: object = None,
        delta: object = 0,
        rho: object = None,
        weights: Mapping[Any, object] | None = None,
        confidence: float = 0.95,
        assume: Mapping[str, int] | None = None,
    ) -> pa.Table:
        """What four times the weight of each table, in turn, does to it and to the others; nothing is spent.

        Returns:
            Columns ``table``, ``plus_minus``, ``plus_minus_if_heavier`` (of the table's worst cell), and
            ``others_grow_by``, the part by which another table's error grows at most.

        >>> from discreet.testing import people
        >>> people = people()
        >>> groups = people.group_by("plan", old=people.age > 40, cube=True, max_groups=1, max_rows=5)
        >>> groups.agg(n=lambda t: t.count()).trade_offs(epsilon=1)["table"].to_pylist()
        ['all', 'plan', 'old', 'plan, old']
        """
        wanted, rows = level(confidence), rows_of(assume)

        def priced(own: Mapping[Any, object]) -> BatchPlan:
            return price_batch(self._batch, epsilon=epsilon, delta=delta, rho=rho, weights=own)

        return trade_offs(self._batch, priced, weights, confidence=wanted, rows=rows)

    def _targets(self, within: object) -> dict[Name, dict[str, Fraction]]:
        """The wanted errors by table and column, checked."""
        cure = "write within={'by_plan': 20}, or within={'by_plan': {'n': 20}}: off by at most 20."
        if not isinstance(within, Mapping) or not within:
            raise InvalidParameter(expected("a wanted error for some tables", "within", within, cure))
        tables = {table.name: table for table in self._batch.tables}
        found: dict[Name, dict[str, Fraction]] = {}
        for stated, target in within.items():
            name = table_named(stated, tables)
            if name is None:
                known = nearest(str(stated), [label(one) for one in tables])
                raise InvalidParameter(expected("tables of the batch", "within", stated, known))
            columns = [a.name for a in tables[name].query.aggregates]
            own = target if isinstance(target, Mapping) else dict.fromkeys(columns, target)
            if not own:
                raise InvalidParameter(expected("a wanted error for some columns", f"within[{stated!r}]", own, cure))
            if unknown := [column for column in own if column not in columns]:
                known = nearest(str(unknown[0]), columns)
                raise InvalidParameter(expected("columns of the table", "within", unknown[0], known))
            found[name] = {column: positive(f"within[{stated!r}]", one) for column, one in own.items()}
        return found

    def explain(
        self,
        *,
        epsilon: object = None,
        delta: object = 0,
        rho: object = None,
        within: Mapping[Any, object] | None = None,
        weights: Mapping[Any, object] | None = None,
        confidence: float = 0.95,
        assume: Mapping[str, int] | None = None,
    ) -> Explanation:
        """The strategy, the noise, the error of each table and the runners-up, without reading a row.

        >>> from discreet.testing import people
        >>> cube = people().group_by("plan", cube=True, max_groups=1, max_rows=5).agg(n=lambda t: t.count())
        >>> cube.explain(epsilon=1)["strategy"]
        'cells, added up'
        """
        wanted = level(confidence)
        plan = self.plan(epsilon=epsilon, delta=delta, rho=rho, within=within, weights=weights, confidence=confidence)
        return explain_batch(plan, self._source.statement(plan.cells), confidence=wanted, assume=assume)

    def plot(
        self,
        *,
        epsilons: Sequence[object] = EPSILONS,
        delta: object = 0,
        weights: Mapping[Any, object] | None = None,
        assume: Mapping[str, int] | None = None,
        ax: object = None,
        path: str | os.PathLike[str] | None = None,
    ) -> Figure:
        """A picture of the error of each table (of its worst column and cell) against epsilon; nothing is spent.

        Args:
            epsilons: those to draw, in rising order.
            delta: beside each, for Gaussian noise.
            weights: by table, as of `release`.
            assume: ``{"rows": n}``, for errors that depend on the rows of a cell.
            ax: the caller's axes to draw in.
            path: saves the figure.

        >>> from discreet.testing import people
        >>> cube = people().group_by("plan", cube=True, max_groups=1, max_rows=5).agg(n=lambda t: t.count())
        >>> len(cube.plot().axes[0].lines)
        2
        """
        if not in_memory(epsilons) or not epsilons:
            raise InvalidParameter(expected("a list of epsilons", "epsilons", epsilons, "write epsilons=[0.1, 1, 10]."))
        totals = [positive("epsilons", one) for one in epsilons]
        curves: dict[str, list[float]] = {label(name): [] for name in self.names[:MOST_CURVES]}
        for epsilon in totals:
            found = self.explain(epsilon=epsilon, delta=delta, weights=weights, assume=assume).accuracy
            for name, errors in curves.items():
                errors.append(max(one.amount for column, one in found.items() if column.startswith(f"{name}: ")))
        left = len(self.names) - len(curves)
        caption = "95 % of the answers are off by at most so much" + (f"; {left} tables are left out" if left else "")
        x_label, y_label = "epsilon of the batch", "error of a cell"
        shown = list(map(float, totals))
        return kept(lines_figure(shown, curves, x_label=x_label, y_label=y_label, caption=caption, ax=ax), path)

    def release(
        self,
        *,
        epsilon: object = None,
        delta: object = 0,
        rho: object = None,
        within: Mapping[Any, object] | None = None,
        weights: Mapping[Any, object] | None = None,
        confidence: float = 0.95,
        fresh: bool = False,
    ) -> BatchRelease:
        """All tables, noisy and consistent, charged once before a row is read.

        Args:
            epsilon: the total for all tables, as of ``Question.release``.
            delta: beside it, for Gaussian noise.
            rho: in place of both, of zero-concentrated differential privacy.
            within: instead, by table, by how much a cell of it may be off: the smallest epsilon is found.
            weights: how much the squared error of a cell matters, by table; 1 for those that are left out.
            confidence: of the intervals, and of `within`.
            fresh: draws anew, and pays, where the same batch was released before.

        Raises:
            BudgetExceeded: it does not fit; nothing is spent.
            InvalidParameter, InvalidQuery: nothing is spent.
            EngineError: the charge stays spent.
        """
        wanted = level(confidence)
        flag("fresh", fresh)
        fraction("delta", delta)
        plan = self.plan(epsilon=epsilon, delta=delta, rho=rho, within=within, weights=weights, confidence=confidence)
        price = {"epsilon": epsilon, "delta": delta, "rho": rho, "within": within}
        call = ReleaseCall(document=self.document, price=price, weights=weights)
        return self._source.release_batch(plan, fresh=fresh, confidence=wanted, call=call)
