"""Several tables from the same cells: which sums of cells to measure, with which noise, for the least error of all.

Claim
    The mechanisms of a `BatchPlan`, one for each block and measured part, are together `charge`-differentially private
    for the declared neighbors.
Requires
    An engine that computes the totals of the cells as their plan says.
Relies on
    `sensitivity.strategy_sensitivity` for each mechanism, `planning.noise_laws` for its noise and the composition of
    all; `workloads` for what is measured, and for how the tables follow.
Proof
    The shares of the blocks add up to 1, those of the parts to 1 at most, so their products do; each mechanism spends
    its product on sums that move no further than stated. All families and laws are priced, and the one of the least
    error is taken, from public facts alone. Tables are computed from the noisy sums.
Rounding
    As of `planning.planner`. Measured sums of blocks of few steps are multiplied by `FINE`, so that rounding to
    integers disappears in the noise; the noise grows with them.
Source
    Li, Hay, Miklau and others: the matrix mechanism (2010).
Mutant
    parts-at-the-price-of-blocks: each part is measured at the whole share of its block; killed by
    test_parts_of_a_batch_add_up_to_its_price.
    fine-sums-at-coarse-noise: the sums are multiplied, and not their sensitivity; killed by
    test_fine_sums_have_noise_of_their_size.
    ranges-priced-by-bins: of strategies for ranges, the one with the least noise on bins is taken; killed by
    test_what_is_measured_is_the_best_for_ranges_not_for_bins.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import InvalidParameter, InvalidQuery, expected, nearest_name
from discreet.exact.amounts import above_zero, root_above
from discreet.exact.cached_property import cached_property
from discreet.mechanisms.gaussian import Gaussian
from discreet.mechanisms.laplace import Laplace
from discreet.noise.entropy import RandomWords
from discreet.planning.noise_laws import Law, Price, noise_event
from discreet.planning.plan import Column, EstimateNoise, NoiseClasses, Plan, PricedBlock, Query
from discreet.planning.planner import LEAST_WEIGHT, offers_of, own_limits, plan_of, stated_price
from discreet.planning.range_errors import cost_of_sums, sums_over_bound
from discreet.planning.strategy_families import strategies_for
from discreet.planning.table_names import Name, table_named
from discreet.privacy.definitions import Guarantee
from discreet.privacy.events import Event, composed
from discreet.sensitivity.strategy_sensitivity import part_sensitivity, squared_part_sensitivity
from discreet.workloads.cell_tables import Cells, CellStrategy, CellTable, MeasuredPart, Reals
from discreet.workloads.sparse_cells import SparseCells
from discreet.workloads.spectral_bound import over_bound

MOST_CLASSES = 64
"""Of cells that differ in their noise, for each table."""
FINE = 2**12
"""What sums of blocks of fewer steps a row are multiplied by."""


@dataclass(frozen=True, kw_only=True, eq=False)
class BatchTable:
    """One table that is asked for."""

    name: Name
    query: Query
    """Its own groups and aggregates, as those of a question alone."""
    table: CellTable
    places: tuple[int, ...]
    """Where its aggregates stand among those of the cells."""


@dataclass(frozen=True, kw_only=True, eq=False)
class BatchQuery:
    """Tables that are asked for together, and the cells that all of them are sums of."""

    cells: Query
    sizes: tuple[int, ...]
    """How many values each attribute of a cell has; the last one runs fastest."""
    tables: tuple[BatchTable, ...]
    ranges: str | None = None
    """Which sums of neighboring cells are asked for, beside the one table that there is: along the last attribute, in
    each combination of the others.
    """
    edges: tuple[Any, ...] = ()
    """Of the bins that they are sums of."""

    @property
    def names(self) -> tuple[Name, ...]:
        """Those of the tables."""
        return tuple(table.name for table in self.tables)


@dataclass(frozen=True, kw_only=True, eq=False)
class BatchPlan:
    """A priced batch: the cells, what is measured of them, and how the tables follow."""

    query: BatchQuery
    cells: Plan
    """The exact cells; its own noise is not drawn."""
    strategy: CellStrategy
    mechanisms: tuple[tuple[Gaussian | Laplace, ...], ...]
    """For each block, one for each part."""
    fine: tuple[int, ...]
    """What the measured sums of each block are multiplied by."""
    event: Event
    charge: Guarantee
    law: Law
    cost: float
    over_bound: float | None = None
    """The error over the least that any Gaussian mechanism can have, where that is known."""
    runners_up: tuple[BatchPlan, ...] = ()

    @property
    def names(self) -> tuple[Name, ...]:
        """Those of the tables."""
        return self.query.names

    @property
    def facts(self) -> dict[str, Any]:
        """What tells its law from that of others over the same cells; ready for JSON."""
        return {
            "strategy": self.strategy.facts,
            "noise": [[str(one.scale) for one in own] for own in self.mechanisms],
            "fine": self.fine,
            "tables": [
                [
                    table.name,
                    table.places,
                    table.table.axes,
                    [None if one is None else one.tolist() for one in table.table.maps],
                    None if table.query.keys is None else table.query.keys.facts,
                    [a.name for a in table.query.aggregates],
                ]
                for table in self.query.tables
            ],
        }

    def noisy(self, exact: Sequence[Cells], words: RandomWords) -> list[NDArray[Any]]:
        """The noisy sums of all blocks and parts, block by block, from the exact totals of the cells, one row each; or
        of those that are not 0.
        """
        found = []
        for totals, own, fine in zip(exact, self.mechanisms, self.fine, strict=True):
            parts = self.measured(totals.astype(object) * fine)  # Python's integers, which cannot wrap
            found += [mechanism.add_noise(part, words) for mechanism, part in zip(own, parts, strict=True)]
        return found

    def measured(self, totals: Cells) -> list[NDArray[Any]]:
        """The exact parts of one block."""
        if isinstance(totals, SparseCells):
            return self.strategy.measure(totals)
        return self.strategy.measure(totals.reshape(*self.query.sizes, -1))

    def totals(self, noisy: Sequence[NDArray[Any]]) -> list[list[Reals]]:
        """For each table its estimated totals, block by block, from what `noisy` gave."""
        number = len(self.strategy.parts)
        found: list[list[Reals]] = [[] for _ in self.query.tables]
        for place, fine in enumerate(self.fine):
            own = [(part / fine).astype(np.float64) for part in noisy[place * number : (place + 1) * number]]
            for table, estimated in zip(found, self.strategy.tables(own), strict=True):
                table.append(estimated)
        return found

    def form(self, table: int, weights: Reals) -> list[Reals]:
        """A weighted sum of the cells of a table, as a linear form of what is measured."""
        return self.strategy.form(table, weights)

    def variances(self, table: int, block: int) -> Reals:
        """The variance of each cell of a table, in steps of the block."""
        return self.strategy.variances(table, self.part_variances[block])

    @cached_property
    def part_variances(self) -> list[list[float]]:
        """For each block the variance of the noise in each part, in steps of the block."""
        return [
            [self.law.spread * float(one.scale / fine) ** 2 for one in own]
            for own, fine in zip(self.mechanisms, self.fine, strict=True)
        ]

    @cached_property
    def tables(self) -> tuple[Plan, ...]:
        """Each table as a plan of its own."""
        return tuple(self._table(place) for place in range(len(self.query.tables)))

    def _table(self, place: int) -> Plan:
        asked = self.query.tables[place]
        labels, kinds = _classes(self.variances(place, 0))
        roundings = self.strategy.roundings(place)
        noises = [self._class_blocks(place, cell, float(roundings[labels == i].max())) for i, cell in enumerate(kinds)]
        columns = [
            replace(self.cells.columns[own], aggregate=replace(self.cells.columns[own].aggregate, name=a.name))
            for own, a in zip(asked.places, asked.query.aggregates, strict=True)
        ]
        return replace(
            self.cells,
            query=asked.query,
            blocks=noises[0],
            classes=NoiseClasses(labels, tuple(noises)) if len(noises) > 1 else None,
            columns=tuple(columns),
            charge=self.charge,
            event=self.event,
            law=self.law,
            reconciled=True,
        )

    def _class_blocks(self, place: int, cell: int, rounding: float) -> tuple[PricedBlock, ...]:
        """The blocks with the noise of one cell of a table, whose coefficients add up to `rounding`."""
        form: list[Reals] = []
        if self.law is not Law.GAUSSIAN:  # whose sums are of the same law
            one = np.zeros(math.prod(self.query.tables[place].table.shape(self.query.sizes)))
            one[cell] = 1.0
            form = self.form(place, one)
        return tuple(
            replace(block, estimate=self._estimate(place, i, cell, form, rounding))
            for i, block in enumerate(self.cells.blocks)
        )

    def _estimate(self, place: int, block: int, cell: int, form: list[Reals], rounding: float) -> EstimateNoise:
        fine, own = self.fine[block], self.mechanisms[block]
        if not form:
            terms = np.sqrt(self.variances(place, block)[[cell]])
        else:
            sizes = [np.abs(one[one != 0.0]) for one in form]
            terms = np.concatenate([one * float(noise.scale / fine) for one, noise in zip(sizes, own, strict=True)])
        terms = -np.sort(-terms)
        return EstimateNoise(terms, rounding / fine / float(terms.sum()))

    def stacked(self, query: Query) -> Plan:
        """All tables as one plan, whose groups are those of the tables, one after the other."""
        labels: list[NDArray[np.intp]] = []
        noises: list[tuple[PricedBlock, ...]] = []
        for own in self.tables:
            sizes = np.zeros(own.query.cells, dtype=np.intp) if own.classes is None else own.classes.of
            labels.append(sizes + len(noises))
            noises += [own.blocks] if own.classes is None else own.classes.blocks
        classes = NoiseClasses(np.concatenate(labels), tuple(noises))
        return replace(self.tables[0], query=query, classes=classes)

    def column(self, table: int, name: str) -> Column | None:
        """A column of a table, where it is a linear form of totals."""
        found = next((c for c in self.tables[table].columns if c.aggregate.name == name), None)
        return found if found is not None and found.linear else None


def price_batch(
    batch: BatchQuery,
    *,
    epsilon: object = None,
    delta: object = 0,
    rho: object = None,
    weights: Mapping[Any, object] | None = None,
    gaussian: bool = False,
) -> BatchPlan:
    """The plan of a batch at a total price, the best of those that there are, or with `gaussian` noise of those; reads
    and spends nothing.
    """
    tables = _weighted(batch, weights)
    plans = [
        plan_batch(batch, offer, one)
        for offer in offers_of(stated_price(epsilon=epsilon, delta=delta, rho=rho))
        if offer.law is Law.GAUSSIAN or not gaussian
        for one in strategies_for(batch.sizes, tables, gaussian=offer.law is Law.GAUSSIAN, ranges=batch.ranges)
    ]
    if any(not column.linear for plan in plans[:1] for column in plan.cells.columns):
        plans = [plan for plan in plans if plan.law is Law.GAUSSIAN]
    if not plans:
        raise InvalidQuery(
            "Expected a delta or a rho beside means, variances or lines of several tables, got a pure epsilon.\n"
            "Hint: add delta=1e-6, or rho= in place of epsilon, for Gaussian noise; or ask for counts and sums, and "
            "divide them afterwards."
        )
    priced = [replace(plan, cost=_cost(plan, tables)) for plan in plans]
    distinct: dict[str, BatchPlan] = {}
    for plan in priced:
        distinct.setdefault(f"{plan.law} {plan.strategy.family} {plan.cost:.4g}", plan)
    best, *others = sorted(distinct.values(), key=lambda plan: float(f"{plan.cost:.4g}"))
    return replace(best, over_bound=_over_bound(best, tables), runners_up=tuple(others))


def _over_bound(plan: BatchPlan, tables: Sequence[CellTable]) -> float | None:
    """The error over the least that there is with Gaussian noise."""
    if plan.law is not Law.GAUSSIAN:
        return None
    return sums_over_bound(plan) if plan.query.ranges else over_bound(plan.strategy, plan.query.sizes, tables)


def _classes(variances: Reals) -> tuple[NDArray[np.intp], list[int]]:
    """Cells of equal variance, or of nearly equal ones where there are many, the worst class first: the class of each
    cell, and the worst cell of each class.
    """
    parts = variances / variances.max()
    rounded = np.round(parts, 9)
    if len(np.unique(rounded)) > MOST_CLASSES:
        rounded = np.ceil(parts * MOST_CLASSES) / MOST_CLASSES
    kinds, labels = np.unique(-rounded, return_inverse=True)
    labels = labels.reshape(-1)
    worst = [int(np.argmax(np.where(labels == i, variances, -1.0))) for i in range(len(kinds))]
    return labels, worst


def weights_of_tables(names: Iterable[Name], weights: object) -> dict[Name, Fraction]:
    """The weight of each table: as stated, or 1."""
    if weights is not None and not isinstance(weights, Mapping):
        raise InvalidParameter(expected("a dict of weights", "weights", weights, "write weights={'table': 2}."))
    found = dict.fromkeys(names, Fraction(1))
    for name, weight in (weights or {}).items():
        own = table_named(name, found)
        if own is None:
            cure = nearest_name(name, [str(one) for one in found])
            raise InvalidParameter(expected("weights of tables of the batch", "weights", name, cure))
        found[own] = above_zero(f"weights[{name!r}]", weight)
    return found


def _weighted(batch: BatchQuery, weights: object) -> list[CellTable]:
    stated = weights_of_tables(batch.names, weights)
    largest = max(stated.values())
    return [replace(one.table, weight=max(float(stated[one.name] / largest), LEAST_WEIGHT)) for one in batch.tables]


def plan_batch(batch: BatchQuery, offer: Price, strategy: CellStrategy) -> BatchPlan:
    """The plan with one strategy, and noise of one law."""
    parts = strategy.parts
    names = [a.name for a in batch.cells.aggregates]
    cells = plan_of(batch.cells, offer, dict.fromkeys(names, 1.0), spread=min(map(_spread(offer.law), parts)))
    fine = tuple(1 if block.steps >= FINE else FINE for block in cells.blocks)
    mechanisms = tuple(
        tuple(_mechanism(batch.cells, block, part, offer, times) for part in parts)
        for block, times in zip(cells.blocks, fine, strict=True)
    )
    event = composed(*(noise_event(one) for own in mechanisms for one in own))
    return BatchPlan(
        query=batch,
        cells=cells,
        strategy=strategy,
        mechanisms=mechanisms,
        fine=fine,
        event=event,
        charge=offer.charge(event),
        law=offer.law,
        cost=0.0,
    )


def _spread(law: Law) -> Any:
    """How much smaller a share would have to be for noise on cells as they are to be that of a part."""
    if law is Law.GAUSSIAN:
        return lambda part: part.share / (4 * part.squared(1))
    return lambda part: part.share / (2 * part.absolute)


def _mechanism(query: Query, block: PricedBlock, part: MeasuredPart, offer: Price, fine: int) -> Gaussian | Laplace:
    """The noise of one part of one block."""
    limits, neighbors = own_limits(query, block.block), query.declaration.neighbors
    amount, share = block.steps * fine, block.share * part.share
    if offer.law is Law.GAUSSIAN:
        apart = None if block.block.signed else part.apart
        square = squared_part_sensitivity(part.squared, amount, limits, neighbors, apart=apart)
        made = offer.noise((root_above(Fraction(square)), square), share)
    else:
        bound = part_sensitivity(part.absolute, amount, limits, neighbors)
        made = offer.noise((Fraction(bound), bound), share)
    if not isinstance(made, Gaussian | Laplace):
        raise TypeError(made)
    return made


def _cost(plan: BatchPlan, tables: Sequence[CellTable]) -> float:
    """The weighted sum of the variances of all cells of all tables, or of all ranges, in rows."""
    if plan.query.ranges:
        return cost_of_sums(plan)
    total = 0.0
    for place, asked in enumerate(tables):
        for i, block in enumerate(plan.cells.blocks):
            total += asked.weight * float(plan.variances(place, i).sum()) / block.steps**2
    return total
