"""Windows over the groups of an answer: what DuckDB makes of the same released numbers, and never of rows."""

from __future__ import annotations

import datetime
import itertools
import re
from pathlib import Path
from typing import Any

import duckdb
import ibis
import pyarrow as pa
import pytest

import discreet as dp
from discreet.statements.answer_windows import NAMES

GROUPS = {f"g{i}": count for i, count in enumerate((3, 1, 3, 7, 5, 3, 7, 2))}
"""With ties, which noise at a large epsilon leaves."""
SIDES = ("left", "right")

WINDOWS = [
    "ROW_NUMBER() OVER (ORDER BY {n} DESC, g)",
    "RANK() OVER (ORDER BY {n} DESC)",
    "DENSE_RANK() OVER (PARTITION BY side ORDER BY {n})",
    "PERCENT_RANK() OVER (ORDER BY {n})",
    "CUME_DIST() OVER (ORDER BY {n} DESC)",
    "NTILE(3) OVER (ORDER BY {n}, g)",
    "LAG({n}) OVER (ORDER BY g)",
    "LEAD({n}, 2) OVER (PARTITION BY side ORDER BY g DESC)",
    "SUM({n}) OVER ()",
    "SUM({n}) OVER (ORDER BY {n})",
    "SUM({n}) OVER (PARTITION BY side ORDER BY {n}, g)",
    "AVG({n}) OVER (PARTITION BY side)",
    "MIN({n}) OVER (ORDER BY g)",
    "MAX({n}) OVER (PARTITION BY side)",
    "COUNT(*) OVER (PARTITION BY side)",
    "COUNT(*) OVER (ORDER BY {n})",
    "{n} / SUM({n}) OVER ()",
    "ROUND(100.0 * {n} / SUM({n}) OVER (PARTITION BY side), 2)",
    "CASE WHEN RANK() OVER (ORDER BY {n} DESC) <= 2 THEN 'many' ELSE 'few' END",
    "{n} - LAG({n}) OVER (ORDER BY {n}, g)",
    "AVG({n}) OVER (ORDER BY g, side ROWS BETWEEN 2 PRECEDING AND CURRENT ROW)",
    "SUM({n}) OVER (PARTITION BY side ORDER BY g DESC ROWS 3 PRECEDING)",
    "MAX({n}) OVER (ORDER BY g, side ROWS BETWEEN 1 FOLLOWING AND UNBOUNDED FOLLOWING)",
    "MIN({n}) OVER (ORDER BY g, side ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING)",
    "COUNT(*) OVER (ORDER BY g, side ROWS BETWEEN 3 PRECEDING AND 2 PRECEDING)",
    "SUM({n}) OVER (ORDER BY {n} RANGE BETWEEN 2 PRECEDING AND CURRENT ROW)",
    "SUM({n}) OVER (ORDER BY {n} DESC RANGE BETWEEN UNBOUNDED PRECEDING AND 1.5 FOLLOWING)",
    "ROW_NUMBER() OVER (ORDER BY side, g DESC, side DESC, g)",
    "COUNT(*) OVER (PARTITION BY side ORDER BY g, {n}, g DESC ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)",
    "COUNT(*) OVER (PARTITION BY side ORDER BY {n} * 0.5 RANGE BETWEEN 0.75 PRECEDING AND 0.75 FOLLOWING)",
]


def table() -> dp.PrivateTable:
    rows = [(g, SIDES[i % 2]) for i, (g, count) in enumerate(GROUPS.items()) for _ in range(count)]
    data = pa.table({"g": [g for g, _ in rows], "side": [side for _, side in rows]})
    keys = {"g": list(GROUPS), "side": list(SIDES)}
    return dp.protect(data, unit=dp.ROW, keys=keys, budget=dp.Budget(epsilon=10**6), name="t")


def released(statement: str, dialect: str = "duckdb", epsilon: float = 1000) -> pa.Table:
    return dp.sql(statement, t=table(), dialect=dialect).release(epsilon=epsilon).to_pyarrow()


