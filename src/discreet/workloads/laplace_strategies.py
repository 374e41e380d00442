"""Queries on ordered cells at a pure epsilon: cells and sums of cells to measure with Laplace noise.

Claim
    `laplace_strategy(queries)` is an integer matrix A of full rank, with the mean squared error of the queries answered
    by least squares from A x + Laplace noise, computed from A as it is. `release(x)` is epsilon-differentially private
    for units that add `contributions` to the cells in all, in whichever of them.
Requires
    That limit enforced on the cells; neighbors by adding or removing a unit, or by replacing one.
Relies on
    `mechanisms.laplace`; `noise.weighted_sums` for the quantile of a sum of noise; floating-point linear algebra for
    the error alone, not for privacy.
Proof
    *Privacy.* The L1 norm of A v is at most the sum of |v| times the largest L1 norm of a column of A, which is
    computed in integers; a unit that is replaced moves by twice that. A x is computed in Python's integers.
    *Error.* With P the pseudo-inverse of A, P A = I, so a query w has the error w P noise: a weighted sum of
    independent Laplace noise.
    *Choice.* With S = diag(1 + column sums of B), the columns of (I; B) S^-1 have norm 1 for B >= 0, and the sum of
    squares is 2 tr(S G S (I + B^T B)^-1) / epsilon^2. Descent on B from several starts, which are the same each time,
    finds a small one; that it is the least is not claimed. Of many cells, B is that of half as many, each of which is
    two neighbors, and a few steps of descent; and so on down to few cells.
Rounding
    Entries of A are rounded to multiples of 2**-20 of the largest column, before anything is computed from them.
Source
    Li and Miklau (2013) for the mechanism; McKenna, Miklau, Hay and Machanavajjhala, "Optimizing error of
    high-dimensional statistical queries under differential privacy" (2018), for the form (I; B).
Mutant
    pairs-taken-as-measured: halves of pairs that are hardly measured are hardly measured; killed by
    test_many_cells_are_planned_from_few.
    columns-squared: the L2 norm of a column is taken for its L1 norm; killed by
    test_one_unit_moves_what_is_measured_no_further_than_stated.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.errors import InvalidParameter, expected
from discreet.exact.amounts import at_least_one, confidence_level, positive
from discreet.exact.cached_property import cached_property
from discreet.mechanisms.laplace import Laplace
from discreet.noise.entropy import RandomWords, fresh_words
from discreet.noise.weighted_sums import LAPLACE, cached_quantile
from discreet.privacy.definitions import Neighbors
from discreet.sensitivity.workload_sensitivity import neighbors_of
from discreet.workloads.ordered_queries import BITS, NoisyCells, OrderedQueries, checked_counts

Reals = NDArray[np.float64]

MOST_CELLS = 512
"""Of which B is found from several starts."""
MOST_FINE = 2048
FEW = 128
"""Cells that B of many begins with."""
WORK = 2**23
"""Of the square of the number of cells times steps of descent, for each halving."""
STARTS = 16
STEPS = 600
FINE_STEPS = 30
MOST_NORM = 16.0
"""Of a column of B that pairs are halved with: the pair may hardly be measured beside sums, and its halves have to be.
"""
LEAST_TERM = 1e-9
"""Weights of noise below this part of the largest add nothing to a quantile that is seen."""


def laplace_strategy(queries: OrderedQueries, *, starts: int = STARTS) -> LaplaceStrategy:
    """What to measure with Laplace noise for a small mean squared error.

    Args:
        queries: on at most 2,048 cells; of more than 512, what neighbors are asked for should be alike.
        starts: of the descent; more take longer, and may find less.

    Raises:
        InvalidParameter: there are more cells.

    >>> best = laplace_strategy(OrderedQueries.ranges(64), starts=2)
    >>> best.rmse(epsilon=1) < 6  # 6.63 where each cell is measured, and added up
    True
    """
    cells, squares = queries.cells, queries.squares
    if cells > MOST_FINE:
        raise InvalidParameter(expected(f"at most {MOST_FINE:,} cells", "cells", cells, "use Gaussian noise."))
    number = at_least_one("starts", starts)
    if cells > MOST_CELLS:
        return coarse_to_fine(queries, starts=number)
    return LaplaceStrategy(queries, _integers(_best_sums(squares, number)))


def coarse_to_fine(queries: OrderedQueries, *, starts: int) -> LaplaceStrategy:
    """The same for many cells, in a fraction of the time, with an error of a few percent more."""
    return LaplaceStrategy(queries, _integers(_refined(queries.squares, starts)))


def _refined(squares: Reals, starts: int) -> Reals:
    """Sums of cells that are found for pairs of neighbors first."""
    cells = len(squares)
    if cells <= FEW:
        return _best_sums(squares, starts)
    pairs = np.arange(cells) // 2
    merged = np.equal.outer(np.arange(pairs[-1] + 1), pairs) / np.bincount(pairs)[:, None]
    coarse = _refined(merged @ squares @ merged.T, starts)
    norms = np.maximum(coarse.sum(axis=0), LEAST_TERM)
    sums_of = (coarse * np.minimum(1.0, MOST_NORM / norms))[:, pairs]
    steps = min(FINE_STEPS, WORK // cells**2) if len(sums_of) else 0
    found = _descent(squares, sums_of, steps)[0] if steps else sums_of
    least = _error_and_slope(found.reshape(-1), squares)[0]
    return found if least < float(np.trace(squares)) else np.zeros((0, cells))


def _best_sums(squares: Reals, starts: int) -> Reals:
    """Sums of cells to measure beside the cells, by descent from several starts; none, where none makes up for it."""
    cells = len(squares)
    best, least = np.zeros((0, cells)), float(np.trace(squares))
    for turn in range(starts):
        rows = max(1, round(cells / (16, 12, 16, 24, 16)[turn % 5]))
        found, error = _descent(squares, _start(turn, rows, cells), STEPS)
        if error < least:
            best, least = found, error
    return best


def _descent(squares: Reals, start: Reals, steps: int) -> tuple[Reals, float]:
    from scipy.optimize import minimize

    found = minimize(
        _error_and_slope, start.reshape(-1), args=(squares,), jac=True, method="L-BFGS-B",
        bounds=[(0.0, None)] * start.size, options={"maxiter": steps, "maxfun": 2 * steps, "maxcor": 20},
    )  # fmt: skip
    return found.x.reshape(start.shape), float(found.fun)


def _integers(sums_of: Reals) -> NDArray[np.int64]:
    """Cells and sums of them, whose columns have a norm of 1, as integers."""
    measured = np.concatenate([np.eye(sums_of.shape[1]), sums_of[sums_of.sum(axis=1) > LEAST_TERM]])
    found: NDArray[np.int64] = np.rint(measured / (1 + sums_of.sum(axis=0)) * 2.0**BITS).astype(np.int64)
    return found


def _start(turn: int, rows: int, cells: int) -> Reals:
    """Sums of cells without a pattern, another one in each turn: no randomness, since nothing here is private."""
    numbers = np.arange(1, rows * cells + 1, dtype=np.float64).reshape(rows, cells)
    spread: Reals = np.modf(np.abs(np.sin(12.9898 * numbers + 78.233 * (turn + 1))) * 43758.5453)[0]
    scale = 0.5 + 2.5 * float(np.modf(0.618034 * (turn + 1))[0])
    return scale * spread


def _error_and_slope(flat: Reals, squares: Reals) -> tuple[float, Reals]:
    """tr(S G S (I + B^T B)^-1) and its derivative by B."""
    cells = len(squares)
    sums_of = flat.reshape(-1, cells)
    norms = 1 + sums_of.sum(axis=0)
    inner = np.eye(len(sums_of)) + sums_of @ sums_of.T
    inverse = np.eye(cells) - sums_of.T @ np.linalg.solve(inner, sums_of)
    scaled = squares * np.outer(norms, norms)
    by_norms = (squares * inverse) @ norms
    slope = 2 * by_norms - 2 * sums_of @ inverse @ scaled @ inverse
    return float(np.sum(scaled * inverse)), slope.reshape(-1)


@dataclass(frozen=True, eq=False)
class LaplaceStrategy:
    """An integer matrix to measure, and the errors that follow from it."""

    queries: OrderedQueries
    matrix: NDArray[np.int64]
    """One row for each measurement: the cells first."""

    @cached_property
    def moved(self) -> int:
        """The L1 norm by which adding 1 to a cell changes the measurements at most."""
        return int(np.max(np.sum(np.abs(self.matrix), axis=0)))

    @cached_property
    def _inverse(self) -> Reals:
        dense: Reals = self.matrix.astype(np.float64)
        inverse: Reals = np.linalg.solve(dense.T @ dense, dense.T).astype(np.float64)
        return inverse

    def rmse(self, *, epsilon: object) -> float:
        """The root of the mean squared error of the queries, for units that add 1 to one cell."""
        mean = float(np.sum(self._inverse * (self.queries.squares @ self._inverse))) / self.queries.number
        return math.sqrt(2 * mean) * self.moved / float(positive("epsilon", epsilon))

    def release(
        self,
        counts: ArrayLike,
        *,
        epsilon: object,
        contributions: int = 1,
        neighbors: Neighbors | str = Neighbors.ADD_REMOVE,
        words: RandomWords | None = None,
    ) -> LaplaceCells:
        """Unbiased noisy cells, from which any sum of them has its error; arguments as of `OrderedStrategy.release`.

        >>> cells = laplace_strategy(OrderedQueries.prefixes(8)).release([5, 0, 3, 9, 9, 2, 1, 0], epsilon=1)
        >>> cells.values.shape, cells.half_width(0, 8) > 0
        ((8,), True)
        """
        array = checked_counts(counts, self.queries.cells)
        twice = neighbors_of(neighbors) is Neighbors.REPLACE_ONE
        units = at_least_one("contributions", contributions) * (2 if twice else 1)
        noise = Laplace(sensitivity=Fraction(units * self.moved), epsilon=epsilon)
        exact: NDArray[Any] = self.matrix.astype(object) @ array.astype(object)
        noisy = noise.add_noise(exact, words or fresh_words()).astype(np.float64)
        return LaplaceCells(self._inverse @ noisy, self._inverse, float(noise.scale), noise.event)


class LaplaceCells(NoisyCells):
    """The same with Laplace noise."""

    def half_width(self, low: int, high: int, *, confidence: object = 0.95) -> float:
        """What that sum is off by at most, with this confidence: the quantile of its noise."""
        level, terms = confidence_level(confidence), tuple((self._form(low, high) * self._scale).tolist())
        return cached_quantile(LAPLACE, terms, level, 1 / self._scale)
