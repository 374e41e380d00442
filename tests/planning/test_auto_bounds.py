"""Limits and bounds from noisy histograms: on skewed data, on noise alone, and where nothing can be told."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from discreet.mechanisms.laplace import Laplace
from discreet.planning.auto_bounds import (
    COUNTS,
    FALSE_ALARM,
    LOWEST,
    SIZES,
    TOGETHER,
    bounds,
    counts_after_last_filled,
    covering_limit,
    filled_counts,
    filled_threshold,
    limit,
)
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
    assert not filled_counts(noisy, Fraction(20)).any()
    assert chosen(noisy, 10.0, Fraction(20)) == [0, 1]
    assert limit(noisy[:COUNTS], Fraction(20), 1.0) == covering_limit(noisy[:COUNTS], Fraction(20)) == 1


TABLES, ONE_IN_A_MILLION = 4000, 1e-6


def test_false_alarms_are_rare() -> None:
    """4,000 empty histograms: no more with a filled bin than one in 10,000 may give; at one in 100 it would be seen."""
    bins = 2 * SIZES + 1
    noise = Laplace(sensitivity=1, epsilon=0.05).add_noise(np.zeros((TABLES, bins), dtype=np.int64), splitmix(7))
    alarms = [
        sum(filled_counts(one, Fraction(20)).any() for one in noise),
        int((noise.max(axis=1) >= 20 * np.log(100 * bins)).sum()),
    ]
    assert alarms[0] <= stats.binom.isf(ONE_IN_A_MILLION, TABLES, 1e-4) < alarms[1]


@pytest.mark.parametrize("scale", [Fraction(1), Fraction(5, 2), Fraction(10)])
def test_all_sums_of_noise_together_look_like_units_once_in_10_000(scale: Fraction) -> None:
    """By the exact law of sums of discrete Laplace noise, over all bins and all that are looked at together."""
    ends = np.arange(-int(40 * scale), int(40 * scale) + 1)
    one = np.exp(-np.abs(ends) / float(scale))
    one /= one.sum()
    alarms, law = 0.0, np.ones(1)
    for together in range(1, max(TOGETHER) + 1):
        law = np.convolve(law, one)
        if together in TOGETHER:
            sums = np.arange(law.size) - law.size // 2
            alarms += 187 * law[sums >= filled_threshold(scale, 187, together)].sum()
    assert alarms <= FALSE_ALARM
    assert alarms > FALSE_ALARM / 20  # the floors are hardly higher than they have to be


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


def worst(numbers: NDArray[Any], most: float, cost: float) -> float:
    """The error of a sum over all values up to 1: rows beyond the limit, and noise."""
    return float(np.maximum(numbers - most, 0).sum()) + cost * most


def kinds(units: int) -> dict[str, NDArray[Any]]:
    """Numbers of rows of so many units."""
    rng = np.random.default_rng(units)
    return {
        "log-normal": np.ceil(rng.lognormal(2, 1, units)),
        "wide": np.ceil(rng.lognormal(2, 1.5, units)),
        "Pareto 1": np.minimum(np.ceil(rng.pareto(1, units) + 1), 10**6),
        "Pareto 2": np.ceil(3 * (rng.pareto(2, units) + 1)),
        "Zipf": np.minimum(rng.zipf(2, units), 10**6).astype(float),
        "Poisson 3": rng.poisson(3, units) + 1.0,
        "Poisson 30": rng.poisson(30, units) + 1.0,
        "even": rng.integers(1, 101, units).astype(float),
        "geometric": rng.geometric(0.05, units).astype(float),
        "all 5": np.full(units, 5.0),
        "all 9": np.full(units, 9.0),
        "one or two": rng.integers(1, 3, units).astype(float),
        "a few with many": np.where(rng.random(units) < 0.05, 1000.0, 1.0),
    }


@pytest.mark.parametrize("units", [200, 2000, 20_000])
def test_limits_have_nearly_the_least_error_in_the_worst_case(units: int) -> None:
    """Beside a search of all limits, of counts without noise; and the search finds the order statistic of the card."""
    ratios = []
    for name, numbers in kinds(units).items():
        counts = np.bincount(np.ceil(np.log2(numbers)).astype(int), minlength=COUNTS)
        for cost in (0.9, 3.7, 14.2, 0.04 * units):
            own = np.sort(numbers)[::-1][int(cost)]
            least = min(worst(numbers, float(most), cost) for most in np.unique(numbers))
            assert worst(numbers, float(own), cost) == pytest.approx(least), name
            found = worst(numbers, float(limit(counts, Fraction(1, 1000), cost)), cost)
            powers = min(worst(numbers, 2.0**k, cost) for k in range(24))
            assert powers <= 2 * least
            ratios.append(found / least)
    assert max(ratios) < 1.9
    assert np.exp(np.mean(np.log(ratios))) < 1.25


def test_the_floor_grows_with_noise_and_bins() -> None:
    assert filled_threshold(Fraction(20), 49) == pytest.approx(20 * np.log(4 * 490_000 / 2), rel=0.01)
    assert filled_threshold(Fraction(20), 187) > filled_threshold(Fraction(20), 49)
    assert (
        filled_threshold(Fraction(20), 49, 4)
        > filled_threshold(Fraction(20), 49, 2)
        > filled_threshold(Fraction(20), 49)
    )
    assert filled_counts(np.array([2.0, 9.0] + [0.0] * 7), ONE).tolist() == [0.0] * 9
    assert filled_counts(np.array([8.0, 14.0] + [0.0] * 7), ONE).tolist() == [8.0, 14.0] + [0.0] * 7
    noisy = np.array([2.0, 16.0, 4.0, 2.4, 2.2, 15.0, 0.0, 0.0])
    assert filled_counts(noisy, ONE).tolist() == [0.0, 16.0, 4.0, 2.4, 0.0, 15.0, 0.0, 0.0]
    assert filled_counts(np.array([2.0, 4.0, 4.0, 2.4] + [0.0] * 4), ONE).tolist() == [0.0] * 8


def test_bins_count_together_where_none_counts_alone() -> None:
    """300 units, spread over bins: no bin has 148 of them, and eight together leave no doubt. Noise stays out."""
    exact = np.array([0, 0, 0, 30, 60, 90, 70, 40, 10, 0, 20, 0])
    noisy = np.append(exact, np.zeros(2 * SIZES + 1 - exact.size, dtype=np.int64))
    found = filled_counts(noisy, Fraction(10))
    assert noisy.max() < filled_threshold(Fraction(10), noisy.size)
    assert np.flatnonzero(found).tolist() == [3, 4, 5, 6, 7]
    fewer = filled_counts(noisy // 2, Fraction(10))
    assert not fewer.any()


FALLING = np.array([0, 600, 900, 400, 150, 0, 0, 0, 0, 0])


def test_a_falling_tail_goes_on_behind_the_last_filled_bin() -> None:
    """150 / 400 of 150, and again 150 / 400 over 400 / 900 of that: 47, of which noise of scale 20 hides no more than
    its own count and 20. So the bound is raised by one step where that costs little, and by no two.
    """
    filled_bins = filled_counts(FALLING, Fraction(20))
    assert np.flatnonzero(filled_bins).tolist() == [1, 2, 3, 4]
    for seen, expected in ((0, 20), (30, 47.46), (-50, 0), (25, 45)):
        noisy = FALLING.copy()
        noisy[5] = seen
        found = counts_after_last_filled(filled_bins, noisy, Fraction(20))
        assert found[5] == pytest.approx(expected, abs=0.01)
        assert np.delete(found, 5).tolist() == np.delete(filled_bins, 5).tolist()
    counts = np.zeros(COUNTS, dtype=np.int64)
    counts[: FALLING.size] = FALLING
    assert [limit(counts, Fraction(20), cost) for cost in (1.0, 50.0)] == [32, 16]
    exact = np.zeros(2 * SIZES + 1, dtype=np.int64)
    exact[SIZES - LOWEST : SIZES - LOWEST + FALLING.size] = FALLING
    assert chosen(exact, 1.0, Fraction(20)) == [0, 32]
    assert chosen(exact[::-1], 1.0, Fraction(20)) == [-32, 0]


def test_where_counts_rise_nothing_is_expected_behind() -> None:
    """Values spread evenly up to a limit: twice as many in each bin, and none behind the last."""
    even = 100 << np.arange(6)
    noisy = np.append(even, np.zeros(10, dtype=np.int64))
    noisy[6] = 15
    assert counts_after_last_filled(filled_counts(noisy, Fraction(20)), noisy, Fraction(20))[6] == 0
    alone = np.array([0, 5000, 9, 0, 0, 0, 0, 0])
    assert counts_after_last_filled(filled_counts(alone, Fraction(20)), alone, Fraction(20)).tolist() == [
        0,
        5000,
        *[0] * 6,
    ]
    full = np.array([0] * 6 + [900, 800])
    assert counts_after_last_filled(full.astype(float), full, Fraction(20)).tolist() == full.tolist()


def test_what_is_expected_keeps_to_what_noise_allows() -> None:
    """A table that ends at a value: 2,000 units in the last bin, and none expected behind beyond one scale of noise."""
    noisy = np.array([0, 3000, 2500, 2000, 0, 0, 0, 0])
    assert counts_after_last_filled(filled_counts(noisy, Fraction(20)), noisy, Fraction(20))[4] == 20


def test_zeros_are_no_part_of_a_tail() -> None:
    """100,000 units with 0, and 3,000 in one bin: nothing falls toward it."""
    exact = sizes(np.concatenate([np.zeros(100_000), np.full(3000, 100.0)]))
    assert chosen(exact, 1.0, Fraction(20)) == [0, 128]
