"""Answers with more groups than fit in memory, to a file: ``python benchmarks/many_groups.py [groups ...] [engine]``.

Ten million rows, each a person, in so many public groups, whose keys come from a Parquet file: a count and a sum by
group go to another one. DuckDB has 4 GB and spills beyond; with ``spark``, a session in local mode has 4 GB for its
Java; with ``postgresql``, a server of our own has 256 MB of buffers and 64 MB for each sort or hash. Each size is a
process of its own, whose greatest memory is shown beside that of its Java, or of the server's process that answers.
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
from pyarrow import csv
from queries import peak, seconds

import discreet as dp
from temporary_postgresql import temporary_postgresql
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


@contextmanager
def postgresql(rows: Path) -> Iterator[Any]:
    """The table in a server of our own."""
    with temporary_postgresql({"shared_buffers": "256MB", "work_mem": "64MB", "jit": "off"}) as place:
        backend = ibis.postgres.connect(**place)
        backend.raw_sql("CREATE TABLE rows (person bigint, block bigint, visits bigint)")
        with backend.con.cursor() as cursor, cursor.copy("COPY rows FROM STDIN (FORMAT csv)") as sent:
            for batch in pq.ParquetFile(rows).iter_batches(BATCH):
                lines = pa.BufferOutputStream()
                csv.write_csv(batch, lines, csv.WriteOptions(include_header=False))
                sent.write(lines.getvalue().to_pybytes())
        backend.raw_sql("VACUUM (ANALYZE, FREEZE) rows")
        yield backend.table("rows")
        backend.disconnect()


def other(engine: str, table: Any) -> str:
    """The same of Spark's Java, or of the server's process."""
    if engine == "spark":
        from pyspark import SparkContext

        return f", Java {peak(SparkContext._gateway.proc.pid):.2f} GB"  # noqa: SLF001 (nothing else knows it)
    if engine == "postgresql":
        return f", the server's process {peak(table.get_backend().con.info.backend_pid):.2f} GB"
    return ""


ENGINES = {"duckdb": duckdb, "spark": spark, "postgresql": postgresql}


def measure(engine: str, groups: int, folder: Path) -> str:
    """One line."""
    rows, keys, to = folder / "rows.parquet", folder / "keys.parquet", folder / "answer.parquet"
    with ENGINES[engine](rows) as table:
        bounds = {"visits": (0, 50)}
        people = dp.protect(table, unit=dp.ROW, bounds=bounds, budget=dp.Budget(epsilon=1), name="rows")
        asked: list[dp.Question] = []

        def ask() -> None:
            grouped = people.group_by("block", keys=dp.public_keys(keys))
            asked.append(grouped.agg(n=lambda t: t.count(), visits=lambda t: t.visits.sum()))

        checking, _ = seconds(ask)
        clock, worked = seconds(lambda: asked[0].release(epsilon=1, to=to))
        assert pq.read_metadata(to).num_rows == groups
        return (
            f"{engine}  {groups:>12,} groups: keys {checking:.1f} s, release {clock:.1f} s (processor {worked:.1f} s), "
            f"{to.stat().st_size / 1e6:,.0f} MB, most memory {peak():.2f} GB" + other(engine, table)
        )


def main() -> None:
    """Each size in a process of its own."""
    engine = next((name for name in ENGINES if name in sys.argv), "duckdb")
    if "--one" in sys.argv:
        print(measure(engine, int(sys.argv[2]), Path(sys.argv[3])), flush=True)
        return
    sizes = [int(float(size)) for size in sys.argv[1:] if size not in ENGINES] or [1_000_000]
    print(f"{ROWS:,} rows, 2 threads, {MEMORY}", flush=True)
    for groups in sizes:
        with tempfile.TemporaryDirectory() as folder:
            write(Path(folder) / "rows.parquet", Path(folder) / "keys.parquet", groups)
            subprocess.run([sys.executable, __file__, "--one", str(groups), folder, engine], check=True)  # noqa: S603 (this file)


if __name__ == "__main__":
    main()
