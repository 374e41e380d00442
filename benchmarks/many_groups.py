"""Answers with more groups than fit in memory, to a file: ``python benchmarks/many_groups.py [groups ...] [spark]``.

Ten million rows, each a person, in so many public groups, whose keys come from a Parquet file: a count and a sum by
group go to another one. DuckDB has 4 GB and spills beyond; with ``spark``, a session in local mode
has 4 GB for its Java. Each size is a process of its own, whose greatest memory is shown beside that of its Java.
Checking the keys is timed apart from the release. Two threads.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import ibis
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from queries import peak, seconds

import discreet as dp
from temporary_spark import temporary_spark

ROWS = 10_000_000
BATCH = 1_000_000
MEMORY = "4GB"


def write(rows: Path, keys: Path, groups: int) -> None:
    """The table, whose rows are spread over the groups, and the keys."""
    generator = np.random.default_rng(21)
    with pq.ParquetWriter(rows, pa.schema({"person": pa.int64(), "block": pa.int64(), "visits": pa.int64()})) as file:
        for first in range(0, ROWS, BATCH):
            person = np.arange(first, first + BATCH)
            block, visits = generator.integers(0, groups, BATCH), generator.integers(0, 50, BATCH)
            file.write_table(pa.table({"person": person, "block": block, "visits": visits}))
    with pq.ParquetWriter(keys, pa.schema({"block": pa.int64()})) as file:
        for first in range(0, groups, BATCH):
            file.write_table(pa.table({"block": np.arange(first, min(first + BATCH, groups))}))


@contextmanager
def duckdb(rows: Path) -> Iterator[Any]:
    """The table in DuckDB, within its limit."""
    backend = ibis.duckdb.connect(memory_limit=MEMORY, threads=2, temp_directory=str(rows.parent / "spilled"))
    yield backend.read_parquet(rows)


@contextmanager
def spark(rows: Path) -> Iterator[Any]:
    """The table in a session of our own."""
    with temporary_spark({"spark.driver.memory": "4g", "spark.driver.maxResultSize": "0"}) as session:
        session.read.parquet(str(rows)).createOrReplaceTempView("rows")
        yield ibis.pyspark.connect(session).table("rows")


def of_java() -> str:
    """The same of Spark's Java."""
    from pyspark import SparkContext

    lines = Path(f"/proc/{SparkContext._gateway.proc.pid}/status").read_text().splitlines()  # noqa: SLF001 (nothing else knows it)
    return f", Java {next(int(line.split()[1]) for line in lines if line.startswith('VmHWM')) / 2**20:.2f} GB"


def measure(engine: str, groups: int, folder: Path) -> str:
    """One line."""
    rows, keys, to = folder / "rows.parquet", folder / "keys.parquet", folder / "answer.parquet"
    with {"duckdb": duckdb, "spark": spark}[engine](rows) as table:
        bounds = {"visits": (0, 50)}
        people = dp.protect(table, unit=dp.ROW, bounds=bounds, budget=dp.Budget(epsilon=1), name="rows")
        asked: list[dp.Question] = []

        def ask() -> None:
            grouped = people.group_by("block", keys=str(keys))
            asked.append(grouped.agg(n=lambda t: t.count(), visits=lambda t: t.visits.sum()))

        checking, _ = seconds(ask)
        clock, worked = seconds(lambda: asked[0].release(epsilon=1, to=to))
        assert pq.read_metadata(to).num_rows == groups
        return (
            f"{engine}  {groups:>12,} groups: keys {checking:.1f} s, release {clock:.1f} s (processor {worked:.1f} s), "
            f"{to.stat().st_size / 1e6:,.0f} MB, most memory {peak():.2f} GB" + (of_java() if engine == "spark" else "")
        )


def main() -> None:
    """Each size in a process of its own."""
    engine = "spark" if "spark" in sys.argv else "duckdb"
    if "--one" in sys.argv:
        print(measure(engine, int(sys.argv[2]), Path(sys.argv[3])), flush=True)
        return
    sizes = [int(float(size)) for size in sys.argv[1:] if size != "spark"] or [1_000_000]
    print(f"{ROWS:,} rows, 2 threads, {MEMORY}", flush=True)
    for groups in sizes:
        with tempfile.TemporaryDirectory() as folder:
            write(Path(folder) / "rows.parquet", Path(folder) / "keys.parquet", groups)
            subprocess.run([sys.executable, __file__, "--one", str(groups), folder, engine], check=True)  # noqa: S603 (this file)


if __name__ == "__main__":
    main()