@pytest.mark.long
@pytest.mark.parametrize("dialect", ["duckdb", "postgres", "spark"])
@pytest.mark.parametrize("window", WINDOWS)
def test_windows_are_those_of_duckdb(window: str, dialect: str) -> None:
    """Counts have no noise to speak of at this epsilon; groups that nobody is in are of them."""
    written = window.format(n="COUNT(*)")
    answer = released(f"SELECT g, side, COUNT(*) AS n, {written} AS w FROM t GROUP BY g, side", dialect)  # noqa: S608 (ours)
    con = duckdb.connect()
    con.register("answer", answer)
    expected = con.sql(f"SELECT g, side, {window.format(n='n')} AS w FROM answer ORDER BY g, side").fetchall()  # noqa: S608 (ours)
    found = answer.select(["g", "side", "w"]).sort_by([("g", "ascending"), ("side", "ascending")]).to_pylist()
    assert len(found) == len(GROUPS) * len(SIDES)
    assert [one["w"] for one in found] == pytest.approx([w for _g, _side, w in expected])


DAYS = [datetime.date(1, 1, 1), *(datetime.date(2020, *day) for day in ((1, 1), (1, 4), (1, 31), (2, 29), (3, 31)))]
DAYS += [datetime.date(9999, 12, 31)]
SPANS = [
    "SUM({n}) OVER (ORDER BY {key} RANGE BETWEEN INTERVAL '3' DAY PRECEDING AND CURRENT ROW)",
    "SUM({n}) OVER (ORDER BY {key} DESC RANGE BETWEEN CURRENT ROW AND INTERVAL '1' MONTH FOLLOWING)",
    "COUNT(*) OVER (ORDER BY {key} RANGE BETWEEN INTERVAL '2' MONTH PRECEDING AND INTERVAL '7' DAY PRECEDING)",
    "AVG({n}) OVER (ORDER BY {key} RANGE BETWEEN INTERVAL '1' DAY FOLLOWING AND UNBOUNDED FOLLOWING)",
    "SUM({n}) OVER (ORDER BY {key} RANGE BETWEEN INTERVAL '1' QUARTER PRECEDING AND INTERVAL '1' DAY PRECEDING)",
    "MAX({n}) OVER (PARTITION BY half ORDER BY {key} RANGE INTERVAL '1' YEAR PRECEDING)",
    "SUM({n}) OVER (ORDER BY {key} RANGE BETWEEN INTERVAL '1' MONTH PRECEDING AND INTERVAL '40' DAY PRECEDING)",
]


def by_days() -> dp.PrivateTable:
    """Groups of days and of moments, some with nobody in them."""
    rows = [(day, i % 2) for i, day in enumerate(DAYS) for _ in range(i + 1)]
    seen = [datetime.datetime.combine(day, datetime.time(12)) for day, _half in rows]
    data = pa.table({"day": [day for day, _half in rows], "half": [half for _day, half in rows], "seen": seen})
    keys: dict[str, Any] = {"day": DAYS, "half": [0, 1], "seen": sorted(set(seen))}
    return dp.protect(data, unit=dp.ROW, keys=keys, budget=dp.Budget(epsilon=10**6), name="t")


@pytest.mark.long
@pytest.mark.parametrize(("key", "dialect"), [("day", "duckdb"), ("seen", "postgres"), ("day", "spark")])
def test_frames_by_intervals_are_those_of_duckdb(key: str, dialect: str) -> None:
    more = [] if key == "day" else ["SUM({n}) OVER (ORDER BY {key} RANGE INTERVAL '71' HOUR PRECEDING)"]
    left_out = {"duckdb": "none", "postgres": "QUARTER", "spark": "PRECEDING AND INTERVAL"}[dialect]
    windows = [one for one in (*SPANS, *more) if left_out not in one]
    written = ", ".join(f"{one.format(n='COUNT(*)', key=key)} AS w{i}" for i, one in enumerate(windows))
    question = dp.sql(
        f"SELECT {key}, half, COUNT(*) AS n, {written} FROM t GROUP BY {key}, half",  # noqa: S608 (ours)
        t=by_days(),
        dialect=dialect,
    )
    held = question.release(epsilon=1000).to_pyarrow()
    with duckdb.connect() as con:
        con.register("answer", held)
        again = ", ".join(f"{one.format(n='n', key=key)} AS w{i}" for i, one in enumerate(windows))
        expected = con.sql(f"SELECT {key}, half, {again} FROM answer ORDER BY {key}, half").to_arrow_table()  # noqa: S608 (ours)
    found = held.sort_by([(key, "ascending"), ("half", "ascending")])
    for i, _one in enumerate(windows):
        assert found[f"w{i}"].to_pylist() == pytest.approx(expected[f"w{i}"].to_pylist()), _one
    assert len({tuple(found[f"w{i}"].to_pylist()) for i in range(len(windows))}) == len(windows)


