"""Randomized response: its law, shown samplers that are wrong on purpose, and what is estimated from it.

Samples have 200,000 reports; a test here fails by chance at most once in 10**6 times (once, in fact: words are fixed).
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import ndtri
from scipy.stats import binom, norm

from discreet.errors import InvalidParameter
from discreet.mechanisms.randomized_response import RandomizedResponse
from discreet.privacy.events import RandomizedResponseEvent, composed
from discreet.testing.scripted_words import splitmix
from discreet.testing.statistics import binomial_p, chi_square_p

SIZE = 200_000
RARE = 1e-7

# n times the variance at share 0, by epsilon and number of categories, found with 30 digits by independent code.
VARIANCES = {
    ("0.5", 2): 3.917698089032764,
    ("0.5", 16): 37.18455417997628,
    ("1", 2): 0.9206735942077923,
    ("1", 4): 1.598067368884724,
    ("1", 1024): 347.0688924541199,
    ("4", 64): 0.04058747739562884,
}


def law_p(reports: NDArray[np.int64], probabilities: list[float]) -> float:
    tails = np.cumsum(probabilities[::-1])[::-1]
    return chi_square_p(reports, lambda k: np.where(k <= 0, 1.0, np.append(tails, 0.0)[np.clip(k, 0, len(tails))]))


def wanted(epsilon: float, size: int, value: int) -> list[float]:
    total = math.exp(epsilon) + size - 1
    return [(math.exp(epsilon) if other == value else 1.0) / total for other in range(size)]


@pytest.mark.parametrize(("epsilon", "size"), [(1, 2), (Fraction(1, 3), 3), (2, 5), (Fraction(1, 10), 7)])
def test_reports_follow_the_law(epsilon: Fraction, size: int) -> None:
    response = RandomizedResponse(epsilon=epsilon, categories=size)
    for value in (0, size - 1):
        reports = response.release(np.full(SIZE, value), words=splitmix(value + size))
        assert law_p(reports, wanted(float(epsilon), size, value)) > RARE


def test_a_wrong_law_is_seen() -> None:
    wrong = RandomizedResponse(epsilon=Fraction(104, 100), categories=5).release(np.zeros(SIZE, int), words=splitmix(1))
    assert law_p(wrong, wanted(1, 5, 0)) < RARE
    folded = np.where(wrong == 4, 3, wrong)
    assert law_p(folded, wanted(1.04, 5, 0)) < RARE


def test_every_person_is_protected() -> None:
    """The first, the last and a middle person lie as often as the others, over many releases of a few values."""
    response = RandomizedResponse(epsilon=1, categories=2)
    values, words = np.array([1, 0, 1, 1, 0]), splitmix(5)
    lies = np.stack([response.release(values, words=words) != values for _ in range(4000)])
    for place in range(values.size):
        assert binomial_p(int(lies[:, place].sum()), 4000, 1 / (1 + math.e)) > RARE


def test_questions_share_epsilon() -> None:
    response = RandomizedResponse(epsilon=2, categories=2, questions=4)
    assert response.each == Fraction(1, 2)
    values = np.zeros((SIZE, 4), dtype=int)
    reports = response.release(values, words=splitmix(9))
    for column in reports.T:
        assert binomial_p(int(column.sum()), SIZE, 1 / (1 + math.exp(0.5))) > RARE
    shares = response.estimate(reports)
    assert shares.shape == (4, 2)
    assert shares.sum(axis=1) == pytest.approx(np.ones(4))


def test_reports_are_labels() -> None:
    response = RandomizedResponse(epsilon=1, categories=["no", "yes"])
    assert set(response.release(["yes", "no"] * 50).tolist()) == {"no", "yes"}
    assert response.release(np.array("yes")).shape == ()
    assert response.report(["no"] * 3).shape == (3,)


@pytest.mark.parametrize(("epsilon", "size"), VARIANCES)
def test_the_variance_is_exact(epsilon: str, size: int) -> None:
    response = RandomizedResponse(epsilon=float(epsilon), categories=size)
    assert float(response.variance(people=1)) == pytest.approx(VARIANCES[epsilon, size], rel=1e-12)


def test_estimates_have_their_variance() -> None:
    """Forty polls of 5,000 people: squared errors over their variances follow chi-square with 40 degrees."""
    response, words = RandomizedResponse(epsilon=1, categories=3), splitmix(3)
    people = np.repeat([0, 1, 2], [2500, 2000, 500])
    errors = [response.estimate(response.release(people, words=words))[0] - 0.5 for _ in range(40)]
    scaled = float(np.sum(np.square(errors)) / response.variance(0.5, people=5000))
    assert 10 < scaled < 95  # outside with probability below 1e-6


def test_what_reports_cost() -> None:
    single, several = RandomizedResponse(epsilon=1, categories=3), RandomizedResponse(epsilon=1, questions=4)
    assert single.loss.epsilon(delta=0) == several.loss.epsilon(delta=0) == pytest.approx(1)
    p = math.e / (math.e + 2)
    assert single.loss.delta(epsilon=Fraction(1, 2)) == pytest.approx(p - math.exp(0.5) * (1 - p) / 2, rel=1e-9)
    assert single.event == RandomizedResponseEvent(epsilon=Fraction(1), categories=Fraction(3))
    assert several.event == composed(RandomizedResponseEvent(epsilon=Fraction(1, 4), categories=Fraction(2)), times=4)


def test_the_simplex_on_request() -> None:
    response = RandomizedResponse(epsilon=0.2, categories=20)
    reports = response.release(np.zeros(500, dtype=int), words=splitmix(8))
    assert response.estimate(reports).min() < 0
    nearest = response.estimate(reports, simplex=True)
    assert nearest.min() >= 0
    assert nearest.sum() == pytest.approx(1)


def test_tallies_add_up() -> None:
    response = RandomizedResponse(epsilon=1, categories=4)
    reports = response.release(np.arange(1000) % 4, words=splitmix(2))
    tally = response.tally(reports[:300]) + response.tally(reports[300:])
    assert response.estimate_tally(tally, people=1000).tolist() == response.estimate(reports).tolist()


@pytest.mark.long
def test_sample_sizes_grow_as_the_theorem_says() -> None:
    def size(**changes: Any) -> int:
        return RandomizedResponse.sample_size(**({"within": 0.01, "epsilon": 0.1} | changes))

    base = size()
    assert size(within=0.005) / base == pytest.approx(4, rel=1e-3)
    assert size(epsilon=0.05) / base == pytest.approx(4, rel=1e-2)
    each = 1 - 0.95 ** (1 / 10)  # the chance to miss on one of ten questions
    assert size(questions=10) / base == pytest.approx(100 * (ndtri(each / 2) / ndtri(0.025)) ** 2, rel=2e-2)
    response = RandomizedResponse(epsilon=0.1)
    assert response.bound(people=base) <= 0.01 < response.bound(people=base - 1)


@pytest.mark.parametrize(("within", "epsilon", "hoeffding"), [(0.02, 0.2, 464_188), (0.01, 1, 86_370)])
def test_sample_sizes_are_those_of_the_law(within: float, epsilon: float, hoeffding: int) -> None:
    """About half of what Hoeffding's inequality asks for: of the normal law, but for one report on each side."""
    response = RandomizedResponse(epsilon=epsilon)
    apart = response.channel.p - response.channel.q
    people = RandomizedResponse.sample_size(within=within, epsilon=epsilon)
    normal = 2 * norm.sf((people * within * apart - 0.5) / math.sqrt(people * response.channel.p * response.channel.q))
    assert normal == pytest.approx(0.05, rel=1e-3)
    assert people < 0.52 * hoeffding
    assert RandomizedResponse.sample_size(rms=within, epsilon=epsilon) == math.ceil(
        response.variance(people=1) / within**2
    )


