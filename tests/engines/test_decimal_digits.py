"""Decimals of more digits than their type has are NULL, in frames and in files, and fail nothing."""

from __future__ import annotations

from collections.abc import Callable
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
from discreet.testing.neighbors import array, hostile

KINDS = [pa.decimal128(38, places) for places in (0, 2, 37, 38)] + [pa.decimal128(*kind) for kind in ((19, 2), (5, 0))]


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
    table = dp.protect(data, budget=dp.Budget(epsilon=10**9), **stated)
    answer = table.agg(n=lambda t: t.v.count(), s=lambda t: t.v.sum()).release(epsilon=10**6)
    assert round(answer["n"].tolist()[0]) == kept
    assert abs(answer["s"].tolist()[0]) < len(rows)
    units = dp.protect(data, unit="v", max_rows=1, budget=dp.Budget(epsilon=10**9), name="units")
    assert round(units.agg(n=lambda t: t.count()).release(epsilon=10**6)["n"].tolist()[0]) == kept


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
