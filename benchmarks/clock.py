"""Whether a clock tells two neighboring tables apart: one of them has one more person, with a million rows.

    python benchmarks/clock.py [requests]

Analysts ask about both data sets, in random order and many at a time; each ask is answered anew. What each of them can
time is compared between the two by tests whose false alarms are one in 10,000 each: how long it takes to price and to
submit an ask, when its answer is first seen, and at which step. Then the same is done with a service that shows
answers when they are done, which the tests have to find.
"""

from __future__ import annotations

import os
import platform
import random
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from scipy import stats

from discreet.curator.protect import protect
from discreet.ledger.budget import Budget
from discreet.service import public_moments
from discreet.service.data_sets import DataSet
from discreet.service.public_moments import Pace, State
from discreet.service.roles import Role
from discreet.service.service import Service, Settings
from discreet.service.state_store import StateStore, sqlite_file

REQUESTS, PLANTED = 10_000, 400
ROWS, MANY = 20_000, 1_000_000
AT_ONCE, ANALYSTS = 8, 32
FIRST = 2.0
"""Seconds until the first step: long for these tables, as a first step has to be."""
LOOKS = 0.01
"""Seconds between two looks of an analyst."""
ALARM = 1e-4
NAMES = ("visits", "neighbor")
SQL = "SELECT place, COUNT(*) AS n, SUM(minutes) AS minutes FROM {name} GROUP BY place"


@dataclass(frozen=True, slots=True)
class Observed:
    """What an analyst can time of one release."""

    about: str
    explained: float
    submitted: float
    seen: float
    step: int


def rows(*, neighbor: bool) -> pa.Table:
    """Visits of many people; in the neighbor, also those of one more, who came a million times."""
    person = np.arange(ROWS) // 4
    if neighbor:
        person = np.concatenate([person, np.full(MANY, ROWS)])
    place = np.array(["north", "south", "west"])[np.arange(len(person)) % 3]
    return pa.table({"person": person, "place": place, "minutes": (np.arange(len(person)) % 240).astype(float)})


def data_set(name: str, folder: Path) -> DataSet:
    """One of the two tables, with the same declaration."""
    path = folder / f"{name}.parquet"
    pq.write_table(rows(neighbor=name == "neighbor"), path)
    budget = Budget(epsilon=10**9)
    table = protect(
        path,
        unit="person",
        bounds={"minutes": (0, 240)},
        keys={"place": ["north", "south", "west"]},
        max_groups=3,
        max_rows=20,
        budget=budget,
        name=name,
    )
    return DataSet(name=name, table=table, budget=budget, pace=Pace(least=FIRST, per_million_rows=0, rows=ROWS))


def observed(service: Service, about: str, number: int) -> Observed:
    """One release, as its analyst sees it."""
    ada = service.members.principal(f"analyst{number % ANALYSTS}")
    ask = {"question": {"sql": SQL.format(name=about)}, "price": {"epsilon": "0.5"}, "fresh": True}
    began = time.perf_counter()
    service.explain(ada, ask)
    explained = time.perf_counter()
    job = service.submit(ada, ask, f"key-{number}")
    submitted = time.perf_counter()
    while (shown := service.job(ada, job.id)).state is not State.READY:
        assert shown.state is not State.FAILED
        time.sleep(LOOKS)
    seen = time.time() - job.accepted_at
    step = round(np.log2((shown.ready_at - job.accepted_at) / FIRST)) if shown.ready_at > job.accepted_at else 0
    return Observed(about, explained - began, submitted - explained, seen, step)


def measured(folder: Path, requests: int) -> list[Observed]:
    """So many releases, about the two data sets in random order."""
    folder.mkdir()
    settings = Settings(jobs_at_once=10 * AT_ONCE, workers=2)
    service = Service(
        StateStore(sqlite_file(folder / "state.db")), [data_set(name, folder) for name in NAMES], settings
    )
    for name in NAMES:
        for number in range(ANALYSTS):
            service.members.give(f"analyst{number}", name, Role.ANALYST)
        observed(service, name, -1 - NAMES.index(name))  # the first look of an engine is another one
    order = list(NAMES) * (requests // 2)
    random.Random(0).shuffle(order)  # noqa: S311 - the order of a benchmark
    with ThreadPoolExecutor(AT_ONCE) as pool:
        found = list(pool.map(lambda one: observed(service, one[1], one[0]), enumerate(order)))
    service.close()
    return found


def compared(found: list[Observed]) -> Iterator[tuple[str, str, str, float]]:
    """Each thing that can be timed: its median for both tables, and the probability of such a difference by chance."""
    parts = [[one for one in found if one.about == name] for name in NAMES]
    looks: dict[str, Callable[[Observed], float]] = {
        "to price, s": lambda one: one.explained,
        "to submit, s": lambda one: one.submitted,
        "answer first seen after, s": lambda one: one.seen,
    }
    for what, look in looks.items():
        left, right = ([look(one) for one in part] for part in parts)
        chance = stats.ks_2samp(left, right).pvalue
        yield what, f"{np.median(left):.4f}", f"{np.median(right):.4f}", chance
    late = [sum(one.step > 0 for one in part) for part in parts]
    table = [[late[0], len(parts[0]) - late[0]], [late[1], len(parts[1]) - late[1]]]
    yield (
        "late, of all",
        f"{late[0]} of {len(parts[0])}",
        f"{late[1]} of {len(parts[1])}",
        stats.fisher_exact(table).pvalue,
    )


@contextmanager
def planted() -> Iterator[None]:
    """A service that shows answers as soon as they are done."""
    honest = public_moments.Schedule.view

    def view(self: Any, done: float | None, now: float, *, failed: bool = False) -> tuple[State, float]:
        if done is not None:
            return (State.FAILED if failed else State.READY), done
        return honest(self, done, now, failed=failed)

    public_moments.Schedule.view = view  # type: ignore[method-assign]  # the leak to find
    try:
        yield
    finally:
        public_moments.Schedule.view = honest  # type: ignore[method-assign]  # as it was


def told(title: str, found: list[Observed]) -> bool:
    """Prints a table; true, where one of the tests raises an alarm."""
    print(f"\n{title}: {len(found):,} releases\n")
    print("| | without | with a million rows of one person | chance of such a difference |\n|---|--:|--:|--:|")
    alarms = []
    for what, left, right, chance in compared(found):
        print(f"| {what} | {left} | {right} | {chance:.2g} |", flush=True)
        alarms.append(chance < ALARM)
    return any(alarms)


def main() -> None:
    """Prints both tables; fails where the service leaks, or the planted leak is not found."""
    requests = int(sys.argv[1]) if sys.argv[1:] else REQUESTS
    today = date.today()  # noqa: DTZ011 - a label
    print(f"{today}, {os.cpu_count()} cores of {platform.machine()}, Python {platform.python_version()}")
    print(f"load {os.getloadavg()}, first step {FIRST} s, {AT_ONCE} at once", flush=True)
    with tempfile.TemporaryDirectory() as name:
        began = time.perf_counter()
        leaks = told("The service", measured(Path(name) / "honest", requests))
        print(f"\n{time.perf_counter() - began:.0f} s.")
        with planted():
            is_found = told("Answers that leave when they are done", measured(Path(name) / "planted", PLANTED))
    print(f"\nAlarms below {ALARM}: {'the service leaks' if leaks else 'none'}.")
    print(f"The planted leak is {'found' if is_found else 'not found'}.")
    sys.exit(leaks or not is_found)


if __name__ == "__main__":
    main()
