"""Events cost what theorems say, each time; costs go into filters and ledgers."""

from __future__ import annotations

from fractions import Fraction

from discreet.accounting.event_costs import concentrated, cost_of
from discreet.accounting.filters import EitherFilter
from discreet.privacy import events

LAPLACE = events.LaplaceEvent(ratio=Fraction(1))
GAUSSIAN = events.GaussianEvent(mu2=Fraction(1))
ROUGH = events.ApproximateEvent(epsilon=Fraction(1), delta=Fraction(1, 10**6))


def test_repeated_events_cost_each_time() -> None:
    event = events.composed(LAPLACE, events.composed(GAUSSIAN, times=2), times=3)
    cost = cost_of(event)
    assert cost.rho == 3 * Fraction(1, 2) + 6 * Fraction(1, 2)
    assert cost.epsilon is None
    assert cost_of(events.composed(LAPLACE, times=5)).epsilon == 5


def test_rho_and_delta_add_up() -> None:
    assert concentrated(LAPLACE) == (Fraction(1, 2), Fraction(0))
    rho, delta = concentrated(events.composed(ROUGH, GAUSSIAN, times=4))
    assert rho == 4
    assert 4 * ROUGH.delta <= delta <= 4 * ROUGH.delta * (1 + Fraction(1, 2**40))


def test_costs_go_into_filters() -> None:
    budget = EitherFilter(2, 1e-6)
    budget.charge(cost_of(events.GaussianEvent(mu2=Fraction(1, 100))))
    assert budget.spent.rho == Fraction(1, 200)
