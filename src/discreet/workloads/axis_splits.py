"""An attribute split in two: the sum over its values, and what differs from a fixed division of that sum.

Claim
    For a split with integer matrix C, division z and inverse R, x = z (sum of x) + R C x for every x. `largest` and
    `absolute` are the largest square of the L2 norm and the largest L1 norm of a column of C, `growth` the largest L1
    norm of a row.
Requires
    For `oblique`, a square matrix of sums of products that is positive semi-definite.
Relies on
    Floating-point linear algebra for z and R, that is for errors alone; what C is, is taken from its integers.
Proof
    C has one row less than values, and rank as many as rows, so one vector z, scaled to the sum 1, has C z = 0. Let R
    be (I - z 1^T) times the pseudo-inverse of C. The pseudo-inverse of C times C x is x - t z for some t, and
    (I - z 1^T)(x - t z) = x - z (sum of x), as 1^T z = 1. For the even split C is d I - J, which has the same with
    z = 1/d and R = (I - J/d) / d.
    *Choice.* Tables that leave the attribute out need its sum, others its values; so X, what all of them should be
    measured with, is taken as the best for their squares and a part `mix` of J. With j = 1^T X^-1 1 it is J/j, the
    sum, and X - J/j, which no sum is in: C is a root of that, and z is X^-1 1 / j. So measurements are apart, and no
    correlation is given away, which an even split would do where values are ordered.
Rounding
    C is rounded to multiples of 2**-bits of a column, before anything is computed from it.
Source
    Splits along the mean: Xiao, He, Zhang and Kifer, "An optimal and scalable matrix mechanism for noisy marginals
    under convex loss functions" (2023). Oblique ones are our own.
Mutant
    sums-of-the-division: the inverse leaves a part of the sum in; killed by test_splits_give_back_what_was_split.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.exact.cached_property import cached_property

Reals = NDArray[np.float64]

MIXES = (0.1, 0.0, 0.02, 0.3, 1.0, 3.0, 10.0)
"""How much the sum counts beside the values; the first ones where there is time for few."""
MOST_VALUES = 2048
"""Of an oblique split: its matrix is found by eigenvalues."""
WORK = 2**25
"""Of the cube of the number of values times steps; one step is always taken."""
MOST_STEPS = 12
RIDGE = 1e-4
"""Added to squares that leave some sums of values open, as a part of their mean."""
KEPT = 64


@dataclass(frozen=True, eq=False)
class AxisSplit:
    """A split: what is measured beside the sum, and how values follow."""

    matrix: NDArray[np.int64]
    division: Reals
    inverse: Reals

    @cached_property
    def gram(self) -> NDArray[np.int64]:
        """The products of the columns of the matrix.

        Doubles hold them, and each partial sum of them, where no column's square of the L2 norm exceeds 2**53 (Cauchy
        and Schwarz); their products are found 50 times as fast as those of integers.
        """
        if self.largest <= 2**53:
            reals = self.matrix.astype(np.float64)
            return (reals.T @ reals).astype(np.int64)
        found: NDArray[np.int64] = self.matrix.T @ self.matrix
        return found

    @cached_property
    def largest(self) -> int:
        """The largest square of the L2 norm of a column."""
        return int(np.einsum("ij,ij->j", self.matrix, self.matrix).max(initial=0))

    @cached_property
    def absolute(self) -> int:
        """The largest L1 norm of a column."""
        return int(np.abs(self.matrix).sum(axis=0).max(initial=0))

    @cached_property
    def growth(self) -> int:
        """The largest L1 norm of a row."""
        return int(np.abs(self.matrix).sum(axis=1).max(initial=1))

    @cached_property
    def together(self) -> NDArray[np.int64]:
        """For each number of values the largest sum of so many absolute products of one column with others."""
        descending = -np.sort(-np.abs(self.gram), axis=1)
        found: NDArray[np.int64] = np.cumsum(descending, axis=1).max(axis=0)
        return found

    @cached_property
    def covariance(self) -> Reals:
        """That of the values, for noise of variance 1 in each measurement and none in the sum."""
        found: Reals = self.inverse @ self.inverse.T
        return found

    def spread(self, squares: Reals | None) -> tuple[float, float]:
        """The sum of the variances of queries with these squares: for noise of variance 1 in the sum, and in each
        measurement. Without squares, of the values themselves.
        """
        if squares is None:
            return float(self.division @ self.division), float(np.trace(self.covariance))
        return float(self.division @ squares @ self.division), float(np.sum(squares * self.covariance))


@lru_cache(maxsize=KEPT)
def even(values: int) -> AxisSplit:
    """The split along the mean.

    >>> even(2).matrix.tolist(), even(2).division.tolist()
    ([[1, -1], [-1, 1]], [0.5, 0.5])
    """
    centered = np.eye(values) - 1.0 / values
    matrix = values * np.eye(values, dtype=np.int64) - 1
    return AxisSplit(matrix, np.full(values, 1.0 / values), centered / values)


def oblique(squares: Reals, *, bits: int) -> tuple[AxisSplit, ...]:
    """Splits for queries of these squares, one for each mix with the sum, as many as there is time for."""
    return _oblique(squares.tobytes(), len(squares), bits)


@lru_cache(maxsize=KEPT)
def _oblique(squares: bytes, values: int, bits: int) -> tuple[AxisSplit, ...]:
    whole = np.frombuffer(squares).reshape(values, values)
    mixes = MIXES if values <= MOST_VALUES // 4 else MIXES[:2]
    return tuple(_split(_best(whole, mix)[0], bits) for mix in mixes)


def cell_weights(squares: Reals, mix: float) -> Reals:
    """Weights of the values, 1 on average, with which the bound of queries of these squares is large."""
    return _best(squares, mix)[1]


def _best(squares: Reals, mix: float) -> tuple[Reals, Reals]:
    """What to measure all of these queries and their sum with, as sums of products whose diagonal is 1; and weights
    under which nothing is better.
    """
    mean = float(np.trace(squares)) / len(squares)
    if np.linalg.matrix_rank(squares, hermitian=True) < len(squares):
        squares = squares + RIDGE * mean * np.eye(len(squares))
    squares = squares + mix * mean
    weights, least, best = np.ones(len(squares)), np.inf, np.eye(len(squares))
    for _ in range(max(1, min(MOST_STEPS, WORK // len(squares) ** 3))):
        roots = np.sqrt(weights)
        values, vectors = np.linalg.eigh(squares * np.outer(roots, roots))
        found = (vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T / np.outer(roots, roots)
        widths = np.diag(found).copy()
        scaled = found / np.sqrt(np.outer(widths, widths))
        error = float(np.trace(np.linalg.solve(scaled, squares)))
        if error < least:
            best, least = scaled, error
        weights = weights * widths**2
        weights = weights / weights.mean()
    return best, weights


def _split(best: Reals, bits: int) -> AxisSplit:
    ones = np.ones(len(best))
    apart = best - 1.0 / float(ones @ np.linalg.solve(best, ones))
    values, vectors = np.linalg.eigh(apart)
    rows = np.sqrt(np.maximum(values[1:], 0.0))[:, None] * vectors[:, 1:].T
    return split_of(np.rint(rows * 2.0**bits).astype(np.int64))


def split_of(matrix: NDArray[np.int64]) -> AxisSplit:
    """The split of a matrix whose rank is its number of rows, one less than that of its columns.

    >>> split_of(np.array([[3, -1]])).division.tolist()
    [0.25, 0.75]
    """
    dense = matrix.astype(np.float64)
    kernel = np.linalg.svd(dense)[2][-1]
    division = kernel / kernel.sum()
    inverse: Reals = np.linalg.pinv(dense).astype(np.float64)
    return AxisSplit(matrix, division, inverse - np.outer(division, inverse.sum(axis=0)))


def along(matrix: NDArray[Any], table: NDArray[Any], axis: int) -> NDArray[Any]:
    """A table with one of its axes replaced by a matrix times it."""
    return np.moveaxis(np.tensordot(matrix, table, (1, axis)), 0, axis)
