"""Tables over few cells, by a matrix that is near the best for exactly these queries.

Claim
    `MatrixStrategy` measures integer sums A x of the cells x; `tables` follow from them by least squares. Its part's
    `squared`, `absolute` and `apart` hold.
Requires
    At most `MOST_CELLS` cells in all.
Relies on
    `workloads.ordered_queries` and `workloads.laplace_strategies` for the matrix, of which nothing here is taken on
    trust.
Proof
    All three are computed from the integers of A: the L1 norms of its columns; from G = A^T A, K times the largest sum
    of K entries of a row of |G|, as in `workloads.residual_strategy`; and the largest of G_cc + G_dd + 2 max(0, -G_cd)
    over pairs of columns, where the components of two rows may be orthogonal.
    *Sums.* A sum, and each part of it on the way, is at most the largest cell times the largest L1 norm of a row of A.
Rounding
    None in integers: entries are 2**20 at most, so that sums of their products stay far below 2**62. Doubles, which are
    multiplied many times as fast, are used where all sums are below 2**53, which they hold; Python's integers where
    one may be 2**62 or more.
Source
    Li and Miklau, "Optimal error of query sets under the differentially-private matrix mechanism" (2013).
Mutant
    pairs-forgotten: two cells are no further apart than one is from nothing; killed by
    test_replaced_units_move_parts_no_further_than_stated.
    sums-beyond-doubles: doubles are used for sums below 2**62; killed by test_large_sums_of_a_matrix_are_exact.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from copy import copy
from fractions import Fraction
from functools import lru_cache, partial
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from discreet.exact.cached_property import cached_property
from discreet.workloads.cell_tables import LARGEST, Cells, CellTable, MeasuredPart, Reals, over
from discreet.workloads.laplace_strategies import coarse_to_fine, laplace_strategy
from discreet.workloads.ordered_queries import OrderedQueries

MOST_CELLS = 512
MOST_LAPLACE_CELLS = 128
MOST_ENTRIES = 2**24
STARTS = 3
MOST_STARTED = 256
"""Cells whose sums for Laplace noise are looked for from several starts: three seconds of a processor."""
KEPT = 16
UNIT = Fraction(1, 2)
"""The rho of noise of variance 1 on a count."""
EXACT = 2**53
"""Below it, doubles hold all integers."""

Integers = NDArray[np.int64]


def _best(queries: OrderedQueries, *, gaussian: bool) -> Integers:
    squares = queries.squares.tobytes()
    if gaussian:
        return _strategy(squares, queries.cells, queries.number)[0]
    return _laplace(squares, queries.cells, queries.number)


def least_mean(queries: OrderedQueries) -> float:
    """The mean of the squared errors of queries that no Gaussian mechanism on linear ones is below at rho = 1/2."""
    return _strategy(queries.squares.tobytes(), queries.cells, queries.number)[1]


@lru_cache(maxsize=KEPT)
def _strategy(squares: bytes, cells: int, number: int) -> tuple[Integers, float]:
    """The matrix for queries and their bound, remembered: a batch that is explained is often released."""
    found = OrderedQueries(cells, number, np.frombuffer(squares).reshape(cells, cells)).strategy()
    return found.matrix, found.bound(rho=UNIT) ** 2


@lru_cache(maxsize=KEPT)
def _laplace(squares: bytes, cells: int, number: int) -> Integers:
    queries = OrderedQueries(cells, number, np.frombuffer(squares).reshape(cells, cells))
    find = laplace_strategy if cells <= MOST_STARTED else coarse_to_fine
    return find(queries, starts=STARTS).matrix


def cell_rows(sizes: Sequence[int], table: CellTable) -> Reals:
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
        rows = [cell_rows(self.sizes, table) for table in self._tables]
        if matrix is None:
            weighted = [math.sqrt(table.weight) * one for table, one in zip(self._tables, rows, strict=True)]
            matrix = _best(OrderedQueries.of(np.concatenate(weighted)), gaussian=gaussian)
        self._matrix = matrix
        inverse = _inverse(matrix.astype(np.float64), gaussian=gaussian)
        self.forms = [inverse if np.array_equal(one, np.eye(len(inverse))) else one @ inverse for one in rows]
        """For each table the coefficients of what is measured, a row for each of its cells."""

    @classmethod
    def for_sums(cls, queries: OrderedQueries, *, gaussian: bool) -> Self:
        """What to measure for sums of ordered cells, from which a table of the cells follows as well."""
        matrix = _best(queries, gaussian=gaussian)
        return cls((queries.cells,), [CellTable((0,), (None,))], gaussian=gaussian, matrix=matrix)

    @classmethod
    def for_cells(cls, cells: int) -> Self:
        """Each cell of one attribute by itself."""
        found = cls((cells,), [CellTable((0,), (None,))], gaussian=True, matrix=np.eye(cells, dtype=np.int64))
        found.family = "cells, added up"
        return found

    def adding(self, rows: Reals) -> Self:
        """The same matrix, for sums of the cells of the first table in place of all tables, a row of weights each."""
        found = copy(self)
        found.forms = [rows @ self.forms[0]]
        return found

    @staticmethod
    def applies(sizes: Sequence[int], tables: Sequence[CellTable], *, gaussian: bool) -> bool:
        """Whether there are so few cells and queries that a matrix is found quickly."""
        cells = math.prod(sizes)
        queries = sum(math.prod(table.shape(sizes)) for table in tables)
        return cells <= (MOST_CELLS if gaussian else MOST_LAPLACE_CELLS) and cells * queries <= MOST_ENTRIES

    @cached_property
    def parts(self) -> tuple[MeasuredPart, ...]:
        """The one that there is."""
        gram = _product(self._matrix.T, self._matrix)
        squares = np.diag(gram)
        apart = squares[:, None] + squares[None, :] + 2 * np.maximum(-gram, 0)
        np.fill_diagonal(apart, 2 * squares)
        descending = -np.sort(-np.abs(gram), axis=1)
        return (
            MeasuredPart(
                share=Fraction(1),
                absolute=int(np.abs(self._matrix).sum(axis=0).max()),
                squared=partial(_squared, descending),
                apart=int(apart.max()),
                rows=len(self._matrix),
            ),
        )

    def measure(self, cells: Cells) -> list[NDArray[Any]]:
        """The sums of exact cells."""
        every = over(cells, tuple(range(len(self.sizes))))
        return [_product(self._matrix, every.reshape(-1, cells.shape[-1]))]

    def tables(self, noisy: Sequence[Reals]) -> list[Reals]:
        """The tables, by least squares."""
        return [form @ noisy[0].astype(np.float64) for form in self.forms]

    def form(self, table: int, weights: Reals) -> list[Reals]:
        """The coefficients of the measured sums."""
        found: Reals = weights.reshape(-1) @ self.forms[table]
        return [found]

    def roundings(self, table: int) -> Reals:
        """Of the form of each cell of a table the sum of absolute coefficients."""
        found: Reals = np.abs(self.forms[table]).sum(axis=1)
        return found

    def variances(self, table: int, noise: Sequence[float]) -> Reals:
        """The variance of each cell of a table."""
        found: Reals = (self.forms[table] ** 2).sum(axis=1) * noise[0]
        return found

    @property
    def facts(self) -> list[Any]:
        """The entries of the matrix, as a digest."""
        import hashlib

        return ["matrix", self._matrix.shape, hashlib.sha256(self._matrix.tobytes()).hexdigest()]


def _inverse(matrix: Reals, *, gaussian: bool) -> Reals:
    """What gives the cells from what is measured, by least squares."""
    if np.array_equal(matrix, np.eye(len(matrix.T))):
        return matrix
    return np.asarray(np.linalg.inv(matrix) if gaussian else np.linalg.solve(matrix.T @ matrix, matrix.T))


def _product(matrix: Integers, cells: NDArray[Any]) -> NDArray[Any]:
    """An integer matrix times integers, exactly."""
    largest = max(abs(int(cells.max(initial=0))), abs(int(cells.min(initial=0))))
    most = largest * int(np.abs(matrix).sum(axis=1).max())
    if most < EXACT:
        return (matrix.astype(np.float64) @ cells.astype(np.float64)).astype(np.int64)
    wide = np.dtype(np.int64 if most < LARGEST else object)
    product: NDArray[Any] = matrix.astype(wide) @ cells.astype(wide)
    return product


def _squared(descending: NDArray[Any], most: int) -> int:
    """What the squares of so many rows are at most, whose products with others are `descending`."""
    return most * int(descending[:, :most].sum(axis=1).max())
