"""A schema of a PostgreSQL server, held by one connection at a time, in transactions that take turns.

Claim
    While `transaction(alone=True)` is held for a ledger, no other one is, in this process or another, on this machine
    or another; what is appended in it is on the server's disk once it was left, or has not happened; and no statement
    in it sees less than all that was appended before.
Requires
    One server, whose files nobody but it writes and whose replicas nobody makes the server while it lives. Its disk
    keeps what was synced: a server that does not sync is refused.
Relies on
    PostgreSQL: ``SELECT ... FOR UPDATE`` waits for whoever has the row, and holds it until the transaction ends; at
    READ COMMITTED each statement sees all that was committed before it began; with ``synchronous_commit`` on, COMMIT
    returns once the log is on the disk; a transaction whose connection is lost is rolled back.
Proof
    Each transaction that writes begins with the one row of ``head``, for update. Whoever has it is alone until COMMIT
    or ROLLBACK, or until the server rolls back for a client that is gone. Statements after it began after the COMMIT of
    whoever had the row before. Nothing is written before the row is had. A connection that breaks before COMMIT is sent
    leaves nothing; where it breaks after, it is not known which of both: an error is raised, so no answer is drawn, and
    the next transaction reads what is there. A connection is tried again only before anything was written.
Rounding
    None.
Source
    PostgreSQL documentation, chapters 13.2.1 (Read Committed) and 30.4 (asynchronous commit).
Mutant
    row-is-not-locked: the row is read and not held; killed by test_whoever_has_the_row_is_alone.
    commits-may-wait: the server answers before the log is on the disk; killed by test_the_session_is_set.
    sync-is-not-asked: a server that does not sync is taken; killed by test_a_server_that_does_not_sync_is_refused.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from discreet.errors import DiscreetError, LedgerError, expected
from discreet.ledger.hash_chain import DAMAGED
from discreet.ledger.ledger_location import address_of, place_text, schema_of
from discreet.ledger.signal_deferral import caller
from discreet.noise.process_identity import this_process

BUSY_SECONDS = 30
"""How long to wait for another process. A charge holds the row for some milliseconds."""
_HUNG_SECONDS = 60
"""After which the server lets go of a transaction whose client does nothing."""

_SESSION = (
    "SET client_encoding = 'UTF8'",
    f"SET lock_timeout = '{BUSY_SECONDS}s'",
    f"SET idle_in_transaction_session_timeout = '{_HUNG_SECONDS}s'",
    "SET statement_timeout = 0",
    "SET row_security = off",
    "SET default_transaction_deferrable = off",
    "SET tcp_keepalives_idle = 30",
    "SET tcp_keepalives_interval = 10",
)
_SYNCED = "SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off'"

_DENIED = ("42501", "25006")
_BUSY = ("55P03", "40P01", "53300", "57P03")


class PostgreSQLLines:
    """A connection within a transaction, which takes the statements of every ledger."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection

    def execute(self, statement: str, parameters: Sequence[Any] = (), /) -> Any:
        """Runs a statement, with ``?`` for each parameter, and returns its rows."""
        return self._connection.execute(statement.replace("?", "%s") if parameters else statement, parameters or None)


