"""Interrupted anywhere, a ledger goes on: no lock is kept, no charge is half made, and the total is that of all."""

from __future__ import annotations

import _thread
import gc
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from types import FrameType, SimpleNamespace
from typing import Any

import pytest

from discreet.errors import LedgerError
from discreet.ledger import ledger, signal_deferral
from discreet.ledger.budget import Budget
from discreet.ledger.file_ledger import FileLedger, statement
from discreet.ledger.ledger import Charge
from discreet.ledger.parallel_composition import PartBudget, Parts
from discreet.ledger.privacy_filter import Allowance

MakeCharge = Callable[..., Charge]
Start = Callable[..., subprocess.Popen[str]]
Use = Callable[[], object]
Tracer = Callable[[FrameType, str, Any], Any]

FOLDER = Path(ledger.__file__).parent
OURS = {str(file) for file in FOLDER.glob("*.py")}


def test_no_signal_reaches_the_work() -> None:
    """It is done in another thread than that in which signals are handled, and at once where that is so already."""
    seen: list[int] = []
    work = signal_deferral.uninterrupted(lambda: seen.append(threading.get_ident()))
    work()
    other = threading.Thread(target=work)
    other.start()
    other.join()
    assert seen[0] != threading.main_thread().ident
    assert seen[1] == other.ident


def test_what_is_returned_and_raised_is_that_of_the_work() -> None:
    @signal_deferral.uninterrupted
    def half(number: int, *, of: int) -> float:
        return of / number

    assert half(2, of=3) == 1.5
    with pytest.raises(ZeroDivisionError) as failure:
        half(0, of=3)
    assert failure.value.__context__ is None


def test_without_another_thread_nothing_is_done(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object) -> None:
        raise RuntimeError("can't start new thread")

    done: list[int] = []
    monkeypatch.setattr(
        signal_deferral, "_thread", SimpleNamespace(allocate_lock=_thread.allocate_lock, start_new_thread=refused)
    )
    with pytest.raises(LedgerError, match="nothing was recorded"):
        signal_deferral.uninterrupted(lambda: done.append(1))()
    assert done == []


