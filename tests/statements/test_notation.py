"""Constants are read whole, as their dialect reads them, or refused: written by hand, and at random against DuckDB."""

from __future__ import annotations

import datetime
import time
from collections.abc import Callable
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import depth
import discreet as dp
from discreet.statements.dialects import DIALECTS
from neighbor_bench import Bench
from random_sql import ROWS, constants, meaning, plain, protected, values

Exact = Callable[[dp.Question], list[dict[str, Any]]]
EXAMPLES = max(4, depth.examples(15))
SECONDS = 60
"""A slow machine tries fewer examples, and none is too slow for it."""


def test_random_constants_are_those_of_duckdb() -> None:
    bench, end = Bench(), time.monotonic() + SECONDS
    tried: set[str] = set()
    table = protected(bench)
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        connection.register("people", ROWS)

        @settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=[HealthCheck.too_slow])
        @given(st.lists(constants("duckdb"), min_size=20, max_size=20))
        def compared(expressions: list[str]) -> None:
            if time.monotonic() > end:
                return
            taken = {}
            for expression in expressions:
                try:
                    taken[expression] = meaning(expression, "duckdb", table)
                except dp.InvalidQuery:
                    continue
            found = values(bench, table, list(taken.values())) if taken else []
            for expression, got in zip(taken, found, strict=True):
                wanted = connection.execute(f"SELECT {expression} FROM people ORDER BY place").fetchall()  # noqa: S608 (ours)
                assert [plain(value) for value in got] == [plain(value) for (value,) in wanted], expression
            tried.update(taken)

        compared()
    assert tried


NUMBERS = "a number in decimal digits"
TEXTS = "one text in quotes"
ESCAPES = "a text without escapes"
INTERVAL = "a constant whole number of one of YEAR"
REFUSED = {
    "age > 1e": ("duckdb postgres spark", NUMBERS),
    "age > 1_0": ("postgres", NUMBERS),
    "age > 1L": ("duckdb postgres spark", NUMBERS),
    "age > 10BD": ("spark", NUMBERS),
    "age > 0x10": ("duckdb postgres spark", "operations|SQL that can be read|a number"),
    "plan = 'a' 'b'": ("duckdb postgres spark", TEXTS),
    "plan = 'a'\n'b'": ("duckdb postgres spark", TEXTS),
    "plan = 'a''b'": ("spark", TEXTS),
    "plan = 'a\\u00e9'": ("spark", ESCAPES),
    "plan = '\\141'": ("spark", ESCAPES),
    "plan = '\\n'": ("spark", ESCAPES),
    'plan = "\\x"': ("spark", ESCAPES),
    "plan = r'a'": ("spark", "operations that discreet docs sql lists"),
    "plan = e'a'": ("duckdb postgres", "operations that discreet docs sql lists"),
    "plan = U&'a'": ("postgres", "operations that discreet docs sql lists"),
    "plan = N'a'": ("postgres", "operations that discreet docs sql lists"),
    "plan = $$a$$": ("duckdb postgres", "operations that discreet docs sql lists"),
    "plan = x'61'": ("postgres", "operations that discreet docs sql lists"),
    "plan = b'01'": ("postgres", "operations that discreet docs sql lists"),
    "age > 1 -- all\\\n AND age < 0": ("spark", "a comment that ends with its line"),
    "age IS NULL::VARCHAR = 'true'": ("duckdb postgres spark", "a comparison without a cast after it"),
    "plan ~~ 'a'": ("duckdb postgres", "operators that discreet docs sql lists"),
    "plan ^@ 'a'": ("duckdb", "operators that discreet docs sql lists"),
    "age IN (SELECT age FROM people@v)": ("duckdb postgres spark", "operators that discreet docs sql lists"),
    "@age = 3": ("duckdb postgres spark", "operators that discreet docs sql lists"),
    "age <=> 3": ("duckdb postgres", "operators that discreet docs sql lists"),
    "age == 3": ("postgres", "operators that discreet docs sql lists"),
    "age IN [3]": ("postgres spark", "operators that discreet docs sql lists"),
    **{
        f"joined + INTERVAL {written} > joined": ("duckdb postgres spark", INTERVAL)
        for written in (
            "'1 day ago'", "'.5 days'", "'1-2 years'", "'x 1 day'", "'1 day x'", "'1 day' day", "'- 1 day'", "''",
            "'1 day 2 days'", "'1.5 days'", "'P1D'", "'1:00 hours'", "'1e1 days'", "'+1 day'",
        )
    },
    "joined + INTERVAL '1' DAYS > joined": ("postgres", INTERVAL),
    "joined + INTERVAL '1' WEEK > joined": ("postgres", INTERVAL),
    "joined + INTERVAL '1' d > joined": ("duckdb postgres spark", INTERVAL),
    **{
        f"seen > {kind}'{written}'": ("duckdb postgres", "a date" if kind else "a timestamp such as")
        for kind in ("", "TIMESTAMP ")
        for written in (
            "2020-01-05 13:07:59.1234567", "20200105", "2020-W01-7", "2020-1-5", "2020-01-05 13", "2020-01-05 13:07",
            "2020-01-05 13:07:59,5", "epoch", "infinity", "now", "today", "2020-01-05 24:00:00", " 2020-01-05",
            "2020-01-05 13:07:60", "2020-01-05 1:07:59 PM", "2020-005",
        )
    },
    "joined > '2020-01-05 12:00:00'": ("duckdb postgres spark", "a date such as"),
    "joined BETWEEN ('2020-01-05 12:00:00') AND '2021-01-01'": ("duckdb postgres spark", "a date such as"),
    "joined IN ('2020-01-05', 'today')": ("duckdb postgres spark", "a date such as"),
    "'yesterday' < joined": ("duckdb postgres spark", "a date such as"),
    "CASE joined WHEN 'epoch' THEN smokes END": ("duckdb postgres spark", "a date such as"),
    "CAST('2020-01-05 12:00:00' AS DATE) = joined": ("duckdb postgres spark", "a date"),
    "seen >= TIMESTAMP(0) '2020-01-05 13:07:59.6'": ("duckdb postgres", "a CAST to"),
    "seen >= CAST('2020-01-05 13:07:59.6' AS TIMESTAMP(0))": ("duckdb postgres spark", "a CAST to"),
    "TIMESTAMP WITH TIME ZONE '2020-01-05 15:07:59 Asia/Tokyo' = seen": ("postgres", "a date"),
    "TIMESTAMP WITH TIME ZONE '0001-01-01 00:00:00+02' < seen": ("postgres", "a date"),
    "TIMESTAMPTZ '9999-12-31 23:59:59-00:01' < seen": ("duckdb", "a date"),
}  # fmt: skip


