"""Two columns of a Parquet file are never called alike, and none is taken for a part of another."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import discreet as dp
from discreet.engines.parquet_columns import IN_MANY_BYTES, parquet_columns
from old_parquet import with_decimals


@pytest.mark.parametrize("names", [["person", "a", "a"], ["person", "a", "A"], ["A", "a", "person"]])
def test_names_that_occur_twice_in_a_parquet_file_are_refused(names: list[str], tmp_path: Path) -> None:
    """DuckDB reads the second as a_1, which would be a column that nobody declared."""
    path = tmp_path / "rows.parquet"
    held = [pa.array([{"a": [1], "A": 2}]), pa.array([2]), pa.array([3])]
    pq.write_table(pa.table(held, names=names), path)
    with pytest.raises(dp.InvalidParameter, match="distinct column names") as refusal:
        dp.public(path)
    assert all(repr(name) in str(refusal.value) for name in names if name != "person")
    pq.write_table(pa.table(held, names=["person", "a", "b"]), path)
    assert dp.public(path).columns == ("a", "b")  # the first is a struct, which no question is about
    pq.write_table(pa.table(held, names=["person", "É", "é"]), path)
    assert dp.public(path).columns == ("É", "é")  # DuckDB tells them apart


def test_a_name_with_nul_is_refused(tmp_path: Path) -> None:
    """DuckDB takes "person\\0x" of a frame for "person", and the column of that name for "person_1"."""
    rows = pa.table({"person\0x": [1, 1], "person": [1, 2]})
    pq.write_table(rows, tmp_path / "rows.parquet")
    for data in (rows, rows.to_batches()[0], rows.to_pandas(), tmp_path / "rows.parquet"):
        with pytest.raises(dp.InvalidParameter, match="column names without NUL"):
            dp.protect(data, unit="person", budget=dp.Budget(epsilon=1))


def test_a_part_of_a_column_says_nothing_of_the_column_of_its_name(tmp_path: Path) -> None:
    """One that DuckDB cannot read was taken for read, and one row made releases fail; or a good one was left out."""

    def known(at: pa.Array, part: pa.Array) -> Path:
        path, others = tmp_path / "a.parquet", pa.StructArray.from_arrays([part], ["at"])
        pq.write_table(pa.table({"at": at, "others": others}), path, store_schema=False)
        return path

    moments = pa.array([0], pa.timestamp("us")), pa.array([0], pa.timestamp("ms"))
    assert dp.public(known(*moments)).columns == ("at",)
    path = known(pa.array([bytes(20)]), pa.array([1]))
    connection = duckdb.connect()
    for place in (0, 2):  # in both of nine digits, of which an integer of 64 bits has more than enough
        with_decimals(path, place, 9)
        assert dict(parquet_columns(connection, str(path)))["at"] == IN_MANY_BYTES
    with pytest.raises(dp.InvalidParameter):
        dp.public(known(*reversed(moments)))


def test_a_file_of_nothing_but_milliseconds_is_refused(tmp_path: Path) -> None:
    pq.write_table(pa.table({"at": pa.array([0], pa.timestamp("ms"))}), tmp_path / "a.parquet")
    with pytest.raises(dp.InvalidParameter, match=r"a column that can be read.*\n.*coerce_timestamps='us'"):
        dp.protect(tmp_path / "a.parquet", unit=dp.ROW, budget=dp.Budget(epsilon=1))
