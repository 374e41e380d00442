"""Cursors of SQL show each row once."""

from __future__ import annotations

import asyncio

import pytest

from discreet.pgwire.cursors import MOST, Cursors
from discreet.pgwire.sqlstates import Refused
from discreet.pgwire.statement_kinds import statement
from discreet.pgwire.statement_results import StatementResult
from discreet.pgwire.type_codes import ColumnType


async def five(text: str) -> StatementResult:
    assert text == "SELECT 1"
    return StatementResult.of([ColumnType("n", 20)], [(n,) for n in range(5)])


def declared(cursors: Cursors, name: str = "c") -> None:
    asyncio.run(cursors.declare(f"DECLARE {name} NO SCROLL CURSOR WITH HOLD FOR SELECT 1", five))


def fetched(cursors: Cursors, sql: str) -> list[int]:
    return [row[0] for row in cursors.run(statement(sql)).rows]


def test_rows_come_in_parts() -> None:
    cursors = Cursors()
    declared(cursors)
    assert fetched(cursors, "FETCH FROM c") == [0]
    assert fetched(cursors, "FETCH FORWARD 2 FROM c") == [1, 2]
    assert cursors.run(statement("MOVE 1 IN c")).complete_tag(0) == "MOVE 1"
    assert fetched(cursors, "fetch all in c") == [4]
    assert fetched(cursors, "FETCH 10 c") == []
    assert cursors.columns("FETCH 1 FROM c") == cursors.columns_of("c")
    assert cursors.run(statement("CLOSE c")).tag == "CLOSE CURSOR"
    assert not cursors.has("c")


@pytest.mark.parametrize(
    "sql",
    [
        "FETCH FROM c",
        "CLOSE c",
        "FETCH BACKWARD 1 FROM d",
        "FETCH PRIOR FROM d",
        "FETCH x y FROM d",
        "FETCH ABSOLUTE 2 FROM d",
        "MOVE RELATIVE 0 IN d",
        "FETCH 0 FROM d",
    ],
)
def test_what_is_refused(sql: str) -> None:
    cursors = Cursors()
    declared(cursors, "d")
    with pytest.raises(Refused):
        cursors.run(statement(sql))


def test_only_what_is_held_stays_after_a_transaction() -> None:
    cursors = Cursors()
    declared(cursors, "old")
    cursors.begin()
    declared(cursors, "new")
    asyncio.run(cursors.declare("DECLARE plain CURSOR WITHOUT HOLD FOR SELECT 1", five))
    assert fetched(cursors, "FETCH 2 FROM old") == [0, 1]
    cursors.end(keep=False)
    assert [cursors.has(name) for name in ("old", "new", "plain")] == [True, False, False]
    declared(cursors, "new")
    cursors.end(keep=True)
    assert fetched(cursors, "FETCH 2 FROM new") == [0, 1]
    assert fetched(cursors, "FETCH ALL FROM old") == [2, 3, 4]


def test_names_and_numbers_of_cursors() -> None:
    cursors = Cursors()
    declared(cursors, '"A b"')
    assert cursors.has("A b")
    with pytest.raises(Refused):
        declared(cursors, '"A b"')
    for i in range(MOST - 1):
        declared(cursors, f"c{i}")
    with pytest.raises(Refused):
        declared(cursors, "one_more")
    with pytest.raises(Refused):
        asyncio.run(cursors.declare("DECLARE c FOR SELECT 1", five))
    cursors.run(statement("CLOSE ALL"))
    assert not cursors.has("A b")
