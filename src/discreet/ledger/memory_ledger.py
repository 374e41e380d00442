"""A ledger that lives as long as its process.

Claim
    A charge is written right after the one whose total it was added to, whatever threads and signals come between, and
    nobody ever waits: no lock is held that an interrupted charge could leave behind.
Requires
    ``dict.setdefault`` with integers for keys is one step, in which no other thread runs.
Relies on
    `Ledger.admitted`.
Proof
    State n is the n-th value of `_states`: the charge, and the total and the sources with it. It never changes once it
    is there. `reserve` reads the last one, n, and makes n + 1 of it; ``setdefault`` keeps it only if no other n + 1 is
    there, and otherwise `reserve` starts again from that. So n + 1 follows the n from which its total was computed. An
    exception before that step leaves nothing, and one after it a charge without an answer. Answers are kept likewise,
    the first for each charge.
Rounding
    None.
Source
    An append by comparing and setting, as in Harris, A Pragmatic Implementation of Non-Blocking Linked-Lists (2001).
Mutant
    last-writer-wins: a charge is written over one that came first; killed by test_a_charge_in_between_is_seen.
"""

from __future__ import annotations

import itertools
import time
from datetime import UTC, datetime
from typing import NamedTuple

from discreet.ledger.allowance import NOTHING, Allowance, Spending
from discreet.ledger.declared_sources import DeclaredSources
from discreet.ledger.ledger import Charge, Entry, Ledger, already_answered, entry, no_charge

_numbers = itertools.count(1)


class _State(NamedTuple):
    """A charge and what holds with it; without a charge, what holds before the first."""

    spent: Spending = NOTHING
    sources: DeclaredSources = DeclaredSources()
    charge: Charge | None = None
    clock: float = 0.0


class MemoryLedger(Ledger):
    """Charges by their number, each with the total up to it."""

    def __init__(self, allowance: Allowance) -> None:
        super().__init__(allowance)
        self._states: dict[int, _State] = {0: _State()}
        self._answers: dict[int, tuple[bytes]] = {}
        self._latest: dict[str, bytes] = {}
        self._number = next(_numbers)

    def reserve(self, charge: Charge) -> int:
        """Records `charge`, for good, and returns its number; or raises BudgetExceeded and records nothing."""
        while True:
            number = len(self._states)
            before = self._states[number - 1]
            total, sources = self.admitted(charge, before.spent), before.sources
            for source in charge.declared:
                sources = sources.with_(source)
            # Only the clock is read here: its text is made when somebody looks.
            mine = _State(total, sources, charge, time.time())
            if self._states.setdefault(number, mine) is mine:
                return number

    def commit(self, number: int, answer: bytes) -> None:
        """Stores the answer that charge `number` paid for, once."""
        if not 1 <= number < len(self._states):
            raise no_charge(number)
        mine = (bytes(answer),)  # a tuple of its own, which tells this answer from an equal one
        if self._answers.setdefault(number, mine) is not mine:
            raise already_answered(number)
        charge = self._states[number].charge
        if charge is not None:
            self._latest[charge.key] = mine[0]

    def sources(self) -> DeclaredSources:
        """What was declared of all tables that charges are about."""
        return self._last().sources

    @property
    def identity(self) -> str:
        """Its number in this process."""
        return f"memory {self._number}"

    def spent(self) -> Spending:
        """The total of all charges."""
        return self._last().spent

    def stored(self, key: str) -> bytes | None:
        """The answer committed last under `key`."""
        return self._latest.get(key)

    def entries(self, after: int = 0, most: int | None = None) -> tuple[Entry, ...]:
        """Charges, oldest first: those behind number `after`, and so many at most."""
        numbers = range(after + 1, len(self._states))
        states = ((number, self._states[number]) for number in (numbers if most is None else numbers[:most]))
        return tuple(
            entry(number, _text(state.clock), state.charge, answered=number in self._answers)
            for number, state in states
            if state.charge is not None
        )

    def _last(self) -> _State:
        return self._states[len(self._states) - 1]


def _text(clock: float) -> str:
    return datetime.fromtimestamp(clock, UTC).isoformat(timespec="milliseconds")
