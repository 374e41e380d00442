"""What makes much of little is refused before DuckDB has it, and within a second and little memory."""

from __future__ import annotations

import time

import pytest
from sqlglot import exp

from discreet.pgwire.catalog_answers import CatalogAnswers
from discreet.pgwire.catalog_limits import LISTED, NotListed, check_limits
from discreet.pgwire.catalog_rewriting import CatalogSession, rewritten
from discreet.pgwire.declared_tables import DeclaredColumn, DeclaredTable
from discreet.pgwire.question_texts import tree_of
from discreet.pgwire.session_settings import SessionSettings
from discreet.pgwire.sqlstates import UNSUPPORTED, Refused

PEOPLE = DeclaredTable(name="people", columns=(DeclaredColumn(name="age", oid=701),))
SESSION = CatalogSession(user="ann", database="people", settings=SessionSettings(user="ann"))

MUCH = (
    "SELECT repeat('x', 1000000000)",
    "SELECT length(printf('%900000000d', 1))",
    "SELECT bitstring('1', 1000000000)",
    "SELECT len(range(1000000000))",
    "SELECT generate_series(1, 1000000000)",
    "SELECT generate_series(1, oid) FROM pg_class",
    "SELECT count(*) FROM generate_series(1, 1000000000000)",
    "SELECT list_reduce(string_to_array('a', 'b'), (x, y) -> x || y)",
    "SELECT list_resize(string_to_array('a', 'b'), 100000000)",
    "SELECT to_json(current_schemas(true))",
    "SELECT format('{:>900000000}', 1), factorial(33)",
    "WITH RECURSIVE t AS (SELECT 'x' AS s UNION ALL SELECT s || s FROM t) SELECT * FROM t",
    "SELECT count(*) FROM pg_class GROUP BY CUBE (oid, relname)",
    "SELECT count(*) FROM pg_class GROUP BY GROUPING SETS ((oid), ())",
    "SELECT * FROM pg_class TABLESAMPLE SYSTEM (10)",
    "SELECT replace(relname, 'a', 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa') FROM pg_class",
    "SELECT replace('aaa', '', 'aaa'), replace('aaa', relname, relname) FROM pg_class",
    "SELECT regexp_replace(relname, '.', 'aaaaaaaaaaaaaaaaaaaaaaaaaaaa', 'g') FROM pg_class",
    "SELECT relname ~ '((a{1000}){1000}){1000}' FROM pg_class",
    "SELECT relname ~ relname, relname LIKE relname FROM pg_class",
    f"SELECT upper('{'x' * 600}')",
    "SELECT count(*) FROM pg_class a ASOF JOIN pg_class b ON a.oid > b.oid",
    "SELECT string_agg(relname, ',') OVER (ORDER BY oid) FROM pg_class",
)


@pytest.fixture(scope="module")
def catalog() -> CatalogAnswers:
    return CatalogAnswers("people", [PEOPLE])


def refused_at_once(catalog: CatalogAnswers, sql: str) -> None:
    tree, began = tree_of(sql), time.thread_time()
    with pytest.raises(Refused) as refused:
        catalog.answer(tree, SESSION)
    assert time.thread_time() - began < 1
    assert refused.value.state == UNSUPPORTED
    assert "Hint: ask for aggregates" in str(refused.value)


@pytest.mark.parametrize("sql", MUCH)
def test_what_makes_much_of_little_is_not_listed(catalog: CatalogAnswers, sql: str) -> None:
    refused_at_once(catalog, sql)


def selected(items: str, source: str = "pg_class") -> str:
    return f"SELECT {items} FROM {source}"  # noqa: S608 - ours


def repeated(first: str, next_: str, times: int) -> str:
    """WITH a0 AS (first), a1 AS (next of a0), and so on: each text has the one before at {0}."""
    more = "".join(f", a{i} AS ({next_.format(f'a{i - 1}')})" for i in range(1, times))
    return f"WITH a0 AS ({first}){more} " + selected("count(*)", f"a{times - 1}")


@pytest.mark.parametrize(
    "sql",
    [
        repeated("SELECT oid FROM pg_class", "SELECT x.oid FROM {0} AS x, {0} AS y", 8),
        repeated("SELECT * FROM pg_class", "SELECT *, * FROM {0}", 6),
        selected("count(*)", ", ".join(f"pg_class AS a{i}" for i in range(101))),
        "SELECT " + "(SELECT max(oid) + " * 8 + "1" + " FROM pg_class)" * 8,
        "SELECT " + "obj_description(" * 8 + "1" + ")" * 8,
        "SELECT 1 WHERE " + " AND ".join(["EXISTS (SELECT 1)"] * 101),
        selected(", ".join(["upper(relname)"] * 101)),
        selected(", ".join(["relname ~ 'a'"] * 21)),
        selected(", ".join(["oid + 1"] * 1_000)),
        selected("*", f"pg_class WHERE oid IN ({', '.join(map(str, range(4_001)))})"),
        selected("*", f"pg_class WHERE relname IN ({', '.join(['CAST(1 AS text)'] * 1_000)})"),
        "SELECT " + "1 + " * 150 + "1",
    ],
)
def test_what_repeats_itself_is_counted(catalog: CatalogAnswers, sql: str) -> None:
    with pytest.raises(NotListed):
        check_limits(rewritten(tree_of(sql), SESSION, []))
    refused_at_once(catalog, sql)


@pytest.mark.parametrize(
    "sql",
    [
        repeated("SELECT oid FROM pg_class", "SELECT x.oid FROM {0} AS x, pg_class AS y WHERE x.oid = y.oid", 12),
        "SELECT * FROM generate_series(1, 1000) AS s(i) ORDER BY i LIMIT 3",
        "SELECT count(*) FILTER (WHERE relkind = 'r'), bool_or(relhasindex) FROM pg_class GROUP BY relnamespace",
        selected(f"relname <> ALL ('{{{','.join(['word'] * 1_000)}}}'::text[])"),
        "SELECT rank() OVER (ORDER BY oid), 1 IS DISTINCT FROM 2, oid % 3, -relnatts::numeric(9, 2) FROM pg_class",
        "SELECT relname ~* 'PEOPLE', relname !~* 'x', substring(relname, 1, 2), left(relname, 1) FROM pg_class",
        "SELECT a.typname FROM pg_type a NATURAL JOIN pg_type b UNION ALL (VALUES ('a')) INTERSECT SELECT 'a'",
    ],
)
def test_what_takes_little_is_answered(catalog: CatalogAnswers, sql: str) -> None:
    assert catalog.answer(tree_of(sql), SESSION).columns


def test_series_are_short() -> None:
    for ends in ("1, 1001", "-1001, 1", "1, oid", "1, 2 + 3", "1, array_upper(string_to_array('a', 'b'), 1), 2000"):
        with pytest.raises(NotListed):
            check_limits(rewritten(tree_of(selected(f"generate_series({ends})")), SESSION, []))


def test_the_list_has_no_kind_that_holds_all_others() -> None:
    """Kinds are compared as they are, so that a function that sqlglot learns later is not let in by a list of bases."""
    assert exp.Func not in LISTED
    assert exp.Expression not in LISTED
    assert all(kind.__module__.startswith("sqlglot") for kind in LISTED)
