"""Allowances for releases whose parameters may depend on earlier answers: the theory, on its own.

No release runs them: the rule that lets a charge in is that of `allowance`.

Claim
    An analyst who chooses every release in the light of all earlier answers, and stops or is refused when the filter
    says so, sees outputs that are together epsilon-DP (`EpsilonFilter`; (epsilon, delta)-DP with deltas), rho-zCDP
    (`RhoFilter`), mu-GDP (`MuFilter`), and (epsilon, delta)-DP (`EitherFilter`). `spent` is an odometer in the filter's
    own unit.
Requires
    Each charge states what its release costs, whatever came before, and is made before the release.
Relies on
    Exact fractions; `sum_up` never returns less than it is given; `conversions.zcdp_rho` rounds down.
Proof
    *Epsilon*: the loss of every path is at most the sum of its charges. *Rho*: exp((alpha-1)L - alpha(alpha-1) sum
    rho) is a supermartingale whatever the choices, and the sum is at most rho on every path. *Mu*: sums of squares,
    by coupling with Brownian motion. *Either*: the acceptance of a charge follows from earlier answers. A path that
    ended with sum epsilon_i <= epsilon adds nothing to E[(1 - e^(epsilon-L))+]. On all others sum rho_i <= rho*, so
    there the expectation of e^((alpha-1)L) is at most e^(alpha(alpha-1) rho*), from which the conversion of zCDP
    bounds the whole expectation by delta, since 1 - e^(epsilon-l) <= c e^((alpha-1)(l-epsilon)) for all l. A sum of
    squares of mu is not mixed in, and no other profile may be composed along a path: for those the parameters must be
    fixed in advance.
Rounding
    Totals up, allowances down.
Source
    Rogers, Roth, Ullman and Vadhan (2016): filters. Feldman and Zrnic (2021), Theorem 4.3: rho. Whitehouse et al.
    (2023). Smith and Thakurta (2022), Koskela, Tobaben and Honkela (2023): mu. Vadhan and Zhang (2023): concurrent
    interaction.
Mutant
    refused-but-charged: a refused charge is added all the same; killed by test_a_refusal_charges_nothing.
    either-needs-both: the union filter asks for both sums; killed by test_either_sum_is_enough.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from fractions import Fraction

from discreet.accounting.conversions import Amount, zcdp_rho
from discreet.accounting.event_costs import ZERO, EventCost, added, repeated
from discreet.errors import BudgetExceeded, InvalidParameter, expected
from discreet.exact.amounts import decimal_text, positive, proper_delta


class Filter(ABC):
    """A running total that never passes its allowance; each charge takes constant time."""

    __slots__ = ("_spent",)

    def __init__(self) -> None:
        self._spent = ZERO

    @property
    def spent(self) -> EventCost:
        """The sums so far; None for a unit in which some release had no price."""
        return self._spent

    def fits(self, cost: EventCost) -> bool:
        """Whether `cost` could be charged now."""
        self.priced(cost)
        return self.allows(added(self._spent, cost))

    def charge(self, cost: EventCost) -> None:
        """Spends `cost`, or raises BudgetExceeded and spends nothing."""
        self.priced(cost)
        total = added(self._spent, cost)
        if not self.allows(total):
            cure = "ask for less, or stop here; a refused request costs nothing."
            raise BudgetExceeded(expected(f"a charge within {self.words()}", "total", in_words(total), cure))
        self._spent = total

    def remaining_queries(self, cost: EventCost) -> int:
        """How many more releases of this cost fit."""
        self.priced(cost)
        low, high = 0, 1
        while self.allows(added(self._spent, repeated(cost, high))) and high < 1 << 200:
            low, high = high, 2 * high
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if self.allows(added(self._spent, repeated(cost, middle))) else (low, middle)
        return low

    @abstractmethod
    def allows(self, total: EventCost) -> bool:
        """Whether this total is within the allowance."""

    @abstractmethod
    def priced(self, cost: EventCost) -> None:
        """Refuses a cost that has no price in this filter's unit."""

    @abstractmethod
    def words(self) -> str:
        """The allowance, for people."""


