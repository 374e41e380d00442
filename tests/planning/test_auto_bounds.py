"""Limits and bounds from noisy histograms: on skewed data, on noise alone, and where nothing can be told."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from discreet.mechanisms.laplace import Laplace
from discreet.planning.auto_bounds import COUNTS, LOWEST, SIZES, bounds, covering_limit, filled, floor, limit
from discreet.testing.scripted_words import splitmix

ONE = Fraction(1)


def sizes(values: NDArray[Any]) -> NDArray[Any]:
    """The exact histogram of one value a unit."""
    steps = np.clip(np.ceil(np.log2(np.maximum(np.abs(values), 2.0**LOWEST))), LOWEST, None).astype(int) - LOWEST
    return np.bincount(SIZES + np.where(values >= 0, steps, -steps), minlength=2 * SIZES + 1)


def chosen(noisy: NDArray[Any], cost: float, scale: Fraction = ONE) -> list[float]:
    return [float(end) for end in bounds(noisy, scale, cost)]


@pytest.mark.parametrize("seed", range(20))
def test_noise_alone_moves_no_bound(seed: int) -> None:
    """Two hundred empty bins, noise of scale 20: one of them counts in one of ten thousand tables."""
    noisy = Laplace(sensitivity=1, epsilon=0.05).add_noise(np.zeros(2 * SIZES + 1, dtype=np.int64), splitmix(seed))
    assert noisy.max() > 60
    assert not filled(noisy, Fraction(20)).any()
    assert chosen(noisy, 10.0, Fraction(20)) == [0, 1]
    assert limit(noisy[:COUNTS], Fraction(20), 1.0) == covering_limit(noisy[:COUNTS], Fraction(20)) == 1


TABLES, ONE_IN_A_MILLION = 4000, 1e-6


def test_false_alarms_are_rare() -> None:
    """4,000 empty histograms: no more with a filled bin than one in 10,000 may give; at one in 100 it would be seen."""
    bins = 2 * SIZES + 1
    noise = Laplace(sensitivity=1, epsilon=0.05).add_noise(np.zeros((TABLES, bins), dtype=np.int64), splitmix(7))
    alarms = [int((noise.max(axis=1) >= least).sum()) for least in (floor(Fraction(20), bins), 20 * np.log(100 * bins))]
    assert alarms[0] <= stats.binom.isf(ONE_IN_A_MILLION, TABLES, 1e-4) < alarms[1]


@pytest.mark.parametrize("seed", range(10))
def test_bounds_of_skewed_data_hold_nearly_all_of_it(seed: int) -> None:
    """Lognormal values of 20,000 units with outliers: at most a tenth is clipped, and the outliers stretch nothing."""
    rng = np.random.default_rng(seed)
    values = rng.lognormal(3, 1.5, 20_000)
    values[:3] = 1e15
    noisy = Laplace(sensitivity=1, epsilon=0.1).add_noise(sizes(values), splitmix(seed))
    low, high = bounds(noisy, Fraction(10), 2**0.5)
    assert low == 0
    assert np.mean(values > float(high)) < 0.01
    assert high <= 2**13


def test_both_sides_of_zero() -> None:
    exact = sizes(np.concatenate([np.full(1000, 100.0), np.full(1000, -3.0), np.zeros(500)]))
    assert chosen(exact, 10.0) == [-4, 128]
    assert chosen(sizes(np.full(1000, -3.0)), 10.0) == [-4, 0]
    assert chosen(sizes(np.zeros(1000)), 10.0) == [0, 2.0**LOWEST]


def test_dear_noise_lowers_a_bound_and_no_further_than_a_tenth() -> None:
    exact = sizes(np.concatenate([np.full(950, 100.0), np.full(50, 1000.0)]))
    assert [bounds(exact, ONE, cost)[1] for cost in (1.0, 60.0, 1e9)] == [1024, 128, 128]


def test_limits_weigh_what_is_lost_against_noise() -> None:
    counts = np.zeros(COUNTS, dtype=np.int64)
    counts[:5] = 10, 200, 400, 300, 50
    assert [limit(counts, ONE, cost) for cost in (1.0, 100.0, 1e9)] == [16, 8, 4]
    assert covering_limit(counts, ONE) == 16
    assert limit(np.array([5000] + [0] * (COUNTS - 1)), ONE, 1.0) == 1


def test_the_floor_grows_with_noise_and_bins() -> None:
    assert floor(Fraction(20), 49) == pytest.approx(20 * np.log(490_000))
    assert filled(np.array([8.0, 10.0]), ONE).tolist() == [8.0, 10.0]
    assert filled(np.array([2.0, 13.0, 4.0, 2.4, 2.2, 12.0]), ONE).tolist() == [0.0, 13.0, 4.0, 2.4, 0.0, 12.0]
    assert filled(np.array([2.0, 4.0, 4.0, 2.4]), ONE).tolist() == [0.0] * 4
