"""Views of a DuckDB connection, and steps of the curator's: a row that they leave out makes no release fail."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import ibis
import ibis.expr.types as ir
import pyarrow as pa
import pytest
from ibis import _

import discreet as dp
from discreet.engines.duckdb import DuckDB
from discreet.engines.duckdb_names import keeps_rows, qualified, relations
from discreet.engines.exact_totals import KEYS
from discreet.engines.optimizer_fences import with_scans
from discreet.language.input_barrier import NAME
from neighbor_bench import plan_of

VIEWS = {
    "where": "WHERE regexp_matches(person, '^[0-9]+$')",
    "semi": "WHERE person IN (SELECT word FROM good)",
    "anti": "WHERE NOT EXISTS (SELECT 1 FROM (VALUES ('one')) AS x (w) WHERE w = person)",
    "join": "JOIN good ON person = word",
    "left": "LEFT JOIN good ON person = word WHERE word IS NOT NULL",
    "window": "WHERE person <> 'one' QUALIFY ROW_NUMBER() OVER (PARTITION BY person) = 1",
}
"""Views that fail on no row, though one of a row that they leave out cannot be cast."""


def connection() -> Any:
    backend = ibis.duckdb.connect()
    backend.con.execute(
        "CREATE TABLE words AS SELECT i::VARCHAR AS person, (i % 9)::VARCHAR AS age FROM range(100) t(i)"
    )
    backend.con.execute("INSERT INTO words VALUES ('one', 'two')")
    backend.con.execute("CREATE TABLE good AS SELECT i::VARCHAR AS word FROM range(200) t(i)")
    return backend


def questions(data: Any, budget: dp.Budget | None = None) -> list[dp.Question]:
    budget = dp.Budget(epsilon=10**7) if budget is None else budget
    table = dp.protect(data, unit="person", max_rows=1, bounds={"age": (0, 9)}, budget=budget, name="words")
    return [
        table.agg(n=_.count()),
        table.filter(_.age >= 0, _.person > -1).agg(n=_.count()),
        table.join(table.select("age"), ["person", "age"]).agg(n=_.count()),
        table.per_unit(age=_.age.max()).agg(n=_.count()),
    ]


def counted(question: dp.Question) -> int:
    return int(question.release(epsilon=10**4).to_pyarrow()["n"][0].as_py() + 0.5)


@pytest.mark.parametrize("name", VIEWS)
def test_a_row_that_a_view_leaves_out_makes_no_release_fail(name: str) -> None:
    backend = connection()
    backend.con.execute(f"CREATE VIEW seen AS SELECT person::INT AS person, age::INT AS age FROM words {VIEWS[name]}")  # noqa: S608 (ours)
    expected = backend.con.execute("SELECT COUNT(*) FROM seen").fetchall()[0][0]
    assert [counted(question) for question in questions(backend.table("seen"))] == [expected] * 4


def test_a_view_is_read_once_by_a_statement() -> None:
    """Whatever DuckDB's optimizer makes of it: read twice, `any_value` may have other rows."""
    backend = connection()
    backend.con.execute(
        "SET disabled_optimizers = 'common_subplan'; CREATE VIEW seen AS SELECT person::INT AS person, "
        "any_value(age::INT) AS age FROM words WHERE person <> 'one' GROUP BY 1"
    )
    seen = backend.table("seen")
    table = dp.protect(
        seen, unit="person", max_rows=1, max_groups=1, bounds={"age": (0, 9)}, budget=dp.Budget(epsilon=1), name="v"
    )
    plan = plan_of(table.group_by("age", keys={"age": [1, 2]}).agg(m=_.age.median()), epsilon=1)
    engine, declared, keys = DuckDB(seen, None), plan.query.declaration, plan.query.listed_keys
    assert keys is not None
    [statement] = engine.rank_statements(plan)
    with engine._exclusive() as raw:
        raw.register(KEYS, keys.numbered())
        scan = {NAME: engine.barrier(declared)}
        read = [
            raw.execute(f"EXPLAIN {written}").fetchall()[0][1].count("memory.main.words")
            for written in (engine._full_statement(declared, statement), with_scans(scan, statement))
        ]
    assert read == [1, 2]


def test_a_view_that_a_statement_names_once_is_not_kept_for_it() -> None:
    backend = connection()
    backend.con.execute("CREATE VIEW seen AS SELECT person FROM words")
    table = dp.protect(backend.table("seen"), unit="person", max_rows=1, budget=dp.Budget(epsilon=1), name="v")
    plan = plan_of(table.count(), epsilon=1)
    engine = DuckDB(backend.table("seen"), None)
    statement = engine.statement(plan)
    assert " AS NOT MATERIALIZED " in engine._full_statement(plan.query.declaration, statement)


LISTS = {
    "split": "regexp_split_to_table(codes, ',') AS code FROM read_parquet('{}')",
    "subscripts": "generate_subscripts(string_split(codes, ','), 1) AS code FROM read_parquet('{}')",
    "own": "parts(codes) AS code FROM read_parquet('{}')",
    "reader": "codes FROM read_json('{}')",
}
"""What a view of files shows, where a macro has no row for a text that is NULL."""


