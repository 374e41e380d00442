"""Noise that is taken away in rounds: the law of each, and what they share."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import chisquare

import discreet as dp
from discreet.mechanisms.noise_reduction import refined
from discreet.testing import splitmix

SCALES = [Fraction(6), Fraction(4), Fraction(3, 2)]
DRAWS = 200_000
LEVEL = 1e-7  # for each test statistic; a few of them, so one false alarm in a million runs
HALF = 12


def law(scale: Fraction) -> NDArray[np.float64]:
    """P(Z = z) for |z| < HALF, and both tails."""
    q = float(np.exp(-1 / float(scale)))
    inner = (1 - q) / (1 + q) * q ** np.abs(np.arange(1 - HALF, HALF))
    return np.array([q**HALF / (1 + q), *inner, q**HALF / (1 + q)])


def tallies(noise: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.bincount(np.clip(noise.astype(np.int64), -HALF, HALF) + HALF, minlength=2 * HALF + 1)


def test_each_round_has_its_law() -> None:
    found = refined(np.zeros(DRAWS, dtype=np.int64), SCALES, splitmix(1))
    for one, scale in zip(found, SCALES, strict=True):
        assert chisquare(tallies(one), DRAWS * law(scale)).pvalue > LEVEL, scale


def test_rounds_share_their_noise() -> None:
    # Y_1 - Y_2 is independent of Y_2, and the covariance is the variance of the less noisy one.
    wide, narrow = (one.astype(float) for one in refined(np.zeros(DRAWS, dtype=np.int64), SCALES[1:], splitmix(2)))
    assert abs(np.cov(wide, narrow)[0, 1] / np.var(narrow) - 1) < 0.06  # 6 deviations of the ratio, about 0.009 each
    assert np.mean(wide == narrow) > 0.2


def test_shapes_and_sizes_survive() -> None:
    found = refined(np.array([[2**70, -3]], dtype=object), SCALES, splitmix(3))
    assert [one.shape for one in found] == [(1, 2)] * 3
    assert all(abs(one[0, 0] - 2**70) < 1000 for one in found)


def test_scales_must_fall() -> None:
    with pytest.raises(dp.InvalidParameter, match="scales that fall"):
        refined(np.array([1]), SCALES[::-1], splitmix(0))
