"""psycopg 3 and 2: plain, binary, prepared, in pipelines, by server-side cursors, asynchronous."""

from __future__ import annotations

import asyncio
from importlib import import_module
from typing import Any

import psycopg
import pytest

from far_address import Address

psycopg2: Any = import_module("psycopg2")
SQL = "SELECT plan, AVG(visits) AS v, COUNT(*) AS n FROM people WHERE age >= %s GROUP BY plan"


def test_text_binary_and_prepared(served: Address) -> None:
    with psycopg.connect(served.url()) as connection:
        plain = connection.execute(SQL, (18,)).fetchall()
        assert [name for name, _, _ in plain] == ["free", "25%", "50%", "95%", "deductible"]
        assert connection.execute(SQL, (18,), binary=True).fetchall() == plain
        for _ in range(7):  # from the fifth time on a statement is prepared
            assert connection.execute(SQL, (18,), prepare=True).fetchall() == plain
        assert [type(one) for one in plain[0]] == [str, float, int]


def test_notices(served: Address) -> None:
    heard: list[str] = []
    with psycopg.connect(served.url()) as connection:
        connection.add_notice_handler(lambda one: heard.append(str(one.message_primary)))
        connection.execute("SELECT SUM(visits) FROM people WHERE age > 60").fetchall()
        connection.execute("SELECT SUM(visits) FROM people WHERE age > 60").fetchall()
    assert heard[0].startswith("discreet: charged epsilon=0.1; ")
    assert heard[1].startswith("discreet: a stored answer, nothing was charged; ")


def test_pipelines_and_cursors(served: Address) -> None:
    with psycopg.connect(served.url()) as connection:
        with connection.pipeline():
            one = connection.execute("SELECT COUNT(*) FROM people")
            two = connection.execute(SQL, (18,))
        assert len(one.fetchall()) == 1
        assert len(two.fetchall()) == 5
        with connection.cursor(name="parts") as parts:
            parts.itersize = 2
            parts.execute(SQL, (18,))
            assert len(list(parts)) == 5
        connection.commit()
        with connection.cursor() as cursor, cursor.copy(f"COPY ({SQL % 18}) TO STDOUT (FORMAT csv)") as copy:
            assert b"".join(copy).count(b"\n") == 5


def test_errors_have_classes(served: Address) -> None:
    cases: tuple[tuple[str, type[psycopg.Error], str], ...] = (
        ("SELECT * FROM people", psycopg.ProgrammingError, "42DP2"),
        ("SELECT COUNT(*) FROM people WHERE nothing = 1", psycopg.ProgrammingError, "42DP1"),
        ("DROP TABLE people", psycopg.NotSupportedError, "0A000"),
        ("SET discreet.epsilon = 50; SELECT COUNT(*) FROM people WHERE age > 2", psycopg.OperationalError, "53DP1"),
    )
    for sql, kind, state in cases:
        with psycopg.connect(served.url(), autocommit=True) as connection:
            with pytest.raises(kind) as refused:
                connection.execute(sql.encode())
            assert refused.value.sqlstate == state
            assert refused.value.diag.message_hint


def test_asynchronous(served: Address) -> None:
    async def asked() -> list[Any]:
        async with await psycopg.AsyncConnection.connect(served.url()) as connection:
            found = await connection.execute(SQL, (18,))
            return await found.fetchall()

    assert len(asyncio.run(asked())) == 5


def test_psycopg2(served: Address) -> None:
    place = {"host": "localhost", "port": served.port, "user": "analyst", "password": served.token, "dbname": "people"}
    connection = psycopg2.connect(**place, options="-c discreet.epsilon=0.2")
    with connection, connection.cursor() as cursor:
        cursor.execute(SQL, (18,))
        assert len(cursor.fetchall()) == 5
        assert "charged epsilon=0.2" in connection.notices[0]
    with connection, connection.cursor("parts") as cursor:
        cursor.itersize = 2
        cursor.execute(SQL, (18,))
        assert len(list(cursor)) == 5
    connection.close()
