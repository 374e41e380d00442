"""Each expression of `integers` is total, and gives what Python gives."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import ibis
import ibis.expr.types as ir
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.engines.engine import integers
from discreet.language.exact_arithmetic import (
    at_most,
    clamped_between,
    clipped,
    double,
    floored,
    integer,
    rounded_half_up,
    toward_zero,
)

WORDS = st.integers(-(2**63), 2**63 - 1)
REALS = st.floats(-(2.0**52), 2.0**52)
ROOM = st.integers(0, 2**52)


@pytest.fixture(scope="module")
def run() -> Callable[[ir.Value], Any]:
    connection = ibis.duckdb.connect()
    return lambda expression: connection.to_pyarrow(expression.name("x")).as_py()


Run = Callable[[ir.Value], Any]


@given(value=WORDS, ends=st.tuples(WORDS, WORDS).map(sorted))
def test_clipped_and_at_most(run: Run, value: int, ends: list[int]) -> None:
    low, high = ends
    assert run(clipped(integer(value), integer(low), integer(high))) == min(max(value, low), high)
    assert run(at_most(integer(value), integer(high))) == min(value, high)


def test_null_stays_null(run: Run) -> None:
    nothing = ibis.null("int64")
    assert run(clipped(nothing, integer(0), integer(5))) is None
    assert run(at_most(nothing, integer(5))) is None


@given(value=REALS)
def test_nearest_rounds_halves_up(run: Run, value: float) -> None:
    assert run(rounded_half_up(double(value))) == math.floor(value + 0.5)


@pytest.mark.parametrize(
    ("value", "expected"), [(0.5, 1), (-0.5, 0), (-1.5, -1), (2.5, 3), (-0.0, 0), (1e15 + 0.5, 10**15 + 1)]
)
def test_halves_are_rounded_up(run: Run, value: float, expected: int) -> None:
    assert run(rounded_half_up(double(value))) == expected


@given(value=st.floats(allow_nan=False), ends=st.tuples(REALS, REALS).map(sorted))
def test_within(run: Run, value: float, ends: list[float]) -> None:
    low, high = ends
    assert run(clamped_between(double(value), double(low), double(high))) == min(max(value, low), high)


@given(value=st.floats(allow_nan=False), room=ROOM)
def test_toward_zero_and_floored(run: Run, value: float, room: int) -> None:
    inside = min(max(value, -room), room)
    assert run(toward_zero(double(value), room)) == math.trunc(inside)
    assert run(floored(double(abs(value)), integer(room))) == math.floor(min(abs(value), room))


@given(entries=st.lists(st.none() | st.integers(-(10**38) + 1, 10**38 - 1), min_size=1), chunk=st.integers(1, 5))
def test_totals_survive_the_way_out_of_the_engine(entries: list[int | None], chunk: int) -> None:
    kind = pa.decimal128(38, 0)
    column = pa.chunked_array([pa.array(entries[i : i + chunk], kind) for i in range(0, len(entries), chunk)])
    found = integers(column)
    assert found.tolist() == [entry or 0 for entry in entries]
    assert (found.dtype == object) is any(not -(2**63) <= (entry or 0) < 2**63 for entry in entries)


def test_constants_that_are_equal_in_python_stay_apart() -> None:
    """They are made once each, and found again by what is written."""
    assert ibis.to_sql(ibis.table({"x": "int64"}, name="t").select(v=double(0.0))).count("-") == 0
    assert ibis.to_sql(ibis.table({"x": "int64"}, name="t").select(v=double(-0.0))).count("-") == 1
    assert integer(1).op() is integer(1).op()
    assert double(2).op() is double(2.0).op()
