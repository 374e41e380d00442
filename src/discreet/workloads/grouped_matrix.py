"""Sums of ordered cells in each of some groups: one matrix, measured in every group.

Claim
    `GroupedMatrix` measures A x_g of the cells x_g of every group g, for one integer matrix A, so that the noise in one
    group has nothing to do with that in another. `tables` follow by least squares in each. Its part's `squared`,
    `absolute` and `apart` hold for all cells, which are pairs of a group and a cell of it.
Requires
    A matrix strategy for one attribute.
Relies on
    `workloads.matrix_strategy`: the figures of its part are computed from A, in integers.
Proof
    What is measured is B = I (x) A, whose column of the cell (g, c) is A's column c in the rows of g, and 0 elsewhere.
    *L1.* The norm of a column of B is that of a column of A.
    *L2.* B^T B = I (x) A^T A. A row of it has the entries of a row of A^T A, and zeros, so that the sum of its K
    largest is that of A^T A; K times the largest of these sums bounds w |B^T B| w for weights up to 1 that sum to K, as
    for A. So K cells of one group, which is the worst, move B by what they move A, and cells in several groups by no
    more.
    *Apart.* Columns of two groups are orthogonal, at most twice the largest square apart, squared: the distance of two
    components of one cell, which `apart` of A is not below.
    *Error.* In each group the cells have the error of A by itself: for units in one cell, groups cost nothing. Nor
    could they gain: with weights v for the cells of one group, the bound of `workloads.ordered_queries` is t^2 / sum v
    for it, and (G t)^2 / (G sum v) = G t^2 / sum v for all G.
Rounding
    None in integers.
Source
    McKenna, Miklau, Hay and Machanavajjhala, "Optimizing error of high-dimensional statistical queries under
    differential privacy" (2018), for products of strategies.
Mutant
    groups-beside-each-other: the measured sums of one group are those of another; killed by
    test_each_group_has_its_own_sums.
    one-cell-a-group: a unit is taken to have one cell of each group; killed by
    test_units_in_groups_move_sums_no_further_than_stated.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.exact.cached_property import cached_property
from discreet.workloads.cell_tables import Cells, MeasuredPart, Reals, over
from discreet.workloads.matrix_strategy import MatrixStrategy


class GroupedMatrix:
    """What to measure for sums of the cells, the last attribute, in each combination of the others.

    >>> strategy = GroupedMatrix((2,), MatrixStrategy.for_cells(3))
    >>> strategy.measure(np.arange(6).reshape(2, 3, 1))[0][:, 0].tolist()
    [0, 1, 2, 3, 4, 5]
    """

    def __init__(self, groups: Sequence[int], each: MatrixStrategy) -> None:
        self.groups, self.each = math.prod(groups), each
        self.sizes = (*groups, *each.sizes)
        self.family = f"{each.family}, in each group"

    @cached_property
    def parts(self) -> tuple[MeasuredPart, ...]:
        """The one that there is."""
        (one,) = self.each.parts
        return (replace(one, rows=one.rows * self.groups),)

    def measure(self, cells: Cells) -> list[NDArray[Any]]:
        """The sums of exact cells, group by group."""
        components = cells.shape[-1]
        every = over(cells, tuple(range(len(self.sizes)))).reshape(self.groups, self.sizes[-1], components)
        (sums,) = self.each.measure(self._side_by_side(every))
        return [self._below(sums, components)]

    def tables(self, noisy: Sequence[Reals]) -> list[Reals]:
        """The cells of all groups, by least squares in each."""
        (part,) = noisy
        components = part.shape[-1]
        own = part.reshape(self.groups, -1, components)
        return [self._below(one, components) for one in self.each.tables([self._side_by_side(own)])]

    def _side_by_side(self, own: NDArray[Any]) -> NDArray[Any]:
        """Groups as further components."""
        return np.moveaxis(own, 0, 1).reshape(own.shape[1], -1)

    def _below(self, own: NDArray[Any], components: int) -> NDArray[Any]:
        """Groups one below the other, from groups as components."""
        return np.moveaxis(own.reshape(len(own), self.groups, components), 1, 0).reshape(-1, components)

    def form(self, table: int, weights: Reals) -> list[Reals]:
        """The coefficients of the measured sums."""
        own, forms = weights.reshape(self.groups, -1), self.each.forms[table]
        found, some = np.zeros((self.groups, forms.shape[1])), own.any(axis=1)
        found[some] = own[some] @ forms  # most sums are of one group
        return [found.reshape(-1)]

    def roundings(self, table: int) -> Reals:
        """Of the form of each cell the sum of absolute coefficients."""
        return np.tile(self.each.roundings(table), self.groups)

    def variances(self, table: int, noise: Sequence[float]) -> Reals:
        """The variance of each cell."""
        return np.tile(self.each.variances(table, noise), self.groups)

    @property
    def facts(self) -> list[Any]:
        """The number of groups, and what tells the matrix from others."""
        return ["groups", self.groups, *self.each.facts]
