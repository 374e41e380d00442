"""One SQLite file, held so that its lock means what it says.

A ledger is written with a rollback journal: SQLite's locks are then on the file itself, where containers that mount it
meet, and not in files beside it. They belong to a process, though, which loses them when it closes any handle of the
file. So each transaction also holds a lock of `ledger_locks`, taken before SQLite first looks at the file. A connection
lives for one transaction: none holds pages of a file that was replaced, and none lives through a fork.

Not left to SQLAlchemy Core, which leaves all of this to the driver, for a file as for a server (`postgresql_store`).
"""

from __future__ import annotations

import errno
import os
import sqlite3
import threading
import weakref
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from discreet.errors import LedgerError, expected
from discreet.ledger.file_format import APPLICATION, NO_LEDGER
from discreet.ledger.file_location import check_mount, identity, tighten
from discreet.ledger.file_locks import Descriptor
from discreet.ledger.hash_chain import DAMAGED
from discreet.ledger.signal_deferral import caller

BUSY_SECONDS = 30.0
"""How long to wait for another process. A charge holds the file for some milliseconds."""

_SETTINGS = (
    "PRAGMA trusted_schema = OFF",
    "PRAGMA cell_size_check = ON",
    # A committed line is on the disk before the journal that could undo it is gone; and that it is gone is on the disk,
    # too, before anybody hears of the commit. FULL leaves out the second: a power cut would bring the journal back.
    "PRAGMA synchronous = EXTRA",
    "PRAGMA fullfsync = ON",
)

_HELD_BY_ANOTHER = "another program holds the file: end it, then ask again."
_BUSY = ("a ledger that is free", _HELD_BY_ANOTHER)
_READONLY = ("a ledger that can be written", "change the permissions of the file and of its folder.")
_DAMAGED = ("a ledger without damage", DAMAGED)
_CURES = {
    sqlite3.SQLITE_NOTADB: ("a ledger made by discreet", f"{NO_LEDGER} {DAMAGED}"),
    sqlite3.SQLITE_ERROR: _DAMAGED,
    sqlite3.SQLITE_CORRUPT: _DAMAGED,
    sqlite3.SQLITE_BUSY: _BUSY,
    sqlite3.SQLITE_READONLY: _READONLY,
    sqlite3.SQLITE_CANTOPEN: ("a ledger that can be opened", "its folder has to exist, and both have to be writable."),
    sqlite3.SQLITE_FULL: ("room for the ledger", "make room on the disk; nothing is answered that cannot be recorded."),
}
_UNWRITABLE = {errno.EACCES, errno.EPERM, errno.EROFS, errno.EBADF}
_OTHER = (
    "a ledger that can be read and written",
    "its folder has to exist and to be writable, on a disk with room left and with locks.",
)


