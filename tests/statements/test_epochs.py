"""Seconds since 1970 are those of the dialect; timestamps that may have fractions are refused where it counts them."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from typing import Any

import duckdb
import ibis
import pyarrow as pa
import pytest

import discreet as dp
import random_sql
from discreet.statements.epochs import SPANS, _is_whole
from neighbor_bench import Bench

MOMENTS = [
    datetime.datetime(*parts)  # noqa: DTZ001 (naive means UTC here)
    for parts in ((1, 1, 1), (1969, 12, 31, 23, 59, 58, 250_000), (1970, 1, 1), (2024, 2, 29, 12, 0, 0, 999_999))
]
ROWS = pa.table(
    {
        "place": pa.array(range(5), pa.int64()),
        "t": pa.array([*MOMENTS, None], pa.timestamp("us")),
        "u": pa.array([None, *MOMENTS], pa.timestamp("us")),
        "d": pa.array([*(moment.date() for moment in MOMENTS), None], pa.date32()),
    }
)
UNIX = datetime.datetime(1970, 1, 1)  # noqa: DTZ001 (as above)


def found(expression: str, dialect: str = "duckdb") -> list[Any]:
    bench = Bench()
    table = bench.protect(ROWS, unit=dp.ROW, bounds={"place": (0, 9)})
    [[*ours]] = random_sql.values(bench, table, [random_sql.meaning(expression, dialect, table)])
    return ours


@pytest.mark.long
@pytest.mark.parametrize(
    "written",
    [
        "EXTRACT(EPOCH FROM d)",
        "EPOCH(d)",
        "DATE_PART('epoch', d)",
        "EXTRACT(EPOCH FROM DATE_TRUNC('second', t))",
        "EXTRACT(EPOCH FROM DATE_TRUNC('month', t))",
        "EXTRACT(EPOCH FROM CAST(t AS DATE))",
        "EXTRACT(EPOCH FROM d + INTERVAL 90 MINUTE)",
        "EXTRACT(EPOCH FROM DATE_TRUNC('second', t) - INTERVAL 1 MONTH)",
        "EXTRACT(EPOCH FROM DATE_TRUNC('second', t) - DATE_TRUNC('second', u))",
        "EXTRACT(EPOCH FROM (d - DATE_TRUNC('hour', u)))",
        "EXTRACT(EPOCH FROM CAST(d AS TIMESTAMP) - TIMESTAMP '2020-01-05 13:07:59')",
        "EXTRACT(EPOCH FROM d) / 86400",
    ],
)
def test_seconds_are_those_of_duckdb(written: str) -> None:
    with duckdb.connect() as connection:
        connection.register("rows", ROWS)
        wanted = [value for (value,) in connection.execute(f"SELECT {written} FROM rows ORDER BY place").fetchall()]  # noqa: S608 (ours)
    ours = found(written)
    # A month before the year 1 is outside the calendar here.
    assert ours[1:] == wanted[1:]
    assert ours[0] == wanted[0] or "MONTH" in written


SPANNED = (("d", "DATE_TRUNC('second', t)"), ("DATE_TRUNC('hour', u)", "d"), ("DATE '2020-01-31'", "CAST(u AS DATE)"))


@pytest.mark.long
def test_time_that_is_over_is_that_of_duckdb() -> None:
    """Toward zero, from the first to the last; and so in Spark, by another name."""
    written = [f"DATE_SUB('{unit}', {first}, {last})" for unit in SPANS for first, last in SPANNED]
    with duckdb.connect() as connection:
        connection.register("rows", ROWS)
        rows = connection.execute(f"SELECT {', '.join(written)} FROM rows ORDER BY place").fetchall()  # noqa: S608 (ours)
    bench = Bench()
    table = bench.protect(ROWS, unit=dp.ROW, bounds={"place": (0, 9)})
    names = {"duckdb": "DATE_SUB('{0}'", "postgres": "DATESUB('{0}'", "spark": "TIMESTAMPDIFF({0}"}
    for dialect, name in names.items():
        said = [f"{name.format(unit)}, {first}, {last})" for unit in SPANS for first, last in SPANNED]
        found = random_sql.values(bench, table, [random_sql.meaning(one, dialect, table) for one in said])
        assert dict(zip(written, map(list, found), strict=True)) == dict(
            zip(written, map(list, zip(*rows, strict=True)), strict=True)
        )


def test_seconds_of_spark_are_rounded_down() -> None:
    wanted = [(moment - UNIX) // datetime.timedelta(seconds=1) for moment in MOMENTS]
    assert found("UNIX_SECONDS(t)", "spark") == [*wanted, None]
    assert found("UNIX_DATE(d)", "spark") == [*((moment - UNIX).days for moment in MOMENTS), None]
    assert found("UNIX_TIMESTAMP(DATE_TRUNC('MINUTE', t))", "spark")[1] == -60


def test_a_unit_below_a_second_leaves_fractions() -> None:
    moment = ibis.table({"t": "timestamp(6)"}).t
    assert [_is_whole(moment.truncate(unit).op()) for unit in ("D", "s", "ms", "us")] == [True, True, False, False]
    assert not _is_whole(moment.op())


@pytest.mark.parametrize(
    ("written", "dialect", "what"),
    [
        ("EXTRACT(EPOCH FROM t)", "duckdb", "a timestamp of whole seconds"),
        ("EXTRACT(EPOCH FROM t - d)", "postgres", "a timestamp of whole seconds"),
        ("EXTRACT(EPOCH FROM DATE_TRUNC('second', t) - u)", "duckdb", "a timestamp of whole seconds"),
        ("EXTRACT(EPOCH FROM TIMESTAMP '2020-01-01 00:00:00.5')", "duckdb", "a timestamp of whole seconds"),
        ("UNIX_TIMESTAMP(t)", "spark", "a timestamp of whole seconds"),
        ("EXTRACT(EPOCH FROM d - d)", "duckdb", "a date or a timestamp"),
        ("EXTRACT(EPOCH FROM place)", "duckdb", "a date or a timestamp"),
        ("UNIX_SECONDS(place)", "spark", "a date or a timestamp"),
        ("EXTRACT(EPOCH FROM d)", "spark", "UNIX_SECONDS"),
        ("EPOCH_MS(t)", "duckdb", "a known function"),
        ("DATE_SUB('day', t, u)", "duckdb", "a timestamp of whole seconds"),
        ("DATE_SUB('month', d, d)", "duckdb", "spans of WEEK, DAY, HOUR"),
        ("TIMESTAMPDIFF(YEAR, d, d)", "spark", "spans of WEEK, DAY, HOUR"),
        ("TIMESTAMPDIFF(DAY, place, d)", "spark", "a date or a timestamp"),
    ],
)
def test_other_seconds_are_refused(written: str, dialect: str, what: str, protect: Callable[..., Any]) -> None:
    rows = protect(ROWS, bounds={"place": (0, 9)})
    with pytest.raises(dp.InvalidQuery, match=f"Expected {what}(?s:.)*Hint: "):
        dp.sql(f"SELECT COUNT({written}) FROM rows", rows=rows, dialect=dialect)  # noqa: S608 (ours)
