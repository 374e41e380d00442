"""What stands in for a budget while a job prices its question, pays for it, or shows its answer again.

Claim
    (a) A question is priced without waiting for anything that depends on rows, and without a charge. (b) A job that is
    run has one charge, which was made when it was accepted, for the release that is drawn now; its answer is what that
    charge gave, whatever is on record by then; nothing that is stored tells when it was run. (c) An answer that is
    shown again is made of the stored bytes alone, and read as the release that they are of.
Requires
    `curator.transaction`: a release asks its budget for the stored answer, then for a reservation, and looks at rows
    after that. `curator.release_key`: two releases of one key have the same plan, price included.
Relies on
    `ledger.budget`: a charge that `reserve` returned lasts.
Proof
    All questions of one analyst are asked of a table whose budget is a `JobBudget`; it has nothing of its own, and
    passes every call to what `acting_as` set for the thread. (a) `Pricing.reserve` raises, so nothing is looked at or
    charged; its scope is its own, so it never waits for the turn of somebody who asks the same, and the connection,
    which one look holds at a time, is not asked whether it lives. (b) `Prepaid.reserve`
    gives the charge that `paid_for` made, once, to the release of its key alone: where the table was declared anew
    between acceptance and look, the same words have another key, and may have another price, and nothing is drawn. The
    receipt is dated by the acceptance. So what a budget shows changes at acceptances alone, and never with what a look
    took. (c) `Repeating.reserve` raises, and so does `stored`, asked for another key than that of the bytes.
Rounding
    None.
Source
    McSherry, "Privacy integrated queries" (2009): agents that stand between a question and its budget.
Mutant
    pricing-waits-for-others: pricing takes its turn behind the last job; killed by
    test_pricing_does_not_wait_for_who_asks_the_same.
    receipts-tell-when: a receipt keeps the moment of its noise; killed by
    test_a_receipt_is_dated_by_its_acceptance.
    pricing-asks-the-connection: pricing waits for the connection; killed by
    test_pricing_does_not_wait_for_the_connection.
    repeats-pay: what shows an answer again may charge; killed by test_an_answer_is_shown_again_without_a_charge.
    any-charge-is-paid: a charge pays for another release, too; killed by
    test_a_charge_pays_for_no_other_release.
    charges-of-other-ledgers: the ledger is not asked for the charge; killed by
    test_a_charge_is_for_the_ledger_that_has_it.
    old-answers-read-anew: stored bytes are read by the declaration of now; killed by
    test_an_answer_of_another_declaration_is_not_shown.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from copy import copy
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, Protocol, TypeVar

from discreet.answers.stored_answers import dated
from discreet.curator.protected_table import Protected
from discreet.errors import LedgerError, expected
from discreet.ledger.budget import Budget, Reservation
from discreet.ledger.ledger import Charge
from discreet.query.shared_table import SharedTable
from discreet.query.table import PrivateTable
from discreet.service.service_errors import OTHER_DECLARATION, Conflict

Asked = TypeVar("Asked", bound=PrivateTable | SharedTable)

_numbers = itertools.count(1)


class Acting(Protocol):
    """What a release asks of its budget."""

    @property
    def identity(self) -> str:
        """What tells its ledger from others: those who ask the same of one wait for each other."""

    def stored(self, key: str) -> bytes | None:
        """The answer on record."""

    def reserve(self, charge: Charge) -> Reservation:
        """Charges, or refuses."""

    def check_process(self) -> None:
        """Refuses a fork."""


class AcceptedJob(Protocol):
    """What is known of a job since it was accepted."""

    @property
    def release(self) -> str:
        """The key of what was priced."""

    @property
    def entry(self) -> int | None:
        """The number of its charge, where it has one."""

    @property
    def accepted(self) -> float:
        """When that was."""


class PricedCharge(BaseException):
    """Ends a release where it would have been charged. No `Exception`, so that nothing on the way takes it for one."""

    def __init__(self, charge: Charge) -> None:
        super().__init__()
        self.charge = charge


class Pricing:
    """Finds the charge of a release, whether its answer is on record or not: both take the same time."""

    def __init__(self) -> None:
        self.identity = f"pricing {next(_numbers)}"

    def stored(self, key: str) -> bytes | None:
        """None, whatever is on record."""
        del key
        return None

    def reserve(self, charge: Charge) -> Reservation:
        """Ends here."""
        raise PricedCharge(charge)

    def check_process(self) -> None:
        """Nothing is inherited."""


class Prepaid:
    """Gives a job the charge that was made when it was accepted, and keeps the bytes of its answer."""

    def __init__(self, behind: Budget, *, job: AcceptedJob) -> None:
        self._behind = behind
        self._job = job
        self.identity = f"job {next(_numbers)}"
        self.answer: tuple[str, bytes] | None = None
        """Its key, and its bytes as the ledger has them."""
        self.paid = False

    def stored(self, key: str) -> bytes | None:
        """None: what this job paid for is drawn, whatever others have been given meanwhile."""
        self._check(key)
        return None

    def reserve(self, charge: Charge) -> Reservation:
        """The charge that is on record for this job; once."""
        self._check(charge.key)
        entry = self._job.entry
        if self.paid or entry is None:
            raise LedgerError(expected("one charge for a job", "charge", "another", "send another ask for it."))
        if [one.key for one in self._behind.entries(entry - 1, 1)] != [charge.key]:
            raise LedgerError(expected("the ledger of the charge", "ledger", "another", "send another ask for it."))
        self.paid = True

        def keep(number: int, answer: bytes) -> None:
            kept = stamped(answer, self._job.accepted)
            self._behind._commit(number, kept)  # noqa: SLF001 (the other half of the reservation of `paid_for`)
            self.answer = charge.key, kept

        return Reservation(number=entry, store=keep)

    def check_process(self) -> None:
        """As the budget behind does."""
        self._behind.check_process()

    def _check(self, key: str) -> None:
        if key != self._job.release:
            raise LedgerError(expected("the release that was accepted", "release", "another", "send another ask."))


class Repeating:
    """Gives the stored bytes of one answer to the release that they are of, and charges nothing."""

    def __init__(self, answer: bytes | None, release: str) -> None:
        self.identity = f"repeating {next(_numbers)}"
        self._answer = answer
        self._release = release

    def stored(self, key: str) -> bytes | None:
        """The answer.

        Raises:
            Conflict: it was given under another declaration, by which alone its totals can be read.
        """
        if key != self._release:
            raise Conflict(OTHER_DECLARATION)
        return self._answer

    def reserve(self, charge: Charge) -> Reservation:
        """Refuses."""
        del charge
        raise LedgerError(expected("an answer on record", "answer", None, "send the ask again."))

    def check_process(self) -> None:
        """Nothing is inherited."""


_acting: ContextVar[Acting | None] = ContextVar("discreet_acting", default=None)


@contextmanager
def acting_as(acting: Acting) -> Iterator[None]:
    """What every `JobBudget` passes its calls to, in this thread, meanwhile."""
    before = _acting.set(acting)
    try:
        yield
    finally:
        _acting.reset(before)


class JobBudget:
    """The budget of a table that is asked in jobs: it has nothing, and passes every call on."""

    __slots__ = ()

    @property
    def identity(self) -> str:
        """That of what acts."""
        return _now().identity

    def stored(self, key: str) -> bytes | None:
        """As what acts does."""
        return _now().stored(key)

    def reserve(self, charge: Charge) -> Reservation:
        """As what acts does."""
        return _now().reserve(charge)

    def check_process(self) -> None:
        """As what acts does."""
        _now().check_process()


def _now() -> Acting:
    acting = _acting.get()
    if acting is None:
        raise LedgerError(expected("a job", "budget", "a table of the service by itself", "send an ask."))
    return acting


def asked_in_jobs(table: Asked) -> Asked:
    """The same protected table, whose releases are those of jobs."""
    return without_waiting(table, JobBudget())


def without_waiting(table: Asked, budget: Any) -> Asked:
    """The same protected table under another budget, whose charges wait for no look.

    Whether its connection lives is not asked before a release: that would wait for the look that it is busy with, and
    so tell whoever prices a question, or sees a charge, when that look ends.
    """
    source: Any = table._source  # noqa: SLF001 (stands in for the curator here)
    engine = copy(source._engine)  # noqa: SLF001 (as above)
    engine.check_alive = lambda: None
    made = Protected(engine, source.declaration, budget, source._words, source.keep_steps)  # noqa: SLF001 (as above)
    return replace(table, _source=made)


def paid_for(budget: Budget, charge: Charge, who: str) -> int:
    """Charges a job in the name of who asks, before it is accepted; returns the number of the entry."""
    return budget.reserve(replace(charge, asked_by=who)).number


def stamped(answer: bytes, accepted: float) -> bytes:
    """An answer whose receipt says when it was accepted: the moment of its noise would tell when others were done.

    >>> stamped(b'{"receipt":{"time":"then"},"totals":[]}', 0.0)
    b'{"receipt":{"time":"1970-01-01T00:00:00+00:00"},"totals":[]}'
    """
    return dated(answer, datetime.fromtimestamp(accepted, UTC).isoformat(timespec="seconds"))