@pytest.mark.parametrize(
    ("frame", "what"),
    [
        ("INTERVAL '2' HOUR PRECEDING AND CURRENT ROW", "an interval of days or more beside a date"),
        ("INTERVAL '2' MONTH PRECEDING AND INTERVAL '7' DAY PRECEDING", "two intervals of months, or two of days"),
    ],
)
def test_what_spark_does_not_take_is_refused_there(frame: str, what: str) -> None:
    statement = f"SELECT day, SUM(COUNT(*)) OVER (ORDER BY day RANGE BETWEEN {frame}) AS s FROM t GROUP BY day"  # noqa: S608 (ours)
    dp.sql(statement, t=by_days())
    with pytest.raises(dp.InvalidQuery, match=what):
        dp.sql(statement, t=by_days(), dialect="spark")


def test_an_interval_of_more_than_all_years_reaches_all_days() -> None:
    """DuckDB has no such days, and would fail after the charge."""
    units = ("YEAR", "QUARTER", "MONTH", "WEEK", "DAY", "HOUR", "MINUTE", "SECOND")
    reaches = [f"INTERVAL '9007199254740992' {unit}" for unit in units]
    reaches += ["INTERVAL '400000' YEAR", "INTERVAL '2147483647' DAY", "2147483647"]
    sums = ", ".join(
        f"SUM(COUNT(*)) OVER (ORDER BY day RANGE {one} PRECEDING) AS s{i}" for i, one in enumerate(reaches)
    )
    asked = dp.sql(f"SELECT day, COUNT(*) AS n, {sums} FROM t GROUP BY day", t=by_days())  # noqa: S608 (ours)
    answer = asked.release(epsilon=1000).to_pyarrow()
    for i, _reach in enumerate(reaches):
        assert answer[f"s{i}"].to_pylist() == list(itertools.accumulate(answer["n"].to_pylist()))


def test_a_window_by_an_interval_has_a_document() -> None:
    """The same question, written in Python with a number beside an interval, too."""
    statement = "SELECT day, COUNT(*) AS n, SUM(COUNT(*)) OVER (ORDER BY day RANGE INTERVAL '3' DAY PRECEDING) AS s"
    table = by_days()
    asked = dp.sql(f"{statement} FROM t GROUP BY day", t=table)
    window = asked.document()["question"]["after"][0]["mutate"][0][1]
    assert "'interval': [3, 'D']" in str(window)
    assert dp.question(asked.document(), {"t": table}).document() == asked.document()
    frame = ibis.range_window(preceding=ibis.interval(days=3), following=0, order_by=ibis._.day)
    own = table.group_by("day").agg(n=ibis._.count()).mutate(s=ibis._.n.sum().over(frame))
    assert dp.question(own.document(), {"t": table}).document() == own.document()
    numbers = [one.release(epsilon=1000).to_pyarrow()["s"].to_pylist() for one in (asked, own)]
    assert numbers[0] == numbers[1]


