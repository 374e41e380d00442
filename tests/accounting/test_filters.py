from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest

from discreet.accounting.conversions import gdp_delta, zcdp_delta
from discreet.accounting.event_costs import EventCost, added
from discreet.accounting.filters import EitherFilter, EpsilonFilter, Filter, MuFilter, RhoFilter
from discreet.errors import BudgetExceeded, InvalidParameter


def test_the_courses_example() -> None:
    budget = EpsilonFilter(1.0)
    budget.charge(EventCost.pure(0.01))
    budget.charge(EventCost.pure(0.10))
    with pytest.raises(BudgetExceeded, match="Hint: "):
        budget.charge(EventCost.pure(1.00))
    assert budget.spent.epsilon == Fraction(11, 100)


@pytest.mark.parametrize(
    ("budget", "cost", "times"),
    [
        (EpsilonFilter(1), EventCost.pure(0.1), 10),
        (EpsilonFilter(1, 1e-6), EventCost.pure(0.01, 1e-7), 10),
        (RhoFilter(0.5), EventCost.gaussian(0.01), 100),
        (RhoFilter(0.5), EventCost.pure(0.1), 100),
        (MuFilter(2), EventCost.gaussian(0.04), 100),
        (EitherFilter(1, 1e-6), EventCost.pure(0.1), 10),
    ],
)
def test_exactly_as_many_as_fit(budget: Filter, cost: EventCost, times: int) -> None:
    assert budget.remaining_queries(cost) == times
    for _ in range(times):
        assert budget.fits(cost)
        budget.charge(cost)
    assert not budget.fits(cost)
    assert budget.remaining_queries(cost) == 0


def test_a_refusal_charges_nothing() -> None:
    for budget, small, large in (
        (EpsilonFilter(1), EventCost.pure(0.75), EventCost.pure(0.5)),
        (RhoFilter(1), EventCost.zcdp(0.75), EventCost.zcdp(0.5)),
        (MuFilter(1), EventCost.gaussian(0.75), EventCost.gaussian(0.5)),
    ):
        budget.charge(small)
        before = budget.spent
        with pytest.raises(BudgetExceeded):
            budget.charge(large)
        assert budget.spent == before
        assert budget.remaining_queries(large) == 0


def test_either_sum_is_enough() -> None:
    budget = EitherFilter(1, 1e-6)
    assert zcdp_delta(budget.rho, 1) <= 1e-6
    many = 0
    while budget.fits(EventCost.pure(0.01)):
        budget.charge(EventCost.pure(0.01))
        many += 1
    assert many == int(budget.rho / Fraction(1, 20000))
    assert many > 100
    few = EitherFilter(1, 1e-6)
    few.charge(EventCost.pure(1))
    assert few.spent.rho is not None
    assert few.spent.rho > few.rho
    assert not few.fits(EventCost.gaussian(1e-9))
    mixed = EitherFilter(1, 1e-6)
    mixed.charge(EventCost.gaussian(0.01))
    assert mixed.spent.epsilon is None
    assert not mixed.fits(EventCost.pure(0.9))


INVALID: list[Callable[[], object]] = [
    lambda: EpsilonFilter(1, 1e-6).fits(EventCost.gaussian(1)),
    lambda: EpsilonFilter(1, 1e-6).charge(EventCost.zcdp(1)),
    lambda: RhoFilter(1).charge(EventCost.pure(0.1, 1e-9)),
    lambda: MuFilter(1).charge(EventCost.pure(0.1)),
    lambda: MuFilter(1).charge(EventCost.zcdp(0.1)),
    lambda: EitherFilter(1, 1e-6).charge(EventCost.pure(0.1, 1e-9)),
    lambda: EitherFilter(1, 1e-6).charge(EventCost()),
    lambda: EitherFilter(1, 0),
    lambda: EpsilonFilter(0),
    lambda: RhoFilter(float("nan")),
    lambda: MuFilter(-1),
    lambda: EventCost.pure(0.1, 1),
]


@pytest.mark.parametrize("number", range(len(INVALID)))
def test_what_no_theorem_allows_is_refused(number: int) -> None:
    with pytest.raises(InvalidParameter, match="Hint: "):
        INVALID[number]()


def test_a_charge_takes_as_long_as_the_first() -> None:
    """What is kept of 20,000 charges is no longer than what is kept of one; benchmarks/accounting.py takes the time."""
    budget, cost = EitherFilter(1000, 1e-6), EventCost.pure(0.001)
    for _ in range(20_000):
        budget.charge(cost)
    spent = budget.spent
    assert spent.epsilon == 20
    assert spent.rho == Fraction(1, 100)
    assert spent.rho.denominator <= (cost.rho or Fraction(0)).denominator


