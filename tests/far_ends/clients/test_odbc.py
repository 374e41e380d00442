"""psqlodbc, as Excel and Tableau use it: tables, columns, questions, and cursors for their rows."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import pytest

from far_address import Address

pyodbc: Any = import_module("pyodbc")
SQL = "SELECT plan, AVG(visits) AS v, COUNT(*) AS n FROM people GROUP BY plan"


@pytest.mark.parametrize("more", ["", ";UseDeclareFetch=1;Fetch=2", ";UseServerSidePrepare=0"])
def test_browse_and_ask(served: Address, more: str) -> None:
    place = (
        f"Driver=PostgreSQL Unicode;Server=localhost;Port={served.port};Database=people;Uid=analyst;Pwd={served.token}"
    )
    connection = pyodbc.connect(place + more)
    cursor = connection.cursor()
    assert [row.table_name for row in cursor.tables(schema="public")] == ["people"]
    assert len(cursor.columns(table="people").fetchall()) == 13
    assert cursor.primaryKeys("people").fetchall() == []
    assert cursor.statistics("people").fetchall() == []
    assert len(cursor.execute(SQL).fetchall()) == 5
    assert len(cursor.execute("SELECT COUNT(*) AS n FROM people WHERE age < ?", 30).fetchall()) == 1
    with pytest.raises(pyodbc.Error, match="Expected aggregates"):
        cursor.execute("SELECT * FROM people").fetchall()
    connection.close()
