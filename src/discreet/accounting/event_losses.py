"""The privacy loss of each event.

Claim
    `loss_of(event)` is the loss of the release that the event stands for; the other functions are of releases that are
    stated by their parameters, or by a table.
Requires
    An event that stands for what was done.
Relies on
    `privacy_loss`; `event_costs` for every amount that a theorem states, which is written there alone;
    `tabulated_pairs`.
Proof
    The dominating pair is chosen by the class of the event, whose docstring says which law it means. What theorems say
    of the law is its cost. The zCDP of a pure law is computed from its pair, and is then smaller than epsilon^2/2; no
    divergence is above epsilon, which serves where the computation takes too long. A rho-zCDP release has no dominating
    pair that is known from rho alone, so it has a cost and no loss.
Rounding
    As in `privacy_loss`.
Source
    As in `privacy_loss`.
Mutant
    counted-once: repeated events are priced once; killed by test_repeated_events_are_priced_each_time.
    rho-beside-a-delta: a release that may fail with probability delta is given a rho; killed by
        test_a_release_with_a_delta_has_no_rho.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from typing import Any

from discreet.accounting import tabulated_pairs
from discreet.accounting.dominating_pairs import BoundedRange, DominatingPair, GaussianPair, LaplacePair
from discreet.accounting.event_costs import EventCost, cost_of
from discreet.accounting.privacy_loss import Loss, LossPart
from discreet.errors import InvalidParameter, expected
from discreet.exact.amounts import checked_amount, count, delta_or_zero, fraction, positive
from discreet.exact.bisection import float_down, float_up
from discreet.guesses.near_names import NearNames
from discreet.guesses.package_words import MECHANISM
from discreet.privacy import events
from discreet.privacy.events import Event

LARGEST_TABLE = 1 << 22
LARGEST_COMPUTED = 50
"""Above this epsilon the zCDP of a pure law is not computed."""


def loss_of(event: Event) -> Loss:
    """The privacy loss of an event.

    >>> loss_of(events.PureEvent(epsilon=Fraction(1, 2))).epsilon(delta=0)
    0.5
    """
    if isinstance(event, events.Composed):
        return composed(number * loss_of(one) for one, number in zip(event.events, event.counts, strict=True))
    if (pair_of := _PAIRS.get(type(event))) is None:
        cure = "use its cost, cost_of(event), which has a rho."
        raise InvalidParameter(expected("an event with a known loss", "event", event, cure))
    cost = cost_of(event)
    if cost.epsilon is not None:
        checked_amount("epsilon", cost.epsilon)
    elif cost.rho is not None:
        checked_amount("rho", cost.rho)
    pair = pair_of(event)
    return Loss((LossPart(pair, 1, _stated_rho(pair, cost), cost.epsilon),))


def _stated_rho(pair: DominatingPair, cost: EventCost) -> Fraction | None:
    """The rho that a theorem states of a law; None where that of its pair is computed."""
    if cost.epsilon is None or isinstance(pair, BoundedRange):
        return cost.rho
    return None if cost.delta or cost.epsilon < LARGEST_COMPUTED else cost.epsilon


class HasLoss(NearNames):
    """A mechanism that states its release as an event, from which its privacy loss follows."""

    __slots__ = ()
    _instead = MECHANISM

    @property
    @abstractmethod
    def event(self) -> Event:
        """What a release writes into the record."""

    @property
    def loss(self) -> Loss:
        """The privacy-loss random variable of the release that `event` states."""
        return loss_of(self.event)


def composed(losses: Iterable[Loss]) -> Loss:
    """The loss of all releases together; the same as `sum`, and faster for thousands of them.

    >>> round(composed([laplace_loss(0.5), laplace_loss(0.25)]).epsilon(0), 6)
    0.75
    """
    return Loss(tuple(part for loss in losses for part in loss.parts))


def laplace_loss(epsilon: float | Fraction) -> Loss:
    """Continuous Laplace noise, epsilon = sensitivity / scale.

    >>> laplace_loss(1).epsilon(0), round(laplace_loss(1).delta(0.5), 4)
    (1.0, 0.2212)
    """
    return loss_of(events.LaplaceEvent(ratio=positive("epsilon", epsilon)))


def discrete_laplace_loss(sensitivity: int, scale: float | Fraction) -> Loss:
    """Discrete Laplace noise on integers.

    >>> discrete_laplace_loss(1, 2).epsilon(0)
    0.5
    """
    exact, width = positive("sensitivity", sensitivity), positive("scale", scale)
    return loss_of(events.DiscreteLaplaceEvent(sensitivity=exact, scale=width))


def gaussian_loss(mu: float | Fraction) -> Loss:
    """Continuous Gaussian noise, or its rounding: mu = sensitivity / sigma.

    >>> round(gaussian_loss(1).epsilon(1e-5), 3)
    4.377
    """
    return loss_of(events.GaussianEvent(mu2=checked_amount("mu**2", positive("mu", mu) ** 2)))


def discrete_gaussian_loss(sigma2: float | Fraction, sensitivity: int) -> Loss:
    """Discrete Gaussian noise in one dimension; `sigma2` is its parameter, not its variance.

    >>> discrete_gaussian_loss(100, 1).delta(1) < 1e-20
    True
    """
    square, exact = positive("sigma2", sigma2), positive("sensitivity", sensitivity)
    return loss_of(events.DiscreteGaussianEvent(sensitivity=exact, sigma2=square))


def randomized_response_loss(epsilon: float | Fraction, categories: int = 2) -> Loss:
    """Randomized response: the truth with probability e^epsilon/(e^epsilon + categories - 1).

    >>> round(randomized_response_loss(1).delta(0.5), 4)
    0.2876
    """
    kinds = Fraction(count("categories", categories))
    return loss_of(events.RandomizedResponseEvent(epsilon=positive("epsilon", epsilon), categories=kinds))


def staircase_loss(sensitivity: float | Fraction, epsilon: float | Fraction, gamma: float | Fraction) -> Loss:
    """Staircase noise; `gamma` in [0, 1] is the part of a step that is high.

    >>> round(staircase_loss(1, 2, 0.25).epsilon(0), 6)
    2.0
    """
    positive("sensitivity", sensitivity)
    return loss_of(events.StaircaseEvent(epsilon=positive("epsilon", epsilon), gamma=fraction("gamma", gamma)))


def pure_loss(epsilon: float | Fraction) -> Loss:
    """The worst that an epsilon-differentially private mechanism can be.

    >>> round(pure_loss(1).delta(0), 4)
    0.4621
    """
    return loss_of(events.PureEvent(epsilon=positive("epsilon", epsilon)))


def approximate_loss(epsilon: float | Fraction, delta: float | Fraction) -> Loss:
    """The worst that an (epsilon, delta)-differentially private mechanism can be.

    >>> round(approximate_loss(1, 1e-6).epsilon(1e-6), 6)
    1.0
    """
    return loss_of(events.ApproximateEvent(epsilon=positive("epsilon", epsilon), delta=delta_or_zero(delta)))


def bounded_range_loss(epsilon: float | Fraction) -> Loss:
    """The worst that a mechanism can be whose log-ratios span at most epsilon, as the exponential mechanism's do.

    >>> round(bounded_range_loss(1).delta(0), 4)
    0.2449
    """
    return loss_of(events.BoundedRangeEvent(epsilon=positive("epsilon", epsilon)))


def finite_loss(p: Sequence[float | Fraction], q: Sequence[float | Fraction]) -> Loss:
    """A mechanism given by its table: the probabilities of its outputs on a table and on its neighbor.

    >>> round(finite_loss([0.75, 0.25], [0.25, 0.75]).epsilon(0), 4)
    1.0986
    """
    first, second = probabilities("p", p), probabilities("q", q)
    if len(first) != len(second):
        raise InvalidParameter(expected(f"{len(first)} probabilities", "len(q)", len(q), "list the same outputs."))
    return Loss((LossPart(tabulated_pairs.finite(first, second), 1, None),))


def probabilities(name: str, table: Sequence[float | Fraction]) -> list[Fraction]:
    """`table` as exact probabilities that add up to one; floats may miss it by their rounding."""
    exact = [fraction(name, value) for value in table] if isinstance(table, Iterable) else []
    if not exact or min(exact) < 0:
        raise InvalidParameter(expected("probabilities of 0 or more", name, table, "list one for each output."))
    total = sum(exact, start=Fraction(0))
    tolerance = Fraction(0 if all(isinstance(v, Fraction | int) for v in table) else 1, 10**9)
    if abs(total - 1) > tolerance:
        cure = f"scale {name} so that it adds up to 1; fractions.Fraction states it exactly."
        raise InvalidParameter(expected("probabilities that add up to 1", f"sum({name})", float(total), cure))
    return [value / total for value in exact]


def _whole(name: str, amount: Fraction) -> int:
    if amount.denominator != 1:
        raise InvalidParameter(expected("a whole number", name, amount, "this noise is for integers."))
    return amount.numerator


def _discrete_laplace(event: events.DiscreteLaplaceEvent) -> DominatingPair:
    steps = _whole("sensitivity", checked_amount("sensitivity", event.sensitivity))
    return tabulated_pairs.discrete_laplace(steps, positive("scale", event.scale))


def _discrete_gaussian(event: events.DiscreteGaussianEvent) -> DominatingPair:
    square, steps = (
        positive("sigma2", event.sigma2),
        _whole("sensitivity", checked_amount("sensitivity", event.sensitivity)),
    )
    if 2 * tabulated_pairs.FARTHEST * math.sqrt(square) + steps > LARGEST_TABLE:
        cure = "ask the mechanism for its rho, or use the rounded Gaussian, which has a closed form."
        raise InvalidParameter(expected("noise of fewer steps", "sigma2", square, cure))
    return tabulated_pairs.discrete_gaussian(square, steps)


def _staircase(event: events.StaircaseEvent) -> DominatingPair:
    part = event.gamma
    if not 0 <= part <= 1:
        raise InvalidParameter(expected("a part from 0 to 1", "gamma", part, "the best is 1/(1 + e^(epsilon/2))."))
    nearer = float_up(part) if part < Fraction(1, 2) else float_down(part)  # to the half, where the loss is largest
    return tabulated_pairs.staircase(float_up(event.epsilon), nearer)


def _response(event: events.RandomizedResponseEvent) -> DominatingPair:
    kinds = _whole("categories", event.categories)
    if kinds < 2:
        raise InvalidParameter(expected("two categories or more", "categories", kinds, "list the possible answers."))
    return tabulated_pairs.response(float_up(event.epsilon), kinds)


# Keyed by class: each function is only ever given an event of its key.
_PAIRS: dict[type[Event], Callable[[Any], DominatingPair]] = {
    events.LaplaceEvent: lambda e: LaplacePair(float_up(e.ratio)),
    events.DiscreteLaplaceEvent: _discrete_laplace,
    events.GaussianEvent: lambda e: GaussianPair(e.mu2),
    events.DiscreteGaussianEvent: _discrete_gaussian,
    events.StaircaseEvent: _staircase,
    events.RandomizedResponseEvent: _response,
    events.PureEvent: lambda e: tabulated_pairs.two_point(float_up(e.epsilon)),
    events.ApproximateEvent: lambda e: tabulated_pairs.two_point(float_up(e.epsilon), e.delta),
    events.BoundedRangeEvent: lambda e: BoundedRange(float_up(e.epsilon)),
}
