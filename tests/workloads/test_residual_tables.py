"""Residual tables beside dense matrices, for every record and every set of small domains."""

from __future__ import annotations

import itertools
import math
from functools import reduce
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from discreet.workloads.residual_tables import centered, centered_variance, residual, spread, squared_sensitivity

DOMAINS = [(2,), (5,), (2, 3), (3, 3), (2, 3, 4), (2, 2, 2, 2)]


def matrix(sizes: tuple[int, ...], subset: tuple[int, ...]) -> NDArray[np.int64]:
    """The rows of a residual table over all cells of the domain, by the definition."""
    parts = [
        size * np.eye(size, dtype=np.int64) - 1 if axis in subset else np.ones((1, size), dtype=np.int64)
        for axis, size in enumerate(sizes)
    ]
    return reduce(np.kron, parts)


def subsets(number: int) -> list[tuple[int, ...]]:
    return [one for k in range(number + 1) for one in itertools.combinations(range(number), k)]


@pytest.mark.parametrize("sizes", DOMAINS, ids=str)
def test_every_record_moves_a_residual_table_by_the_same(sizes: tuple[int, ...]) -> None:
    for subset in subsets(len(sizes)):
        columns = (matrix(sizes, subset) ** 2).sum(axis=0)
        assert set(columns.tolist()) == {squared_sensitivity([sizes[axis] for axis in subset])}


@pytest.mark.parametrize("sizes", DOMAINS, ids=str)
def test_a_residual_table_is_that_of_the_matrix(sizes: tuple[int, ...]) -> None:
    counts = np.random.default_rng(1).integers(0, 9, size=sizes)
    for subset in subsets(len(sizes)):
        marginal = counts.sum(axis=tuple(axis for axis in range(len(sizes)) if axis not in subset))
        found = residual(np.asarray(marginal, dtype=np.int64))
        assert found.dtype == np.int64
        assert np.array_equal(found.reshape(-1), matrix(sizes, subset) @ counts.reshape(-1))
        assert np.allclose(centered(found), found)


@pytest.mark.parametrize("sizes", DOMAINS, ids=str)
def test_a_marginal_is_the_sum_of_its_residual_tables(sizes: tuple[int, ...]) -> None:
    counts = np.random.default_rng(2).integers(0, 9, size=sizes)
    for one in subsets(len(sizes)):
        wanted = counts.sum(axis=tuple(axis for axis in range(len(sizes)) if axis not in one))
        shape = tuple(sizes[axis] for axis in one)
        found = np.zeros(shape)
        for subset in (some for some in subsets(len(sizes)) if set(some) <= set(one)):
            own = counts.sum(axis=tuple(axis for axis in range(len(sizes)) if axis not in subset))
            table = centered(residual(np.asarray(own, dtype=np.int64)))
            found = found + spread(table, [one.index(axis) for axis in subset], shape)
        assert np.allclose(found / math.prod(shape), wanted)


@pytest.mark.parametrize("sizes", DOMAINS, ids=str)
def test_noise_keeps_the_stated_part(sizes: tuple[int, ...]) -> None:
    parts: list[NDArray[Any]] = [np.eye(size) - 1 / size for size in sizes]
    projection = reduce(np.kron, parts)
    assert np.allclose(np.diag(projection), centered_variance(sizes))
    noise = np.random.default_rng(3).normal(size=sizes)
    assert np.allclose(centered(noise).reshape(-1), projection @ noise.reshape(-1))
