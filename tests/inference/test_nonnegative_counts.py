"""Counts that could be: none negative, whole, and as near to the noisy tables as cells can be."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from depth import examples
from discreet.inference.nonnegative_counts import fitted, rounded, tables_of
from discreet.workloads.cell_tables import CellTable

SIZES = (3, 2)
TABLES = [
    CellTable((0,), (None,)), CellTable((1,), (None,), weight=4.0), CellTable((0, 1), (None, None)),
    CellTable((0,), (np.tri(3, dtype=np.int64),), weight=0.3),
]  # fmt: skip


def error(cells: np.ndarray[tuple[int, ...], np.dtype[np.float64]], values: list[np.ndarray]) -> float:
    found = tables_of(TABLES, cells.reshape(SIZES))
    return sum(t.weight * float(((a - b) ** 2).sum()) for t, a, b in zip(TABLES, found, values, strict=True))


def noisy(seed: int) -> list[np.ndarray]:
    random = np.random.default_rng(seed)
    exact = tables_of(TABLES, random.integers(0, 4, SIZES).astype(float))
    return [table + random.normal(0, 3, table.shape) for table in exact]


@settings(max_examples=examples(10))
@given(st.integers(0, 2**20))
def test_no_fitted_cell_is_negative(seed: int) -> None:
    """And they fit as well as what a general optimizer finds under the same conditions."""
    values = noisy(seed)
    cells = fitted(SIZES, TABLES, values, nonnegative=True)
    assert cells.min() >= 0
    total = max(float(values[1].sum()), 0.0)
    assert cells.sum() == pytest.approx(total, abs=1e-6)
    best = minimize(
        lambda x: error(x, values), np.full(6, total / 6), bounds=[(0, None)] * 6,
        constraints={"type": "eq", "fun": lambda x: x.sum() - total}, options={"ftol": 1e-12, "maxiter": 1000},
    )  # fmt: skip
    assert error(cells, values) <= best.fun * (1 + 1e-4) + 1e-4


def test_without_the_condition_they_are_least_squares() -> None:
    values = noisy(3)
    cells = fitted(SIZES, TABLES, values, nonnegative=False)
    rows = np.concatenate([
        np.sqrt(t.weight) * np.stack([tables_of([t], one.reshape(SIZES))[0] for one in np.eye(6)], axis=1)
        for t in TABLES
    ])  # fmt: skip
    wanted = np.concatenate([np.sqrt(t.weight) * v for t, v in zip(TABLES, values, strict=True)])
    assert np.allclose(cells.reshape(-1), np.linalg.lstsq(rows, wanted)[0], atol=1e-2)


@settings(max_examples=examples(50))
@given(st.lists(st.floats(0, 50), min_size=1, max_size=30))
def test_rounded_cells_are_whole_and_keep_their_total(cells: list[float]) -> None:
    found = rounded(np.array(cells))
    assert (found == np.rint(found)).all()
    assert found.min() >= 0
    assert abs(found.sum() - sum(cells)) <= 0.5 + 1e-9
    assert np.abs(found - cells).max() <= 1 + 1e-9
