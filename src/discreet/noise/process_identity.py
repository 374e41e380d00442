"""What tells a process from its forks and its parents: budgets, runs and random streams belong to one.

Claim
    `this_process` differs between a process and each process that it forks, directly or not.
Requires
    Forks that run the handlers of Python, as `os.fork` and `multiprocessing` do; or that have a number of their own.
Relies on
    `os.register_at_fork`; process numbers.
Proof
    Each fork counts one more than its parent before any other code runs in it, and the number of a process never falls.
Rounding
    None.
Source
    None.
Mutant
    forks-uncounted: the number of a process alone is compared; killed by test_forks_are_counted.
"""

from __future__ import annotations

import os

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
