"""A ledger that lives as long as its process.

Claim
    A charge is written right after the one whose total it was added to, whatever threads and signals come between, and
    nobody ever waits: no lock is held that an interrupted charge could leave behind.
Requires
    ``dict.setdefault`` with integers for keys is one step, in which no other thread runs.
Relies on
    `Ledger.admitted`.
Proof
    State n is the n-th value of `_states`: a charge, or a change of a level, and the balances with it. It never changes
    once it is there, but that its balances are let go of when n + 1 is. `reserve` reads the last one, n, and makes n +
    1 of it; ``setdefault`` keeps it only if no other n + 1 is there, and otherwise `reserve` starts again from that. So
    n + 1 follows the n from which its balances were computed. Whoever finds n without balances looks for a later one,
    which is there. An exception before that step leaves nothing, and one after it a charge without an answer, and
    perhaps balances that nobody reads. Answers are kept likewise, the first for each charge.
Rounding
    None.
Source
    An append by comparing and setting, as in Harris, A Pragmatic Implementation of Non-Blocking Linked-Lists (2001).
Mutant
    last-writer-wins: a charge is written over one that came first; killed by test_a_charge_in_between_is_seen.
    let-go-first: the balances before a charge are let go of before it is written; killed by
    test_an_interrupted_charge_lets_the_next_one_in.
"""

from __future__ import annotations

import itertools
import time
from bisect import bisect_left
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from discreet.ledger.ledger import Charge, Entry, Ledger, PaidAnswer, already_answered, entry, no_charge, no_place
from discreet.ledger.level_changes import LevelChange
from discreet.ledger.level_names import is_below
from discreet.ledger.nested_levels import Balances
from discreet.ledger.privacy_filter import Allowance

_numbers = itertools.count(1)


@dataclass(slots=True, eq=False)
class _State:
    """An entry and what holds with it; without one, what holds before the first."""

    balances: Balances | None
    """None, once there is a later state: those of all would be most of what the collector looks through."""
    number: int = 0
    """So many charges were made; all other entries were changes."""
    entry: Charge | LevelChange | None = None
    clock: float = 0.0


