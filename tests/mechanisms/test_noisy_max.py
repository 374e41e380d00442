"""Noisy max draws from the table of each noise: 6,000 releases, false alarms below 10**-6."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from discreet.mechanisms.noisy_max import NoisyMax
from discreet.testing.scripted_words import splitmix

SIZE = 6000
SCORES = [0, 1, 2, 2, 5]


@pytest.mark.cases
@pytest.mark.parametrize("noise", ["exponential", "laplace", "gumbel"])
def test_releases_follow_the_table(noise: str) -> None:
    mechanism, words = NoisyMax(sensitivity=1, epsilon=1, noise=noise), splitmix(4)
    counts = np.bincount([mechanism.release(SCORES, words=words) for _ in range(SIZE)], minlength=len(SCORES))
    assert stats.chisquare(counts, mechanism.probabilities(SCORES) * SIZE).pvalue > 1e-7
    other = "gumbel" if noise == "exponential" else "exponential"
    wrong = NoisyMax(sensitivity=1, epsilon=1, noise=other).probabilities(SCORES)
    assert stats.chisquare(counts, wrong * SIZE).pvalue < 1e-7


def test_the_scale_is_exact() -> None:
    assert NoisyMax(sensitivity=1, epsilon=0.1).scale == 20
    assert NoisyMax(sensitivity=1, epsilon=0.1, monotonic=True).scale == 10
    assert NoisyMax(sensitivity=0.3, epsilon=0.1).scale == 6


def test_all_who_tie_win_equally() -> None:
    for noise in ("exponential", "laplace", "gumbel"):
        found = NoisyMax(sensitivity=1, epsilon=1, noise=noise).probabilities([7] * 13)
        assert found.tolist() == [float(np.float64(1) / 13)] * 13
