"""The threshold against independent code, and what it lets through."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray

from discreet.errors import InvalidParameter
from discreet.mechanisms.threshold import Threshold
from discreet.noise.laplace import DiscreteLaplace
from discreet.privacy.events import ApproximateEvent
from discreet.testing.scripted_words import splitmix
from discreet.testing.statistics import binomial_p

# epsilon, delta, groups: the threshold, and the chance of a lone key to be at or above it; from independent code.
THRESHOLDS = {
    (0.1, 1e-3, 1): (64, 0.0009640217898083316),
    (0.1, 1e-10, 10): (2466, 9.903234643288489e-12),
    (0.5, 1e-5, 3): (73, 3.32752405317859e-6),
    (1, 1e-5, 1): (13, 4.491779149825038e-6),
    (2, 1e-5, 1): (7, 5.411804287287096e-6),
    (2, 1e-3, 10): (45, 8.287816920694781e-5),
}


@pytest.mark.parametrize("parameters", THRESHOLDS)
def test_the_threshold_is_the_smallest(parameters: tuple[float, float, int]) -> None:
    epsilon, delta, groups = parameters
    mechanism, (threshold, chance) = Threshold(epsilon=epsilon, delta=delta, max_groups=groups), THRESHOLDS[parameters]
    assert mechanism.threshold == threshold
    assert mechanism.keep(1) == pytest.approx(chance, rel=1e-12)


def test_a_lone_key_is_shown_with_delta_at_most() -> None:
    """At the threshold itself a key is shown; so that is what delta must count. Also where few steps decide."""
    for epsilon in (0.3, 1, 7, 50):
        for delta in (Fraction(1, 2), Fraction(1, 100), Fraction(1, 10**9)):
            mechanism = Threshold(epsilon=epsilon, delta=delta)
            law = DiscreteLaplace.of_scale(mechanism.scale)
            assert law.tail(mechanism.threshold - 1) / 2 <= delta
            assert mechanism.threshold == 2 or law.tail(mechanism.threshold - 2) / 2 > delta


@pytest.mark.parametrize(("groups", "rows"), [(1, 3), (2, 1), (2, 5), (3, 40)])
def test_a_key_of_several_rows_is_shown_with_delta_at_most(groups: int, rows: int) -> None:
    """All keys of one unit, each with as many rows as it may have; and the threshold is the smallest."""
    for epsilon in (0.3, 1, 7):
        for delta in (Fraction(1, 20), Fraction(1, 10**9)):
            mechanism = Threshold(epsilon=epsilon, delta=delta, max_groups=groups, max_rows=rows)
            each = -math.expm1(math.log1p(-float(delta)) / groups)
            assert mechanism.keep(rows) <= each * (1 + 1e-9)
            assert mechanism.threshold == rows + 1 or mechanism.keep(rows + 1) > each


def law(mechanism: Threshold, count: int) -> NDArray[np.float64]:
    """The probabilities that a key is not shown, and is shown with each noisy count up to one beyond which all is one
    outcome; from the threshold and the scale alone.
    """
    q, far = math.exp(-1 / float(mechanism.scale)), int(12 * mechanism.scale)
    if not count:
        alone: NDArray[np.float64] = np.eye(far + 1)[0]
        return alone
    reached = [tail(mechanism.threshold + i - count, q) for i in range(far)]
    return np.array([1 - reached[0], *(a - b for a, b in itertools.pairwise([*reached, 0.0]))])


def missing(one: list[NDArray[np.float64]], other: list[NDArray[np.float64]], epsilon: float) -> float:
    """The smallest delta that will do from one joint law to the other."""
    first, second = (functools.reduce(lambda a, b: np.multiply.outer(a, b).reshape(-1), laws) for laws in (one, other))
    return float(np.maximum(first - math.exp(epsilon) * second, 0).sum())


UNITS_OF_TWO_KEYS = [(3, 3), (3, 1), (1, 1), (3, 0)]


@pytest.mark.parametrize("others", [(0, 0), (0, 5), (4, 9)])
@pytest.mark.parametrize("unit", UNITS_OF_TWO_KEYS)
def test_counts_of_rows_keep_their_promise(unit: tuple[int, int], others: tuple[int, int]) -> None:
    """By enumeration, in both directions: a unit of up to three rows in each of two keys, alone there and beside
    others. A mechanism of units, of which one row counts in each key, does not keep it.
    """
    epsilon, delta = 1.0, 0.05
    before, after = [a + b for a, b in zip(unit, others, strict=True)], list(others)

    def needed(mechanism: Threshold) -> float:
        one, other = ([law(mechanism, count) for count in counts] for counts in (before, after))
        return max(missing(one, other, epsilon), missing(other, one, epsilon))

    sound = Threshold(epsilon=epsilon, delta=delta, max_groups=2, max_rows=3)
    assert needed(sound) <= delta * (1 + 1e-9)
    if unit == (3, 3):
        assert needed(Threshold(epsilon=epsilon, delta=delta, max_groups=2)) > 1.9 * delta


def test_ties_are_counted() -> None:
    """A hundred thousand keys of one person each, scale 1, threshold 5: e^-4/(1 + 1/e) of them, not e times less."""
    mechanism = Threshold(epsilon=1, delta=0.0134)
    assert mechanism.threshold == 5
    shown = mechanism.release(np.ones(100_000, dtype=int), words=splitmix(1))
    assert binomial_p(shown.places.size, 100_000, math.exp(-4) / (1 + math.exp(-1))) > 1e-6
    assert binomial_p(shown.places.size, 100_000, 0.004925833956035728) < 1e-9
    assert int(shown.noisy.min()) == 5


@pytest.mark.parametrize("units", [1, 5, 13, 40])
def test_keys_are_shown_as_often_as_stated(units: int) -> None:
    mechanism = Threshold(epsilon=0.5, delta=1e-3, max_groups=2)
    shown = mechanism.release(np.full(20_000, units), words=splitmix(units))
    assert binomial_p(shown.places.size, 20_000, mechanism.keep(units)) > 1e-7


def tail(z: int, q: float) -> float:
    """P(Z >= z) of discrete Laplace noise."""
    return q**z / (1 + q) if z >= 0 else 1 - q ** (1 - z) / (1 + q)


@pytest.mark.parametrize("confidence", [0.5, 0.95, 0.999])
@pytest.mark.parametrize(("epsilon", "delta"), [(0.3, 0.3), (0.3, 1e-5), (1, 1e-5), (5, 1e-5)])
def test_intervals_hold_for_keys_that_are_shown(epsilon: float, delta: float, confidence: float) -> None:
    """By enumeration: for each count, of the noisy counts that reach the threshold. And the lower end is the one of the
    definition, which is a formula here.
    """
    mechanism = Threshold(epsilon=epsilon, delta=delta)
    q, threshold = math.exp(-epsilon), mechanism.threshold
    noisy = np.arange(threshold, threshold + int(40 / epsilon) + 30)
    low, high = mechanism.interval(noisy, confidence)
    for count in range(1, threshold + int(20 / epsilon)):
        law = np.array([tail(n - count, q) - tail(n + 1 - count, q) for n in noisy.tolist()]) / tail(
            threshold - count, q
        )
        assert law[(low <= count) & (count <= high)].sum() >= confidence - 1e-9
    for n, found in zip(noisy[:60].tolist(), low.tolist(), strict=False):
        out = [x for x in range(1, n) if tail(n - x, q) / tail(threshold - x, q) <= (1 - confidence) / 2 * (1 - 1e-9)]
        assert found == max(out, default=0) + 1
    if epsilon == 0.3:  # what would hold for a count that is always shown does not for one that few have
        half = int(high[0] - noisy[0])
        law = np.array([tail(n - 1, q) - tail(n, q) for n in noisy.tolist()]) / tail(threshold - 1, q)
        assert law[(noisy - half <= 1) & (noisy + half >= 1)].sum() < confidence


def test_intervals_hold_for_what_is_released() -> None:
    """Keys far from the threshold, near it and beyond it, a hundred thousand of each; binomial, one in a million."""
    mechanism = Threshold(epsilon=0.5, delta=0.01)
    half = DiscreteLaplace.of_scale(mechanism.scale).quantile(0.9)
    for count in (mechanism.threshold - 6, mechanism.threshold - 1, mechanism.threshold + 4):
        noisy = mechanism.release(np.full(100_000, count), words=splitmix(count)).noisy
        low, high = mechanism.interval(noisy, 0.9)
        missed = int(((low > count) | (high < count)).sum())
        assert missed <= 0.1 * noisy.size or binomial_p(missed, noisy.size, 0.1) > 1e-6
        if count == mechanism.threshold - 6:
            wrong = int((np.abs(noisy - count) > half).sum())
            assert wrong > 0.1 * noisy.size
            assert binomial_p(wrong, noisy.size, 0.1) < 1e-9


def test_intervals_of_extremes() -> None:
    mechanism = Threshold(epsilon=1, delta=1e-5)
    assert [end.size for end in mechanism.interval([])] == [0, 0]
    low, high = Threshold(epsilon=10**6, delta=1e-5).interval([2, 3, 2**60])
    assert (low.tolist(), high.tolist()) == ([1, 3, 2**60], [2, 3, 2**60])
    low, high = Threshold(epsilon=1e-9, delta=0.5).interval([Threshold(epsilon=1e-9, delta=0.5).threshold, 2**60])
    assert low[0] == 1
    assert low[1] <= 2**60 - 10**9 <= 2**60 + 10**9 <= high[1]
    for rare in (1e-19, 1e-50, 1e-100):  # no count of 64 bits is ever shown
        low, high = Threshold(epsilon=rare, delta=1e-5).interval([1, 2**60])
        assert (low.tolist(), bool((high >= 2**61).all())) == ([1, 1], True)
    for bad in (0, 1, math.nan, "most"):
        with pytest.raises(InvalidParameter, match="Hint: "):
            mechanism.interval([20], bad)


def test_what_it_costs() -> None:
    mechanism = Threshold(epsilon=1, delta=1e-6)
    assert mechanism.event == ApproximateEvent(epsilon=Fraction(1), delta=Fraction(1, 10**6))
    assert mechanism.loss.delta(epsilon=1) == pytest.approx(1e-6)
    assert mechanism.loss.epsilon(delta=1e-6) == 1.0


def test_nobody_is_never_shown() -> None:
    mechanism = Threshold(epsilon=1, delta=0.4)
    shown = mechanism.release([0, 50] * 500, words=splitmix(3))
    assert set((shown.places % 2).tolist()) == {1}
    assert mechanism.release([0, 0]).places.size == 0
    assert mechanism.release(np.array([200], dtype=np.uint8)).places.tolist() == [0]


def test_refusals_name_the_cure() -> None:
    sound = Threshold(epsilon=1, delta=0.1)
    calls: list[Callable[[], object]] = [
        *[lambda bad=bad: Threshold(epsilon=bad, delta=0.1) for bad in (0, -1, math.nan, math.inf)],
        *[lambda bad=bad: Threshold(epsilon=1, delta=bad) for bad in (0, 1, -0.1, 2, math.nan)],
        lambda: Threshold(epsilon=1, delta=0.1, max_groups=0),
        lambda: Threshold(epsilon=1, delta=0.1, max_rows=0),
        lambda: sound.release([0.5]),
        lambda: sound.release([-1]),
        lambda: sound.release([10**30]),
        lambda: sound.keep(0),
    ]
    for call in calls:
        with pytest.raises(InvalidParameter, match="Hint: "):
            call()


def test_no_key_is_an_answer_as_one_is() -> None:
    """Whether there is any key is told by the data: no error may say so."""
    mechanism = Threshold(epsilon=1, delta=1e-5)
    for counts in ([], [0], np.zeros(0, dtype=np.int64)):
        shown = mechanism.release(counts)
        assert (shown.places.size, shown.noisy.size) == (0, 0)
