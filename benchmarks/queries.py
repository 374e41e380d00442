"""Whole queries beside the same raw SQL on DuckDB, in turn in one run: ``python benchmarks/queries.py [rows ...]``.

The data: Zipf-like rows for each user (a tenth as many users as rows), 1,000 skewed keys, a value in [0, 1000]. T1
counts rows by key; T2 gives count, sum and mean by key of the value within [0, 500], each row a unit; T3 is T2 with the
user as the unit, who counts in at most 5 keys with 3 rows each. T1 and T2 stand beside the same aggregates without
privacy, T3 beside SQL that bounds contributions by row_number() and adds no noise. Warm, 2 threads, ours within 4 GB.
Time of the processor is printed beside that of the clock, since it says more on a machine with other work.
"""

from __future__ import annotations

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
MEMORY = "4GB"
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
    place = ibis.duckdb.connect(memory_limit=MEMORY, threads=THREADS, temp_directory=str(path.parent / "spill"))
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


def peak() -> float:
    """The most memory that this process has held, in GB (Linux)."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 2**20


def measure(task: str, path: Path, rounds: int) -> str:
    """One line: the medians of ours and of the raw query, in turn, and the peak memory of ours alone."""
    question = questions(path)[task]
    connection = duckdb.connect()
    connection.execute(f"SET threads = {THREADS}")
    sql = RAW[task].format(path=path)
    question.release(epsilon=1, fresh=True)
    memory = peak()
    ours, raw = [], []
    for _ in range(rounds):
        ours.append(seconds(lambda: question.release(epsilon=1, fresh=True)))
        if rounds > 1:  # SQL that orders the rows of each user takes longer than anybody would wait for it
            raw.append(seconds(lambda: connection.execute(sql).fetchnumpy()))
    clock, work = (statistics.median(part) for part in zip(*ours, strict=True))
    line = f"{task}  ours {clock:7.3f} s, {work:7.3f} s of the processor   peak {memory:5.2f} GB"
    if not raw:
        return line
    beside, its_work = (statistics.median(part) for part in zip(*raw, strict=True))
    return (
        f"{line}   raw {beside:7.3f} s, {its_work:7.3f} s   "
        f"ratio {clock / beside:5.2f}, {work / its_work:5.2f}   target {TARGETS[task]}"
    )


def main() -> None:
    """Times each task in a process of its own, so that one's memory does not count for the next."""
    if len(sys.argv) == 4 and sys.argv[1] in RAW:
        print(measure(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3])), flush=True)
        return
    for rows in [int(float(arg)) for arg in sys.argv[1:]] or [10_000_000]:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "rows.parquet"
            write(path, rows)
            print(f"{rows:,} rows, {rows // 10:,} users, {KEYS:,} keys, {THREADS} threads", flush=True)
            for task in RAW:
                rounds = 1 if rows > BATCH and task == "T3" else 3 if rows > BATCH or task == "T3" else 9
                subprocess.run([sys.executable, __file__, task, path, str(rounds)], check=True)  # noqa: S603 (this file)


if __name__ == "__main__":
    main()
