"""Splits of an attribute: what was split comes back, and one value moves what is measured as stated."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.workloads.axis_splits import AxisSplit, along, even, oblique, split_of
from discreet.workloads.ordered_queries import OrderedQueries

PREFIXES = OrderedQueries.prefixes(7).squares
SPLITS: dict[str, AxisSplit] = {
    "even": even(7),
    "oblique": oblique(PREFIXES, bits=12)[0],
    "coarse": oblique(PREFIXES, bits=6)[1],
    "stated": split_of(np.array([[5, -1, 0], [2, 2, -9]])),
    "open": oblique(np.diag([1.0, 1.0, 0.0, 0.0]), bits=15)[2],
    "two values": even(2),
}


@pytest.mark.parametrize("name", SPLITS)
def test_splits_give_back_what_was_split(name: str) -> None:
    split = SPLITS[name]
    values = np.random.default_rng(1).integers(-99, 99, (split.matrix.shape[1], 3))
    found = np.outer(split.division, values.sum(axis=0)) + split.inverse @ (split.matrix @ values)
    assert np.allclose(found, values, atol=1e-8)
    assert np.allclose(split.inverse.sum(axis=0), 0, atol=1e-9)


@pytest.mark.parametrize("name", SPLITS)
def test_columns_are_as_long_as_stated(name: str) -> None:
    split = SPLITS[name]
    assert split.largest == max(int(column @ column) for column in split.matrix.T)
    assert split.absolute == max(int(np.abs(column).sum()) for column in split.matrix.T)
    assert split.growth == max(int(np.abs(row).sum()) for row in split.matrix)


@pytest.mark.parametrize("size", [2**20, 2**24, 2**29])
def test_products_of_columns_are_exact(size: int) -> None:
    """Whether doubles hold them or not."""
    matrix = np.random.default_rng(2).integers(-size, size, (40, 41))
    matrix[0, :2] = size - 1, size - 2
    split = AxisSplit(matrix, np.zeros(41), np.zeros((41, 40)))
    assert (split.gram == matrix.astype(object).T @ matrix.astype(object)).all()


@pytest.mark.parametrize("name", SPLITS)
def test_stated_errors_are_those_of_the_noise(name: str) -> None:
    split = SPLITS[name]
    rows = np.tri(split.matrix.shape[1])
    of_sum, of_rest = split.spread(rows.T @ rows)
    assert np.isclose(of_sum, np.sum((rows @ split.division) ** 2))
    assert np.isclose(of_rest, np.sum((rows @ split.inverse) ** 2))
    assert np.allclose(split.spread(None), split.spread(np.eye(len(rows))))


def test_oblique_splits_of_values_alone_are_even() -> None:
    for split in oblique(np.eye(6), bits=15):
        assert np.allclose(split.division, 1 / 6, atol=1e-3)


def test_one_axis_at_a_time() -> None:
    table = np.arange(24).reshape(2, 3, 4)
    assert np.array_equal(along(np.tri(3, dtype=int), table, 1), table.cumsum(axis=1))
