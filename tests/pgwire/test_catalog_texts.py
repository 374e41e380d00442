"""Texts that are put together stay short, and patterns mean what they mean in PostgreSQL."""

from __future__ import annotations

import pytest
import sqlglot

from discreet.pgwire.catalog_answers import CatalogAnswers
from discreet.pgwire.catalog_functions import LONGEST_MADE
from discreet.pgwire.catalog_rewriting import CatalogSession
from discreet.pgwire.catalog_texts import constant_text, shortened
from discreet.pgwire.declared_tables import DeclaredColumn, DeclaredTable
from discreet.pgwire.question_texts import tree_of
from discreet.pgwire.session_settings import SessionSettings
from discreet.pgwire.sqlstates import Refused

PEOPLE = DeclaredTable(name="people", columns=(DeclaredColumn(name="age", oid=701),))
SESSION = CatalogSession(user="ann", database="people", settings=SessionSettings(user="ann"))


@pytest.fixture(scope="module")
def catalog() -> CatalogAnswers:
    return CatalogAnswers("people", [PEOPLE])


def value(catalog: CatalogAnswers, sql: str) -> object:
    return catalog.answer(tree_of(sql), SESSION).rows[0][0]


LONG = (
    "WITH a AS (SELECT relname || '{0}' AS s FROM pg_class), b AS (SELECT s || s AS s FROM a) SELECT s || s FROM b",
    "SELECT concat(relname, '{0}', '{0}', '{0}') FROM pg_class",
    "SELECT replace(replace(replace(relname || '{0}', 'x', 'xxxx'), 'x', 'xxxx'), 'x', 'xxxx') FROM pg_class",
    "SELECT quote_literal(quote_literal(replace(relname || '{0}', 'x', ''''))) FROM pg_class",
    "SELECT upper(s) FROM (SELECT string_agg(relname, ',') AS s FROM pg_class) AS t",
    "SELECT array_to_string(a, ', ') FROM (SELECT array_agg(relname) AS a FROM pg_class) AS t",
    "SELECT CAST(a AS text) FROM (SELECT array_agg(relname) FILTER (WHERE oid > 0) AS a FROM pg_class) AS t",
    "SELECT CAST(ARRAY(SELECT relname FROM pg_class) AS text)",
)


@pytest.mark.parametrize("sql", LONG)
def test_texts_are_short(catalog: CatalogAnswers, sql: str) -> None:
    with pytest.raises(Refused):
        value(catalog, sql.format("x" * 200))


def test_what_the_outermost_statement_gathers_may_be_long(catalog: CatalogAnswers) -> None:
    found = str(value(catalog, "SELECT string_agg(word, ',') FROM pg_get_keywords()"))
    assert len(found) > LONGEST_MADE
    assert len(value(catalog, "SELECT array_agg(relname) AS names FROM pg_class")) > 100  # type: ignore[arg-type] # a list


def test_what_is_short_is_as_it_is(catalog: CatalogAnswers) -> None:
    assert value(catalog, "SELECT 'a' || relname FROM pg_class WHERE relname = 'people'") == "apeople"
    assert value(catalog, "SELECT quote_ident('a\"b') || quote_ident('ab')") == '"a""b"ab'
    assert value(catalog, "SELECT 'a' || NULL") is None
    sql = "SELECT relname || 'a' AS x FROM pg_class WHERE relname = 'people' GROUP BY relname || 'a' ORDER BY 1"
    assert value(catalog, sql) == "peoplea"


def test_no_window_gathers() -> None:
    with pytest.raises(Refused):
        shortened(sqlglot.parse_one("SELECT ARRAY_AGG(a) OVER () FROM t", read="duckdb"))


LIKE = {
    "a%": ("a", "ab", "abc", "a_c", "a%c", "a.c", "a%", "a\nb"),
    "a_c": ("abc", "a_c", "a%c", "a.c"),
    "a\\_c": ("a_c",),
    "a\\%": ("a%",),
    "a.c": ("a.c",),
    "%b%": ("b", "ab", "abc", "a\nb", "(a|b)"),
    "(a|b)": ("(a|b)",),
    "%": ("", "b", "ab", "abc", "a", "a_c", "a%c", "a.c", "a%", "a\nb", "ABC", "(a|b)"),
}
"""The texts that each pattern matches, of all that are here."""


@pytest.mark.parametrize("pattern", LIKE)
def test_patterns_mean_what_they_mean_in_postgresql(catalog: CatalogAnswers, pattern: str) -> None:
    found = {text for text in LIKE["%"] if value(catalog, f"SELECT '{text}' LIKE '{pattern}'")}
    assert found == set(LIKE[pattern])


def test_other_forms_of_like(catalog: CatalogAnswers) -> None:
    assert value(catalog, "SELECT 'A_b' ILIKE 'a/_B' ESCAPE '/'") is True
    assert value(catalog, "SELECT 'Axb' NOT ILIKE 'a/_B' ESCAPE '/'") is True
    assert value(catalog, "SELECT 'people' OPERATOR(pg_catalog.~~) ('peo' || '%')") is True
    made = f"SELECT '{'a' * 400}' LIKE '{'%a' * 160}b'"
    assert value(catalog, made) is False
    for sql in ("SELECT 'a' LIKE relname FROM pg_class", "SELECT 'a' LIKE 'b' ESCAPE 'cc'", "SELECT 'a' LIKE 1"):
        with pytest.raises(Refused):
            value(catalog, sql)


def test_constant_texts() -> None:
    found = [constant_text(sqlglot.parse_one(sql, read="postgres")) for sql in ("('a')", "CAST('b' AS text)", "1", "x")]
    assert found == ["a", "b", None, None]
