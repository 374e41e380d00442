"""The joint exponential mechanism: its law, its price on every neighbor of small tables, and its error.

Samples have 3,000 releases; a test here fails by chance at most once in 10**6 times (once, in fact: words are fixed).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from discreet.errors import InvalidParameter
from discreet.mechanisms.exponential import Exponential
from discreet.mechanisms.joint_exponential import JointExponential
from discreet.noise.entropy import is_private
from discreet.privacy.events import BoundedRangeEvent
from discreet.testing.scripted_words import splitmix

SIZE = 3000
SCORES = [1, 4, 2, 0, 2]

Outcome = tuple[int, ...]


def made(k: int = 2, *, epsilon: float = 1, monotonic: bool = True, order: bool = True) -> JointExponential:
    return JointExponential(k=k, sensitivity=1, epsilon=epsilon, monotonic=monotonic, order=order)


def outcomes(candidates: int, k: int, *, order: bool) -> list[Outcome]:
    ways = itertools.permutations if order else itertools.combinations
    return list(ways(range(candidates), k))


def shortfall(scores: Sequence[float], outcome: Outcome) -> float:
    """Of the j-th choice behind the j-th best, at most."""
    best = sorted(scores, reverse=True)
    return max(best[i] - scores[one] for i, one in enumerate(outcome))


def gap(scores: Sequence[float], outcome: Outcome) -> float:
    """Of the worst inside behind the best outside."""
    outside = [score for i, score in enumerate(scores) if i not in outcome]
    return max(0.0, max(outside) - min(scores[i] for i in outcome)) if outside else 0.0


def law(mechanism: JointExponential, scores: Sequence[float]) -> dict[Outcome, float]:
    """The definition."""
    loss = shortfall if mechanism.order else gap
    found = outcomes(len(scores), mechanism.k, order=mechanism.order)
    weights = np.array([math.exp(-loss(scores, one) / float(mechanism.scale)) for one in found])
    return dict(zip(found, (weights / weights.sum()).tolist(), strict=True))


def fits(mechanism: JointExponential, chances: dict[Outcome, float]) -> bool:
    words, counts = splitmix(3), dict.fromkeys(chances, 0)
    for _ in range(SIZE):
        counts[tuple(mechanism.release(SCORES, words=words).tolist())] += 1
    wanted = [chances[one] * SIZE for one in counts]
    return bool(stats.chisquare(list(counts.values()), wanted).pvalue > 1e-7)


@pytest.mark.long
@pytest.mark.parametrize("order", [True, False])
def test_releases_follow_the_definition(*, order: bool) -> None:
    mechanism = made(epsilon=4, order=order)
    chances = law(mechanism, SCORES)
    assert fits(mechanism, chances)
    wrong = law(made(epsilon=5, order=order), SCORES)
    assert not fits(mechanism, wrong)


def neighbors(candidates: int, *, monotonic: bool) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    steps = (0, 1) if monotonic else (-1, 0, 1)
    for scores in itertools.product(range(3), repeat=candidates):
        if sorted(scores) == list(scores):  # the law of the others is the same with candidates renamed
            for step in itertools.product(steps, repeat=candidates):
                yield np.array(scores), np.add(scores, step)


def log_ratios(mechanism: JointExponential, one: NDArray[np.int64], other: NDArray[np.int64]) -> NDArray[np.float64]:
    laws = [np.array(list(law(mechanism, scores.tolist()).values())) for scores in (one, other)]
    return np.asarray(np.log(laws[0]) - np.log(laws[1]))


@pytest.mark.long
@pytest.mark.parametrize("monotonic", [True, False])
@pytest.mark.parametrize("order", [True, False])
@pytest.mark.parametrize("k", [1, 2, 3, 4])
def test_no_neighbor_costs_more_than_epsilon(k: int, *, order: bool, monotonic: bool) -> None:
    """By enumeration: losses span epsilon, and no more. For two of four they span all of it: nothing is wasted."""
    mechanism, widest = made(k, order=order, monotonic=monotonic), 0.0
    for one, other in neighbors(4, monotonic=monotonic):
        ratios = log_ratios(mechanism, one, other)
        assert np.abs(ratios).max() <= 1 + 1e-9
        widest = max(widest, float(np.ptp(ratios)))
    assert widest <= 1 + 1e-9
    assert k > 2 or widest >= 1 - 1e-9


def test_scores_that_move_both_ways_cost_more_than_monotonic_ones() -> None:
    """What is claimed of scores matters: with half of the scale, the losses span more than epsilon."""
    spans = [np.ptp(log_ratios(made(2), one, other)) for one, other in neighbors(4, monotonic=False)]
    assert max(spans) == pytest.approx(2)


def test_one_of_many_is_the_exponential_mechanism() -> None:
    for monotonic, order in itertools.product((True, False), repeat=2):
        mechanism, other = (
            made(1, monotonic=monotonic, order=order),
            Exponential(sensitivity=1, epsilon=1, monotonic=monotonic),
        )
        assert mechanism.scale == other.scale
        assert list(law(mechanism, SCORES).values()) == pytest.approx(other.probabilities(SCORES).tolist())
        assert mechanism.bound(candidates=1000) == pytest.approx(other.bound(candidates=1000))
        assert mechanism.error(candidates=1000) == pytest.approx(other.error(candidates=1000))


def test_the_price_is_paid_once() -> None:
    mechanism = made(50, epsilon=0.5)
    assert mechanism.event == BoundedRangeEvent(epsilon=Fraction(1, 2))
    assert mechanism.loss.epsilon(delta=0) == pytest.approx(0.5)
    assert mechanism.loss.rho == pytest.approx(0.5**2 / 8)
    assert made(2).scale == 2
    assert made(2, monotonic=False).scale == 4


@pytest.mark.parametrize("order", [True, False])
def test_no_scores_miss_the_error_more_often(*, order: bool) -> None:
    for k, confidence in itertools.product((1, 2, 3, 5), (0.5, 0.95)):
        mechanism = made(k, order=order)
        error = mechanism.error(candidates=5, confidence=confidence)
        assert error <= mechanism.bound(candidates=5, confidence=confidence)
        for scores in ([0, 1, 5, 9, 2], [0, 0, 0, 0, 0], [3 * i for i in range(5)], [0] * (5 - k) + [error] * k):
            ranked = sorted(range(5), key=lambda i: -scores[i])
            missed = 0.0
            for one, chance in law(mechanism, scores).items():
                inside = one if order else tuple(i for i in ranked if i in one)
                missed += chance * (shortfall(scores, inside) >= error + 1e-9)
            assert missed <= 1 - confidence + 1e-9


def test_the_error_of_a_set_is_that_of_the_worst_scores() -> None:
    for k, candidates in ((1, 3), (2, 5), (3, 7)):
        mechanism = made(k, order=False)
        error = mechanism.error(candidates=candidates, confidence=0.9)
        best = law(mechanism, [error] * k + [0.0] * (candidates - k))[tuple(range(k))]
        assert best == pytest.approx(0.9)


def test_errors_of_many_candidates() -> None:
    few, many = made(10, order=False), made(10**6, order=False)
    exact = 2 * math.log(math.comb(10**6, 10) / 0.05)
    assert few.bound(candidates=10**6) == pytest.approx(exact)
    assert few.bound(candidates=10**6) >= exact
    assert made(10).bound(candidates=10**6) == pytest.approx(2 * math.log(math.perm(10**6, 10) / 0.05))
    assert few.error(candidates=10**100) == pytest.approx(
        2 * (10 * 100 * math.log(10) - math.log(math.factorial(10)) + math.log(19))
    )
    assert many.error(candidates=10**6) == 0
    assert many.error(candidates=10**6 + 1) == pytest.approx(2 * math.log(10**6 * 19))


def test_those_that_stand_out_are_found_in_a_million() -> None:
    """Where one-shot noise would need a gap of 100 log(10**8) = 1,842: here it is 100."""
    scores = np.zeros(200_000, dtype=int)
    scores[100:200] = 100
    for order in (True, False):
        found = made(100, order=order, epsilon=20).release(scores)
        assert sorted(found.tolist()) == list(range(100, 200))


@pytest.mark.parametrize("order", [True, False])
def test_all_kinds_of_scores_are_taken(*, order: bool) -> None:
    kinds: list[Any] = [
        [3, 8, 5],
        [3.5, 8.25, 5.0],
        [Fraction(1, 3), Fraction(7), Decimal("0.5")],
        [-(10**40), 10**40, 0],
        np.array([3, 8, 5], dtype=np.uint64),
        np.array([3, 8, 5], dtype=np.float32),
        [False, True, False],
    ]
    for scores in kinds:
        for k in (1, 2, 3):
            found = made(k, order=order, epsilon=10**4).release(scores)
            assert found.dtype == np.int64
            assert len(set(found.tolist())) == k
            assert 1 in found
    assert made(1, order=order).release([7]).tolist() == [0]
    assert sorted(made(3, order=order).release([2, 2, 2]).tolist()) == [0, 1, 2]


def test_a_set_comes_in_an_order_that_tells_nothing() -> None:
    found = made(50, order=False).release([5] * 200)
    assert found.tolist() == sorted(found.tolist())


def test_words_come_from_the_operating_system(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []

    def noted(scores: object, k: int, rate: Fraction, words: object) -> NDArray[np.int64]:
        seen.append(words)
        return np.arange(k)

    monkeypatch.setattr("discreet.mechanisms.joint_exponential.sequence", noted)
    made(2).release(SCORES)
    assert is_private(seen[0])  # type: ignore[arg-type]  # it is what would be drawn from


def test_refusals_name_the_cure() -> None:
    def changed(**changes: object) -> JointExponential:
        return JointExponential(**({"k": 2, "sensitivity": 1, "epsilon": 1} | changes))  # type: ignore[arg-type]  # bad values are the test

    calls: list[Callable[[], object]] = [
        lambda: changed(k=0),
        lambda: changed(k=1.5),
        lambda: changed(epsilon=math.nan),
        lambda: changed(epsilon=0),
        lambda: changed(sensitivity=0),
        lambda: changed(monotonic=1),
        lambda: changed(order="yes"),
        lambda: changed().release([1]),
        lambda: changed().release([]),
        lambda: changed().release([1, math.nan]),
        lambda: changed().release([1, math.inf]),
        lambda: changed().release([[1, 2], [3, 4]]),
        lambda: changed().release(["a", "b"]),
        lambda: changed().bound(candidates=1),
        lambda: changed().bound(candidates=4, confidence=0),
        lambda: changed().error(candidates=4, confidence=1),
    ]
    for call in calls:
        with pytest.raises(InvalidParameter, match="Hint: "):
            call()
