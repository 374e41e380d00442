"""Public tables: read at once, in the types of the language."""

from __future__ import annotations

import datetime
import os
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import discreet as dp
from discreet.curator import public_data as module
from discreet.errors import InvalidParameter, InvalidQuery


def test_columns_are_read_as_everywhere(tmp_path: Path) -> None:
    rows = pa.table(
        {
            "zip": pa.array([1, 2], pa.int16()),
            "share": pa.array([float("nan"), float("inf")], pa.float32()),
            "when": pa.array([datetime.datetime.fromisoformat("2020-01-01T12:00:00")] * 2, pa.timestamp("s")),
            "odd": pa.array([[1], [2]]),
        }
    )
    table = dp.public(rows)
    assert table.columns == ("zip", "share", "when")
    assert repr(table) == "<public table: zip: integer, share: real number, when: timestamp; 2 rows>"
    pq.write_table(rows.drop(["odd"]), tmp_path / "zips.parquet", coerce_timestamps="us")
    again = dp.public(tmp_path / "zips.parquet")
    assert (again.rows, again.digest) == (table.rows, table.digest)
    assert dp.public(rows.slice(0, 1)).digest != table.digest
    pq.write_table(rows.drop(["odd"]), tmp_path / "zips.parquet", coerce_timestamps="ms")
    assert dict(dp.public(tmp_path / "zips.parquet").closed) == {"when": "TIMESTAMP in milliseconds"}


def test_duplicates_are_counted_without_null() -> None:
    table = dp.public(pa.table({"a": [1, 1, None, None, None], "b": ["x", "y", "x", "x", "x"]}))
    assert (table.most(["a"]), table.most(["a", "b"]), table.most(["b"])) == (2, 1, 4)
    assert dp.public(pa.table({"a": pa.array([], pa.int64())})).most(["a"]) == 0


def test_numbers_that_would_be_read_as_one_are_refused() -> None:
    unsigned = pa.array([2**63 - 2, 5, None], pa.uint64())
    assert dp.public(pa.table({"w": unsigned})).rows["w"].to_pylist() == unsigned.to_pylist()
    for large in (2**63, 2**64 - 1):
        with pytest.raises(InvalidParameter, match="got column='w'"):
            dp.public(pa.table({"w": pa.array([1, large], pa.uint64())}))


def test_refusals(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InvalidParameter, match="a file that exists"):
        dp.public("nowhere.parquet")
    monkeypatch.setattr(module, "MOST_ROWS", 1)
    with pytest.raises(InvalidParameter, match="at most 1 public rows"):
        dp.public(pa.table({"a": [1, 2]}))


@pytest.mark.parametrize("value", [float("inf"), float("-inf"), 1.7e308, 1e200])
def test_columns_without_a_square_are_refused_before_the_charge(value: float) -> None:
    budget = dp.Budget(epsilon=1)
    rows = pa.table({"person": [1, 2], "plan": ["a", "b"]})
    people = dp.protect(rows, unit="person", max_rows=1, budget=budget, name="people")
    joined = people.join(dp.public(pa.table({"plan": ["a"], "z": [value]})), "plan")
    with pytest.raises(InvalidQuery, match="ranges have squares"):
        joined.agg(z=lambda t: t.z.sum()).release(epsilon=1)
    assert budget.spent.epsilon == 0


@pytest.mark.skipif(os.name != "posix", reason="names of files are bytes elsewhere")
@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_names_that_are_no_text_are_refused(tmp_path: Path, ending: str) -> None:
    path = os.fsdecode(os.fsencode(tmp_path) + b"/na\xffme." + ending.encode())
    Path(path).write_bytes(b"person\n1\n")
    schema = {"person": "int64"} if ending == "csv" else None
    for name in (path, os.fsdecode(os.fsencode(tmp_path) + b"/na*.") + ending):
        with pytest.raises(InvalidParameter, match="a path in UTF-8"):
            dp.public(name, schema=schema)
    with pytest.raises(InvalidParameter, match="a path in UTF-8"):
        dp.public_keys(path)
