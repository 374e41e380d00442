"""A transaction on the server is alone, whole or nothing, and on the disk once it was left."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest

from discreet.errors import LedgerError
from discreet.ledger import postgresql_store
from discreet.ledger.postgresql_ledger import PostgreSQLLedger
from discreet.ledger.postgresql_store import PostgreSQLStore
from discreet.ledger.privacy_filter import Allowance
from killable_postgresql import PRESENT, KillableServer, killable_postgresql

NUMBERS = itertools.count(1)


@pytest.fixture(params=["postgresql"] if PRESENT else [])
def store(server: KillableServer) -> Iterator[PostgreSQLStore]:
    """That of a ledger which was made."""
    url = server.url(f"store_{next(NUMBERS)}")
    PostgreSQLLedger(url, Allowance.union(1))
    made = PostgreSQLStore(url)
    yield made
    made.close()


@pytest.fixture
def rival(store: PostgreSQLStore) -> Iterator[Any]:
    """Another connection to the schema."""
    import psycopg

    with closing(psycopg.connect(store._address, autocommit=True)) as connection:
        connection.execute(f'SET search_path = "{store.schema}"')
        yield connection


def count(store: PostgreSQLStore) -> int:
    with store.transaction(alone=False) as database:
        [rows] = database.execute("SELECT count(*) FROM meta WHERE name LIKE ?", ("t%",)).fetchone()
        return int(rows)


def test_whoever_has_the_row_is_alone(store: PostgreSQLStore, rival: Any) -> None:
    import psycopg

    with store.transaction(alone=True), pytest.raises(psycopg.errors.LockNotAvailable):
        rival.execute("SELECT position FROM head FOR UPDATE NOWAIT")
    rival.execute("SELECT position FROM head FOR UPDATE NOWAIT")
    with store.transaction(alone=False):
        rival.execute("SELECT position FROM head FOR UPDATE NOWAIT")  # who reads holds up nobody


def test_who_waits_too_long_is_told(store: PostgreSQLStore, rival: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(postgresql_store, "_SESSION", (*postgresql_store._SESSION, "SET lock_timeout = '20ms'"))
    rival.execute("BEGIN")
    rival.execute("SELECT position FROM head FOR UPDATE")
    with pytest.raises(LedgerError, match="a ledger that is free"), store.transaction(alone=True):
        pass
    rival.execute("ROLLBACK")
    with store.transaction(alone=True):
        pass


def test_a_transaction_is_whole_or_nothing(store: PostgreSQLStore) -> None:
    def insert_and_fail(error: type[BaseException]) -> None:
        with store.transaction(alone=True) as database:
            database.execute("INSERT INTO meta VALUES ('t1', '')")
            raise error

    for error in (ValueError, KeyboardInterrupt, LedgerError):
        with pytest.raises(error):
            insert_and_fail(error)
    assert count(store) == 0
    with store.transaction(alone=True) as database:
        database.execute("INSERT INTO meta VALUES (?, ?)", ("t1", ""))
    assert count(store) == 1


def test_the_session_is_set(store: PostgreSQLStore) -> None:
    """The server was started with synchronous_commit = off."""
    names = ("synchronous_commit", "transaction_isolation", "row_security", "lock_timeout", "search_path")
    with store.transaction(alone=True) as database:
        found = {name: database.execute(f"SHOW {name}").fetchone()[0] for name in names}
    assert found == {
        "synchronous_commit": "on",
        "transaction_isolation": "read committed",
        "row_security": "off",
        "lock_timeout": "30s",
        "search_path": store.schema,
    }


@pytest.mark.long
@pytest.mark.parametrize("settings", [{"fsync": "off"}] if PRESENT else [])
def test_a_server_that_does_not_sync_is_refused(settings: dict[str, str]) -> None:
    with killable_postgresql() as made:
        made.stop()
        made.start(**settings)
        with pytest.raises(LedgerError, match="fsync=on"):
            PostgreSQLLedger(made.url("x"), Allowance.union(1))


def test_a_connection_that_was_lost_is_made_anew(store: PostgreSQLStore, rival: Any) -> None:
    assert count(store) == 0
    rival.execute("SELECT pg_terminate_backend(%s)", (store._connection.info.backend_pid,))
    assert count(store) == 0

    def lose() -> None:
        with store.transaction(alone=True) as database:
            database.execute("INSERT INTO meta VALUES ('t1', '')")
            rival.execute("SELECT pg_terminate_backend(%s)", (store._connection.info.backend_pid,))

    with pytest.raises(LedgerError, match="a server that answers"):
        lose()
    assert count(store) == 0


def test_one_inside_of_another_is_refused(store: PostgreSQLStore) -> None:
    with store.transaction(alone=True), pytest.raises(LedgerError, match="one charge at a time"):
        count(store)
    with pytest.raises(LedgerError, match="a transaction"):
        store.database()


def test_what_the_server_says_is_told_with_a_cure(store: PostgreSQLStore) -> None:
    for statement, why in (
        ("SELECT * FROM nowhere", "made by discreet"),
        ("SELECT 1/0", "read and written"),
        ("CREATE ROLE discreet", "read and written"),
    ):
        with pytest.raises(LedgerError, match=rf"{why}[\s\S]*Hint: "), store.transaction(alone=True) as database:
            database.execute(statement)
    assert count(store) == 0
