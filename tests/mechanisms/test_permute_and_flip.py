"""Permute-and-flip draws from its table, and from that of the algorithm it is named after."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy import stats

from discreet.mechanisms.exponential import Exponential
from discreet.mechanisms.permute_and_flip import PermuteAndFlip
from discreet.testing.scripted_words import splitmix

SIZE = 6000
SCORES = [0, 1, 2, 2, 5]


def by_its_name(scores: list[int], rate: float) -> list[float]:
    """All orders, and all coins: the candidate at which the walk first stops."""
    chances, orders = [0.0] * len(scores), math.factorial(len(scores))
    for order in itertools.permutations(range(len(scores))):
        left = 1.0 / orders
        for i in order:
            heads = math.exp(rate * (scores[i] - max(scores)))
            chances[i] += left * heads
            left *= 1 - heads
    return chances


@pytest.mark.parametrize("epsilon", [0.5, 2])
def test_the_table_is_that_of_the_algorithm(epsilon: float) -> None:
    mechanism = PermuteAndFlip(sensitivity=1, epsilon=epsilon)
    assert mechanism.probabilities(SCORES) == pytest.approx(by_its_name(SCORES, epsilon / 2), rel=1e-12)


@pytest.mark.cases
@pytest.mark.parametrize("offset", [0, 10**9])
def test_releases_follow_the_table(offset: int) -> None:
    mechanism, words = PermuteAndFlip(sensitivity=1, epsilon=1), splitmix(2)
    moved = [score + offset for score in SCORES]
    counts = np.bincount([mechanism.release(moved, words=words) for _ in range(SIZE)], minlength=len(SCORES))
    assert stats.chisquare(counts, mechanism.probabilities(SCORES) * SIZE).pvalue > 1e-7
    wrong = Exponential(sensitivity=1, epsilon=1).probabilities(SCORES)
    assert stats.chisquare(counts, wrong * SIZE).pvalue < 1e-7


def test_it_is_never_worse_than_the_exponential_mechanism() -> None:
    for scores in ([0, 0, 0, -2], [0, -1, -2, -3], [5, 5, 0], list(range(20))):
        better, other = PermuteAndFlip(sensitivity=1, epsilon=0.7), Exponential(sensitivity=1, epsilon=0.7)
        assert better.expected_gap(scores) <= other.expected_gap(scores)
