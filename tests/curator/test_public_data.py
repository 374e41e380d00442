"""Public tables: read at once, in the types of the language."""

from __future__ import annotations

import datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import discreet as dp
from discreet.curator import public_data as module
from discreet.errors import InvalidParameter


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


def test_refusals(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InvalidParameter, match="a file that exists"):
        dp.public("nowhere.parquet")
    monkeypatch.setattr(module, "MOST_ROWS", 1)
    with pytest.raises(InvalidParameter, match="at most 1 public rows"):
        dp.public(pa.table({"a": [1, 2]}))
