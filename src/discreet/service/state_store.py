"""What the service keeps beside the ledger: principals, hashes of tokens, jobs, requests and changes of policies.

Writes that wait together are committed together, by one thread of each process: a transaction that reaches the disk
costs the same for one as for a hundred.

Not left to SQLAlchemy: two dozen statements that SQLite and PostgreSQL read alike need no layer between, and a
transaction here has to begin and end where this file says.
"""

from __future__ import annotations

import contextlib
import os
import queue
import sqlite3
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from pathlib import Path
from typing import Any, Protocol, TypeVar

from discreet.errors import LedgerError, expected
from discreet.service.state_schema import VERSION, statements

Found = TypeVar("Found")
Rows = list[tuple[Any, ...]]

MOST_TOGETHER = 200
PATIENCE = 30
"""Seconds that a writer waits for others."""

FAILURE = (
    "Expected the service's store to answer, got a failure.\n"
    "Hint: ask the operator to look at the log; what was paid for is on record, and the same request is free."
)


class Execute(Protocol):
    """Runs one statement with its values, and returns the rows that it gives."""

    def __call__(self, sql: str, *values: Any) -> Rows:
        """Values stand for ? in the statement."""


class Connection(Protocol):
    """One connection to a database."""

    def execute(self, sql: str, values: tuple[Any, ...] = ()) -> Rows:
        """The rows of a statement; values stand for ?."""

    def close(self) -> None:
        """Gives it back."""


class SqliteConnection:
    """A connection to a SQLite file that only its owner may read."""

    def __init__(self, path: Path) -> None:
        self._database = sqlite3.connect(path, timeout=PATIENCE, isolation_level=None, check_same_thread=False)
        for pragma in ("journal_mode = WAL", "synchronous = FULL", "foreign_keys = ON"):
            self._database.execute(f"PRAGMA {pragma}")

    def execute(self, sql: str, values: tuple[Any, ...] = ()) -> Rows:
        """The rows of a statement."""
        return self._database.execute(sql, values).fetchall()

    def close(self) -> None:
        """Closes it."""
        self._database.close()


def sqlite_file(path: str | os.PathLike[str]) -> Callable[[], SqliteConnection]:
    """Connections to the file at `path`, which is made with rights for its owner alone."""
    place = Path(path).absolute()
    if not place.parent.is_dir():
        raise LedgerError(expected("a folder that exists", "state", str(place), "make the folder first."))
    with contextlib.suppress(FileExistsError):
        os.close(os.open(place, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
    if place.stat().st_mode & 0o077:
        cure = "others may read it: chmod 600, and look for who did."
        raise LedgerError(expected("a file for its owner alone", "state", str(place), cure))
    return lambda: SqliteConnection(place)


class StateStore:
    """Reads at once, and writes that are committed together; for all threads of a process."""

    def __init__(self, connect: Callable[[], Connection], kind: str = "sqlite") -> None:
        self._connect = connect
        self._idle: queue.SimpleQueue[Connection] = queue.SimpleQueue()
        self._waiting: queue.SimpleQueue[tuple[Callable[[Execute], Any], Future[Any]] | None] = queue.SimpleQueue()
        self._begin = "BEGIN IMMEDIATE" if kind == "sqlite" else "BEGIN"
        self._closed = False
        self._lock = threading.Lock()
        first = connect()
        first.execute(self._begin)
        for statement in statements(kind):
            first.execute(statement)
        first.execute("INSERT INTO meta VALUES ('version', ?) ON CONFLICT DO NOTHING", (str(VERSION),))
        ((found,),) = first.execute("SELECT value FROM meta WHERE name = 'version'")
        first.execute("COMMIT")
        if found != str(VERSION):
            first.close()
            raise LedgerError(
                expected(f"a state of version {VERSION}", "version", found, "use the version that made it.")
            )
        self._idle.put(first)
        self._writer = threading.Thread(target=self._write_all, name="discreet-store", daemon=True)
        self._writer.start()

    def read(self, sql: str, *values: Any) -> Rows:
        """The rows of one statement."""
        with self._connection() as connection:
            return connection.execute(sql, values)

    def write(self, work: Callable[[Execute], Found]) -> Found:
        """Runs `work` in a transaction; when this returns, it lasts. What `work` raises undoes it."""
        future: Future[Found] = Future()
        with self._lock:
            if self._closed:
                raise LedgerError(FAILURE)
            self._waiting.put((work, future))
        return future.result()

    def close(self) -> None:
        """Writes what waits, and lets go of the database."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
            self._waiting.put(None)
        self._writer.join()
        while not self._idle.empty():
            self._idle.get().close()

    @contextlib.contextmanager
    def _connection(self) -> Iterator[Connection]:
        try:
            connection = self._idle.get_nowait()
        except queue.Empty:
            connection = self._connect()
        try:
            yield connection
        except BaseException:
            with contextlib.suppress(Exception):
                connection.close()
            raise
        self._idle.put(connection)

    def _write_all(self) -> None:
        while (one := self._waiting.get()) is not None:
            together = [one]
            ends = False
            while len(together) < MOST_TOGETHER:
                try:
                    following = self._waiting.get_nowait()
                except queue.Empty:
                    break
                if following is None:
                    ends = True
                    break
                together.append(following)
            self._commit(together)
            if ends:
                return

    def _commit(self, together: list[tuple[Callable[[Execute], Any], Future[Any]]]) -> None:
        """Runs them in one transaction; those that raise are undone alone."""
        ended: list[tuple[Future[Any], Any, BaseException | None]] = []
        try:
            with self._connection() as connection:
                connection.execute(self._begin)
                for work, future in together:
                    ended.append((future, *_ran(connection, work)))
                connection.execute("COMMIT")
        except Exception as problem:  # noqa: BLE001 (whatever the database raises is told to all who wait)
            failure = LedgerError(FAILURE)
            failure.__cause__ = problem
            for _, future in together:
                future.set_exception(failure)
            return
        for future, found, raised in ended:
            if raised is None:
                future.set_result(found)
            else:
                future.set_exception(raised)


def _ran(connection: Connection, work: Callable[[Execute], Any]) -> tuple[Any, BaseException | None]:
    connection.execute("SAVEPOINT one")
    try:
        found = work(lambda sql, *values: connection.execute(sql, values))
    except Exception as problem:  # noqa: BLE001 (it is raised where the work was given)
        connection.execute("ROLLBACK TO SAVEPOINT one")
        connection.execute("RELEASE SAVEPOINT one")
        return None, problem
    connection.execute("RELEASE SAVEPOINT one")
    return found, None
