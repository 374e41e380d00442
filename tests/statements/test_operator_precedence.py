"""Operators without parentheses bind as the dialect says, or are refused: random ones, each row against DuckDB."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlglot import exp, parse_one

import depth
import discreet as dp
from discreet.statements.dialects import DIALECTS
from discreet.statements.operator_precedence import parser_of
from neighbor_bench import Bench
from random_sql import ROWS, meaning, patterns, plain, protected, renamed, sentences, values

Exact = Callable[[dp.Question], list[dict[str, Any]]]
EXAMPLES = max(4, depth.examples(15))
AT_ONCE = 12
"""So many expressions are computed by one statement, which is cheaper."""
SECONDS = 60
"""A slow machine tries fewer examples, and none is too slow for it."""
BOUNDED = settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=[HealthCheck.too_slow])
KINDS = st.sampled_from(("number", "text", "truth", "truth"))
RELEASED = {"count": ("n", "m"), "number": ("n", "m", "x", "y", "3", "25e-2"), "truth": ("TRUE", "n > 3", "x < y")}
"""The atoms of a sentence after the noise: two counts, a sum, a mean."""
ASKED = {"n": "COUNT(*)", "m": "COUNT(i)", "x": "SUM(x)", "y": "AVG(x)"}
KEPT = {"n": "n", "m": "m", "x": "sx", "y": "ay"}


@pytest.fixture(scope="module")
def bench() -> Bench:
    return Bench()


@pytest.fixture(scope="module")
def engine() -> Any:
    with duckdb.connect() as connection:
        connection.register("people", ROWS)
        yield connection


def itself(engine: Any, expression: str) -> list[Any] | None:
    """What DuckDB says of an expression, row by row; None where it does not take it."""
    try:
        found = engine.execute(f"SELECT {expression} FROM people ORDER BY place").fetchall()  # noqa: S608 (ours)
    except duckdb.Error:
        return None
    return [plain(value) for (value,) in found]


@pytest.mark.long
@pytest.mark.parametrize("what", ["operators", "patterns"])
def test_random_expressions_mean_what_duckdb_means(what: str, bench: Bench, engine: Any) -> None:
    table, end, tried = protected(bench), time.monotonic() + SECONDS, []
    drawn = patterns("duckdb") if what == "patterns" else KINDS.flatmap(lambda kind: sentences("duckdb", kind, 4))

    @BOUNDED
    @given(st.lists(drawn, min_size=AT_ONCE, max_size=AT_ONCE))
    def compared(expressions: list[str]) -> None:
        if time.monotonic() > end:
            return
        taken = {}
        for expression in expressions:
            wanted = itself(engine, expression)
            try:
                taken[expression] = (meaning(expression, "duckdb", table), wanted)
            except dp.InvalidQuery:
                continue
        found = values(bench, table, [one for one, _ in taken.values()]) if taken else []
        for (expression, (_, wanted)), got in zip(taken.items(), found, strict=True):
            assert wanted is None or [plain(value) for value in got] == wanted, expression
            tried.append(wanted is not None)

    compared()
    assert sum(tried) > len(tried) / 2 > 0


def typed(name: str, value: float) -> str:
    """A released number as DuckDB has it: counts are whole."""
    return f"CAST({value!r} AS {'BIGINT' if name in 'nm' else 'DOUBLE'})"


@pytest.mark.long
def test_random_calculations_after_the_noise_mean_what_duckdb_means(bench: Bench, engine: Any) -> None:
    """The same words over the very numbers that were released."""
    people = dp.protect(ROWS, unit=dp.ROW, bounds={"i": (-9, 9), "x": (-9, 9)}, budget=dp.Budget(epsilon=10**6))
    end, tried = time.monotonic() + SECONDS, []

    @BOUNDED
    @given(st.lists(sentences("duckdb", "number", 3, RELEASED), min_size=4, max_size=4, unique=True))
    def compared(expressions: list[str]) -> None:
        if time.monotonic() > end:
            return
        kept = [f"{ASKED[name]} AS {other}" for name, other in KEPT.items()]
        for expression in expressions:
            text = f"SELECT {', '.join(kept)}, {renamed(expression, ASKED)} AS v FROM people"  # noqa: S608 (ours)
            try:
                question = dp.sql(text, people=people)
            except dp.InvalidQuery:
                continue
            [row] = question.release(epsilon=2).to_pyarrow().to_pylist()
            if None in (row[other] for other in KEPT.values()):
                continue  # a mean whose interval is all that it can be is shown as none: now and then, of so few rows
            own = {name: typed(name, row[other]) for name, other in KEPT.items()}
            [(wanted,)] = engine.execute(f"SELECT {renamed(expression, own)}").fetchall()
            assert plain(row["v"]) == pytest.approx(plain(wanted), nan_ok=True), expression
            tried.append(expression)

    compared()
    assert tried


@pytest.mark.long
@pytest.mark.parametrize(
    "condition",
    [
        "visits - visits % 10 = 10",
        "visits - visits % 10 <> 0 AND NOT visits IS NULL",
        "2 + visits % 4 * 2 = 8",
        "NOT visits = 0 AND NOT visits IS NULL",
        "visits + 1 BETWEEN 1 AND 4 AND smokes",
        "(visits = age) IS NULL",
        "NOT (visits = 0) = smokes",
        "- visits % 5 - 2 = -4",
    ],
)
def test_what_binds_alike_is_taken(condition: str, rows: dp.PrivateTable, exact: Exact, data: pa.Table) -> None:
    text = f"SELECT COUNT(*) AS n FROM people WHERE {condition}"  # noqa: S608 (ours)
    with duckdb.connect() as connection:
        connection.register("people", data)
        [(counted,)] = connection.execute(text).fetchall()
    for dialect in DIALECTS:
        assert exact(dp.sql(text, people=rows, dialect=dialect)) == [{"n": counted}]


@pytest.mark.parametrize(
    "condition",
    [
        "age = visits IS NULL",
        "smokes = age IS DISTINCT FROM visits",
        "smokes IS TRUE = smokes",
        "age = visits = smokes",
        "1 < age < 20",
        "smokes = NOT smokes",
        "age IN (1, 2) = smokes",
        "smokes = age IN (1, 2)",
        "age BETWEEN 1 AND 2 = smokes",
        "plan LIKE 'f%' IS NULL",
        "age NOT IN (1, 2) IS NULL",
        "smokes IS NULL IS NULL",
        "plan NOT LIKE 'f%' = smokes",
    ],
)
def test_what_dialects_read_differently_needs_parentheses(condition: str, rows: dp.PrivateTable) -> None:
    for dialect in DIALECTS:
        for clause in ("WHERE", "HAVING"):
            text = f"SELECT COUNT(*) AS n FROM people {clause} {condition}"  # noqa: S608 (ours)
            with pytest.raises(dp.InvalidQuery, match="parentheses around a comparison inside another"):
                dp.sql(text, people=rows, dialect=dialect)


def test_texts_are_joined_as_the_dialect_does(rows: dp.PrivateTable, exact: Exact) -> None:
    """'free' || 1 + 2 is 'free3', and in Spark the sum of a text and 2."""
    text = "SELECT COUNT(*) AS n FROM people WHERE plan || 1 + 2 = 'free3'"
    for dialect in ("duckdb", "postgres"):
        assert exact(dp.sql(text, people=rows, dialect=dialect)) == [{"n": 3}]
    with pytest.raises(dp.InvalidQuery, match="values of compatible types"):
        dp.sql(text, people=rows, dialect="spark")


def test_the_parser_of_the_library_itself_stays_as_it_is() -> None:
    for name in DIALECTS:
        assert parser_of(name) is parser_of(name)
        assert not isinstance(parse_one("a - a % 2", read=name).expression, exp.Mod), "sqlglot binds % as others do now"
