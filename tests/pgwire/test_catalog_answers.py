"""The catalog says what is declared, to each tool in its own words, and nothing that comes from rows."""

from __future__ import annotations

import json
import logging
import re
import time
from pathlib import Path
from typing import Any

import pytest
import sqlglot

from discreet.pgwire import catalog_answers
from discreet.pgwire.catalog_answers import CatalogAnswers, is_about_catalog, output_names
from discreet.pgwire.catalog_rewriting import CatalogSession, rewritten
from discreet.pgwire.declared_tables import DeclaredColumn, DeclaredTable
from discreet.pgwire.question_texts import tree_of
from discreet.pgwire.session_settings import SessionSettings
from discreet.pgwire.sqlstates import Refused
from discreet.pgwire.statement_kinds import StatementKind, statement
from discreet.pgwire.statement_results import StatementResult
from tool_statements import STARTS

DRIVERS = json.loads((Path(__file__).parents[1] / "fixtures" / "driver_statements.json").read_text(encoding="utf-8"))
PEOPLE = DeclaredTable(
    name="people",
    description="Health insurance",
    columns=(
        DeclaredColumn(name="person", oid=20, description="the privacy unit"),
        DeclaredColumn(name="plan", oid=25, keys=["free", "95%"]),
        DeclaredColumn(name="age", oid=701, bounds=(0, 100), description="in years"),
    ),
)


SESSION = CatalogSession(user="a", database="b", settings=SessionSettings(user="a"))


@pytest.fixture(scope="module")
def catalog() -> CatalogAnswers:
    return CatalogAnswers("people", [PEOPLE])


def answered(catalog: CatalogAnswers, sql: str, *values: Any) -> StatementResult:
    session = CatalogSession(user="ann", database="people", settings=SessionSettings(user="ann"), process=7)
    return catalog.answer(tree_of(sql), session, values)


def rows(catalog: CatalogAnswers, sql: str, *values: Any) -> list[tuple[Any, ...]]:
    return list(answered(catalog, sql, *values).rows)


@pytest.mark.parametrize(("tool", "sql"), [(tool, sql) for tool, found in STARTS.items() for sql in found])
def test_tools_start(catalog: CatalogAnswers, tool: str, sql: str) -> None:
    one = statement(sql)
    if one.kind is StatementKind.SELECT and is_about_catalog(tree_of(sql)):
        assert answered(catalog, sql).columns


@pytest.mark.long
@pytest.mark.parametrize(("client", "sql", "values"), DRIVERS)
def test_drivers_are_answered(catalog: CatalogAnswers, client: str, sql: str, values: list[Any]) -> None:
    """What the clients of tests/far_ends sent, as it was read."""
    assert answered(catalog, sql, *values).columns, client


def test_declared_tables_are_there(catalog: CatalogAnswers) -> None:
    assert rows(catalog, "SELECT table_name FROM information_schema.tables WHERE table_schema = 'public'") == [
        ("people",)
    ]
    sql = (
        "SELECT a.attname, format_type(a.atttypid, a.atttypmod), col_description(a.attrelid, a.attnum) "
        "FROM pg_attribute a WHERE a.attrelid = 'public.people'::regclass ORDER BY a.attnum"
    )
    assert rows(catalog, sql) == [
        ("person", "bigint", "the privacy unit"),
        ("plan", "text", "keys free, 95%"),
        ("age", "double precision", "in years; bounds 0 to 100"),
    ]
    assert rows(catalog, "SELECT obj_description('people'::regclass)") == [("Health insurance",)]


def test_nothing_is_counted(catalog: CatalogAnswers) -> None:
    """Sizes and numbers of rows are those of a table that was never analyzed."""
    assert rows(catalog, "SELECT reltuples, relpages FROM pg_class WHERE relname = 'people'") == [(-1.0, 0)]
    assert rows(catalog, "SELECT pg_relation_size('people'), pg_total_relation_size('people')") == [(0, 0)]
    for relation in ("pg_stats", "pg_statistic", "pg_stat_user_tables", "pg_stat_activity", "pg_statistic_ext"):
        assert rows(catalog, f"SELECT * FROM pg_catalog.{relation}") == []  # noqa: S608 - our own text


def test_numbers_are_stable() -> None:
    other = DeclaredTable(name="visits", columns=())
    found = {
        rows(CatalogAnswers("people", tables), "SELECT 'people'::regclass")[0][0]
        for tables in ([PEOPLE], [other, PEOPLE], [PEOPLE, other])
    }
    assert found == {PEOPLE.oid}
    assert PEOPLE.oid >= 16_384


def test_names_and_numbers(catalog: CatalogAnswers) -> None:
    oid = PEOPLE.oid
    assert rows(catalog, f"SELECT '{oid}'::regclass, 'people'::regclass::oid, 'people'::regclass::oid::regclass") == [
        (oid, oid, "people")
    ]
    assert rows(
        catalog, "SELECT c.oid::regclass, relnamespace::regnamespace::text FROM pg_class c WHERE relname = 'people'"
    ) == [("people", "public")]
    assert rows(catalog, "SELECT 23::regtype, 'int4'::regtype::oid, 'character varying'::regtype::oid") == [
        ("integer", 23, 1043)
    ]
    assert rows(catalog, "SELECT 'nothing'::regclass") == [(None,)]
    assert rows(catalog, "SELECT typreceive FROM pg_type WHERE oid = 23 AND typreceive <> 0") == [("int4recv",)]


