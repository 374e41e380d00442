"""What all releases together may cost, and the rule that decides whether one more fits.

Claim
    An analyst who chooses every release in the light of all earlier answers, and is refused when `Allowance.allows`
    says so, sees outputs that are together (epsilon, delta)-DP, or, where epsilon is 0, delta-approximately rho-zCDP;
    and sqrt(2 rho)-GDP, if all of them have Gaussian noise.
Requires
    Of an allowance with epsilon and rho above 0: that every rho-zCDP view is (epsilon, delta - 2 own)-DP; `union` sees
    to it. Of each cost: its release is (epsilon, delta)-DP, or its epsilon is above that of every allowance; and it is
    slack-approximately rho-zCDP. The first charge is chosen before any answer.
Relies on
    Exact fractions; `sum_up` never returns less than it is given; `conversions.zcdp_rho` rounds down.
Proof
    Fix two neighbors and the analyst's strategy: whether a charge is let in follows from the answers before it, P and Q
    are the laws of the views. If the first charge meets neither sum it was let in as plain sums; sums grow, so no later
    total meets either of the two, and every view has sum epsilon <= epsilon and sum delta <= delta: basic composition.
    Otherwise each view ends in A (sum epsilon <= epsilon, sum delta <= own) or in B (sum rho <= rho, sum slack <= own).
    Cut the analyst off where A would be left: the views in A stay as they are, and all views are (epsilon, own)-DP, so
    P(S and A) <= e^epsilon Q(S and A) + own. Cut off where B would be left: write each release on both neighbors as
    (1 - slack) N + slack E, with N of the stated rho. An E is met with probability at most own; without one, and up to
    weights (1 - slack) <= 1 that both laws share, the views are adaptive zCDP of sum at most rho: P(S and B) <=
    e^epsilon Q(S and B) + (delta - 2 own) + own. Together that is delta. Own cannot be given out twice: after an
    answer that makes a large loss likely one would go on in B, after others spend own in A, and both would count.
    Nor does it help to close B at the first charge that has a delta, for the same reason. *Gaussian noise* of mu costs
    rho = mu^2/2, so that the sum of mu^2 is at most 2 rho on every path; squares of mu add up, also where they are
    chosen in the light of answers, by coupling with Brownian motion.
Rounding
    Totals up, allowances down.
Source
    Rogers, Roth, Ullman and Vadhan (2016): filters. Whitehouse, Ramdas, Rogers and Wu, Fully-adaptive composition
    (2023), Theorem 1: approximate zCDP. Bun and Steinke (2016), section 8, and Kairouz, Oh and Viswanath (2015): an
    (epsilon, delta)-DP release is delta-approximately (epsilon^2/2)-zCDP. Smith and Thakurta (2022), and Koskela,
    Tobaben and Honkela (2023): sums of mu^2.
Mutant
    own-given-twice: the conversion uses the delta that charges of their own may use; killed by
    test_the_parts_of_delta_add_up.
    any-charge-settles: every charge may count as the first; killed by test_only_the_first_charge_settles.
    one-half-suffices: it is enough that epsilon or delta fits; killed by test_epsilon_and_delta_must_both_fit.
    either-needs-both: the sum of epsilon must fit as well as that of rho; killed by
    test_many_small_charges_go_on_by_rho.
    more-than-fit: the first charge that does not fit is counted; killed by test_rho_alone.
    totals-are-floats: subnormal charges fit for ever; killed by test_ten_tenths_fit_and_nothing_more.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from decimal import ROUND_FLOOR
from fractions import Fraction
from typing import NamedTuple

from discreet.accounting.conversions import zcdp_rho
from discreet.errors import InvalidParameter, expected
from discreet.exact.amounts import decimal_text, delta_or_zero, fraction, positive, short_up, sum_up
from discreet.exact.bisection import least_whole
from discreet.privacy.definitions import UNBOUNDED, Guarantee

ZERO = Fraction(0)
MOST = 1 << 200
"""So many charges nobody makes."""


class Spending(NamedTuple):
    """What one release costs, or all of them: (epsilon, delta)-DP, and slack-approximately rho-zCDP.

    >>> Spending.of(Fraction(1, 10)).guarantee
    Guarantee(epsilon=0.1)
    """

    epsilon: Fraction = ZERO
    delta: Fraction = ZERO
    rho: Fraction = ZERO
    slack: Fraction = ZERO
    """The delta beside rho."""

    @classmethod
    def of(cls, epsilon: Fraction, delta: Fraction = ZERO) -> Spending:
        """The cost of any (epsilon, delta)-DP release."""
        return cls(epsilon, delta, short_up(epsilon**2 / 2), delta)

    @property
    def guarantee(self) -> Guarantee:
        """The sums of epsilon and delta."""
        return Guarantee(epsilon=self.epsilon, delta=self.delta)


NOTHING = Spending()


def added(spent: Spending, cost: Spending) -> Spending:
    """The least total that is recorded for both together: their sums, each shortened upward."""
    deltas = sum_up(spent.delta, cost.delta) if cost.delta else spent.delta
    same = cost.slack is cost.delta and spent.slack is spent.delta  # the usual case
    slacks = deltas if same else sum_up(spent.slack, cost.slack)
    return Spending(sum_up(spent.epsilon, cost.epsilon), deltas, sum_up(spent.rho, cost.rho), slacks)


@dataclass(frozen=True, kw_only=True, slots=True)
class Allowance:
    """All that may ever be spent.

    >>> Allowance.union(1, 1e-6).rho < Allowance.union(1, 1e-6, own=0).rho
    True
    """

    epsilon: Fraction = ZERO
    """0 for an allowance in rho alone."""
    delta: Fraction = ZERO
    rho: Fraction = ZERO
    """What the sum of rho may reach where the sum of epsilon is above its own; 0 where it may not."""
    own: Fraction | None = None
    """The part of delta for charges that have a delta, under either sum; None for all of it."""

    @classmethod
    def union(cls, epsilon: object, delta: object = 0, own: object = None) -> Allowance:
        """(epsilon, delta): go on while the sum of epsilon, or that of rho, is within it.

        `own` is the part of delta for charges with a delta; what is left of delta, after it was counted for either
        sum, pays for rho. All of delta as `own` leaves plain sums; by default it is a third.
        """
        exact, small = positive("epsilon", epsilon), delta_or_zero(delta)
        part = small / 3 if own is None else fraction("own_delta", own)
        if part != small and not 0 <= 2 * part < small:
            cure = "give less than half of delta; or all of it, and nothing is left to convert rho with."
            raise InvalidParameter(expected("a part of delta below its half, or all of it", "own_delta", own, cure))
        rho = ZERO if part == small else Fraction(zcdp_rho(exact, small - 2 * part))
        return cls(epsilon=exact, delta=small, rho=rho, own=part)

    @classmethod
    def concentrated(cls, rho: object, delta: object = 0) -> Allowance:
        """rho-zCDP; with delta, up to an event of that probability."""
        return cls(rho=positive("rho", rho), delta=delta_or_zero(delta))

    @property
    def part(self) -> Fraction:
        """`own`, or all of delta."""
        return self.delta if self.own is None else self.own

    def allows(self, spent: Spending, total: Spending) -> bool:
        """Whether `total` may follow `spent`."""
        if self._within(total):
            return True
        settles = not spent.epsilon or self.is_settled(spent)
        return settles and total.epsilon <= self.epsilon and total.delta <= self.delta

    def lacks(self, cost: Spending) -> str | None:
        """The amount that a cost has and that this allows nothing of: to ask for less of it would not help."""
        if self.rho:
            return None
        if cost.epsilon >= UNBOUNDED:
            return "rho"
        return "delta" if cost.delta and not self.delta else None

    def _within(self, total: Spending) -> bool:
        return (total.epsilon <= self.epsilon and total.delta <= self.part) or (
            total.rho <= self.rho and total.slack <= self.part
        )

    def remaining(self, spent: Spending) -> Guarantee:
        """What is left of each sum; 0 where a sum can no longer be used."""
        if self.is_settled(spent):
            return self._guarantee(self.epsilon - spent.epsilon, self.delta - spent.delta, ZERO)
        epsilon, rho = max(self.epsilon - spent.epsilon, ZERO), max(self.rho - spent.rho, ZERO)
        delta, slack = self.part - spent.delta, self.part - spent.slack
        if delta < 0 or spent.epsilon > self.epsilon:
            return self._guarantee(ZERO, slack, rho)
        return self._guarantee(epsilon, delta, ZERO if slack < 0 else rho)

    def spent(self, total: Spending) -> Guarantee:
        """The sums that this allowance bounds."""
        if not self.epsilon:
            return self._guarantee(ZERO, total.slack, total.rho)
        return self._guarantee(total.epsilon, total.delta, total.rho)

    def _guarantee(self, epsilon: Fraction, delta: Fraction, rho: Fraction) -> Guarantee:
        return Guarantee(epsilon=epsilon, delta=delta, rho=rho if self.rho else None)

    def amount_text(self, amounts: Guarantee, rounding: str, *, with_delta: bool = False) -> str:
        """`amounts` for people, rounded in a stated direction where they have no short decimal."""
        named = {"delta": amounts.delta} if self.delta or with_delta else {}
        if self.epsilon:
            named = {"epsilon": amounts.epsilon, **named}
        if self.rho:
            named = {**named, "rho": amounts.rho or ZERO} if self.epsilon else {"rho": amounts.rho or ZERO, **named}
        texts = {n: "inf" if v >= UNBOUNDED else decimal_text(v, rounding=rounding) for n, v in named.items()}
        return ", ".join(f"{name}={text}" for name, text in texts.items())

    def more(self, spent: Spending, cost: Spending) -> int:
        """How many further charges of this cost fit."""

        def fit(number: int) -> bool:
            total = Spending(*(before + number * one for before, one in zip(spent, cost, strict=True)))
            return self.allows(first if number > 1 else spent, total)

        first = added(spent, cost)
        return least_whole(lambda number: number >= MOST or not fit(number), 0, 1) - 1

    def raised(
        self, *, epsilon: object = None, delta: object = None, own: object = None, rho: object = None
    ) -> Allowance:
        """This allowance with other amounts for those that are given.

        The part of delta for charges that have one stays all of it, or a third, where it was; otherwise it stays.

        >>> Allowance.union(1, 3e-6).raised(delta=6e-6) == Allowance.union(1, 6e-6)
        True
        """
        small = self.delta if delta is None else delta
        if not self.epsilon:
            if epsilon is not None or own is not None:
                cure = "raise rho, or the delta beside it: this allowance is one in rho."
                raise InvalidParameter(expected("amounts of this allowance", "raised", "epsilon or own_delta", cure))
            return Allowance.concentrated(self.rho if rho is None else rho, small)
        if rho is not None:
            cure = "raise epsilon, delta or own_delta: the rho of this allowance follows from them."
            raise InvalidParameter(expected("amounts of this allowance", "raised", "rho", cure))
        if own is None and self.part == self.delta:
            own = small
        elif own is None and 3 * self.part != self.delta:
            own = self.part
        return Allowance.union(self.epsilon if epsilon is None else epsilon, small, own)

    def covers(self, other: Allowance) -> bool:
        """Whether no amount of it is below that of the other one, which is of the same kind."""
        mine, theirs = ((one.epsilon, one.delta, one.rho, one.part) for one in (self, other))
        return bool(self.epsilon) == bool(other.epsilon) and all(a >= b for a, b in zip(mine, theirs, strict=True))

    def says_what(self, other: Allowance) -> bool:
        """Whether both say the same; a rho that follows from the rest may differ in its last digits from one machine to
        another.
        """
        one, given = replace(self, own=self.part), replace(other, own=other.part)
        if not (one.epsilon and one.rho):
            return one == given
        is_near = abs(one.rho - given.rho) <= one.rho / 10**9
        return is_near and replace(one, rho=given.rho) == given

    def is_settled(self, spent: Spending) -> bool:
        """Whether the first charge met neither sum, so that plain sums alone decide."""
        return bool(spent.epsilon) and not self._within(spent)

    @property
    def guarantee(self) -> Guarantee:
        """What is promised, and the sum of rho up to which the promise holds as well."""
        return self._guarantee(self.epsilon, self.delta, self.rho)

    def __str__(self) -> str:
        return self.amount_text(self.guarantee, ROUND_FLOOR)
