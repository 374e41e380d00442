"""A census from its rows: all levels of a country with noise, adding up, on disk.

``python benchmarks/hierarchies.py [--statistics 1e7] [--people 40] [--folder DIR]`` makes a table of people up, in
blocks of block groups of tracts of counties of states, with 375 cells in each block (15 races x 25 ages), and releases
how many there are in each cell of each place of each level, as whole numbers that add up, with their intervals. It
prints the seconds of each step, the disk that was used and the most memory that the process held, and looks whether
what was written adds up. 3e9 statistics are those of 8 million blocks and 320 million rows: 5 GB of disk, half an hour.
"""

from __future__ import annotations

import argparse
import os
import platform
import resource
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date
from pathlib import Path

import duckdb
import ibis
import numpy as np

import discreet as dp
from discreet.hierarchies.level_files import LevelFiles

RACES, AGES = 15, 25
PATH = ["state", "county", "tract", "block_group", "block"]
PER_GROUP, PER_TRACT, PER_COUNTY, PER_STATE = 33, 3, 27, 62
"""Blocks of a block group, and so on; counties differ by a factor of a hundred."""
EPSILON = 10
LOOKING: dict[str, str | bool | int | float | list[str]] = {"memory_limit": "8GB", "preserve_insertion_order": False}
"""Of what looks at the files afterwards, when the memory of the release has been told."""


def geography(blocks: int) -> str:
    """The columns of the path of block b, in SQL."""
    groups = -(-blocks // PER_GROUP)
    tracts = -(-groups // PER_TRACT)
    counties, states = max(tracts // PER_COUNTY, 1), max(tracts // PER_COUNTY // PER_STATE, 1)
    group, tract = f"(b // {PER_GROUP})", f"(b // {PER_GROUP * PER_TRACT})"
    county = f"CAST(floor(pow({tract} / {tracts}, 2) * {counties}) AS BIGINT)"
    return (
        f"{county} * {states} // {counties} AS state, {county} AS county, "
        f"{tract} AS tract, {group} AS block_group, b AS block"
    )


def made(folder: Path, blocks: int, people: int) -> tuple[Path, Path]:
    """The rows, one for each person, and the public keys of all blocks; sorted by block, as such files are."""
    rows, keys, columns = folder / "people.parquet", folder / "blocks.parquet", geography(blocks)
    with duckdb.connect(config={"memory_limit": "1GB", "threads": 2, "preserve_insertion_order": True}) as engine:
        engine.execute(f"COPY (SELECT {columns} FROM range({blocks}) AS r(b)) TO '{keys}'")  # noqa: S608 (our own)
        engine.execute(
            f"COPY (SELECT {columns}, CAST(pow(hash(i) % 1000 / 1000, 3) * {RACES} AS BIGINT) % {RACES} AS race, "  # noqa: S608 (our own)
            f"CAST(hash(i + 1000000007) % {AGES} AS BIGINT) AS age "
            f"FROM (SELECT i, i // {people} AS b FROM range({blocks * people}) AS r(i))) TO '{rows}'"
        )
    return rows, keys


def checked(files: LevelFiles) -> None:
    """Looks whether each level adds up to the next one above, cell by cell, and how often intervals hold the truth."""
    with duckdb.connect(config=LOOKING) as engine:
        for number, above in enumerate(["total", *PATH[:-1]]):
            by = ", ".join([*PATH[:number], "race", "age"])
            below = files[PATH[number]]
            different = engine.execute(
                f"SELECT count(*) FROM (SELECT {by}, sum(n) AS n FROM '{below}' GROUP BY ALL) AS s "  # noqa: S608 (our own)
                f"JOIN '{files[above]}' AS a USING ({by}) WHERE s.n <> a.n"
            ).fetchone()
            assert different == (0,), (above, different)


def covered(files: LevelFiles, rows: Path) -> None:
    """How often the intervals of the first four levels hold the exact numbers."""
    with duckdb.connect(config=LOOKING) as engine:
        for number, level in enumerate(PATH[:3], 1):
            by = ", ".join([*PATH[:number], "race", "age"])
            held, error = engine.execute(
                f"SELECT avg(CASE WHEN coalesce(e.n, 0) BETWEEN n_low AND n_high THEN 1 ELSE 0 END), "  # noqa: S608 (our own)
                f"sqrt(avg(pow(r.n - coalesce(e.n, 0), 2))) FROM '{files[level]}' AS r LEFT JOIN "
                f"(SELECT {by}, count(*) AS n FROM '{rows}' GROUP BY ALL) AS e USING ({by})"
            ).fetchone() or (0.0, 0.0)
            print(f"{level}: {100 * held:.2f} % of the intervals of 95 % hold, root of the mean square {error:.2f}")


@contextmanager
def timed(what: str) -> Iterator[None]:
    """Prints the seconds of a step."""
    began = time.perf_counter()
    yield
    print(f"{what}: {time.perf_counter() - began:,.1f} s, most memory so far {peak():,.0f} MB", flush=True)


def peak() -> float:
    """The most memory that this process has held, in megabytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> None:
    """Makes, releases and looks."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--statistics", type=float, default=1e7)
    parser.add_argument("--people", type=int, default=40, help="of a block")
    parser.add_argument("--folder", default=None, help="where files go; they are removed")
    given = parser.parse_args()
    blocks = max(int(given.statistics / (RACES * AGES)), PER_GROUP)
    today = date.today()  # noqa: DTZ011 - a label
    print(
        f"{today}, {os.cpu_count()} cores ({platform.machine()}), DuckDB {duckdb.__version__}, NumPy {np.__version__}"
    )
    print(f"{blocks:,} blocks x {RACES * AGES} cells, {blocks * given.people:,} people", flush=True)
    folder = Path(tempfile.mkdtemp(dir=given.folder))
    try:
        with timed("rows and keys made"):
            rows, keys = made(folder, blocks, given.people)
        people = dp.protect(str(rows), unit=dp.ROW, budget=dp.Budget(epsilon=EPSILON), name="census")
        with timed("keys read"):
            marked = dp.public_keys(keys)
        cells = {"race": list(range(RACES)), "age": list(range(AGES))}
        with timed("levels found in the keys"):
            question = people.hierarchy(PATH, keys=marked, cells=cells).agg(n=ibis._.count())
        with timed("explained"):
            told = question.explain(epsilon=EPSILON, integers=True)
        print({name: str(error) for name, error in told.accuracy.items()})
        began = time.perf_counter()
        with timed("released"):
            files = question.release(epsilon=EPSILON, integers=True, to=folder / "counts")
        number, took = sum(files.rows.values()), time.perf_counter() - began
        size = sum(file.stat().st_size for file in files.values())
        print(f"{number:,} statistics, {number / took / 1e6:.2f} million a second, {size / 1e9:.2f} GB in files")
        print(f"| {number:,} | {took:,.0f} s | {size / 1e6:,.0f} MB | {peak():,.0f} MB |")
        with timed("adds up"):
            checked(files)
        with timed("compared"):
            covered(files, rows)
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
