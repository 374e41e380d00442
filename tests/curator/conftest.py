"""Charges to spend, and programs of their own to spend them in."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from pathlib import Path

import pytest

from discreet.accounting.allowance import Allowance
from discreet.curator.ledger import Charge, Ledger
from discreet.curator.ledger_file import FileLedger
from discreet.curator.ledger_memory import MemoryLedger
from discreet.privacy.definitions import Guarantee

ONE = Allowance(epsilon=Fraction(1))

MakeCharge = Callable[..., Charge]
Run = Callable[..., str]
Open = Callable[..., Ledger]
AtOnce = Callable[..., None]


def make_charge(epsilon: object = Fraction(1, 10), delta: object = Fraction(0), key: str = "ab" * 32) -> Charge:
    """A charge; the amounts may be wrong on purpose."""
    guarantee = Guarantee(epsilon=epsilon, delta=delta)  # type: ignore[arg-type]  # as an untyped caller would
    return Charge(source="people, version 1", what="count by plan", key=key, guarantee=guarantee)


@pytest.fixture
def charge() -> MakeCharge:
    return make_charge


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """A folder in memory where the system has one: hundreds of ledgers, each synced to a disk, take minutes."""
    in_memory = Path("/dev/shm")  # noqa: S108 - a fresh folder is made inside of it
    if not os.access(in_memory, os.W_OK):
        yield tmp_path
        return
    with tempfile.TemporaryDirectory(dir=in_memory) as name:
        yield Path(name)


@pytest.fixture
def path(folder: Path) -> Path:
    return folder / "spent.db"


@pytest.fixture
def used(path: Path, charge: MakeCharge) -> Path:
    """A closed ledger of 1 with four charges of 0.1, the last of them without an answer."""
    ledger = FileLedger(path, ONE)
    for number in range(1, 4):
        ledger.commit(ledger.reserve(charge(key=f"{number:064x}")), bytes([number]) * 100)
    ledger.reserve(charge())
    return path


@pytest.fixture(params=["memory", "file"])
def new_ledger(request: pytest.FixtureRequest, folder: Path) -> Open:
    """Makes ledgers of either kind: what holds for one has to hold for the other."""

    def make(epsilon: Fraction = Fraction(1), delta: Fraction = Fraction(0), name: str = "spent.db") -> Ledger:
        allowance = Allowance(epsilon=epsilon, delta=delta)
        return MemoryLedger(allowance) if request.param == "memory" else FileLedger(folder / name, allowance)

    return make


def run_at_once(analysts: Sequence[Callable[[], None]], *, turn: float) -> None:
    """Runs each in a thread of its own, all from one moment on, with threads that take turns of so few seconds."""
    gun, before = threading.Barrier(len(analysts)), sys.getswitchinterval()

    def started(analyst: Callable[[], None]) -> None:
        gun.wait()
        analyst()

    sys.setswitchinterval(turn)
    try:
        threads = [threading.Thread(target=started, args=(analyst,)) for analyst in analysts]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(before)


@pytest.fixture
def at_once() -> AtOnce:
    return run_at_once


PRELUDE = """
import os, signal, sys
from fractions import Fraction
from discreet.curator.budget import Budget
from discreet.curator.ledger import Charge
from discreet.errors import BudgetExceeded, LedgerError
from discreet.privacy.definitions import Guarantee

def charge(epsilon=Fraction(1, 10), key="ab" * 32):
    return Charge(source="people, version 1", what="count by plan", key=key, guarantee=Guarantee(epsilon=epsilon))
"""


@pytest.fixture
def start() -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Starts a program after `PRELUDE`; all are gone when the test ends."""
    started: list[subprocess.Popen[str]] = []

    def popen(program: str, *arguments: object) -> subprocess.Popen[str]:
        command = [sys.executable, "-c", PRELUDE + program, *map(str, arguments)]
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        started.append(process)
        return process

    yield popen
    for process in started:
        process.kill()
        process.communicate()


@pytest.fixture
def run(start: Callable[..., subprocess.Popen[str]]) -> Run:
    """What a program prints, however it ends."""
    return lambda program, *arguments: start(program, *arguments).communicate(timeout=60)[0]
