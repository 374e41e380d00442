"""The chance that estimates from randomized reports miss, against enumeration of the law."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import binom, poisson

from discreet.mechanisms.randomized_response import RandomizedResponse
from discreet.mechanisms.report_tails import MANY, BinomialSum, ReportLaw, any_of

CHANNELS = [(0.75, 0.25), (0.55, 0.45), (0.99, 0.01), (0.6, 0.1), (0.9999, 0.0001), (0.505, 0.495), (0.8, 0.02)]


def enumerated(first: int, second: int, p: float, q: float) -> NDArray[np.float64]:
    return np.convolve(binom.pmf(np.arange(first + 1), first, p), binom.pmf(np.arange(second + 1), second, q))


def worst(people: int, p: float, q: float, within: float) -> float:
    """The largest chance of an error of `within` or more, over all numbers of people who have the category."""
    chances, limit = [], people * within * (p - q) - 1e-9
    for having in range(people + 1):
        off = np.abs(np.arange(people + 1) - (having * p + (people - having) * q))
        chances.append(enumerated(having, people - having, p, q)[off > limit].sum())
    return float(max(chances))


@pytest.mark.parametrize(("p", "q"), CHANNELS)
@pytest.mark.parametrize("people", [1, 2, 5, 20, 60])
def test_tails_are_those_of_the_law(p: float, q: float, people: int) -> None:
    for first in {0, 1, people // 2, people}:
        law = BinomialSum(first, people - first, p, q)
        beyond = np.cumsum(enumerated(first, people - first, p, q)[::-1])[::-1]
        assert law.tail(0) == 1
        assert law.tail(people + 1) == 0
        for count in range(math.floor(law.mean) + 1, people + 1):
            assert law.tail(count) == pytest.approx(beyond[count], rel=1e-9, abs=1e-300)


@pytest.mark.parametrize("people", [1000, 10**6, 10**9])
@pytest.mark.parametrize("p", [0.55, 0.001, 0.9])
def test_tails_of_many_people(people: int, p: float) -> None:
    for deviations in (1, 2, 5, 10):
        count = math.floor(people * p + deviations * math.sqrt(people * p * (1 - p))) + 1
        if count <= people:
            assert BinomialSum(people, 0, p, 0.5).tail(count) == pytest.approx(binom.sf(count - 1, people, p), rel=1e-9)


@pytest.mark.parametrize("confidence", [0.95, 1 - 1e-9])
@pytest.mark.parametrize(("epsilon", "people"), [(19, 2 * 10**10), (21, 2 * 10**10), (22, 5 * 10**10)])
def test_few_odd_reports_of_many_people_are_not_normal(epsilon: int, people: int, confidence: float) -> None:
    """Only 14 to 112 reports name a category that nobody has: a bound by the normal law was missed up to 230 times as
    often as stated.
    """
    poll = RandomizedResponse(epsilon=epsilon)
    within, q = poll.bound(people=people, confidence=confidence), poll.channel.q
    law, limit = poisson(people * q), people * within * (poll.channel.p - q)
    missed = law.sf(math.floor(people * q + limit)) + law.cdf(math.ceil(people * q - limit) - 1)
    assert missed <= (1 - confidence) * 1.001


@pytest.mark.long
@pytest.mark.parametrize(("epsilon", "within"), [(20, 1e-9), (22, 1e-10), (24, 1e-11)])
def test_sizes_are_enough_where_few_reports_are_odd(epsilon: int, within: float) -> None:
    poll, people = RandomizedResponse(epsilon=epsilon), RandomizedResponse.sample_size(within=within, epsilon=epsilon)
    assert poll.bound(people=people) <= within * (1 + 1e-6)
    assert poll.bound(people=people // 2) > within


@pytest.mark.long
@pytest.mark.parametrize("within", [0.02, 0.1, 0.3])
@pytest.mark.parametrize(("p", "q"), CHANNELS)
@pytest.mark.parametrize("people", [1, 3, 8, 30, 100])
def test_the_chance_to_miss_is_that_of_all_shares(people: int, p: float, q: float, within: float) -> None:
    chance, true = ReportLaw(p, q, p - q, people).chance_to_miss(within), worst(people, p, q, within)
    assert true * 0.99 <= chance <= 1
    # The tails as if a whole number stood at the limit: those of a limit that is nearer by one report.
    nearer = max(within - 1.0 / (people * (p - q)), 0.0)
    assert chance <= worst(people, p, q, nearer) * 1.01


@pytest.mark.parametrize("categories", [3, 5])
def test_one_of_several_categories(categories: int) -> None:
    """Samples of the law itself stay below the bound: 4,000 polls, each bound is exceeded at most as often as it says
    but for six standard deviations."""
    people, within, runs = 200, 0.09, 4000
    p, chance = 0.7, np.random.default_rng(1)
    q = (1 - p) / (categories - 1)
    having = np.array([people - people // 3, people // 3, *[0] * (categories - 2)])
    others = np.full((categories, categories), q)
    np.fill_diagonal(others, p)
    supports = sum(chance.multinomial(count, others[i], size=runs) for i, count in enumerate(having))
    off = np.abs((supports / people - q) / (p - q) - having / people).max(axis=1)
    missed, stated = (
        int((off > within).sum()),
        ReportLaw(p, q, p - q, people).chance_that_one_misses(within, categories),
    )
    assert missed / runs <= stated + 6 * math.sqrt(stated / runs)
    assert stated <= 3 * missed / runs  # not far above it either


def test_very_many_people_have_the_normal_law() -> None:
    few, many = (ReportLaw(0.75, 0.25, 0.5, n) for n in (MANY, MANY + 1))
    reach = 4e-5
    assert few.chance_to_miss(reach) == pytest.approx(many.chance_to_miss(reach), rel=1e-3)


def test_several_questions_are_independent() -> None:
    assert any_of(0.1, 3) == pytest.approx(1 - 0.9**3)
    assert any_of(1e-20, 5) == pytest.approx(5e-20)
    assert any_of(1.0, 5) == 1
