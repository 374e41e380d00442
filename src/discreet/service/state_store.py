"""What the service keeps beside the ledger: principals, hashes of tokens, jobs, requests and changes of policies.

Writes that wait together are committed together, by one thread of each process: a transaction that reaches the disk
costs the same for one as for a hundred.

Claim
    Once a state is of another version, a process of this one writes nothing more to it, and gives nothing back that it
    read of it.
Requires
    Versions only grow, each upgrade in one transaction that changes the version too.
Relies on
    SQLite's lock on a file that is written. PostgreSQL's advisory locks, which last until a transaction ends.
Proof
    *Writes.* A transaction that writes first keeps upgrades out until it ends (`take_turn`), then reads the version,
    and goes on only if that is its own. So no upgrade lies between that look and its end.
    *Reads.* The version is read after the rows. If it is still this one's, it was when the rows were read.
Rounding
    None.
Source
    Optimistic concurrency control: Kung and Robinson (1981).
Mutant
    old-processes-write-on: a write does not look at the version; killed by
    test_a_process_of_an_older_version_writes_and_reads_nothing_more.
    old-processes-read-on: a read does not either; killed by
    test_a_process_of_an_older_version_writes_and_reads_nothing_more.

Not left to SQLAlchemy: two dozen statements that SQLite and PostgreSQL read alike need no layer between, and a
transaction here has to begin and end where this file says.
"""

from __future__ import annotations

import contextlib
import os
import queue
import sqlite3
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from typing import Any, ClassVar, Protocol, TypeVar

from discreet.errors import DiscreetError, LedgerError, expected
from discreet.ledger.ledger_location import is_server, place_text
from discreet.service.postgresql_state import postgresql_schema
from discreet.service.state_schema import UPGRADES, VERSION, statements

Found = TypeVar("Found")
Rows = list[tuple[Any, ...]]

MOST_TOGETHER = 200
MOST_CONNECTIONS = 8
"""Of one process. A server gives out a hundred or so, to all of them."""
MOST_TRIES, PAUSE = 5, 0.1
"""Of a write that others were in the way of; and the seconds between two, in which they go on."""
PATIENCE = 30
"""Seconds that a writer waits for others."""

FAILURE = (
    "Expected the service's store to answer, got a failure.\n"
    "Hint: ask the operator to look at the log; what was paid for is on record, and the same request is free."
)

OUTDATED = (
    "Expected a store of this version of the service, got one that a newer version has changed.\n"
    "Hint: ask the operator to stop this process; accepted jobs go on in the newer one."
)
"""What a process says that runs on after a newer one was started."""


class Outdated(LedgerError):
    """The tables are those of another version."""

    def __init__(self) -> None:
        super().__init__(OUTDATED)


class Execute(Protocol):
    """Runs one statement with its values, and returns the rows that it gives."""

    def __call__(self, sql: str, *values: Any) -> Rows:
        """Values stand for ? in the statement."""


Waiting = tuple[Callable[[Execute], Any], "Future[Any]"]


class Connection(Protocol):
    """One connection to a database."""

    kind: ClassVar[str]
    """Whose words the statements of the tables are in: sqlite or postgresql."""
    begin: ClassVar[str]
    """How a transaction that writes begins."""

    def execute(self, sql: str, values: tuple[Any, ...] = ()) -> Rows:
        """The rows of a statement; values stand for ?."""

    def prepare(self) -> None:
        """Within the transaction that makes the tables: what has to come before."""

    def take_turn(self) -> None:
        """Within a transaction that writes: keeps what changes the tables out until it ends."""

    def is_worth_another_try(self, problem: BaseException) -> bool:
        """Whether a statement failed for what others did meanwhile, so that it may succeed by itself."""

    @property
    def is_lost(self) -> bool:
        """Whether the other end is gone, so that a new connection may do better."""

    def close(self) -> None:
        """Gives it back; what was not committed is undone."""


class SqliteConnection:
    """A connection to a SQLite file that only its owner may read."""

    kind: ClassVar[str] = "sqlite"
    begin: ClassVar[str] = "BEGIN IMMEDIATE"

    def __init__(self, path: Path) -> None:
        self._database = sqlite3.connect(path, timeout=PATIENCE, isolation_level=None, check_same_thread=False)
        try:
            self._keep_a_log()
            for pragma in ("synchronous = FULL", "foreign_keys = ON"):
                self._database.execute(f"PRAGMA {pragma}")
        except BaseException:
            self._database.close()
            raise

    def _keep_a_log(self) -> None:
        """Turns the write-ahead log on; SQLite itself waits for nobody there, where others open a new file as well."""
        until = time.monotonic() + PATIENCE
        while True:
            try:
                self._database.execute("PRAGMA journal_mode = WAL")
            except sqlite3.OperationalError as problem:
                if problem.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > until:
                    raise
                time.sleep(0.01)
            else:
                return

    def execute(self, sql: str, values: tuple[Any, ...] = ()) -> Rows:
        """The rows of a statement."""
        return self._database.execute(sql, values).fetchall()

    def prepare(self) -> None:
        """Nothing: the transaction that makes the tables keeps others out."""

    def take_turn(self) -> None:
        """Nothing: whoever writes has the file alone."""

    def is_worth_another_try(self, problem: BaseException) -> bool:
        """Never: whoever writes has the file alone."""
        del problem
        return False

    @property
    def is_lost(self) -> bool:
        """Never: a file has no other end."""
        return False

    def close(self) -> None:
        """Closes it."""
        self._database.close()