class MemoryLedger(Ledger):
    """Entries in their order, the last one with the balances up to it."""

    def __init__(self, allowance: Allowance) -> None:
        self._states: dict[int, _State] = {0: _State(Balances.of(allowance))}
        self._answers: dict[int, tuple[bytes]] = {}
        self._answered: dict[str, dict[int, str]] = {}
        """By key: the charges that have an answer, and their levels."""
        self._points: dict[tuple[int, int], bytes] = {}
        """By the charge whose answer they follow, and their places."""
        self._identity = f"memory {next(_numbers)}"

    def reserve(self, charge: Charge) -> int:
        """Records `charge`, for good, and returns its number; or raises BudgetExceeded and records nothing."""
        return self._appended(charge, lambda before: self.admitted(charge, before)).number

    def change(self, change: LevelChange) -> None:
        """Records a change of a level, for good; or raises LedgerError and records nothing."""
        self._appended(change, lambda before: self.changed(change, before))

    def _appended(self, written: Charge | LevelChange, follow: Callable[[Balances], Balances]) -> Balances:
        """The balances with an entry, once it is written."""
        while True:
            position, before = self._last()
            after = follow(before)
            if after is before:
                return after
            # Only the clock is read here: its text is made when somebody looks.
            mine = _State(after, after.number, written, time.time())
            if self._states.setdefault(position + 1, mine) is mine:
                self._states[position].balances = None
                return after

    def _last(self) -> tuple[int, Balances]:
        """The position of the last state, and its balances."""
        while True:
            position = len(self._states) - 1
            balances = self._states[position].balances
            if balances is not None:
                return position, balances

    def commit(self, number: int, answer: bytes) -> None:
        """Stores the answer that charge `number` paid for, once."""
        if not 1 <= number <= self.balances().number:
            raise no_charge(number)
        mine = (bytes(answer),)  # a tuple of its own, which tells this answer from an equal one
        if self._answers.setdefault(number, mine) is not mine:
            raise already_answered(number)
        charge = self._charge(number)
        self._answered.setdefault(charge.key, {})[number] = charge.level

    def opened(self, charge: Charge, answer: bytes, scope: str = "") -> bytes:
        """The answer under the key of `charge`; where there is none, this one, for which the charge is made.

        Threads that open the same at once are kept apart by whoever calls this; each would pay.
        """
        found = self.stored(charge.key, scope)
        if found is not None:
            return found
        self.commit(self.reserve(charge), answer)
        return answer

    def published(self, key: str, place: int, answer: bytes, scope: str = "") -> bytes:
        """The point at a place: the one that is there, or this one, where it is next."""
        found = self.latest(key, scope)
        if found is None or not (place == 1 or (found.number, place - 1) in self._points):
            raise no_place(place)
        return self._points.setdefault((found.number, place), bytes(answer))

    def points(self, key: str, scope: str = "") -> tuple[bytes, ...]:
        """All points behind the answer under `key`, in their order."""
        found = self.latest(key, scope)
        if found is None:
            return ()
        numbered = (self._points.get((found.number, place)) for place in itertools.count(1))
        return tuple(itertools.takewhile(lambda point: point is not None, numbered))  # type: ignore[arg-type]  # none is left

    def balances(self) -> Balances:
        """How all levels stand, and what was declared of all tables that charges are about."""
        return self._last()[1]

    @property
    def identity(self) -> str:
        """Its number in this process."""
        return self._identity

    def latest(self, key: str, level: str = "") -> PaidAnswer | None:
        """The answer under `key` of the charge with the highest number, of those charged to a level or below it."""
        number = self.paid_by(key, level)
        return None if number is None else PaidAnswer(number, self._answers[number][0])

    def paid_by(self, key: str, level: str = "", without: Collection[int] = ()) -> int | None:
        """The number of its charge, or of the newest without some."""
        found = self._answered.get(key, {}).copy()  # in one step: others may add to it
        below = (number for number, path in found.items() if is_below(path, level) and number not in without)
        return max(below, default=None)

    def answer_to(self, number: int, key: str) -> bytes | None:
        """What charge `number` paid for, if that is under `key`."""
        return self._answers[number][0] if number in self._answered.get(key, {}) else None

    def entries(self, after: int = 0, most: int | None = None) -> tuple[Entry, ...]:
        """Charges, oldest first: those behind number `after`, and so many at most."""
        charges = (
            entry(state.number, _text(state.clock), written, answered=state.number in self._answers)
            for _, state in self._behind(self._charges_at, after)
            if isinstance(written := state.entry, Charge)
        )
        return tuple(itertools.islice(charges, most))

    def changes(self, after: int = 0, most: int | None = None) -> tuple[LevelChange, ...]:
        """Changes of levels, oldest first: those behind number `after`, and so many at most."""
        found = (
            replace(written, number=position - state.number, time=_text(state.clock), after=state.number)
            for position, state in self._behind(lambda position: position - self._charges_at(position), after)
            if isinstance(written := state.entry, LevelChange)
        )
        return tuple(itertools.islice(found, most))

    def _charge(self, number: int) -> Charge:
        _, state = next(self._behind(self._charges_at, number - 1))
        assert isinstance(state.entry, Charge)  # noqa: S101 - the first state of a number is that of its charge
        return state.entry

    def _charges_at(self, position: int) -> int:
        return self._states[position].number

    def _behind(self, count: Callable[[int], int], after: int) -> Iterator[tuple[int, _State]]:
        """The states, with their positions, from the first one on at which more than `after` were counted."""
        every = range(len(self._states))
        first = bisect_left(every, after + 1, key=count)
        return ((position, self._states[position]) for position in every[first:])


def _text(clock: float) -> str:
    return datetime.fromtimestamp(clock, UTC).isoformat(timespec="milliseconds")
