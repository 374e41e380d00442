"""Covariances and correlations from noisy components: every interval covers, and no wrong version passes."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.inference.covariances import (
    Interval,
    correlation,
    correlation_interval,
    covariance,
    covariance_interval,
)
from discreet.inference.ratio_intervals import PivotNoise
from discreet.noise.weighted_sums import LAPLACE, NORMAL, WeightedSums
from discreet.planning.bernstein_polynomials import Basis, Reals
from discreet.testing.statistics import clopper_pearson

RUNS = 1500
"""Of each coverage test. At a confidence of 0.9 a coverage below 0.83 is seen with near certainty."""
FALSE_ALARM = 1e-9
CONFIDENCE = 0.9

Values = tuple[Reals, Reals]


def even(rows: int) -> Values:
    """Values all over the unit square, that have nothing to do with each other."""
    chance = np.random.default_rng()
    return chance.random(rows), chance.random(rows)


def alike(rows: int) -> Values:
    """Values at the ends of their ranges, nearly always the same."""
    u: Reals = np.arange(float(rows)) % 2.0
    v: Reals = np.where(np.arange(rows) % 50 == 49, 1 - u, u)
    return u, v


def low(rows: int) -> Values:
    """Values near the lower ends, of very different spreads."""
    chance = np.random.default_rng()
    u = chance.beta(0.5, 3, rows)
    return u, np.clip(0.1 * u + 0.02 * chance.random(rows), 0, 1)


MADE = {"even": even, "alike": alike, "low": low}


def components(values: Values, degrees: tuple[int, int]) -> Reals:
    """Exact sums of all products."""
    basis = Basis(degrees)
    own = [
        np.stack([1 - u, u] if degree == 1 else [(1 - u) ** 2, 2 * u * (1 - u), u**2], axis=-1)
        for u, degree in zip(values, degrees, strict=True)
    ]
    total: Reals = basis.product(*own).sum(axis=0)
    return total


def noisy(parts: Reals, scale: float = 1.0, *, law: WeightedSums = LAPLACE, runs: int = RUNS) -> Reals:
    """Many independent releases."""
    chance = np.random.default_rng()
    draw = chance.laplace if law is LAPLACE else chance.normal
    return parts + draw(scale=scale, size=(runs, parts.size))


def pivot(scale: float = 1.0, law: WeightedSums = LAPLACE) -> PivotNoise:
    return PivotNoise.of(scale, 0.0, CONFIDENCE, law)


def hits(interval: Interval, truth: float) -> int:
    return int(np.count_nonzero((interval[0] <= truth) & (truth <= interval[1])))


def covers(interval: Interval, truth: float) -> bool:
    """Whether so few misses are compatible with the confidence, at the stated false-alarm rate."""
    return clopper_pearson(hits(interval, truth), RUNS, confidence=1 - FALSE_ALARM)[1] >= CONFIDENCE


def truth_of(values: Values, *, sample: bool) -> float:
    return float(np.cov(*values, ddof=int(sample))[0, 1])


@pytest.mark.parametrize("made", MADE)
@pytest.mark.parametrize("rows", [3, 100, 2000])
@pytest.mark.parametrize("sample", [False, True])
def test_covariance_coverage(made: str, rows: int, sample: bool) -> None:  # noqa: FBT001 - a parameter of the test
    """And at 2,000 rows it is not much above: what is unknown costs little."""
    values = MADE[made](rows)
    truth = truth_of(values, sample=sample)
    found = noisy(components(values, (1, 1)))
    interval = covariance_interval(found, (1, 1), pivot(), confidence=CONFIDENCE, sample=sample)
    assert covers(interval, truth)
    estimate = covariance(found, (1, 1), sample=sample)
    assert ((interval[0] <= estimate) & (estimate <= interval[1])).all()
    if rows == 2000:
        assert hits(interval, truth) / RUNS <= CONFIDENCE + 0.04
        assert abs(estimate.mean() - truth) < 1e-4


@pytest.mark.parametrize("rows", [2, 3])
def test_a_sample_of_few_rows_is_told_from_a_population(rows: int) -> None:
    """With little noise, where a factor n/(n-1) is seen."""
    values = np.linspace(0.1, 0.9, rows), np.linspace(0.9, 0.2, rows)
    found = noisy(components(values, (1, 1)), 0.002)
    interval = covariance_interval(found, (1, 1), pivot(0.002), confidence=CONFIDENCE, sample=True)
    assert covers(interval, truth_of(values, sample=True))
    assert not covers(interval, truth_of(values, sample=False))


@pytest.mark.long
@pytest.mark.cases
@pytest.mark.parametrize("made", MADE)
@pytest.mark.parametrize("rows", [3, 300, 3000])
def test_correlation_coverage(made: str, rows: int) -> None:
    """And at 3,000 rows it is not much above, unless a spread is small beside the noise."""
    values = MADE[made](rows)
    truth = float(np.corrcoef(*values)[0, 1])
    found = noisy(components(values, (2, 2)))
    interval = correlation_interval(found, pivot(), confidence=CONFIDENCE)
    assert covers(interval, truth)
    assert (np.abs(interval) <= 1).all()
    assert (np.abs(correlation(found)) <= 1).all()
    if rows == 3000 and made != "low":
        assert hits(interval, truth) / RUNS <= CONFIDENCE + 0.05
        assert float(np.mean(interval[1] - interval[0])) < 0.03


def test_normal_noise_is_covered_too() -> None:
    values = alike(1000)
    interval = covariance_interval(
        noisy(components(values, (2, 2)), law=NORMAL), (2, 2), pivot(law=NORMAL), confidence=CONFIDENCE
    )
    assert covers(interval, truth_of(values, sample=False))
    interval = correlation_interval(
        noisy(components(values, (2, 2)), law=NORMAL), pivot(law=NORMAL), confidence=CONFIDENCE
    )
    assert covers(interval, float(np.corrcoef(*values)[0, 1]))


def test_a_correlation_of_little_noise_needs_the_noise_of_its_spreads() -> None:
    """The planted version that takes the spreads for exact is caught here."""
    values = alike(3000)
    truth = float(np.corrcoef(*values)[0, 1])
    found = noisy(components(values, (2, 2)))
    known = np.sqrt(np.prod([np.var(v) for v in values])) * 3000
    cross = Basis((2, 2)).crossed([float(v.mean()) for v in values])
    half = pivot().noise_quantile(cross, CONFIDENCE) / known
    middle = correlation(found)
    assert not covers((middle - half, middle + half), truth)
    assert covers(correlation_interval(found, pivot(), confidence=CONFIDENCE), truth)


@pytest.mark.parametrize("rows", [0, 1])
def test_no_rows_refuse_nothing(rows: int) -> None:
    found = noisy(components(even(rows), (2, 2)), runs=200)
    for interval, widest in (
        (covariance_interval(found, (2, 2), pivot(), confidence=CONFIDENCE), 0.25),
        (covariance_interval(found, (2, 2), pivot(), confidence=CONFIDENCE, sample=True), 0.5),
        (correlation_interval(found, pivot(), confidence=CONFIDENCE), 1.0),
    ):
        assert np.isfinite(interval).all()
        assert hits((-interval[1], interval[1]), 0.0) == 200
        assert np.quantile(interval[1] - interval[0], 0.5) >= 1.9 * widest


def test_a_column_that_does_not_vary_has_no_correlation() -> None:
    exact = components((np.full(100, 0.5), np.linspace(0, 1, 100)), (2, 2))[None]
    assert correlation(exact).tolist() == [0.0]
    low, high = correlation_interval(exact, pivot(1e-3), confidence=CONFIDENCE)
    assert (low.tolist(), high.tolist()) == ([-1.0], [1.0])