class EpsilonFilter(Filter):
    """Sum of epsilon, and sum of delta.

    >>> filter = EpsilonFilter(1)
    >>> filter.charge(EventCost.pure(0.01)), filter.charge(EventCost.pure(0.10)), filter.fits(EventCost.pure(1))
    (None, None, False)
    """

    __slots__ = ("delta", "epsilon")

    def __init__(self, epsilon: Amount, delta: Amount = 0) -> None:
        super().__init__()
        exact = EventCost.pure(epsilon, delta)
        self.epsilon, self.delta = exact.epsilon or Fraction(0), exact.delta

    def allows(self, total: EventCost) -> bool:
        """Whether this total is within the allowance."""
        return total.epsilon is not None and total.epsilon <= self.epsilon and total.delta <= self.delta

    def priced(self, cost: EventCost) -> None:
        """Refuses a cost without a price in this unit."""
        if cost.epsilon is None:
            cure = "use a filter in rho, or state the release as (epsilon, delta) with a delta of its own."
            raise InvalidParameter(expected("a cost in epsilon", "cost", cost, cure))

    def words(self) -> str:
        """The allowance, for people."""
        return f"epsilon={decimal_text(self.epsilon)}, delta={decimal_text(self.delta)}"


class RhoFilter(Filter):
    """Sum of rho."""

    __slots__ = ("rho",)

    def __init__(self, rho: Amount) -> None:
        super().__init__()
        self.rho = positive("rho", rho)

    def allows(self, total: EventCost) -> bool:
        """Whether this total is within the allowance."""
        return total.rho is not None and total.rho <= self.rho and not total.delta

    def priced(self, cost: EventCost) -> None:
        """Refuses a cost without a price in this unit."""
        if cost.rho is None or cost.delta:
            cure = "releases with a delta have no rho: use EpsilonFilter, or a mechanism that is zCDP."
            raise InvalidParameter(expected("a cost in rho, without delta", "cost", cost, cure))

    def words(self) -> str:
        """The allowance, for people."""
        return f"rho={decimal_text(self.rho)}"


class MuFilter(Filter):
    """Sum of mu^2, for Gaussian noise alone: exact, so nothing is lost to adaptivity."""

    __slots__ = ("mu",)

    def __init__(self, mu: Amount) -> None:
        super().__init__()
        self.mu = positive("mu", mu)

    def allows(self, total: EventCost) -> bool:
        """Whether this total is within the allowance."""
        return total.mu2 is not None and total.mu2 <= self.mu**2

    def priced(self, cost: EventCost) -> None:
        """Refuses a cost without a price in this unit."""
        if cost.mu2 is None:
            cure = "only Gaussian noise has a mu; use RhoFilter or EitherFilter for a mixture."
            raise InvalidParameter(expected("a cost in mu", "cost", cost, cure))

    def words(self) -> str:
        """The allowance, for people."""
        return f"mu={decimal_text(self.mu)}"


class EitherFilter(Filter):
    """(epsilon, delta): goes on while the sum of epsilon, or the sum of rho, is within what that guarantee allows."""

    __slots__ = ("delta", "epsilon", "rho")

    def __init__(self, epsilon: Amount, delta: Amount) -> None:
        super().__init__()
        self.epsilon, self.delta = positive("epsilon", epsilon), proper_delta(delta)
        self.rho = Fraction(zcdp_rho(self.epsilon, self.delta))

    def allows(self, total: EventCost) -> bool:
        """Whether this total is within the allowance."""
        by_epsilon = total.epsilon is not None and total.epsilon <= self.epsilon
        by_rho = total.rho is not None and total.rho <= self.rho
        return by_epsilon or by_rho

    def priced(self, cost: EventCost) -> None:
        """Refuses a cost without a price in this unit."""
        if cost.delta:
            cure = "the whole delta of this allowance is used by the conversion: charge it to an EpsilonFilter."
            raise InvalidParameter(expected("a cost without a delta of its own", "cost", cost, cure))
        if cost.epsilon is None and cost.rho is None:
            raise InvalidParameter(expected("a cost in epsilon or rho", "cost", cost, "state what it costs."))

    def words(self) -> str:
        """The allowance, for people."""
        small = f"epsilon={decimal_text(self.epsilon)}, delta={decimal_text(self.delta)}"
        return f"{small} (sum of epsilon, or of rho up to {decimal_text(self.rho)})"


def in_words(cost: EventCost) -> str:
    """The amounts of a cost that are there."""
    amounts = {"epsilon": cost.epsilon, "rho": cost.rho, "mu^2": cost.mu2, "delta": cost.delta or None}
    return ", ".join(f"{name}={decimal_text(value)}" for name, value in amounts.items() if value is not None)
