"""ADBC's driver for PostgreSQL: answers as Arrow tables, by binary copies."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import pyarrow as pa

from far_address import Address

dbapi: Any = import_module("adbc_driver_postgresql.dbapi")


def test_answers_and_the_catalog(served: Address) -> None:
    with dbapi.connect(served.url()) as connection, connection.cursor() as cursor:
        cursor.execute("SELECT plan, AVG(visits) AS v, COUNT(*) AS n FROM people GROUP BY plan")
        found = cursor.fetch_arrow_table()
        assert found.schema.types == [pa.string(), pa.float64(), pa.int64()]
        assert found.num_rows == 5
        cursor.execute("SELECT COUNT(*) FROM people WHERE age > $1", (18,))
        assert cursor.fetchone()
        assert connection.adbc_get_table_schema("people").field("visits").type == pa.int64()
        assert connection.adbc_get_objects(depth="all").read_all().num_rows == 1