def test_what_a_session_says_of_itself(catalog: CatalogAnswers) -> None:
    sql = "SELECT current_user, session_user, user, current_database(), current_schema(), pg_backend_pid(), version()"
    found = answered(catalog, sql)
    assert found.rows[0][:6] == ("ann", "ann", "ann", "people", "public", 7)
    assert found.rows[0][6].startswith("PostgreSQL 15")
    assert [one.name for one in found.columns or ()][3:5] == ["current_database", "current_schema"]
    assert rows(catalog, "SELECT current_schemas(true), current_setting('server_version_num')") == [
        (["pg_catalog", "public"], "150000")
    ]


def test_settings_change_when_the_statement_runs(catalog: CatalogAnswers) -> None:
    session = CatalogSession(user="ann", database="people", settings=SessionSettings(user="ann"))
    found = catalog.answer(tree_of("SELECT pg_catalog.set_config('search_path', '', false)"), session)
    assert found.rows == (("",),)
    assert session.changes == [("search_path", "", False)]


def test_parameters(catalog: CatalogAnswers) -> None:
    assert rows(catalog, "SELECT relname FROM pg_class WHERE relname = $1 AND relkind = ANY($2)", "people", ["r"]) == [
        ("people",)
    ]
    with pytest.raises(Refused):
        rows(catalog, "SELECT $2", 1)


def test_what_cannot_be_answered_is_logged_and_refused_in_one_way(
    catalog: CatalogAnswers, caplog: pytest.LogCaptureFixture
) -> None:
    said = set()
    with caplog.at_level(logging.WARNING, "discreet.pgwire"):
        for sql in (
            "SELECT no_such_function('secret')",
            "SELECT * FROM pg_no_such_table",
            "SELECT pg_read_file('/etc/passwd')",
            "SELECT lo_import('x')",
            "SELECT relname || 1 / 'x' FROM pg_class",
            "SELECT * FROM read_csv('/etc/passwd')",
            "SELECT * FROM duckdb_settings() WHERE nothing",
            "SELECT * FROM people JOIN pg_class ON true",
        ):
            with pytest.raises(Refused) as refused:
                rows(catalog, sql)
            said.add(str(refused.value))
    assert len(said) == 1
    assert len(caplog.records) >= 8
    assert "secret" not in caplog.text
    assert "passwd" not in caplog.text


@pytest.mark.parametrize(
    "sql", ["SELECT '99999-01-01'::date", "SELECT 'infinity'::timestamp", "SELECT ARRAY['0044-03-15 BC'::date]"]
)
def test_values_that_python_lacks_are_refused_as_all_else(catalog: CatalogAnswers, sql: str) -> None:
    """DuckDB computes them; what failed after that was told as a failure after a charge, and there was none."""
    with pytest.raises(Refused, match="one about the catalog that can be answered here"):
        catalog.answer(tree_of(sql), SESSION)


def test_the_database_reaches_nothing_outside(catalog: CatalogAnswers) -> None:
    for sql in (
        "SELECT * FROM read_text('/etc/hostname')",
        "SELECT * FROM glob('/*')",
        "SELECT getenv('HOME')",
        "SELECT * FROM duckdb_settings()",
        "SELECT * FROM query('SELECT 1')",
        "SELECT * FROM read_parquet('https://example.com/x.parquet')",
        "SELECT * FROM pg_class, LATERAL duckdb_settings()",
        "SELECT * FROM pg_class CROSS JOIN LATERAL duckdb_settings() AS s",
        "SELECT * FROM ROWS FROM (duckdb_settings())",
        "SELECT (SELECT max(value) FROM duckdb_settings())",
    ):
        with pytest.raises(Refused):
            rows(catalog, sql)
        if " FROM " in sql:  # before the closed list is asked
            with pytest.raises(Refused):
                rewritten(tree_of(sql), SESSION, [])


@pytest.mark.parametrize("name", ["duckdb_tables", "sqlite_master", "pragma_database_list"])
def test_a_name_of_with_is_nothing_else(catalog: CatalogAnswers, name: str) -> None:
    """DuckDB has views of its own under these names."""
    for sql in (
        "SELECT * FROM (WITH v AS (SELECT 1 AS one) SELECT * FROM v) AS x, v, pg_class",
        "WITH a AS (SELECT * FROM v), v AS (SELECT 1 AS one) SELECT * FROM a, pg_class",
        "SELECT * FROM pg_class, v WHERE EXISTS (WITH v AS (SELECT 1) SELECT * FROM v)",
    ):
        with pytest.raises(Refused):
            rows(catalog, re.sub(r"\bv\b", name, sql))
    whole = "WITH v AS (SELECT relname FROM pg_class) SELECT v.relname FROM v WHERE relname = 'people'"
    assert rows(catalog, re.sub(r"\bv\b", name, whole)) == [("people",)]


