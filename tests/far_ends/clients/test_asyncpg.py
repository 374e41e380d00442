"""asyncpg: everything in binary, types from descriptions, cursors and pools."""

from __future__ import annotations

import asyncio
from importlib import import_module
from typing import Any

import pytest

from far_address import Address

asyncpg: Any = import_module("asyncpg")
SQL = "SELECT plan, AVG(visits) AS v FROM people WHERE age < $1 GROUP BY plan"


def test_statements_cursors_and_errors(served: Address) -> None:
    async def asked() -> None:
        connection = await asyncpg.connect(served.url())
        prepared = await connection.prepare(SQL)
        assert [one.name for one in prepared.get_parameters()] == ["int8"]
        assert [(one.name, one.type.name) for one in prepared.get_attributes()] == [("plan", "text"), ("v", "float8")]
        first = await prepared.fetch(30)
        assert [await prepared.fetch(30) for _ in range(6)] == [first] * 6
        async with connection.transaction():
            rows = [row async for row in connection.cursor(SQL, 30, prefetch=2)]
        assert rows == first
        tables = await connection.fetch(
            "SELECT table_name FROM information_schema.tables WHERE table_schema = $1", "public"
        )
        assert [row["table_name"] for row in tables] == ["people"]
        with pytest.raises(asyncpg.PostgresError) as refused:
            await connection.fetch("SELECT * FROM people")
        assert refused.value.sqlstate == "42DP2"
        await connection.reset()
        await connection.close()

    asyncio.run(asked())


def test_pools(served: Address) -> None:
    async def asked() -> list[int]:
        pool = await asyncpg.create_pool(served.url(), min_size=2, max_size=3)
        found = await asyncio.gather(*(pool.fetchval("SELECT COUNT(*) FROM people") for _ in range(6)))
        await pool.close()
        return list(found)

    assert len(set(asyncio.run(asked()))) == 1