def test_a_sample_size_is_enough_at_each_share_and_a_smaller_one_is_not() -> None:
    """By enumeration: 200 people, about, at all 200 shares."""
    response, within = RandomizedResponse(epsilon=2), 0.1
    people = RandomizedResponse.sample_size(within=within, epsilon=2)

    def worst(n: int) -> float:
        p, q, found = response.channel.p, response.channel.q, 0.0
        for having in range(n + 1):
            law = np.convolve(
                binom.pmf(np.arange(having + 1), having, p), binom.pmf(np.arange(n - having + 1), n - having, q)
            )
            off = np.abs(np.arange(n + 1) - having * p - (n - having) * q)
            found = max(found, float(law[off > n * within * (p - q)].sum()))
        return found

    assert all(worst(n) <= 0.05 for n in range(people, people + 12))
    assert any(worst(n) > 0.05 for n in range(people - 12, people))


def test_one_target_is_stated() -> None:
    for stated in ({}, {"within": 0.1, "rms": 0.1}):
        with pytest.raises(InvalidParameter, match="one of within and rms"):
            RandomizedResponse.sample_size(epsilon=1, within=stated.get("within"), rms=stated.get("rms"))


def test_the_bound_holds() -> None:
    response, words = RandomizedResponse(epsilon=1, categories=4), splitmix(6)
    people, bound = np.arange(400) % 4, response.bound(people=400, confidence=0.9)
    misses = sum(
        bool(np.abs(response.estimate(response.release(people, words=words)) - 0.25).max() > bound) for _ in range(300)
    )
    assert misses <= 60  # expected at most 30


def test_too_few_people_are_warned_of() -> None:
    response = RandomizedResponse(epsilon=0.001)
    with pytest.warns(UserWarning, match="no useful information"):
        response.estimate([0, 1, 1])
    response.estimate([0, 1] * 500)


def test_ten_times_the_chance_of_one_word() -> None:
    """The operating system's words, without being asked for."""
    assert RandomizedResponse(epsilon=3).release([1] * 1000).mean() > 0.8


@pytest.mark.parametrize(
    ("call", "message"),
    [
        *[
            (lambda bad=bad: RandomizedResponse(epsilon=bad), "Expected")
            for bad in (0, -1, float("nan"), float("inf"), True, "1")
        ],
        (lambda: RandomizedResponse(epsilon=1, categories=1), "two categories"),
        (lambda: RandomizedResponse(epsilon=1, questions=0), "1 or more"),
        (lambda: RandomizedResponse(epsilon=1).release([2]), "values among the categories"),
        (
            lambda values={}: RandomizedResponse(epsilon=1, categories=["a", "b"]).release(values),
            "values among the categories",
        ),
        (lambda: RandomizedResponse(epsilon=1).release([[0, 1]]), "1 values a person"),
        (lambda: RandomizedResponse(epsilon=1, questions=2).release([0, 1]), "2 values a person"),
        (lambda: RandomizedResponse(epsilon=1).estimate([]), "values among the categories|1 or more"),
        (lambda: RandomizedResponse(epsilon=1).bound(people=3, confidence=1), "strictly between"),
        (lambda: RandomizedResponse(epsilon=1).bound(people=0), "1 or more"),
        (lambda: RandomizedResponse.sample_size(within=0, epsilon=1), "above 0"),
    ],
)
def test_refusals_name_the_cure(call: Any, message: str) -> None:
    with pytest.raises(InvalidParameter, match=message) as refusal:
        call()
    assert "Hint: " in str(refusal.value)
