"""The scanned table: kinds, intervals and names, before any row is seen."""

from __future__ import annotations

from fractions import Fraction

import ibis.expr.datatypes as dt
import ibis.expr.schema as sch
import pytest

from discreet.language.barrier import UNIT, interval_of, kind_of, scan
from discreet.language.checked_expressions import FULL_INTEGER, FULL_REAL, Kind
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
