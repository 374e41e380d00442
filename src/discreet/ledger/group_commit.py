"""Those who wait for a ledger at the same time are written in one transaction, each judged after those before it.

Claim
    `Together.run` returns what its step returned, or raises what it raised, in a transaction that lasted if the step
    appended anything; steps of one transaction run one after another, and one that raises leaves nothing behind.
Requires
    `transaction(alone=...)` is whole or has not happened, and lasts once it was left. A step that raises DiscreetError
    does so before it appends (`mark` says whether it did). No thread that is in `run` ends before it returns
    (`signal_deferral`).
Relies on
    A lock of `threading`: who releases one that a thread waits for lets that thread go on.
Proof
    Under `_guard`, whoever comes puts its step at the end of the queue, and leads if nobody does. Who leads takes steps
    from the front, in order, runs them in a transaction, sets their outcomes when it was left, so that nobody hears of
    what may be undone, and lets their threads go on; and it goes on until its own is among them. Then it gives the lead
    to the thread whose step is in front, under the same guard, or to nobody if the queue is empty. So there is one
    leader as long as there is a queue, and each step is taken once. Where a transaction fails in a step, all of it is
    undone, and each step has a transaction of its own then; where it fails as it begins or ends, each step is told so,
    and none is tried again, since it is not known whether a commit that failed has happened. Where who leads fails
    outside of a transaction, for lack of memory, the lead is given on all the same, and the threads of steps that it
    had taken are told: a step is one that failed until its outcome is set.
Rounding
    None.
Source
    Group commit: DeWitt et al., Implementation techniques for main memory database systems (1984).
Mutant
    told-before-the-commit: a step is answered before its transaction has ended; killed by
    test_nobody_hears_of_what_is_undone.
    refusals-spread: one that is refused takes the others with it; killed by test_a_refusal_is_one_s_own.
    lead-is-kept: who ends gives the lead to nobody; killed by test_the_lead_is_passed_on.
    lead-is-lost: a step that nobody served is taken for one that may lead; killed by
    test_a_leader_that_fails_takes_no_ledger_with_it.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from contextlib import AbstractContextManager
from itertools import islice
from typing import Any, NamedTuple, TypeVar

from discreet.errors import DiscreetError, LedgerError, expected

T = TypeVar("T")

MOST = 200
"""So many steps are in one transaction at most, so that nobody waits for many."""

NOT_SERVED = expected(
    "a ledger that is served", "thread", "one that failed", "ask again; its entry says whether a charge was made."
)
"""Of a step whose leader had no memory left, say, before the outcome was set."""


class Waiting:
    """A step that waits for its transaction, and its outcome."""

    __slots__ = ("alone", "failed", "is_done", "returned", "step", "wake")

    def __init__(self, step: Callable[[], Any], *, alone: bool) -> None:
        self.step, self.alone = step, alone
        self.is_done = False
        self.returned: Any = None
        self.failed: BaseException | None = LedgerError(NOT_SERVED)
        self.wake = threading.Lock()
        """Held until the step is done, or its thread is to lead."""
        self.wake.acquire()


class SharedTransaction(NamedTuple):
    """How a ledger begins a transaction, and what changes whenever something is appended in it."""

    transaction: Callable[..., AbstractContextManager[object]]
    mark: Callable[[], object]


class Together:
    """A queue before the transactions of one ledger, of which it holds nothing."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._queue: deque[Waiting] = deque()
        self._has_leader = False
        self._serving: int | None = None
        """The thread that is in a transaction."""

    def run(self, turn: SharedTransaction, step: Callable[[], T], *, alone: bool) -> T:
        """What `step` returns or raises, in a transaction with what others do at that time; alone, if it appends."""
        if self._serving == threading.get_ident():
            cure = "charge it when the other one has ended."
            raise LedgerError(expected("one charge at a time", "charge", "one inside of another", cure))
        mine = Waiting(step, alone=alone)
        with self._guard:
            self._queue.append(mine)
            leads, self._has_leader = not self._has_leader, True
        if not leads:
            mine.wake.acquire()
        if not mine.is_done:
            self._lead(turn, mine)
        if mine.failed is not None:
            raise mine.failed
        found: T = mine.returned
        return found

    def _lead(self, turn: SharedTransaction, mine: Waiting) -> None:
        """Serves the queue until the own step is done, and gives the lead on, whatever happens."""
        try:
            while not mine.is_done:
                with self._guard:
                    some = list(islice(self._queue, MOST))
                    for _ in some:
                        self._queue.popleft()
                self._transact(turn, some, mine)
        finally:
            with self._guard:
                if not mine.is_done and mine in self._queue:
                    self._queue.remove(mine)
                if self._queue:
                    self._queue[0].wake.release()
                else:
                    self._has_leader = False

    def _transact(self, turn: SharedTransaction, some: list[Waiting], mine: Waiting) -> None:
        """Serves some, and lets their threads go on."""
        try:
            self._serving = threading.get_ident()
            _serve(turn, some)
        finally:
            self._serving = None
            for one in some:
                one.is_done = True
                if one is not mine:
                    one.wake.release()


def _serve(turn: SharedTransaction, waiting: list[Waiting]) -> None:
    """One transaction for all; or one for each, where a step broke it."""
    outcomes: list[tuple[Any, BaseException | None]] = []
    in_a_step = False
    try:
        with turn.transaction(alone=any(one.alone for one in waiting)):
            in_a_step = True
            outcomes += [_stepped(turn, one) for one in waiting]
            in_a_step = False
    except BaseException as error:  # noqa: BLE001 - it is raised where each of them waits
        if in_a_step and len(waiting) > 1:
            for one in waiting:
                _serve(turn, [one])
            return
        outcomes = [(None, error)] * len(waiting)
    for one, (returned, failed) in zip(waiting, outcomes, strict=True):
        one.returned, one.failed = returned, failed


def _stepped(turn: SharedTransaction, one: Waiting) -> tuple[Any, BaseException | None]:
    before = turn.mark()
    try:
        return one.step(), None
    except DiscreetError as refusal:
        if turn.mark() is not before:
            raise
        return None, refusal
