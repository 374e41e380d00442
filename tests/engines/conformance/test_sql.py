"""SQL in an engine's own dialect, about a table of it, means what the engine means without us."""

from __future__ import annotations

import datetime
import decimal
import math
import re
import time
from collections.abc import Callable, Iterator
from itertools import cycle, islice
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
import sqlglot
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import depth
import discreet as dp
import random_sql
from discreet.inference.estimate import estimates
from discreet.statements.date_formats import FORMATS
from discreet.statements.dialects import DIALECTS as DIALECTS_OF_SQL
from neighbor_bench import STORES, Bench

Backends = Callable[[str], Any]
PAGE = (Path(__file__).parents[3] / "docs" / "sql.md").read_text(encoding="utf-8")
ACCEPTED = PAGE.split("## What is accepted")[1].split("| aggregates |")[0]
DIALECTS = {"duckdb": "duckdb", "template": "duckdb", "postgresql": "postgres", "spark": "spark"}
DAY, AT = datetime.date, datetime.datetime
VALUES: dict[str, tuple[pa.DataType, list[Any]]] = {
    "person": (pa.int64(), list(range(1, 25))),
    "plan": (pa.string(), ["free", "25%", None, "Free ", " vif", "a_b", "", "FREE", "fre", "95%", "f"]),
    "age": (pa.int64(), [17, 18, 40, 64, None, 33, 7, 90, 0, 65]),
    "visits": (pa.int64(), [3, 0, 5, None, 12, 1, 7]),
    "spending": (pa.float64(), [12.5, 0.0, 2.5, 3.75, None, 0.5, 1.5, 80.0]),
    "joined": (pa.date32(), [DAY(2020, 1, 5), DAY(2021, 12, 31), None, DAY(1969, 12, 28), DAY(2024, 2, 29)]),
    "seen": (pa.timestamp("us"), [AT(2020, 1, 5, 13, 7, 59), None, AT(1969, 12, 31, 23, 59), AT(2021, 1, 3, 12, 30)]),
    "smokes": (pa.bool_(), [True, False, None, True, False]),
}
ROWS = pa.table({name: pa.array(list(islice(cycle(values), 24)), kind) for name, (kind, values) in VALUES.items()})
MORE = {
    "postgresql": [
        "(visits - 6) / 4",
        "(visits - 6) / 4.0",
        "plan::text",
        "BTRIM(plan)",
        "EXTRACT(DOW FROM joined)",
        "DATE_PART('year', joined)",
        "visits ^ 2",
        "CHAR_LENGTH(plan)",
        "SUBSTRING(plan FROM 2 FOR 2)",
        "CONCAT('a', plan, NULLIF(plan, 'free'), age)",
        "CONCAT_WS('', plan, age, plan)",
        "SIGN(visits - 3) * 2",
        "ROUND(age, -1)",
        "EXTRACT(EPOCH FROM joined) / 60",
        "DATE_PART('epoch', seen::date)",
        "EXTRACT(EPOCH FROM DATE_TRUNC('second', seen) - DATE_TRUNC('day', seen))",
        "joined + INTERVAL '1 month 0 days'",
        "joined + INTERVAL '-1 month'",
        "INTERVAL '2 years' + joined",
        "seen - INTERVAL '90 minutes'",
        "joined - 3",
        "seen::date - joined",
        "seen > joined",
        "joined BETWEEN '2019-01-01' AND TIMESTAMP '2021-12-31 12:00:00'",
        "seen IN (DATE '2020-01-05', TIMESTAMP '2021-01-03 12:30:00')",
        "joined::timestamptz",
        "DATE_TRUNC('minute', joined)",
        "age ISNULL",
        "smokes::text",
        "(age - 40)::boolean",
    ],
    "spark": [
        "visits DIV 4",
        "(visits - 6) / 4",
        "DAYOFWEEK(joined)",
        "LOG(age + 1)",
        "seen > TIMESTAMP '2020-01-01'",
        "BTRIM(plan)",
        "DATE_PART('year', joined)",
        "CONCAT('a', plan, NULLIF(plan, 'free'), age)",
        "CONCAT_WS('', plan, age, plan)",
        "plan || age",
        "CONCAT(FLOOR(spending), 'x')",
        "CAST(CEIL(spending) AS STRING)",
        "FLOOR(spending) DIV 2",
        "CAST(spending - 2.75 AS INT)",
        "SIGNUM(spending - 2.5)",
        "ROUND(spending / 3, 1)",
        "UNIX_SECONDS(seen)",
        "UNIX_DATE(joined)",
        "UNIX_TIMESTAMP(DATE_TRUNC('second', seen))",
        "DATE_ADD(joined, 7)",
        "DATE_SUB(seen, 7)",
        "ADD_MONTHS(joined, 3)",
        "ADD_MONTHS(seen, -1)",
        "DATEADD(MONTH, 2, joined)",
        "DATE_ADD(HOUR, -3, seen)",
        "TIMESTAMPADD(WEEK, 1, joined)",
        "TIMESTAMPDIFF(HOUR, joined, DATE_TRUNC('SECOND', seen))",
        "TIMESTAMPDIFF(WEEK, joined, DATE '2020-01-31')",
        "DATEDIFF(seen, joined)",
        "TO_DATE(seen)",
        "DATE(seen)",
        "joined - INTERVAL 1 MONTH",
        "joined + INTERVAL 2 WEEKS",
        "joined + INTERVAL 2 HOURS",
        "seen - INTERVAL '90' MINUTE",
        "joined + 3",
        "seen > joined",
        "DATE_TRUNC('minute', joined)",
        "CAST(joined AS TIMESTAMP)",
        "ISNULL(age)",
        "ISNOTNULL(age)",
        "NVL(age, 3)",
        "NVL2(age, visits, 3)",
        "STARTSWITH(plan, 'f')",
        "CAST(smokes AS STRING)",
        "CAST(age - 40 AS BOOLEAN)",
        "LAST_DAY(seen)",
        "DAYNAME(seen)",
        "MONTHNAME(joined)",
    ],
}
AT_LEAST = {"template": 100, "postgresql": 95, "spark": 115}
"""So many examples there are that both take."""
EXAMPLES = max(2, depth.examples(25))
GROUPS_AT_ONCE = 12
"""So many random expressions are computed by one statement."""
SECONDS = 120
"""A slow machine tries fewer of them, and none is too slow for it."""
KINDS = st.sampled_from(("number", "text", "truth", "truth"))
OTHERWISE = ("DATE_TRUNC",)
"""What docs/sql.md says is another type here: of a date, a date."""


