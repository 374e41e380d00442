"""One connection serves one release at a time, however many Ibis backends and tables were made of it."""

from __future__ import annotations

from typing import Any

import duckdb
import ibis
import pytest

from discreet.engines.connected_engine import ConnectionLock
from discreet.engines.duckdb import DuckDB
from discreet.errors import EngineError
from discreet.testing import people


def test_one_lock_for_one_connection() -> None:
    """Scan and keys have fixed names in a connection: two releases at once would read each other's."""
    connection = duckdb.connect()
    connection.execute("CREATE TABLE visits AS SELECT 1 AS person")
    one, other = (DuckDB(ibis.duckdb.from_connection(connection).table("visits"), None) for _ in range(2))
    assert one._backend is not other._backend
    assert one._lock is other._lock


def test_other_connections_do_not_wait() -> None:
    tables = [ibis.duckdb.connect().sql("SELECT 1::BIGINT AS person", schema={"person": "int64"}) for _ in range(2)]
    one, other = (DuckDB(table, None) for table in tables)
    assert one._lock is not other._lock


def test_a_question_inside_of_another_one_is_refused_and_costs_nothing() -> None:
    """As a signal handler asks one, in the thread that has the connection; it waited for itself."""
    table = people()
    source: Any = table._source
    with (
        source._engine._lock.held(),
        pytest.raises(EngineError, match="nothing was charged"),
    ):
        table.count().release(epsilon=1)
    assert not table.budget.spent.epsilon
    table.count().release(epsilon=1)


def test_what_fails_leaves_the_connection_free() -> None:
    lock = ConnectionLock()
    with pytest.raises(KeyError), lock.held():
        raise KeyError
    with lock.held(), pytest.raises(RuntimeError, match="inside of another"), lock.held():
        pass
    with lock.held():
        pass
