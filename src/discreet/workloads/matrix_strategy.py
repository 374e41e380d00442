"""Tables over few cells, by a matrix that is near the best for exactly these queries.

Claim
    `MatrixStrategy` measures integer sums A x of the cells x; `tables` follow from them by least squares. Its part's
    `squared`, `absolute` and `apart` hold.
Requires
    At most `MOST_CELLS` cells in all.
Relies on
    `workloads.ordered` and `workloads.laplace_strategies` for the matrix, of which nothing here is taken on trust.
Proof
    All three are computed from the integers of A: the L1 norms of its columns; from G = A^T A, K times the largest sum
    of K entries of a row of |G|, as in `workloads.residual_strategy`; and the largest of G_cc + G_dd + 2 max(0, -G_cd)
    over pairs of columns, where the components of two rows may be orthogonal.
Rounding
    None in integers: entries are 2**20 at most, so that sums of their products stay far below 2**62.
Source
    Li and Miklau, "Optimal error of query sets under the differentially-private matrix mechanism" (2013).
Mutant
    pairs-forgotten: two cells are no further apart than one is from nothing; killed by
    test_replaced_units_move_parts_no_further_than_stated.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from discreet.workloads.cell_tables import Cells, CellTable, MeasuredPart, Reals, exact_cells, over
from discreet.workloads.laplace_strategies import laplace_strategy
from discreet.workloads.ordered import BITS, OrderedQueries

MOST_CELLS = 512
MOST_LAPLACE_CELLS = 128
MOST_ENTRIES = 2**24
STARTS = 3
KEPT = 16

Integers = NDArray[np.int64]


def _best(queries: OrderedQueries, *, gaussian: bool) -> Integers:
    return _kept(queries.squares.tobytes(), queries.cells, queries.number, gaussian=gaussian)


@lru_cache(maxsize=KEPT)
def _kept(squares: bytes, cells: int, number: int, *, gaussian: bool) -> Integers:
    """The matrix for queries, remembered: a batch that is explained is often released."""
    queries = OrderedQueries(cells, number, np.frombuffer(squares).reshape(cells, cells))
    return queries.strategy().matrix if gaussian else laplace_strategy(queries, starts=STARTS).matrix


def rows_of(sizes: Sequence[int], table: CellTable) -> Reals:
    """One row for each cell of a table, over all cells of the domain."""
    whole: Reals = np.ones((1, 1))
    for axis, size in enumerate(sizes):
        own = np.ones((1, size)) if axis not in table.axes else table.maps[table.axes.index(axis)]
        whole = np.asarray(np.kron(whole, np.eye(size) if own is None else own), dtype=np.float64)
    return whole


class MatrixStrategy:
    """The sums of cells to measure for some tables.

    >>> table = CellTable((0,), (np.tri(4, dtype=np.int64),))
    >>> strategy = MatrixStrategy((4,), [table], gaussian=True)
    >>> [round(float(value)) for value in strategy.tables(strategy.measure(np.array([[5], [0], [2], [1]])))[0][:, 0]]
    [5, 5, 7, 8]
    """

    family = "a matrix for these questions"

    def __init__(
        self, sizes: Sequence[int], tables: Sequence[CellTable], *, gaussian: bool, matrix: Integers | None = None
    ) -> None:
        self.sizes, self._tables = tuple(sizes), tuple(tables)
        rows = [rows_of(self.sizes, table) for table in self._tables]
        if matrix is None:
            weighted = [math.sqrt(table.weight) * one for table, one in zip(self._tables, rows, strict=True)]
            matrix = _best(OrderedQueries.of(np.concatenate(weighted)), gaussian=gaussian)
        self._matrix = matrix
        dense = matrix.astype(np.float64)
        inverse: Reals = np.asarray(np.linalg.inv(dense) if gaussian else np.linalg.solve(dense.T @ dense, dense.T))
        self._forms = [one @ inverse for one in rows]

    @classmethod
    def for_ranges(cls, table: CellTable, cells: int, *, gaussian: bool) -> Self:
        """What to measure for all sums of neighboring cells, from which a table of the cells follows as well."""
        return cls((cells,), [table], gaussian=gaussian, matrix=_best(OrderedQueries.ranges(cells), gaussian=gaussian))

    @staticmethod
    def applies(sizes: Sequence[int], tables: Sequence[CellTable], *, gaussian: bool) -> bool:
        """Whether there are so few cells and queries that a matrix is found quickly."""
        cells = math.prod(sizes)
        queries = sum(math.prod(table.shape(sizes)) for table in tables)
        return cells <= (MOST_CELLS if gaussian else MOST_LAPLACE_CELLS) and cells * queries <= MOST_ENTRIES

    @property
    def parts(self) -> tuple[MeasuredPart, ...]:
        """The one that there is."""
        gram = self._matrix.T @ self._matrix
        squares = np.diag(gram)
        apart = squares[:, None] + squares[None, :] + 2 * np.maximum(-gram, 0)
        np.fill_diagonal(apart, 2 * squares)
        descending = -np.sort(-np.abs(gram), axis=1)
        return (
            MeasuredPart(
                share=Fraction(1),
                absolute=int(np.abs(self._matrix).sum(axis=0).max()),
                squared=lambda most: most * int(descending[:, :most].sum(axis=1).max()),
                apart=int(apart.max()),
                rows=len(self._matrix),
            ),
        )

    def measure(self, cells: Cells) -> list[NDArray[Any]]:
        """The sums of exact cells."""
        every = over(cells, tuple(range(len(self.sizes))))
        flat = over(exact_cells(every.reshape(-1, cells.shape[-1]), 2 ** (BITS + 1)), (0,))
        return [self._matrix.astype(flat.dtype) @ flat]

    def tables(self, noisy: Sequence[Reals]) -> list[Reals]:
        """The tables, by least squares."""
        return [form @ noisy[0].astype(np.float64) for form in self._forms]

    def form(self, table: int, weights: Reals) -> list[Reals]:
        """The coefficients of the measured sums."""
        found: Reals = weights.reshape(-1) @ self._forms[table]
        return [found]

    def roundings(self, table: int) -> Reals:
        """Of the form of each cell of a table the sum of absolute coefficients."""
        found: Reals = np.abs(self._forms[table]).sum(axis=1)
        return found

    def variances(self, table: int, noise: Sequence[float]) -> Reals:
        """The variance of each cell of a table."""
        found: Reals = (self._forms[table] ** 2).sum(axis=1) * noise[0]
        return found

    @property
    def facts(self) -> list[Any]:
        """The entries of the matrix, as a digest."""
        import hashlib

        return ["matrix", self._matrix.shape, hashlib.sha256(self._matrix.tobytes()).hexdigest()]