class PostgreSQLStore:
    """A schema of a server, with a lock over its one connection."""

    def __init__(self, url: str) -> None:
        self._driver = driver(place_text(url))
        self.path = place_text(url)
        self.schema = schema_of(url)
        self.lock = threading.RLock()
        self._address = address_of(url)
        self._holder: int | None = None
        self._lines: PostgreSQLLines | None = None
        self._opened: list[Any] = []
        weakref.finalize(self, _close, self._opened, this_process())

    def database(self) -> PostgreSQLLines:
        """The connection of the transaction that this thread is in."""
        if self._lines is None:
            raise LedgerError(expected("a transaction", "ledger", self.path, "charge inside of alone()."))
        return self._lines

    def check_outside(self) -> None:
        """Refuses a transaction inside of one of this thread, or of the one that waits for it."""
        if self._holder is not None and self._holder in (threading.get_ident(), caller()):
            cure = "charge it when the other one has ended."
            raise LedgerError(expected("one charge at a time", "charge", "one inside of another", cure))

    @contextmanager
    def transaction(self, *, alone: bool, begin: str = "") -> Iterator[PostgreSQLLines]:
        """A transaction on the schema: all of it lasts, or nothing. `alone`, with the row that only one can have.

        `begin` says which kind it is where it is none of a ledger that is there.
        """
        self.check_outside()
        with self.lock, self._translated():
            self._holder = threading.get_ident()
            try:
                self._begin(begin or _kind(alone=alone), alone=alone)
                self._lines = PostgreSQLLines(self._connection)
                yield self._lines
                self._commit()
            except DiscreetError:
                self._roll_back()
                raise
            except BaseException:
                self._drop()
                raise
            finally:
                self._holder, self._lines = None, None

    def close(self) -> None:
        """Lets go of the server until the next transaction."""
        with self.lock:
            self._drop()

    def _begin(self, begin: str, *, alone: bool) -> None:
        """Begins a transaction; once more, on a new connection, where an old one is found to be lost."""
        for is_last in (self._connection is None, True):
            try:
                if self._connection is None:
                    self._opened.append(self._connected())
                self._connection.execute(begin)
                if alone and self._connection.execute("SELECT position FROM head FOR UPDATE").fetchone() is None:
                    raise LedgerError(expected("a ledger with its head", "ledger", self.path, DAMAGED))
            except self._driver.OperationalError:
                lost = self._connection is not None and self._connection.closed
                if is_last or not lost:
                    raise
                self._drop()
            else:
                return

    def _connected(self) -> Any:
        try:
            connection = self._driver.connect(self._address, autocommit=True, connect_timeout=BUSY_SECONDS)
        except self._driver.Error as error:
            # What the driver says may quote a part of the URL, so nothing of it is told but its class.
            told_class = type(error).__name__
            cure = "check host, database, user and password (~/.pgpass keeps it), and that the server runs."
            found = f"{self.path} ({told_class})"
            raise LedgerError(expected("a server that can be reached", "ledger", found, cure)) from None
        try:
            self._settle(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def _settle(self, connection: Any) -> None:
        for setting in _SESSION:
            connection.execute(setting)
        connection.execute(_SYNCED)
        connection.execute(f'SET search_path = "{self.schema}"')
        for name, wanted in (("fsync", "on"), ("server_encoding", "UTF8")):
            [found] = connection.execute(f"SHOW {name}").fetchone()
            if found != wanted:
                cure = "a server that does not sync loses charges with its power." if name == "fsync" else "use UTF8."
                raise LedgerError(expected(f"a server with {name}={wanted}", "ledger", f"{self.path}, {found}", cure))

    def _commit(self) -> None:
        """Ends the transaction; what failed in it would be rolled back here without an error."""
        said = self._connection.execute("COMMIT").statusmessage
        if said != "COMMIT":
            raise LedgerError(
                expected("a commit", "ledger", f"{self.path} ({said})", "nothing was recorded; ask again.")
            )

    def _roll_back(self) -> None:
        """Undoes what was begun, on a connection that can be used again."""
        try:
            if self._connection is not None:
                self._connection.execute("ROLLBACK")
        except self._driver.Error:
            self._drop()

    @property
    def _connection(self) -> Any:
        return self._opened[-1] if self._opened else None

    def _drop(self) -> None:
        """Closes the connection: what it had begun is rolled back."""
        _close(self._opened, this_process())

    @contextmanager
    def _translated(self) -> Iterator[None]:
        """Turns what the server and the way to it raise into LedgerError with a cure."""
        try:
            yield
        except self._driver.Error as error:
            state = error.sqlstate
            what, cure = "a ledger that can be read and written", "the server has to be there, with room left."
            if state in _DENIED:
                what, cure = "a ledger that can be written", "grant the account what discreet docs ledger says."
            elif state in _BUSY:
                what, cure = "a ledger that is free", "another program holds it, or the server is busy: ask again."
            elif state is None or state[:2] in ("08", "57"):
                what = "a server that answers"
                cure = "ask again; if a charge was under way, its entry says whether it was made: budget.entries()."
            elif state in ("42P01", "3F000", "42703"):
                what, cure = (
                    "a ledger made by discreet",
                    f"give the schema of a ledger, #name. If it was one, {DAMAGED}",
                )
            said = error.diag.message_primary if state else type(error).__name__
            raise LedgerError(expected(what, "ledger", f"{self.path} ({said})", cure)) from None


def _close(opened: list[Any], process: tuple[int, int]) -> None:
    """Closes a connection, in the process that opened it."""
    while opened and this_process() == process:
        with suppress(Exception):  # it may be lost already
            opened.pop().close()


def driver(path: str) -> Any:
    """psycopg, which comes with an extra."""
    try:
        import psycopg
    except ModuleNotFoundError:
        cure = "pip install 'discreet[postgres]', or keep the ledger in a file, ledger='spent.db'."
        raise LedgerError(expected("psycopg for a ledger on a server", "ledger", path, cure)) from None
    return psycopg


def _kind(*, alone: bool) -> str:
    """How a transaction begins: to write alone; or to read, all of it at one moment."""
    return "BEGIN ISOLATION LEVEL " + ("READ COMMITTED READ WRITE" if alone else "REPEATABLE READ READ ONLY")