class Store:
    """A SQLite file that exists, with a lock over its one connection."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.lock = threading.RLock()
        self._holder: int | None = None
        self._database: sqlite3.Connection | None = None
        with translated(path):
            self._identity = identity(path)
            check_mount(path)
            with closing(connect(path)) as database:
                database.execute("PRAGMA schema_version").fetchone()  # another file is left as it is, permissions too
            tighten(path)
            self._descriptor = _descriptor(path)
        self._finalizer = weakref.finalize(self, self._descriptor.close)
        _STORES.add(self)
        self._work_in()

    def database(self) -> sqlite3.Connection:
        """The connection of the transaction that this thread is in."""
        if self._database is None:
            raise LedgerError(expected("a transaction", "ledger", self.path, "charge inside of alone()."))
        return self._database

    def check_outside(self) -> None:
        """Refuses a transaction inside of one of this thread, or of the one that waits for it."""
        if self._holder is not None and self._holder in (threading.get_ident(), caller()):
            cure = "charge it when the other one has ended."
            raise LedgerError(expected("one charge at a time", "charge", "one inside of another", cure))

    @contextmanager
    def transaction(self, begin: str) -> Iterator[sqlite3.Connection]:
        """A transaction on the file that this store was made for: all of it lasts, or nothing."""
        self.check_outside()
        with self.lock, translated(self.path), self._turn(alone=begin != "BEGIN"):
            self._holder = threading.get_ident()
            try:
                self._check_identity()
                database = self._database = connect(self.path)
                database.execute(begin)
                self._check_identity()
                yield database
                database.execute("COMMIT")
            finally:
                self._holder = None
                self._disconnect()

    def mark(self, position: int) -> None:
        """Says to all who open the file that line `position` was seen."""
        self._descriptor.mark(position)

    def check_newest(self, position: int) -> None:
        """Refuses a file whose last line is `position`, if somebody who has it open saw a later one."""
        if self._descriptor.others_saw_beyond(position):
            raise LedgerError(expected("a ledger that only grows", "ledger", "an older copy of it", DAMAGED))

    def size(self) -> int:
        """How many bytes the file has."""
        with translated(self.path):
            return (self._descriptor.status() or Path(self.path).stat()).st_size

    def close(self) -> None:
        """Lets go of the file until the next transaction."""
        self._disconnect()
        self._finalizer()

    def _disconnect(self) -> None:
        # An open transaction is rolled back by closing.
        database, self._database = self._database, None
        if database is not None:
            database.close()

    @contextmanager
    def _turn(self, *, alone: bool) -> Iterator[None]:
        """The lock of a transaction; alone, too, where a journal is left that SQLite has to roll back first."""
        if not self._finalizer.alive:
            self._descriptor = _descriptor(self.path)
            self._finalizer = weakref.finalize(self, self._descriptor.close)
        for is_alone in (alone, True):
            with self._descriptor.locked(alone=is_alone, seconds=BUSY_SECONDS) as had:
                if not had:
                    what, cure = _BUSY
                    raise LedgerError(expected(what, "ledger", self.path, cure))
                if is_alone or not os.path.lexists(f"{self.path}-journal"):
                    yield
                    return

    def _work_in(self) -> None:
        """Finishes what a crash or an older version left beside the file: a journal, or a write-ahead log."""
        with self.lock, translated(self.path), self._turn(alone=True):
            self._check_identity()
            try:
                database = self._database = connect(self.path)
                database.execute("SELECT count(*) FROM sqlite_schema")
            finally:
                self._disconnect()

    def _check_identity(self) -> None:
        opened = self._descriptor.status()
        is_other = opened is not None and (opened.st_dev, opened.st_ino) != self._identity
        if is_other or identity(self.path) != self._identity:
            cure = f"another file is now at {self.path!r}. What was charged to either of them is spent: {DAMAGED}"
            raise LedgerError(expected("the file that was opened", "ledger", "another one", cure))


def connect(path: str) -> sqlite3.Connection:
    """A connection to the file at `path`, which is never made by connecting."""
    uri = f"{Path(path).as_uri()}?mode=rw"
    database = sqlite3.connect(uri, uri=True, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False)
    try:
        for setting in _SETTINGS:
            database.execute(setting)
        _leave_log(database)
    except BaseException:
        database.close()
        raise
    return database


def _leave_log(database: sqlite3.Connection) -> None:
    """Has a ledger of an older version, with a write-ahead log, keep a rollback journal from now on.

    SQLite does so only while nobody else has the file open, writes all of the log into the file and syncs it before the
    log goes, and changes the mode last: a crash in between leaves a ledger with its log.
    """
    if database.execute("PRAGMA journal_mode").fetchone() != ("wal",):
        return
    if database.execute("PRAGMA application_id").fetchone() != (APPLICATION,):
        return  # somebody else's database, which is refused and left as it is
    if database.execute("PRAGMA journal_mode = DELETE").fetchone() != ("delete",):
        raise sqlite3.OperationalError("the ledger is open in an older version of discreet")


def _descriptor(path: str) -> Descriptor:
    with translated(path):
        return Descriptor(path)


@contextmanager
def translated(path: str) -> Iterator[None]:
    """Turns what the disk and SQLite raise into LedgerError with a cure."""
    try:
        yield
    except sqlite3.Error as error:
        code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF
        what, cure = _CURES.get(code, _OTHER)
        raise LedgerError(expected(what, "ledger", f"{path} ({error})", cure)) from error
    except (OSError, OverflowError, UnicodeError) as error:
        what, cure = _READONLY if getattr(error, "errno", None) in _UNWRITABLE else _OTHER
        reason = getattr(error, "strerror", None) or error  # without the name of the file that was being made
        raise LedgerError(expected(what, "ledger", f"{path} ({reason})", cure)) from error


_STORES: weakref.WeakSet[Store] = weakref.WeakSet()
_FORKING = threading.RLock()
_HELD: list[Store] = []


def _before_fork() -> None:
    """Waits until nobody is in a transaction."""
    _FORKING.acquire()
    for store in tuple(_STORES):
        store.lock.acquire()
        _HELD.append(store)


def _after_fork() -> None:
    while _HELD:
        _HELD.pop().lock.release()
    _FORKING.release()


def _after_fork_in_child() -> None:
    """The child opens the files anew, or it would share the locks of its parent."""
    for store in _HELD:
        store.close()
    _after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_fork_in_child)
