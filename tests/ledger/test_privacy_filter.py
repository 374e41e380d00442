from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.accounting.conversions import gdp_delta, zcdp_delta, zcdp_rho
from discreet.errors import InvalidParameter
from discreet.ledger.ledger import charge_of
from discreet.ledger.privacy_filter import NOTHING, Allowance, Spending, added
from discreet.privacy.definitions import Guarantee
from discreet.privacy.events import GaussianEvent

ONE, TINY = Fraction(1), Fraction(1, 10**6)


def spent(*costs: Spending) -> Spending:
    total = NOTHING
    for cost in costs:
        total = added(total, cost)
    return total


def let_in(allowance: Allowance, *costs: Spending) -> list[bool]:
    """Which of the charges, tried one after the other, are let in."""
    total, found = NOTHING, []
    for cost in costs:
        found.append(allowance.allows(total, added(total, cost)))
        total = added(total, cost) if found[-1] else total
    return found


@pytest.mark.parametrize("own", [None, 0, 1e-7, 4.9e-7])
def test_the_parts_of_delta_add_up(own: float | None) -> None:
    """What rho is converted with, and twice what charges of their own may use."""
    for epsilon in (0.01, 1, 10):
        allowance = Allowance.union(epsilon, 1e-6, own)
        assert Fraction(zcdp_delta(allowance.rho, epsilon)) + 2 * allowance.part <= TINY * (1 + TINY**2)


def test_many_small_charges_go_on_by_rho() -> None:
    small, one = Spending.of(Fraction(1, 100)), Spending.of(ONE)
    for own, many in ((1e-6, 100), (None, 443), (0, 487)):
        allowance = Allowance.union(1, 1e-6, own)
        assert allowance.more(NOTHING, small) == many
        assert let_in(allowance, *[small] * (many + 1)) == [True] * many + [False]
        assert allowance.more(NOTHING, one) == 1
    assert Allowance.union(1).more(NOTHING, small) == 100


def test_gaussian_charges_go_on_without_their_delta() -> None:
    """(0.1, 1e-7) by Gaussian noise is 0.00025-zCDP, and its delta is not one of an event."""
    gaussian = Spending(Fraction(1, 10), Fraction(1, 10**7), Fraction(1, 4000), Fraction(0))
    assert Allowance.union(1, 1e-6).more(NOTHING, gaussian) == 88
    assert Allowance.union(1, 1e-6, own=1e-6).more(NOTHING, gaussian) == 10


def test_charges_with_a_delta_share_their_part() -> None:
    key = Spending.of(Fraction(1, 100), Fraction(1, 10**7))
    allowance = Allowance.union(1, 1e-6)
    assert allowance.more(NOTHING, key) == 3
    assert let_in(Allowance.union(1, 1e-6, own=0), Spending.of(Fraction(1, 2)), key) == [True, False]
    many = [Spending.of(Fraction(1, 100))] * 200
    assert let_in(allowance, *many, key, key, key, key)[-4:] == [True, True, True, False]


def test_only_the_first_charge_settles() -> None:
    """All of (epsilon, delta) at once is let in, but only where no answer can have led to it."""
    whole, half, pure = Spending.of(ONE, TINY), Spending.of(ONE / 2, TINY), Spending.of(ONE / 2)
    allowance = Allowance.union(1, 1e-6)
    assert let_in(allowance, whole, Spending.of(TINY)) == [True, False]
    assert let_in(allowance, half, pure, Spending.of(TINY)) == [True, True, False]
    assert let_in(allowance, Spending.of(TINY), half) == [True, False]
    assert let_in(allowance, half, Spending(ONE, Fraction(0), TINY, Fraction(0))) == [True, False]


def test_rho_alone() -> None:
    allowance = Allowance.concentrated(0.5)
    assert allowance.more(NOTHING, Spending.of(ONE)) == 1
    assert allowance.more(NOTHING, Spending.of(Fraction(1, 10))) == 100
    assert allowance.more(NOTHING, Spending.of(Fraction(1, 10), TINY)) == 0
    assert Allowance.concentrated(0.5, 1e-6).more(NOTHING, Spending.of(Fraction(1, 10), TINY)) == 1


