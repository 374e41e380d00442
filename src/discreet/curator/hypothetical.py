"""What a release would cost a budget, before anybody asks for it."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any, Protocol

from discreet.accounting.allowance import Spending
from discreet.accounting.costs import concentrated
from discreet.accounting.costs import cost_of as priced
from discreet.curator.ledger import charge_of, event_of, positive_guarantee
from discreet.errors import InvalidParameter, expected
from discreet.privacy.events import Event

if TYPE_CHECKING:
    from discreet.query.question import Question

UNBOUNDED = Fraction(10**1000)
"""In place of an epsilon that nobody stated: within no allowance."""


class HasEvent(Protocol):
    """A mechanism: it says what a release writes into the record."""

    @property
    def event(self) -> Event:
        """What one release draws."""


def cost_of(what: Question | Event | HasEvent | None, epsilon: object, delta: object) -> Spending:
    """The cost of one release of `what`; see `Budget.remaining_queries`."""
    asked: Any = what
    if hasattr(asked, "plan"):
        plan = asked.plan(epsilon=epsilon, delta=delta)
        return charge_of(plan.charge, plan.event)
    event = what if what is None or isinstance(what, Event) else getattr(what, "event", None)
    if what is not None and not isinstance(event, Event):
        cure = "give a question, a mechanism, or nothing and epsilon=0.1."
        raise InvalidParameter(expected("a question or a mechanism", "what", type(what).__name__, cure))
    if epsilon is not None:
        guarantee = positive_guarantee(epsilon, delta)
        return charge_of(guarantee, event or event_of(guarantee))
    if event is None:
        cure = "say what one release costs: budget.remaining_queries(epsilon=0.1), or name a mechanism."
        raise InvalidParameter(expected("a question, a mechanism or an epsilon", "what", what, cure))
    cost = priced(event)
    rho, slack = concentrated(event)
    if cost.epsilon is None:
        return Spending(UNBOUNDED, cost.delta, rho, slack)
    return Spending(cost.epsilon, cost.delta, rho, slack)