def test_windows_look_at_what_having_leaves_and_qualify_at_windows() -> None:
    base = "SELECT g, COUNT(*) AS n, RANK() OVER (ORDER BY COUNT(*) DESC) AS r FROM t GROUP BY g"
    assert released(f"{base} HAVING COUNT(*) < 6 ORDER BY r, g")["r"].to_pylist() == [1, 2, 2, 2, 5, 6]
    assert released(f"{base} QUALIFY RANK() OVER (ORDER BY COUNT(*) DESC) <= 2")["g"].to_pylist() == ["g3", "g6"]
    assert released(f"{base} HAVING COUNT(*) < 6 QUALIFY r = 1")["g"].to_pylist() == ["g4"]
    ordered = released("SELECT g, COUNT(*) AS n FROM t GROUP BY g ORDER BY RANK() OVER (ORDER BY COUNT(*)), g LIMIT 3")
    assert ordered["g"].to_pylist() == ["g1", "g7", "g0"]


def test_a_window_has_a_name() -> None:
    statement = (
        "SELECT g, side, {n} AS n, RANK() OVER w AS r, SUM({n}) OVER W AS s, AVG({n}) OVER back AS a FROM {t} "
        "WINDOW w AS (PARTITION BY side ORDER BY {n} DESC, g), back AS (ORDER BY g, side ROWS 1 PRECEDING) "
        "QUALIFY LAG({n}) OVER w IS NOT NULL ORDER BY g, side"
    )
    answer = released(statement.format(n="COUNT(*)", t="t GROUP BY g, side"))
    con = duckdb.connect()
    con.register("answer", released("SELECT g, side, COUNT(*) AS n FROM t GROUP BY g, side"))
    expected = con.sql(statement.format(n="n", t="answer")).fetchall()
    assert [tuple(one.values()) for one in answer.select(["g", "side", "n", "r", "s", "a"]).to_pylist()] == expected
    assert len(expected) == len(GROUPS) * len(SIDES) - len(SIDES)


def test_columns_come_in_the_order_of_the_statement() -> None:
    statement = "SELECT RANK() OVER (ORDER BY COUNT(*)) AS r, g, COUNT(*) * 2 AS twice, COUNT(*) AS n FROM t GROUP BY g"
    names = [name for name in released(statement).column_names if not name.endswith(("_low", "_high"))]
    assert names == ["g", "r", "twice", "n"]
    assert "r_low" not in released(statement).column_names


def test_a_window_costs_nothing() -> None:
    """It is computed from what the statement without it releases, whose stored answer it takes."""
    held = table()
    plain = dp.sql("SELECT g, COUNT(*) AS n FROM t GROUP BY g", t=held).release(epsilon=1)
    statement = "SELECT g, COUNT(*) AS n, COUNT(*) / SUM(COUNT(*)) OVER () AS share FROM t GROUP BY g"
    shares = dp.sql(statement, t=held).release(epsilon=1)
    assert held.budget.spent.epsilon == 1
    numbers = plain.to_pyarrow()["n"].to_pylist()
    assert shares.to_pyarrow()["share"].to_pylist() == pytest.approx([n / sum(numbers) for n in numbers])


PAGE = (Path(__file__).parents[2] / "docs" / "sql.md").read_text(encoding="utf-8")
SHOWN = [one for one in re.findall(r"`([^`]+)`", PAGE.split("| windows over groups |")[1]) if " OVER (" in one]


@pytest.mark.long
@pytest.mark.parametrize("window", [one for one in SHOWN if not one.startswith("SELECT")])
def test_the_page_shows_what_is_taken(window: str, people: dp.PrivateTable) -> None:
    key = "joined" if "joined" in window else "plan"
    statement = f"SELECT {key}, COUNT(*) AS n, {window} AS w FROM people GROUP BY {key}"  # noqa: S608 (of the page)
    days = {"joined": [datetime.date(2024, 1, 1), datetime.date(2024, 2, 1)]}
    asked = dp.sql(statement, people=people, keys=days if key == "joined" else None)
    assert "w" in asked.release(epsilon=1).to_pyarrow().column_names


def test_the_page_shows_every_function() -> None:
    assert {one.partition("(")[0] for one in SHOWN if not one.startswith("SELECT")} == set(NAMES.values())