def test_what_remains_is_never_too_much() -> None:
    allowance = Allowance.union(1, 1e-6)
    third = TINY / 3
    few, many = Spending.of(Fraction(1, 4), TINY / 10), [Spending.of(Fraction(1, 100))] * 150
    none = Fraction(0)
    for costs, epsilon, delta, rho in (
        ((few,), Fraction(3, 4), third - TINY / 10, none),
        (many, none, third, allowance.rho - Fraction(3, 400)),
        ((Spending.of(ONE / 2, TINY),), ONE / 2, none, none),
    ):
        assert allowance.remaining(spent(*costs)) == Guarantee(epsilon=epsilon, delta=delta, rho=rho)


amounts = st.fractions(min_value=Fraction(1, 1000), max_value=2, max_denominator=1000)
deltas = st.sampled_from([Fraction(0), TINY / 7, TINY])
charges = st.builds(Spending, amounts, deltas, amounts, deltas)


@pytest.mark.long
@given(st.lists(charges, max_size=4), charges, st.sampled_from([None, 0, TINY]))
def test_more_counts_what_is_let_in(before: list[Spending], cost: Spending, own: Fraction | None) -> None:
    allowance, total = Allowance.union(2, 1e-6, own), NOTHING
    for one in before:
        total = added(total, one) if allowance.allows(total, added(total, one)) else total
    number = allowance.more(total, cost)
    for _ in range(number):
        assert allowance.allows(total, added(total, cost))
        total = added(total, cost)
    assert not allowance.allows(total, added(total, cost))


@pytest.mark.parametrize(
    "stated",
    [
        *((0,), (1, 1), (1, -1e-9), (float("nan"),)),
        *((1, 1e-6, 5e-7), (1, 1e-6, 9e-7), (1, 1e-6, -1e-9), (1, 1e-6, 2e-6), (1, 0, 1e-9)),
    ],
)
def test_allowances_that_are_none_are_refused(stated: tuple[float, ...]) -> None:
    with pytest.raises(InvalidParameter, match="Hint: "):
        Allowance.union(*stated)


@pytest.mark.parametrize("stated", [(0,), (-1,), (1, 1), (1, -1e-9)])
def test_allowances_in_rho_that_are_none_are_refused(stated: tuple[float, ...]) -> None:
    with pytest.raises(InvalidParameter, match="Hint: "):
        Allowance.concentrated(*stated)


Rule = Callable[[Spending, Spending], bool]


def best_of_all_adversaries(allows: Rule, epsilon: Fraction, step: Fraction, deltas: tuple[Fraction, ...]) -> float:
    """The largest E[(1 - e^(epsilon - loss))+] that any choice of charges along the answers reaches, exactly.

    After each answer: randomized response at `step`, a release that gives all away with a probability in `deltas`, or
    the end.
    """
    p = math.exp(step) / (1 + math.exp(step))

    @cache
    def value(total: Spending, loss: Fraction) -> float:
        best = max(0.0, 1 - math.exp(epsilon - loss))
        after = added(total, Spending.of(step))
        if allows(total, after):
            best = max(best, p * value(after, loss + step) + (1 - p) * value(after, loss - step))
        for delta in deltas:
            after = added(total, Spending(TINY**2, delta, TINY**4, delta))
            if allows(total, after):
                best = max(best, float(delta) + float(1 - delta) * value(after, loss))
        return best

    return value(NOTHING, Fraction(0))


CASES = [(ONE, ONE / 10, ONE / 8), (ONE, ONE / 100, ONE / 16), (2 * ONE, ONE / 20, ONE / 4)]


@pytest.mark.long
@pytest.mark.parametrize(("epsilon", "delta", "step"), CASES)
@pytest.mark.parametrize("own", [None, 0, Fraction(1, 10)])
def test_no_adversary_gets_more_than_delta(
    epsilon: Fraction, delta: Fraction, step: Fraction, own: Fraction | None
) -> None:
    allowance = Allowance.union(epsilon, delta, None if own is None else own * delta)
    assert allowance.more(NOTHING, Spending.of(step)) > epsilon / step
    found = best_of_all_adversaries(allowance.allows, epsilon, step, (delta / 10, delta / 3, delta))
    assert delta / 5 < found <= float(delta) * (1 + 1e-9)


