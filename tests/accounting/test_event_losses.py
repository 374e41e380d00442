from __future__ import annotations

import math
from fractions import Fraction

import pytest
from flint import arb, ctx, fmpq
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.accounting.event_costs import cost_of
from discreet.accounting.event_losses import gaussian_loss, laplace_loss, loss_of
from discreet.accounting.privacy_loss import Loss
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


@settings(max_examples=60, deadline=None)
@given(st.floats(1e-6, 200.0), st.one_of(st.floats(0.0, 1.0), st.floats(1.0 - 1e-9, 1.0)), st.sampled_from([1, 10**6]))
def test_lower_ends_are_below_the_law(amount: float, part: float, times: int) -> None:
    """An epsilon, and the parameter of a pair, mean decimals, which lie beside their floats."""
    with ctx.workprec(2000):
        own, place = _real(amount), amount * part
        assert _encloses(laplace_loss(amount), place, 1 - ((_real(place) - own) / 2).exp())
        mu, place = own * arb(times).sqrt(), amount * amount * times * part
        end, half = _real(place) / mu, mu / 2
        normal = [(-x / arb(2).sqrt()).erfc() / 2 for x in (half - end, -half - end)]
        assert _encloses(times * gaussian_loss(amount), place, normal[0] - _real(place).exp() * normal[1])


def _real(amount: float) -> arb:
    exact = Fraction(str(amount))
    return arb(fmpq(exact.numerator, exact.denominator))


def _encloses(loss: Loss, epsilon: float, delta: arb) -> bool:
    lower, upper = loss.delta_bounds(epsilon)
    return not (bool(arb(lower) > delta) or bool(delta > arb(upper)))
