"""One SQLite file, held so that its lock means what it says.

SQLite's locks belong to a process and to an inode. Three things break them, and are kept out here: the file is never
opened other than by SQLite (closing any other handle would drop the locks of the whole process), no connection lives
through a fork (the child would believe that it holds its parent's locks), and a file with two names is refused (each
name would get a write-ahead log of its own).
"""

from __future__ import annotations

import os
import sqlite3
import stat
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from discreet.curator.ledger_chain import RESTORE
from discreet.errors import InvalidParameter, LedgerError, expected

BUSY_SECONDS = 30.0
"""How long to wait for another process. A charge holds the file for less than a millisecond."""

SETTLING_SECONDS = 2.0
"""How long a file may have two names: its maker links it into place and then removes the first name."""

_SETTINGS = (
    "PRAGMA trusted_schema = OFF",
    "PRAGMA cell_size_check = ON",
    # A committed line is on the disk, in the log and, by the checkpoint after every commit, in the file itself: the
    # file alone is the whole record, and whoever loses the log beside it loses nothing.
    "PRAGMA synchronous = FULL",
    "PRAGMA fullfsync = ON",
    "PRAGMA wal_autocheckpoint = 1",
)

_CURES = {
    sqlite3.SQLITE_NOTADB: ("a ledger made by discreet", "give the path of a ledger, or one where nothing is yet."),
    sqlite3.SQLITE_ERROR: ("a ledger without damage", RESTORE),
    sqlite3.SQLITE_CORRUPT: ("a ledger without damage", RESTORE),
    sqlite3.SQLITE_BUSY: ("a ledger that is free", "another program holds the file: end it, then ask again."),
    sqlite3.SQLITE_READONLY: ("a ledger that can be written", "change the permissions of the file and of its folder."),
    sqlite3.SQLITE_CANTOPEN: ("a ledger that can be opened", "its folder has to exist, and both have to be writable."),
    sqlite3.SQLITE_FULL: ("room for the ledger", "make room on the disk; nothing is answered that cannot be recorded."),
}
_OTHER = (
    "a ledger that can be read and written",
    "its folder has to exist and to be writable, on a disk with room left.",
)


class Store:
    """A SQLite file that exists, with a lock over its one connection.

    The lock is re-entrant: a transaction inside of another fails, it does not wait for ever.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self.lock = threading.RLock()
        self._identity = identity(path)
        self._database: sqlite3.Connection | None = None
        self._close: Callable[[], object] = lambda: None
        _STORES.add(self)

    def database(self) -> sqlite3.Connection:
        """The connection, opened on first use and again after a fork."""
        if self._database is None:
            self._database = connect(self.path)
            self._close = weakref.finalize(self, self._database.close)
        return self._database

    @contextmanager
    def transaction(self, begin: str) -> Iterator[sqlite3.Connection]:
        """A transaction on the file that this store was made for: all of it lasts, or nothing."""
        with self.lock, translated(self.path):
            database = self.database()
            database.execute(begin)
            try:
                self._check_identity()
                yield database
                database.execute("COMMIT")
            except BaseException:
                if database.in_transaction:
                    database.execute("ROLLBACK")
                raise

    def _check_identity(self) -> None:
        if identity(self.path) != self._identity:
            cure = f"another file is now at {self.path!r}: put the first one back, and open the budget anew."
            raise LedgerError(expected("the file that was opened", "ledger", "another one", cure))

    def close(self) -> None:
        """Lets go of the file."""
        self._close()
        self._database = None


def connect(path: str) -> sqlite3.Connection:
    """A connection to the file at `path`, which is never made by connecting."""
    uri = f"{Path(path).as_uri()}?mode=rw"
    database = sqlite3.connect(uri, uri=True, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False)
    try:
        for setting in _SETTINGS:
            database.execute(setting)
    except BaseException:
        database.close()
        raise
    return database


def absolute(path: object) -> str:
    """The one name of a ledger's file: absolute and without symbolic links, whatever the working directory becomes."""
    cure = "give a path such as ledger='spent.db', or leave it out to keep the record in memory."
    try:
        text = os.fspath(path)  # type: ignore[call-overload]  # what is no path raises TypeError, which is the check
    except TypeError:
        text = None
    if not isinstance(text, str) or not text or "\0" in text or text == ":memory:":
        raise InvalidParameter(expected("the path of a file", "ledger", path, cure))
    return os.path.realpath(text)


def identity(path: str) -> tuple[int, int]:
    """What tells the file at `path` from every other; refuses what cannot be a ledger."""
    status = _status(path)
    patience = time.monotonic() + SETTLING_SECONDS
    while stat.S_ISREG(status.st_mode) and status.st_nlink > 1 and time.monotonic() < patience:
        time.sleep(0.001)
        status = _status(path)
    if not stat.S_ISREG(status.st_mode):
        raise LedgerError(expected("a file", "ledger", path, "give the path of a file, not of a folder or a device."))
    if status.st_size == 0:
        raise LedgerError(expected("a ledger", "ledger", f"{path}, which is empty", f"if it was one, {RESTORE}"))
    if status.st_nlink != 1:
        cure = "remove the other hard links: SQLite keeps a log for each name, and charges would get lost."
        raise LedgerError(expected("a file with one name", "names", status.st_nlink, cure))
    return status.st_dev, status.st_ino


def _status(path: str) -> os.stat_result:
    with translated(path):
        return Path(path).stat()


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
        what, cure = _OTHER
        reason = getattr(error, "strerror", None) or error  # without the name of the file that was being made
        raise LedgerError(expected(what, "ledger", f"{path} ({reason})", cure)) from error


_STORES: weakref.WeakSet[Store] = weakref.WeakSet()
_FORKING = threading.RLock()
_HELD: list[Store] = []


def _before_fork() -> None:
    _FORKING.acquire()
    for store in tuple(_STORES):
        store.lock.acquire()
        _HELD.append(store)
        store.close()


def _after_fork() -> None:
    while _HELD:
        _HELD.pop().lock.release()
    _FORKING.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_fork)
