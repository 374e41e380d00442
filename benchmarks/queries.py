"""Whole queries beside the same raw SQL on DuckDB, in turn in one run: ``python benchmarks/queries.py [rows ...]``.

The data: Zipf-like rows for each user (a tenth as many users as rows), 1,000 skewed keys, a value in [0, 1000]. T1
counts rows by key; T2 gives count, sum and mean by key of the value within [0, 500], each row a unit; T3 is T2 with the
user as the unit, who counts in at most 5 keys with 3 rows each. T1 and T2 stand beside the same aggregates without
privacy, T3 beside SQL that bounds contributions by row_number() and adds no noise. Warm, 2 threads; ours within 4 GB,
3 of them for what the engine counts itself, with the settings of docs/engines/duckdb.md.
Time of the processor is printed beside that of the clock, since it says more on a machine with other work.

With several numbers of rows they take turns as well, smallest first, and the last lines say how much longer a question
takes from one number of rows to the next: the medians of what each round gave, since a machine is not equally fast all
the time. ``MEMORY=1GB`` in the environment sets another limit, ``ROUNDS=1`` another number of rounds.
"""

from __future__ import annotations

import itertools
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import duckdb
import ibis
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import discreet as dp

KEYS = 1000
THREADS = 2
MEMORY = os.environ.get("MEMORY", "3GB")
ROUNDS = int(os.environ.get("ROUNDS", "5"))
BATCH = 10_000_000
TARGETS = {"T1": "2.0 x", "T2": "1.6 x", "T3": "2.0 s at 10 M rows"}
RAW = {
    "T1": "SELECT key, count(*) FROM '{path}' GROUP BY key ORDER BY key",
    "T2": "SELECT key, count(*), sum(least(greatest(value, 0), 500)), avg(least(greatest(value, 0), 500)) "
    "FROM '{path}' GROUP BY key ORDER BY key",
    "T3": "WITH r AS (SELECT user_id, key, least(greatest(value, 0), 500) v, "
    "row_number() OVER (PARTITION BY user_id, key ORDER BY h) n FROM (SELECT *, random() h FROM '{path}')), "
    "g AS (SELECT user_id, key, count(*) c, sum(v) s, random() h FROM r WHERE n <= 3 GROUP BY ALL), "
    "k AS (SELECT *, row_number() OVER (PARTITION BY user_id ORDER BY h) n FROM g) "
    "SELECT key, sum(c), sum(s), sum(s) / sum(c) FROM k WHERE n <= 5 GROUP BY key ORDER BY key",
}


def write(path: Path, rows: int) -> None:
    """Writes the table in batches of ten million rows, so that any size fits in memory."""
    users = rows // 10
    generator = np.random.default_rng(20)
    weights = 1 / (np.arange(users) + 50) ** 0.9
    ends = np.cumsum(weights / weights.sum())
    names = generator.permutation(users)
    key_ends = np.cumsum(1 / (np.arange(KEYS) + 10) ** 1.1)
    key_names = generator.permutation(KEYS)
    schema = pa.schema({"user_id": pa.int64(), "key": pa.int32(), "value": pa.float64()})
    with pq.ParquetWriter(path, schema) as file:
        for first in range(0, rows, BATCH):
            n = min(BATCH, rows - first)
            user = np.minimum(np.searchsorted(ends, generator.random(n)), users - 1)
            key = np.searchsorted(key_ends / key_ends[-1], generator.random(n))
            value = np.clip(generator.lognormal(4.0, 1.0, n), 0, 1000)
            table = pa.table([names[user], key_names[np.minimum(key, KEYS - 1)].astype(np.int32), value], schema=schema)
            file.write_table(table, row_group_size=500_000)


def questions(path: Path) -> dict[str, dp.Question]:
    """The three tasks as questions."""
    settings = {"memory_limit": MEMORY, "block_allocator_memory": MEMORY, "threads": THREADS}
    place = ibis.duckdb.connect(**settings, temp_directory=f"{path}.{os.getpid()}")
    rows = place.read_parquet(path)
    keys, bounds = {"key": range(KEYS)}, {"value": (0, 500)}
    row = dp.protect(rows, unit=dp.ROW, bounds=bounds, keys=keys, budget=dp.Budget(epsilon=10_000))
    user = dp.protect(
        rows, unit="user_id", bounds=bounds, keys=keys, max_groups=5, max_rows=3, budget=dp.Budget(epsilon=10_000)
    )
    return {
        "T1": row.group_by("key").agg(n=lambda t: t.count()),
        "T2": row.group_by("key").agg(
            n=lambda t: t.count(), total=lambda t: t.value.sum(), mean=lambda t: t.value.mean()
        ),
        "T3": user.group_by("key").agg(
            n=lambda t: t.count(), total=lambda t: t.value.sum(), mean=lambda t: t.value.mean()
        ),
    }


