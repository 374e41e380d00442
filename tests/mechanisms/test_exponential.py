"""The exponential mechanism draws from its table: 6,000 releases, false alarms below 10**-6."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from discreet.mechanisms.exponential import Exponential
from discreet.mechanisms.permute_and_flip import PermuteAndFlip
from discreet.testing.scripted_words import splitmix

SIZE = 6000
SCORES = [0, 1, 2, 2, 5]


def drawn(mechanism: Exponential | PermuteAndFlip, scores: list[int]) -> list[int]:
    words = splitmix(1)
    counts = np.bincount([mechanism.release(scores, words=words) for _ in range(SIZE)], minlength=len(scores))
    return [int(count) for count in counts]


@pytest.mark.cases
@pytest.mark.parametrize("offset", [0, 10**9, -(10**30)])
def test_releases_follow_the_table(offset: int) -> None:
    mechanism = Exponential(sensitivity=1, epsilon=1)
    counts = drawn(mechanism, [score + offset for score in SCORES])
    weights = np.exp(np.array(SCORES) / 2)
    assert mechanism.probabilities(SCORES) == pytest.approx(weights / weights.sum(), rel=1e-14)
    assert stats.chisquare(counts, weights / weights.sum() * SIZE).pvalue > 1e-7


def test_another_law_is_seen() -> None:
    counts = drawn(PermuteAndFlip(sensitivity=1, epsilon=1), SCORES)
    assert stats.chisquare(counts, Exponential(sensitivity=1, epsilon=1).probabilities(SCORES) * SIZE).pvalue < 1e-7


def test_monotonic_scores_get_half_the_noise() -> None:
    general, counts = Exponential(sensitivity=1, epsilon=2), Exponential(sensitivity=1, epsilon=1, monotonic=True)
    assert general.scale == counts.scale == 1
    assert general.probabilities(SCORES).tolist() == counts.probabilities(SCORES).tolist()
