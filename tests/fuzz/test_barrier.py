"""The barrier takes every value of every type to NULL or into its interval, each row for itself, and never raises."""

from __future__ import annotations

import datetime
import math
from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pyarrow as pa
import pytest

from discreet.engines.duckdb import DuckDB
from discreet.language.input_barrier import barrier, interval_of, kind_of, scan
from discreet.privacy.declaration import Bound
from discreet.testing.neighbors import INTEGERS, MOMENTS, REALS, array, hostile

EPOCH = datetime.datetime(1970, 1, 1)  # noqa: DTZ001 (naive means UTC here)
LAST = datetime.datetime.max  # noqa: DTZ901 (as above)
YEARS = (datetime.date(1, 1, 1), datetime.date(9999, 12, 31))
STATED: dict[str, tuple[Fraction, Fraction] | None] = {
    "none": None,
    "narrow": (Fraction(-1), Fraction(5)),
    "wide": (Fraction(-(2**40)), Fraction(2**40)),
}


def seen(values: list[Any], kind: pa.DataType, bounds: Mapping[str, tuple[Bound, Bound]]) -> list[Any]:
    """What expressions see of a raw column."""
    engine = DuckDB(pa.table({"row": range(len(values)), "v": array(values, kind)}), None)
    behind = barrier(engine._raw, (), bounds).order_by("row")
    return list(behind.to_pyarrow()["v"].to_pylist())


def expected_number(value: Any, low: Any, high: Any) -> Any:
    return None if value is None or value != value else min(max(value, low), high)  # noqa: PLR0124 (NaN)


def has_more_digits(value: Any, kind: pa.DataType) -> bool:
    """Whether it is a decimal that its type does not have, though Arrow and Parquet can hold it."""
    return isinstance(value, Decimal) and len(value.as_tuple().digits) > kind.precision


@pytest.mark.parametrize("stated", STATED)
@pytest.mark.parametrize("kind", REALS, ids=str)
def test_hostile_reals_become_null_or_bounds(kind: pa.DataType, stated: str) -> None:
    bounds = STATED[stated]
    low, high = (float(end) for end in bounds or (-math.inf, math.inf))
    largest = 1.7976931348623157e308
    values = hostile(kind)
    found = seen(values, kind, {} if bounds is None else {"v": bounds})
    exact = [None if value is None or has_more_digits(value, kind) else float(value) for value in values]
    assert found == [expected_number(value, max(low, -largest), min(high, largest)) for value in exact]


def test_each_row_is_seen_by_itself() -> None:
    values, bounds = hostile(pa.float64()), {"v": (Fraction(-1), Fraction(5))}
    together = seen(values, pa.float64(), bounds)
    assert [one for value in values for one in seen([value], pa.float64(), bounds)] == together


@pytest.mark.parametrize("stated", STATED)
@pytest.mark.parametrize("kind", INTEGERS, ids=str)
def test_hostile_integers_are_held_in_64_bits_and_bounds(kind: pa.DataType, stated: str) -> None:
    bounds = STATED[stated]
    low, high = (int(end) for end in bounds or (-(2**63), 2**63 - 1))
    found = seen(hostile(kind), kind, {} if bounds is None else {"v": bounds})
    assert found == [expected_number(value, low, high) for value in hostile(kind)]


def test_days_are_held_in_years_that_every_engine_has() -> None:
    found = seen(hostile(pa.date32()), pa.date32(), {})
    days = [(YEARS[0] - EPOCH.date()).days, (YEARS[1] - EPOCH.date()).days]
    expected = [expected_number(value, *days) for value in hostile(pa.date32())]
    assert found == [None if day is None else EPOCH.date() + datetime.timedelta(days=day) for day in expected]


@pytest.mark.parametrize("kind", MOMENTS, ids=str)
def test_times_are_null_or_held_in_years(kind: pa.DataType) -> None:
    """Where microseconds reach, a time is the nearest that has a year; beyond them it is NULL or an end."""
    values = hostile(kind)
    per_second = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[kind.unit]
    ends = [datetime.datetime(1, 1, 1), LAST]  # noqa: DTZ001 (as above)
    low, high = ((end - EPOCH) // datetime.timedelta(microseconds=1) for end in ends)
    for value, found in zip(values, seen(values, kind, {}), strict=True):
        if value is None:
            assert found is None
            continue
        microseconds = value * 10**6 // per_second
        nearest = EPOCH + datetime.timedelta(microseconds=min(max(microseconds, low), high))
        if max(abs(value), abs(microseconds)) < 2**63 - 1:  # which DuckDB takes for infinity
            assert abs(found - nearest) <= datetime.timedelta(microseconds=1)
        else:
            assert found in (None, LAST, EPOCH.replace(year=1), nearest)


@pytest.mark.parametrize("kind", [pa.bool_(), pa.string()], ids=str)
def test_other_values_are_as_they_were(kind: pa.DataType) -> None:
    assert seen(hostile(kind), kind, {}) == hostile(kind)


@pytest.mark.long
@pytest.mark.parametrize("kind", [*INTEGERS, *REALS, *MOMENTS, pa.bool_(), pa.string(), pa.date32()], ids=str)
def test_types_are_those_that_expressions_are_checked_against(kind: pa.DataType) -> None:
    engine = DuckDB(pa.table({"v": array(hostile(kind), kind)}), None)
    table, columns = scan(engine.schema, (), {})
    assert barrier(engine._raw, (), {}).schema() == table.schema()
    assert columns["v"].kind is kind_of(engine.schema["v"])
    assert columns["v"].interval == interval_of(columns["v"].kind, None)