@pytest.mark.parametrize("name", LISTS)
def test_a_row_that_a_macro_leaves_out_makes_no_release_fail(name: str, tmp_path: Path) -> None:
    backend, path = connection(), str(tmp_path / "a.parquet")
    words = backend.table("words")
    words.mutate(codes=ibis.ifelse(words.person == "one", ibis.null("string"), "a")).to_parquet(path)
    backend.con.execute("CREATE MACRO Parts(t) AS unnest(string_split(t, ','))")
    kept = "SELECT * FROM read_parquet(p, hive_types_autocast = false) WHERE codes IS NOT NULL"
    backend.con.execute(f"CREATE MACRO read_json(p) AS TABLE {kept}")
    backend.con.execute(
        f"CREATE VIEW seen AS SELECT person::INT AS person, age::INT AS age, {LISTS[name].format(path)}"
    )
    assert [counted(question) for question in questions(backend.table("seen"))] == [100] * 4


@pytest.mark.parametrize("before", ["TABLE", "VIEW"])
def test_a_view_in_the_place_of_a_table_is_refused_before_the_charge(before: str, tmp_path: Path) -> None:
    backend, path = connection(), str(tmp_path / "a.parquet")
    backend.con.execute(f"COPY (SELECT i::INT AS person, (i % 9)::INT AS age FROM range(100) t(i)) TO '{path}'")  # noqa: S608 (ours)
    backend.con.execute(f"CREATE {before} seen AS SELECT person, age FROM read_parquet('{path}')")  # noqa: S608 (ours)
    budget = dp.Budget(epsilon=10**7)
    [question, *others] = questions(backend.table("seen"), budget)
    assert counted(question) == 100
    shown = f"SELECT person::INT AS person, age::INT AS age FROM words {VIEWS['where']}"  # noqa: S608 (ours)
    backend.con.execute(f"DROP {before} seen; CREATE VIEW seen AS {shown}")
    spent = budget.spent
    for other in others:
        with pytest.raises(dp.EngineError):
            other.release(epsilon=1)
    assert budget.spent == spent


def test_a_row_that_a_step_leaves_out_makes_no_release_fail() -> None:
    backend = connection()
    words, good = backend.table("words"), backend.table("good")
    kept = words.semi_join(good, words.person == good.word)
    steps = kept.select(person=kept.person.cast("int64"), age=kept.age.cast("int64"))
    assert [counted(question) for question in questions(steps)] == [100] * 4
    codes = ibis.ifelse(words.person == "one", ibis.null("array<string>"), ibis.array(["a"]))
    lists = words.select(person=words.person.cast("int64"), age=words.age.cast("int64"), code=codes.unnest())
    assert [counted(question) for question in questions(lists)] == [100] * 4


def test_which_tables_keep_all_rows(tmp_path: Path) -> None:
    backend = connection()
    path = str(tmp_path / "a.parquet")
    backend.table("words").to_parquet(path)
    backend.con.execute(f"CREATE VIEW files AS SELECT person, age || 'x' AS age FROM read_parquet('{path}')")  # noqa: S608 (ours)
    for name, rest in {
        "part": "WHERE age > '3'",
        "few": "LIMIT 3",
        "sampled": "USING SAMPLE 50%",
        "lists": "",
        "looked": "",
        "sorted": "ORDER BY age",
    }.items():
        shown = {"lists": "unnest([age]) AS age", "looked": "EXISTS (FROM good WHERE word = age) AS age"}.get(
            name, "age"
        )
        backend.con.execute(f"CREATE VIEW {name} AS SELECT {shown} FROM read_parquet('{path}') {rest}")  # noqa: S608 (ours)
    words = backend.table("words")
    read = backend.read_parquet(path)
    kept = [
        words,
        words.mutate(b=words.age.upper()),
        words.select("age"),
        backend.table("files"),
        read,
        read.select("age"),
    ]
    left = [
        words.filter(words.age > "3"),
        words.distinct(),
        words.limit(3),
        words.join(words.select("age"), "age"),
        *map(backend.table, ("part", "few", "sampled", "lists", "looked", "sorted")),
    ]

    def keeps(table: Any) -> bool:
        return keeps_rows(qualified(table, backend.con), backend.con, relations(backend.con))

    assert [keeps(table) for table in kept] == [True] * len(kept)
    assert [keeps(table) for table in left] == [False] * len(left)


STEPS: dict[str, Callable[[ir.Table], ir.Table]] = {
    "at the end": lambda t: t.select(PERSON="visit", person="person"),
    "on the way": lambda t: t.mutate(PERSON=t.visit).drop("person"),
    "in a join": lambda t: t.join(t.view().select("visit", PERSON="visit"), "visit"),
}


@pytest.mark.parametrize("made", STEPS)
def test_names_that_differ_by_case_are_refused_in_steps(made: str) -> None:
    """DuckDB takes the first for both: each visit would be a unit, in the place of each person."""
    stored = ibis.duckdb.connect().create_table(
        "visits", pa.table({"visit": range(9), "person": [i % 2 for i in range(9)]})
    )
    with pytest.raises(dp.InvalidParameter, match="distinct column names, got twice="):
        dp.protect(STEPS[made](stored), unit="person", budget=dp.Budget(epsilon=1))
