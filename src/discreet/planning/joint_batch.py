"""Tables that are parts of the same cells, with one mechanism for all columns: a batch that is one question.

Claim
    The mechanism of a `JointBatchPlan` is `charge`-differentially private for the declared neighbors, and
    `JointBatchPlan.half_width` is what a combination of its cells is off by at most, with the stated confidence.
Requires
    An engine that computes the totals of the cells as their plan says.
Relies on
    `planning.joint_plan` for the mechanism, by `planning.planner.price`; `mechanisms.joint_totals` for its noise;
    `noise.weighted_sum_bounds`.
Proof
    *Privacy.* Where `is_one_question` holds, each row of each table is one cell: its columns are columns of the
    question `batch.cells`, by the same groups, about the same rows under the same limits. The cells are planned as
    this question, drawn once, and tables are parts of what was drawn.
    *One cell* has the interval of its total. *A combination* is a linear form X of the noises of the groups, which are
    independent, each of density proportional to exp(-epsilon ||z||): log-concave and even. So is their product, and the
    law of X (Prékopa), which `log_concave_quantile` is about. Rounding moves each noise by a half at most, whatever the
    others are.
Rounding
    Widths are floats.
Source
    Prékopa, "On logarithmic concave measures and functions" (1973); Awan and Slavkovic, "Structure and sensitivity in
    differential privacy" (2021).
Mutant
    first-of-the-sum: a sum of several cells is taken for one of them; killed by
    test_only_tables_of_the_same_cells_are_one_question.
    noises-of-a-group-apart: totals of one group are taken to have independent noise; killed by
    test_combinations_have_the_noise_that_is_left.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.mechanisms.joint_totals import JointTotals
from discreet.noise.entropy import RandomWords
from discreet.noise.weighted_sum_bounds import log_concave_quantile
from discreet.planning.batch_planner import BatchPlan, BatchQuery, price_batch, weights_of_tables
from discreet.planning.joint_plan import LEAST_GAIN, has_joint_totals
from discreet.planning.noise_laws import Law, Price
from discreet.planning.plan import Column, Plan
from discreet.planning.planner import plan_with, price, stated_epsilon, stated_weights
from discreet.planning.product_keys import ProductKeys
from discreet.workloads.cell_tables import Cells, Reals
from discreet.workloads.sparse_cells import SparseCells
from discreet.workloads.weighted_marginals import WeightedMarginals

Forms = Mapping[tuple[int, int], tuple[Reals, ...]]


@dataclass(frozen=True, kw_only=True, eq=False)
class JointBatchPlan(BatchPlan):
    """A priced batch whose columns have one mechanism together; each row of a table is one cell."""

    @property
    def joint(self) -> JointTotals:
        """The mechanism."""
        if self.cells.joint is None:
            raise TypeError(self.cells)
        return self.cells.joint

    def noisy(self, exact: Sequence[Cells], words: RandomWords) -> list[NDArray[Any]]:
        """The noisy totals, block by block, from the exact ones, one row for each cell."""
        together = self.joint.add_noise(np.concatenate(self._listed(exact), axis=1), words)
        return [together[:, [place]] for place in range(together.shape[1])]

    def _listed(self, exact: Sequence[Cells]) -> list[NDArray[Any]]:
        found = [totals for totals in exact if not isinstance(totals, SparseCells)]
        if len(found) < len(exact):
            raise TypeError(exact)
        return found

    def measured(self, totals: Cells) -> list[NDArray[Any]]:
        """The exact totals of one block, as they are."""
        return self._listed([totals])

    def totals(self, noisy: Sequence[NDArray[Any]]) -> list[list[Reals]]:
        """For each table its totals, block by block: those of its cells."""
        return [[totals[cells] for totals in noisy] for cells in map(self._chosen, range(len(self.query.tables)))]

    def form(self, table: int, weights: Reals) -> list[Reals]:
        """A weighted sum of the cells of a table, as a linear form of all cells."""
        found = np.zeros(math.prod(self.query.sizes))
        np.add.at(found, self._chosen(table), np.asarray(weights, dtype=np.float64).reshape(-1))
        return [found]

    def variances(self, table: int, block: int) -> Reals:
        """The variance of each cell of a table, in steps of the block: that of one total."""
        return np.full(len(self._chosen(table)), self.joint.parts()[block].variance)

    def _chosen(self, table: int) -> NDArray[np.intp]:
        """Where the cells of a table stand among all."""
        asked, sizes = self.query.tables[table].table, self.query.sizes
        places = [
            np.arange(size) if own is None else own.argmax(axis=1) for size, own in zip(sizes, asked.maps, strict=True)
        ]
        found: NDArray[np.intp] = np.arange(math.prod(sizes)).reshape(sizes)[np.ix_(*places)].reshape(-1)
        return found

    def half_width(self, forms: Forms, confidence: float) -> float:
        """What a combination of cells is off by at most: for a block and a component the coefficients of each cell, in
        rows.
        """
        steps = [block.steps for block in self.cells.blocks]
        own = {place: np.asarray(form[0]) / steps[place] for (place, _), form in forms.items()}
        if not own:
            return 0.0
        moved = [(place, float(abs(c))) for place, form in own.items() for c in form if c]
        if len(moved) == 1:
            [(place, size)] = moved
            return size * self.joint.parts()[place].quantile(confidence)
        places, each = list(own), np.stack(list(own.values()))
        covariance = self.joint.body.covariance()[np.ix_(places, places)] / float(self.joint.epsilon) ** 2
        variance = float(np.einsum("ig,ij,jg->", each, covariance, each))
        return log_concave_quantile(1 - confidence) * math.sqrt(max(variance, 0.0)) + float(np.abs(each).sum()) / 2

    def _table(self, place: int) -> Plan:
        asked = self.query.tables[place]
        columns = [
            replace(self.cells.columns[own], aggregate=replace(self.cells.columns[own].aggregate, name=a.name))
            for own, a in zip(asked.places, asked.query.aggregates, strict=True)
        ]
        return replace(self.cells, query=asked.query, columns=tuple(columns))


def is_one_question(batch: BatchQuery) -> bool:
    """Whether all tables have counts and sums of single cells: a question by itself, with the columns of all."""
    every = tuple(range(len(batch.sizes)))
    return (
        batch.ranges is None
        and not isinstance(batch.cells.keys, ProductKeys)
        and all(one.table.axes == every and all(map(_chooses, one.table.maps)) for one in batch.tables)
        and has_joint_totals(batch.cells)
    )


def _chooses(own: NDArray[np.int64] | None) -> bool:
    """Whether what is asked for along an attribute are some of its values, and no sums of them."""
    return own is None or bool((own.sum(axis=1) == 1).all() and (own.max(axis=1) == 1).all() and own.min() >= 0)


def price_together(
    batch: BatchQuery,
    *,
    epsilon: object = None,
    delta: object = 0,
    rho: object = None,
    weights: Mapping[Any, object] | None = None,
) -> BatchPlan:
    """The plan of a batch at a total price: the best of `price_batch`, or with one mechanism for all columns, where it
    is one question of which that is clearly better; reads and spends nothing.
    """
    best = price_batch(batch, epsilon=epsilon, delta=delta, rho=rho, weights=weights)
    if rho is not None or not is_one_question(batch):
        return best
    whole = price(batch.cells, epsilon=epsilon)
    if whole.joint is None:
        return best
    made = replace(_tables_of(batch, whole), runners_up=(replace(best, runners_up=()), *best.runners_up))
    ratio = _ratio(made, best, weights)
    return replace(made, cost=ratio * best.cost) if ratio < LEAST_GAIN else best


def plan_jointly(batch: BatchQuery, epsilon: Fraction) -> JointBatchPlan | None:
    """The plan of a batch that is one question with one mechanism for all columns, good or not; None where there is
    none.
    """
    offer = Price(law=Law.JOINT, epsilon=stated_epsilon(epsilon))
    whole = plan_with(batch.cells, Law.JOINT, offer, stated_weights(batch.cells, None))
    return None if whole is None else _tables_of(batch, whole)


def _tables_of(batch: BatchQuery, whole: Plan) -> JointBatchPlan:
    """All tables as parts of one question, as planned."""
    if whole.joint is None:
        raise TypeError(whole)
    every = tuple(range(len(batch.sizes)))
    return JointBatchPlan(
        query=batch,
        cells=replace(whole, runners_up=()),
        strategy=WeightedMarginals(batch.sizes, [one.table for one in batch.tables], [every], power=2),
        mechanisms=(),
        fine=(1,) * len(whole.blocks),
        event=whole.event or whole.joint.event,
        charge=whole.charge,
        law=whole.law,
        cost=whole.cost,
    )


def _ratio(plan: BatchPlan, other: BatchPlan, weights: Mapping[Any, object] | None) -> float:
    """The variances of the columns of all tables over those of another plan, on average, by the tables' weights."""
    stated = weights_of_tables(plan.query.names, weights)
    found, whole = 0.0, 0.0
    for name, own, beside in zip(plan.query.names, plan.tables, other.tables, strict=True):
        for one, two in zip(own.columns, beside.columns, strict=True):
            found += float(stated[name]) * _variance(own, one) / _variance(beside, two)
            whole += float(stated[name])
    return found / whole


def _variance(plan: Plan, column: Column) -> float:
    """Of a linear column, in its worst group."""
    total = 0.0
    for place, own in zip(column.blocks, column.coefficients, strict=True):
        block = plan.blocks[place]
        joint = None if block.part is None else block.part.variance / block.steps**2
        total += (plan.law.spread * block.scale**2 if joint is None else joint) * sum(c**2 for c in own)
    return total
