"""What one try gives, outcome by outcome, is exactly its weight, wherever the line of losses is cut.

The statistical test has 2,000 draws for each choice of cuts; it fails by chance at most once in 10**6 times (once, in
fact: words are fixed).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction

import numpy as np
import pytest
from flint import arb
from scipy import stats

from discreet.noise.certified_comparison import real
from discreet.noise.entropy import RandomWords
from discreet.noise.level_set_draws import LevelSets, Outcomes, Places, Reals, choose
from discreet.noise.uniform import below
from discreet.testing.scripted_words import splitmix

SIZE = 2000
LOSSES = [[Fraction(0), Fraction(1, 3), Fraction(1, 3), Fraction(2)], [Fraction(5, 2)], [Fraction(1), Fraction(40)]]
"""Of each kind, in ascending order."""
CUTS = [None, [0.0], [0.0, 1.0], [0.0, 0.25, 2.0, 2.5, 7.0], [0.0, 100.0]]


class Listed(Outcomes):
    """Outcomes with the losses above; a level set holds one outcome more than it must."""

    def __init__(self) -> None:
        self.members = 0

    @property
    def log_number(self) -> float:
        """Of seven outcomes."""
        return math.log(7)

    def log_sizes(self, level: float) -> Reals:
        """With room to spare."""
        return np.array([math.log(self.size(kind, level)) + 0.1 for kind in range(3)])

    def log_size(self, kind: int, level: float) -> arb:
        """Exact."""
        return arb(self.size(kind, level)).log()

    def member(self, kind: int, level: float, words: RandomWords) -> Places:
        """Kind and place."""
        self.members += 1
        return np.array([kind, below(self.size(kind, level), 1, words)[0]])

    def loss(self, outcome: Places) -> Fraction:
        """As listed."""
        return LOSSES[int(outcome[0])][int(outcome[1])]

    def size(self, kind: int, level: float) -> int:
        """Of a level set."""
        return min(sum(loss < level for loss in LOSSES[kind]) + 1, len(LOSSES[kind]))


def listed() -> Iterator[tuple[int, int, Fraction]]:
    """All outcomes, as kind and place, and their losses."""
    return ((kind, place, loss) for kind, line in enumerate(LOSSES) for place, loss in enumerate(line))


def given(cuts: list[float] | None) -> Reals | None:
    return None if cuts is None else np.array(cuts)


@pytest.mark.parametrize("cuts", CUTS, ids=str)
def test_each_outcome_has_its_weight(cuts: list[float] | None) -> None:
    outcomes = Listed()
    sets = LevelSets.of(outcomes, given(cuts))
    for kind, place, loss in listed():
        total = arb(0)
        for i in np.flatnonzero(sets.kind == kind):
            size = outcomes.size(kind, float(sets.high[i]))
            if place < size and loss < sets.high[i]:
                kept = sets.kept(int(i), loss, outcomes)
                assert 0 <= kept <= 1
                total += real(Fraction(sets.log_weight[i])).exp() / size * kept
        assert float(total) == pytest.approx(math.exp(-float(loss)), rel=1e-9)


def p_value(cuts: list[float] | None, factor: float = 1.0) -> float:
    """Of draws against the law, or one with other losses."""
    outcomes, words = Listed(), splitmix(4)
    drawn = [tuple(choose(outcomes, words, cuts=given(cuts)).tolist()) for _ in range(SIZE)]
    places = [(kind, place) for kind, place, loss in listed() if loss < 10]
    weights = np.array([math.exp(-factor * float(loss)) for _, _, loss in listed() if loss < 10])
    assert all(one in places for one in drawn)  # a loss of 40 has probability 10**-17
    found = [drawn.count(place) for place in places]
    return float(stats.chisquare(found, weights / weights.sum() * SIZE).pvalue)


@pytest.mark.long
@pytest.mark.parametrize("cuts", [None, [0.0, 1.0]], ids=str)
def test_cuts_do_not_change_the_law(cuts: list[float] | None) -> None:
    assert p_value(cuts) > 1e-6


@pytest.mark.long
def test_a_wrong_law_is_seen() -> None:
    assert p_value(None, factor=1.5) < 1e-6


def test_few_are_rejected() -> None:
    outcomes, words = Listed(), splitmix(8)
    for _ in range(500):
        choose(outcomes, words)
    assert outcomes.members < 2000
