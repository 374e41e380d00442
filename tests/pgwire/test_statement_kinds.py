"""Statements are told apart by their first words, and texts by their semicolons."""

from __future__ import annotations

import pytest

from discreet.pgwire.sqlstates import Refused
from discreet.pgwire.statement_kinds import LONGEST, MOST_STATEMENTS, StatementKind, statement, statements, words


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
    with pytest.raises(Refused):
        words("SET x = 'never closed")