@pytest.mark.long
@pytest.mark.parametrize("written", REFUSED)
def test_what_is_read_in_part_or_otherwise_is_refused(written: str, rows: dp.PrivateTable) -> None:
    dialects, what = REFUSED[written]
    for dialect in dialects.split():
        with pytest.raises(dp.InvalidQuery, match=rf"(?s)Expected (?:{what}).* at line \d.*\nHint: "):
            dp.sql(f"SELECT COUNT(*) AS n FROM people WHERE {written}", people=rows, dialect=dialect)  # noqa: S608 (ours)


@pytest.mark.long
@pytest.mark.parametrize(
    ("written", "dialects", "counted"),
    [
        ("age > 1.", "duckdb postgres spark", 7),
        ("age > 1_0", "duckdb", 6),
        ("age = .17e2", "duckdb postgres spark", 1),
        ("plan <> 'a''b'", "duckdb postgres", 7),
        (r"plan <> 'a\\b'", "duckdb postgres spark", 7),
        (r"plan <> 'a\'b'", "spark", 7),
        ("seen = TIMESTAMP '2020-01-05T13:07:59.000000'", "duckdb postgres spark", 1),
        ("seen >= '2020-01-05 13:07:58.999999'", "duckdb postgres spark", 1),
        ("seen >= ('2020-01-05')", "duckdb postgres spark", 1),
        ("joined IN ('2020-01-05', '2021-12-31')", "duckdb postgres spark", 2),
        ("joined + INTERVAL ' -1 day ' = DATE '2020-01-04'", "duckdb postgres spark", 1),
        ("joined + INTERVAL '1' DAY = DATE '2020-01-06'", "duckdb postgres spark", 1),
        ('"age" > 17', "duckdb postgres", 5),
    ],
)
def test_what_all_read_alike_is_taken(
    written: str, dialects: str, counted: int, rows: dp.PrivateTable, exact: Exact
) -> None:
    for dialect in dialects.split():
        text = f"SELECT COUNT(*) AS n FROM people WHERE {written}"  # noqa: S608 (ours)
        assert exact(dp.sql(text, people=rows, dialect=dialect)) == [{"n": counted}]


