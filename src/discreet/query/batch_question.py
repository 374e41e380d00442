"""A batch: several tables that are asked for together, ready to be explained or released for one charge."""

from __future__ import annotations

import math
import os
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from discreet.errors import InvalidParameter, InvalidQuery, expected
from discreet.exact.amounts import fraction
from discreet.exact.given_values import flag
from discreet.planning.aggregates import Aggregate
from discreet.planning.batch_planner import BatchPlan, BatchQuery
from discreet.planning.contribution_limits import check_moved
from discreet.planning.first_look_budget import NOTHING_TO_FIND
from discreet.planning.forms import DISTINCT, UNITS
from discreet.planning.plan import Query
from discreet.planning.planner import level
from discreet.planning.table_names import Name
from discreet.planning.unspecified import open_values
from discreet.query.batch_plot import EPSILONS, errors_against_epsilon
from discreet.query.batch_targets import BatchTargets
from discreet.query.batch_tradeoffs import trade_offs
from discreet.query.epsilon_for_accuracy import check_unpriced
from discreet.query.explain import assumed_rows
from discreet.query.explanation import Explanation
from discreet.query.question_documents import document_of
from discreet.query.recorded_verbs import RecordedBatch, RecordedQuestion
from discreet.query.source import ReleaseCall, Source
from discreet.query.unreleased_methods import Unreleased
from discreet.workloads.cell_tables import MOST_CELLS, Axes

if TYPE_CHECKING:
    import pyarrow as pa
    from matplotlib.figure import Figure

    from discreet.answers.batch_release import BatchRelease


def check_cells(query: Query, sizes: Sequence[int], asked: Sequence[Axes]) -> None:
    """Refuses what no batch can answer, before anything is priced: tables over axes of these sizes."""
    check_moved(query.declaration, "batch")
    if math.prod(sizes) > MOST_CELLS:
        cells = sum(math.prod(sizes[axis] for axis in axes) for axes in asked)
        if cells > MOST_CELLS:
            cure = "ask for fewer attributes at a time, group more coarsely, or make several releases."
            raise InvalidQuery(expected(f"at most {MOST_CELLS:,} cells in all tables", "cells", f"{cells:,}", cure))
    cure = "find them by a question of their own, and state them in this one."
    if query.limits.auto:
        raise InvalidQuery(expected("limits and bounds that are stated", min(query.limits.auto), "auto", cure))
    if unknown := open_values(query):
        what = f"none of {unknown[0].text}"
        raise InvalidQuery(expected("limits and bounds that are stated", "bounds", what, cure))
    check_added(query.aggregates)
    for a in query.aggregates:
        if a.statistic.form is UNITS and query.limits.max_groups != 1:
            cure = "with max_groups=1 each unit counts once in all, in parts where it is in several cells."
            most = query.limits.max_groups
            raise InvalidQuery(expected("max_groups=1 beside a number of units", "max_groups", most, cure))


def check_added(aggregates: Iterable[Aggregate]) -> None:
    """Refuses columns that do not add up, by their names."""
    for a in aggregates:
        if a.statistic.apart or a.statistic.form is DISTINCT:
            cure = "ask for it by a question of its own; a batch has counts, sums, means, variances and lines."
            raise InvalidQuery(expected("columns that add up", a.name, a.statistic.name, cure))


def _check_parts(relative: object, *, stated: bool, is_open: bool) -> None:
    """Refuses errors that are to be parts of counts where none is wanted, at a stated price or without any, and where
    none can be wanted, as something is to be found.
    """
    if not flag("relative", relative):
        return
    if stated:
        cure = "leave it out; with within={'by_plan': 0.05} in place of a price, errors are parts of counts."
        raise InvalidParameter(expected("no relative=True beside a stated price", "relative", relative, cure))
    if is_open:
        cure = "state one, epsilon=..., and leave relative out; .explain(epsilon=...) shows the errors."
        raise InvalidParameter(expected("a price where something is to be found", "relative", relative, cure))
    raise InvalidParameter(
        "Expected a wanted error, within={...}, beside relative=True, got none.\n"
        "Hint: write within={'by_plan': 0.05}, relative=True, assume={'rows': 400}; or a price without relative."
    )


