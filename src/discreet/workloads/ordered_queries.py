"""Sums over ordered cells: prefixes, ranges, windows or any linear queries, by a strategy near the best there is.

Claim
    `OrderedQueries.strategy()` is an integer matrix A of full rank, with the mean squared error of the queries answered
    from A x + Gaussian noise, computed from A as it is, and a bound that no Gaussian mechanism on linear queries is
    below. `release(x)` is rho-zCDP for units that add `contributions` to the cells in all, in whichever of them.
Requires
    That limit enforced on the cells; neighbors by adding or removing a unit, or by replacing one.
Relies on
    `mechanisms.gaussian`; floating-point linear algebra for the error alone, not for privacy.
Proof
    *Privacy.* The L2 norm of A v is at most the sum of |v| times the largest norm of a column of A, which is computed
    in integers; a unit that is replaced moves by twice that. A x is computed in Python's integers, which cannot wrap.
    *Error.* Least squares gives x + A^-1 noise, so a query w has the variance s |w A^-1|^2, s that of the noise, and
    rounding to integers adds at most half the sum of |w A^-1|.
    *Bound.* With X = A^T A and columns of norm at most 1, for any weights v >= 0: tr(G X^-1) + sum v_i X_ii is at
    least 2 tr (V^1/2 G V^1/2)^1/2, with equality at X = V^-1/2 (V^1/2 G V^1/2)^1/2 V^-1/2; scaling v for the best gives
    tr(...)^2 / sum v as a lower bound of tr(G X^-1). v = 1 gives Li and Miklau's spectral bound, and weights that grow
    where X_ii is above 1 bring X and the bound together.
Rounding
    Entries of A are rounded to multiples of 2**-20 of the largest column, before anything is computed from them.
Source
    Li, Hay, Miklau and others: the matrix mechanism (2010, 2013); Yuan, Yang, Zhang and Hao, "Convex optimization for
    linear query processing under approximate differential privacy" (2016), for the convex program.
Mutant
    half-of-a-column: half of the square of a column is taken for it; killed by
    test_one_unit_moves_the_measurements_no_further_than_stated.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.errors import InvalidParameter, expected
from discreet.exact.amounts import at_least_one, is_whole, positive, root_above
from discreet.exact.cached_property import cached_property
from discreet.exact.given_values import array_of
from discreet.mechanisms.gaussian import Gaussian
from discreet.noise.entropy import RandomWords, fresh_words
from discreet.privacy.definitions import Neighbors
from discreet.privacy.events import Event
from discreet.sensitivity.workload_sensitivity import neighbors_of
from discreet.workloads.hierarchy_least_squares import reach

Reals = NDArray[np.float64]

BITS = 20
MOST_CELLS = 4096
WORK = 2**28
"""Of cube of the number of cells times steps of the descent; one step is always taken."""
MOST_STEPS = 60
NEAR = 1e-5
"""Of the bound; closer to it nobody sees a difference."""
RIDGE = 1e-4
"""Added to the squares of the queries, as a part of their mean, where they leave some sums of cells open."""


@dataclass(frozen=True, eq=False)
class OrderedQueries:
    """Linear queries on ordered cells: of a kind, or of a matrix.

    >>> queries = OrderedQueries.ranges(64)
    >>> best = queries.strategy()
    >>> round(best.rmse(rho=0.5) / best.bound(rho=0.5), 3) <= 1.01
    True

    Raises:
        InvalidParameter: no cells or too many, or no matrix of finite numbers with something in it.
    """

    cells: int
    number: int
    """Of queries."""
    squares: Reals
    """The product of their matrix with itself, cell by cell."""

    @classmethod
    def of(cls, matrix: ArrayLike) -> Self:
        """One row for each query, one column for each cell."""
        rows = _numbers(matrix)
        return cls(_cells(rows.shape[1]), len(rows), rows.T @ rows)

    @classmethod
    def prefixes(cls, cells: int) -> Self:
        """The sum of the first cells, for each number of them: a cumulative distribution."""
        places = np.arange(_cells(cells))
        return cls(cells, cells, (cells - np.maximum.outer(places, places)).astype(np.float64))

    @classmethod
    def ranges(cls, cells: int) -> Self:
        """All sums of neighboring cells."""
        places = np.arange(_cells(cells), dtype=np.float64)
        squares = (np.minimum.outer(places, places) + 1) * (cells - np.maximum.outer(places, places))
        return cls(cells, cells * (cells + 1) // 2, squares)

    @classmethod
    def windows(cls, cells: int, width: int) -> Self:
        """The sums of so many neighboring cells, wherever they begin."""
        wide = at_least_one("width", width)
        if wide > _cells(cells):
            raise InvalidParameter(expected(f"a width of at most {cells}", "width", width, "write a smaller one."))
        starts, places = np.arange(cells - wide + 1)[:, None], np.arange(cells)
        return cls.of(((places >= starts) & (places < starts + wide)).astype(np.int8))

    def strategy(self) -> OrderedStrategy:
        """What to measure for the least mean squared error, or little above it."""
        best, bound = self.gram()
        measured = np.rint(np.linalg.cholesky(best).T * 2.0**BITS).astype(np.int64)
        return OrderedStrategy(self, measured, bound / self.number)

    def gram(self) -> tuple[Reals, float]:
        """The products of the columns of what is best measured, of norm 1, and the bound of the total at rho = 1/2."""
        cells, squares = self.cells, self.squares
        filled = squares + RIDGE * np.trace(squares) / cells * np.eye(cells) if self._is_open else squares
        weights = np.ones(cells)
        best, least, bound = np.eye(cells), math.inf, 0.0
        for _ in range(max(1, min(MOST_STEPS, WORK // cells**3))):
            found = _stationary(filled, weights)
            widths = np.diag(found).copy()
            bound = max(bound, _trace_of_root(squares, weights) ** 2 / weights.sum())
            scaled = found / np.sqrt(np.outer(widths, widths))
            error = float(np.trace(np.linalg.solve(scaled, squares)))
            if error < least:
                best, least = scaled, error
            if least <= (1 + NEAR) * bound:
                break
            weights = weights * widths**2
            weights = weights / weights.mean()
        return best, bound

    @property
    def _is_open(self) -> bool:
        return bool(np.linalg.matrix_rank(self.squares, hermitian=True) < self.cells)


def _stationary(squares: Reals, weights: Reals) -> Reals:
    """V^-1/2 (V^1/2 G V^1/2)^1/2 V^-1/2."""
    roots = np.sqrt(weights)
    values, vectors = np.linalg.eigh(squares * np.outer(roots, roots))
    root = (vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T
    found: Reals = root / np.outer(roots, roots)
    return found


def _trace_of_root(squares: Reals, weights: Reals) -> float:
    roots = np.sqrt(weights)
    values = np.linalg.eigvalsh(squares * np.outer(roots, roots))
    return float(np.sqrt(np.maximum(values, 0.0)).sum())


@dataclass(frozen=True, eq=False)
class OrderedStrategy:
    """An integer matrix to measure, and the errors that follow from it."""

    queries: OrderedQueries
    matrix: NDArray[np.int64]
    """Upper triangular, one row for each measurement."""
    _bound: float
    """The mean of the squared errors at rho = 1/2, below which none is."""

    @cached_property
    def moved(self) -> int:
        """The square of the L2 norm by which adding 1 to a cell changes the measurements at most."""
        return int(np.max(np.sum(self.matrix**2, axis=0)))

    @cached_property
    def _inverse(self) -> Reals:
        inverse: Reals = np.linalg.inv(self.matrix.astype(np.float64))
        return inverse

    def rmse(self, *, rho: object) -> float:
        """The root of the mean squared error of the queries, for units that add 1 to one cell."""
        mean = float(np.sum(self._inverse * (self.queries.squares @ self._inverse))) / self.queries.number
        return math.sqrt(mean * self.moved / (2 * float(positive("rho", rho))))

    def bound(self, *, rho: object) -> float:
        """What no Gaussian mechanism on linear queries can be below."""
        return math.sqrt(self._bound / (2 * float(positive("rho", rho))))

    def release(
        self,
        counts: ArrayLike,
        *,
        rho: object,
        contributions: int = 1,
        neighbors: Neighbors | str = Neighbors.ADD_REMOVE,
        words: RandomWords | None = None,
    ) -> NoisyCells:
        """Unbiased noisy cells, from which any sum of them has its error.

        Args:
            counts: a whole number for each cell.
            rho: what all answers cost together, in zero-concentrated differential privacy.
            contributions: how much one unit adds to the cells in all; the caller has enforced that.
            neighbors: add-remove, or replace-one.
            words: random words for tests; without them, of the operating system's secure source.

        >>> best = OrderedQueries.prefixes(8).strategy()
        >>> cells = best.release([5, 0, 3, 9, 9, 2, 1, 0], rho=1)
        >>> low, high = cells.between(2, 5), cells.half_width(2, 5)
        >>> cells.values.shape, high > 0
        ((8,), True)
        """
        array = checked_counts(counts, self.queries.cells)
        twice = neighbors_of(neighbors) is Neighbors.REPLACE_ONE
        units = at_least_one("contributions", contributions) * (2 if twice else 1)
        noise = Gaussian(sensitivity=root_above(Fraction(units**2 * self.moved)), rho=rho)
        exact: NDArray[Any] = self.matrix.astype(object) @ array.astype(object)
        noisy = noise.add_noise(exact, words or fresh_words()).astype(np.float64)
        return NoisyCells(self._inverse @ noisy, self._inverse, float(noise.scale), noise.event)


@dataclass(frozen=True, eq=False)
class NoisyCells:
    """Unbiased noisy cells whose errors belong together: sums of them are better than their parts."""

    values: Reals
    _inverse: Reals
    _scale: float
    event: Event

    def between(self, low: int, high: int) -> float:
        """The sum of the cells from `low` to below `high`."""
        return float(self.values[checked_part(low, high, len(self.values))].sum())

    def half_width(self, low: int, high: int, *, confidence: object = 0.95) -> float:
        """What that sum is off by at most, with this confidence."""
        width, form = reach(confidence, gaussian=True), self._form(low, high)
        return width * self._scale * math.sqrt(float(form @ form)) + float(np.abs(form).sum()) / 2

    def _form(self, low: int, high: int) -> Reals:
        """The weights of the measurements in that sum."""
        form: Reals = self._inverse[checked_part(low, high, len(self.values))].sum(axis=0)
        return form


def checked_counts(counts: ArrayLike, cells: int) -> NDArray[Any]:
    """Counts as an array of whole numbers, one for each cell."""
    array = array_of("counts", counts)
    if array.shape != (cells,) or array.dtype.kind not in "iu":
        what, got = f"{cells:,} whole numbers", f"{array.dtype} of the shape {array.shape}"
        raise InvalidParameter(expected(what, "counts", got, "count the rows of each cell."))
    return array


def checked_part(low: int, high: int, cells: int) -> slice:
    """Neighboring cells from `low` to below `high`."""
    whole = is_whole(low) and is_whole(high)
    if not whole or not 0 <= low < high <= cells:
        cure = f"number the cells from 0; the end, up to {cells}, is not in it."
        raise InvalidParameter(expected("cells from low to below high", "low, high", (low, high), cure))
    return slice(int(low), int(high))


def _cells(number: object) -> int:
    cells = at_least_one("cells", number)
    if cells > MOST_CELLS:
        cure = "make the cells wider, or measure marginals."
        raise InvalidParameter(expected(f"at most {MOST_CELLS:,} cells", "cells", number, cure))
    return cells


def _numbers(matrix: ArrayLike) -> Reals:
    try:
        rows = np.asarray(matrix, dtype=np.float64)
    except (TypeError, ValueError):
        rows = np.zeros(0)
    if rows.ndim != 2 or not rows.size or not np.isfinite(rows).all() or not np.any(rows):
        cure = "write one row for each query, as [[1, 1, 0], [0, 1, 1]]."
        raise InvalidParameter(expected("a matrix of finite numbers, not all 0", "matrix", "another", cure))
    return rows
