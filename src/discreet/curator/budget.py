"""The allowance that a curator gives, and what is left of it."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from fractions import Fraction
from typing import NoReturn

from discreet.curator.ledger import Charge, Entry, Ledger, in_words, positive_guarantee
from discreet.curator.ledger_file import FileLedger
from discreet.curator.ledger_memory import MemoryLedger
from discreet.errors import InvalidParameter, LedgerError, expected
from discreet.privacy.definitions import Guarantee


class Budget:
    """An allowance that all answers together never pass; with ``ledger=``, not even in several processes.

    `epsilon` and `delta` are exact: a float means the decimal that it prints. ``ledger`` names a SQLite file, which
    is made when nothing is there; without it the record ends with the process. One budget may serve several tables.
    It can be shared by threads; it cannot be copied or pickled, nor used in a fork, since what a copy spends the
    original would not know of.

    >>> Budget(epsilon=1.0)
    Budget(allowance: epsilon=1; spent: epsilon=0; remaining: epsilon=1)
    """

    __slots__ = ("__weakref__", "_ledger", "_process")

    def __init__(
        self,
        *,
        epsilon: float | Decimal | Fraction,
        delta: float | Decimal | Fraction = 0,
        ledger: str | os.PathLike[str] | None = None,
    ) -> None:
        allowance = positive_guarantee(epsilon, delta)
        self._process = os.getpid()
        self._ledger: Ledger = MemoryLedger(allowance) if ledger is None else FileLedger(ledger, allowance)

    @property
    def allowance(self) -> Guarantee:
        """All that may ever be spent."""
        return self._ledger.allowance

    @property
    def spent(self) -> Guarantee:
        """The sum of all charges, answered or not."""
        return self._own().spent()

    @property
    def remaining(self) -> Guarantee:
        """What is left of the allowance."""
        return self.allowance - self.spent

    def reserve(self, charge: Charge) -> Reservation:
        """Spends `charge` before anything is read; raises BudgetExceeded, and spends nothing, where it does not fit."""
        return Reservation(number=self._own().reserve(charge), store=self._commit)

    def stored(self, key: str) -> bytes | None:
        """The answer that was committed last under `key`: a repeat costs nothing."""
        return self._own().stored(key)

    def entries(self) -> tuple[Entry, ...]:
        """Every charge, oldest first."""
        return self._own().entries()

    def _commit(self, number: int, answer: bytes) -> None:
        self._own().commit(number, answer)

    def _own(self) -> Ledger:
        """The ledger, unless this process inherited it."""
        # Before any lock is touched: in a fork, a lock may be held by a thread that is not there.
        if os.getpid() != self._process:
            cure = "make the Budget in the process that uses it; the same ledger= file shares one allowance among them."
            raise LedgerError(expected("the process that made this budget", "process", os.getpid(), cure))
        return self._ledger

    def _refuse_copy(self, *_: object) -> NoReturn:
        cure = "pass the budget itself, or open Budget(..., ledger=) on the same file in the other process."
        raise LedgerError(expected("the one budget", "budget", "a copy", cure))

    __copy__ = __deepcopy__ = __reduce__ = __reduce_ex__ = _refuse_copy

    def __repr__(self) -> str:
        with_delta = bool(self.allowance.delta)
        allowance = in_words(self.allowance, ROUND_FLOOR, with_delta=with_delta)
        try:
            spent = self.spent
        except LedgerError:
            return f"Budget(allowance: {allowance}; its ledger cannot be used here)"
        spent_words = in_words(spent, ROUND_CEILING, with_delta=with_delta)
        remaining = in_words(self.allowance - spent, ROUND_FLOOR, with_delta=with_delta)
        return f"Budget(allowance: {allowance}; spent: {spent_words}; remaining: {remaining})"


@dataclass(frozen=True, kw_only=True, slots=True)
class Reservation:
    """A charge that is spent already, and the right to store the one answer that it pays for."""

    number: int
    """The number of its entry in the ledger."""
    store: Callable[[int, bytes], None]

    def commit(self, answer: bytes) -> None:
        """Stores `answer` under the key of the charge, once. Do this before anybody sees it."""
        if not isinstance(answer, bytes):
            raise InvalidParameter(expected("bytes", "answer", type(answer).__name__, "serialize the answer first."))
        self.store(self.number, answer)
