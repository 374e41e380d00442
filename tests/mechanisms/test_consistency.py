"""Noisy parts and totals add up afterwards, in the best linear way, and their error bars are right."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from discreet.errors import InvalidParameter
from discreet.mechanisms.consistency import consistent
from discreet.mechanisms.gaussian import Gaussian
from discreet.mechanisms.laplace import Laplace

PARENTS = [np.array([0, 0, 0, 1, 1, 2]), np.array([0, 0, 0])]
VARIANCES: list[Any] = [np.array([1.0, 2.0, 5.0, 0.5, 3.0, 1.5]), np.array([4.0, math.inf, 0.7]), np.array([2.0])]
Y = [np.array([3.0, 8.0, 1.0, 9.0, 2.0, 7.0]), np.array([15.0, 0.0, 6.0]), np.array([40.0])]


def summing() -> Any:
    """The matrix that gives all levels from the parts."""
    states = np.zeros((3, 6))
    states[PARENTS[0], np.arange(6)] = 1
    return np.vstack([np.eye(6), states, np.ones((1, 6))])


def test_it_is_least_squares() -> None:
    """Against the normal equations in full, for unequal variances and a total that was not measured."""
    matrix, weights = summing(), 1 / np.concatenate(VARIANCES)
    covariance = np.linalg.inv(matrix.T @ (weights[:, None] * matrix))
    parts = covariance @ matrix.T @ (weights * np.concatenate(Y))
    found = consistent(Y, PARENTS, variances=VARIANCES)
    np.testing.assert_allclose(np.concatenate(found.values), matrix @ parts)
    np.testing.assert_allclose(
        np.concatenate(found.deviations) ** 2, np.diag(matrix @ covariance @ matrix.T), rtol=1e-12
    )
    some = np.array([1.0, -2.0, 0.0, 3.0, 1.0, 0.5])
    assert found.deviation(some) == pytest.approx(math.sqrt(some @ covariance @ some))


def test_levels_add_up() -> None:
    found = consistent(Y, PARENTS, variances=VARIANCES)
    for low, high, links in zip(found.values, found.values[1:], PARENTS, strict=False):
        np.testing.assert_allclose(np.bincount(links, weights=low), high)


def test_known_totals_stay() -> None:
    found = consistent([[1.0, 2.0], [10.0]], [[0, 0]], variances=[3.0, 0.0])
    assert found.values[1].tolist() == [10.0]
    assert found.values[0].tolist() == [4.5, 5.5]
    assert found.deviations[1].tolist() == [0.0]
    assert found.deviation([1, 1]) == 0


def test_totals_that_were_not_measured_change_nothing() -> None:
    found = consistent([[1.0, 2.0], [10.0]], [[0, 0]], variances=[3.0, math.inf])
    assert found.values[0].tolist() == [1.0, 2.0]
    np.testing.assert_allclose(found.deviations[0] ** 2, 3.0)


@pytest.mark.parametrize("noise", ["gaussian", "laplace"])
def test_intervals_hold(noise: str) -> None:
    """40,000 counties and 8,000 states of five: 95 % hold within 7 standard deviations of that share (below 1e-11);
    intervals of half the width are seen.
    """
    mechanism = Gaussian(sensitivity=1, rho=0.01) if noise == "gaussian" else Laplace(sensitivity=1, epsilon=0.1)
    truth = [np.full(40_000, 100), np.full(8_000, 500)]
    links = np.repeat(np.arange(8_000), 5)
    measured = [mechanism.release(level) for level in truth]
    found = consistent(measured, [links], variances=[mechanism.variance] * 2)
    for level, (low, high), exact in zip(found.values, found.intervals(noise=noise), truth, strict=True):
        sigma = math.sqrt(0.05 * 0.95 / len(exact))
        assert ((low <= exact) & (exact <= high)).mean() > 0.95 - 7 * sigma
        middle, half = (low + high) / 2, (high - low) / 4
        np.testing.assert_allclose(middle, level)
        assert (np.abs(middle - exact) <= half).mean() < 0.95 - 7 * sigma
    errors = [np.std(measured[1] - 500), np.std(found.values[1] - 500)]
    assert errors[1] == pytest.approx(errors[0] * math.sqrt(5 / 6), rel=0.1)


@pytest.mark.parametrize(
    ("measured", "parents", "variances"),
    [
        ([[1.0]], [[0]], [1.0]),
        ([[1.0], [1.0]], [[0]], [1.0]),
        ([[1.0, 2.0], [3.0]], [[0, 1]], [1.0, 1.0]),
        ([[1.0, 2.0], [3.0, 4.0]], [[0, 0]], [1.0, 1.0]),
        ([[1.0, 2.0], [3.0]], [[0]], [1.0, 1.0]),
        ([[1.0, 2.0], [3.0]], [[0.0, 0.0]], [1.0, 1.0]),
        ([[1.0, 2.0], [3.0]], [[0, 0]], [0.0, 1.0]),
        ([[1.0, 2.0], [3.0]], [[0, 0]], [math.inf, 1.0]),
        ([[1.0, 2.0], [3.0]], [[0, 0]], [1.0, -1.0]),
        ([[1.0, 2.0], [3.0]], [[0, 0]], [[1.0, 1.0, 1.0], 1.0]),
        ([[1.0, math.nan], [3.0]], [[0, 0]], [1.0, 1.0]),
        ([["a", "b"], [3.0]], [[0, 0]], [1.0, 1.0]),
        ([[], [3.0]], [[]], [1.0, 1.0]),
    ],
)
def test_what_does_not_fit_is_refused(measured: Any, parents: Any, variances: Any) -> None:
    with pytest.raises(InvalidParameter, match="Hint"):
        consistent(measured, parents, variances=variances)


def test_strange_intervals_are_refused() -> None:
    found = consistent(Y, PARENTS, variances=VARIANCES)
    with pytest.raises(InvalidParameter, match="noise='laplace'"):
        found.intervals(0.95, noise="uniform")
    with pytest.raises(InvalidParameter):
        found.intervals(1.0)
    with pytest.raises(InvalidParameter):
        found.deviation([1, 2])
