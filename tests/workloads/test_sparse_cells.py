"""Sparse cells: their marginals, and what strategies measure of them, are those of the whole domain."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from discreet.workloads.cell_tables import exact_cells, over
from discreet.workloads.sparse_cells import SparseCells

SIZES = (3, 4, 2)


@pytest.mark.parametrize("largest", [3, 2**31, 2**40, 2**62, 2**100])
@pytest.mark.parametrize("low", [0, -1])
def test_sparse_marginals_are_those_of_all(largest: int, low: int) -> None:
    """Of any size and sign, where cells are listed twice as well, and where none is."""
    random = np.random.default_rng(1)
    for listed in (0, 1, 40):
        places = tuple(random.integers(0, size, listed) for size in SIZES)
        values = [[int(v) * largest // 7 for v in row] for row in random.integers(7 * low, 8, (listed, 2))]
        totals = np.array(values, dtype=object).reshape(listed, 2)
        whole = np.zeros((*SIZES, 2), dtype=object)
        for at, row in zip(zip(*places, strict=True), totals, strict=True):
            whole[at] += row
        cells = exact_cells(SparseCells(SIZES, places, totals), 5)
        assert cells.shape == whole.shape
        for axes in itertools.chain.from_iterable(itertools.combinations(range(3), k) for k in range(4)):
            assert over(cells, axes).tolist() == over(whole, axes).tolist()


def test_few_totals_are_added_up_in_64_bits() -> None:
    cells = SparseCells(SIZES, (np.array([0]),) * 3, np.array([[2**40]], dtype=object))
    assert over(exact_cells(cells, 2), (0,)).dtype == np.int64
    assert over(exact_cells(cells, 2**30), (0,)).dtype == object
