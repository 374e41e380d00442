"""Parallel composition: the budgets of the parts of a table, which together charge one budget.

Claim
    Whatever is asked of the parts, in whatever order, from whatever threads, and whatever else is charged to the budget
    behind them: for each pair of neighbors the costs of all releases whose law differs between the two add up, in
    epsilon, delta, rho and slack each, to no more than what the budget behind recorded, before each of their answers.
Requires
    Of the parts: neighbors differ in at most `most` of them, always the same ones for the same two neighbors
    (`query.partition`). Nobody reserves on the budget behind for a part but this.
Relies on
    `ledger.ledger`: the recorded charges stay within the allowance. `ledger.privacy_filter`, whose proof looks at the
    sums of costs over the releases on one pair of neighbors, and needs of each sum that it is at most the one that is
    compared with the allowance.
Proof
    Let t_p be the sum of the costs of the releases of part p, and C(t) in each amount the sum of its `most` largest
    entries. Fix two neighbors; they differ in a set S of at most `most` parts, which does not depend on any answer. A
    release of a part outside of S has the same law on both, whatever was answered before. Those of parts in S cost
    sum over S of t_p <= C(t) together. `reserve` lets an answer be drawn only when R, the sum of what was recorded for
    the parts, is at least C(t) with that release in it: it records the whole cost c of the release, or what R lacks, or
    nothing where R lacks nothing. C(t + c) <= C(t) + c in each amount, so c is always enough. A refusal changes
    nothing; a failure after the record leaves R too small here, and later charges too large. One lock makes these steps
    one. R is never lowered, and a new process starts from t = R = 0 while its ledger keeps what was charged, so nothing
    is given back. Since S is fixed before the first question, this holds for questions that are chosen in the light of
    all answers, of parts in S and of others.
Rounding
    Totals up, by `ledger.privacy_filter.added`; differences are exact.
Source
    McSherry (2009), Theorem 4; McSherry and Talwar's ledger of parts in PINQ; Haney et al., "Concurrent composition for
    interactive differential privacy with adaptive privacy-loss parameters" (2023).
Mutant
    dearest-part-alone: the largest part is charged, however many a unit may be in; killed by
    test_what_is_recorded_covers_the_dearest_parts.
    free-while-frozen: what costs nothing more is drawn from a frozen budget; killed by
    test_a_frozen_budget_draws_nothing_of_any_part.
    rho-for-nothing: what costs no more epsilon is free, whatever it costs in rho and delta; killed by
    test_every_amount_is_recorded.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import NoReturn

from discreet.errors import BudgetExceeded, LedgerError, expected
from discreet.guesses.near_names import NearNames
from discreet.ledger.budget import Budget, Reservation
from discreet.ledger.ledger import Charge, Entry
from discreet.ledger.privacy_filter import NOTHING, Spending, added
from discreet.ledger.signal_deferral import uninterrupted
from discreet.privacy.definitions import UNBOUNDED, Guarantee


class Parts:
    """What was spent on each part of a table, and what was charged for all of them."""

    def __init__(self, behind: Budget | PartBudget, *, number: int, most: int) -> None:
        self.behind = behind
        self._most = most
        self._spent = [NOTHING] * number
        self._recorded = NOTHING
        self._answers: dict[str, bytes] = {}
        self._lock = threading.Lock()

    @uninterrupted
    def reserve(self, part: int, charge: Charge) -> Reservation:
        """Charges what the `most` dearest parts cost more with this release; nothing, where they cost the same."""
        self.behind.check_process()
        with self._lock:
            spent = list(self._spent)
            spent[part] = added(spent[part], charge.cost)
            lacking = _lacking(dearest(spent, self._most), self._recorded)
            if lacking == NOTHING:
                self._check_open()
                self._spent = spent
                return Reservation(number=0, store=lambda _, answer: self._keep(charge.key, answer))
            due = _due(charge, lacking)
            reservation = self.behind.reserve(due)
            self._recorded = added(self._recorded, due.cost)
            self._spent = spent
            return reservation._replace(store=lambda _, answer: self._keep_behind(charge.key, reservation, answer))

    def _check_open(self) -> None:
        """Refuses what costs nothing more as the budget behind refuses a charge, where it is frozen or closed."""
        if self.behind.standing != "open":
            cure = "repeat an earlier release (its stored answer is free), or ask the curator."
            raise BudgetExceeded(expected("a budget that is open", "budget", self.behind.standing, cure))

    def stored(self, key: str) -> bytes | None:
        """The last answer to a question that was asked before."""
        found = self._answers.get(key)
        return self.behind.stored(key) if found is None else found

    def _keep(self, key: str, answer: bytes) -> None:
        self._answers[key] = answer

    def _keep_behind(self, key: str, reservation: Reservation, answer: bytes) -> None:
        reservation.commit(answer)
        self._answers.pop(key, None)  # an earlier one, that cost nothing more


def dearest(spent: list[Spending], most: int) -> Spending:
    """In each amount the sum of the `most` largest."""
    totals = NOTHING
    for one in zip(*(sorted(amounts, reverse=True)[:most] for amounts in zip(*spent, strict=True)), strict=True):
        totals = added(totals, Spending(*one))
    return totals


def _lacking(needed: Spending, recorded: Spending) -> Spending:
    """What is not recorded yet, in each amount."""
    return Spending(*(max(need - has, Fraction(0)) for need, has in zip(needed, recorded, strict=True)))


def _due(charge: Charge, lacking: Spending) -> Charge:
    """The charge of what is lacking; the whole charge, where none says this more cheaply."""
    by_rho = charge.cost.epsilon >= UNBOUNDED
    if lacking == charge.cost or not (by_rho or lacking.epsilon) or lacking.slack > lacking.delta:
        return charge
    epsilon = UNBOUNDED if by_rho else lacking.epsilon
    less = replace(
        charge,
        what=f"{charge.what} (beyond what other parts cost)",
        guarantee=Guarantee(epsilon=epsilon, delta=lacking.delta, rho=lacking.rho),
        event=None,
    )
    return less if all(one <= whole for one, whole in zip(less.cost, charge.cost, strict=True)) else charge


class PartBudget(NearNames):
    """The budget of one part of a table: what the budget behind it has, charged for all parts together."""

    __slots__ = ("_part", "_parts")

    def _line_for(self, name: str) -> str:
        return f"write table.budget.{name}, of the whole table." if hasattr(Budget, name) else super()._line_for(name)

    def __init__(self, parts: Parts, part: int) -> None:
        self._parts = parts
        self._part = part

    def __repr__(self) -> str:
        return f"<budget of part {self._part + 1}, charged with the others to {self._parts.behind!r}>"

    @property
    def allowance(self) -> Guarantee:
        """All that may ever be spent, on this part, the others and everything else."""
        return self._parts.behind.allowance

    @property
    def spent(self) -> Guarantee:
        """The sums of all charges to the budget behind."""
        return self._parts.behind.spent

    @property
    def remaining(self) -> Guarantee:
        """What is left of each sum; what other parts have paid for costs nothing more."""
        return self._parts.behind.remaining

    @property
    def standing(self) -> str:
        """Whether anything may be drawn of a part: that of the budget behind."""
        return self._parts.behind.standing

    @property
    def remaining_queries(self) -> Callable[..., int]:
        """How many more releases of one kind fit, if other parts have paid for none of them."""
        return self._parts.behind.remaining_queries

    @property
    def identity(self) -> str:
        """That of the ledger behind."""
        return self._parts.behind.identity

    def reserve(self, charge: Charge) -> Reservation:
        """Spends what the parts together cost more, before anything is read; see `Budget.reserve`."""
        return self._parts.reserve(self._part, charge)

    def stored(self, key: str) -> bytes | None:
        """The answer under `key` that was charged last: a repeat costs nothing."""
        return self._parts.stored(key)

    def entries(self, after: int = 0, most: int | None = None) -> tuple[Entry, ...]:
        """Every charge to the budget behind, oldest first; those behind number `after`, and so many at most."""
        return self._parts.behind.entries(after, most)

    def check_process(self) -> None:
        """Refuses the use in a process that inherited the budget."""
        self._parts.behind.check_process()

    def _refuse_copy(self, *_: object) -> NoReturn:
        raise LedgerError(expected("the one budget", "budget", "a copy", "pass the parts themselves."))

    __copy__ = __deepcopy__ = __reduce__ = __reduce_ex__ = _refuse_copy
