"""The bound of products of queries, beside that of all their rows written out."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from discreet.workloads.cell_tables import CellTable
from discreet.workloads.matrix_strategy import MatrixStrategy, cell_rows
from discreet.workloads.ordered_queries import OrderedQueries
from discreet.workloads.product_bound import least_of_products
from discreet.workloads.product_queries import ProductQueries
from discreet.workloads.split_products import squares_of

SIZES = (4, 3, 2)
PREFIXES, TWO = np.tri(4, dtype=np.int64), np.array([[1, 1, 0], [0, 0, 1]])
MAPS = {
    "plain": (None, None, None),
    "one mapped": (PREFIXES, None, None),
    "two mapped": (PREFIXES, TWO, None),
    "all mapped": (PREFIXES, TWO, np.array([[0, 1]])),
}


def tables_of(name: str, ways: int) -> list[CellTable]:
    found = [
        CellTable(axes, tuple(MAPS[name][axis] for axis in axes), 1.0 + sum(axes))
        for k in range(ways + 1)
        for axes in itertools.combinations(range(3), k)
    ]
    return [*found, CellTable((0, 2), (None, None), 0.5)]


@pytest.mark.parametrize("name", MAPS)
@pytest.mark.parametrize("ways", [1, 2, 3])
def test_the_bound_of_products_is_that_of_all_rows(name: str, ways: int) -> None:
    """Or higher, by weights of the cells, but not above the error that there is a strategy for."""
    tables = tables_of(name, ways)
    best = MatrixStrategy(SIZES, tables, gaussian=True)
    noise = [float(best.parts[0].squared(1))]
    attained = sum(table.weight * float(best.variances(i, noise).sum()) for i, table in enumerate(tables))
    rows = np.concatenate([math.sqrt(table.weight) * cell_rows(SIZES, table) for table in tables])
    spectral = float(np.sqrt(np.maximum(np.linalg.eigvalsh(rows.T @ rows), 0.0)).sum()) ** 2 / math.prod(SIZES)
    found = least_of_products(SIZES, tables, [squares_of(table) for table in tables])
    assert found is not None
    assert found >= spectral * (1 - 1e-6)
    assert found <= attained
    if name == "plain":
        assert math.isclose(found, spectral, rel_tol=1e-6)


def test_weights_raise_the_bound_of_prefixes_to_what_is_attained() -> None:
    queries = OrderedQueries.prefixes(64)
    strategy = queries.strategy()
    found = least_of_products((64,), [CellTable((0,), (None,))], [(queries.squares,)])
    assert found is not None
    assert math.isclose(math.sqrt(found / 64), strategy.rmse(rho=0.5), rel_tol=1e-3)


@pytest.mark.parametrize("kind", ["prefixes", "ranges"])
def test_a_bound_from_fewer_rows_is_near_what_products_attain(kind: str) -> None:
    queries = ProductQueries({"a": 60, "b": 60}, ways=2, along={"a": kind, "b": kind})
    error = queries.strategy().rmse(rho=0.5)
    bound = least_of_products((60, 60), queries.tables, queries.squares, work=2.0**28)
    assert bound is not None
    assert 1 <= error / math.sqrt(bound / queries.weight) <= 1.02


def test_what_takes_too_long_is_not_known() -> None:
    """Tables that ask for different sums along the same axes, and those for which there is no work left."""
    prefixes, ranges = OrderedQueries.prefixes(60).squares, OrderedQueries.ranges(60).squares
    both = [CellTable((0, 1), (None, None)), CellTable((0, 1), (None, None))]
    assert least_of_products((60, 60), both, [(prefixes, prefixes), (ranges, ranges)]) is None
    assert least_of_products((60, 60), both[:1], [(prefixes, prefixes)], work=2.0**9) is None
    other = [CellTable((0, 1), (None, None)), CellTable((0, 2), (None, None))]
    assert least_of_products((60, 60, 60), other, [(prefixes, prefixes), (None, prefixes)]) is None
