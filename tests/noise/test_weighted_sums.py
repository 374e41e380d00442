"""Weighted sums of noise stay within their quantiles, for both laws; the normal law counts its rounding."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from discreet.noise import laplace_sum
from discreet.noise.gaussian import RoundedNormal
from discreet.noise.weighted_sums import LAPLACE, NORMAL, _chernoff
from discreet.testing import splitmix

COEFFICIENTS = [[1.0], [1.0, -1.0, 0.5], [0.0, 2.0], [3.0, 1e-3]]
DRAWS = 200_000
FALSE_ALARM = 1e-6


@pytest.mark.parametrize("c", COEFFICIENTS)
def test_the_laplace_law_is_that_of_combinations(c: list[float]) -> None:
    assert LAPLACE.tail(c, 3.0, step=0.1) == laplace_sum.tail(c, 3.0, step=0.1)
    assert LAPLACE.quantile(c, 0.9, step=0.1) == laplace_sum.quantile(c, 0.9, step=0.1)


@pytest.mark.parametrize("c", COEFFICIENTS)
def test_continuous_normal_sums_are_the_textbooks(c: list[float]) -> None:
    spread = math.sqrt(sum(x * x for x in c))
    assert float(NORMAL.quantile(c, 0.95)) == pytest.approx(1.959963984540054 * spread, rel=1e-9)
    assert float(NORMAL.tail(c, 1.5)) == pytest.approx(2 * stats.norm.sf(1.5 / spread), rel=1e-9)
    assert NORMAL.tail(c, [0.0, -1.0, 1e9]).tolist() == [1.0, 1.0, 0.0]


def test_sums_without_noise_are_zero() -> None:
    assert NORMAL.tail([[0.0, 0.0]], [0.0]).tolist() == [1.0]
    assert NORMAL.tail([[0.0, 0.0]], [1e-9]).tolist() == [0.0]
    assert NORMAL.quantile([0.0], 0.99).tolist() == 0.0


@pytest.mark.parametrize("sigma", [Fraction(1, 3), Fraction(1), Fraction(50)])
def test_rounded_noise_stays_within(sigma: Fraction) -> None:
    """With 200,000 draws, exact binomial limits at 1e-6: few beyond the quantile, and the tail is never less."""
    drawn = RoundedNormal.of_variance(sigma**2).sample(2 * DRAWS, splitmix(3)).reshape(2, DRAWS) / float(sigma)
    for c in ([1.0, 0.0], [1.0, 1.0], [1.0, -0.25]):
        found = np.abs(c @ drawn)
        step = 1 / float(sigma)
        for confidence in (0.5, 0.95, 0.999):
            within = float(NORMAL.quantile(c, confidence, step=step))
            limit = stats.binom.isf(FALSE_ALARM, DRAWS, 1 - confidence)
            assert np.count_nonzero(found > within * (1 + 1e-12)) <= limit
            reached = float(NORMAL.tail(c, within / 2, step=step))
            assert np.count_nonzero(found >= within / 2) <= stats.binom.isf(FALSE_ALARM, DRAWS, reached)


@pytest.mark.parametrize("terms", [17, 54])
def test_many_laplace_terms_stay_within(terms: int) -> None:
    """With 200,000 draws, exact binomial limits at 1e-6; and no more than a third further than need be."""
    chance = np.random.default_rng()
    c = np.linspace(0.2, 1.0, terms)
    drawn = np.abs(sum(one * chance.laplace(size=DRAWS) for one in c))
    for confidence in (0.5, 0.95, 0.999):
        within = float(LAPLACE.quantile(c, confidence))
        limit = stats.binom.isf(FALSE_ALARM, DRAWS, 1 - confidence)
        assert np.count_nonzero(drawn > within) <= limit
        assert LAPLACE.quantile(np.stack([c, 2 * c]), confidence, step=0.1) == pytest.approx(
            [within + 0.1 * c.sum(), 2 * (within + 0.1 * c.sum())]
        )
    assert within < 4 / 3 * float(np.quantile(drawn, 0.999))
    assert LAPLACE.quantile([0.0] * 17, 0.9) == 0.0


def test_the_bound_for_many_terms_is_that_of_both_sides() -> None:
    """The smallest of exp(-ht) times the expectations of exp(h c Z), twice: by a search of its own."""
    heights = np.linspace(1e-3, 1 - 1e-3, 20_000)[:, None]
    least = ((np.log(2 / 0.05) - np.log1p(-(heights**2)).sum(axis=1) * 20) / heights[:, 0]).min()
    assert least <= float(_chernoff(np.ones((1, 20)), 0.05)[0]) < 1.01 * least
    assert float(LAPLACE.quantile([1.0] * 20, 0.95)) < 0.71 * least


def test_rounding_that_is_left_out_would_be_seen() -> None:
    """A third of a step: half of all draws are zero, and 1 is reached far more often than the unrounded law says."""
    drawn = RoundedNormal.of_variance(Fraction(1, 4)).sample(DRAWS, splitmix(4)) * 2.0
    confidence = 0.9
    without = float(NORMAL.quantile([1.0], confidence))
    assert np.count_nonzero(np.abs(drawn) > without) > stats.binom.isf(FALSE_ALARM, DRAWS, 1 - confidence)


def test_both_laws_are_monotone_and_their_quantile_is_a_norm() -> None:
    for law in (LAPLACE, NORMAL):
        one, other = np.array([1.0, -2.0, 0.5]), np.array([0.5, 1.0, 1.0])
        norm = [float(law.quantile(c, 0.9, step=0.2)) for c in (one, other, one + other, 3 * one)]
        assert norm[2] <= norm[0] + norm[1]
        assert norm[3] == pytest.approx(3 * norm[0], rel=1e-6)
        assert law.quantile(np.abs(one) + 0.1, 0.9) > law.quantile(one, 0.9)
