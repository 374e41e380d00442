"""The record of what was spent, and the one rule that lets a charge in.

Claim
    However threads and processes interleave, and wherever a crash or an exception falls, the charges of all answers
    that were ever committed to a ledger add up, at each level of its budget, to a total that its allowance allows.
Requires
    Of a storage (`MemoryLedger`, `FileLedger`): (a) a charge or a change of a level is written right after the entry
    whose balances were given to `Ledger.admitted` or `Ledger.changed`, with the balances that this returned, or is not
    written; (b) an append, with the totals beside it, is whole or has not happened, lasts once `reserve` has returned,
    and is never changed or removed while any answer is given; (c) an answer is taken only for a charge that lasts, and
    once for each; its points, further answers that the same charge paid for, once for each place behind it.
Relies on
    `ledger.nested_levels`: what `charged` and `changed` let in at each level. `ledger.privacy_filter`: which totals are
    allowed, and ``added(T, c) >= T + c`` in each amount; every charge is above zero in epsilon and not below it in
    delta (`Charge` refuses all others).
Proof
    By induction over the charges, the totals T written with each are at least the sums of the charges up to it, at
    each level and all below, and allowed after those before it. Before the first one the totals are zero. `admitted`
    adds c to the T before it; by (a) no entry lies between the two, so ``added(T, c)`` is at least the new sum, and it
    is returned only if it is allowed after T. By (b) the charge lasts when `reserve` returns, and so before an engine
    looks at a row; whatever fails after that leaves a charge without an answer, never an answer without a charge. By
    (c) each answer has a charge of its own. The sums over the answers are therefore at most those over the charges, at
    most T.
Rounding
    Upward, and only where the exact total would have a denominator of more than 1,000 digits.
Source
    A rule fixed in advance stops adaptively chosen charges: Rogers, Roth, Ullman and Vadhan, Privacy Odometers and
    Filters (2016).
Mutant
    nothing-is-added: what follows a charge is what came before it; killed by test_ten_tenths_fit_and_nothing_more.
    rho-bounds-epsilon: at a rho, whatever is drawn is booked at the epsilon of noise; killed by
    test_a_charge_at_a_rho_has_all_the_epsilon_of_its_event.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Collection
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import NamedTuple, NoReturn

from discreet.accounting.event_costs import cost_of, zcdp_of_event
from discreet.errors import InvalidParameter, LedgerError, expected
from discreet.exact.amounts import (
    above_zero,
    delta_or_zero,
    fraction,
    positive,
    root_below,
    short_up,
)
from discreet.ledger.declared_sources import DeclaredSource, DeclaredSources
from discreet.ledger.level_changes import LevelChange, check_told
from discreet.ledger.level_names import check_apart
from discreet.ledger.nested_levels import Balances
from discreet.ledger.privacy_filter import Spending
from discreet.ledger.published_head import PublishedHead
from discreet.privacy.definitions import UNBOUNDED, Guarantee
from discreet.privacy.events import ApproximateEvent, ConcentratedEvent, Event, PureEvent

_KEY = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, kw_only=True, slots=True)
class Charge:
    """What one release costs and what it is for; all of it is public."""

    source: str
    """Declared name and version of the table."""
    declared: tuple[DeclaredSource, ...] = ()
    """What was stated of each table that it is about."""
    what: str
    """The question in one line."""
    key: str
    """SHA-256, in lower-case hexadecimal, of the canonical release: equal keys mean the same question at the same
    price."""
    guarantee: Guarantee
    """epsilon and delta; and rho, of which so much is due with this charge, whatever the event costs."""
    event: Event | None = None
    """What was drawn: it says what the release costs in rho. None stands for any release of this guarantee."""
    in_parts: bool = False
    """Whether the epsilon of the event is due in parts, of which this is the first: later charges pay the others."""
    asked_by: str = ""
    """Who asked."""
    level: str = ""
    """The path of the level of the budget that it is charged to; empty for the whole."""
    cost: Spending = field(init=False)
    """The charge under each sum that a budget may keep."""

    def __post_init__(self) -> None:
        _check_text("source", self.source)
        _check_text("what", self.what)
        if not isinstance(self.key, str) or not _KEY.fullmatch(self.key):
            raise InvalidParameter(
                expected("64 hexadecimal digits", "key", self.key, "use hashlib.sha256(...).hexdigest().")
            )
        check_told("asked_by", self.asked_by)
        exact = positive_guarantee(self.guarantee.epsilon, self.guarantee.delta)
        event = event_of(self.guarantee) if self.event is None else self.event
        if self.guarantee.rho is not None and not self.in_parts:  # rho bounds no epsilon: a choice has twice noise's
            exact = replace(exact, epsilon=max(exact.epsilon, cost_of(event).epsilon or UNBOUNDED))
        object.__setattr__(self, "cost", charge_of(replace(exact, rho=self.guarantee.rho), event))
        object.__setattr__(self, "guarantee", exact)
        object.__setattr__(self, "event", event)

    def at(self, level: str, asked_by: str) -> Charge:
        """This charge at a level, asked by somebody, unless it says by whom."""
        if level == self.level and (self.asked_by or not asked_by):
            return self
        moved = object.__new__(Charge)
        for name in self.__slots__:
            object.__setattr__(moved, name, getattr(self, name))  # the amounts were checked when it was made
        object.__setattr__(moved, "level", level)
        object.__setattr__(moved, "asked_by", self.asked_by or asked_by)
        return moved


@dataclass(frozen=True, kw_only=True, slots=True)
class Entry:
    """One charge as it stands in the ledger."""

    number: int
    """1 for the first charge of the ledger."""
    time: str
    """When it was charged: UTC, ISO 8601."""
    source: str
    what: str
    key: str
    guarantee: Guarantee
    """epsilon and delta."""
    rho: Fraction
    """The same charge under the sum of rho; its delta there is `slack`."""
    slack: Fraction
    event: Event
    """What was drawn."""
    asked_by: str = ""
    """Who asked."""
    level: str = ""
    """The path of the level that it was charged to; empty for the whole budget."""
    answered: bool
    """Whether its answer was stored. A charge without one (a failed engine, a crash) is spent all the same."""


class PaidAnswer(NamedTuple):
    """An answer, and the number of the charge that paid for it."""

    number: int
    answer: bytes


class Ledger(ABC):
    """Running totals that never pass the allowances of their levels, and the answers they paid for."""

    def __reduce_ex__(self, _: object) -> NoReturn:
        """What a copy spends the original would not know of."""
        raise TypeError("a ledger is not copied")

    def admitted(self, charge: Charge, before: Balances) -> Balances:
        """The balances with `charge`, where those before it are `before`; or BudgetExceeded."""
        after, sources = before.charged(charge.level, charge.cost), before.sources.with_all(charge.declared)
        return after if sources is after.sources else after._replace(sources=sources)

    def changed(self, change: LevelChange, before: Balances) -> Balances:
        """The balances with `change`; the same ones, where it changes nothing."""
        after = before.changed(change)
        if change.level not in before.levels:
            check_apart(change.level, before.levels)
        return after

    @abstractmethod
    def reserve(self, charge: Charge) -> int:
        """Records `charge`, for good, and returns its number; or raises BudgetExceeded and records nothing.

        The sources that no charge was about before are recorded with it; one that contradicts them refuses all.
        """

    @abstractmethod
    def change(self, change: LevelChange) -> None:
        """Records a change of a level, for good; or raises LedgerError and records nothing."""

    @abstractmethod
    def commit(self, number: int, answer: bytes) -> None:
        """Stores the answer that charge `number` paid for, once."""

    @abstractmethod
    def opened(self, charge: Charge, answer: bytes, scope: str = "") -> bytes:
        """The answer that is stored under the key of `charge`, of those charged to a level or below it; where there is
        none, this one, which is recorded together with the charge: both or neither. Or raises BudgetExceeded.
        """

    @abstractmethod
    def published(self, key: str, place: int, answer: bytes, scope: str = "") -> bytes:
        """The point at a place, from 1 on, behind the answer under `key`: the one that is there, or this one, stored
        for good; or raises LedgerError, where the places before it are not all taken.
        """

    @abstractmethod
    def points(self, key: str, scope: str = "") -> tuple[bytes, ...]:
        """All points behind the answer under `key`, in their order."""

    @abstractmethod
    def balances(self) -> Balances:
        """How all levels stand, and what was declared of all tables that charges are about."""

    @property
    @abstractmethod
    def identity(self) -> str:
        """What tells this ledger from every other that this process may have open."""

    def spent(self) -> Spending:
        """The total of all charges."""
        return self.balances().whole.spent

    def sources(self) -> DeclaredSources:
        """What was declared of all tables that charges are about."""
        return self.balances().sources

    @abstractmethod
    def latest(self, key: str, level: str = "") -> PaidAnswer | None:
        """The answer under `key` of the charge with the highest number, of those charged to a level or below it: which
        one that is does not depend on how long each was being drawn.
        """

    @abstractmethod
    def answer_to(self, number: int, key: str) -> bytes | None:
        """What charge `number` paid for, if that is under `key`."""

    def stored(self, key: str, level: str = "") -> bytes | None:
        """The answer of `latest`."""
        found = self.latest(key, level)
        return None if found is None else found.answer

    @abstractmethod
    def paid_by(self, key: str, level: str = "", without: Collection[int] = ()) -> int | None:
        """The number of the charge whose answer `latest` finds, or would find without some charges; how long this takes
        does not depend on the answers.
        """

    @abstractmethod
    def entries(self, after: int = 0, most: int | None = None) -> tuple[Entry, ...]:
        """Charges, oldest first: those behind number `after`, and so many at most."""

    def head(self) -> PublishedHead:
        """Where the chain of its entries ends, to be published; refused where nothing lasts."""
        raise _lasts_not()

    def verify(self, head: PublishedHead | None = None) -> None:  # noqa: ARG002 - of those that last
        """Refuses a ledger that was damaged, or does not continue a published head."""
        raise _lasts_not()

    @abstractmethod
    def changes(self, after: int = 0, most: int | None = None) -> tuple[LevelChange, ...]:
        """Changes of levels, oldest first: those behind number `after`, and so many at most."""


def positive_guarantee(epsilon: object, delta: object) -> Guarantee:
    """Checked amounts: epsilon above 0, and delta in [0, 1)."""
    exact = fraction("delta", delta)
    if not 0 <= exact < 1:
        raise InvalidParameter(
            expected("a delta from 0 to below 1", "delta", delta, "write delta as a small number such as 1e-8.")
        )
    return Guarantee(epsilon=above_zero("epsilon", epsilon), delta=exact)


def stated_guarantee(epsilon: object, delta: object = 0, rho: object = None) -> Guarantee:
    """What a call may cost: epsilon and delta; or rho, with the largest epsilon at which any release costs no more.

    >>> stated_guarantee(None, rho=0.5)
    Guarantee(epsilon=1, rho=0.5)
    """
    if (epsilon is None) == (rho is None):
        got = "none" if rho is None else "both"
        raise InvalidParameter(f"Expected epsilon or rho, got {got}.\nHint: say what the answer may cost, epsilon=0.5.")
    if rho is None:
        return Guarantee(epsilon=positive("epsilon", epsilon), delta=delta_or_zero(delta))
    total = positive("rho", rho)
    return Guarantee(epsilon=root_below(2 * total), delta=delta_or_zero(delta), rho=total)


def charge_of(guarantee: Guarantee, event: Event | None) -> Spending:
    """What a release of this guarantee costs, if that is what is drawn: under sums of epsilon, and of rho.

    Of rho it costs as much as the guarantee states, or more where the event does.
    """
    whole = Spending.of(guarantee.epsilon, guarantee.delta)
    rho, slack = (whole.rho, whole.slack) if event is None else zcdp_of_event(event)
    if slack == whole.slack:
        rho, slack = min(rho, whole.rho), whole.slack
    return whole._replace(rho=rho if guarantee.rho is None else max(rho, short_up(guarantee.rho)), slack=slack)


def event_of(guarantee: Guarantee) -> Event:
    """The event that says no more than the guarantee does."""
    if guarantee.rho and guarantee.epsilon >= UNBOUNDED and not guarantee.delta:
        return ConcentratedEvent(rho=guarantee.rho)
    if guarantee.delta:
        return ApproximateEvent(epsilon=guarantee.epsilon, delta=guarantee.delta)
    return PureEvent(epsilon=guarantee.epsilon)


def entry(number: int, time: str, charge: Charge, *, answered: bool) -> Entry:
    """How a charge stands in the ledger."""
    return Entry(
        number=number,
        time=time,
        source=charge.source,
        what=charge.what,
        key=charge.key,
        guarantee=charge.guarantee,
        rho=charge.cost.rho,
        slack=charge.cost.slack,
        event=charge.event or event_of(charge.guarantee),
        asked_by=charge.asked_by,
        level=charge.level,
        answered=answered,
    )


def no_charge(number: int) -> LedgerError:
    """The refusal of an answer that nothing was paid for."""
    return LedgerError(
        expected("the number of a charge", "number", number, "reserve a charge first, and commit its answer.")
    )


def already_answered(number: int) -> LedgerError:
    """The refusal of a second answer to one charge."""
    cure = "each charge pays for one answer: reserve another charge for another answer."
    return LedgerError(expected("a charge without an answer", "number", number, cure))


def no_place(place: int) -> LedgerError:
    """The refusal of a point that does not follow the last one."""
    cure = "open the series first, and publish its points one after another."
    return LedgerError(expected("the next point of a series", "place", place, cure))


def _lasts_not() -> LedgerError:
    cure = "keep it in a file or on a server, dp.Budget(..., ledger=...); this one ends with its process."
    return LedgerError(expected("a ledger that lasts", "ledger", "one in memory", cure))


def _check_text(name: str, value: object) -> None:
    cure = f"write {name} as plain text."
    if not isinstance(value, str) or not value.strip():
        raise InvalidParameter(expected("some text", name, value, cure))
    if not value.isprintable() and any(c == "\0" or "\ud800" <= c <= "\udfff" for c in value):
        raise InvalidParameter(expected("text that can be stored", name, value, cure))
