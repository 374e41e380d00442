"""A ledger on a PostgreSQL server, which processes on several machines share.

A charge is appended by whoever holds the row of the ledger's head, and is on the server's disk before
`PostgreSQLLedger.reserve` returns. Each process remembers where the chain of hashes ended when it last looked, so a
database that was put back to an older state is refused by everybody who has the ledger open.
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from functools import partial

from discreet.errors import LedgerError, expected
from discreet.ledger.database_ledger import DatabaseLedger, other_allowance
from discreet.ledger.file_format import write_tables
from discreet.ledger.file_location import absolute, placed
from discreet.ledger.hash_chain import LedgerLine
from discreet.ledger.ledger_statement import LedgerStatement, statement_at, with_entries
from discreet.ledger.postgresql_format import (
    check_end,
    check_head,
    check_schema,
    check_whole,
    move_head,
    rows_from,
    write_new,
)
from discreet.ledger.postgresql_store import PostgreSQLLines, PostgreSQLStore
from discreet.ledger.privacy_filter import Allowance
from discreet.ledger.published_head import PublishedHead, published
from discreet.ledger.signal_deferral import uninterrupted
from discreet.ledger.sqlite_store import translated
from discreet.ledger.stored_lines import Database, follow_from, insert
from discreet.ledger.verify_tail import LINES

_DATABASE = "SELECT oid::bigint FROM pg_database WHERE datname = current_database()"
_MAKING = "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE"
_THERE = "SELECT relname::text FROM pg_class JOIN pg_namespace AS n ON n.oid = relnamespace WHERE nspname = ?"

LONG_AGO = 1.0
"""After so many seconds others may have written more than is read while they wait."""


class PostgreSQLLedger(DatabaseLedger):
    """A ledger that lasts, in a schema of a server; it is made if nothing is there."""

    def __init__(self, url: str, allowance: Allowance) -> None:
        super().__init__()
        self._url, self._looked = url, time.monotonic()
        self._open(url, allowance)

    @uninterrupted
    def _open(self, url: str, allowance: Allowance) -> None:
        self._store = PostgreSQLStore(url)
        _make(self._store, allowance)
        with self._store.transaction(alone=False) as database:
            check_schema(database, self._store.path)
            self._head = self._pending = check_end(database)
            [oid] = database.execute(_DATABASE).fetchone()
            [first] = database.execute("SELECT chain FROM line WHERE position = 0").fetchone()
        # By what is there, whatever names and passwords led to it.
        self._name = f"postgresql {oid} {self._store.schema} {first}"
        with self._store.transaction(alone=True) as database:
            # Nothing is changed, but an account that may only read is refused now and not at the first charge.
            database.execute("INSERT INTO line SELECT * FROM line WHERE FALSE")
        if not self._head.allowance.says_what(allowance):
            raise other_allowance(allowance, self._head.allowance)

    @property
    def identity(self) -> str:
        """Its database and schema, and its first line."""
        return self._name

    def verify(self, head: PublishedHead | None = None) -> None:
        """Refuses a ledger in which a line or an answer was damaged, or that lacks what a head or this process saw."""
        self.balances()
        verify(self._url, head)

    def _database(self) -> Database:
        return self._store.database()

    @contextmanager
    def _transaction(self, *, alone: bool) -> Iterator[Database]:
        """A transaction in which `_pending` is the head of the ledger, with all that other processes wrote."""
        self._store.check_outside()
        with self._store.lock:
            if alone and time.monotonic() - self._looked > LONG_AGO:
                self._catch_up()
            with self._store.transaction(alone=alone) as database:
                found = self._pending = follow_from(database, self._head)
                check_head(database, found)
                yield database
                if self._pending is not found:
                    move_head(database, self._pending)
            # Only now: had COMMIT failed, the next look would miss a line that was never there.
            self._head, self._looked = self._pending, time.monotonic()

    def _catch_up(self) -> None:
        """Where others wrote much, verifies it some lines at a time, so that nobody waits for it."""
        while True:
            with self._store.transaction(alone=False) as database:
                known, self._head = self._head, follow_from(database, self._head, LINES)
            if self._head.position - known.position < LINES:
                return


@uninterrupted
def create(url: str, allowance: Allowance) -> None:
    """Makes the ledger of an allowance, where nothing is yet."""
    with closing(PostgreSQLStore(url)) as store:
        if not _make(store, allowance):
            cure = "use the ledger that is there; name another one only for data about which nothing was answered yet."
            raise LedgerError(expected("a schema where nothing is", "ledger", store.path, cure))


def exists(url: str) -> bool:
    """Whether a ledger is at a URL."""
    with closing(PostgreSQLStore(url)) as store, store.transaction(alone=False) as database:
        return bool(database.execute(_THERE, (store.schema,)).fetchall())


@uninterrupted
def statement(url: str, *, entries: bool = True, after: int = 0) -> LedgerStatement:
    """What the ledger at a URL says, whatever its allowance; its end is verified, and it is not changed."""
    with closing(PostgreSQLStore(url)) as store:
        look = partial(store.transaction, alone=False)
        with look() as database:
            check_schema(database, store.path)
            told = statement_at(database, store.path, check_end(database))
        return with_entries(told, look, after) if entries else told


@uninterrupted
def verify(url: str, continued: PublishedHead | None = None) -> LedgerStatement:
    """What the ledger at a URL says, after every line and answer of it was verified, as of one moment, and that it
    continues a published head.
    """
    with closing(PostgreSQLStore(url)) as store, store.transaction(alone=False) as database:
        check_schema(database, store.path)
        found = check_whole(database)
        if continued is not None:
            continued.check_continues(database, found)
        return statement_at(database, store.path, found)


@uninterrupted
def head(url: str) -> PublishedHead:
    """Where the chain of the ledger at a URL ends; its end is verified."""
    with closing(PostgreSQLStore(url)) as store, store.transaction(alone=False) as database:
        check_schema(database, store.path)
        return published(database, check_end(database))


@uninterrupted
def backup(url: str, to: str | os.PathLike[str]) -> LedgerStatement:
    """Copies the ledger at a URL, as of one moment, into a ledger file where nothing is yet."""
    target = absolute(to)
    with closing(PostgreSQLStore(url)) as store, store.transaction(alone=False) as database, translated(target):
        check_schema(database, store.path)
        told = statement_at(database, store.path, check_end(database))
        if not placed(target, partial(_copied, database)):
            cure = "give another path; a copy never replaces a file."
            raise LedgerError(expected("a path where nothing is", "ledger", target, cure))
    return told


def _copied(database: Database, file: sqlite3.Connection) -> None:
    """Fills an empty file with the lines of a server, hashes and answers as they are."""
    write_tables(file)
    file.executemany("INSERT INTO meta VALUES (?, ?)", database.execute("SELECT name, value FROM meta").fetchall())
    last = -1
    while rows := rows_from(database, last):
        for *columns, chain, answer in rows:
            line = LedgerLine._make(columns)
            insert(file, line, str(chain), answer if isinstance(answer, bytes) else None)
            last = line.position
    file.execute("COMMIT")


def _make(store: PostgreSQLStore, allowance: Allowance) -> bool:
    """Makes the ledger in one step that only one process can win; False where it is there already."""
    # A look without locks first: whoever may not make anything opens what is there.
    with store.transaction(alone=False) as database:
        if _is_there(database, store):
            return False
    with store.transaction(alone=False, begin=_MAKING) as database:
        database.execute("SELECT pg_advisory_xact_lock(hashtextextended(?, 0))", (f"discreet {store.schema}",))
        if _is_there(database, store):
            return False
        if not database.execute("SELECT 1 FROM pg_namespace WHERE nspname = ?", (store.schema,)).fetchone():
            database.execute(f'CREATE SCHEMA "{store.schema}"')
        write_new(database, allowance)
    return True


def _is_there(database: PostgreSQLLines, store: PostgreSQLStore) -> bool:
    names = {name for (name,) in database.execute(_THERE, (store.schema,))}
    if names and "line" not in names:
        cure = "name a schema after # that has nothing else in it."
        raise LedgerError(expected("a schema that is a ledger, or empty", "ledger", store.path, cure))
    return bool(names)
