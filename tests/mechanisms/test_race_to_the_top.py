"""Race to the top: the law of neighbors, enumerated; a bound that holds as often as it says, and is near as often."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from discreet.errors import InvalidParameter
from discreet.mechanisms.contribution_limit_selection import CountsUnderLimits
from discreet.mechanisms.race_to_the_top import RaceToTheTop, Winner
from discreet.noise.laplace import DiscreteLaplace
from discreet.privacy.events import PureEvent
from discreet.testing.scripted_words import splitmix
from discreet.testing.statistics import binomial_p

SIZES = np.array([1, 1, 2, 3, 3, 3, 5, 5, 7, 8, 9, 12, 15, 15, 15, 30])
"""What each unit has."""


def totals(sizes: NDArray[Any], limits: tuple[int, ...]) -> list[int]:
    return [int(np.minimum(sizes, limit).sum()) for limit in limits]


def many(race: RaceToTheTop, exact: list[int], trials: int, seed: int) -> NDArray[Any]:
    """The noisy totals of so many releases, shape (trials, J)."""
    words = splitmix(seed)
    columns = [race.counting(i).add_noise(np.full(trials, total), words) for i, total in enumerate(exact)]
    return np.column_stack(columns)


def bounds(noisy: NDArray[Any], margins: list[int]) -> NDArray[Any]:
    """What `best` gives of each row."""
    found: NDArray[Any] = (noisy - np.array(margins)).max(axis=1)
    return found


def law(race: RaceToTheTop, exact: list[int], span: int) -> dict[tuple[int, ...], float]:
    """The probability of all noisy totals within `span` of some, by the formula of the noise."""
    rates = [math.exp(-1 / float(race.counting(place).scale)) for place in range(len(race.limits))]
    ranges = [range(-span, span + 1)] * len(exact)
    return {
        outcome: math.prod((1 - q) / (1 + q) * q ** abs(n - d) for q, n, d in zip(rates, outcome, exact, strict=True))
        for outcome in itertools.product(*ranges)
    }


@pytest.mark.long
@pytest.mark.parametrize("limits", [(1,), (1, 2), (1, 4), (1, 2, 4)], ids=str)
@pytest.mark.parametrize("epsilon", [Fraction(1, 2), Fraction(3)])
def test_the_law_of_neighbors_is_within_the_price(limits: tuple[int, ...], epsilon: Fraction) -> None:
    """Over all outcomes near the totals: all of epsilon is spent, and no more; also on which limit wins, and with what.
    Noise of all of epsilon in each total is caught.
    """
    race, span = RaceToTheTop(limits=limits, epsilon=epsilon), 4
    before = [0] * len(limits)
    for units in ([1], [limits[-1]], [limits[-1] + 5]):
        after = totals(np.array(units), limits)
        one, other = (law(race, exact, span) for exact in (before, after))
        losses = [abs(math.log(one[outcome] / other[outcome])) for outcome in one]
        assert max(losses) <= float(epsilon) * (1 + 1e-12)
        if units[0] >= limits[-1]:
            assert max(losses) == pytest.approx(float(epsilon))
        won: tuple[Counter[Winner], Counter[Winner]] = (Counter(), Counter())
        for outcome in one:
            for counted, own in zip(won, (one, other), strict=True):
                counted[race.best(outcome)] += own[outcome]  # type: ignore[assignment]  # a weight
        assert max(abs(math.log(won[0][each] / won[1][each])) for each in won[0]) <= float(epsilon) * (1 + 1e-12)
    planted = max(abs(d) / float(limit) for d, limit in zip(after, limits, strict=True)) * len(limits) * float(epsilon)
    assert len(limits) == 1 or planted > float(epsilon)


@pytest.mark.long
def test_releases_follow_the_law() -> None:
    """Of 8,000 releases, how often each pair of noisy totals comes; a law of half the scale is caught."""
    race, words, trials = RaceToTheTop(limits=[1, 2], epsilon=6), splitmix(5), 8_000
    drawn = Counter(race.release([0, 0], words=words) for _ in range(trials))
    listed = law(race, [0, 0], 3)
    likely = [outcome for outcome, p in listed.items() if p > 0.005]
    assert len(likely) > 10
    assert all(binomial_p(drawn[outcome], trials, listed[outcome]) > 1e-8 for outcome in likely)
    wrong = law(RaceToTheTop(limits=[1, 2], epsilon=12), [0, 0], 3)
    assert min(binomial_p(drawn[outcome], trials, wrong[outcome]) for outcome in likely) < 1e-12


def test_the_largest_less_its_margin_wins() -> None:
    race = RaceToTheTop(limits=[1, 2, 4], epsilon=1)
    margins = [race.margin(place) for place in range(3)]
    assert margins == sorted(set(margins))
    for ahead in range(3):
        noisy = [100 + margin + 5 * (place == ahead) for place, margin in enumerate(margins)]
        assert race.best(noisy) == Winner(ahead, 105)
    assert race.best([100 + margin for margin in margins]) == Winner(0, 100)
    assert race.best([3, 2, 1], 0.01).at_least <= 3


def test_noise_beyond_64_bits_races_too() -> None:
    """What was paid for is told, however much noise it has."""
    race = RaceToTheTop(limits=[2**38, 2**39], epsilon=1e-12)
    noisy = race.release([2**61, 2**61], words=splitmix(1))
    assert max(map(abs, noisy)) > 2**64
    assert race.best(noisy).at_least == max(one - race.margin(i) for i, one in enumerate(noisy))


@pytest.mark.parametrize("place", range(3))
@pytest.mark.parametrize("confidence", [0.1, 0.5, 0.75, 0.95, 0.999])
def test_margins_are_the_smallest(place: int, confidence: float) -> None:
    """That of one side among all, from the exact tail; and what the bound is short by adds one of its own."""
    race = RaceToTheTop(limits=[1, 3, 20], epsilon=0.4)
    noise = DiscreteLaplace.of_scale(race.counting(place).scale)
    margin = race.margin(place, confidence)
    parts = [(margin, (1 - confidence) / 3), (race.short(place, confidence) - margin, 1 - confidence)]
    for margin, rare in parts:
        assert noise.tail(margin + 1) / 2 <= rare + 1e-12
        assert margin == 0 or noise.tail(margin) / 2 > rare


@pytest.mark.parametrize("limits", [(1, 2, 4, 8, 16, 32), (1, 4, 16, 64)], ids=str)
def test_the_bound_holds_as_often_as_it_says(limits: tuple[int, ...]) -> None:
    """Of 20,000 releases it is above the total in 5 % at most, where all totals are the same, the worst case. One that
    takes the margins of a single total is caught.
    """
    race, trials = RaceToTheTop(limits=limits, epsilon=1), 20_000
    drawn = many(race, [1000] * len(limits), trials, 7)
    found = bounds(drawn, [race.margin(place) for place in range(len(limits))])
    assert [race.best(noisy).at_least for noisy in drawn[:200].tolist()] == found[:200].tolist()
    above = int((found > 1000).sum())
    assert above < 0.05 * trials or binomial_p(above, trials, 0.05) > 1e-6
    alone = [race._tail(place, Fraction(1, 20)) for place in range(len(limits))]
    planted = int((bounds(drawn, alone) > 1000).sum())
    assert binomial_p(planted, trials, 0.05) < 1e-9
    assert planted > 0.05 * trials


@pytest.mark.parametrize("units", [1, 2])
def test_the_bound_is_near_as_often_as_it_says(units: int) -> None:
    """Of 20,000 releases it is short of each total by more than it says in 5 % at most; a margin less is caught."""
    race, trials = RaceToTheTop(limits=(1, 4, 16, 64), epsilon=1, units=units), 20_000
    exact = totals(SIZES, race.limits)
    found = bounds(many(race, exact, trials, 8), [race.margin(place) for place in range(4)])
    for place, total in enumerate(exact):
        missed = int((found < total - race.short(place)).sum())
        assert missed < 0.05 * trials or binomial_p(missed, trials, 0.05) > 1e-6
    far = int((found < exact[1] - race.margin(1)).sum())
    assert far > 0


def test_what_is_recorded() -> None:
    race = RaceToTheTop(limits=[2, 8], epsilon=Fraction(1, 3), units=3)
    assert race.event == PureEvent(epsilon=Fraction(1, 3))
    assert [race.counting(place).scale for place in (0, 1)] == [Fraction(36), Fraction(144)]


@pytest.mark.parametrize(
    ("stated", "match"),
    [
        ({"limits": []}, "ascending limits"),
        ({"limits": [2, 1]}, "ascending limits"),
        ({"limits": [1, 1]}, "ascending limits"),
        ({"limits": [0]}, "1 or more"),
        ({"limits": 3}, "a list or an array of values"),
        ({"epsilon": 0}, "above 0"),
        ({"units": 0}, "1 or more"),
    ],
    ids=str,
)
def test_refusals(stated: dict[str, Any], match: str) -> None:
    asked: dict[str, Any] = {"limits": [1, 2], "epsilon": 1} | stated
    with pytest.raises(InvalidParameter, match=match):
        RaceToTheTop(**asked)


@pytest.mark.parametrize("place", [None, 7, -1, "0", 2])
def test_places_are_those_of_limits(place: Any) -> None:
    for rule in (RaceToTheTop(limits=[1, 2], epsilon=1), CountsUnderLimits(limits=[1, 2], epsilon=1)):
        for asked in (rule.margin, rule.short, rule.counting):
            with pytest.raises(InvalidParameter):
                asked(place)


@pytest.mark.parametrize("given", [[1], [1, 2, 3], [0.5, 1.0], [2**70, 0.5], [2**70]], ids=str)
def test_totals_are_one_whole_number_each(given: list[float]) -> None:
    race = RaceToTheTop(limits=[1, 2], epsilon=1)
    with pytest.raises(InvalidParameter, match="2 totals"):
        race.release(given)
    with pytest.raises(InvalidParameter, match="2 totals"):
        race.best(given)  # type: ignore[arg-type]  # the refusal is the test
