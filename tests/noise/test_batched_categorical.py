"""Runs and their members have exactly their law: by closed forms, by scripted words that no float tells apart."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray

from discreet.noise import batched_categorical
from discreet.noise.batched_categorical import Trials, run
from discreet.noise.entropy import fresh_words
from discreet.testing.scripted_words import scripted, splitmix
from discreet.testing.statistics import _pearson

RUNS = 20_000
FALSE_ALARM = 1e-9
RATE = Fraction(1, 3)
FIRST = [(0, 0, 4), (2, 1, 5), (1, 3, 1), (0, 2, 3)]
SECOND = [(3, 0, 2), (0, 7, 6)]
"""Base, slope and size of each run."""


def repeated(runs: list[tuple[int, int, int]], times: int, rate: Fraction = RATE) -> Trials:
    """The same trial many times over."""
    base, slope, size = (np.array(part * times) for part in map(list, zip(*runs, strict=True)))
    trial = np.repeat(np.arange(times), len(runs))
    return Trials(trial, base, slope, size, (Fraction(5), rate), np.ones(times, dtype=np.int64))


def law(runs: list[tuple[int, int, int]], rate: float) -> NDArray[np.float64]:
    weights = np.concatenate([np.exp(-rate * (base + slope * np.arange(size))) for base, slope, size in runs])
    return np.asarray(weights / weights.sum())


def drawn(runs: list[tuple[int, int, int]], seed: int) -> NDArray[np.int64]:
    """How often each member came, run by run."""
    chosen, member = run(repeated(runs, RUNS), splitmix(seed))
    before = np.cumsum([0, *(size for _, _, size in runs)])
    places = before[chosen % len(runs)] + member
    assert (member < np.array([size for _, _, size in runs])[chosen % len(runs)]).all()
    return np.bincount(places, minlength=before[-1])


@pytest.mark.parametrize("runs", [FIRST, SECOND, [(9, 1, 1)], [(0, 1, 1000)]], ids=str)
def test_members_have_their_law(runs: list[tuple[int, int, int]]) -> None:
    expected = law(runs, float(RATE))
    counts = drawn(runs, 7)
    likely = expected * RUNS >= 10
    if likely.sum() > 1:
        tail = [] if likely.all() else [(counts[~likely].sum(), expected[~likely].sum())]
        wanted = np.append(expected[likely], [mass for _, mass in tail if mass * RUNS >= 10])
        found = np.append(counts[likely], [number for number, mass in tail if mass * RUNS >= 10])
        assert _pearson(found, wanted / wanted.sum() * found.sum()) > FALSE_ALARM


def test_a_wrong_law_is_seen() -> None:
    counts = drawn(FIRST, 7)
    assert _pearson(counts, law(FIRST, 1.25 * float(RATE)) * RUNS) < FALSE_ALARM


def test_trials_are_independent_and_have_rates_of_their_own() -> None:
    """Two trials in turn: the pair has the product law."""
    base, slope, size = (np.array(part * RUNS) for part in map(list, zip(*FIRST, *SECOND, strict=True)))
    trial = np.repeat(np.arange(2 * RUNS), [len(FIRST), len(SECOND)] * RUNS)
    both = Trials(trial, base, slope, size, (RATE, 2 * RATE), np.tile([0, 1], RUNS))
    chosen, _ = run(both, splitmix(3))
    pairs = (chosen % 6).reshape(-1, 2) @ np.array([2, 1]) - 4
    runs = [
        [np.exp(-float(rate) * (b + s * np.arange(n))).sum() for b, s, n in part]
        for part, rate in ((FIRST, RATE), (SECOND, 2 * RATE))
    ]
    expected = np.outer(*(np.array(part) / sum(part) for part in runs)).ravel()
    assert _pearson(np.bincount(pairs, minlength=8), expected * RUNS) > FALSE_ALARM


def test_totals_that_meet_are_told_apart_by_more_bits() -> None:
    """Equal runs with equal first words: the later words decide, either way."""
    trial, zero, one = np.zeros(2, dtype=np.int64), np.zeros(2, dtype=np.int64), np.ones(2, dtype=np.int64)
    twins = Trials(trial, zero, zero, one, (RATE,), np.array([0]))
    word = 1 << 62
    for second, winner in (((5, 9), 0), ((9, 5), 1), ((7, 7, 1 << 63, 1), 1)):
        chosen, _ = run(twins, scripted(word, word, *second, 0))
        assert chosen.tolist() == [winner]  # a small uniform is a large Gumbel


@pytest.mark.parametrize("word", [0, 1, 2**64 - 1, 2**64 - 2**19])
def test_words_at_the_edge_are_enclosed(word: int) -> None:
    trial = np.zeros(2, dtype=np.int64)
    both = Trials(trial, np.array([3, 40]), np.array([0, 2]), np.array([1, 7]), (RATE,), np.array([0]))
    low, high = batched_categorical._enclosures(both, np.array([word, 1 << 63], dtype=np.uint64))
    assert (low < high).all()
    chosen, _ = run(both, scripted(word, 1 << 63, *[6] * 8))
    assert chosen.tolist() == [0]  # 12 exponents behind, the other cannot win against these


def test_integers_beyond_64_bits() -> None:
    huge = np.array([2**80, 2**80 + 3000, 2**90], dtype=object)
    trial, slope, size = np.zeros(3, dtype=np.int64), np.array([0, 2**70, 0], dtype=object), np.array([2, 3, 5])
    both = Trials(trial, huge, slope, size, (Fraction(1, 2**6),), np.array([0]))
    assert {run(both, fresh_words())[0].item() for _ in range(20)} == {0}


def test_a_trial_without_runs_is_no_heat() -> None:
    one = np.array([1])
    with pytest.raises(ValueError, match="without runs"):
        run(Trials(np.array([1]), one, one, one, (RATE,), np.array([0, 0])), fresh_words())
