"""A ledger that lives as long as its process."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from datetime import UTC, datetime

from discreet.accounting.allowance import NOTHING, Allowance, Spending
from discreet.curator.declared import Source, Sources
from discreet.curator.ledger import Charge, Entry, Ledger, already_answered, entry, no_charge

_numbers = itertools.count(1)


class _Alone:
    """A lock that gives the total to who holds it; a generator would take as long as all the rest of a charge."""

    __slots__ = ("_lock", "_spent")

    def __init__(self, lock: threading.Lock, spent: Callable[[], Spending]) -> None:
        self._lock = lock
        self._spent = spent

    def __enter__(self) -> Spending:
        self._lock.acquire()
        return self._spent()

    def __exit__(self, *_: object) -> None:
        self._lock.release()


class MemoryLedger(Ledger):
    """Charges in a list, and beside it their number with their total, whose assignment is the whole change of state."""

    def __init__(self, allowance: Allowance) -> None:
        super().__init__(allowance)
        # Not re-entrant, on purpose: a signal handler that charges must not get in between a check and its record.
        self._lock = threading.Lock()
        self._lines: list[tuple[float, Charge]] = []
        self._state: tuple[int, Spending] = (0, NOTHING)
        self._answered: set[int] = set()
        self._latest: dict[str, bytes] = {}
        self._sources = Sources()
        self._number = next(_numbers)

    def alone(self) -> AbstractContextManager[Spending]:
        """Keeps all other threads out."""
        return _Alone(self._lock, self.spent)

    def append_charge(self, charge: Charge, total: Spending) -> int:
        """Writes a charge and the total with it."""
        number = self._state[0] + 1
        # A charge that was interrupted here may have left its line; it was never made.
        del self._lines[number - 1 :]
        # Only the clock is read here: its text is made when somebody looks.
        self._lines.append((time.time(), charge))
        self._state = (number, total)
        return number

    def append_source(self, source: Source) -> None:
        """Writes a source that is new."""
        self._sources = self._sources.with_(source)

    def sources(self) -> Sources:
        """What was declared of all tables that charges are about."""
        return self._sources

    @property
    def identity(self) -> str:
        """Its number in this process."""
        return f"memory {self._number}"

    def append_answer(self, number: int, answer: bytes) -> None:
        """Writes the answer of a charge, once."""
        if not 1 <= number <= self._state[0]:
            raise no_charge(number)
        if number in self._answered:
            raise already_answered(number)
        self._answered.add(number)
        self._latest[self._lines[number - 1][1].key] = bytes(answer)

    def spent(self) -> Spending:
        """The total of all charges."""
        return self._state[1]

    def stored(self, key: str) -> bytes | None:
        """The answer committed last under `key`."""
        return self._latest.get(key)

    def entries(self) -> tuple[Entry, ...]:
        """All charges, oldest first."""
        with self._lock:
            lines, answered = self._lines[: self._state[0]], frozenset(self._answered)
        return tuple(
            entry(
                number,
                datetime.fromtimestamp(clock, UTC).isoformat(timespec="milliseconds"),
                charge,
                answered=number in answered,
            )
            for number, (clock, charge) in enumerate(lines, start=1)
        )
