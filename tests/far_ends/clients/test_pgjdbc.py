"""pgjdbc: metadata, prepared statements that become binary, and fetch sizes; what Metabase, DBeaver and Domo use."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from importlib import import_module
from typing import Any

import pytest

from far_address import Address

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # of its own source
    jaydebeapi: Any = import_module("jaydebeapi")
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of JPype
JAR = "/usr/share/java/postgresql.jar"


@pytest.fixture
def connection(served: Address) -> Iterator[Any]:
    place = f"jdbc:postgresql://localhost:{served.port}/people?options=-c%20discreet.epsilon=0.05"
    opened = jaydebeapi.connect("org.postgresql.Driver", place, ["analyst", served.token], JAR)
    yield opened
    opened.close()


def rows(found: Any, *columns: str) -> list[tuple[str, ...]]:
    listed = []
    while found.next():
        listed.append(tuple(str(found.getString(column)) for column in columns))
    return listed


def test_metadata(connection: Any) -> None:
    about = connection.jconn.getMetaData()
    assert rows(about.getTables(None, None, "%", ["TABLE", "VIEW"]), "TABLE_NAME") == [("people",)]
    columns = rows(about.getColumns(None, "public", "people", "%"), "COLUMN_NAME", "TYPE_NAME", "REMARKS")
    assert ("spending", "float8") in [one[:2] for one in columns]
    assert ("public",) in rows(about.getSchemas(), "TABLE_SCHEM")
    assert rows(about.getPrimaryKeys(None, "public", "people"), "COLUMN_NAME") == []
    assert rows(about.getIndexInfo(None, "public", "people", False, True), "INDEX_NAME") == []  # noqa: FBT003 - as Java has it
    assert rows(about.getImportedKeys(None, "public", "people"), "PKTABLE_NAME") == []
    assert len(rows(about.getTypeInfo(), "TYPE_NAME")) > 50
    assert ("SELECT",) in rows(about.getTablePrivileges(None, "public", "people"), "PRIVILEGE")


def test_the_sixth_execution_is_binary_and_the_same(connection: Any) -> None:
    sql = "SELECT plan, AVG(visits) AS v, COUNT(*) AS n FROM people WHERE age < ? GROUP BY plan"
    prepared = connection.jconn.prepareStatement(sql)
    prepared.setInt(1, 30)
    found = []
    for _ in range(9):
        answer = prepared.executeQuery()
        assert answer.next()
        found.append((str(answer.getString("plan")), float(answer.getDouble("v")), int(answer.getLong("n"))))
    assert found == found[:1] * 9


def test_rows_in_parts(connection: Any) -> None:
    connection.jconn.setAutoCommit(False)
    statement = connection.jconn.createStatement()
    statement.setFetchSize(2)
    found = statement.executeQuery("SELECT plan, COUNT(*) AS n FROM people GROUP BY plan")
    assert len(rows(found, "plan", "n")) == 5
    connection.jconn.commit()
    connection.jconn.setAutoCommit(True)


def test_refusals(connection: Any) -> None:
    statement = connection.jconn.createStatement()
    with pytest.raises(Exception, match="Expected aggregates") as refused:
        statement.executeQuery("SELECT * FROM people LIMIT 200")
    problem: Any = refused.value
    assert str(problem.getSQLState()) == "42DP2"
    assert len(rows(statement.executeQuery("SELECT * FROM people LIMIT 0"), "plan")) == 0
