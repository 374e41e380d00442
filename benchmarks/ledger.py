"""How many charges a second a ledger takes, in memory and in a file, and how long a long ledger takes to open.

    python benchmarks/ledger.py [folder]

The files are made below `folder`, by default where temporary files go. What counts is how fast that disk syncs, so
that is printed too.
"""

from __future__ import annotations

import os
import platform
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import date
from fractions import Fraction
from functools import partial
from pathlib import Path

from discreet.ledger.budget import Budget, Reservation
from discreet.ledger.file_ledger import FileLedger, statement, verify
from discreet.ledger.ledger import Charge
from discreet.ledger.privacy_filter import Allowance
from discreet.privacy.definitions import Guarantee

IN_MEMORY = 100_000
IN_FILE = 300
LONG = 100_000
PROCESSES = 4

LITTLE = Guarantee(epsilon=Fraction(1, 10**6), delta=Fraction(1, 10**14))
CHARGE = Charge(source="people, version 1", what="count and mean of visits by plan", key="ab" * 32, guarantee=LITTLE)


def seconds(work: Callable[[], object], clock: Callable[[], float] = time.perf_counter) -> float:
    """How long `work` takes."""
    began = clock()
    work()
    return clock() - began


def tell(what: str, count: int, taken: float) -> None:
    """One line of the table."""
    print(f"{what:45} {count:>8,} in {taken:7.3f} s {count / taken:>11,.0f} /s")


def sync(folder: Path) -> None:
    """Writes and syncs as many pages as there are charges in the file, one by one."""
    with tempfile.TemporaryFile(dir=folder, buffering=0) as raw:
        for _ in range(IN_FILE):
            raw.write(bytes(4096))
            os.fsync(raw.fileno())


def spend(budget: Budget, charge: Charge, count: int) -> None:
    """Makes the same charge again and again."""
    for _ in range(count):
        budget.reserve(charge)


def answer(reservations: list[Reservation]) -> None:
    """Stores an answer for each."""
    for reservation in reservations:
        reservation.commit(bytes(2000))


def memory() -> None:
    """Charges in memory, one thread: seconds of the processor, of which less than one is wanted."""
    plain = Guarantee(epsilon=LITTLE.epsilon)
    pure = Charge(source=CHARGE.source, what=CHARGE.what, key=CHARGE.key, guarantee=plain)
    for what, charge in (("epsilon", pure), ("epsilon and delta", CHARGE)):
        budget = Budget(epsilon=1, delta=1e-8)
        taken = seconds(partial(spend, budget, charge, IN_MEMORY), time.process_time)
        tell(f"in memory, {what}", IN_MEMORY, taken)
        assert len(budget.entries()) == IN_MEMORY


def file(folder: Path) -> None:
    """Charges in a file: from one process and from several."""
    tell("one page written and synced", IN_FILE, seconds(lambda: sync(folder)))
    budget = Budget(epsilon=1, delta=1e-8, ledger=folder / "one.db")
    tell("in a file", IN_FILE, seconds(partial(spend, budget, CHARGE, IN_FILE)))
    reservations = [budget.reserve(CHARGE) for _ in range(IN_FILE)]
    tell("answers of 2 kB stored", IN_FILE, seconds(partial(answer, reservations)))
    tell("stored answers looked up", IN_FILE, seconds(lambda: [budget.stored(CHARGE.key) for _ in range(IN_FILE)]))
    each = IN_FILE // PROCESSES
    program = [sys.executable, __file__, "--spend", str(folder / "many.db"), str(each)]
    Budget(epsilon=1, delta=1e-8, ledger=folder / "many.db")

    def spend_together() -> None:
        processes = [subprocess.Popen(program) for _ in range(PROCESSES)]  # noqa: S603 - this file
        assert [process.wait() for process in processes] == [0] * PROCESSES

    tell(f"in a file, from {PROCESSES} processes, start included", each * PROCESSES, seconds(spend_together))
    assert len(statement(folder / "many.db").entries) == each * PROCESSES


def long(folder: Path) -> None:
    """Opening a ledger that has seen much: its end is verified."""
    allowance = Allowance.union(1, 1e-8)
    ledger = FileLedger(folder / "long.db", allowance)
    with ledger.exclusive() as balances:
        for _ in range(LONG):
            balances = ledger.admitted(CHARGE, balances)  # noqa: PLW2901 - the running total
            ledger.append_charge(CHARGE, balances)
    tell("charges in a ledger that is opened", LONG, seconds(lambda: FileLedger(folder / "long.db", allowance)))
    tell("charges verified, all of them", LONG, seconds(lambda: verify(folder / "long.db")))
    tell("charges read as entries", LONG, seconds(ledger.entries))
    tell("charges added to the long ledger", IN_FILE, seconds(lambda: [ledger.reserve(CHARGE) for _ in range(IN_FILE)]))


def main() -> None:
    """Prints the table."""
    if sys.argv[1:2] == ["--spend"]:
        budget = Budget(epsilon=1, delta=1e-8, ledger=sys.argv[2])
        spend(budget, CHARGE, int(sys.argv[3]))
        return
    today, versions = date.today(), f"Python {platform.python_version()}, SQLite {sqlite3.sqlite_version}"  # noqa: DTZ011 - a label
    print(f"{today}, {os.cpu_count()} cores of {platform.machine()}, {versions}")
    memory()
    with tempfile.TemporaryDirectory(dir=sys.argv[1] if sys.argv[1:] else None) as name:
        file(Path(name))
        long(Path(name))


if __name__ == "__main__":
    main()
