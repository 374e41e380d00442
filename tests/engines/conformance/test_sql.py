"""SQL in an engine's own dialect, about a table of it, means what the engine means without us."""

from __future__ import annotations

import datetime
import decimal
import re
from collections.abc import Callable, Iterator
from itertools import cycle, islice
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
import sqlglot

import discreet as dp
from discreet.query.estimate import estimates
from discreet.testing.bench import STORES, Bench

Backends = Callable[[str], Any]
PAGE = (Path(__file__).parents[3] / "docs" / "sql.md").read_text(encoding="utf-8")
ACCEPTED = PAGE.split("## What is accepted")[1].split("| aggregates |")[0]
DIALECTS = {"duckdb": "duckdb", "postgresql": "postgres", "spark": "spark"}
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
    "postgresql": ["(visits - 6) / 4", "plan::text", "BTRIM(plan)", "EXTRACT(DOW FROM joined)", "visits ^ 2"],
    "spark": ["visits DIV 4", "(visits - 6) / 4", "DAYOFWEEK(joined)", "LOG(age + 1)", "seen > TIMESTAMP '2020-01-01'"],
}
AT_LEAST = {"postgresql": 50, "spark": 70}
"""So many examples there are that both take."""
OTHERWISE = ("DATE_TRUNC",)
"""What docs/sql.md says is another type here: of a date, a date."""


def examples(engine: str) -> Iterator[str]:
    """The row-wise examples of the page, in the words of an engine."""
    for line in ACCEPTED.splitlines():
        for example in re.findall(r"`([^`]+)`", line.replace("\\|", "|")) if line.startswith("| ") else ():
            if re.search("[a-z]", example) and not example.startswith(OTHERWISE):
                yield sqlglot.transpile(example, read="duckdb", write=DIALECTS[engine])[0]
    yield from MORE.get(engine, ())


def plain(backend: Any, columns: str) -> list[tuple[Any, ...]]:
    """What the engine says by itself."""
    statement = f"SELECT {columns} FROM people_in_sql AS people"  # noqa: S608 (ours)
    if backend.name == "pyspark":
        return [tuple(row) for row in backend._session.sql(statement).collect()]
    with backend.con.cursor() as cursor, backend.con.transaction():
        found: list[tuple[Any, ...]] = cursor.execute(statement).fetchall()
    return found


def asked(example: str, values: list[Any]) -> tuple[str, float]:
    """An aggregate by which the values of an expression tell themselves apart, and what it must be."""
    first = values[0]
    if isinstance(first, int | float | decimal.Decimal) and not isinstance(first, bool):
        return f"SUM({example})", float(sum(values))
    shown = f"'{first}'" if isinstance(first, str | datetime.date) else str(first)
    kind = {DAY: "DATE ", AT: "TIMESTAMP "}.get(type(first), "")
    return f"COUNT(*) FILTER (WHERE ({example}) = {kind}{shown})", float(values.count(first))


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
    aggregates, wanted = zip(*(asked(one, values) for one, values in zip(taken, held, strict=True)), strict=True)
    bench, parts = Bench(backend), 30
    for first in range(0, len(taken), parts):
        chosen = [f"{one} AS x{i}" for i, one in enumerate(aggregates[first : first + parts])]
        question = dp.sql(f"SELECT {', '.join(chosen)} FROM people", people=people, dialect=dialect)  # noqa: S608 (ours)
        plan = bench.plan(question, epsilon=10**4)
        answers = estimates(plan, bench.totals(plan), 0.95)
        for i, one in enumerate(taken[first : first + parts]):
            assert answers[f"x{i}"].values[0] == pytest.approx(wanted[first + i], rel=1e-6, abs=1e-3), one