@dataclass(frozen=True, eq=False, repr=False)
class BatchQuestion(Unreleased, ABC):
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
    _asked: RecordedQuestion | RecordedBatch | None
    """What a document says of it."""

    @property
    def source(self) -> Source:
        """Whom it is asked, for the rooms above."""
        return self._source

    @property
    @abstractmethod
    def names(self) -> tuple[Name, ...]:
        """The names of the tables, in the order of the answer."""

    @property
    @abstractmethod
    def planned(self) -> Sequence[BatchQuery]:
        """What is planned before anything is found, for the rooms above: listed tables together, ranges."""

    @property
    def _is_open(self) -> bool:
        """Whether something is to be found before all errors are known."""
        return False

    @abstractmethod
    def _priced(self, **price: Any) -> BatchPlan:
        """The plan at a stated price."""

    @abstractmethod
    def _targets(self, within: object, *, relative: bool, assume: Mapping[str, int] | None) -> BatchTargets:
        """The wanted errors, in the units of each column."""

    @abstractmethod
    def _cheapest(
        self, targets: BatchTargets, delta: object, weights: Mapping[Any, object] | None, confidence: float
    ) -> BatchPlan:
        """The plan of the smallest epsilon that reaches the targets, of all that there are."""

    @abstractmethod
    def _account(self, plan: BatchPlan, confidence: float, assume: Mapping[str, int] | None) -> Explanation:
        """All that is known of a plan."""

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
        relative: bool = False,
        weights: Mapping[Any, object] | None = None,
        confidence: float = 0.95,
        assume: Mapping[str, int] | None = None,
        first_look: object = None,
    ) -> BatchPlan:
        """The priced batch: what would be measured and charged. Arguments as of `release`."""
        assumed_rows(assume)  # a wrong one is refused where nothing depends on it, too
        if within is None:
            stated = epsilon is not None or rho is not None
            _check_parts(relative, stated=stated, is_open=self._is_open)
            return self._priced(epsilon=epsilon, delta=delta, rho=rho, weights=weights, first_look=first_look)
        if first_look is not None:
            raise InvalidQuery(NOTHING_TO_FIND)
        check_unpriced(epsilon, rho)
        targets = self._targets(within, relative=relative, assume=assume)
        return self._cheapest(targets, delta, weights, level(confidence))

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
        wanted, rows = level(confidence), assumed_rows(assume)

        def priced(own: Mapping[Any, object]) -> BatchPlan:
            return self.plan(epsilon=epsilon, delta=delta, rho=rho, weights=own)

        return trade_offs(self.names, priced, weights, confidence=wanted, rows=rows)

    def explain(
        self,
        *,
        epsilon: object = None,
        delta: object = 0,
        rho: object = None,
        within: Mapping[Any, object] | None = None,
        relative: bool = False,
        weights: Mapping[Any, object] | None = None,
        confidence: float = 0.95,
        assume: Mapping[str, int] | None = None,
        first_look: object = None,
    ) -> Explanation:
        """The strategy, the noise, the error of each table and the runners-up, without reading a row; arguments as of
        `release`. `assume` says of how many rows a cell is, for all errors that depend on it.

        >>> from discreet.testing import people
        >>> cube = people().group_by("plan", cube=True, max_groups=1, max_rows=5).agg(n=lambda t: t.count())
        >>> cube.explain(epsilon=1)["strategy"]
        'cells, added up'
        """
        wanted = level(confidence)
        plan = self.plan(
            epsilon=epsilon,
            delta=delta,
            rho=rho,
            within=within,
            relative=relative,
            weights=weights,
            confidence=confidence,
            assume=assume,
            first_look=first_look,
        )
        return self._account(plan, wanted, assume)

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
        return errors_against_epsilon(
            self.names,
            lambda epsilon: self.explain(epsilon=epsilon, delta=delta, weights=weights, assume=assume).accuracy,
            epsilons,
            ax=ax,
            path=path,
        )

    def release(
        self,
        *,
        epsilon: object = None,
        delta: object = 0,
        rho: object = None,
        within: Mapping[Any, object] | None = None,
        relative: bool = False,
        weights: Mapping[Any, object] | None = None,
        confidence: float = 0.95,
        assume: Mapping[str, int] | None = None,
        fresh: bool = False,
        first_look: object = None,
    ) -> BatchRelease:
        """All tables, noisy and consistent, charged once before a row is read.

        Args:
            epsilon: the total for all tables, as of ``Question.release``.
            delta: beside it, for Gaussian noise.
            rho: in place of both, of zero-concentrated differential privacy.
            within: instead, by table, by how much a cell of it may be off: the smallest epsilon is found.
            relative: targets are parts of counts of so many rows as `assume` says.
            weights: how much the squared error of a cell matters, by table; 1 for those that are left out.
            confidence: of the intervals, and of `within`.
            assume: ``{"rows": n}``, of how many rows a cell is that `within` speaks of; an answer from fewer rows may
                be farther off.
            fresh: draws anew, and pays, where the same batch was released before.
            first_look: the part of the share of each question that finds its limits and bounds, as of
                ``Question.release``.

        Raises:
            BudgetExceeded: it does not fit; nothing is spent.
            InvalidParameter, InvalidQuery: nothing is spent.
            EngineError: the charge stays spent.
        """
        wanted = level(confidence)
        flag("fresh", fresh)
        fraction("delta", delta)
        plan = self.plan(
            epsilon=epsilon,
            delta=delta,
            rho=rho,
            within=within,
            relative=relative,
            weights=weights,
            confidence=confidence,
            assume=assume,
            first_look=first_look,
        )
        if relative:  # as a document has them, in rows
            within = self._targets(within, relative=True, assume=assume).errors
        price = {"epsilon": epsilon, "delta": delta, "rho": rho, "within": within, "assume": assume}
        price["first_look"] = first_look
        call = ReleaseCall(document=self.document, price=price, weights=weights)
        return self._source.release_batch(plan, fresh=fresh, confidence=wanted, call=call)
