"""A ledger in one SQLite file: it outlives its process, and several processes may share it.

A charge is appended under locks on the file, and is on the disk before `FileLedger.reserve` returns. Each process
remembers where the chain of hashes ended when it last looked, so that a file that was put back to an older state is
refused by everybody who has it open; and by whoever opens it while they have (`ledger_locks`).
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path

from discreet.errors import LedgerError, expected
from discreet.ledger.database_ledger import DatabaseLedger, other_allowance
from discreet.ledger.file_format import check_format, check_whole, upgrade, write_new
from discreet.ledger.file_location import absolute, built, placed
from discreet.ledger.file_locks import is_open_somewhere
from discreet.ledger.hash_chain import DAMAGED
from discreet.ledger.ledger_statement import LedgerStatement, statement_at, with_entries
from discreet.ledger.privacy_filter import Allowance
from discreet.ledger.published_head import PublishedHead, published
from discreet.ledger.signal_deferral import uninterrupted
from discreet.ledger.sqlite_store import Store, translated
from discreet.ledger.stored_lines import Database, follow_from
from discreet.ledger.verify_tail import LINES, SHORT, check_end


class FileLedger(DatabaseLedger):
    """A ledger that lasts, in the file at `path`; it is made if nothing is there."""

    def __init__(self, path: str | os.PathLike[str], allowance: Allowance) -> None:
        super().__init__()
        self._open(absolute(path), allowance)

    @uninterrupted
    def _open(self, name: str, allowance: Allowance) -> None:
        if not os.path.lexists(name):
            _make(name, allowance)
        self._store = Store(name)
        with self._store.transaction("BEGIN") as database:
            check_format(database, name)
            self._head = self._pending = check_end(database)
            self._store.check_newest(self._head.position)
        if not self._head.allowance.says_what(allowance):
            raise other_allowance(allowance, self._head.allowance)
        with self._store.transaction("BEGIN IMMEDIATE") as database:
            upgrade(database)
            # Nothing is written, but a file that can only be read is refused now and not at the first charge.
            database.execute("INSERT INTO line SELECT * FROM line WHERE FALSE")
            self._size = self._store.size()
        self._store.mark(self._head.position)

    @property
    def identity(self) -> str:
        """Its file."""
        return self._store.path

    def verify(self, head: PublishedHead | None = None) -> None:
        """Refuses a file in which a page, a line or an answer was damaged, or that does not continue a head."""
        verify(self._store.path, head)

    def _database(self) -> Database:
        return self._store.database()

    @contextmanager
    def _transaction(self, *, alone: bool) -> Iterator[Database]:
        """A transaction in which `_pending` is the head of the file, with all that other processes wrote."""
        self._store.check_outside()
        with self._store.lock:
            self._catch_up()
            with self._store.transaction("BEGIN IMMEDIATE" if alone else "BEGIN") as database:
                self._pending = follow_from(database, self._head)
                self._store.check_newest(self._pending.position)
                yield database
                self._size = self._store.size()  # before COMMIT: what fails now leaves no charge behind
            # Only now: had COMMIT failed, the next look at the file would miss a line that was never there.
            self._head = self._pending
            self._store.mark(self._head.position)

    def _catch_up(self) -> None:
        """Where others wrote much, verifies it some lines at a time, so that nobody waits for it."""
        while self._store.size() - self._size > SHORT:
            with self._store.transaction("BEGIN") as database:
                size, known = self._store.size(), self._head
                self._head = follow_from(database, known, LINES)
            if self._head.position - known.position < LINES:
                self._size = size


@uninterrupted
def create(path: str | os.PathLike[str], allowance: Allowance) -> None:
    """Makes the ledger file of an allowance, where nothing is yet."""
    name = absolute(path)
    _check_free(name)
    if not _make(name, allowance):
        _check_free(name)


@uninterrupted
def statement(path: str | os.PathLike[str], *, entries: bool = True, after: int = 0) -> LedgerStatement:
    """What the ledger at `path` says, whatever its allowance; its end is verified, and it is not changed.

    Of its charges those behind number `after` are read, if any are asked for.
    """
    name = absolute(path)
    with closing(Store(name)) as store:
        with store.transaction("BEGIN") as database:
            check_format(database, name)
            head = check_end(database)
            store.check_newest(head.position)
            told = statement_at(database, name, head)
        return with_entries(told, partial(store.transaction, "BEGIN"), after) if entries else told


@uninterrupted
def verify(path: str | os.PathLike[str], continued: PublishedHead | None = None) -> LedgerStatement:
    """What the ledger at `path` says, after every page, line and answer of it was verified, and that it continues a
    published head.

    A copy is verified, which is made beside it and removed, so that charges wait for no more than the copying.
    """
    name = absolute(path)
    with (
        closing(Store(name)) as store,
        translated(name),
        built(Path(name).parent, _copying(store)) as copy,
        closing(sqlite3.connect(copy, isolation_level=None)) as database,
    ):
        head = check_whole(database)
        if continued is not None:
            continued.check_continues(database, head)
        return statement_at(database, name, head)


@uninterrupted
def head(path: str | os.PathLike[str]) -> PublishedHead:
    """Where the chain of the ledger at `path` ends; its end is verified."""
    name = absolute(path)
    with closing(Store(name)) as store, store.transaction("BEGIN") as database:
        check_format(database, name)
        found = check_end(database)
        store.check_newest(found.position)
        return published(database, found)


@uninterrupted
def backup(path: str | os.PathLike[str], to: str | os.PathLike[str]) -> LedgerStatement:
    """Copies the ledger at `path` to where nothing is yet, as it stands between two charges; nobody loses a lock by it.

    The copy knows nothing of later charges. It is for looking at, and for the case that the ledger is lost.
    """
    name, target = absolute(path), absolute(to)
    _check_free(target)
    with closing(Store(name)) as store, translated(target):
        with store.transaction("BEGIN") as database:
            check_format(database, name)
            told = statement_at(database, name, check_end(database))
        if not placed(target, _copying(store)):
            _check_free(target)
    return told


def _copying(store: Store) -> Callable[[sqlite3.Connection], None]:
    def copy(target: sqlite3.Connection) -> None:
        with store.transaction("BEGIN") as database:
            check_format(database, store.path)
            [last] = database.execute("SELECT max(position) FROM line").fetchone()
            store.check_newest(last or 0)
            database.backup(target)

    return copy


def _make(path: str, allowance: Allowance) -> bool:
    """Makes a ledger at `path` in one step that only one process can win; False where another was faster."""
    # Asked in this order: what belongs to a ledger made this moment comes after its ledger.
    beside = next((name for name in (f"{path}-journal", f"{path}-wal") if os.path.lexists(name)), None)
    if beside and not os.path.lexists(path):
        cure = f"a ledger was here, and its journal is left: put back the file that belongs to it, or {DAMAGED}"
        raise LedgerError(expected("no journal without its ledger", "ledger", beside, cure))
    if is_open_somewhere(path) and not os.path.lexists(path):
        cure = f"a ledger was here, which a program has open still: end that program. If the file is lost, {DAMAGED}"
        raise LedgerError(expected("a path where no ledger was", "ledger", path, cure))
    with translated(path):
        return placed(path, lambda database: write_new(database, allowance))


def _check_free(path: str) -> None:
    if os.path.lexists(path):
        cure = "use the ledger that is there; give another path only for data about which nothing was answered yet."
        raise LedgerError(expected("a path where nothing is", "ledger", path, cure))