def test_names_are_no_operators(protect: Callable[..., dp.PrivateTable]) -> None:
    odd = protect(pa.table({"~~": [1], "==": [2]}), bounds={"~~": (0, 9), "==": (0, 9)})
    for dialect, quote in zip(DIALECTS, '""`', strict=True):
        assert dp.sql(f"SELECT SUM({quote}~~{quote} + {quote}=={quote}) FROM odd", odd=odd, dialect=dialect) is not None  # noqa: S608 (ours)


@pytest.mark.parametrize(
    ("written", "dialects", "what"),
    [
        ("DATE_PART(month, joined) = 1", "duckdb postgres spark", "a part of a date in quotes"),
        ("DATE_TRUNC(month, joined) = joined", "duckdb postgres spark", "a part of a date in quotes"),
        ("DATE_DIFF(month, joined, seen) = 1", "duckdb", "a part of a date in quotes"),
        ("user = 'bob'", "postgres", "a column in quotes"),
        ("people.user = 'bob'", "postgres", "a column in quotes"),
        ("Current_User = 'bob'", "duckdb postgres", "a known function|a column in quotes"),
        ("age > 3 {# comment #}", "duckdb postgres spark", "comments of SQL"),
    ],
)
def test_names_that_mean_something_else_are_refused(
    written: str, dialects: str, what: str, protect: Callable[..., dp.PrivateTable]
) -> None:
    """A part of a date without quotes is a column where there is one; a user is that of the session."""
    days = [datetime.date(2020, 1, 5)]
    rows = pa.table(
        {"age": [4], "visits": [1], "spending": [1.0], "user": ["bob"], "month": ["year"], "joined": days, "seen": days}
    )
    for dialect in dialects.split():
        text = f"SELECT COUNT(*) AS n FROM people WHERE {written}"  # noqa: S608 (ours)
        with pytest.raises(dp.InvalidQuery, match=what):
            dp.sql(text, people=protect(rows), dialect=dialect)


@pytest.mark.parametrize("written", ["age > 3 AND plan <> '{#'", "EXTRACT(month FROM joined) = 1", "\"user\" = 'bob'"])
def test_what_only_looks_like_them_is_taken(
    written: str, protect: Callable[..., dp.PrivateTable], exact: Exact
) -> None:
    days = [datetime.date(2020, 1, 5)]
    rows = pa.table(
        {
            "age": [4],
            "visits": [1],
            "spending": [1.0],
            "plan": ["a"],
            "user": ["bob"],
            "month": ["year"],
            "joined": days,
        }
    )
    for dialect in ("duckdb", "postgres"):
        text = f"SELECT COUNT(*) AS n FROM people WHERE {written}"  # noqa: S608 (ours)
        assert exact(dp.sql(text, people=protect(rows), dialect=dialect)) == [{"n": 1}]


def test_letters_that_are_no_ascii_have_the_case_that_they_are_in(protect: Callable[..., dp.PrivateTable]) -> None:
    rows = pa.table({"straße": [1], "K": [1]})
    assert dp.sql("SELECT COUNT(*) AS n FROM t WHERE STRAßE = 1 AND k = 1", t=protect(rows, bounds={})) is not None
    for name in ("strasse", "STRASSE", "\u212a"):
        with pytest.raises(dp.InvalidQuery, match="a known column"):
            dp.sql(f"SELECT COUNT(*) AS n FROM t WHERE {name} = 1", t=protect(rows, bounds={}))  # noqa: S608 (ours)


@pytest.mark.long
@pytest.mark.parametrize("dialect", ["duckdb", "postgres", "spark"])
@pytest.mark.parametrize("limit", ["LIMIT 1, 5", "LIMIT (1), 5", "limit 1,5"])
def test_the_offset_of_mysql_is_refused_with_what_to_write(
    dialect: str, limit: str, protect: Callable[..., dp.PrivateTable]
) -> None:
    rows = pa.table({"plan": ["a"]})
    for text in (
        f"SELECT plan, COUNT(*) AS n FROM people GROUP BY plan {limit}",  # noqa: S608 (ours)
        f"WITH a AS (SELECT plan, 1 AS b FROM people {limit}) SELECT COUNT(*) FROM a",  # noqa: S608 (ours)
    ):
        with pytest.raises(dp.InvalidQuery, match="LIMIT 5 OFFSET 1"):
            dp.sql(text, people=protect(rows, bounds={}, keys={"plan": ["a"]}), dialect=dialect)
    plain = "SELECT plan, COUNT(*) AS n FROM people GROUP BY plan ORDER BY n, plan LIMIT 5 OFFSET 1"
    assert dp.sql(plain, people=protect(rows, bounds={}, keys={"plan": ["a"]}), dialect=dialect) is not None
