"""The bundled table is the one that its README describes."""

from __future__ import annotations

import hashlib
from importlib import resources

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

FOLDER = resources.files("discreet.data")
FILE = FOLDER / "rand_hie.parquet"
NOTE = (FOLDER / "README.md").read_text(encoding="utf-8")

COLUMNS = {
    "person": pa.int64(),
    "year": pa.int64(),
    "plan": pa.string(),
    "site": pa.int64(),
    "age": pa.int64(),
    "female": pa.bool_(),
    "education": pa.float64(),
    "income": pa.float64(),
    "health": pa.string(),
    "chronic_conditions": pa.int64(),
    "visits": pa.int64(),
    "admissions": pa.int64(),
    "spending": pa.float64(),
}

RANGES = {
    "year": (1, 5),
    "site": (1, 6),
    "age": (0, 64),
    "education": (0, 25),
    "income": (0, 29_237.54),
    "chronic_conditions": (0, 17),
    "visits": (0, 77),
    "admissions": (0, 8),
    "spending": (0, 39_182.02),
}

PLANS = {"free": 6_822, "25%": 4_065, "50%": 1_401, "95%": 3_727, "deductible": 4_175}


@pytest.fixture(scope="module")
def table() -> pa.Table:
    with resources.as_file(FILE) as path:
        return pq.read_table(path)


def test_file_is_small_and_the_one_of_its_note() -> None:
    written = FILE.read_bytes()
    assert len(written) < 300_000
    assert hashlib.sha256(written).hexdigest() in NOTE


def test_columns_and_types(table: pa.Table) -> None:
    assert dict(zip(table.schema.names, table.schema.types, strict=True)) == COLUMNS
    assert all(f"| `{name}` |" in NOTE for name in COLUMNS)


def test_rows_and_people(table: pa.Table) -> None:
    assert table.num_rows == 20_190
    rows = table.group_by("person").aggregate([([], "count_all")])["count_all"]
    assert (len(rows), pc.min(rows).as_py(), pc.max(rows).as_py()) == (5_912, 1, 5)
    assert table.group_by(["person", "year"]).aggregate([]).num_rows == 20_190


@pytest.mark.parametrize("column", RANGES)
def test_ranges(table: pa.Table, column: str) -> None:
    assert (pc.min(table[column]).as_py(), pc.max(table[column]).as_py()) == RANGES[column]


def test_plans(table: pa.Table) -> None:
    counts = {row["values"]: row["counts"] for row in pc.value_counts(table["plan"]).to_pylist()}
    assert counts == PLANS
    assert table.group_by(["person", "plan"]).aggregate([]).num_rows == 5_912, "nobody changes plans"


def test_health(table: pa.Table) -> None:
    assert set(pc.unique(table["health"]).to_pylist()) == {"excellent", "good", "fair", "poor"}


def test_gaps_are_where_the_note_says(table: pa.Table) -> None:
    gaps = {name: table[name].null_count for name in COLUMNS if table[name].null_count}
    assert gaps == {"education": 4, "chronic_conditions": 8_001}
