"""Tables of linear queries on the cells of a product of attributes, and what a strategy that measures cells owes them.

A cell is one value of each attribute. A table is a marginal over some attributes, or, with a matrix along one of them,
sums of its values: the rows of one matrix are the values that one axis of the table has.

Claim
    `exact_cells` gives integers whose sums over any cells, each times at most `growth` in absolute value, do not wrap;
    `largest_sum` is the largest sum of so many of the numbers.
Requires
    Nothing: Python's integers hold what 64 bits do not.
Relies on
    NumPy's integer sums below 2**63.
Proof
    A sum over all cells of multiples by up to `growth` is at most the largest absolute value, times the number of
    cells, times `growth`; where that is 2**62 or more, the integers are Python's own.
Rounding
    None: integers.
Source
    Arithmetic.
Mutant
    growth-forgotten: multiples are taken to be no larger than the cells; killed by test_whole_numbers_do_not_wrap.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from discreet.workloads.sparse_cells import SparseCells

Reals = NDArray[np.float64]
Cells = NDArray[Any] | SparseCells
Axes = tuple[int, ...]

LARGEST = 2**62
MOST_CELLS = 2**20
"""Of a domain that is written out; of a larger one, of the tables and of what is measured."""


@dataclass(frozen=True, eq=False)
class CellTable:
    """One table: a marginal, whose axes may be mapped.

    >>> by_sex = CellTable((0,), (None,))
    >>> young = CellTable((1,), (np.array([[1, 1, 0]]),))
    >>> by_sex.shape((2, 3)), young.shape((2, 3))
    ((2,), (1,))
    """

    axes: Axes
    """The attributes, in the order of the domain's."""
    maps: tuple[NDArray[np.int64] | None, ...]
    """For each of them the sums that are asked for, a row each; None for its values as they are."""
    weight: float = 1.0
    """How much the squared error of one of its cells matters."""

    def shape(self, sizes: Sequence[int]) -> tuple[int, ...]:
        """How many values each of its axes has."""
        return tuple(sizes[axis] if own is None else len(own) for axis, own in zip(self.axes, self.maps, strict=True))

    def of(self, marginal: NDArray[Any]) -> NDArray[Any]:
        """The table from the marginal over its axes, whose last axis has the components."""
        for place, own in enumerate(self.maps):
            if own is not None:
                marginal = np.moveaxis(np.tensordot(own, marginal, (1, place)), 0, place)
        return marginal

    def back(self, weights: Reals) -> Reals:
        """Weights of its cells as weights of those of the marginal."""
        for place, own in enumerate(self.maps):
            if own is not None:
                weights = np.moveaxis(np.tensordot(own.T, weights, (1, place)), 0, place)
        return weights

    def squares(self, sizes: Sequence[int]) -> list[tuple[Reals, Reals]]:
        """Along each axis, for each of its values: the square of its row without the mean of that row; and the square
        of the row's sum. Noise in a residual table along the axis counts as the first, and along others as the second.
        """
        found = []
        for axis, own in zip(self.axes, self.maps, strict=True):
            size = sizes[axis]
            sums = np.ones(size) if own is None else own.sum(axis=1).astype(np.float64)
            whole = np.ones(size) if own is None else (own.astype(np.float64) ** 2).sum(axis=1)
            found.append((np.maximum(whole - sums**2 / size, 0.0), sums**2))
        return found

    def absolutes(self, sizes: Sequence[int]) -> list[tuple[Reals, Reals]]:
        """The same with sums of absolute values in place of sums of squares."""
        found = []
        for axis, own in zip(self.axes, self.maps, strict=True):
            rows = np.eye(sizes[axis]) if own is None else own.astype(np.float64)
            sums = rows.sum(axis=1, keepdims=True)
            found.append((np.abs(rows - sums / sizes[axis]).sum(axis=1), np.abs(sums[:, 0])))
        return found

    def subsets(self, sizes: Sequence[int]) -> Iterator[Axes]:
        """All sets of its axes that have two values or more."""
        several = [axis for axis in self.axes if sizes[axis] > 1]
        return itertools.chain.from_iterable(itertools.combinations(several, k) for k in range(len(several) + 1))


