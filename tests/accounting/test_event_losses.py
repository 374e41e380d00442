from __future__ import annotations

import math
from fractions import Fraction

import pytest

from discreet.accounting.event_costs import cost_of
from discreet.accounting.event_losses import loss_of
from discreet.errors import InvalidParameter
from discreet.privacy import events

ONE = Fraction(1)
ALL: dict[str, events.Event] = {
    "laplace": events.LaplaceEvent(ratio=ONE),
    "discrete-laplace": events.DiscreteLaplaceEvent(sensitivity=Fraction(2), scale=Fraction(2)),
    "gaussian": events.GaussianEvent(mu2=ONE),
    "discrete-gaussian": events.DiscreteGaussianEvent(sensitivity=ONE, sigma2=ONE),
    "staircase": events.StaircaseEvent(epsilon=ONE, gamma=ONE / 2),
    "randomized-response": events.RandomizedResponseEvent(epsilon=ONE, categories=Fraction(4)),
    "pure": events.PureEvent(epsilon=ONE),
    "approximate": events.ApproximateEvent(epsilon=ONE, delta=Fraction(1, 10**6)),
    "bounded-range": events.BoundedRangeEvent(epsilon=ONE),
}


@pytest.mark.parametrize("kind", ALL)
def test_costs_bound_losses(kind: str) -> None:
    loss, cost = loss_of(ALL[kind]), cost_of(ALL[kind])
    if cost.epsilon is not None:
        assert loss.delta_bounds(cost.epsilon).lower <= float(cost.delta)
    if cost.rho is not None:
        assert loss.renyi(2) <= 2 * float(cost.rho) * (1 + 1e-9)


def test_every_kind_is_priced() -> None:
    assert set(ALL) | {"composed", "concentrated"} == set(events.KINDS)
    assert cost_of(events.ConcentratedEvent(rho=ONE)).rho == 1
    with pytest.raises(InvalidParameter, match="cost_of"):
        loss_of(events.ConcentratedEvent(rho=ONE))
    with pytest.raises(InvalidParameter):
        cost_of(events.Event())


def test_repeated_events_are_priced_each_time() -> None:
    event = events.composed(ALL["laplace"], events.composed(ALL["gaussian"], times=2), times=3)
    assert [part.times for part in loss_of(event).parts] == [3, 6]


def test_a_release_with_a_delta_has_no_rho() -> None:
    for epsilon in (1, 60):
        assert loss_of(events.PureEvent(epsilon=Fraction(epsilon))).rho <= epsilon
        assert loss_of(events.ApproximateEvent(epsilon=Fraction(epsilon), delta=ONE / 10**6)).rho == math.inf


def test_laws_on_integers_need_integers() -> None:
    with pytest.raises(InvalidParameter, match="integers"):
        loss_of(events.DiscreteLaplaceEvent(sensitivity=Fraction(1, 2), scale=ONE))
