"""What a release would cost a budget, before anybody asks for it.

Claim
    `cost_of(what, epsilon, delta, rho)` is, under every sum that a budget may keep, what a ledger books for one release
    of `what`: of a question with this epsilon and delta, or this rho; of a mechanism or its event, by the law that it
    draws; and where nothing but amounts is stated, of any release of these.
Requires
    Nothing: what is no release is refused.
Relies on
    `ledger.charge_of`, by which charges get their cost; `accounting.event_costs` for what an event costs.
Proof
    A question is planned as its release plans it, and its charge and event go through `charge_of`, as those of a
    `Charge` do; so do amounts, with the event that says no more than they do. A mechanism alone costs what the theorems
    of its event state. Where they state no epsilon (rho-zCDP alone gives none), the epsilon is one that no allowance
    holds, so that only a sum of rho can let it in.
Rounding
    As in `ledger` and `costs`: up.
Source
    As in `accounting.event_costs`.
Mutant
    no-epsilon-is-free: what has no epsilon of its own costs hardly any; killed by test_every_way_to_say_what.
    question-as-any-release: the law that a question draws is forgotten; killed by
        test_a_question_counts_as_its_release_does.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any, Protocol

from discreet.accounting.event_costs import cost_of as priced
from discreet.accounting.event_costs import zcdp_of_event
from discreet.errors import BudgetExceeded, InvalidParameter, expected
from discreet.exact.amounts import above_zero, fraction
from discreet.exact.bisection import first_power, least_whole
from discreet.ledger.ledger import charge_of, event_of, positive_guarantee
from discreet.ledger.privacy_filter import Spending
from discreet.privacy.definitions import UNBOUNDED
from discreet.privacy.events import Event


class HasPlan(Protocol):
    """A question: it can be planned at a price."""

    def plan(self, *, epsilon: Any, delta: Any, rho: Any) -> Any:
        """What its release at this price would be."""


class HasEvent(Protocol):
    """A mechanism: it says what a release writes into the record."""

    @property
    def event(self) -> Event:
        """What one release draws."""


def cost_of(what: HasPlan | Event | HasEvent | None, epsilon: object, delta: object, rho: object = None) -> Spending:
    """The cost of one release of `what`; see `Budget.remaining_queries`."""
    asked: Any = what
    if callable(getattr(type(asked), "plan", None)):  # of its class: a frame may have a column of this name
        plan = asked.plan(epsilon=epsilon, delta=delta, rho=rho)
        return charge_of(plan.charge, plan.event)
    if rho is not None:
        if what is not None or epsilon is not None or fraction("delta", delta):
            cure = "a mechanism says what it costs by itself, and rho is stated in place of epsilon and delta."
            raise InvalidParameter(expected("rho for a question, or alone", "rho", rho, cure))
        return Spending(UNBOUNDED, rho=above_zero("rho", rho))
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
    rho, slack = zcdp_of_event(event)
    if cost.epsilon is None:
        return Spending(UNBOUNDED, cost.delta, rho, slack)
    return Spending(cost.epsilon, cost.delta, rho, slack)


LEAST, LARGEST = Fraction(1, 10**9), Fraction(10**6)
DIGITS = 10**3


def largest_epsilon(fits: Callable[[Fraction], bool]) -> Fraction:
    """The largest epsilon, to four digits, for which something fits that fits at all smaller ones.

    >>> largest_epsilon(lambda epsilon: 40 * epsilon <= 1), largest_epsilon(lambda epsilon: 3 * epsilon <= 1)
    (Fraction(1, 40), Fraction(3333, 10000))

    Raises:
        BudgetExceeded: not even at a billionth.
    """
    top = first_power(lambda epsilon: epsilon >= LARGEST or not fits(epsilon), Fraction(1), Fraction(10))
    top = first_power(lambda epsilon: epsilon <= LEAST or fits(epsilon), top, Fraction(1, 10))
    if not fits(top):
        cure = "ask fewer, or raise the allowance: budget.raise_to(epsilon=..., by=..., why=...)."
        raise BudgetExceeded(
            f"Expected a budget with room for so many, got one that has too little left.\nHint: {cure}"
        )
    last = least_whole(lambda n: n > 10 * DIGITS or not fits(n * top / DIGITS), DIGITS, 10 * DIGITS)
    return (last - 1) * top / DIGITS if not fits(last * top / DIGITS) else last * top / DIGITS