def examples(engine: str) -> Iterator[str]:
    """The row-wise examples of the page, in the words of an engine."""
    for line in ACCEPTED.splitlines():
        for example in re.findall(r"`([^`]+)`", line.replace("\\|", "|")) if line.startswith("| ") else ():
            if re.search("[a-z]", example) and not example.startswith(OTHERWISE):
                yield sqlglot.transpile(example, read="duckdb", write=DIALECTS[engine])[0]
    yield from MORE.get(engine, ())


def plain(backend: Any, columns: str, table: str = "people_in_sql AS people") -> list[tuple[Any, ...]]:
    """What the engine says by itself."""
    statement = f"SELECT {columns} FROM {table}"  # noqa: S608 (ours)
    if backend.name == "pyspark":
        return [tuple(row) for row in backend._session.sql(statement).collect()]
    if backend.name == "template":
        return list(backend.con.execute(statement).fetchall())
    with backend.con.cursor() as cursor, backend.con.transaction():
        found: list[tuple[Any, ...]] = cursor.execute(statement).fetchall()
    return found


def asked(example: str, values: list[Any]) -> tuple[str, float]:
    """An aggregate by which the values of an expression tell themselves apart, and what it must be."""
    last = values[-1]
    if isinstance(last, int | float | decimal.Decimal) and not isinstance(last, bool):
        return f"SUM({example})", float(sum(values))
    plainly = last.astimezone(datetime.UTC).replace(tzinfo=None) if getattr(last, "tzinfo", None) else last
    shown = f"'{plainly}'" if isinstance(last, str | datetime.date) else str(last)
    kind = {DAY: "DATE ", AT: "TIMESTAMP "}.get(type(last), "")
    return f"COUNT(*) FILTER (WHERE ({example}) = {kind}{shown})", float(values.count(last))


def known(backend: Any, example: str) -> bool:
    """Whether the engine has all functions of an example."""
    try:
        if backend.name == "pyspark":
            backend._session.sql(f"SELECT {example} FROM people_in_sql AS people")  # noqa: S608 (ours)
        else:
            plain(backend, example)
    except Exception:  # noqa: BLE001 (each engine has a class for it)
        return False
    return True


def refused(example: str, people: dp.PrivateTable, dialect: str) -> bool:
    """Whether an example is not taken in a dialect."""
    try:
        dp.sql(f"SELECT COUNT(*) FILTER (WHERE ({example}) IS NULL) FROM people", people=people, dialect=dialect)  # noqa: S608 (ours)
    except dp.InvalidQuery:
        return True
    return False


