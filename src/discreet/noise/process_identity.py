"""What tells a process from its forks and its parents: budgets, runs and random streams belong to one.

Claim
    `this_process` differs between a process and each process that it forks, directly or not. What is done within
    `OneRun._alone` is done by one thread at a time, in the process that began the run, and of no copy of it.
Requires
    Forks that run the handlers of Python, as `os.fork` and `multiprocessing` do; or that have a number of their own.
Relies on
    `os.register_at_fork`; process numbers.
Proof
    Each fork counts one more than its parent before any other code runs in it, and the number of a process never falls.
    A fork is refused before the lock, which a thread may have held that is not there.
Rounding
    None.
Source
    None.
Mutant
    forks-uncounted: the number of a process alone is compared; killed by test_forks_are_counted.
    a-run-goes-by-its-number: a fork goes on where it is given its parent's number; killed by
    test_a_fork_is_no_second_run.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn

from discreet.errors import InvalidParameter, expected

_forks = 0


def _count_fork() -> None:
    global _forks  # noqa: PLW0603 - the number of forks above this process is a fact of the process, not of an object
    _forks += 1


if hasattr(os, "register_at_fork"):  # Windows has no fork
    os.register_at_fork(after_in_child=_count_fork)


def this_process() -> tuple[int, int]:
    """A number of this process's own, and how many forks are above it.

    The number alone may be handed out again, and is 1 in each container or other namespace of processes.

    >>> this_process() == this_process()
    True
    """
    return os.getpid(), _forks


class OneRun:
    """What remembers what it has drawn: two of it would draw, and show, twice what was paid for."""

    def __init__(self) -> None:
        self._owner, self._guard = this_process(), threading.Lock()

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """One thread at a time, in the process that began the run."""
        if this_process() != self._owner:
            cure = f"make a new {type(self).__name__} in this process, and pay for it."
            raise InvalidParameter(expected("a run in the process that began it", "process", "a fork of it", cure))
        with self._guard:
            yield

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        """Refuses `copy`, `deepcopy` and `pickle`."""
        name = type(self).__name__
        cure = f"make a new {name}, and pay for it."
        raise InvalidParameter(expected("a run that stays where it is", "copy of", name, cure))