def state_at(place: str) -> StateStore:
    """The state at a place: a file, or a schema of a PostgreSQL server.

    Raises:
        LedgerError: it cannot be made or opened there, or something else is there.
    """
    try:
        connect: Callable[[], Connection] = postgresql_schema(place) if is_server(place) else sqlite_file(place)
        return StateStore(connect)
    except DiscreetError:
        raise
    except Exception as problem:  # noqa: BLE001 (whatever a database or a file system raises)
        cure = "give a file or schema where nothing is, or that of a state, and an account that may write there."
        found = f"{place_text(place)} ({type(problem).__name__})"
        raise LedgerError(expected("a state that can be made or opened", "state", found, cure)) from None


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

    def __init__(self, connect: Callable[[], Connection]) -> None:
        self._connect = connect
        self._version = str(VERSION)
        self._idle: queue.LifoQueue[Connection] = queue.LifoQueue()
        self._places = threading.BoundedSemaphore(MOST_CONNECTIONS)
        self._waiting: queue.SimpleQueue[Waiting | None] = queue.SimpleQueue()
        self._closed = False
        self._lock = threading.Lock()
        first = connect()
        try:
            _make(first)
        except BaseException:
            first.close()
            raise
        self._idle.put(first)
        self._writer = threading.Thread(target=self._write_all, name="discreet-store", daemon=True)
        self._writer.start()

    def read(self, sql: str, *values: Any) -> Rows:
        """The rows of one statement.

        Raises:
            LedgerError: the database failed.
            Outdated: another version has changed its tables.
        """

        def looked(connection: Connection) -> Rows:
            rows = connection.execute(sql, values)
            self._check_version(connection)
            return rows

        with self._places:
            try:
                return self._begun(looked)
            except Outdated:
                raise
            except Exception as problem:  # whatever a database raises
                raise LedgerError(FAILURE) from problem

    def write(self, work: Callable[[Execute], Found]) -> Found:
        """Runs `work` in a transaction; when this returns, it lasts. What `work` raises undoes it.

        Raises:
            Outdated: another version has changed the tables; nothing is written.
            LedgerError: the database failed. Where the connection was lost, nobody knows whether the work lasts.
        """
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

    def _check_version(self, connection: Connection) -> None:
        if _version(connection) != self._version:
            raise Outdated

    def _begun(self, first: Callable[[Connection], Found], then: Callable[[Connection], None] | None = None) -> Found:
        """What the first statement on a connection gives; once more on a new one, where the old one was lost.

        `then` goes on with the same connection, and is not done again.
        """
        while True:
            try:
                connection, is_new = self._idle.get_nowait(), False
            except queue.Empty:
                connection, is_new = self._connect(), True
            try:
                found = first(connection)
            except BaseException:
                is_lost = connection.is_lost
                _closed(connection)
                if is_new or not is_lost:
                    raise
                continue
            try:
                if then is not None:
                    then(connection)
            except BaseException:
                _closed(connection)
                raise
            self._idle.put(connection)
            return found

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

    def _commit(self, together: list[Waiting], *, tries: int = MOST_TRIES) -> None:
        """Runs them in one transaction; those that raise are undone alone, or tried alone."""
        ended: list[tuple[Future[Any], Any, BaseException | None]] = []
        again: list[Waiting] = []

        def run(connection: Connection) -> None:
            connection.take_turn()
            self._check_version(connection)
            for work, future in together:
                found, raised = _ran(connection, work)
                if raised is not None and tries > 1 and connection.is_worth_another_try(raised):
                    again.append((work, future))
                else:
                    ended.append((future, found, raised))
            connection.execute("COMMIT")

        try:
            with self._places:
                self._begun(lambda connection: connection.execute(connection.begin), run)
        except Exception as problem:  # noqa: BLE001 (whatever the database raises is told to all who wait)
            for _, future in together:
                future.set_exception(Outdated() if isinstance(problem, Outdated) else _failure(problem))
            return
        for future, found, raised in ended:
            if raised is None:
                future.set_result(found)
            else:
                future.set_exception(raised if isinstance(raised, DiscreetError) else _failure(raised))
        for one in again:
            time.sleep(PAUSE)
            self._commit([one], tries=tries - 1)


def _make(connection: Connection) -> None:
    """Makes the tables where they are missing, and brings those of an older version up to this one; refuses others."""
    connection.execute(connection.begin)
    connection.prepare()
    meta, *tables = statements(connection.kind)
    connection.execute(meta)
    if not (found := _version(connection)):
        connection.execute("INSERT INTO meta VALUES ('version', ?)", (found := str(VERSION),))
    while found in UPGRADES:
        for statement in UPGRADES[found]:
            connection.execute(statement)
        found = _version(connection)
    if found != str(VERSION):
        raise LedgerError(expected(f"a state of version {VERSION}", "version", found, "use the version that made it."))
    for statement in tables:
        connection.execute(statement)
    connection.execute("COMMIT")


def _version(connection: Connection) -> str:
    return next((str(found) for (found,) in connection.execute("SELECT value FROM meta WHERE name = 'version'")), "")


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


def _closed(connection: Connection) -> None:
    with contextlib.suppress(Exception):  # it may be lost already
        connection.close()


def _failure(problem: BaseException) -> LedgerError:
    failure = LedgerError(FAILURE)
    failure.__cause__ = problem
    return failure
