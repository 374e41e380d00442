"""Statements are told apart by their first words, and texts by their semicolons."""

from __future__ import annotations

import gc
import time
import tracemalloc
from contextlib import suppress

import pytest

from discreet.pgwire.cursors import declared_cursor
from discreet.pgwire.question_texts import tree_of
from discreet.pgwire.setting_statements import copied_query, explained_statement
from discreet.pgwire.sqlstates import Refused
from discreet.pgwire.statement_kinds import (
    LONGEST,
    MOST_STATEMENTS,
    MOST_TOKENS,
    StatementKind,
    spaced,
    statement,
    statements,
    words,
)


@pytest.mark.parametrize(
    ("sql", "kind"),
    [
        ("select 1", StatementKind.SELECT),
        ("(SELECT 1)", StatementKind.SELECT),
        ("WITH a AS (SELECT 1) SELECT 2", StatementKind.SELECT),
        ("/* a ; b */ -- c\n SELECT 1", StatementKind.SELECT),
        ("VALUES (1)", StatementKind.SELECT),
        ("", StatementKind.EMPTY),
        ("-- only", StatementKind.EMPTY),
        (" ; ", StatementKind.EMPTY),
        ("START TRANSACTION", StatementKind.BEGIN),
        ("END", StatementKind.COMMIT),
        ("abort", StatementKind.ROLLBACK),
        ("DROP TABLE t", StatementKind.OTHER),
        ("INSERT INTO t VALUES (1)", StatementKind.OTHER),
        ("TABLE t", StatementKind.OTHER),
        ("?", StatementKind.OTHER),
    ],
)
def test_kinds(sql: str, kind: StatementKind) -> None:
    assert statement(sql).kind is kind


def test_semicolons_in_quotes_and_comments_end_nothing() -> None:
    text = "SELECT ';' ; SELECT \";\" /* ; */; SELECT $$;$$, $a$ ; $$ ; $a$; SELECT E'\\';' -- ;\n;SELECT 'it''s;'"
    assert len(statements(text)) == 5


HOSTILE = ("/*a", "/* ", "'", "e'a", "';", '"', "$a$", "$a;", "$1,", "--\n", " ", ") to stdout ", "(", "\\'")


@pytest.mark.cases
@pytest.mark.parametrize("unit", HOSTILE)
@pytest.mark.parametrize("head", ["", ";", "copy (x) to stdout with", "declare c cursor for", "explain ("])
def test_what_has_no_end_is_read_once(head: str, unit: str) -> None:
    """The server's one loop reads what a statement is: 100,000 characters of open comments stopped it for minutes."""
    text = (head + unit * LONGEST)[: LONGEST - 1] + "x"
    began = time.thread_time()
    for read in (statements, spaced, words, copied_query, declared_cursor, explained_statement):
        with suppress(Refused):
            read(text)
    assert time.thread_time() - began < 3


def test_long_statements_are_not_kept() -> None:
    """Of 500 messages that were refused for their length, 13 GB stayed in memory."""
    tracemalloc.start()
    try:
        with pytest.raises(Refused):
            tree_of("SELECT " + "a," * (LONGEST // 3) + "1")
        tree_of("SELECT " + "a," * (MOST_TOKENS // 3) + "1")
        gc.collect()
        assert tracemalloc.get_traced_memory()[0] < 2e6
    finally:
        tracemalloc.stop()


def test_a_comment_ends_with_its_line_however_that_ends() -> None:
    found = statements("-- x\rSELECT 1 -- ;\r; SET a = 1 -- ;\r\n; -- nothing")
    assert [one.kind for one in found] == [StatementKind.SELECT, StatementKind.SET]


@pytest.mark.parametrize("text", ["/* /* */ ; SELECT 1 -- */", "/* /* */ SET discreet.epsilon = 5 -- */", "/*/*/"])
def test_comments_inside_others_are_refused(text: str) -> None:
    """PostgreSQL goes on to the end of the outer one: what is commented out was asked, and charged."""
    with pytest.raises(Refused):
        statements(text)
    assert len(statements("SELECT '/* /*' -- /* /*")) == 1


def test_limits() -> None:
    with pytest.raises(Refused):
        statements("x" * (LONGEST + 1))
    with pytest.raises(Refused):
        statements("SELECT 1;" * (MOST_STATEMENTS + 1))
    with pytest.raises(Refused):
        statement("SELECT 1; SELECT 2")


def test_words() -> None:
    assert words("SHOW TRANSACTION ISOLATION LEVEL") == ["show", "transaction", "isolation", "level"]
    assert words('FETCH FORWARD 10 FROM "Big"') == ["fetch", "forward", "10", "from", "Big"]
    assert words("SET x = E'A', $$B$$")[3:] == ["A", ",", "B"]
    assert words("SET x = 0x10")[-1] == "0x10"  # which is no 10
    with pytest.raises(Refused):
        words("SET x = 'never closed")
