"""Cells that fit noisy tables best among those that could be counts: none negative, or whole numbers.

Claim
    What `fitted` gives has no negative cell where `nonnegative` is asked for. `rounded` gives whole numbers that add up
    to the rounded total, with no negative one where none was.
Requires
    Tables over a domain that is written out. Nothing of it is private: it reads noisy tables alone.
Relies on
    Floating-point arithmetic, for the fit alone.
Proof
    Each step ends with a projection on the cells that are allowed. The total is that of a smallest table that counts
    each cell once, so that what is added to empty cells is taken from others. Of sums S_0 <= S_1 <= ... the whole
    numbers nearest to them rise as well, so that their differences are whole and not negative; the last one is the
    rounded total.
Rounding
    To the nearest whole number of each partial sum; halves upward.
Source
    Beck and Teboulle, "A fast iterative shrinkage-thresholding algorithm for linear inverse problems" (2009).
Mutant
    cells-unprojected: steps may end at negative cells; killed by test_no_fitted_cell_is_negative.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from discreet.workloads.cell_tables import CellTable, Reals, over

STEPS, FEWEST = 1000, 60
WORK = 2**32
"""Of cells times tables times steps, about: a minute."""
STILL = 1e-7
"""The part of the largest cell that a last step moves some cell by."""


def fitted(sizes: Sequence[int], tables: Sequence[CellTable], values: Sequence[Reals], *, nonnegative: bool) -> Reals:
    """The cells whose tables have the least weighted sum of squared differences from these, cell by cell.

    >>> rows, total = CellTable((0,), (None,)), CellTable((), ())
    >>> fitted((2,), [rows, total], [np.array([-1.0, 5.0]), np.array([4.0])], nonnegative=True).round(3).tolist()
    [0.0, 4.0]
    """
    shape = tuple(sizes)
    pairs = list(zip(tables, values, strict=True))
    bound = 1.05 * _curvature(shape, tables)
    most = max(FEWEST, min(STEPS, WORK // (math.prod(shape) * len(pairs))))
    cells = np.zeros(shape)
    ahead, momentum, total = cells, 1.0, _total(pairs)
    for _ in range(most):
        slope = _weighted_back([(table, _of(table, ahead) - own) for table, own in pairs], shape)
        stepped = ahead - slope / bound
        found = _projected(stepped, total) if nonnegative else stepped
        if np.abs(found - cells).max() <= STILL * max(1.0, float(np.abs(found).max())):
            return found
        following = (1 + math.sqrt(1 + 4 * momentum**2)) / 2
        ahead = found + (momentum - 1) / following * (found - cells)
        cells, momentum = found, following
    return cells


def _total(pairs: Sequence[tuple[CellTable, Reals]]) -> float | None:
    """The sum of all cells, by the smallest table that says it; None without one."""
    whole = [values for table, values in pairs if all(own is None for own in table.maps)]
    return max(float(min(whole, key=len).sum()), 0.0) if whole else None


def _projected(cells: Reals, total: float | None) -> Reals:
    """The nearest cells without a negative one, of this total: all less one number, and 0 where that is negative."""
    if total is None:
        return np.asarray(np.maximum(cells, 0.0))
    falling = -np.sort(-cells, axis=None)
    spare = (np.cumsum(falling) - total) / np.arange(1, cells.size + 1)
    level = spare[np.flatnonzero(falling > spare)[-1]] if total else falling[0]
    return np.asarray(np.maximum(cells - level, 0.0))


def rounded(cells: Reals) -> Reals:
    """Whole numbers instead: each partial sum, in the order of the cells, is rounded.

    >>> rounded(np.array([0.4, 0.4, 0.4, 1.0])).tolist()
    [0.0, 1.0, 0.0, 1.0]
    """
    sums = np.floor(np.cumsum(cells.reshape(-1)) + 0.5)
    found: Reals = np.diff(sums, prepend=0.0).reshape(cells.shape)
    return found


def _of(table: CellTable, cells: Reals) -> Reals:
    found: Reals = table.of(np.asarray(over(cells[..., None], table.axes)))[..., 0].reshape(-1)
    return found


def _weighted_back(parts: Sequence[tuple[CellTable, Reals]], shape: tuple[int, ...]) -> Reals:
    """The sum over tables of the transpose of `_of`, each times the weight of its table."""
    found = np.zeros(shape)
    for table, values in parts:
        marginal = table.weight * table.back(values.reshape(table.shape(shape)))
        found += marginal.reshape([shape[axis] if axis in table.axes else 1 for axis in range(len(shape))])
    return found


def _curvature(shape: tuple[int, ...], tables: Sequence[CellTable]) -> float:
    """The largest eigenvalue of the sum of squares, by powers."""
    vector, found = np.ones(shape), 1.0
    for _ in range(30):
        vector = _weighted_back([(table, _of(table, vector)) for table in tables], shape)
        found = float(np.linalg.norm(vector))
        vector = vector / found
    return found


def tables_of(tables: Sequence[CellTable], cells: Reals) -> list[Reals]:
    """All tables of some cells."""
    return [_of(table, cells) for table in tables]