def test_a_thread_that_ends_before_its_work_is_missed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Python starts a thread, and has no memory for its first call."""

    def started(_: object, given: tuple[object, ...]) -> int:
        return _thread.start_new_thread(lambda *_: None, given)

    monkeypatch.setattr(
        signal_deferral, "_thread", SimpleNamespace(allocate_lock=_thread.allocate_lock, start_new_thread=started)
    )
    monkeypatch.setattr(signal_deferral, "LOOK_SECONDS", 0.01)
    told: list[str] = []

    def wait() -> None:
        with pytest.raises(LedgerError) as refusal:
            signal_deferral._elsewhere(lambda: None)
        told.append(str(refusal.value))

    waits = threading.Thread(target=wait, daemon=True)
    waits.start()
    waits.join(10)
    assert "nothing was recorded" in "".join(told)


class LateLock:
    """Is let go, by a thread that ends at once, after the time for which it was waited, and before anybody looks."""

    def __init__(self) -> None:
        self._lock = _thread.allocate_lock()
        self.has_waited = False

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:  # noqa: FBT001, FBT002 (as a lock's)
        if timeout < 0 or self.has_waited:
            return self._lock.acquire(blocking, timeout)
        self.has_waited = self._lock.acquire()
        self._lock.release()
        time.sleep(0.2)  # for the thread to end; where it has not yet, the next look finds what it did
        return False

    def release(self) -> None:
        self._lock.release()


def test_work_that_ends_between_two_looks_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    late = LateLock()
    monkeypatch.setattr(
        signal_deferral,
        "_thread",
        SimpleNamespace(allocate_lock=lambda: late, start_new_thread=_thread.start_new_thread),
    )
    assert signal_deferral._elsewhere(lambda: 7) == 7
    assert late.has_waited


def traced(place: int, happens: Callable[[], None], *, opcodes: bool) -> Tracer:
    """Calls `happens` at the `place`-th line, or opcode, of our own files."""
    left = [place]

    def trace(frame: FrameType, event: str, _: object) -> Tracer | None:
        if frame.f_code.co_filename not in OURS:
            return None
        frame.f_trace_opcodes = opcodes
        if event in {"line", "opcode"}:
            left[0] -= 1
            if not left[0]:
                happens()
        return trace

    return trace


def interrupt() -> None:
    raise KeyboardInterrupt


def is_interrupted(use: Use, place: int, *, opcodes: bool) -> bool:
    """Whether this thread came so far, and was interrupted."""
    before = sys.gettrace()
    sys.settrace(traced(place, interrupt, opcodes=opcodes))
    try:
        use()
    except KeyboardInterrupt:
        return True
    finally:
        sys.settrace(before)
    return False


@pytest.fixture(params=["memory", "file", "parts"])
def budget(request: pytest.FixtureRequest, folder: Path) -> Budget | PartBudget:
    gc.collect()  # what other tests left would be let go of while this thread is interrupted
    made = Budget(epsilon=10**6, ledger=folder / "spent.db" if request.param == "file" else None)
    return PartBudget(Parts(made, number=2, most=1), 0) if request.param == "parts" else made


EACH = 40
"""Every so many interrupted opcodes it is seen that charging goes on."""


def check_goes_on(budget: Budget | PartBudget, charge: MakeCharge) -> None:
    """The next charge is made, in this thread and in another, and the total is that of what is recorded."""
    before = budget.spent.epsilon
    budget.reserve(charge()).commit(b"answer")
    other = threading.Thread(target=lambda: budget.reserve(charge()).commit(b"answer"), daemon=True)
    other.start()
    other.join(60)
    assert not other.is_alive()
    # Of those that were interrupted since the last check, some may still have been on their way.
    assert 10 * (budget.spent.epsilon - before) in range(2, 3 + EACH)


@pytest.mark.long
@pytest.mark.parametrize("opcodes", [False, True], ids=["lines", "opcodes"])
def test_a_charge_interrupted_anywhere(budget: Budget | PartBudget, charge: MakeCharge, *, opcodes: bool) -> None:
    """At each line, and each opcode, that the asking thread comes to."""

    def use() -> None:
        budget.reserve(charge(key="cd" * 32)).commit(b"answer")

    place = 1
    while is_interrupted(use, place, opcodes=opcodes):
        place += 1
        if place % EACH == 0 or not opcodes:
            check_goes_on(budget, charge)
    check_goes_on(budget, charge)
    until = time.monotonic() + 30
    while (entries := budget.entries()) and time.monotonic() < until:
        if budget.spent.epsilon == sum(entry.guarantee.epsilon for entry in entries):
            break
    assert budget.spent.epsilon == sum(entry.guarantee.epsilon for entry in entries)
    assert [entry.number for entry in entries] == list(range(1, len(entries) + 1))
    assert place > 15


class Interrupted(BaseException):
    """What a signal raises in the main thread."""


@contextmanager
def signaled(monkeypatch: pytest.MonkeyPatch, place: int) -> Iterator[list[int]]:
    """Sends a signal to the main thread when a thread that works for it comes to the `place`-th line."""
    sent: list[int] = []

    def send() -> None:
        sys.settrace(None)  # Python 3.11 does not get past a call in a traced thread while a signal is pending
        sent.append(place)
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGUSR1)

    def start(run: Callable[[], None], arguments: tuple[()]) -> int:
        def traced_run() -> None:
            sys.settrace(traced(place, send, opcodes=False))
            run(*arguments)

        return _thread.start_new_thread(traced_run, ())

    def handle(*_: object) -> None:
        raise Interrupted

    signal.signal(signal.SIGUSR1, handle)
    faked = SimpleNamespace(allocate_lock=_thread.allocate_lock, start_new_thread=start)
    with monkeypatch.context() as patch:
        patch.setattr(signal_deferral, "_thread", faked)
        try:
            yield sent
        finally:
            # Not the default again, which would end the process: another thread may still be about to send one.
            signal.signal(signal.SIGUSR1, lambda *_: None)


@pytest.mark.long
@pytest.mark.skipif(not hasattr(signal, "pthread_kill"), reason="Windows sends no signals to threads")
@pytest.mark.parametrize("what", ["reserve", "commit", "open"])
def test_a_signal_at_each_line_of_the_work(
    folder: Path, charge: MakeCharge, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    """The asker is interrupted while the ledger is at any of its lines; another process' ledger is free right after."""
    path = folder / "spent.db"
    mine, other = Budget(epsilon=10**6, ledger=path), FileLedger(path, Allowance(epsilon=Fraction(10**6)))
    place = interrupted = 0
    while True:
        place += 3
        paid = mine.reserve(charge()) if what == "commit" else None
        with signaled(monkeypatch, place) as sent:
            try:
                if paid:
                    paid.commit(b"answer")
                elif what == "reserve":
                    mine.reserve(charge())
                else:
                    Budget(epsilon=10**6, ledger=path)
            except Interrupted:
                interrupted += 1
        if not sent:
            break
        with other.exclusive() as before:
            assert before.whole.spent.epsilon >= 0
    if what != "open":
        mine.reserve(charge()).commit(b"answer")
    entries = other.entries()
    assert mine.spent.epsilon == other.spent().epsilon == sum(entry.guarantee.epsilon for entry in entries)
    assert interrupted > 20


