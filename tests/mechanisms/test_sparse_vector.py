"""Sparse vector: its outcomes have the chances that quadrature gives, and its run cannot be stretched.

Samples have 3,000 runs; a test here fails by chance at most once in 10**6 times (once, in fact: words are fixed).
"""

from __future__ import annotations

import copy
import itertools
import math
import os
import pickle
import threading
from collections.abc import Callable, Sequence
from fractions import Fraction

import numpy as np
import pytest

from discreet.errors import BudgetExceeded, InvalidParameter
from discreet.mechanisms.sparse_vector import SparseVector, _noise, best_share
from discreet.noise import process_identity
from discreet.privacy.events import PureEvent
from discreet.testing.scripted_words import splitmix
from discreet.testing.statistics import binomial_p

RUNS = 3000

# log P(E)/P'(E) at epsilon 1, E being k below, then one above: for k answers 0 and a 1, against k answers 1 and a 0.
# By the scales of the noise on the threshold and on the answers; from independent code.
LOSSES = {
    (2, 4): {1: 0.3958153343706082, 5: 0.8998146866092654, 10: 0.994010163638147},
    (2, 2): {5: 1.4375091414125782, 10: 1.4959892375699222},
    (1, 1): {5: 2.833244067489318},
}


def chance(answers: Sequence[float], outcome: Sequence[bool], scales: tuple[float, float]) -> float:
    """The chance of an outcome at threshold 0, by Simpson's rule on pieces without kinks."""
    one, each = scales
    reach, total = 60 * max(scales), 0.0
    kinks = sorted({-reach, *answers, 0.0, reach})
    for low, high in itertools.pairwise(kinks):
        rho = np.linspace(low, high, 4001)
        weights = np.array([1.0, *[4.0, 2.0] * 1999, 4.0, 1.0]) * (high - low) / 4000 / 3
        density = np.exp(-np.abs(rho) / one) / (2 * one)
        for answer, above in zip(answers, outcome, strict=True):
            gap = (rho - answer) / each
            over = np.where(gap > 0, np.exp(-np.abs(gap)) / 2, 1 - np.exp(-np.abs(gap)) / 2)
            density = density * (over if above else 1 - over)
        total += float(weights @ density)
    return total


def loss(k: int, scales: tuple[float, float]) -> float:
    outcome = [False] * k + [True]
    return math.log(chance([0] * k + [1], outcome, scales) / chance([1] * k + [0], outcome, scales))


@pytest.mark.parametrize("scales", LOSSES)
def test_the_quadrature_is_that_of_independent_code(scales: tuple[int, int]) -> None:
    for k, wanted in LOSSES[scales].items():
        assert loss(k, scales) == pytest.approx(wanted, abs=1e-6)


def test_the_scales_are_those_proved() -> None:
    for count, share, monotonic in ((1, Fraction(1, 2), False), (5, Fraction(1, 10), False), (3, Fraction(1, 3), True)):
        run = SparseVector(
            sensitivity=2, epsilon=Fraction(1, 2), threshold=0, count=count, share=share, monotonic=monotonic
        )
        one, each = run.scales
        assert one == 2 / (Fraction(1, 2) * share)
        assert each == (1 if monotonic else 2) * count * 2 / (Fraction(1, 2) * (1 - share))
    odd = SparseVector(sensitivity=Fraction(3, 10), epsilon=1, threshold=0, share=Fraction(1, 2))
    assert 1 <= odd.scales[0] / Fraction(6, 10) < 1 + Fraction(1, 2**23)


@pytest.mark.parametrize("k", [1, 5, 10, 20])
def test_the_loss_stays_below_epsilon(k: int) -> None:
    for share in (None, Fraction(1, 2)):
        run = SparseVector(sensitivity=1, epsilon=1, threshold=0, share=share)
        one, each = map(float, run.scales)
        assert 0 < loss(k, (one, each)) <= 1 + 1e-7
    assert loss(20, (1, 2)) > 1.4  # what forgetting a factor of 2 does


@pytest.mark.parametrize("monotonic", [False, True])
def test_no_outcome_of_a_run_costs_more_than_epsilon(*, monotonic: bool) -> None:
    """All outcomes of three answers with up to two above, and all changes of the answers that the claim allows."""
    run = SparseVector(sensitivity=1, epsilon=1, threshold=0, count=2, monotonic=monotonic)
    scales, worst = (float(run.scales[0]), float(run.scales[1])), 0.0
    outcomes = [outcome for outcome in itertools.product((False, True), repeat=3) if sum(outcome[:-1]) < 2]
    for outcome in outcomes:
        before = math.log(chance([0, 0, 0], outcome, scales))
        for change in itertools.product((0, 1) if monotonic else (-1, 0, 1), repeat=3):
            worst = max(worst, abs(math.log(chance(change, outcome, scales)) - before))
    assert 0.4 < worst <= 1