@dataclass(frozen=True, kw_only=True)
class MeasuredPart:
    """A part of what is measured: integer sums of cells that have noise of one scale."""

    share: Fraction
    """Of the strength of a price, epsilon or rho."""
    absolute: int
    """The L1 norm by which adding 1 to a cell changes it at most."""
    squared: Callable[[int], int]
    """For K: the square of the L2 norm by which it changes at most where amounts of at most 1, K in all, are added to
    cells, whatever their signs.
    """
    apart: int
    """The square of the distance at most between 1 added to one cell and 1 to another, or of another component."""
    rows: int
    """How many sums it has."""


class CellStrategy(Protocol):
    """What to measure for a number of tables, and how they follow from it."""

    @property
    def family(self) -> str:
        """What it is called."""

    @property
    def parts(self) -> tuple[MeasuredPart, ...]:
        """What is measured; the shares add up to 1 at most."""

    def measure(self, cells: Cells) -> list[NDArray[Any]]:
        """The exact parts, of shape (rows, components), from integers of shape (*sizes, components)."""

    def tables(self, noisy: Sequence[Reals]) -> list[Reals]:
        """Every table from noisy parts, of shape (cells, components)."""

    def form(self, table: int, weights: Reals) -> list[Reals]:
        """A weighted sum of a table's cells as a linear form of each part."""

    def roundings(self, table: int) -> Reals:
        """Of the form of each cell of a table the sum of absolute coefficients, or a bound of it."""

    def variances(self, table: int, noise: Sequence[float]) -> Reals:
        """The variance of each cell of a table, for noise of these variances in the parts."""

    @property
    def facts(self) -> list[Any]:
        """What tells it from others; ready for JSON."""


def exact_cells(cells: Cells, growth: int) -> Cells:
    """The same integers in a type that holds all sums of their multiples by up to `growth`."""
    totals = cells.totals if isinstance(cells, SparseCells) else cells
    largest = max(abs(int(totals.max(initial=0))), abs(int(totals.min(initial=0))))
    wide = largest * max(totals.size, 1) * growth >= LARGEST
    return cells.astype(object if wide else np.int64)


def over(cells: Cells, axes: Axes) -> NDArray[Any]:
    """The marginal of cells over some axes; the last axis stays."""
    if isinstance(cells, SparseCells):
        return cells.over(axes)
    others = tuple(axis for axis in range(cells.ndim - 1) if axis not in axes)
    return cells.sum(axis=others) if others else cells


def summed_to(table: Reals, own: Axes, left: Axes) -> Reals:
    """A table over `own` axes, added up to those that are left; further axes stay."""
    gone = tuple(place for place, axis in enumerate(own) if axis not in left)
    return table.sum(axis=gone) if gone else table


def outer(factors: Sequence[tuple[Reals, Reals]], axes: Axes, subset: Axes) -> Reals:
    """The products over the axes of a table, of the first factor for those in a subset and of the second for others."""
    whole = np.ones(())
    for axis, own in zip(axes, factors, strict=True):
        whole = np.multiply.outer(whole, own[0] if axis in subset else own[1])
    return whole


def largest_sum(values: Sequence[tuple[int, int]], most: int) -> int:
    """The sum of the `most` largest numbers of a list of numbers and how often each is there.

    >>> largest_sum([(1, 5), (3, 2)], 4)
    8
    """
    total = 0
    for value, count in sorted(values, reverse=True):
        taken = min(count, most)
        total, most = total + value * taken, most - taken
    return total


def others_of(sizes: Sequence[int], axes: Axes) -> int:
    """How many cells agree along some axes."""
    return math.prod(size for axis, size in enumerate(sizes) if axis not in axes)
