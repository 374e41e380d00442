"""Looking around shows declarations or a cure, and never a row."""

from __future__ import annotations

import pytest
from sqlglot import exp

from discreet.pgwire.declared_tables import DeclaredColumn, DeclaredTable
from discreet.pgwire.exploratory_queries import LookAround, from_declaration, refused, scan_of, without_nothing
from discreet.pgwire.question_texts import tree_of
from discreet.pgwire.sqlstates import ROWS, Refused

TABLES = {
    "people": DeclaredTable(
        name="people",
        columns=(
            DeclaredColumn(name="plan", oid=25, keys=("free", "95%")),
            DeclaredColumn(name="age", oid=20, bounds=(0, 100)),
            DeclaredColumn(name="name", oid=25),
        ),
    )
}


@pytest.mark.parametrize(
    ("sql", "scan"),
    [
        ("SELECT * FROM people", LookAround.ROWS),
        ("SELECT plan FROM people LIMIT 1000", LookAround.ROWS),
        ("SELECT plan, age + 1 FROM people WHERE age > 3", LookAround.ROWS),
        ("SELECT DISTINCT * FROM people", LookAround.ROWS),
        ("SELECT DISTINCT plan FROM people", LookAround.KEYS),
        ("SELECT plan FROM people GROUP BY 1", LookAround.KEYS),
        ("SELECT MIN(age), MAX(age) FROM people", LookAround.RANGE),
        ("SELECT MIN(age) FROM people WHERE plan = 'free'", LookAround.QUESTION),
        ("SELECT plan, MAX(age) FROM people GROUP BY plan", LookAround.QUESTION),
        ("SELECT MIN(age), COUNT(*) FROM people", LookAround.QUESTION),
        ("SELECT COUNT(*) FROM people", LookAround.QUESTION),
        ("SELECT * FROM people LIMIT 0", LookAround.NOTHING),
        ("SELECT * FROM people WHERE 1 = 0", LookAround.NOTHING),
        ("SELECT * FROM people WHERE age > 3 AND (FALSE)", LookAround.NOTHING),
        ("SELECT TRUE FROM people WHERE 1 <> 1", LookAround.NOTHING),
        ("SELECT * FROM people WHERE 'a' = 'b'", LookAround.NOTHING),
        ("SELECT * FROM people WHERE 1 = 1", LookAround.ROWS),
        ("SELECT COUNT(*) FROM people WHERE 1 = 1.0", LookAround.QUESTION),
        ("SELECT COUNT(*) FROM people WHERE 1 = 0", LookAround.QUESTION),  # one row of 0
        ("SELECT plan, COUNT(*) FROM people WHERE 1 = 0 GROUP BY plan", LookAround.NOTHING),
        ("SELECT COUNT(*) FROM people WHERE 1 = 01 AND 1 = '01'", LookAround.QUESTION),
    ],
)
def test_what_a_statement_looks_for(sql: str, scan: LookAround) -> None:
    assert scan_of(tree_of(sql)) is scan


def test_refusals_say_what_to_write_instead() -> None:
    for scan in (LookAround.ROWS, LookAround.KEYS, LookAround.RANGE):
        found = refused(scan, TABLES)
        assert found.state == ROWS
        assert found.message.startswith("Expected ")
        assert found.hint


def shown(sql: str) -> list[tuple[object, ...]]:
    tree = tree_of(sql)
    assert isinstance(tree, exp.Select)
    return list(from_declaration(scan_of(tree), tree, TABLES).rows)


def test_declared_keys_and_bounds() -> None:
    assert shown("SELECT DISTINCT plan FROM people") == [("free",), ("95%",)]
    assert shown("SELECT plan FROM people GROUP BY plan ORDER BY plan DESC LIMIT 1") == [("free",)]
    assert shown("SELECT DISTINCT plan AS p FROM people ORDER BY 1") == [("95%",), ("free",)]
    assert shown("SELECT DISTINCT p FROM (SELECT plan AS p FROM people) AS t FETCH FIRST 1 ROW ONLY") == [("free",)]
    assert shown("SELECT MIN(age), MAX(age) AS oldest FROM people") == [(0, 100)]
    for sql in (
        "SELECT DISTINCT name FROM people",
        "SELECT DISTINCT plan FROM people WHERE age > 3",
        "SELECT DISTINCT plan FROM people LIMIT 1 OFFSET 1",
        "SELECT DISTINCT plan, name FROM people",
        "SELECT DISTINCT plan FROM people ORDER BY LENGTH(plan)",
        "SELECT DISTINCT plan FROM people LIMIT 1 + 1",
        "SELECT DISTINCT ON (age) plan FROM people",
        "SELECT plan FROM people GROUP BY plan, age",
        "SELECT plan FROM people GROUP BY plan HAVING plan > 'f'",
        "SELECT DISTINCT plan FROM (SELECT plan FROM people WHERE age > 3) AS t",
        "SELECT MIN(name) FROM people",
    ):
        with pytest.raises(Refused):
            shown(sql)


def test_what_shows_nothing_is_described_without_its_limit() -> None:
    tree = tree_of("SELECT COUNT(*) FROM people WHERE 1 = 0 LIMIT 0")
    assert isinstance(tree, exp.Select)
    assert without_nothing(tree).sql() == "SELECT COUNT(*) FROM people"
