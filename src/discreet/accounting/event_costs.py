"""The cost of each event in every unit: amounts alone, so that a ledger needs no numbers beyond fractions.

Claim
    `cost_of(event)` and `concentrated(event)` state only amounts that a theorem gives for the event.
Requires
    An event that stands for what was done.
Relies on
    Exact fractions; `sums` and `short_up` never return less than the sum.
Proof
    By the class of the event, whose docstring says which law it means. Costs of parts add up. An (epsilon, delta)-DP
    release is epsilon-DP up to an event of probability delta, and an epsilon-DP one has rho = epsilon^2/2.
Rounding
    Exact; sums are rounded up.
Source
    Bun and Steinke (2016): rho. Cesar and Rogers (2021): epsilon^2/8 for a bounded range.
Mutant
    charged-once: repeated events cost once; killed by test_repeated_events_cost_each_time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from discreet.accounting.conversions import Amount
from discreet.errors import InvalidParameter, expected
from discreet.exact.amounts import above_zero, delta_or_zero, short_up, sums
from discreet.privacy import events
from discreet.privacy.events import Event


@dataclass(frozen=True, kw_only=True, slots=True)
class EventCost:
    """What one release costs in each unit; None where no theorem states it."""

    epsilon: Fraction | None = None
    delta: Fraction = Fraction(0)
    rho: Fraction | None = None

    @classmethod
    def pure(cls, epsilon: Amount, delta: Amount = 0) -> EventCost:
        """An (epsilon, delta)-DP release; without delta also (epsilon^2/2)-zCDP."""
        exact, part = above_zero("epsilon", epsilon), delta_or_zero(delta)
        return cls(epsilon=exact, delta=part, rho=None if part else exact**2 / 2)

    @classmethod
    def zcdp(cls, rho: Amount) -> EventCost:
        """A rho-zCDP release."""
        return cls(rho=above_zero("rho", rho))


def cost_of(event: Event) -> EventCost:
    """What an event costs in each unit.

    >>> cost_of(events.GaussianEvent(mu2=Fraction(1))).rho
    Fraction(1, 2)
    """
    if isinstance(event, events.Composed):
        costs = [(number, cost_of(one)) for one, number in zip(event.events, event.counts, strict=True)]
        return EventCost(
            epsilon=_total([(number, cost.epsilon) for number, cost in costs]),
            delta=sums(number * cost.delta for number, cost in costs)[1],
            rho=_total([(number, cost.rho) for number, cost in costs]),
        )
    if (price := _COSTS.get(type(event))) is not None:
        return price(event)
    raise InvalidParameter(expected("an event with a known cost", "event", event, "use a class of privacy.events."))


def _total(amounts: Sequence[tuple[int, Fraction | None]]) -> Fraction | None:
    """The sum of amounts, each so often, rounded up; None where one is unknown."""
    known = [number * amount for number, amount in amounts if amount is not None]
    return sums(known)[1] if len(known) == len(amounts) else None


def zcdp_of_event(event: Event) -> tuple[Fraction, Fraction]:
    """rho and delta with which an event is delta-approximately rho-zCDP, rho rounded up.

    >>> zcdp_of_event(events.ApproximateEvent(epsilon=Fraction(1), delta=Fraction(1, 10**8)))
    (Fraction(1, 2), Fraction(1, 100000000))
    """
    if isinstance(event, events.Composed):
        parts = [(number, zcdp_of_event(one)) for one, number in zip(event.events, event.counts, strict=True)]
        rhos, deltas = ([n * pair[i] for n, pair in parts] for i in (0, 1))
        return short_up(sum(rhos, Fraction(0))), short_up(sum(deltas, Fraction(0)))
    cost = cost_of(event)
    # Any (epsilon, delta)-DP release is epsilon-DP up to an event of probability delta.
    rho = cost.rho if cost.rho is not None or cost.epsilon is None else cost.epsilon**2 / 2
    if rho is None:
        raise InvalidParameter(expected("an event with a rho", "event", event, "use a class of privacy.events."))
    return short_up(rho), cost.delta


# Keyed by class: each function is only ever given an event of its key.
_COSTS: dict[type[Event], Callable[[Any], EventCost]] = {
    events.LaplaceEvent: lambda e: EventCost.pure(e.ratio),
    events.DiscreteLaplaceEvent: lambda e: EventCost.pure(e.sensitivity / e.scale),
    events.GaussianEvent: lambda e: EventCost.zcdp(e.mu2 / 2),
    events.DiscreteGaussianEvent: lambda e: EventCost.zcdp(e.sensitivity**2 / (2 * e.sigma2)),
    events.StaircaseEvent: lambda e: EventCost.pure(e.epsilon),
    events.RandomizedResponseEvent: lambda e: EventCost.pure(e.epsilon),
    events.PureEvent: lambda e: EventCost.pure(e.epsilon),
    events.ApproximateEvent: lambda e: EventCost.pure(e.epsilon, e.delta),
    events.BoundedRangeEvent: lambda e: EventCost(epsilon=e.epsilon, rho=e.epsilon**2 / 8),
    events.ConcentratedEvent: lambda e: EventCost.zcdp(e.rho),
}