WRITTEN = (
    "DELETE FROM pg_class",
    "DELETE FROM pg_catalog.pg_description",
    "UPDATE pg_class SET relname = 'other'",
    "INSERT INTO pg_namespace SELECT oid, 'other', 10, NULL FROM a",
    "MERGE INTO pg_class USING a ON pg_class.oid = a.oid WHEN MATCHED THEN DELETE",
)
WRITES = (
    *(f"WITH a AS (SELECT 1 AS oid) {one}" for one in WRITTEN),
    *(f"WITH b AS ({one} RETURNING *) SELECT * FROM b" for one in WRITTEN),  # noqa: S608 - ours
    "SELECT * INTO other FROM pg_class",
    "WITH a AS (SELECT 1) CREATE TABLE other AS SELECT * FROM a",
)


def everything(catalog: CatalogAnswers) -> list[Any]:
    names = ("pg_class", "pg_namespace", "pg_description")
    return [rows(catalog, f"SELECT * FROM {name} ORDER BY 1") for name in names]  # noqa: S608 - ours


@pytest.mark.parametrize("sql", WRITES)
def test_nothing_is_written(catalog: CatalogAnswers, sql: str) -> None:
    before = everything(catalog)
    with pytest.raises(Refused):
        rewritten(tree_of(sql), SESSION, [])
    with pytest.raises(Refused):
        rows(catalog, sql)
    assert everything(catalog) == before


def test_whatever_is_missed_cannot_write(catalog: CatalogAnswers) -> None:
    for sql in ("DELETE FROM pg.pg_class", "CREATE TABLE other (a INTEGER)"):
        with pytest.raises(Exception, match="read-only"):
            catalog_answers._run(catalog._cursor(), sql)


def test_no_answer_takes_all_the_memory(catalog: CatalogAnswers, monkeypatch: pytest.MonkeyPatch) -> None:
    for sql in ("SELECT repeat('x', 1000000000)", "SELECT lpad('x', 1000000000)", "SELECT rpad('x', 1000000000, 'y')"):
        with pytest.raises(Refused):
            rows(catalog, sql)
    long = "SELECT relname || relname || relname FROM pg_class, generate_series(1, 1000)"
    assert len(rows(catalog, long)) == catalog_answers.MOST_ROWS
    monkeypatch.setattr(catalog_answers, "MOST_BYTES", 10_000)
    with pytest.raises(Refused):
        rows(catalog, long)


def test_no_statement_takes_all_the_time(catalog: CatalogAnswers, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("SECONDS", "CPU_SECONDS"):
        monkeypatch.setattr(catalog_answers, name, 0.1)
        began = time.monotonic()
        with pytest.raises(Refused):
            rows(catalog, "SELECT count(*) FROM " + ", ".join(f"generate_series(1, 1000) AS s{i}" for i in range(5)))  # noqa: S608 - ours
        assert time.monotonic() - began < 5
        monkeypatch.undo()


def test_a_table_that_is_never_filled_makes_any_join_with_it_empty(catalog: CatalogAnswers) -> None:
    """Whatever the statement would compute of its rows, even with what DuckDB lacks."""
    found = answered(
        catalog, "SELECT no_such(i.indkey) AS x, c.relname FROM pg_index i JOIN pg_class c ON c.oid = i.indrelid"
    )
    assert found.rows == ()
    assert [one.name for one in found.columns or ()] == ["x", "relname"]
    with pytest.raises(Refused):
        answered(catalog, "SELECT no_such(count(*)) FROM pg_index")
    with pytest.raises(Refused):
        answered(catalog, "SELECT no_such(c.relname) FROM pg_class c LEFT JOIN pg_index i ON true")


@pytest.mark.parametrize(
    ("sql", "names"),
    [
        ("SELECT 1, 'a', NULL", ["?column?", "?column?", "?column?"]),
        ('SELECT relname AS Name, "oid" AS "Oid"', ["name", "Oid"]),
        ("SELECT pg_catalog.format_type(1, 2), upper('a'), x::text, 'a'::text", ["format_type", "upper", "x", "text"]),
        ("SELECT CASE WHEN a THEN 1 END, (SELECT max(b) FROM t), true", ["case", "max", "bool"]),
        ("SELECT version(), current_schema(), a.b", ["version", "current_schema", "b"]),
    ],
)
def test_columns_have_the_names_that_postgresql_gives(sql: str, names: list[str]) -> None:
    assert output_names(sqlglot.parse_one(sql, read="postgres"), len(names)) == names


def test_which_statements_are_about_the_catalog() -> None:
    assert is_about_catalog(tree_of("SELECT 1"))
    assert is_about_catalog(tree_of("WITH x AS (SELECT oid FROM pg_class) SELECT * FROM x"))
    assert is_about_catalog(tree_of("SELECT * FROM information_schema.columns, pg_type"))
    assert not is_about_catalog(tree_of("SELECT count(*) FROM people"))
    assert not is_about_catalog(tree_of("SELECT count(*) FROM public.pg_class"))
    assert not is_about_catalog(tree_of("SELECT (SELECT count(*) FROM people) FROM pg_class"))
