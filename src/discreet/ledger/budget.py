"""The allowance that a curator gives, and what is left of it."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from fractions import Fraction
from typing import ClassVar, NamedTuple, Never, NoReturn

from discreet.errors import InvalidParameter, LedgerError, NoTruth, expected, shown
from discreet.exact.amounts import at_least_one
from discreet.guesses.answer_words import BUDGET
from discreet.guesses.misfit_calls import with_usage_hint
from discreet.guesses.near_names import NearNames
from discreet.ledger.budget_levels import LevelVerbs, opened_level
from discreet.ledger.declared_sources import DeclaredSource
from discreet.ledger.ledger import Charge, Entry
from discreet.ledger.ledger_kinds import ledger_at
from discreet.ledger.ledger_location import place_text
from discreet.ledger.level_names import is_below
from discreet.ledger.lookup_arguments import KEY, checked_text, stretch
from discreet.ledger.privacy_filter import Allowance
from discreet.ledger.release_cost import HasEvent, HasPlan, cost_of, largest_epsilon
from discreet.privacy.definitions import Guarantee
from discreet.privacy.events import Event

Amount = float | Decimal | Fraction


def allowance_of(
    *, epsilon: object = None, delta: object = 0, own_delta: object = None, rho: object = None
) -> Allowance:
    """The allowance that a curator states: by epsilon, or by rho."""
    if rho is None and epsilon is None:
        cure = (
            "say what may ever be spent, dp.Budget(epsilon=1); of a ledger that is there, `discreet ledger show` tells."
        )
        raise InvalidParameter(expected("an allowance, epsilon or rho", "epsilon", None, cure))
    if rho is None:
        return Allowance.union(epsilon, delta, own_delta)
    if epsilon is not None or own_delta is not None:
        stated = "rho beside epsilon" if epsilon is not None else "rho beside own_delta"
        cure = "state epsilon (and delta), or rho (and a delta for charges that have one)."
        raise InvalidParameter(expected("one kind of allowance", "allowance", stated, cure))
    return Allowance.concentrated(rho, delta)


class Budget(LevelVerbs, NearNames, NoTruth):
    """An allowance that all answers together never pass; with ``ledger=``, not even in several processes.

    Amounts are exact: a float means the decimal that it prints. ``ledger`` names a SQLite file, which is made when
    nothing is there; without it the record ends with the process. One budget may serve several tables. It can be shared
    by threads; it cannot be copied or pickled, nor used in a fork, since what a copy spends the original would not know
    of.

    ``Budget(parent=budget, epsilon=0.3, name="alice")`` is a level inside of another budget, kept in the same ledger: a
    charge to it is one to all levels around it as well, or to none of them. Where it is there already, with this
    allowance, it is opened again. The outermost budget bounds all that was ever answered, by whomever; levels inside
    are policy: two analysts who share what they were told have what both were told.

    Args:
        epsilon: the sum of all charges is at most this; with a delta, charges also go on while their sum of rho is
            within what (epsilon, delta) allows: more than four times as many small ones.
        delta: the probability with which more than epsilon may be lost.
        own_delta: the part of delta for charges that have a delta, under either sum. By default a third; all of delta
            leaves plain sums of epsilon and delta, and 0 refuses such charges, except Gaussian noise by its rho.
        rho: an allowance in zero-concentrated differential privacy, instead of epsilon; a delta beside it is for
            charges that have one.
        ledger: where the record is kept.
        parent: the budget around this one.
        name: the name of this level in its parent.
        by: who opens the level, for the record.
        why: for what.

    >>> Budget(epsilon=1.0)
    Budget(allowance: epsilon=1; spent: epsilon=0; remaining: epsilon=1)
    >>> Budget(epsilon=1.0).remaining_queries(epsilon=0.01)
    100
    >>> Budget(epsilon=1.0, delta=1e-6).remaining_queries(epsilon=0.01)
    443
    >>> Budget(rho=0.5)
    Budget(allowance: rho=0.5; spent: rho=0; remaining: rho=0.5)
    >>> whole = Budget(epsilon=1.0)
    >>> Budget(parent=whole, epsilon=0.3, name="alice")
    Budget(level: alice; allowance: epsilon=0.3; spent: epsilon=0; remaining: epsilon=0.3)
    """

    _ask: ClassVar[str] = "ask what is left: while budget.remaining.epsilon >= 0.1, or budget.remaining_queries(...)."

    _instead: ClassVar[Mapping[str, str]] = BUDGET

    __slots__ = ("__weakref__",)

    charged: ClassVar[set[str]] = set()
    """The ledgers, by identity, that something was charged to in this process."""

    @with_usage_hint("dp.Budget(epsilon=1)")
    def __init__(
        self,
        *unnamed: Never,
        epsilon: Amount | None = None,
        delta: Amount = 0,
        own_delta: Amount | None = None,
        rho: Amount | None = None,
        ledger: str | os.PathLike[str] | None = None,
        parent: Budget | None = None,
        name: str | None = None,
        by: str = "",
        why: str = "",
    ) -> None:
        amount: object  # never one for a type checker, which refuses it first
        for amount in unnamed:
            cure = f"say what it is an amount of, as dp.Budget(epsilon={shown(amount)})."
            raise InvalidParameter(expected("amounts with names", "amount", amount, cure))
        allowance = allowance_of(epsilon=epsilon, delta=delta, own_delta=own_delta, rho=rho)
        if parent is None and (name, by, why) != (None, "", ""):
            cure = "name a level inside of another budget, parent=budget; the whole budget is known by its ledger."
            raise InvalidParameter(expected("a parent beside a name", "parent", None, cure))
        if parent is not None:
            if ledger is not None:
                cure = "leave it out: a level is kept in the ledger of its parent."
                raise InvalidParameter(expected("no ledger beside a parent", "ledger", place_text(ledger), cure))
            self._place(*opened_level(parent, name, allowance, by, why))
            return
        self._place(ledger_at(ledger, allowance), "", "", "")

    @property
    def allowance(self) -> Guarantee:
        """All that may ever be spent: epsilon and delta, and the sum of rho that may be reached instead of epsilon."""
        return self._level().allowance.guarantee

    @property
    def spent(self) -> Guarantee:
        """The sums of all charges, answered or not: of epsilon and delta, and of rho where the allowance has one.

        Sums, and nothing converted from them: an epsilon that is computed from rho along the way bounds nothing.
        """
        level = self._level()
        return level.allowance.spent(level.spent)

    @property
    def remaining(self) -> Guarantee:
        """What is left of each sum; a charge has to fit into the one or the other.

        Of a level inside of others, the least that it and they have left; nothing, where one of them is not open.
        """
        return self._own().balances().remaining(self.path)

    def remaining_queries(
        self,
        what: HasPlan | Event | HasEvent | None = None,
        *,
        epsilon: object = None,
        delta: object = 0,
        rho: object = None,
    ) -> int:
        """How many more releases of one kind fit, if nothing else is asked: only so many questions can be answered.

        `what` is a question, with the `epsilon` (and `delta`) or the `rho` of its release; a mechanism, or its event;
        or nothing, for any release that costs `epsilon` and `delta`, or `rho`. A mechanism with noise that no epsilon
        alone describes (Gaussian) counts by its rho; with `epsilon` and `delta`, by them as well.

        >>> from discreet.testing import people
        >>> table = people()
        >>> table.budget.remaining_queries(table.count(), epsilon=0.5)
        20
        >>> Budget(rho=0.5).remaining_queries(table.count(), rho=0.005)
        100
        """
        return self._own().balances().more(self.path, cost_of(what, epsilon, delta, rho))

    @with_usage_hint(".epsilon_for(40)")
    def epsilon_for(self, queries: int, what: HasPlan | None = None, *, delta: object = 0) -> Fraction:
        """The largest epsilon, to four digits, at which so many more releases fit: the inverse of `remaining_queries`.

        `what` is a question, whose noise may cost less than its epsilon says; without it, for any release.

        >>> budget = Budget(epsilon=1.0)
        >>> budget.epsilon_for(40), budget.remaining_queries(epsilon=budget.epsilon_for(40))
        (Fraction(1, 40), 40)
        """
        number, balances = at_least_one("queries", queries, "write .epsilon_for(40)."), self._own().balances()
        return largest_epsilon(lambda epsilon: balances.more(self.path, cost_of(what, epsilon, delta)) >= number)

    def reserve(self, charge: Charge) -> Reservation:
        """Spends `charge` before anything is read; raises BudgetExceeded, and spends nothing, where it does not fit."""
        ledger = self._own()
        number = ledger.reserve(charge.at(self.path, self._asked_by))
        self.charged.add(ledger.identity)
        return Reservation(number, self._commit)

    def check(self, source: DeclaredSource) -> None:
        """Refuses a table that contradicts what was charged under its name: about another unit, or other neighbors."""
        self._own().sources().check(source)

    @property
    def identity(self) -> str:
        """What tells its ledger, and the stored answers that are found here, from all others in this process."""
        return f"{self._ledger.identity}\n{self._scope}" if self._scope else self._ledger.identity

    @property
    def ledger_identity(self) -> str:
        """What tells its ledger alone, whichever stored answers are found here."""
        return self._ledger.identity

    def finds(self, level: str) -> bool:
        """Whether a stored answer that was charged to a level of the ledger, by its path, is found here."""
        return is_below(level, self._scope)

    def stored(self, key: str) -> bytes | None:
        """The answer under `key` that was charged last: a repeat costs nothing, whoever paid for it, unless `for_asker`
        says otherwise.
        """
        return self._own().stored(key, self._scope)

    def paid_by(self, key: str, without: Collection[int] = ()) -> int | None:
        """The number of the charge that paid for what `stored` finds under `key`, or would find without some charges;
        without a look at answers.
        """
        return self._own().paid_by(key, self._scope, without)

    def answer_to(self, number: int, key: str) -> bytes | None:
        """What charge `number` of the ledger paid for, if that is under `key`."""
        return self._own().answer_to(number, key)

    def payment(self, key: str) -> Entry | None:
        """The charge that paid for what `stored` finds under `key`, without a look at the others."""
        number = self.paid_by(checked_text("key", key, KEY))
        return None if number is None else self._own().entries(number - 1, 1)[0]

    def opened(self, charge: Charge, answer: bytes) -> bytes:
        """The answer under the key of `charge`; where there is none, this one, recorded together with the charge: both
        or neither.
        """
        ledger = self._own()
        found = ledger.opened(charge.at(self.path, self._asked_by), answer, self._scope)
        self.charged.add(ledger.identity)
        return found

    def published(self, key: str, place: int, answer: bytes) -> bytes:
        """The point at a place, from 1 on, behind the answer under `key`, for no further charge: the one that is there,
        or this one.
        """
        return self._own().published(key, place, answer, self._scope)

    def points(self, key: str) -> tuple[bytes, ...]:
        """All points behind the answer under `key`, in their order."""
        return self._own().points(checked_text("key", key, KEY), self._scope)

    def entries(self, after: int = 0, most: int | None = None) -> tuple[Entry, ...]:
        """Every charge to the ledger, oldest first; of a long one, those behind number `after`, and so many at most."""
        return self._own().entries(*stretch(after, most))

    def check_process(self) -> None:
        """Refuses the use in a process that inherited this budget."""
        self._own()

    def _commit(self, number: int, answer: bytes) -> None:
        self._own().commit(number, answer)

    def _refuse_copy(self, *_: object) -> NoReturn:
        cure = "pass the budget itself, or open Budget(..., ledger=) on the same file in the other process."
        raise LedgerError(expected("the one budget", "budget", "a copy", cure))

    __copy__ = __deepcopy__ = __reduce__ = __reduce_ex__ = _refuse_copy

    def __repr__(self) -> str:
        named = f"level: {self.path}; " if self.path else ""
        try:
            balances = self._own().balances()
        except LedgerError:
            return f"Budget({named}its ledger cannot be used here)"
        level, standing = balances.at(self.path), balances.standing(self.path)
        spent = level.allowance.amount_text(level.allowance.spent(level.spent), ROUND_CEILING)
        remaining = level.allowance.amount_text(balances.remaining(self.path), ROUND_FLOOR)
        state = "" if standing == "open" else f"; {standing}"
        return f"Budget({named}allowance: {level.allowance}; spent: {spent}; remaining: {remaining}{state})"


class Reservation(NamedTuple):
    """A charge that is spent already, and the right to store the one answer that it pays for."""

    number: int
    """The number of its entry in the ledger."""
    store: Callable[[int, bytes], None]

    def commit(self, answer: bytes) -> None:
        """Stores `answer` under the key of the charge, once. Do this before anybody sees it."""
        if not isinstance(answer, bytes):
            raise InvalidParameter(expected("bytes", "answer", type(answer).__name__, "serialize the answer first."))
        self.store(self.number, answer)
