"""Charges to spend, and programs of their own to spend them in."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import discreet as dp
from discreet.accounting.allowance import Allowance
from discreet.curator.ledger import Charge, Ledger
from discreet.curator.ledger_file import FileLedger
from discreet.curator.ledger_memory import MemoryLedger
from discreet.curator.source import Protected
from discreet.privacy.definitions import Guarantee
from discreet.query.table import PrivateTable
from discreet.testing import splitmix

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


def rewrite(path: Path, *statements: str) -> None:
    """Does what the triggers forbid, and puts them back."""
    with closing(sqlite3.connect(path)) as database:
        triggers = database.execute("SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'").fetchall()
        for name, _ in triggers:
            database.execute(f"DROP TRIGGER {name}")
        for one in statements:
            database.execute(one)
        for _, sql in triggers:
            database.execute(sql)
        database.commit()


@pytest.fixture
def rewritten() -> Callable[..., None]:
    return rewrite


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
    """Starts a program after `PRELUDE`, by way of a command if need be; all are gone when the test ends."""
    started: list[subprocess.Popen[str]] = []

    def popen(program: str, *arguments: object, by: Sequence[str] = ()) -> subprocess.Popen[str]:
        command = [*by, sys.executable, "-c", PRELUDE + program, *map(str, arguments)]
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


# -- releases of every kind ------------------------------------------------------------------------------------


PEOPLE = 12_347
ROWS = pa.table(
    {
        "person": range(PEOPLE),
        "plan": ["free" if i % 3 else "25%" for i in range(PEOPLE)],
        "age": [18 + i * i % 71 for i in range(PEOPLE)],
        "page": [f"/{min(i * i % 13, 3)}" for i in range(PEOPLE)],
        "visits": [1 + i * i % 53 for i in range(PEOPLE)],
    }
)


def protected(**budget: Any) -> PrivateTable:
    """A table with noise that is the same each time, and hides what it is added to."""
    table = dp.protect(
        ROWS,
        unit="person",
        bounds={"age": (0, 100), "visits": "auto"},
        max_rows=1,
        max_groups=1,
        budget=dp.Budget(**budget or {"epsilon": 9, "delta": 1e-3}),
        name="t",
    )
    source: Any = table._source
    return PrivateTable.of(Protected(source._engine, source.declaration, table.budget, lambda: splitmix(5)))


Ask = Callable[[PrivateTable, Path], Any]
PLANS = {"plan": ["free", "25%"]}
KINDS: dict[str, Ask] = {
    "plain": lambda t, _: t.agg(n=lambda t: t.count(), s=lambda t: t.age.sum()).release(epsilon=0.001),
    "grouped": lambda t, _: t.group_by("plan", keys=PLANS).agg(s=lambda t: t.age.sum()).release(epsilon=0.001),
    "ranks": lambda t, _: t.agg(m=t.age.median()).release(epsilon=0.001),
    "unknown keys": lambda t, _: (
        t.group_by("page", keys=dp.UNKNOWN).agg(s=lambda t: t.age.sum()).release(epsilon=0.02, delta=1e-4)
    ),
    "a report": lambda t, _: (
        t.mutate(a=lambda t: t.age * 2).agg(s=lambda t: t.a.sum()).release(epsilon=0.001, report="clipped")
    ),
    "automatic bounds": lambda t, _: t.agg(s=lambda t: t.visits.sum()).release(epsilon=0.02),
    "rounds": lambda t, _: t.count().release(within={"count": 1}, up_to=0.001),
    "file": lambda t, folder: (
        t.group_by("plan", keys=PLANS).agg(n=lambda t: t.count()).release(epsilon=0.001, to=folder / "a.parquet")
    ),
    "log": lambda t, _: dp.release_log(t, user="person", item="page", epsilon=0.05, delta=1e-3),
    "top": lambda t, _: t.top("page", keys=["/0", "/1", "/2", "/3"], k=2, epsilon=0.001),
    "k-means": lambda t, _: t.kmeans(["age"], n_clusters=2, algorithm="lloyd", rounds=1, epsilon=0.001),
}


@pytest.fixture(params=KINDS)
def ask(request: pytest.FixtureRequest) -> Ask:
    """A release of some kind."""
    return KINDS[request.param]


@pytest.fixture
def plain() -> Ask:
    """One of the plainest."""
    return KINDS["plain"]


@pytest.fixture
def hidden() -> Callable[..., PrivateTable]:
    """Makes tables for `ask`."""
    return protected