def test_outcomes_have_their_chance() -> None:
    answers, words = [0.5, -1.0, 0.25, 1.0], splitmix(2)
    parameters = {"sensitivity": 1, "epsilon": 2, "threshold": 0, "count": 1}
    ended = np.zeros(5, dtype=int)
    scales = SparseVector(**parameters).scales  # type: ignore[arg-type]  # they are keywords of several types
    for _ in range(RUNS):
        found = SparseVector(**parameters).release(answers, words=words)  # type: ignore[arg-type]  # as above
        ended[found.size - 1 if found[-1] else 4] += 1
    outcomes = [[False] * k + [True] for k in range(4)] + [[False] * 4]
    chances = [chance(answers[: len(o)], o, (float(scales[0]), float(scales[1]))) for o in outcomes]
    assert sum(chances) == pytest.approx(1)
    for hits, wanted in zip(ended.tolist(), chances, strict=True):
        assert binomial_p(hits, RUNS, wanted) > 1e-7
    wrong = [chance(answers[: len(o)], o, (0.1, float(scales[1]))) for o in outcomes]
    assert min(binomial_p(h, RUNS, w) for h, w in zip(ended.tolist(), wrong, strict=True)) < 1e-7


def test_what_a_run_costs() -> None:
    run = SparseVector(sensitivity=1, epsilon=0.5, threshold=0, count=7)
    assert run.event == PureEvent(epsilon=Fraction(1, 2))
    assert run.loss.epsilon(delta=0) == pytest.approx(0.5)


def test_it_stops_when_paid_out() -> None:
    run = SparseVector(sensitivity=1, epsilon=10, threshold=0, count=2)
    found = run.release([1000, -1000, 1000, -1000, 1000])
    assert found.tolist() == [True, False, True]
    assert run.remaining == 0
    for answers in (-1000, [1000]):
        with pytest.raises(BudgetExceeded, match="new SparseVector"):
            run.release(answers)


def test_one_answer_or_many() -> None:
    run = SparseVector(sensitivity=1, epsilon=10, threshold=50, count=3)
    assert run.release(-(10**40)) is False
    assert run.release(10**40) is True
    assert run.release(np.array([Fraction(1, 3), 0.5, -(10**30)], dtype=object)).tolist() == [False] * 3
    assert run.release(np.array([1e300])).tolist() == [True]
    assert run.remaining == 1
    assert "remaining=1" in repr(run)


def test_the_noisy_threshold_is_kept_for_the_run() -> None:
    """At answers far noisier than they are apart: those of one run share their luck."""
    words = splitmix(11)
    alike = 0
    for _ in range(300):
        run = SparseVector(sensitivity=1, epsilon=1, threshold=0, count=50, share=Fraction(1, 1000))
        found = run.release([0] * 40, words=words)
        alike += int(abs(found.mean() - 0.5) > 0.4)
    assert alike > 30


def test_no_copies() -> None:
    run = SparseVector(sensitivity=1, epsilon=1, threshold=0)
    for duplicate in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(InvalidParameter, match="stays where it is"):
            duplicate(run)


def test_a_fork_is_no_second_run(monkeypatch: pytest.MonkeyPatch) -> None:
    run = SparseVector(sensitivity=1, epsilon=1, threshold=0)
    with monkeypatch.context() as own:
        own.setattr(os, "getpid", lambda: -1)
        with pytest.raises(InvalidParameter, match="new SparseVector in this process"):
            run.release(3)
    monkeypatch.setattr(process_identity, "_forks", 1)  # one that was given the same number
    with pytest.raises(InvalidParameter, match="new SparseVector in this process"):
        run.release(3)


def test_a_fork_does_not_wait_for_what_another_thread_held(monkeypatch: pytest.MonkeyPatch) -> None:
    """The lock as a fork may find it: held, by a thread that does not exist there."""
    run, refused = SparseVector(sensitivity=1, epsilon=1, threshold=0), list[BaseException]()

    def asked() -> None:
        try:
            run.release(3)
        except InvalidParameter as refusal:
            refused.append(refusal)

    with run._guard:
        monkeypatch.setattr(os, "getpid", lambda: -1)
        thread = threading.Thread(target=asked, daemon=True)
        thread.start()
        thread.join(20)
        assert [type(one) for one in refused] == [InvalidParameter]


def test_noise_beyond_its_cap() -> None:
    drawn = _noise(Fraction(2**62), 20, splitmix(3))
    assert max(abs(int(draw)) for draw in drawn) > 2**62


def test_the_bound_holds() -> None:
    """Answers further than the bound from the threshold are told right, all hundred of them."""
    words, misses = splitmix(4), 0
    for _ in range(200):
        run = SparseVector(sensitivity=1, epsilon=1, threshold=0, count=1)
        bound = run.bound(answers=100, confidence=0.9)
        found = run.release([-bound] * 99 + [bound], words=words)
        misses += found.tolist() != [False] * 99 + [True]
    assert misses <= 45  # expected at most 20


def test_refusals_name_the_cure() -> None:
    def made(**changes: object) -> SparseVector:
        return SparseVector(**({"sensitivity": 1, "epsilon": 1, "threshold": 0} | changes))  # type: ignore[arg-type]  # bad values are the test

    calls: list[Callable[[], object]] = [
        lambda: made(epsilon=0),
        lambda: made(epsilon=Fraction(1, 10**40)),
        lambda: made(sensitivity=math.nan),
        lambda: made(threshold=math.inf),
        lambda: made(count=0),
        lambda: made(count=1.5),
        lambda: made(monotonic=1),
        lambda: made(share=1),
        lambda: made().release(math.nan),
        lambda: made().release([]),
        lambda: made().bound(answers=0),
        lambda: made().bound(answers=3, confidence=1),
    ]
    for call in calls:
        with pytest.raises(InvalidParameter, match="Hint: "):
            call()
    assert best_share(1) == Fraction(1, 2)
