"""Buckets as Ibis has them, and casts that are NULL where they fail."""

from __future__ import annotations

import datetime
import itertools
import math
from fractions import Fraction
from typing import Any

import ibis
import pyarrow as pa
import pytest
from ibis import _

import discreet as dp
from discreet.language.input_barrier import barrier, scan

SHAPES = [
    {"closed": closed, "close_extreme": extreme, "include_under": under, "include_over": over}
    for closed, extreme, under, over in itertools.product(("left", "right"), *[(True, False)] * 3)
]


@pytest.mark.long
@pytest.mark.parametrize("shape", SHAPES)
def test_buckets_are_those_of_ibis(hostile: Any, shape: dict[str, Any]) -> None:
    edges = [-1, 0, 2.5, 7]
    ours = hostile.column(_.small.bucket(edges, **shape))
    seen = barrier(hostile.raw, (), {"small": (Fraction(-5), Fraction(7))})
    assert ours == hostile.backend.to_pyarrow(seen.small.cast("float64").bucket(edges, **shape)).to_pylist()


TEXTS = ["12", "-7", "+3", "1.5", "1e3", "1e400", "", " 12", "12 ", "12\n", "0x10", "nan", "inf", "9" * 18, "9" * 19]
TEXTS += ["2020-02-29", "2021-02-29", "0000-01-01", "9999-12-31", "2020-1-1", "2020-01-01 12:30:00", "20200101", "٣"]
TEXTS += [
    "2020-01-01T24:00:00",
    "2020-01-01 12:30",
    "--1",
    "1_000",
    "1,5",
    "é",
    "\x00",
    "1e-99",
    "1.",
    ".5",
    "infinity",
    "12\n",
    "12\r",
    "12#",
    "12#x",
    "12#\n",
    "1.5\n",
    "2020-02-29\n",
    "2020-01-01 12:30\n",
]


def read(target: str) -> dict[str, Any]:
    """What each text is read as."""
    table = dp.protect(pa.table({"t": TEXTS}), unit=dp.ROW, budget=dp.Budget(epsilon=1))
    value = table._check(_.t.try_cast(target))
    backend = ibis.duckdb.connect()
    raw = backend.create_table("texts", pa.table({"t": TEXTS}))
    named = scan(raw.schema(), (), {}).table
    op = table._relation.select(v=value.expr).op().replace({named.op(): barrier(raw, (), {}).op()})
    values = backend.to_pyarrow(op.to_expr())["v"].to_pylist()
    return {text: v for text, v in zip(TEXTS, values, strict=True) if v is not None}


def test_text_is_read_as_numbers_and_dates_or_is_null() -> None:
    whole = {"12": 12, "-7": -7, "+3": 3, "20200101": 20_200_101, "9" * 18: 10**18 - 1}
    assert read("int64") == whole
    assert read("float64") == {
        **{text: float(n) for text, n in whole.items()},
        "1.5": 1.5,
        "1e3": 1000.0,
        "1e-99": 1e-99,
        "1.": 1.0,
    }
    day = datetime.date
    assert read("date") == {"2020-02-29": day(2020, 2, 29), "9999-12-31": day(9999, 12, 31)}
    assert set(read("timestamp")) == {"2020-01-01 12:30:00", "2020-01-01 12:30"}


def test_narrower_integers_are_null_where_they_do_not_fit(hostile: Any) -> None:
    whole, narrow = hostile.column(_.any), hostile.column(_.any.try_cast("int8"))
    assert narrow == [v if v is not None and -128 <= v < 128 else None for v in whole]
    assert hostile.column(_.small.try_cast("int8")) == hostile.column(_.small)
    assert hostile.check(_.small.try_cast("float64")).interval == hostile.check(_.small.cast("float64")).interval
    assert not math.isnan(float(hostile.check(_.any.try_cast("uint16")).interval.high))
