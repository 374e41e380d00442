"""Level sets of sequences and of sets of k candidates: how many they hold, which, and that one try has their law."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from flint import arb

from discreet.errors import InvalidParameter
from discreet.noise.certified_comparison import real
from discreet.noise.entropy import fresh_words
from discreet.noise.level_set_draws import LevelSets, Outcomes
from discreet.noise.top_k_outcomes import (
    RankedScores,
    Sequences,
    Subsets,
    log_binomial_above,
    sequence,
    shuffled,
    subset,
)
from discreet.testing.scripted_words import scripted

RATE = Fraction(1, 3)
TABLES: list[list[Any]] = [
    [5, 3, 3, 1, 0],
    [0, 0, 0, 0],
    [-7, 10**30, 10**30 + 1, 4],
    [0.5, -2.25, 1e300, 1e300, 3.0],
    [Fraction(1, 3), Fraction(-1, 7), Fraction(9, 2), Fraction(1, 3)],
    [2],
]


def kinds_of(ranked: RankedScores, *, order: bool) -> Outcomes:
    return Sequences(ranked) if order else Subsets(ranked)


def every(ranked: RankedScores, *, order: bool) -> Iterator[tuple[int, ...]]:
    """All outcomes, as places."""
    places = range(ranked.keys.size)
    return itertools.permutations(places, ranked.k) if order else itertools.combinations(places, ranked.k)


def defined(ranked: RankedScores, outcome: tuple[int, ...], *, order: bool) -> Fraction:
    """The loss by its definition."""
    scores = [-Fraction(key) for key in ranked.keys.tolist()]
    if order:
        return ranked.rate * max(scores[i] - scores[place] for i, place in enumerate(outcome))
    outside = [score for place, score in enumerate(scores) if place not in outcome]
    return ranked.rate * max([Fraction(0)] + [score - scores[place] for score in outside for place in outcome])


def holds(ranked: RankedScores, outcome: tuple[int, ...], level: float, *, order: bool) -> tuple[int, bool]:
    """The kind of an outcome, and whether it is in the level set of that kind."""
    near = ranked.within(level)
    if order:
        return 0, all(place < near[i] for i, place in enumerate(outcome))
    kind = next((i for i in range(ranked.k) if i not in outcome), ranked.k)
    return kind, kind == ranked.k or outcome[-1] < near[kind]


CASES = [
    pytest.param(table, k, order, id=f"{table}-{k}-{order}")
    for table in TABLES
    for k in range(1, len(table) + 1)
    for order in (True, False)
]


@pytest.mark.parametrize(("table", "k", "order"), CASES)
def test_sizes_are_counted(table: list[Any], k: int, *, order: bool) -> None:
    ranked = RankedScores.of(np.array(table, dtype=object) if 10**30 in table else table, k, RATE)
    outcomes = kinds_of(ranked, order=order)
    for level in (0.0, 0.5, 1.0, 1e10, math.inf):
        logs = outcomes.log_sizes(level)
        sizes = [0] * logs.size
        for outcome in every(ranked, order=order):
            kind, held = holds(ranked, outcome, level, order=order)
            sizes[kind] += held
        for kind, size in enumerate(sizes):
            if not size:
                assert logs[kind] == -math.inf
                continue
            assert float(outcomes.log_size(kind, level).exp()) == pytest.approx(size)
            assert math.log(size) <= logs[kind] < math.log(size) + 0.1
            drawn = {tuple(outcomes.member(kind, level, fresh_words()).tolist()) for _ in range(3)}
            assert all(holds(ranked, one, level, order=order) == (kind, True) for one in drawn)


@pytest.mark.long
@pytest.mark.parametrize(("table", "k", "order"), CASES)
def test_one_try_gives_each_outcome_its_weight(table: list[Any], k: int, *, order: bool) -> None:
    """The law itself, summed over level sets, for every outcome there is."""
    ranked = RankedScores.of(np.array(table, dtype=object) if 10**30 in table else table, k, RATE)
    outcomes = kinds_of(ranked, order=order)
    sets = LevelSets.of(outcomes)
    for outcome in every(ranked, order=order):
        loss = defined(ranked, outcome, order=order)
        assert outcomes.loss(np.array(outcome)) == loss
        total = arb(0)
        for i in range(sets.kind.size):
            kind, held = holds(ranked, outcome, float(sets.high[i]), order=order)
            if held and kind == sets.kind[i] and loss < sets.high[i]:
                kept = sets.kept(i, loss, outcomes)
                assert kept <= 1
                size = outcomes.log_size(kind, float(sets.high[i])).exp()
                total += real(Fraction(sets.log_weight[i])).exp() / size * kept
        assert abs(total - (-real(loss)).exp()) < 1e-12 * (-real(loss)).exp() + 1e-300


@pytest.mark.parametrize(
    "table",
    [
        [1.0, -(2.0**-60), 0.5, 1.0],
        [1e20, 1e20 - 16384, 1e20 - 32768, 3.0],
        [1.7e308, -1.7e308, 5e-324, 0.0],
        [2**62, -(2**62), 0],
        [10**40, 1, 0],
        [Fraction(1, 3), Fraction(1, 3) - Fraction(1, 10**30), 0],
    ],
    ids=str,
)
def test_a_level_set_holds_all_below_it(table: list[Any]) -> None:
    """However its scores are rounded, and with rates and levels between floats."""
    numbers = table if all(isinstance(score, float) for score in table) else np.array(table, dtype=object)
    for rate in (Fraction(1), Fraction(1, 3), 1 / (1 + Fraction(1, 2**55)), Fraction(10**30), Fraction(1, 10**320)):
        ranked = RankedScores.of(numbers, len(table), rate)
        scores = [-Fraction(key) for key in ranked.keys.tolist()]
        for level in (0.0, 2.0**-30, 1.0, 700.0):
            for i, near in enumerate(ranked.within(level).tolist()):
                least = sum(rate * (scores[i] - score) <= Fraction(level) for score in scores)
                assert near >= least


def test_a_shuffle_gives_each_sequence_once() -> None:
    limits = np.array([2, 3, 3, 5])
    ways = [range(limit - i) for i, limit in enumerate(limits.tolist())]
    found = {tuple(shuffled(limits, scripted(*words)).tolist()) for words in itertools.product(*ways)}
    wanted = {
        places
        for places in itertools.permutations(range(5), 4)
        if all(place < limit for place, limit in zip(places, limits, strict=True))
    }
    assert found == wanted
    assert len(found) == math.prod(map(len, ways))


def test_logarithms_of_binomials_are_bounded_from_above() -> None:
    n = np.array([0, 1, 5, 40, 1000, 10**6, 10**6, 10**9, 3])
    m = np.array([0, 1, 2, 20, 999, 3, 10**5, 10**4, 4])
    found = log_binomial_above(n, m)
    for one, other, value in zip(n[:-1].tolist(), m[:-1].tolist(), found[:-1].tolist(), strict=True):
        exact = arb(one + 1).lgamma() - arb(other + 1).lgamma() - arb(one - other + 1).lgamma()
        assert exact <= value < exact + 0.1
    assert found[-1] == -math.inf


@pytest.mark.parametrize("draw", [sequence, subset])
@pytest.mark.parametrize(
    "scores",
    [
        [10**30] + [0] * 40,
        [10**20 + 1000 * i for i in range(40)],
        [float(np.float64(1e20) + 16384.0 * i) for i in range(40)],
        [1e308, -1e308] * 20,
        [0.0, -0.0] * 20,
        [2**63 - 1, -(2**63)] * 20,
    ],
    ids=lambda scores: str(scores[:2]),
)
def test_no_scores_keep_it_waiting(draw: Any, scores: list[Any]) -> None:
    """Scores that are far apart, or apart by the last bit of a large number, are as fast as others."""
    large = any(isinstance(score, int) and abs(score) >= 2**63 for score in scores)
    values = np.array(scores, dtype=object if large else None)
    for k in (1, 20, 40):
        chosen = draw(values, k, Fraction(1), fresh_words())
        assert len(set(chosen.tolist())) == k
    best = draw(values, 20, Fraction(10**6), fresh_words())
    assert sorted((scores[i] for i in best), reverse=True) == sorted(scores, reverse=True)[:20]


def test_refusals_name_the_cure() -> None:
    for scores, k, rate in (
        ([], 1, RATE),
        ([1], 2, RATE),
        ([1], 0, RATE),
        ([1], 1, Fraction(0)),
        ([math.nan], 1, RATE),
    ):
        with pytest.raises(InvalidParameter, match="Hint: "):
            sequence(scores, k, rate, fresh_words())
    with pytest.raises(InvalidParameter, match="an exact rate"):
        subset([1], 1, 0.5, fresh_words())  # type: ignore[arg-type]  # the refusal is the test
