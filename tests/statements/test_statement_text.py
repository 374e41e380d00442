"""Every place is counted as an editor counts it, and what is no SQL is refused where it stops being SQL."""

from __future__ import annotations

import re

import pytest
import sqlglot

import discreet as dp
from discreet.statements.dialects import DUCKDB
from discreet.statements.statement_text import Text, shown


def test_places_count_lines_and_columns_from_one() -> None:
    text = Text.of("SELECT 'ü', /* a\nremark */ b,\n\tFLOOR(c)\nFROM t")
    tree = text.select()
    assert [text.place(node) for node in tree.expressions] == [
        "at line 1, column 8",
        "at line 2, column 11",
        "at line 3, column 2",
    ]
    assert text.place(tree.expressions[2].this) == "at line 3, column 8"


@pytest.mark.parametrize(
    ("statement", "refused"),
    [
        ("", "one SELECT statement, got text=''"),
        ("-- nothing", "one SELECT statement, got text='-- nothing'"),
        ("DROP TABLE t", "one SELECT statement, got 'DROP' at line 1, column 1"),
        ("VACUUM", "one SELECT statement, got 'VACUUM' at line 1, column 1"),
        ("(SELECT 1)", "one SELECT statement, got '(SELECT 1)' at line 1, column 9"),
        ("SELECT 1\nUNION ALL\nSELECT 2", "one SELECT statement, got 'UNION' at line 2, column 1"),
        ("SELECT 1 EXCEPT SELECT 2", "one SELECT statement, got 'EXCEPT' at line 1, column 10"),
        ("SELECT 1;\nSELECT 2", "one statement, got ';' at line 1, column 9"),
        ("SELECT a FROM", "table name in the SQL, got 'FROM' at line 1, column 10"),
        ("SELECT (a\nFROM t", ") in the SQL, got 'FROM' at line 2, column 1"),
        ("SELECT a\nFROM t\nWHERE", "an operand in the SQL, got 'WHERE' at line 3, column 1"),
        ("SELECT a b c FROM t", "SQL that can be read, got 'c' at line 1, column 12"),
        ("SELECT AVG(a, b) FROM t", "a function with the arguments that it takes, got more before ')' at line 1"),
        ("SELECT 'a FROM t", "a closing ', got the end of the text; the last one is at line 1, column 8"),
        ('SELECT a,\n"b FROM t', 'a closing ", got the end of the text; the last one is at line 2, column 1'),
        ("SELECT a /* FROM t", "a closing */, got the end of the text; the last one is at line 1, column 10"),
        ("SELECT '", "a closing ', got the end of the text; the last one is at line 1, column 8"),
        ('SELECT " ', 'a closing ", got the end of the text; the last one is at line 1, column 8'),
        ("SELECT $$", "a closing $$, got the end of the text; the last one is at line 1, column 8"),
    ],
)
def test_what_is_no_select_is_refused(statement: str, refused: str) -> None:
    with pytest.raises(dp.InvalidQuery, match=re.escape(f"Expected {refused}")) as refusal:
        Text.of(statement).select()
    assert "\nHint: " in str(refusal.value)


@pytest.mark.parametrize("statement", ["SELECT 1;", "SELECT 1 ; ", "SELECT 1 -- ; SELECT 2", "SELECT ';'"])
def test_a_semicolon_may_end_a_statement(statement: str) -> None:
    assert Text.of(statement).select().expressions


@pytest.mark.parametrize(
    ("written", "place"),
    [
        ("f(a, b) + f (a, (b, c), g(d, e))", 17),
        ("f(a, b, c)", 7),
        ("f(a, g(b, c))", None),
        ("g(a, b, c) + f", None),
        ("f, a, b", None),
    ],
)
def test_calls_with_many_arguments_are_found(written: str, place: int | None) -> None:
    found = Text.of(f"SELECT {written}").call_with("F", 3)
    assert (None if found is None else found.start) == place


def test_long_parts_are_cut() -> None:
    tree = sqlglot.parse_one("SELECT " + " + ".join(["a"] * 100), dialect=DUCKDB.name)
    assert len(shown(tree)) <= 62
    assert shown(sqlglot.parse_one("a\n+   b", dialect=DUCKDB.name)) == "'a + b'"


def test_nothing_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    with pytest.raises(dp.InvalidQuery, match="no LOCKS, got 'LOCK'"):
        dp.sql("SELECT COUNT(*) FROM t FOR UPDATE")
    assert caplog.records == []


@pytest.mark.parametrize("dialect", ["duckdb", "postgres", "spark"])
@pytest.mark.parametrize("call", ["DATETIME(age)", "ARRAY_INSERT(plan, 1, 2, 3)", "J_S_O_N_ARRAY(age)"])
def test_arguments_that_the_parser_cannot_read_or_write_are_refused(
    call: str, dialect: str, people: dp.PrivateTable
) -> None:
    with pytest.raises(dp.InvalidQuery):
        dp.sql(f"SELECT COUNT(*) FROM people WHERE {call} = 1", people=people, dialect=dialect)  # noqa: S608 (ours)