@pytest.mark.parametrize(("epsilon", "delta", "step"), CASES)
def test_closing_rho_at_the_first_delta_is_caught(epsilon: Fraction, delta: Fraction, step: Fraction) -> None:
    """The rule that one would write first, with all of delta in both places: an adversary gets up to a tenth more."""
    rho = Fraction(zcdp_rho(epsilon, delta))

    def wrong(_: Spending, total: Spending) -> bool:
        return (total.epsilon <= epsilon and total.delta <= delta) or (total.rho <= rho and not total.slack)

    assert best_of_all_adversaries(wrong, epsilon, step, (delta,)) > delta * Fraction(103, 100)


def losses_of_an_adversary(draw: np.random.Generator, allowance: Allowance, runs: int) -> np.ndarray:
    """Loss of randomized responses whose epsilon doubles after a lucky answer, until it is refused."""
    found = np.zeros(runs)
    for run in range(runs):
        total, loss, epsilon = NOTHING, 0.0, Fraction(1, 4)
        while allowance.allows(total, after := added(total, Spending.of(epsilon))):
            total = after
            truth = draw.random() < math.exp(epsilon) / (1 + math.exp(epsilon))
            loss += float(epsilon if truth else -epsilon)
            epsilon = min(2 * epsilon, Fraction(1, 2)) if truth else Fraction(1, 4)
        found[run] = loss
    return found


@pytest.mark.parametrize(
    ("allowance", "epsilon", "delta"),
    [
        (Allowance.union(2), 2.0, 0.0),
        (Allowance.concentrated(0.5), 2.0, zcdp_delta(0.5, 2)),
        (Allowance.union(2, 0.01, own=0), 2.0, 0.01),
    ],
)
def test_adaptive_adversary(allowance: Allowance, epsilon: float, delta: float) -> None:
    """800 runs; by Hoeffding a mean in [0, 1] exceeds its expectation by 0.1 with probability below 1e-6."""
    losses = losses_of_an_adversary(np.random.default_rng(5), allowance, 800)
    assert np.mean(np.maximum(1 - np.exp(epsilon - losses), 0)) <= delta + 0.1


def test_a_wrong_allowance_is_caught_by_the_adversary() -> None:
    """The same adversary under an allowance four times too large."""
    losses = losses_of_an_adversary(np.random.default_rng(5), Allowance.union(8), 800)
    assert np.mean(np.maximum(1 - np.exp(2.0 - losses), 0)) > 0.1


def best_gaussian_adversary(allowance: Allowance, epsilon: float) -> float:
    """The largest E[(1 - e^(epsilon - loss))+] over Gaussian releases chosen along the answers, by backward induction.

    After each answer: mu^2 of 1/4 or 1/2 more, if that is allowed, or the end. Losses lie on a grid of 1/100, and each
    law on it is the normal density there; both change the value by less than 1e-4.
    """
    grid = np.arange(-1200, 1601) / 100.0
    steps = {Fraction(1, 4): 40, Fraction(1, 2): 60}  # and how many hundredths of loss cover seven deviations, by ten
    kernels = {}
    for mu2, width in steps.items():
        places = np.arange(-10 * width, 10 * width + 1) / 100.0
        density = np.exp(-((places - float(mu2) / 2) ** 2) / (2 * float(mu2)))
        kernels[mu2] = density / density.sum()
    stop = np.maximum(1 - np.exp(epsilon - grid), 0.0)

    def value(total: Spending) -> np.ndarray:
        best: np.ndarray = stop
        for mu2, kernel in kernels.items():
            after = added(total, charge_of(Guarantee(epsilon=ONE), GaussianEvent(mu2=mu2)))
            if allowance.allows(total, after):
                padded = np.pad(value(after), kernel.size // 2, mode="edge")
                best = np.maximum(best, np.convolve(padded, kernel[::-1], mode="valid"))
        return best

    return float(value(NOTHING)[1200])


def test_no_gaussian_adversary_gets_more_than_mu_says() -> None:
    """Nothing is lost to adaptivity either: who spends all reaches it."""
    found, promised = best_gaussian_adversary(Allowance.concentrated(0.5), 1), gdp_delta(1, 1)
    assert promised - 1e-3 < found <= promised + 1e-4


def test_a_wrong_mu_is_caught() -> None:
    """An allowance of mu^2 = 5/4 in place of 1."""
    assert best_gaussian_adversary(Allowance.concentrated(0.625005), 1) > gdp_delta(1, 1) + 0.02
