"""A ledger that lives as long as its process."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime

from discreet.curator.ledger import NOTHING, Charge, Entry, Ledger, already_answered, no_charge
from discreet.privacy.definitions import Guarantee


class MemoryLedger(Ledger):
    """Charges in a list, each with its running total, so that one append is the whole change of state."""

    def __init__(self, allowance: Guarantee) -> None:
        super().__init__(allowance)
        # Not re-entrant, on purpose: a signal handler that charges must not get in between a check and its record.
        self._lock = threading.Lock()
        self._lines: list[tuple[float, Charge, Guarantee]] = []
        self._answered: set[int] = set()
        self._latest: dict[str, bytes] = {}

    @contextmanager
    def alone(self) -> Iterator[Guarantee]:
        """Keeps all other threads out."""
        with self._lock:
            yield self.spent()

    def append_charge(self, charge: Charge, total: Guarantee) -> int:
        """Writes a charge and the total with it."""
        # Only the clock is read here: its text is made when somebody looks.
        self._lines.append((time.time(), charge, total))
        return len(self._lines)

    def append_answer(self, number: int, answer: bytes) -> None:
        """Writes the answer of a charge, once."""
        if not 1 <= number <= len(self._lines):
            raise no_charge(number)
        if number in self._answered:
            raise already_answered(number)
        self._answered.add(number)
        self._latest[self._lines[number - 1][1].key] = bytes(answer)

    def spent(self) -> Guarantee:
        """The total of all charges."""
        return self._lines[-1][2] if self._lines else NOTHING

    def stored(self, key: str) -> bytes | None:
        """The answer committed last under `key`."""
        return self._latest.get(key)

    def entries(self) -> tuple[Entry, ...]:
        """All charges, oldest first."""
        with self._lock:
            lines, answered = tuple(self._lines), frozenset(self._answered)
        return tuple(
            Entry(
                number=number,
                time=datetime.fromtimestamp(clock, UTC).isoformat(timespec="milliseconds"),
                source=charge.source,
                what=charge.what,
                key=charge.key,
                guarantee=charge.guarantee,
                answered=number in answered,
            )
            for number, (clock, charge, _) in enumerate(lines, start=1)
        )