def test_totals_stay_short_and_high() -> None:
    total = EventCost.zcdp(Fraction(1, 3))
    for n in range(5, 400, 2):
        total = added(total, EventCost.zcdp(Fraction(1, n)))
    assert total.rho is not None
    assert len(str(total.rho.denominator)) <= 1001
    assert total.rho >= Fraction(1, 3) + sum(Fraction(1, n) for n in range(5, 400, 2))


def losses_of_an_adversary(draw: np.random.Generator, budget_of: Callable[[], Filter], runs: int) -> np.ndarray:
    """Loss of randomized responses whose epsilon doubles after a lucky answer, until the filter refuses."""
    found = np.zeros(runs)
    for run in range(runs):
        budget, loss, epsilon = budget_of(), 0.0, Fraction(1, 4)
        while budget.fits(EventCost.pure(epsilon)):
            budget.charge(EventCost.pure(epsilon))
            truth = draw.random() < math.exp(epsilon) / (1 + math.exp(epsilon))
            loss += float(epsilon if truth else -epsilon)
            epsilon = min(2 * epsilon, Fraction(1, 2)) if truth else Fraction(1, 4)
        found[run] = loss
    return found


@pytest.mark.parametrize(
    ("budget_of", "epsilon", "delta"),
    [
        (lambda: EpsilonFilter(2), 2.0, 0.0),
        (lambda: RhoFilter(0.5), 2.0, zcdp_delta(0.5, 2)),
        (lambda: EitherFilter(2, 0.01), 2.0, 0.01),
    ],
)
def test_adaptive_adversary(budget_of: Callable[[], Filter], epsilon: float, delta: float) -> None:
    """800 runs; by Hoeffding a mean in [0, 1] exceeds its expectation by 0.1 with probability below 1e-6."""
    losses = losses_of_an_adversary(np.random.default_rng(5), budget_of, 800)
    assert np.mean(np.maximum(1 - np.exp(epsilon - losses), 0)) <= delta + 0.1


def test_a_wrong_filter_is_caught_by_the_adversary() -> None:
    """The same adversary under an allowance four times too large."""
    losses = losses_of_an_adversary(np.random.default_rng(5), lambda: EpsilonFilter(8), 800)
    assert np.mean(np.maximum(1 - np.exp(2.0 - losses), 0)) > 0.1


def best_gaussian_adversary(mu: float, epsilon: float) -> float:
    """The largest E[(1 - e^(epsilon - loss))+] over Gaussian releases chosen along the answers, by backward induction.

    After each answer: mu^2 of 1/4 or 1/2 more, as `MuFilter(mu)` allows, or the end. Losses lie on a grid of 1/100, and
    each law on it is the normal density there; both change the value by less than 1e-4.
    """
    grid = np.arange(-1200, 1601) / 100.0
    steps = {Fraction(1, 4): 40, Fraction(1, 2): 60}  # and how many hundredths of loss cover seven deviations, by ten
    kernels = {}
    for mu2, width in steps.items():
        places = np.arange(-10 * width, 10 * width + 1) / 100.0
        density = np.exp(-((places - float(mu2) / 2) ** 2) / (2 * float(mu2)))
        kernels[mu2] = density / density.sum()
    stop = np.maximum(1 - np.exp(epsilon - grid), 0.0)

    def value(budget: MuFilter, quarters: int) -> np.ndarray:
        best: np.ndarray = stop
        for mu2, kernel in kernels.items():
            if budget.fits(EventCost.gaussian(mu2)):
                after = MuFilter(budget.mu)
                for _ in range(quarters):
                    after.charge(EventCost.gaussian(Fraction(1, 4)))
                after.charge(EventCost.gaussian(mu2))
                later = value(after, quarters + int(4 * mu2))
                padded = np.pad(later, kernel.size // 2, mode="edge")
                best = np.maximum(best, np.convolve(padded, kernel[::-1], mode="valid"))
        return best

    return float(value(MuFilter(mu), 0)[1200])


def test_no_gaussian_adversary_gets_more_than_the_filter_says() -> None:
    """Nothing is lost to adaptivity either: who spends all reaches it."""
    found, promised = best_gaussian_adversary(1, 1), gdp_delta(1, 1)
    assert promised - 1e-3 < found <= promised + 1e-4


def test_a_wrong_mu_filter_is_caught() -> None:
    """An allowance of mu^2 = 5/4 in place of 1."""
    assert best_gaussian_adversary(math.sqrt(1.25001), 1) > gdp_delta(1, 1) + 0.02
