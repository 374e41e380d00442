"""Whether a clock tells two neighboring tables apart: one of them has one more person, with a million rows.

    python benchmarks/clock.py [requests] [--at-once 16] [--first 0.8] [--workers 2]

Analysts ask about both data sets, in random order and many at a time; each ask is answered anew. What each of them can
time is compared between the two by tests whose false alarms are one in 10,000 each: how long it takes to price and to
submit an ask, when its answer is first seen, and at which step. Then the same is done with a service that shows
answers when they are done, which the tests have to find.

At most `at-once / first` releases end in a second: 20 with the defaults, so that 10,000 take 8 to 9 minutes where there
is nothing else to do. As everywhere, the first step has to be long for these tables, and for those that ask: where the
machine does not keep up, answers are late, whichever table they are about, and no leak is found among the waits.
"""

from __future__ import annotations

import argparse
import os
import platform
import queue
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
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from scipy import stats

from discreet.curator.protect import protect
from discreet.ledger.budget import Budget
from discreet.service import answer_timing, jobs
from discreet.service.answer_timing import Pace, State
from discreet.service.data_sets import DataSet
from discreet.service.roles import Role
from discreet.service.service import Service, Settings
from discreet.service.state_store import StateStore, sqlite_file

REQUESTS, PLANTED = 10_000, 1_000
ROWS, MANY = 20_000, 1_000_000
LOOKS, CLOSE = 0.1, 0.005
"""Seconds between two looks of an analyst; and in the first tenth of a second, and from shortly before the announced
moment on."""
ALARM = 1e-4
NAMES = ("visits", "neighbor")
SQL = "SELECT place, COUNT(*) AS n, SUM(minutes) AS minutes FROM {name} GROUP BY place"


@dataclass(frozen=True, slots=True)
class Load:
    """How the service is asked."""

    at_once: int
    """So many analysts, each with one release at a time."""
    first: float
    """Seconds until the first step."""
    workers: int

    @property
    def apart(self) -> float:
        """Seconds between two asks: an answer is seen within a tenth of a second after its step."""
        return (self.first + LOOKS) / self.at_once


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


def data_set(name: str, folder: Path, first: float) -> DataSet:
    """One of the two tables, with the same declaration."""
    path = folder / f"{name}.parquet"
    pq.write_table(rows(neighbor=name == "neighbor"), path)
    budget = Budget(epsilon=10**9, ledger=folder / f"{name}.db")
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
    return DataSet(name=name, table=table, budget=budget, pace=Pace(least=first, per_million_rows=0, rows=ROWS))


def observed(service: Service, about: str, number: int, load: Load, analyst: str) -> Observed:
    """One release, as its analyst sees it."""
    ada = service.members.principal(analyst)
    ask = {"question": {"sql": SQL.format(name=about)}, "price": {"epsilon": "0.5"}, "fresh": True}
    began = time.perf_counter()
    service.explain(ada, ask)
    explained = time.perf_counter()
    job = service.submit(ada, ask, f"key-{number}")
    submitted = time.perf_counter()
    while (shown := service.job(ada, job.id)).state is not State.READY:
        assert shown.state is not State.FAILED
        now = time.time()
        time.sleep(CLOSE if now < job.accepted_at + LOOKS else min(LOOKS, max(CLOSE, shown.ready_at - now - CLOSE)))
    seen = time.time() - job.accepted_at
    step = round(np.log2((shown.ready_at - job.accepted_at) / load.first)) if shown.ready_at > job.accepted_at else 0
    return Observed(about, explained - began, submitted - explained, seen, step)


def measured(folder: Path, requests: int, load: Load) -> list[Observed]:
    """So many releases, about the two data sets in random order."""
    folder.mkdir()
    settings = Settings(jobs_at_once=10, workers=load.workers)
    datasets = [data_set(name, folder, load.first) for name in NAMES]
    service = Service(StateStore(sqlite_file(folder / "state.db")), datasets, settings)
    idle: queue.SimpleQueue[str] = queue.SimpleQueue()
    for number in range(load.at_once):
        idle.put(f"analyst{number}")
    for name in NAMES:
        for number in range(load.at_once):
            service.members.give(f"analyst{number}", name, Role.ANALYST)
        # The first look of an engine is another one.
        observed(service, name, -1 - NAMES.index(name), load, "analyst0")
    order = list(NAMES) * (requests // 2)
    random.Random(0).shuffle(order)  # noqa: S311 - the order of a benchmark

    began = time.perf_counter()

    def one_release(one: tuple[int, str]) -> Observed:
        analyst = idle.get()  # who has nothing open: what is sent meanwhile is shown after it
        # Asks come one by one, as many in a second of a service that answers early: in a crowd they would wait for one
        # another, and what a look at the rows takes would be lost among these waits.
        time.sleep(max(0.0, began + one[0] * load.apart - time.perf_counter()))
        found = observed(service, one[1], one[0], load, analyst)
        idle.put(analyst)
        return found

    with ThreadPoolExecutor(load.at_once) as pool:
        found = list(pool.map(one_release, enumerate(order)))
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
    honest = answer_timing.Schedule.view

    def view(self: Any, done: float | None, now: float, *, failed: bool = False) -> tuple[State, float]:
        if done is not None:
            return (State.FAILED if failed else State.READY), done
        return honest(self, done, now, failed=failed)

    def as_it_comes(moments: Any, behind: float, ended: float) -> float:
        del moments, behind
        return ended

    with patch.object(answer_timing.Schedule, "view", view), patch.object(jobs, "modelled_end", as_it_comes):
        yield


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
    reader = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    reader.add_argument("requests", nargs="?", type=int, default=REQUESTS)
    reader.add_argument("--at-once", type=int, default=16)
    reader.add_argument("--first", type=float, default=0.8)
    reader.add_argument("--workers", type=int, default=2)
    given = reader.parse_args()
    load = Load(given.at_once, given.first, given.workers)
    today = date.today()  # noqa: DTZ011 - a label
    print(f"{today}, {os.cpu_count()} cores of {platform.machine()}, Python {platform.python_version()}")
    print(f"load {os.getloadavg()}, first step {load.first} s, {load.at_once} at once", flush=True)
    with tempfile.TemporaryDirectory() as name:
        began = time.perf_counter()
        leaks = told("The service", measured(Path(name) / "honest", given.requests, load))
        print(f"\n{time.perf_counter() - began:.0f} s.")
        with planted():
            is_found = told("Answers that leave when they are done", measured(Path(name) / "planted", PLANTED, load))
    print(f"\nAlarms below {ALARM}: {'the service leaks' if leaks else 'none'}.")
    print(f"The planted leak is {'found' if is_found else 'not found'}.")
    sys.exit(leaks or not is_found)


if __name__ == "__main__":
    main()