REFUSED = {
    "SELECT g, SUM(x) OVER () AS s FROM t": "aggregates over groups, no windows",
    "SELECT SUM(x) OVER (ORDER BY x ROWS UNBOUNDED PRECEDING) AS s FROM t": "aggregates over groups, no windows",
    "SELECT COUNT(*) AS n, RANK() OVER (ORDER BY COUNT(*)) AS r FROM t": "aggregates over groups, no windows",
    "SELECT g, COUNT(*) FROM t WHERE RANK() OVER (ORDER BY x) < 3 GROUP BY g": "aggregates over groups, no windows",
    "SELECT g, SUM(RANK() OVER (ORDER BY x)) AS s FROM t GROUP BY g": "aggregates over groups, no windows",
    "SELECT RANK() OVER (ORDER BY x) AS r, COUNT(*) FROM t GROUP BY RANK() OVER (ORDER BY x)": "aggregates over groups",
    "SELECT g, COUNT(*), SUM(x) OVER () AS s FROM t GROUP BY g": "a known column",
    "SELECT g, COUNT(*), RANK() OVER (ORDER BY x) AS s FROM t GROUP BY g": "a known column",
    "SELECT g, COUNT(*), LAG(COUNT(*)) OVER () AS s FROM t GROUP BY g": "an order for LAG",
    "SELECT g, COUNT(*), LAG(COUNT(*), 1, 0) OVER (ORDER BY g) AS s FROM t GROUP BY g": "LAG without DEFAULT",
    "SELECT g, COUNT(*), LAG(COUNT(*), g) OVER (ORDER BY g) AS s FROM t GROUP BY g": "a whole number of 0 or more",
    "SELECT g, COUNT(*), NTILE(0) OVER (ORDER BY g) AS s FROM t GROUP BY g": "a whole number of 1 or more",
    "SELECT g, COUNT(*), FIRST_VALUE(g) OVER (ORDER BY g) AS s FROM t GROUP BY g": "a function that is known",
    "SELECT g, SUM(COUNT(*)) FILTER (WHERE g > 'a') OVER () AS s FROM t GROUP BY g": "a function that is known",
    "SELECT g, RANK() OVER v AS s FROM t GROUP BY g WINDOW w AS (ORDER BY g)": "a window that WINDOW names",
    "SELECT g, RANK() OVER w AS s FROM t GROUP BY g": "a window that WINDOW names",
    "SELECT g, RANK() OVER (w ORDER BY g) AS s FROM t GROUP BY g WINDOW w AS (ORDER BY g)": "a window in parentheses",
    "SELECT g, RANK() OVER w AS s FROM t GROUP BY g WINDOW v AS (ORDER BY g), w AS (v)": "a window of its own",
    "SELECT g, RANK() OVER w AS s FROM t GROUP BY g WINDOW w AS (ORDER BY g), W AS (ORDER BY x)": "a window of its own",
    "SELECT g, LAG(COUNT(*)) OVER w AS s FROM t GROUP BY g WINDOW w AS (PARTITION BY g)": "an order for LAG",
    "SELECT g, COUNT(*) FROM t GROUP BY g WINDOW w AS (ORDER BY g)": "a window that is used",
    "SELECT SUM(x) OVER w AS s FROM t WINDOW w AS (ORDER BY x)": "aggregates over groups, no windows",
    "SELECT COUNT(*) FROM (SELECT x FROM t WINDOW w AS (ORDER BY x)) AS s": "rows in a sub-query, no WINDOW",
    "SELECT g, SUM(COUNT(*)) OVER (ROWS 1 PRECEDING) AS s FROM t GROUP BY g": "an order for ROWS",
    "SELECT g, SUM(COUNT(*)) OVER (ORDER BY g, x RANGE 1 PRECEDING) AS s FROM t GROUP BY g": "one key for RANGE",
    "SELECT g, SUM(COUNT(*)) OVER (ORDER BY g ROWS 1.5 PRECEDING) AS s FROM t GROUP BY g": "a whole number of 0 to",
    "SELECT g, SUM(COUNT(*)) OVER (ORDER BY g ROWS -1 PRECEDING) AS s FROM t GROUP BY g": "a whole number of 0 to",
    "SELECT g, SUM(COUNT(*)) OVER (ORDER BY g ROWS 1 + 1 PRECEDING) AS s FROM t GROUP BY g": "a whole number of 0 to",
    "SELECT g, SUM(COUNT(*)) OVER (ORDER BY g ROWS 9876543210 PRECEDING) AS s FROM t GROUP BY g": "0 to 2,147,483,648",
    "SELECT g, SUM(COUNT(*)) OVER (ORDER BY g ROWS 1 FOLLOWING) AS s FROM t GROUP BY g": "end before it begins",
    "SELECT g, SUM(COUNT(*)) OVER (ORDER BY g ROWS UNBOUNDED FOLLOWING) AS s FROM t GROUP BY g": "before it ends",
    "SELECT g, SUM(COUNT(*)) OVER (ORDER BY g RANGE INTERVAL '1' DAY PRECEDING) AS s FROM t GROUP BY g": "a date to",
    "SELECT g, SUM(COUNT(*)) OVER (ORDER BY g ROWS INTERVAL '1' DAY PRECEDING) AS s FROM t GROUP BY g": "a whole",
    "SELECT g, SUM(COUNT(*)) OVER (ORDER BY g RANGE INTERVAL '-1' DAY PRECEDING) AS s FROM t GROUP BY g": "0 or more",
    "SELECT g, SUM(COUNT(*)) OVER (ORDER BY g RANGE INTERVAL x DAY PRECEDING) AS s FROM t GROUP BY g": "a constant",
    "SELECT g, SUM(COUNT(*)) OVER (ORDER BY g RANGE BETWEEN INTERVAL '1' DAY PRECEDING AND 2 FOLLOWING) AS s FROM t "
    "GROUP BY g": "two intervals, or two numbers",
    "SELECT g, SUM(COUNT(*)) OVER (ORDER BY g RANGE BETWEEN INTERVAL '1' DAY FOLLOWING AND INTERVAL '1' MONTH PRECEDING"
    ") AS s FROM t GROUP BY g": "end before it begins",
    "SELECT g, SUM(COUNT(*)) OVER (ORDER BY g RANGE BETWEEN INTERVAL '1' DAY PRECEDING AND INTERVAL '2' DAY PRECEDING) "
    "AS s FROM t GROUP BY g": "end before it begins",
    "SELECT g, SUM(COUNT(*)) OVER (ORDER BY g ROWS 1 PRECEDING EXCLUDE TIES) AS s FROM t GROUP BY g": "without EXCLUDE",
    "SELECT g, RANK() OVER (ORDER BY g ROWS 1 PRECEDING) AS s FROM t GROUP BY g": "RANK without ROWS or RANGE",
    "SELECT g, SUM(RANK() OVER (ORDER BY COUNT(*))) OVER () AS s FROM t GROUP BY g": "no window inside of another",
    "SELECT g, COUNT(*) FROM t GROUP BY g HAVING RANK() OVER (ORDER BY COUNT(*)) < 2": "HAVING without windows",
    "SELECT g, COUNT(*) FROM t GROUP BY g QUALIFY COUNT(*) > 2": "a window that QUALIFY looks at",
    "SELECT g, COUNT(*) FROM t GROUP BY g QUALIFY RANK() OVER (ORDER BY COUNT(*))": "conditions on the answer, got",
}


@pytest.mark.long
@pytest.mark.parametrize("statement", REFUSED)
def test_what_is_refused_has_a_cure(statement: str) -> None:
    data = pa.table({"g": ["a"], "x": [1]})
    held = dp.protect(data, unit=dp.ROW, keys={"g": ["a"]}, bounds={"x": (0, 3)}, budget=dp.Budget(epsilon=1))
    with pytest.raises(dp.InvalidQuery, match="Hint: ") as refused:
        dp.sql(statement, t=held)
    assert REFUSED[statement] in str(refused.value)
