"""Those who wait for a ledger at the same time are written in one transaction, each judged after those before it.

Claim
    `Together.run` returns what its step returned, or raises what it raised, in a transaction that lasted if the step
    appended anything; steps of one transaction run one after another, and one that raises leaves nothing behind.
Requires
    `transaction(alone=...)` is whole or has not happened, and lasts once it was left. A step that raises DiscreetError
    does so before it appends (`mark` says whether it did). Nobody calls `run` from inside of a step.
Relies on
    Appending to a deque and taking from its left are one step each, in which no other thread runs.
Proof
    Whoever has the lock takes all that wait, itself among them or served already by whoever had the lock before, for
    nobody but the holder of the lock takes from the queue, and each serves all that it took before it gives the lock
    back. An outcome is set when the transaction was left, so nobody hears of what may be undone. Where a transaction
    fails in a step, all of it is undone, and each step has a transaction of its own then; where it fails as it begins
    or ends, each step is told so, and none is tried again, since it is not known whether a commit that failed has
    happened.
Rounding
    None.
Source
    Group commit: DeWitt et al., Implementation techniques for main memory database systems (1984).
Mutant
    told-before-the-commit: a step is answered before its transaction has ended; killed by
    test_nobody_hears_of_what_is_undone.
    refusals-spread: one that is refused takes the others with it; killed by test_a_refusal_is_one_s_own.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, NamedTuple, TypeVar

from discreet.errors import DiscreetError

T = TypeVar("T")

MOST = 200
"""So many steps are in one transaction at most, so that nobody waits for many."""


class Waiting:
    """A step that waits for its transaction, and its outcome."""

    __slots__ = ("alone", "failed", "is_done", "returned", "step")

    def __init__(self, step: Callable[[], Any], *, alone: bool) -> None:
        self.step, self.alone = step, alone
        self.is_done = False
        self.returned: Any = None
        self.failed: BaseException | None = None


class Turn(NamedTuple):
    """How a ledger begins a transaction, and what changes whenever something is appended in it."""

    transaction: Callable[..., AbstractContextManager[object]]
    mark: Callable[[], object]


class Together:
    """A queue before the transactions of one ledger, of which it holds nothing."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._queue: deque[Waiting] = deque()

    def run(self, turn: Turn, step: Callable[[], T], *, alone: bool) -> T:
        """What `step` returns or raises, in a transaction with what others do at that time; alone, if it appends."""
        mine = Waiting(step, alone=alone)
        self._queue.append(mine)
        with self._lock:
            if not mine.is_done:
                _serve(turn, [self._queue.popleft() for _ in range(min(len(self._queue), MOST))])
                if not mine.is_done:  # it was behind more than one transaction takes
                    self._queue.remove(mine)
                    _serve(turn, [mine])
        if mine.failed is not None:
            raise mine.failed
        found: T = mine.returned
        return found


def _serve(turn: Turn, waiting: list[Waiting]) -> None:
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
        one.returned, one.failed, one.is_done = returned, failed, True


def _stepped(turn: Turn, one: Waiting) -> tuple[Any, BaseException | None]:
    before = turn.mark()
    try:
        return one.step(), None
    except DiscreetError as refusal:
        if turn.mark() is not before:
            raise
        return None, refusal
