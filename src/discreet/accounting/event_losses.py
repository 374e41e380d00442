"""The privacy loss of each event.

Claim
    `loss_of(event)` is the loss of the release that the event stands for.
Requires
    An event that stands for what was done.
Relies on
    `loss`.
Proof
    By the class of the event, whose docstring says which law it means. A rho-zCDP release has no dominating pair that
    is known from rho alone, so it has a cost (`event_costs`) and no loss.
Rounding
    As in `loss`.
Source
    As in `loss`.
Mutant
    counted-once: repeated events are priced once; killed by test_repeated_events_are_priced_each_time.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

from discreet.accounting import loss as losses
from discreet.accounting.dominating_pairs import GaussianPair
from discreet.accounting.loss import Loss
from discreet.errors import InvalidParameter, expected
from discreet.privacy import events
from discreet.privacy.events import Event


def loss_of(event: Event) -> Loss:
    """The privacy loss of an event.

    >>> loss_of(events.PureEvent(epsilon=Fraction(1, 2))).epsilon(delta=0)
    0.5
    """
    if isinstance(event, events.Composed):
        return losses.composed(number * loss_of(one) for one, number in zip(event.events, event.counts, strict=True))
    if (price := _LOSSES.get(type(event))) is not None:
        return price(event)
    cure = "charge it to a filter by its rho: cost_of(event)."
    raise InvalidParameter(expected("an event with a known loss", "event", event, cure))


def _whole(amount: Fraction) -> int:
    if amount.denominator != 1:
        raise InvalidParameter(expected("a whole number", "amount", amount, "this law is on integers."))
    return amount.numerator


# Keyed by class: each function is only ever given an event of its key.
_LOSSES: dict[type[Event], Callable[[Any], Loss]] = {
    events.LaplaceEvent: lambda e: losses.laplace_loss(e.ratio),
    events.DiscreteLaplaceEvent: lambda e: losses.discrete_laplace_loss(_whole(e.sensitivity), e.scale),
    events.GaussianEvent: lambda e: Loss((losses.LossPart(GaussianPair(e.mu2), 1, e.mu2 / 2),)),
    events.DiscreteGaussianEvent: lambda e: losses.discrete_gaussian_loss(e.sigma2, _whole(e.sensitivity)),
    events.StaircaseEvent: lambda e: losses.staircase_loss(1, e.epsilon, e.gamma),
    events.RandomizedResponseEvent: lambda e: losses.randomized_response_loss(e.epsilon, _whole(e.categories)),
    events.PureEvent: lambda e: losses.pure_loss(e.epsilon),
    events.ApproximateEvent: lambda e: losses.approximate_loss(e.epsilon, e.delta),
    events.BoundedRangeEvent: lambda e: losses.bounded_range_loss(e.epsilon),
}