@pytest.mark.long
def test_examples_mean_what_the_engine_means(backend_of: Backends, other: str) -> None:
    backend, dialect = backend_of(other), DIALECTS[other]
    stored = STORES[backend.name](backend, "people_in_sql", ROWS, temporary=False)
    bounds = {"age": (0, 100), "visits": (0, 50), "spending": (0, 100)}
    people = dp.protect(stored, unit=dp.ROW, bounds=bounds, budget=dp.Budget(epsilon=1), name="in SQL")
    both = [one for one in dict.fromkeys(examples(other)) if not refused(one, people, dialect)]
    taken = [one for one in both if known(backend, one)]
    assert len(taken) >= AT_LEAST[other]
    found = list(zip(*plain(backend, ", ".join(f"{one} AS c{i}" for i, one in enumerate(taken))), strict=True))
    held = [[value for value in values if value is not None] for values in found]
    questions = [asked(one, values) for one, values in zip(taken, held, strict=True)]
    questions += [(f"COUNT({one})", float(len(values))) for one, values in zip(taken, held, strict=True)]
    bench, at_once = Bench(backend), 30
    for part in (questions[i : i + at_once] for i in range(0, len(questions), at_once)):
        chosen = [f"{aggregate} AS x{i}" for i, (aggregate, _) in enumerate(part)]
        question = dp.sql(f"SELECT {', '.join(chosen)} FROM people", people=people, dialect=dialect)  # noqa: S608 (ours)
        plan = bench.plan(question, epsilon=10**4)
        answers = estimates(plan, bench.totals(plan), 0.95)
        for i, (aggregate, wanted) in enumerate(part):
            assert answers[f"x{i}"].values[0] == pytest.approx(wanted, rel=1e-6, abs=1e-3), aggregate


def itself(backend: Any, expression: str) -> list[Any] | None:
    """What the engine says of a random expression, row by row; None where it does not take it."""
    try:
        found = plain(backend, expression, "sentences ORDER BY place")
    except Exception:  # noqa: BLE001 (each engine has a class for it)
        return None
    return [random_sql.plain(value) for (value,) in found]


TIES = [k / d for d in (2, 8, 20, 200, 2000) for k in (1, 3, 201, 535, 12345, 20001)] + [1.005, 15.0, 250.0, -450.0]
NEAR = [value for tie in TIES for value in (tie, -tie, math.nextafter(tie, 0), math.nextafter(tie, 1e9))]


@pytest.mark.engine("postgresql")
@pytest.mark.engine("spark")
def test_halves_are_rounded_as_the_engine_does(backend_of: Backends, other: str) -> None:
    """On PostgreSQL as decimals, which are the only numbers that it rounds to decimals."""
    backend, bench = backend_of(other), Bench()
    rows = pa.table({"place": pa.array(range(len(NEAR)), pa.int64()), "x": NEAR})
    STORES[backend.name](backend, "halves", rows, temporary=False)
    table = bench.protect(rows, unit=dp.ROW, bounds={"place": (0, 10**4), "x": (-(10**5), 10**5)})
    for places in (0, 1, 2, 3, -1, -2):
        written = f"ROUND(x, {places})"
        itself = written.replace("x", "CAST(CAST(x AS TEXT) AS NUMERIC)") if other == "postgresql" else written
        wanted = [float(value) for (value,) in plain(backend, itself, "halves ORDER BY place")]
        assert random_sql.values(bench, table, [random_sql.meaning(written, DIALECTS[other], table)]) == [wanted]


TOGETHER = {
    "duckdb": ["%Y-%m", "%d.%m.%Y %H:%M:%S"],
    "postgres": ["YYYY-MM", "YYYYMMDDHH24MISS", 'FMMonth FMDD", at" HH12 AM', "MISS/DD:MM_YY"],
    "spark": ["yyyy-MM", "yyyyMMddHHmmss", "EEEE, d MMM yyyy hh:mm a", "q, DDD"],
}


