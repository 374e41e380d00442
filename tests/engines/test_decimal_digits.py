"""Decimals of more digits than their type has are NULL, in frames and in files, and fail nothing."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import discreet as dp
from discreet.engines.decimal_digits import within_digits
from discreet.engines.inputs import table
from discreet.testing.neighbors import array, hostile
from old_parquet import with_decimals

KINDS = [pa.decimal128(38, places) for places in (0, 2, 37, 38)] + [pa.decimal128(*kind) for kind in ((19, 2), (5, 0))]
WORDS = [(pa.decimal32(4, 2), pa.int32()), (pa.decimal64(9, 2), pa.int64()), (pa.decimal64(18, 0), pa.int64())]


def held(kind: pa.DataType) -> tuple[pa.Table, int]:
    """Rows with every hostile decimal, and how many of them are decimals of the type."""
    values = hostile(kind)
    kept = [value for value in values if value is not None and len(value.as_tuple().digits) <= kind.precision]
    return pa.table({"row": range(len(values)), "v": array(values, kind)}), len(kept)


PLACES = [
    (kind, place) for kind in KINDS for place in ("Arrow", "polars", "file") if place != "file" or kind.precision == 38
]
"""Into a file, Arrow writes as many bytes as the digits take."""


@pytest.mark.long
@pytest.mark.parametrize(("kind", "place"), PLACES, ids=str)
def test_no_decimal_of_a_file_fails(kind: pa.DataType, place: str, tmp_path: Path) -> None:
    """As a value and as a unit: a look that fails for one row tells of that row."""
    rows, kept = held(kind)
    path = tmp_path / "decimals.parquet"
    pq.write_table(rows, path)
    made: dict[str, Callable[[], Any]] = {
        "Arrow": lambda: rows,
        "polars": lambda: pl.DataFrame(rows),
        "file": lambda: path,
    }
    data = made[place]()
    stated: dict[str, Any] = {"unit": "row", "max_rows": 1, "bounds": {"v": (-1, 1)}, "name": "values"}
    values = dp.protect(data, budget=dp.Budget(epsilon=10**9), **stated)
    answer = values.agg(n=lambda t: t.v.count(), s=lambda t: t.v.sum()).release(epsilon=10**6)
    assert round(answer["n"].tolist()[0]) == kept
    assert abs(answer["s"].tolist()[0]) < len(rows)
    units = dp.protect(data, unit="v", max_rows=1, budget=dp.Budget(epsilon=10**9), name="units")
    assert round(units.agg(n=lambda t: t.count()).release(epsilon=10**6)["n"].tolist()[0]) == kept


@pytest.mark.parametrize(("kind", "integer"), WORDS, ids=str)
def test_decimals_of_fewer_bits_have_no_more_digits(kind: pa.DataType, integer: pa.DataType) -> None:
    """DuckDB made 0 of such a number, or whatever was in its memory."""
    last = 10**kind.precision - 1
    values = pa.array(
        [1, None, last, -last, last + 1, 2**kind.bit_width // 2 - 1, -(2**kind.bit_width) // 2, 5], integer
    )
    listed = pa.DictionaryArray.from_arrays(range(len(values)), values.view(kind))
    for held in (values.view(kind), listed):
        read = table(pa.table({"v": held}), None).table.to_pyarrow()["v"].to_pylist()
        assert [one and int(one.scaleb(kind.scale)) for one in read] == [1, None, last, -last, None, None, None, 5]


@pytest.mark.parametrize(("integer", "digits", "beyond"), [(pa.int32(), 4, 2**16 + 1), (pa.int64(), 9, 2**32 + 1)])
def test_decimals_in_longer_integers_are_no_units(
    integer: pa.DataType, digits: int, beyond: int, tmp_path: Path
) -> None:
    """DuckDB reads 65537 of four digits as 1, so that two people were one; as another column it is that row's own."""
    path = tmp_path / "integers.parquet"
    pq.write_table(pa.table({"row": [1, 2], "v": pa.array([1, beyond], integer)}), path, store_schema=False)
    stated: dict[str, Any] = {"max_rows": 1, "budget": dp.Budget(epsilon=10**9)}
    for held, is_read in ((digits, False), (digits + 1, True)):
        with_decimals(path, 1, held)
        rows = dp.protect(path, unit="row", name=f"rows {held}", **stated)
        same = rows.agg(n=lambda t: t.count(where=t.v == 1)).release(epsilon=10**6)["n"].tolist()
        assert same == [1 if is_read else 2]
        with nullcontext() if is_read else pytest.raises(dp.InvalidParameter, match="read as one"):
            dp.protect(path, unit="v", name=f"values {held}", **stated)


def test_the_least_integer_fails_in_duckdb() -> None:
    """The attack itself."""
    rows, _ = held(pa.decimal128(38, 2))
    with pytest.raises(duckdb.Error, match="out of range"):
        duckdb.connect().from_arrow(rows).project("max(v::DOUBLE)").fetchall()


def test_columns_of_their_digits_are_not_copied() -> None:
    column = pa.chunked_array([pa.array([Decimal("1.50"), None])])
    assert within_digits(column) is column
    empty = column.slice(2)
    assert within_digits(empty) is empty


@pytest.mark.parametrize(("digits", "room"), [(1, 2), (4, 2), (5, 4), (9, 4), (10, 8), (18, 8), (19, 16), (38, 16)])
def test_decimals_in_more_bytes_than_duckdb_has_are_left_out(digits: int, room: int, tmp_path: Path) -> None:
    """DuckDB fails on the whole file for one number of more bytes than its own; what has no more is read."""

    def stored(kind: pa.DataType, size: int, name: str) -> Path:
        path, numbers = tmp_path / name, pa.array([bytes(size - 1) + b"\1", b"\x7f" * size], kind)
        pq.write_table(pa.table({"row": [1, 2], "v": numbers}), path, store_schema=False)
        return with_decimals(path, 1, digits)

    def asked(path: Path) -> Any:
        numbers = dp.protect(path, unit="row", max_rows=1, budget=dp.Budget(epsilon=10**9), name="values")
        return numbers.agg(n=lambda t: t.count(where=t.v == 1)).release(epsilon=10**6)["n"].tolist()

    assert asked(stored(pa.binary(room), room, "enough.parquet")) == [1]
    for kind, size in ((pa.binary(room + 1), room + 1), (pa.binary(), 20)):
        path = stored(kind, size, "more.parquet")
        with pytest.raises(duckdb.Error, match="decimal"):
            duckdb.connect().execute("SELECT v FROM read_parquet(?)", [str(path)]).fetchall()  # the attack itself
        with pytest.raises(dp.InvalidQuery, match="in more bytes than its digits take"):
            asked(path)