FUZZ = """
import random, threading
class Late(BaseException):
    pass
def late(*_):
    raise Late
signal.signal(signal.SIGALRM, late)
chance, interrupted = random.Random(int(sys.argv[2])), 0
budget = Budget(epsilon=10**6, ledger=None if sys.argv[1] == "memory" else sys.argv[1])
for turn in range(150):
    try:
        signal.setitimer(signal.ITIMER_REAL, 1e-6 + chance.random() * (0.0002 if sys.argv[1] == "memory" else 0.006))
        for _ in range(40 if sys.argv[1] == "memory" else 2):
            budget.reserve(charge()).commit(b"answer")
        signal.setitimer(signal.ITIMER_REAL, 0)
    except Late:
        interrupted += 1
signal.setitimer(signal.ITIMER_REAL, 0)
budget.reserve(charge()).commit(b"answer")
rival = threading.Thread(target=lambda: budget.reserve(charge()).commit(b"answer"))
rival.start()
rival.join(30)
assert not rival.is_alive()
entries = budget.entries()
assert budget.spent.epsilon == sum(entry.guarantee.epsilon for entry in entries)
assert [entry.number for entry in entries] == list(range(1, len(entries) + 1))
print(interrupted, flush=True)
sys.stdin.readline()
"""


@pytest.mark.long
@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="Windows has no timers that signal")
@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("kind", ["memory", "file"])
def test_signals_at_random_moments(path: Path, start: Start, kind: str, seed: int) -> None:
    process = start(FUZZ, kind if kind == "memory" else path, seed)
    assert process.stdout
    assert int(process.stdout.readline()) > 30
    if kind == "file":  # while the process that was interrupted goes on
        total = statement(path, entries=False).spent.epsilon
        assert FileLedger(path, statement(path, entries=False).allowance).spent().epsilon == total


@pytest.mark.skipif(not hasattr(os, "fork"), reason="Windows has no fork")
def test_a_handler_may_charge(path: Path, run: Callable[..., str]) -> None:
    """While a charge is being made: both are, one after the other."""
    program = """
import threading
import time
budget = Budget(epsilon=100, ledger=None if sys.argv[1] == "memory" else sys.argv[1])
charged = []
signal.signal(signal.SIGALRM, lambda *_: charged.append(budget.reserve(charge())))
signal.setitimer(signal.ITIMER_REAL, 0.0005, 0.005)
made = [budget.reserve(charge()) for _ in range(60)]
signal.setitimer(signal.ITIMER_REAL, 0)
print(sorted(one.number for one in made + charged) == list(range(1, len(made + charged) + 1)))
"""
    assert run(program, path) == "True\n"
    assert run(program, "memory") == "True\n"
