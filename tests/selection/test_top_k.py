"""The k best: the law of several choices, their price, and their bound.

Samples have 4,000 releases; a test here fails by chance at most once in 10**6 times (once, in fact: words are fixed).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from discreet.accounting.conversions import zcdp_epsilon
from discreet.errors import InvalidParameter
from discreet.mechanisms.exponential import Exponential
from discreet.mechanisms.permute_and_flip import PermuteAndFlip
from discreet.mechanisms.selection_probabilities import Selector
from discreet.privacy.events import BoundedRangeEvent, composed
from discreet.selection.top_k import TopK
from discreet.testing.scripted_words import splitmix

SIZE = 4000
SCORES = [0, 1, 2, 4]


def rounds(choice: Selector, k: int) -> dict[tuple[int, ...], float]:
    """The chance of each sequence of k choices without replacement."""
    chances = {}
    for sequence in itertools.permutations(range(len(SCORES)), k):
        chance, left = 1.0, list(range(len(SCORES)))
        for index in sequence:
            chance *= float(choice.probabilities([SCORES[i] for i in left])[left.index(index)])
            left.remove(index)
        chances[sequence] = chance
    return chances


@pytest.mark.long
@pytest.mark.parametrize(("method", "rule"), [("one-shot", Exponential), ("peeling", PermuteAndFlip)])
def test_several_choices_are_rounds_of_one(method: str, rule: type[Selector]) -> None:
    best, words = TopK(k=2, sensitivity=1, epsilon=2, method=method), splitmix(3)
    counts = dict.fromkeys(itertools.permutations(range(4), 2), 0)
    for _ in range(SIZE):
        counts[tuple(best.release(SCORES, words=words).tolist())] += 1
    for chosen in (rule, Exponential if rule is PermuteAndFlip else PermuteAndFlip):
        chances = rounds(chosen(sensitivity=1, epsilon=1), 2)
        wanted = [chances[sequence] * SIZE for sequence in counts]
        fits = bool(stats.chisquare(list(counts.values()), wanted).pvalue > 1e-7)
        assert fits is (chosen is rule)


@pytest.mark.parametrize("method", ["one-shot", "peeling"])
def test_k_different_ones_are_chosen(method: str) -> None:
    best = TopK(k=20, sensitivity=1, epsilon=1000, method=method, monotonic=True)
    scores = (np.arange(20) * 7 % 20) * 100
    assert best.release(scores).tolist() == np.argsort(-scores).tolist()
    assert sorted(TopK(k=20, sensitivity=1, epsilon=1, method=method).release(scores).tolist()) == list(range(20))


def test_the_price_is_divided() -> None:
    pure = TopK(k=5, sensitivity=1, epsilon=1)
    assert pure.each == Fraction(1, 5)
    assert pure.loss.epsilon(delta=0) == pytest.approx(1)
    assert pure.event == composed(BoundedRangeEvent(epsilon=Fraction(1, 5)), times=5)
    for k, each in ((10, 0.140), (100, 0.044)):
        best = TopK(k=k, sensitivity=1, epsilon=1, delta=1e-6)
        assert float(best.each) == pytest.approx(each, abs=5e-4)
        assert zcdp_epsilon(k * best.each**2 / 8, 1e-6) <= 1
        assert best.loss.rho == pytest.approx(float(k * best.each**2 / 8))
    assert TopK(k=1, sensitivity=1, epsilon=1, delta=1e-9).each == 1


def test_the_bound_holds() -> None:
    best, words, misses = TopK(k=3, sensitivity=1, epsilon=3), splitmix(5), 0
    bound = best.bound(candidates=50, confidence=0.9)
    scores = np.concatenate([np.zeros(47), [0.5 * bound, bound, bound]])
    for _ in range(300):
        chosen = scores[best.release(scores, words=words)]
        misses += bool(np.any(chosen < np.sort(scores)[::-1][:3] - bound))
    assert misses <= 60  # expected at most 30


@pytest.mark.parametrize(("method", "rule"), [("one-shot", Exponential), ("peeling", PermuteAndFlip)])
def test_some_scores_reach_the_lower_bound(method: str, rule: type[Selector]) -> None:
    """By the exact tables of each round, on k scores so far above all others: one-shot reaches it exactly."""
    for k, candidates, confidence in ((1, 2, 0.95), (1, 50, 0.9), (2, 20, 0.5), (5, 30, 0.95), (20, 40, 0.99)):
        best = TopK(k=k, sensitivity=1, epsilon=1, method=method)
        gap, found = best.lower_bound(candidates=candidates, confidence=confidence), 1.0
        assert gap < best.bound(candidates=candidates, confidence=confidence)
        for left in range(k, 0, -1):
            chances = rule(sensitivity=1, epsilon=Fraction(1, k)).probabilities([gap] * left + [0.0] * (candidates - k))
            found *= float(chances[:left].sum())
        assert 1 - found >= (1 - confidence) * (1 - 1e-9)
        assert 1 - found <= (1 - confidence) * (1 + 1e-9 if method == "one-shot" else 1.4)
    assert TopK(k=3, sensitivity=1, epsilon=1, method=method).lower_bound(candidates=3) == 0


def test_a_hundred_of_a_million() -> None:
    scores = np.zeros(200_000, dtype=int)
    scores[:100] = 10**7
    found = TopK(k=100, sensitivity=1, epsilon=1, delta=1e-6).release(scores)
    assert sorted(found.tolist()) == list(range(100))


def test_refusals_name_the_cure() -> None:
    def made(**changes: object) -> TopK:
        return TopK(**({"k": 2, "sensitivity": 1, "epsilon": 1} | changes))  # type: ignore[arg-type]  # bad values are the test

    calls: list[Callable[[], object]] = [
        lambda: made(k=0),
        lambda: made(epsilon=math.nan),
        lambda: made(sensitivity=0),
        lambda: made(delta=1),
        lambda: made(method="best"),
        lambda: made(method="peeling", delta=1e-6),
        lambda: made().release([1]),
        lambda: made().release([1, math.nan]),
        lambda: made().bound(candidates=4, confidence=0),
    ]
    for call in calls:
        with pytest.raises(InvalidParameter, match="Hint: "):
            call()
