"""The scanned table: kinds, intervals and names, before any row is seen."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any

import ibis
import ibis.expr.datatypes as dt
import ibis.expr.schema as sch
import pyarrow as pa
import pytest

from discreet.language.checked_expressions import FULL_INTEGER, FULL_REAL, Kind
from discreet.language.input_barrier import UNIT, barrier, interval_of, kind_of, scan
from discreet.sensitivity.intervals import Interval


@pytest.mark.parametrize(
    ("dtype", "kind"),
    [
        ("int8", Kind.INTEGER),
        ("uint64", Kind.INTEGER),
        ("float16", Kind.REAL),
        ("float32", Kind.REAL),
        ("decimal(38, 10)", Kind.REAL),
        ("boolean", Kind.BOOLEAN),
        ("string", Kind.TEXT),
        ("uuid", Kind.TEXT),
        ("date", Kind.DATE),
        ("timestamp", Kind.TIMESTAMP),
        ("timestamp('Asia/Tokyo', 9)", Kind.TIMESTAMP),
        ("time", None),
        ("binary", None),
        ("array<int64>", None),
        ("struct<a: int64>", None),
        ("map<string, int64>", None),
        ("json", None),
        ("interval('s')", None),
    ],
)
def test_kinds(dtype: str, kind: Kind | None) -> None:
    assert kind_of(dt.dtype(dtype)) is kind


def test_columns_that_cannot_be_read_are_left_out() -> None:
    schema = sch.schema({"a": "int8", "b": "array<int64>", "c": "string"})
    found = scan(schema, (), {})
    assert list(found.columns) == ["a", "c"]
    assert found.table.schema() == sch.schema({"a": "int64", "c": "string"})


def test_nothing_is_believed_of_a_column() -> None:
    """Not even that it is never NULL."""
    schema = sch.Schema({"n": dt.Int8(nullable=False), "x": dt.Float64(nullable=False)})
    columns = scan(schema, (), {"x": (Fraction(0), Fraction(1))}).columns
    assert all(column.nullable for column in columns.values())
    assert columns["n"].interval == FULL_INTEGER
    assert columns["n"].unbounded
    assert columns["x"].interval == Interval(Fraction(0), Fraction(1))
    assert not columns["x"].unbounded


def test_intervals() -> None:
    assert interval_of(Kind.REAL, None) == FULL_REAL
    assert interval_of(Kind.INTEGER, (Fraction(0), Fraction(9))) == Interval(Fraction(0), Fraction(9), integer=True)
    assert interval_of(Kind.TEXT, None) is None
    assert interval_of(Kind.BOOLEAN, None) is None


def test_the_unit_is_carried_beside_the_columns() -> None:
    schema = sch.schema({"who": "int32", "where": "string", "x": "float64"})
    found = scan(schema, ("who", "where"), {})
    assert found.table.columns == ("who", "where", "x", f"{UNIT}0", f"{UNIT}1")
    assert list(found.columns) == ["who", "where", "x"]


def test_texts_of_any_length_are_one_type_of_unit() -> None:
    """Tables whose units had different lengths were compared as whole numbers, of which most names are none."""
    kinds = dt.String(length=3), dt.String(length=5, nullable=False), dt.string
    found = [scan(sch.Schema({"who": kind}), ("who",), {}).table.schema()[f"{UNIT}0"] for kind in kinds]
    assert found == [dt.string] * len(kinds)


M = 2**63
EXTREMES: dict[str, tuple[pa.DataType, list[Any]]] = {
    **{
        f"timestamp[{unit}]": (pa.timestamp(unit), [-M, 1 - M, M - 1, M - 2, 0, -1, None, -62_135_596_801])
        for unit in ("s", "ms", "us", "ns")
    },
    "date": (pa.date32(), [-(2**31), 1 - 2**31, 2**31 - 1, 2**31 - 2, 0, None, -719_163, 2_932_897]),
    "real": (pa.float64(), [math.inf, -math.inf, math.nan, None, -0.0, 5e-324, 1.7e308, 3.0]),
    "single": (pa.float32(), [math.inf, -math.inf, math.nan, None, -0.0, 1e-45, 3e38, 3.0]),
    "whole": (pa.int64(), [-M, M - 1, 0, None, 1, -1]),
    "without sign": (pa.uint64(), [0, 2 * M - 1, M, M - 1, None]),
    "narrow": (pa.int8(), [-128, 127, 0, None]),
    "decimal": (pa.decimal128(38, 0), [Decimal("9" * 38), Decimal("-" + "9" * 38), Decimal(0), None]),
}
"""The ends of each type, and what some engine takes for infinities."""
BOUNDS = {"real": (Fraction(-9), Fraction(9)), "whole": (Fraction(-9), Fraction(9))}


@pytest.mark.long
@pytest.mark.parametrize("stored", [True, False])
@pytest.mark.parametrize("name", EXTREMES)
def test_no_row_changes_how_another_is_read(name: str, *, stored: bool) -> None:
    """An engine prunes a branch by the statistics of a column, in which it may leave a value out: each value is read as
    it is when it is alone, beside each other one, and beside all.
    """
    kind, values = EXTREMES[name]
    backend = ibis.duckdb.connect()

    def read(indices: Sequence[int]) -> list[str | None]:
        numbers = [values[i] for i in indices]
        plain = pa.array(numbers, pa.int64()).cast(kind) if pa.types.is_timestamp(kind) else None
        column = plain if plain is not None else pa.array(numbers, pa.int32()).cast(kind) if name == "date" else None
        column = pa.array(numbers, kind) if column is None else column
        backend.con.register("arriving", pa.table({"place": list(indices), "v": column}))
        if stored:
            backend.con.execute("CREATE OR REPLACE TABLE kept AS SELECT * FROM arriving")
        raw = backend.table("kept" if stored else "arriving")
        bounds = {"v": BOUNDS[name]} if name in BOUNDS else {}
        seen = ibis.to_sql(barrier(raw, (), bounds), dialect="duckdb")
        return [
            row[0]
            for row in backend.con.execute(f"SELECT CAST(v AS VARCHAR) FROM ({seen}) ORDER BY place").fetchall()  # noqa: S608 (ours)
        ]

    alone = {i: read([i])[0] for i in range(len(values))}
    for number in (2, len(values)):
        for some in itertools.combinations(range(len(values)), number):
            assert read(some) == [alone[i] for i in some], [values[i] for i in some]
