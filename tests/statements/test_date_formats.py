"""Each part of a format is the text that the dialect writes, for any date; other formats are refused."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from typing import Any

import duckdb
import pyarrow as pa
import pytest

import discreet as dp
import random_sql
from discreet.statements.date_formats import FORMATS, OF_DUCKDB
from discreet.statements.dialects import DIALECTS
from neighbor_bench import Bench

MOMENTS = [
    datetime.datetime(*parts)  # noqa: DTZ001 (naive means UTC here)
    for parts in (
        *((1, 1, 1), (33, 11, 30, 12), (999, 12, 31, 23, 59, 59, 999_999), (1969, 12, 31, 13, 7, 9)),
        *((2000, 2, 29, 0, 30), (2024, 12, 29, 11, 59), (2024, 12, 30), (9999, 12, 30, 1, 2, 3)),
    )
]
ROWS = pa.table(
    {
        "place": pa.array(range(len(MOMENTS) + 1), pa.int64()),
        "t": pa.array([*MOMENTS, None], pa.timestamp("us")),
        "d": pa.array([*(moment.date() for moment in MOMENTS), None], pa.date32()),
    }
)


def found(expressions: list[str], dialect: str) -> list[list[Any]]:
    bench = Bench()
    table = bench.protect(ROWS, unit=dp.ROW, bounds={"place": (0, 99)})
    meanings = [random_sql.meaning(expression, dialect, table) for expression in expressions]
    return [list(values) for values in random_sql.values(bench, table, meanings)]


@pytest.mark.long
@pytest.mark.parametrize("column", ["t", "d"])
def test_formats_are_those_of_duckdb(column: str) -> None:
    formats = [*OF_DUCKDB, "%Y-%m", "%d.%m.%Y, %H:%M:%S %%", "at %-I o''clock %p", "%A%B%-d", "é%jé"]
    written = [f"STRFTIME({column}, '{one}')" for one in formats] + [f"STRFTIME('%Y-%m', {column})"]
    with duckdb.connect() as connection:
        connection.register("rows", ROWS)
        wanted = connection.execute(f"SELECT {', '.join(written)} FROM rows ORDER BY place").fetchall()  # noqa: S608 (ours)
    assert found(written, "duckdb") == [list(values) for values in zip(*wanted, strict=True)]


PLAIN = {
    "postgres": ["YYYY-MM", "YYYYMMDD", 'FMMonth FMDD", at" HH24:MI:SS', "HH12 AM", "Dy DDD"],
    "spark": ["yyyy-MM", "yyyyMMdd", "MMMM d, HH:mm:ss", "hh a", "EEE DDD"],
}
SAME = ["%Y-%m", "%Y%m%d", "%B %-d, at %H:%M:%S", "%I %p", "%a %j"]


@pytest.mark.long
@pytest.mark.parametrize("dialect", ["postgres", "spark"])
def test_formats_of_other_dialects(dialect: str) -> None:
    """tests/engines/conformance asks the engines themselves about each part."""
    ours = found([f"{DIALECTS[dialect].formatter}(t, '{one}')" for one in PLAIN[dialect]], dialect)
    wanted = found([f"STRFTIME(t, '{one}')" for one in SAME], "duckdb")
    assert [[x and x.replace(", at", ",") for x in values] for values in ours] == [
        [x and x.replace(", at", ",") for x in values] for values in wanted
    ]


def test_every_dialect_has_a_form_for_its_parts() -> None:
    assert set(FORMATS) == set(DIALECTS)
    for parts, pattern in FORMATS.values():
        for code in parts:
            match = pattern.fullmatch(code)
            assert match is not None
            assert match["part"] == code


@pytest.mark.parametrize(
    ("written", "dialect", "what"),
    [
        ("STRFTIME(d, '%F')", "duckdb", "a format of %Y"),
        ("STRFTIME(d, '%')", "duckdb", "a format of %Y"),
        ("STRFTIME(d, '%-Y')", "duckdb", "a format of %Y"),
        ("STRFTIME(d, '')", "duckdb", "the format as a text of 1"),
        ("STRFTIME(d, 'day')", "duckdb", "a format with a part"),
        ("STRFTIME(place, '%Y')", "duckdb", "a date or a timestamp"),
        ("STRFTIME(d, d)", "duckdb", "the format as a text"),
        ("STRFTIME(d)", "duckdb", "a known function"),
        ("TO_CHAR(d, 'YYYY')", "duckdb", "a known function"),
        ("STRFTIME(d, '%Y')", "postgres", "a known function"),
        ("TO_CHAR(d, 'Day')", "postgres", "a format of YYYY"),
        ("TO_CHAR(d, 'SSSS')", "postgres", "a format of YYYY"),
        ("TO_CHAR(d, 'YYYYY')", "postgres", "a format of YYYY"),
        ("TO_CHAR(d, 'yyyy')", "postgres", "a format of YYYY"),
        ("TO_CHAR(d, 'YYYY-MM-DDTHH24')", "postgres", "a format of YYYY"),
        ("TO_CHAR(d, 'DDTH')", "postgres", "a format of YYYY"),
        ("DATE_FORMAT(d, 'u')", "spark", "a format of yyyy"),
        ("DATE_FORMAT(d, 'yyyyMMMMM')", "spark", "a format of yyyy"),
        ("DATE_FORMAT(d, '[yyyy]')", "spark", "a format of yyyy"),
        ("DATE_FORMAT(d, 'YYYY')", "spark", "a format of yyyy"),
    ],
)
def test_other_formats_are_refused(written: str, dialect: str, what: str, protect: Callable[..., Any]) -> None:
    rows = protect(ROWS, bounds={"place": (0, 99)})
    with pytest.raises(dp.InvalidQuery, match=f"Expected {what}(?s:.)*Hint: "):
        dp.sql(f"SELECT COUNT({written}) FROM rows", rows=rows, dialect=dialect)  # noqa: S608 (ours)


def test_months_are_keys(protect: Callable[..., Any], exact: Callable[[dp.Question], Any]) -> None:
    statement = "SELECT STRFTIME(t, '%Y-%m') AS month, COUNT(*) AS n FROM rows GROUP BY month"
    question = dp.sql(statement, rows=protect(ROWS, bounds={}), keys={"month": ["2024-12", "2000-02", "1999-01", None]})
    assert [row["n"] for row in exact(question)] == [2, 1, 0, 1]
