"""Events cost what theorems say, each time."""

from __future__ import annotations

from fractions import Fraction

import pytest

from discreet.accounting.event_costs import cost_of, zcdp_of_event
from discreet.errors import InvalidParameter
from discreet.privacy import events

ONE = Fraction(1)
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
    assert zcdp_of_event(LAPLACE) == (Fraction(1, 2), Fraction(0))
    rho, delta = zcdp_of_event(events.composed(ROUGH, GAUSSIAN, times=4))
    assert rho == 4
    assert 4 * ROUGH.delta <= delta <= 4 * ROUGH.delta * (1 + Fraction(1, 2**40))


def test_totals_stay_short_and_high() -> None:
    numbers = [1, 3, *range(5, 400, 2)]
    cost = cost_of(events.composed(*(events.ConcentratedEvent(rho=Fraction(1, n)) for n in numbers)))
    assert cost.rho is not None
    assert cost.rho >= sum(Fraction(1, n) for n in numbers)
    assert len(str(cost.rho.denominator)) <= 1001


def test_events_without_an_amount_are_refused() -> None:
    for event in (events.PureEvent(epsilon=Fraction(0)), events.ApproximateEvent(epsilon=ONE, delta=ONE)):
        with pytest.raises(InvalidParameter, match="Hint: "):
            cost_of(event)