def seconds(run: Callable[[], object]) -> tuple[float, float]:
    """How long one run takes, by the clock and in time of the processor."""
    start, work = time.perf_counter(), time.process_time()
    run()
    return time.perf_counter() - start, time.process_time() - work


def peak(process: int | str = "self") -> float:
    """The most memory that a process has held, in GB (Linux)."""
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 2**20


class Place:
    """A process of its own for one task at one number of rows, so that no memory counts twice; it waits to be asked."""

    def __init__(self, task: str, rows: int, path: Path) -> None:
        self.task, self.rows = task, rows
        self.repeats = max(1, min(9, 3 * BATCH // rows))
        self.ours: list[tuple[float, float]] = []
        self.raw: list[tuple[float, float]] = []
        command = [sys.executable, __file__, task, str(path)]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)  # noqa: S603 (this file)
        self.memory = self._said()[0]

    def ask(self) -> None:
        """One round: ours, then the raw query, each as often as makes a time that can be told."""
        self.ours.append(self._asked("ours"))
        if self.task != "T3" or self.rows <= BATCH:  # SQL that orders the rows of each user takes too long there
            self.raw.append(self._asked("raw"))

    def line(self) -> str:
        """The medians of all rounds."""
        clock, work = medians(self.ours)
        line = f"{self.rows:>11,} {self.task}  ours {clock:7.3f} s, {work:7.3f} s of the processor   "
        line += f"peak {self.memory:5.2f} GB"
        if not self.raw:
            return line
        beside, its_work = medians(self.raw)
        line += f"   raw {beside:7.3f} s, {its_work:7.3f} s   "
        return f"{line}ratio {clock / beside:5.2f}, {work / its_work:5.2f}   target {TARGETS[self.task]}"

    def end(self) -> None:
        """Lets the process go."""
        self._process.communicate()

    def _asked(self, what: str) -> tuple[float, float]:
        print(what, self.repeats, file=self._process.stdin, flush=True)
        clock, work = self._said()
        return clock, work

    def _said(self) -> list[float]:
        if not (line := next(iter(self._process.stdout or ()), "")):
            raise SystemExit(f"{self.task} at {self.rows:,} rows broke off")
        return [float(word) for word in line.split()]


def medians(times: list[tuple[float, float]]) -> tuple[float, float]:
    """Of the clock and of the processor."""
    clock, work = zip(*times, strict=True)
    return statistics.median(clock), statistics.median(work)


def answer(task: str, path: Path) -> None:
    """Says the most memory that a first release took, and then how long what each line asks for took."""
    question = questions(path)[task]
    connection = duckdb.connect()
    connection.execute(f"SET threads = {THREADS}")
    connection.execute("SET enable_progress_bar = false")
    sql = RAW[task].format(path=path)
    runs: dict[str, Callable[[], object]] = {
        "ours": lambda: question.release(epsilon=1, fresh=True),
        "raw": lambda: connection.execute(sql).fetchnumpy(),
    }
    runs["ours"]()
    print(peak(), flush=True)
    for line in sys.stdin:
        what, repeats = line.split()
        print(*medians([seconds(runs[what]) for _ in range(int(repeats))]), flush=True)


def growth(less: Place, more: Place) -> str:
    """How much longer the same question takes with more rows: the median of the rounds, the least and the most."""
    line = f"{less.rows:,} to {more.rows:,} rows (x {more.rows / less.rows:.0f})  {less.task}"
    for k, name in enumerate(("clock", "processor")):
        times = [b[k] / a[k] for a, b in zip(less.ours, more.ours, strict=True)]
        line += f"   {name} x {statistics.median(times):.1f} ({min(times):.1f} to {max(times):.1f})"
    return line


def main() -> None:
    """Times all tasks at all numbers of rows, in turn."""
    if len(sys.argv) == 3 and sys.argv[1] in RAW:
        answer(sys.argv[1], Path(sys.argv[2]))
        return
    sizes = sorted(int(float(arg)) for arg in sys.argv[1:]) or [10_000_000]
    with tempfile.TemporaryDirectory() as folder:
        print(f"a tenth as many users as rows, {KEYS:,} keys, {THREADS} threads, {MEMORY}, {ROUNDS} rounds", flush=True)
        paths = {rows: Path(folder) / f"{rows}.parquet" for rows in sizes}
        for rows, path in paths.items():
            write(path, rows)
        places = {(task, rows): Place(task, rows, path) for rows, path in paths.items() for task in RAW}
        for _ in range(ROUNDS):
            for place in places.values():
                place.ask()
        for place in places.values():
            print(place.line())
            place.end()
        for (less, more), task in itertools.product(itertools.pairwise(sizes), RAW):
            print(growth(places[task, less], places[task, more]))


if __name__ == "__main__":
    main()
