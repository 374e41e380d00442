"""Gaussian noise in residual tables: the least sum of variances of marginals, and tables with sums along their axes.

Claim
    `ResidualStrategy` measures the residual tables of all subsets of its tables' axes, and `tables` are unbiased and
    agree with each other. Of all divisions of rho among these measurements its own has the least weighted sum of
    variances; for marginals as they are, of all Gaussian mechanisms. Its parts' `squared`, `absolute` and `apart` hold.
Requires
    A domain whose cells fit in memory.
Relies on
    `workloads.residual_tables`.
Proof
    *Error.* Noise of variance s in the residual table of A reaches a cell of the table S, whose rows are b_i along its
    axes, as s / N_S^2 times the product over A of |b_i|^2 - (sum b_i)^2 / d_i and over the rest of S of (sum b_i)^2:
    the projection I - J/d and the sum. Summed over all cells with their weights it is s v_A, and moved_A v_A / rho_A is
    least in sum where rho_A is in proportion to sqrt(moved_A v_A) (Cauchy and Schwarz, as in `workloads.marginals`).
    *Moves.* The columns a_c of the part A are products of columns of d I - J. The product of two of them is the product
    over A of d (d - 1) where they agree along an axis, of -d where they do not; so each row of |A^T A| has the same
    entries. With weights w_c from 0 to 1, K in sum, |A v|^2 <= w |A^T A| w <= sum w_c (sum of the K largest entries of
    a row) <= K times that. Two columns are at most 2 (moved + moved / (d - 1)) apart, squared, where they differ along
    the axis of the least d alone; for other components of a row, 2 moved. If A is empty, all columns are alike.
Rounding
    Shares are rounded down to multiples of 2**-60; figures are floats.
Source
    Xiao, He, Zhang and Kifer, "An optimal and scalable matrix mechanism for noisy marginals under convex loss
    functions" (2023).
Mutant
    cells-of-a-unit-apart: a unit in several cells moves each part as if these never met; killed by
    test_units_in_several_cells_move_parts_no_further_than_stated.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.exact.cached_property import cached_property
from discreet.workloads.cell_tables import (
    Axes,
    Cells,
    CellTable,
    MeasuredPart,
    Reals,
    exact_cells,
    largest_sum,
    others_of,
    outer,
    over,
    summed_to,
)
from discreet.workloads.residual_tables import centered, residual, spread, squared_sensitivity

PARTS = 2**60


class ResidualStrategy:
    """The residual tables to measure for some tables over a domain of so many values along each axis.

    >>> sexes, ages = CellTable((0,), (None,)), CellTable((1,), (None,))
    >>> strategy = ResidualStrategy((2, 3), [sexes, ages])
    >>> exact = strategy.measure(np.array([[5, 1, 0], [2, 2, 9]])[..., np.newaxis])
    >>> [table[:, 0].tolist() for table in strategy.tables(exact)]
    [[6.0, 13.0], [7.0, 3.0, 9.0]]
    """

    family = "residual tables"

    def __init__(self, sizes: Sequence[int], tables: Sequence[CellTable]) -> None:
        self.sizes, self._tables = tuple(sizes), tuple(tables)
        values: dict[Axes, float] = {}
        for table in self._tables:
            for subset, variance in self._variances_of(table).items():
                values[subset] = values.get(subset, 0.0) + table.weight * float(variance.sum())
        roots = {
            subset: math.sqrt(squared_sensitivity(self._sizes(subset)) * value) for subset, value in values.items()
        }
        whole = sum(roots.values())
        self._shares = {
            subset: Fraction(max(1, math.floor(root / whole * (1 - 2.0**-40) * PARTS)), PARTS)
            for subset, root in roots.items()
            if root > whole * 1e-12
        }

    def _sizes(self, axes: Axes) -> list[int]:
        return [self.sizes[axis] for axis in axes]

    def _variances_of(self, table: CellTable) -> dict[Axes, Reals]:
        """What noise of variance 1 in the residual table of each subset adds to each cell of a table."""
        squares = table.squares(self.sizes)
        cells = math.prod(self._sizes(table.axes))
        return {subset: outer(squares, table.axes, subset) / float(cells) ** 2 for subset in table.subsets(self.sizes)}

    @cached_property
    def parts(self) -> tuple[MeasuredPart, ...]:
        """One for each residual table."""
        return tuple(self._part(subset, share) for subset, share in self._shares.items())

    def _part(self, subset: Axes, share: Fraction) -> MeasuredPart:
        own = self._sizes(subset)
        least = min(own, default=0)
        return MeasuredPart(
            share=share,
            absolute=math.prod(2 * (size - 1) for size in own),
            squared=partial(_squared, tuple(own), others_of(self.sizes, subset)),
            apart=2 * squared_sensitivity(own) * least // (least - 1) if own else 2,
            rows=math.prod(own),
        )

    def measure(self, cells: Cells) -> list[NDArray[Any]]:
        """The residual tables of exact cells."""
        widest = max(math.prod(2 * size for size in self._sizes(subset)) for subset in self._shares)
        exact = exact_cells(cells, widest)
        return [residual(over(exact, subset), axes=len(subset)).reshape(-1, cells.shape[-1]) for subset in self._shares]

    def tables(self, noisy: Sequence[Reals]) -> list[Reals]:
        """The tables, each from the residual tables of its subsets."""
        parts = {
            subset: centered(part.reshape(*self._sizes(subset), -1), axes=len(subset))
            for subset, part in zip(self._shares, noisy, strict=True)
        }
        components = noisy[0].shape[-1]
        found = []
        for table in self._tables:
            shape = (*self._sizes(table.axes), components)
            whole = np.zeros(shape)
            for subset in table.subsets(self.sizes):
                if subset in parts:
                    places = [table.axes.index(axis) for axis in subset]
                    whole = whole + spread(parts[subset], [*places, len(shape) - 1], shape)
            found.append(table.of(whole / math.prod(shape[:-1])).reshape(-1, components))
        return found

    def form(self, table: int, weights: Reals) -> list[Reals]:
        """The coefficients of each residual table."""
        own = self._tables[table]
        back = own.back(weights.reshape(own.shape(self.sizes))) / math.prod(self._sizes(own.axes))
        return [
            centered(summed_to(back, own.axes, subset)).reshape(-1)
            if set(subset) <= set(own.axes)
            else np.zeros(math.prod(self._sizes(subset)))
            for subset in self._shares
        ]

    def roundings(self, table: int) -> Reals:
        """Of the form of each cell of a table the sum of absolute coefficients."""
        own = self._tables[table]
        sums, cells = own.absolutes(self.sizes), math.prod(self._sizes(own.axes))
        subsets = [subset for subset in own.subsets(self.sizes) if subset in self._shares]
        whole = sum((outer(sums, own.axes, subset) for subset in subsets), start=np.zeros(()))
        return np.asarray(whole).reshape(-1) / cells

    def variances(self, table: int, noise: Sequence[float]) -> Reals:
        """The variance of each cell of a table."""
        own, whole = dict(zip(self._shares, noise, strict=True)), np.zeros(())
        for subset, variance in self._variances_of(self._tables[table]).items():
            if subset in own:
                whole = whole + variance * own[subset]
        return whole.reshape(-1)

    @property
    def facts(self) -> list[Any]:
        """Which residual tables are measured, at which shares."""
        return [self.family, [[subset, str(share)] for subset, share in self._shares.items()]]


def _squared(sizes: tuple[int, ...], others: int, most: int) -> int:
    """K times the sum of the K largest entries of a row of |A^T A|."""
    entries = []
    for differs in itertools.product((False, True), repeat=len(sizes)):
        pairs = list(zip(sizes, differs, strict=True))
        value = math.prod(size if is_other else size * (size - 1) for size, is_other in pairs)
        entries.append((value, others * math.prod(size - 1 for size, is_other in pairs if is_other)))
    return most * largest_sum(entries, most)
