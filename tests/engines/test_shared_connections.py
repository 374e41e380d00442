"""One connection serves one release at a time, however many Ibis backends and tables were made of it."""

from __future__ import annotations

import duckdb
import ibis

from discreet.engines.duckdb import DuckDB


def test_one_lock_for_one_connection() -> None:
    """Scan and keys have fixed names in a connection: two releases at once would read each other's."""
    connection = duckdb.connect()
    connection.execute("CREATE TABLE visits AS SELECT 1 AS person")
    one, other = (DuckDB(ibis.duckdb.from_connection(connection).table("visits"), None) for _ in range(2))
    assert one._backend is not other._backend
    assert one._lock is other._lock


def test_other_connections_do_not_wait() -> None:
    tables = [ibis.duckdb.connect().sql("SELECT 1 AS person", schema={"person": "int64"}) for _ in range(2)]
    one, other = (DuckDB(table, None) for table in tables)
    assert one._lock is not other._lock