def test_formats_mean_what_the_engine_means(backend_of: Backends, other: str) -> None:
    backend, dialect, bench = backend_of(other), DIALECTS[other], Bench()
    at = [AT(1, 1, 1), AT(33, 11, 30, 12), AT(999, 12, 31, 23, 59, 59), AT(2000, 2, 29, 0, 30), AT(2024, 12, 29, 13)]
    rows = pa.table({"place": range(6), "t": pa.array([*at, None], pa.timestamp("us"))})
    STORES[backend.name](backend, "moments", rows, temporary=False)
    table = bench.protect(rows, unit=dp.ROW, bounds={"place": (0, 9)})
    formats = [*FORMATS[dialect][0], *TOGETHER[dialect]]
    written = [f"{DIALECTS_OF_SQL[dialect].formatter}(t, '{one}')" for one in formats]
    wanted = zip(*plain(backend, ", ".join(written), "moments ORDER BY place"), strict=True)
    found = random_sql.values(bench, table, [random_sql.meaning(one, dialect, table) for one in written])
    assert dict(zip(written, map(list, found), strict=True)) == dict(zip(written, map(list, wanted), strict=True))


FRAMES = (
    "INTERVAL '3' DAY PRECEDING AND CURRENT ROW",
    "CURRENT ROW AND INTERVAL '1' MONTH FOLLOWING",
    "INTERVAL '2' MONTH PRECEDING AND INTERVAL '1' MONTH PRECEDING",
    "INTERVAL '1' DAY FOLLOWING AND UNBOUNDED FOLLOWING",
)


@pytest.mark.long
def test_windows_by_intervals_mean_what_the_engine_means(backend_of: Backends, other: str) -> None:
    """Over the numbers that were released, stored as a table of the engine's own."""
    backend, dialect = backend_of(other), DIALECTS[other]
    days = [DAY(2020, *day) for day in ((1, 1), (1, 4), (1, 31), (2, 29), (3, 31))]
    rows = pa.table({"day": [day for i, day in enumerate(days) for _ in range(i + 1)]})
    keys = {"day": days}
    table = dp.protect(rows, unit=dp.ROW, keys=keys, budget=dp.Budget(epsilon=10**4), name="visits of days")
    mixed = [] if other == "spark" else ["INTERVAL '2' MONTH PRECEDING AND INTERVAL '7' DAY PRECEDING"]
    frames = [f"OVER (ORDER BY day{way} RANGE BETWEEN {one})" for one in (*FRAMES, *mixed) for way in ("", " DESC")]
    written = ", ".join(f"SUM(COUNT(*)) {one} AS w{i}" for i, one in enumerate(frames))
    statement = f"SELECT day, COUNT(*) AS n, {written} FROM visits GROUP BY day"  # noqa: S608 (ours)
    answer = dp.sql(statement, visits=table, dialect=dialect).release(epsilon=1000).to_pyarrow()
    STORES[backend.name](backend, "released_days", answer.select(["day", "n"]), temporary=False)
    wanted = plain(backend, ", ".join(f"SUM(n) {one}" for one in frames), "released_days ORDER BY day")
    found = zip(*(answer[f"w{i}"].to_pylist() for i in range(len(frames))), strict=True)
    assert list(found) == [tuple(None if one is None else float(one) for one in row) for row in wanted]


@pytest.mark.long
@pytest.mark.parametrize("what", ["operators", "constants", "patterns"])
def test_random_expressions_mean_what_the_engine_means(what: str, backend_of: Backends, other: str) -> None:
    """Our values are computed on DuckDB: what an expression means to us is the same on every engine."""
    backend, dialect, bench = backend_of(other), DIALECTS[other], Bench()
    STORES[backend.name](backend, "sentences", random_sql.ROWS, temporary=False)
    table, end, compared = random_sql.protected(bench), time.monotonic() + SECONDS, []
    operators = KINDS.flatmap(lambda kind: random_sql.sentences(dialect, kind, 4))
    drawn = {
        "operators": operators,
        "constants": random_sql.constants(dialect),
        "patterns": random_sql.patterns(dialect),
    }[what]

    @settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=[HealthCheck.too_slow])
    @given(st.lists(drawn, min_size=GROUPS_AT_ONCE, max_size=GROUPS_AT_ONCE))
    def compare(expressions: list[str]) -> None:
        taken = {}
        for expression in expressions if time.monotonic() < end else ():
            try:
                taken[expression] = random_sql.meaning(expression, dialect, table)
            except dp.InvalidQuery:
                continue
        values = random_sql.values(bench, table, list(taken.values())) if taken else []
        for expression, got in zip(taken, values, strict=True):
            wanted = itself(backend, expression)
            assert wanted is None or [random_sql.plain(value) for value in got] == wanted, expression
            compared.append(wanted is not None)

    compare()
    assert sum(compared) >= len(compared) / 2 > 0
