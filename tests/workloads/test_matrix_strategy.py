"""A matrix of integers times integers, exactly, whatever their size."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.workloads.matrix_strategy import MatrixStrategy, least_mean
from discreet.workloads.ordered_queries import OrderedQueries


@pytest.mark.parametrize("bits", [10, 33, 40, 45, 62, 90])
def test_large_sums_of_a_matrix_are_exact(bits: int) -> None:
    """Of Python's integers, of 64 bits, and of those that doubles hold: each at its limit."""
    strategy = MatrixStrategy.for_sums(OrderedQueries.ranges(6), gaussian=True)
    matrix = strategy.measure(np.eye(6, dtype=np.int64))[0].astype(object)
    cells = np.array([[2**bits - 1 - 3 * i] for i in range(6)], dtype=object)
    signed = cells * np.array([[1], [-1], [1], [1], [-1], [1]], dtype=object)
    for own in (cells, signed):
        (measured,) = strategy.measure(own)
        assert (measured.astype(object) == matrix @ own).all()


def test_cells_by_themselves_are_what_is_measured() -> None:
    strategy = MatrixStrategy.for_cells(300)
    (part,) = strategy.parts
    assert (part.absolute, part.squared(1), part.squared(4), part.apart, part.rows) == (1, 1, 4, 2, 300)
    assert (strategy.variances(0, [3.0]) == 3.0).all()
    assert strategy.family == "cells, added up"


@pytest.mark.parametrize("kind", ["ranges", "prefixes"])
def test_the_bound_is_that_of_the_queries(kind: str) -> None:
    queries: OrderedQueries = getattr(OrderedQueries, kind)(64)
    assert least_mean(queries) == pytest.approx(queries.strategy().bound(rho=0.5) ** 2)
