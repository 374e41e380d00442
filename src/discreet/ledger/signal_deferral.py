"""Work on a ledger that no signal cuts short.

Claim
    What `uninterrupted` decorates runs to its end, or to an exception of its own: KeyboardInterrupt, or whatever else
    the handler of a signal raises, reaches its caller and never falls inside of it.
Requires
    Nobody raises exceptions in other threads by way of the interpreter (``PyThreadState_SetAsyncExc``).
Relies on
    Python runs the handlers of signals in the main thread alone (library reference, `signal`).
Proof
    In the main thread the work is done by a thread of its own, for whose end the main one waits; in any other it is
    done at once. So it is never done in the thread in which handlers run. What a handler raises ends the wait, or
    falls before the thread was started or after the outcome was had; the work has happened whole or not at all. All
    locks are taken and given back by the work. The wait has one lock of its own, which nobody else ever asks for. A
    thread that ends before its work began, for lack of memory, lets go of what only it has, and is missed by that.
Rounding
    None.
Source
    A ``with`` statement does not suffice: a signal may be handled between the return of ``__enter__`` and its body, or
    between its body and ``__exit__`` (bugs.python.org/issue29988).
Mutant
    signals-reach-the-ledger: the main thread does the work; killed by test_no_signal_reaches_the_work.
    threads-that-ended-are-awaited: the wait goes on when the thread has ended; killed by
    test_a_thread_that_ends_before_its_work_is_missed.
    work-between-two-looks-is-missed: a thread whose work ended just after a look is taken for one without work; killed
    by test_work_that_ends_between_two_looks_is_seen.
"""

from __future__ import annotations

import _thread
import threading
import weakref
from collections.abc import Callable
from contextvars import ContextVar, copy_context
from functools import partial, wraps
from typing import ParamSpec, TypeVar

from discreet.errors import LedgerError, expected

P = ParamSpec("P")
T = TypeVar("T")

LOOK_SECONDS = 1.0
"""Between two looks at whether the thread that works is still there."""

_caller: ContextVar[int | None] = ContextVar("_caller", default=None)


def caller() -> int | None:
    """The thread that waits for this one, if it works for another."""
    return _caller.get()


def uninterrupted(work: Callable[P, T]) -> Callable[P, T]:
    """`work`, which no signal cuts short.

    >>> uninterrupted(lambda: threading.current_thread() is threading.main_thread())()
    False
    """

    @wraps(work)
    def shielded(*args: P.args, **kwargs: P.kwargs) -> T:
        if threading.get_ident() != threading.main_thread().ident:
            return work(*args, **kwargs)
        return _elsewhere(partial(work, *args, **kwargs))

    return shielded


def _elsewhere(work: Callable[[], T]) -> T:
    """What `work` returns or raises in a thread of its own."""
    done, returned, raised = _thread.allocate_lock(), list[T](), list[BaseException]()
    held = set[int]()
    context = copy_context()
    context.run(_caller.set, threading.get_ident())

    def run(_: object) -> None:
        try:
            returned.append(context.run(work))
        except BaseException as error:  # noqa: BLE001 - it is raised again where it belongs
            raised.append(error)
        finally:
            done.release()

    done.acquire()
    try:
        _thread.start_new_thread(run, (held,))
    except RuntimeError as error:
        raise _no_thread(str(error)) from error
    is_there = weakref.ref(held)
    del held
    while not done.acquire(timeout=LOOK_SECONDS):
        # One that did its work let go of the lock before it ended, if only since the last look.
        if is_there() is None:
            if done.acquire(blocking=False):
                break
            raise _no_thread("one that ended at once")
    if raised:
        raise raised.pop()
    return returned.pop()


def _no_thread(found: str) -> LedgerError:
    cure = "end other threads, or ask before the program ends; nothing was recorded."
    return LedgerError(expected("a thread for the ledger", "thread", found, cure))
