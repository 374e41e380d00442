"""Cells of a domain that is too large to be written out: those that have rows, and where they are.

Claim
    `over` gives the marginal that the cells of the whole domain have, in exact integers.
Requires
    Places within the domain.
Relies on
    Integer sums of NumPy.
Proof
    A cell without rows adds 0 to each marginal. *Sums.* Totals of 64 bits are added up in 64 bits, as
    `workloads.cell_tables.exact_cells` allows. Python's integers are split into digits of `DIGIT` bits, the last one
    with the sign; fewer than 2**31 cells are listed, so that sums of each digit stay below 2**62, and are put together
    in Python's integers.
Rounding
    None.
Source
    Our own.
Mutant
    low-digits-lost: totals of more than one digit lose the others; killed by test_sparse_marginals_are_those_of_all.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

DIGIT = 31
MOST_LISTED = 2**31 - 1

Integers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class SparseCells:
    """The cells of a domain that are not 0.

    >>> cells = SparseCells((1000, 1000), (np.array([7, 7]), np.array([0, 3])), np.array([[5], [2]]))
    >>> cells.over((0,))[7]
    array([7])
    """

    sizes: tuple[int, ...]
    places: tuple[Integers, ...]
    """Along each axis the place of each listed cell."""
    totals: NDArray[Any]
    """Of shape (listed cells, components)."""

    @property
    def shape(self) -> tuple[int, ...]:
        """That of the whole domain, and the number of components."""
        return (*self.sizes, self.totals.shape[1])

    def astype(self, kind: Any) -> SparseCells:
        """The same with totals of another type of integers."""
        return replace(self, totals=self.totals.astype(kind))

    def __mul__(self, factor: int) -> SparseCells:
        return replace(self, totals=self.totals * factor)

    def over(self, axes: Sequence[int]) -> NDArray[Any]:
        """The marginal over some axes; the last axis has the components."""
        sizes = [self.sizes[axis] for axis in axes]
        cells, components = math.prod(sizes), self.totals.shape[1]
        at = np.zeros(len(self.totals), dtype=np.int64)
        for axis, size in zip(axes, sizes, strict=True):
            at = at * size + self.places[axis]
        added = [_summed(at, self.totals[:, i], cells) for i in range(components)]
        return np.stack(added, axis=1).reshape(*sizes, components)


def _summed(at: Integers, values: NDArray[Any], cells: int) -> NDArray[Any]:
    """The sum of the values at each place, of their type."""
    if values.dtype != object:
        return _added(at, values, cells)
    if len(values) > MOST_LISTED:
        raise ValueError(cells)
    whole, left, digits = np.zeros(cells, dtype=object), values, 0
    while left.size and (np.abs(left) >= 2**DIGIT).any():
        whole += _added(at, (left & (2**DIGIT - 1)).astype(np.int64), cells).astype(object) << (DIGIT * digits)
        left, digits = left >> DIGIT, digits + 1
    whole += _added(at, left.astype(np.int64), cells).astype(object) << (DIGIT * digits)
    return whole


def _added(at: Integers, values: Integers, cells: int) -> Integers:
    sums = np.zeros(cells, dtype=np.int64)
    np.add.at(sums, at, values)
    return sums
