"""Bounds of the trace of a root from few rows, beside the trace of the root of the matrix written out."""

from __future__ import annotations

import itertools
import math
from functools import reduce

import numpy as np
import pytest

from discreet.workloads.cell_tables import Axes, CellTable, Reals
from discreet.workloads.matrix_strategy import MatrixStrategy, cell_rows
from discreet.workloads.ordered_queries import OrderedQueries
from discreet.workloads.pinched_bound import PinchedAxis, least_of_pinched, least_trace
from discreet.workloads.product_bound import least_of_products
from discreet.workloads.split_products import squares_of

LENGTHS = (7, 6, 5)
SETS: dict[str, dict[Axes, float]] = {
    "one": {(0,): 2.0},
    "apart": {(0,): 1.0, (1,): 3.0, (2,): 0.5},
    "pairs": {(0, 1): 1.0, (0, 2): 2.0, (1, 2): 0.1},
    "cube": {one: 1.0 + sum(one) for k in range(4) for one in itertools.combinations(range(3), k)},
    "uneven": {(): 5.0, (0, 1, 2): 0.3, (1,): 40.0},
}


def drawn(kind: str) -> tuple[list[Reals], list[Reals]]:
    """Squares and weights of cells."""
    generator = np.random.default_rng(5)
    if kind == "prefixes":
        squares = [OrderedQueries.prefixes(length).squares for length in LENGTHS]
    else:
        few = 3 if kind == "singular" else 9
        queries = [generator.normal(size=(few, length)) for length in LENGTHS]
        squares = [rows.T @ rows for rows in queries]
    return squares, [generator.uniform(0.2, 3.0, length) for length in LENGTHS]


def trace(squares: list[Reals], weights: list[Reals], sets: dict[Axes, float]) -> float:
    """Of the root of the whole matrix."""
    whole = np.zeros((math.prod(LENGTHS),) * 2)
    for one, weight in sets.items():
        roots = [np.sqrt(own) for own in weights]
        own = [np.outer(r, r) * (s if i in one else 1.0) for i, (s, r) in enumerate(zip(squares, roots, strict=True))]
        whole += weight * np.asarray(reduce(lambda left, right: np.asarray(np.kron(left, right)), own))
    values = np.linalg.eigvalsh(whole)
    return float(np.sqrt(values[values > values[-1] * 1e-13]).sum())


@pytest.mark.parametrize("kind", ["prefixes", "random", "singular"])
@pytest.mark.parametrize("name", SETS)
def test_the_trace_of_a_root_is_never_below_its_bound(name: str, kind: str) -> None:
    squares, weights = drawn(kind)
    axes = [PinchedAxis.of(own, cells) for own, cells in zip(squares, weights, strict=True)]
    exact = trace(squares, weights, SETS[name])
    found = [least_trace(axes, SETS[name], kept) for kept in (1, 2, 3, 6)]
    assert max(found) <= exact * (1 + 1e-9)
    assert math.isclose(found[-1], exact, rel_tol=1e-6)
    if kind == "prefixes":
        assert found[2] > 0.95 * exact


@pytest.mark.parametrize("seed", range(20))
def test_what_pinching_loses_is_bounded(seed: int) -> None:
    """For any matrix and any blocks; those of small eigenvalues and strong couplings are the hard ones."""
    generator = np.random.default_rng(seed)
    rows = generator.normal(size=(12, 12)) * generator.uniform(0, 1, 12) ** 4
    whole, blocks = rows.T @ rows, generator.integers(0, 3, 12)
    pinched = np.where(np.equal.outer(blocks, blocks), whole, 0.0)
    values, vectors = np.linalg.eigh(pinched)
    roots = np.sqrt(values)
    entries = vectors.T @ (whole - pinched) @ vectors
    lost = float((entries**2 / (np.add.outer(roots, roots) * np.multiply.outer(roots, roots))).sum())
    exact = float(np.sqrt(np.maximum(np.linalg.eigvalsh(whole), 0.0)).sum())
    assert float(roots.sum()) - lost <= exact * (1 + 1e-9)
    assert exact <= float(roots.sum()) * (1 + 1e-9)


def test_squares_that_the_sum_is_an_eigenvector_of_lose_nothing() -> None:
    axes = [PinchedAxis.of(np.eye(length) * 2 + 1, np.ones(length)) for length in LENGTHS]
    squares, even = [np.eye(length) * 2 + 1 for length in LENGTHS], [np.ones(length) for length in LENGTHS]
    found = least_trace(axes, SETS["cube"], 1)
    assert math.isclose(found, trace(squares, even, SETS["cube"]), rel_tol=1e-9)


@pytest.mark.parametrize("work", [2.0**23, 2.0**30])
def test_the_bound_of_a_domain_is_between_that_of_all_rows_and_what_is_attained(work: float) -> None:
    """From all rows it is at least Li and Miklau's, which is found by singular values of the queries."""
    sizes, prefixes = (6, 5, 3, 2), {size: np.tri(size, dtype=np.int64) for size in (6, 5)}
    tables = [
        CellTable(axes, tuple(prefixes.get(sizes[axis]) for axis in axes), 1.0 + len(axes))
        for axes in itertools.combinations(range(4), 2)
    ]
    squares = {axis: OrderedQueries.prefixes(sizes[axis]).squares for axis in (0, 1)}
    found = least_of_pinched(sizes, [(table.axes, table.weight) for table in tables], squares, work)
    rows = np.concatenate([math.sqrt(table.weight) * cell_rows(sizes, table) for table in tables])
    spectral = float(np.linalg.svd(rows, compute_uv=False).sum()) ** 2 / math.prod(sizes)
    best = MatrixStrategy(sizes, tables, gaussian=True)
    noise = [float(best.parts[0].squared(1))]
    attained = sum(table.weight * float(best.variances(i, noise).sum()) for i, table in enumerate(tables))
    assert found is not None
    assert found <= attained
    assert found >= spectral * (1 - 1e-9 if work > 2**25 else 0.97)


def test_more_work_comes_nearer_to_the_bound_of_all_rows() -> None:
    squares = OrderedQueries.prefixes(24).squares
    tables = [CellTable(axes, (None,) * len(axes)) for axes in ((0, 1), (0, 2), (1, 2))]
    asked, sizes = [(table.axes, table.weight) for table in tables], (24, 24, 3)
    known = [(squares, squares), (squares, None), (squares, None)]
    found = [least_of_pinched(sizes, asked, {0: squares, 1: squares}, 2.0**work) or 0 for work in (22, 25, 31)]
    best = least_of_products(sizes, tables, known) or 0
    assert found == sorted(found)
    assert 0.95 * best < found[0] < found[1] < (1 + 1e-3) * best
    assert 0.999 * best < found[2]


def test_squares_of_maps_are_those_that_are_asked() -> None:
    table = CellTable((0,), (np.tri(9, dtype=np.int64),))
    found = least_of_pinched((9,), [((0,), 1.0)], {0: squares_of(table)[0]}, 2.0**30)  # type: ignore[dict-item] # mapped
    assert found is not None
    assert 0.98 < found / (9 * OrderedQueries.prefixes(9).strategy().bound(rho=0.5) ** 2) <= 1 + 1e-6


def test_no_time_no_bound() -> None:
    squares = OrderedQueries.prefixes(9).squares
    assert least_of_pinched((9, 9), [((0, 1), 1.0)], {0: squares, 1: squares}, 2.0**10) is None
