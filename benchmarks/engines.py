"""The tasks of queries.py on PostgreSQL and Spark: ``python benchmarks/engines.py [rows] [engine ...]``.

T1 and T2 stand beside the same aggregates without privacy on the same engine, in turn in one run; T3 stands alone.
PostgreSQL has 1 GB of buffers and 256 MB for each sort or hash, Spark runs in local mode with 4 GB; both on 2 cores.
Engines that are not installed are left out, and said to be.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import duckdb
import ibis
from queries import KEYS, seconds, write

import discreet as dp
from temporary_postgresql import binaries, temporary_postgresql
from temporary_spark import java, temporary_spark

ROUNDS = 3
RAW = {
    "T1": "SELECT key, count(*) FROM visits GROUP BY key ORDER BY key",
    "T2": "SELECT key, count(*), sum(least(greatest(value, 0), 500)), avg(least(greatest(value, 0), 500)) "
    "FROM visits GROUP BY key ORDER BY key",
}
SETTINGS = {"shared_buffers": "1GB", "work_mem": "256MB", "max_parallel_workers_per_gather": "1", "jit": "off"}


@contextmanager
def postgresql(path: Path) -> Iterator[tuple[Any, Callable[[str], object]]]:
    """The table in a server of our own."""
    with temporary_postgresql(SETTINGS) as place:
        backend = ibis.postgres.connect(**place)
        backend.raw_sql("CREATE TABLE visits (user_id bigint, key int, value double precision)")
        lines = path.with_suffix(".csv")
        duckdb.read_parquet(str(path)).write_csv(str(lines), header=False)
        with (
            backend.con.cursor() as cursor,
            cursor.copy("COPY visits FROM STDIN (FORMAT csv)") as copy,
            lines.open("rb") as file,
        ):
            while part := file.read(1 << 20):
                copy.write(part)
        backend.raw_sql("VACUUM (ANALYZE, FREEZE) visits")
        yield backend.table("visits"), lambda sql: backend.con.execute(sql).fetchall()
        backend.disconnect()


@contextmanager
def spark(path: Path) -> Iterator[tuple[Any, Callable[[str], object]]]:
    """The Parquet file, in a session of our own."""
    with temporary_spark({"spark.driver.memory": "4g"}) as session:
        backend = ibis.pyspark.connect(session)
        session.read.parquet(str(path)).createOrReplaceTempView("visits")
        yield backend.table("visits"), lambda sql: session.sql(sql).toArrow()


def questions(table: Any) -> dict[str, dp.Question]:
    """The three tasks as questions."""
    facts: dict[str, Any] = {"bounds": {"value": (0, 500)}, "keys": {"key": range(KEYS)}, "name": "visits"}
    row = dp.protect(table, unit=dp.ROW, budget=dp.Budget(epsilon=10_000), **facts)
    user = dp.protect(table, unit="user_id", max_groups=5, max_rows=3, budget=dp.Budget(epsilon=10_000), **facts)

    def both(t: dp.PrivateTable) -> dp.Question:
        return t.group_by("key").agg(
            n=lambda t: t.count(), total=lambda t: t.value.sum(), mean=lambda t: t.value.mean()
        )

    return {"T1": row.group_by("key").agg(n=lambda t: t.count()), "T2": both(row), "T3": both(user)}


def measure(name: str, question: dp.Question, run: Callable[[str], object]) -> str:
    """One line: medians, after one run to warm up."""
    raw = RAW.get(name)
    ours, theirs = [], []
    for _ in range(ROUNDS + 1):
        ours.append(seconds(lambda: question.release(epsilon=1, fresh=True))[0])
        if raw is not None:
            theirs.append(seconds(lambda: run(raw))[0])
    line = f"{name}  ours {statistics.median(ours[1:]):7.2f} s"
    if not theirs:
        return line
    beside = statistics.median(theirs[1:])
    return f"{line}   raw {beside:7.2f} s   ratio {statistics.median(ours[1:]) / beside:5.2f}"


def main() -> None:
    """Every engine that is here, or those that are named."""
    here = {
        "postgresql": find_spec("psycopg") is not None and binaries() is not None,
        "spark": find_spec("pyspark") is not None and java() is not None,
    }
    rows = int(float(sys.argv[1])) if len(sys.argv) > 1 else 1_000_000
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.parquet"
        write(path, rows)
        print(f"{rows:,} rows, {rows // 10:,} users, {KEYS:,} keys, 2 cores", flush=True)
        for name, place in (("postgresql", postgresql), ("spark", spark)):
            if name not in (sys.argv[2:] or here):
                continue
            if not here[name]:
                print(f"{name} is left out: it is not installed", flush=True)
                continue
            with place(path) as (table, run):
                for task, question in questions(table).items():
                    print(f"{name}  {measure(task, question, run)}", flush=True)


if __name__ == "__main__":
    main()
