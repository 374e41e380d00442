"""From the noisy totals of levels to tables of estimates that add up: post-processing, which sees no data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.answers.release import answer_table
from discreet.hierarchies.level_plan import LevelPlan
from discreet.inference.estimate import Estimate
from discreet.planning.plan import Column
from discreet.workloads.hierarchy import Hierarchy
from discreet.workloads.hierarchy_least_squares import LevelVariances, Reals, downward, rounding, upward, variances

Noisy = Sequence[Sequence[NDArray[Any] | None]]
"""For each block the noisy totals of each level, of shape (nodes, cells * components); None where not measured."""
Upward = list[tuple[list[Reals], list[Reals]]]


@dataclass(frozen=True, eq=False)
class Part:
    """A tree, the whole one or a part of it from some level down, and what is known of its variances."""

    plan: LevelPlan
    tree: Hierarchy
    known: tuple[LevelVariances, ...]
    """One for each block."""
    level: int = 0
    """Of its first level, in the whole."""

    @classmethod
    def below(cls, plan: LevelPlan, level: int, first: int, end: int) -> Part:
        """What hangs from some neighboring nodes of a level."""
        tree = plan.places.tree
        known = tuple(own.part(tree, level, first, end) for own in plan.known)
        return cls(plan, tree.part(level, first, end), known, level)

    @classmethod
    def above(cls, plan: LevelPlan, level: int) -> Part:
        """All levels down to one, whose nodes' best estimates from below take the place of measurements."""
        known = tuple(LevelVariances(own.own[: level + 1], own.sums[:level]) for own in plan.known)
        return cls(plan, Hierarchy(plan.places.tree.children[:level]), known)

    def up(self, noisy: Noisy, *, estimated: bool = False) -> Upward:
        """The best estimates from below, in rows; of the last level they are given, if `estimated`."""
        found = []
        for i, levels in enumerate(noisy):
            steps = self.plan.plan.blocks[i].steps
            measured = levels[:-1] if estimated else levels
            rows = [None if own is None else (own / steps).astype(np.float64) for own in measured]
            noise: list[Any] = self.plan.variances_of(i)[self.level : self.level + len(levels)]
            if estimated:
                rows.append(levels[-1])
                noise[-1] = self.known[i].own[-1]
            found.append(upward(self.tree, rows, noise, self.known[i]))
        return found

    def down(self, found: Upward, top: Answers | None = None) -> Answers:
        """The estimates of all levels; `top` has those of the first level, where more is known of them."""
        values, spread, off = [], [], []
        for i, own in enumerate(found):
            first = (None, None, None) if top is None else (top.values[i][0], top.spread[i][0], top.off[i][0])
            values.append(downward(self.tree, own, self.known[i], first[0], integers=self.plan.integers))
            spread.append(variances(self.tree, self.known[i], first[1]))
            off.append(
                rounding(self.tree, self.known[i], first[2])
                if self.plan.integers
                else [np.zeros(size) for size in self.tree.sizes]
            )
        return Answers(self.plan, values, spread, off)


@dataclass(frozen=True, eq=False)
class Answers:
    """Estimates in rows: for each block and level, of shape (nodes, cells * components)."""

    plan: LevelPlan
    values: list[list[NDArray[Any]]]
    spread: list[list[Reals]]
    """The variance of each node."""
    off: list[list[Reals]]
    """How far rounding moved it at most."""

    def nodes(self, level: int, first: int, end: int) -> Answers:
        """Those of some neighboring nodes of a level alone."""
        return Answers(
            self.plan,
            *([[own[level][first:end]] for own in kept] for kept in (self.values, self.spread, self.off)),
        )

    def table(self, level: int, named: pa.Table, confidence: float) -> pa.Table:
        """The keys, values and ends of a level."""
        columns = self.plan.plan.columns
        found = {column.aggregate.name: self._estimate(column, level, confidence) for column in columns}
        return answer_table({name: named[name] for name in named.column_names}, found)

    def _estimate(self, column: Column, level: int, confidence: float) -> Estimate:
        cells = self.plan.places.number_of_cells
        values: Any = 0
        for i, factors in zip(column.blocks, column.coefficients, strict=True):
            own = self.values[i][level].reshape(-1, len(factors))
            values = values + (own[:, 0] if self.plan.integers else own @ np.array(factors))
        half = self.plan.half_width(
            column, [self.spread[i][level] for i in column.blocks], self.off[column.blocks[0]][level], confidence
        )
        half = np.repeat(half, cells)
        if self.plan.integers:
            whole = np.floor(half).astype(np.int64)  # the exact count is whole, and so is its distance
            return Estimate(values, values - whole, values + whole)
        return Estimate(values, values - half, values + half)
