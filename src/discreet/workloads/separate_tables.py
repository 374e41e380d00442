"""Each table measured by itself: what a strategy has to beat, and the best there is where tables have little in common.

Claim
    `SeparateTables` measures every table as it is asked, at shares that make the weighted sum of variances the least
    there is for separate tables. Its parts' `squared`, `absolute` and `apart` hold. Tables do not agree.
Requires
    Maps of numbers 0 or 1.
Relies on
    Nothing further.
Proof
    A cell adds to a table the product over its axes of columns of the maps, whose norms multiply: `absolute` is the
    product of the largest sums of a column, and so, for numbers 0 and 1, is the square of the L2 norm. K amounts of at
    most 1 in all, by the triangle inequality, add at most K times that norm. Two columns are at most twice the norm
    apart; rows that do not overlap make them equal or orthogonal. With variances that go with share^-p, shares in
    proportion to the (p+1)-th roots of what each table adds at a share of 1 are best (Lagrange).
Rounding
    Shares are rounded down to multiples of 2**-60.
Source
    The textbook: a budget divided among questions.
Mutant
    overlaps-forgotten: a cell is taken to count in one row of each map; killed by
    test_cells_move_parts_no_further_than_stated.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.workloads.cell_tables import Cells, CellTable, MeasuredPart, Reals, exact_cells, over

PARTS = 2**60


class SeparateTables:
    """The tables as they are, at a share each.

    >>> strategy = SeparateTables((2,), [CellTable((), ()), CellTable((0,), (None,))], power=1)
    >>> [str(round(float(part.share), 3)) for part in strategy.parts]
    ['0.414', '0.586']
    """

    family = "each table by itself"

    def __init__(self, sizes: Sequence[int], tables: Sequence[CellTable], *, power: int) -> None:
        self.sizes, self._tables, self._power = tuple(sizes), tuple(tables), power
        costs = [table.weight * math.prod(table.shape(self.sizes)) * self._overlap(table) ** power for table in tables]
        roots = [cost ** (1 / (power + 1)) for cost in costs]
        whole = [max(1, math.floor(root / sum(roots) * (1 - 2.0**-40) * PARTS)) for root in roots]
        self._shares = [Fraction(part, PARTS) for part in whole]

    def _overlap(self, table: CellTable) -> int:
        """In how many cells of a table one cell of the domain counts at most."""
        return math.prod(1 if own is None else int(own.sum(axis=0).max()) for own in table.maps)

    @property
    def parts(self) -> tuple[MeasuredPart, ...]:
        """One for each table."""
        return tuple(
            self._part(self._overlap(table), share, math.prod(table.shape(self.sizes)))
            for table, share in zip(self._tables, self._shares, strict=True)
        )

    @staticmethod
    def _part(overlap: int, share: Fraction, rows: int) -> MeasuredPart:
        return MeasuredPart(
            share=share,
            absolute=overlap,
            squared=partial(_squared, overlap),
            apart=2 if overlap == 1 else 4 * overlap,
            rows=rows,
        )

    def measure(self, cells: Cells) -> list[NDArray[Any]]:
        """The exact tables."""
        exact = exact_cells(cells, 1)
        return [table.of(over(exact, table.axes)).reshape(-1, cells.shape[-1]) for table in self._tables]

    def tables(self, noisy: Sequence[Reals]) -> list[Reals]:
        """The tables as they were measured."""
        return [np.asarray(part, dtype=np.float64) for part in noisy]

    def form(self, table: int, weights: Reals) -> list[Reals]:
        """The weights, for its own part."""
        flat = weights.reshape(-1)
        return [
            flat if i == table else np.zeros(math.prod(own.shape(self.sizes))) for i, own in enumerate(self._tables)
        ]

    def roundings(self, table: int) -> Reals:
        """1: each cell is what was measured."""
        return np.ones(math.prod(self._tables[table].shape(self.sizes)))

    def variances(self, table: int, noise: Sequence[float]) -> Reals:
        """The same for each cell of a table."""
        return np.full(math.prod(self._tables[table].shape(self.sizes)), float(noise[table]))

    @property
    def facts(self) -> list[Any]:
        """The share of each table."""
        return [self.family, [str(share) for share in self._shares]]


def _squared(overlap: int, most: int) -> int:
    """What the squares of a table with that `overlap` are at most."""
    return most**2 * overlap
