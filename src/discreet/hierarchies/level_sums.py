"""Sums and differences of the cells of all levels, with the interval that follows from the noise that is left.

Claim
    The interval of a combination of the cells of a `LevelSums` holds the exact combination with at least the stated
    confidence, whichever levels and columns they are of.
Requires
    Noise of the laws and scales that the plan states.
Relies on
    `workloads.hierarchy_combinations` for what is left of each measurement, `noise.weighted_sum_bounds` for the law of
    its sum; `level_answers` for the estimates, and for how far each was moved to a whole number.
Proof
    A cell is, for each block, a node of one of many copies of the tree, one for each cell and component, which are
    measured independently. So a combination of cells is one of nodes, by the coefficients of its column in the totals;
    what several cells share is added up before the law of the sum is taken. Variances of noises of a level are those of
    the normal or Laplace variables that they are rounded from, in rows: those of the plan, but for a difference of at
    most `_apart` a measurement, so that the sum of w^2 times that is added; `ratio` bounds what they differ by in
    proportion.
    *Whole numbers.* All children of a node with one coefficient are their parent with it, as whole numbers and
    estimates add up alike. Each cell that is left was moved by no more than stated, so that the combination moved by no
    more than the sum of these, each times its coefficient.
Rounding
    Floats.
Source
    None: linear algebra.
Mutant
    levels-apart: what two levels have in common is taken to be measured for each; killed by
    test_what_levels_have_in_common_is_in_no_interval.
    whole-numbers-unmoved: that estimates were moved to whole numbers is left out; killed by
    test_whole_numbers_are_within.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.answers.linear_combination import Combination, Parts
from discreet.exact.cached_property import cached_property
from discreet.hierarchies.level_answers import Answers
from discreet.noise.weighted_sum_bounds import SummedNoise
from discreet.planning.noise_laws import width_of
from discreet.planning.plan import Column
from discreet.workloads.hierarchy_combinations import MeasuredTree, NodeWeights


class LevelSums:
    """What is known of the noise of all levels, for any combination of their cells."""

    def __init__(self, answers: Answers) -> None:
        self._answers, self._plan = answers, answers.plan

    @cached_property
    def _trees(self) -> list[MeasuredTree]:
        """For each block what was measured, in rows."""
        tree = self._plan.places.tree
        every = zip(map(self._plan.variances_of, range(len(self._plan.noises))), self._plan.known, strict=True)
        return [MeasuredTree.of(tree, own, known) for own, known in every]

    def combination(
        self, level: int, column: Column, values: NDArray[Any], weights: NDArray[np.float64], confidence: float
    ) -> Combination:
        """The sum of a column of a level, each cell times its weight."""
        rows = np.flatnonzero(weights)
        node, cell = np.divmod(rows, self._plan.places.number_of_cells)
        size, own = self._plan.places.tree.sizes[level], weights[rows]
        forms = {}
        for block, factors in zip(column.blocks, column.coefficients, strict=True):
            copies = cell[:, None] * len(factors) + np.arange(len(factors))
            places, each = copies * size + node[:, None], own[:, None] * np.array(factors)
            forms[block, level] = (NodeWeights.of(places.reshape(-1), each.reshape(-1)),)
        terms = own * values[rows]
        value, whole = math.fsum(terms.tolist()), math.fsum(np.abs(terms).tolist())
        return Combination(self, value, forms, confidence, whole)

    def half_width(self, forms: Parts, confidence: float) -> float:
        """What a combination is off by at most: for a block and a level the coefficients of its nodes."""
        variance, largest, squares, sizes, moved = 0.0, 0.0, 0.0, 0.0, 0.0
        levels = range(len(self._plan.places.levels))
        for block in sorted({block for block, _ in forms}):
            named = [forms[block, level][0] if (block, level) in forms else None for level in levels]
            found, steps = self._trees[block].combined(named), self._plan.plan.blocks[block].steps
            apart, ratio = self._apart(block)
            variance += max(found.variance + apart * found.squares, 0.0)
            largest = max(largest, math.sqrt(ratio) * found.largest)
            squares, sizes = squares + found.squares / steps**2, sizes + found.sizes / steps
            moved += self._moved(block, named) if self._plan.integers else 0.0
        noise = SummedNoise(variance, min(largest, math.sqrt(variance)), squares, sizes)
        return noise.half_width(confidence, gaussian=self._plan.gaussian) + moved

    def _apart(self, block: int) -> tuple[float, float]:
        """By how much the variance of noise before it is rounded is more than the plan's, in rows, and how often."""
        steps, spread = self._plan.plan.blocks[block].steps, self._plan.offer.law.spread
        pairs = [
            (spread * float(width_of(one) / steps) ** 2, own)
            for one, own in zip(self._plan.noises[block], self._plan.variances_of(block), strict=True)
            if one is not None
        ]
        return max(before - own for before, own in pairs), max(before / own for before, own in pairs)

    def _moved(self, block: int, named: list[NodeWeights | None]) -> float:
        """How far whole numbers are from what they are rounded from, at most."""
        tree, total = self._plan.places.tree, 0.0
        carried = NodeWeights(np.zeros(0, dtype=np.int64), np.zeros(0))
        for level in reversed(range(len(named))):
            both = carried if (own := named[level]) is None else carried + own
            places, weights = both.places[both.weights != 0.0], both.weights[both.weights != 0.0]
            node, left = places % tree.sizes[level], np.ones(len(places), dtype=bool)
            if level and len(places):
                parents = np.searchsorted(tree.starts[level - 1], node, side="right") - 1
                above = places // tree.sizes[level] * tree.sizes[level - 1] + parents
                found, first, counts = np.unique(above, return_index=True, return_counts=True)
                alike = np.minimum.reduceat(weights, first) == np.maximum.reduceat(weights, first)
                alike &= counts == tree.children[level - 1][found % tree.sizes[level - 1]]
                carried, left = NodeWeights(found[alike], weights[first[alike]]), ~np.repeat(alike, counts)
            total += float(np.abs(weights[left]) @ self._answers.off[block][level][node[left]])
        return total
