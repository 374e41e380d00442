"""Counts under limits: scores and laws of all neighbors, and a bound that holds as often as it says."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from discreet.errors import InvalidParameter
from discreet.mechanisms.contribution_limit_selection import CountsUnderLimits
from discreet.mechanisms.permute_and_flip import PermuteAndFlip
from discreet.noise.laplace import DiscreteLaplace
from discreet.privacy.events import PureEvent
from discreet.testing.scripted_words import splitmix
from discreet.testing.statistics import binomial_p

LIMITS = (1, 2, 4, 8)
COUNTS = [(1, 2, 3, 3), (5, 8, 9, 9), (7, 7, 7, 7), (2, 4, 8, 15), (20, 40, 78, 90), (60, 110, 170, 200), (0, 0, 0, 0)]
"""Some saturated at once, some at the end, some never."""


def moved(limits: tuple[int, ...], *, units: int, both_ways: bool) -> list[tuple[int, ...]]:
    """All ways in which a unit moves every count by nothing or by all that it may."""
    ends = [(-units * limit, 0, units * limit) if both_ways else (0, units * limit) for limit in limits]
    return list(itertools.product(*ends))


@pytest.mark.parametrize("both_ways", [False, True])
@pytest.mark.parametrize("units", [1, 3])
def test_scores_move_by_one_at_most(units: int, *, both_ways: bool) -> None:
    """Over all neighbors at their ends, where the sensitivity of a piecewise linear score is reached; and it is."""
    rule = CountsUnderLimits(limits=LIMITS, epsilon=1, units=units, both_ways=both_ways)
    most = Fraction(0)
    for counts in COUNTS:
        before = rule.scores(counts)
        for move in moved(LIMITS, units=units, both_ways=both_ways):
            after = rule.scores([count + step for count, step in zip(counts, move, strict=True)])
            most = max(most, *(abs(one - other) for one, other in zip(after, before, strict=True)))
    assert most == 1


def test_each_score_is_against_the_worst_rival() -> None:
    """By a second calculation, in floats."""
    for both_ways in (False, True):
        rule = CountsUnderLimits(limits=LIMITS, epsilon=0.7, units=2, both_ways=both_ways)
        for counts in COUNTS:
            q = np.array(counts) - float(rule.penalty) * np.array(LIMITS)
            limits = np.array(LIMITS)
            apart = 2 * (limits[:, None] + limits if both_ways else np.maximum(limits[:, None], limits))
            assert np.allclose(np.array(rule.scores(counts), float), ((q[:, None] - q) / apart).min(axis=1))


def loss(rule: CountsUnderLimits, choice: PermuteAndFlip, counts: Any, others: Any) -> float:
    """The largest privacy loss of a place and a noisy count together, from one's counts to another's."""
    one, other = (choice.probabilities(rule.scores(each)) for each in (counts, others))
    noise = [
        abs(a - b) / float(rule.counting(place).scale) for place, (a, b) in enumerate(zip(counts, others, strict=True))
    ]
    return float(np.max(np.log(one) - np.log(other) + noise))


@pytest.mark.long
@pytest.mark.parametrize("both_ways", [False, True])
@pytest.mark.parametrize("epsilon", [Fraction(1, 10), Fraction(1), Fraction(3)])
def test_laws_of_neighbors_are_within_the_price(epsilon: Fraction, *, both_ways: bool) -> None:
    """The exact law of the choice, times that of the count."""
    rule = CountsUnderLimits(limits=LIMITS, epsilon=epsilon, both_ways=both_ways)
    choice, most = rule.choice, 0.0
    assert choice is not None
    for counts in COUNTS:
        for move in moved(LIMITS, units=1, both_ways=both_ways):
            others = [count + step for count, step in zip(counts, move, strict=True)]
            most = max(most, loss(rule, choice, counts, others), loss(rule, choice, others, counts))
    assert float(epsilon) / 2 < most <= float(epsilon) * (1 + 1e-12)


def test_scores_move_both_ways() -> None:
    """Counts that one limit leads, where a unit makes one score fall while the others rise: they cost what they may,
    and more with the noise for scores that all move one way.
    """
    rule = CountsUnderLimits(limits=[1, 2, 4, 8, 16, 32], epsilon=Fraction(1, 100))
    behind = [3, 10, -55, -15, 14, 237]
    counts = [math.floor(rule.penalty * limit) + step for limit, step in zip(rule.limits, behind, strict=True)]
    others = [count + step for count, step in zip(counts, [0, 0, 4, 0, 0, 32], strict=True)]
    choice = rule.choice
    assert choice is not None
    planted = PermuteAndFlip(sensitivity=1, epsilon=choice.epsilon, monotonic=True)
    ways = ((counts, others), (others, counts))
    kept, wrong = (max(loss(rule, one, *way) for way in ways) for one in (choice, planted))
    assert 0.008 < kept <= 0.01 < wrong


def test_a_stated_limit_has_all_of_epsilon() -> None:
    rule = CountsUnderLimits(limits=[5], epsilon=2, units=3)
    assert rule.choice is None
    assert rule.counting(0).scale == Fraction(15, 2)
    drawn = [rule.release([100], words=splitmix(i)) for i in range(50)]
    assert {place for place, _ in drawn} == {0}
    assert len({noisy for _, noisy in drawn}) > 10
    assert rule.event == PureEvent(epsilon=Fraction(2))


@pytest.mark.parametrize("place", range(3))
@pytest.mark.parametrize("confidence", [0.3, 0.5, 0.75, 0.95, 0.999])
def test_margins_are_the_smallest(place: int, confidence: float) -> None:
    """That of one side, from the exact tail; below one half nothing is subtracted."""
    rule = CountsUnderLimits(limits=[1, 3, 20], epsilon=0.4)
    law, margin = DiscreteLaplace.of_scale(rule.counting(place).scale), rule.margin(place, confidence)
    assert law.tail(margin + 1) / 2 <= 1 - confidence + 1e-12
    assert margin == 0 or law.tail(margin) / 2 > 1 - confidence


@pytest.mark.long
@pytest.mark.parametrize("counts", [(40, 60, 70, 70), (90, 160, 300, 500)], ids=str)
def test_the_bound_holds_as_often_as_it_says(counts: tuple[int, ...]) -> None:
    """Of 20,000 releases the count less its margin is above the count itself in 5 % at most, whichever limit is chosen.
    One that takes the margin of half the noise is caught.
    """
    rule = CountsUnderLimits(limits=LIMITS, epsilon=1)
    words, trials = splitmix(7), 20_000
    drawn = [rule.release(counts, words=words) for _ in range(trials)]
    margins = [rule.margin(place) for place in range(len(LIMITS))]
    above = sum(noisy - margins[place] > counts[place] for place, noisy in drawn)
    halved = sum(noisy - margins[place] // 2 > counts[place] for place, noisy in drawn)
    assert above < 0.05 * trials or binomial_p(above, trials, 0.05) > 1e-6
    assert halved > 0.05 * trials
    assert binomial_p(halved, trials, 0.05) < 1e-9


WORST: dict[str, tuple[int, tuple[int, ...]]] = {
    "one each": (0, (1000,) * 6),
    "all at once": (3, (0, 0, 0, 8000, 8000, 8000)),
    "one by one": (5, (40, 80, 160, 320, 640, 1280)),
    "nearly there": (2, (820, 900, 1000, 1000, 1000, 1000)),
    "nobody": (0, (0,) * 6),
}
"""Counts, and a place from which they are the same."""


@pytest.mark.long
@pytest.mark.parametrize("name", WORST)
@pytest.mark.parametrize("both_ways", [False, True])
def test_the_bound_is_near_as_often_as_it_says(name: str, *, both_ways: bool) -> None:
    """Of 500 releases it is short of the count by more than it says in 5 % at most; and over all ways to choose, each
    limit that may be chosen is in what it says.
    """
    place, counts = WORST[name]
    rule = CountsUnderLimits(limits=[2**i for i in range(6)], epsilon=1, both_ways=both_ways)
    words, trials, short, choice = splitmix(11), 500, rule.short(place), rule.choice
    assert choice is not None
    drawn = [rule.release(counts, words=words) for _ in range(trials)]
    missed = sum(noisy - rule.margin(i) < counts[place] - short for i, noisy in drawn)
    assert missed < 0.05 * trials or binomial_p(missed, trials, 0.05) > 1e-6
    bad = 0.0
    for i, p in enumerate(choice.probabilities(rule.scores(counts))):
        inside = counts[place] - counts[i] + rule.margin(i, Fraction(39, 40)) + rule.margin(i) <= short
        bad += 0.0 if inside else float(p)
    assert bad <= 0.025


def test_the_bound_for_every_table_grows_with_the_limit_alone() -> None:
    """In proportion to the limit, and by less than a half from 6 limits to 31; a stated limit has its noise alone."""
    few, many = (CountsUnderLimits(limits=[2**i for i in range(n)], epsilon=1) for n in (6, 31))
    assert few.short(3) < many.short(3) < 1.5 * few.short(3)
    assert many.short(20) == pytest.approx(2**10 * many.short(10), rel=0.01)
    alone = CountsUnderLimits(limits=[7], epsilon=1)
    assert alone.short(0) == alone.margin(0, Fraction(39, 40)) + alone.margin(0)


def test_a_limit_is_chosen_under_which_little_is_lost() -> None:
    """One value each: the smallest limit. A hundred values each: a large one."""
    rule, words = CountsUnderLimits(limits=[2**i for i in range(9)], epsilon=1), splitmix(3)
    few = [rule.release([1000] * 9, words=words).place for _ in range(300)]
    many = [rule.release([min(100, 2**i) * 1000 for i in range(9)], words=words).place for _ in range(300)]
    assert few.count(0) > 250
    assert sorted(many)[10] >= 6
    assert math.isclose(float(rule.penalty), 2 * (math.log(10) + 2 * math.log(180)))


@pytest.mark.parametrize(
    ("stated", "match"),
    [
        ({"limits": []}, "ascending limits"),
        ({"limits": [2, 1]}, "ascending limits"),
        ({"limits": [1, 1]}, "ascending limits"),
        ({"limits": [0]}, "1 or more"),
        ({"epsilon": 0}, "above 0"),
        ({"units": 0}, "1 or more"),
    ],
    ids=str,
)
def test_refusals(stated: dict[str, Any], match: str) -> None:
    asked: dict[str, Any] = {"limits": [1, 2], "epsilon": 1} | stated
    with pytest.raises(InvalidParameter, match=match):
        CountsUnderLimits(**asked)


@pytest.mark.parametrize("counts", [[1], [1, 2, 3], [0.5, 1.0]], ids=str)
def test_counts_are_one_whole_number_each(counts: list[float]) -> None:
    with pytest.raises(InvalidParameter, match="2 counts"):
        CountsUnderLimits(limits=[1, 2], epsilon=1).release(counts)
