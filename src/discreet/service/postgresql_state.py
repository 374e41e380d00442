"""The state in a schema of a PostgreSQL server, for processes of a service on several machines.

Not left to psycopg_pool: `StateStore` keeps a handful of connections, and has to know itself which of them were lost.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, ClassVar

from discreet.errors import LedgerError, expected
from discreet.ledger.ledger_location import address_of, place_text, schema_of
from discreet.ledger.postgresql_store import driver

SCHEMA = "discreet_state"
"""The schema of a state whose URL names none."""
CONNECT_SECONDS = 10
APART = 1.0
"""Seconds by which the clock of a machine may differ from the server's: moments are compared on all machines."""

_SESSION = (
    "SET client_encoding = 'UTF8'",
    "SET lock_timeout = '30s'",
    "SET statement_timeout = '60s'",
    "SET idle_in_transaction_session_timeout = '60s'",
    "SET row_security = off",
    "SET tcp_keepalives_idle = 30",
    "SET tcp_keepalives_interval = 10",
    "SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off'",
)
_TURN = "SELECT pg_advisory_xact_lock(hashtextextended(?, 0))"
_BESIDE = "SELECT pg_advisory_xact_lock_shared(hashtextextended(?, 0))"
_AGAIN = ("40P01", "40001", "55P03")


class PostgreSQLConnection:
    """A connection to the schema of a state."""

    kind: ClassVar[str] = "postgresql"
    begin: ClassVar[str] = (
        "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE; "
        "SELECT pg_advisory_xact_lock(hashtextextended('discreet writes ' || current_schema(), 0))"
    )
    """Whoever writes has the state alone, as in a file: so nobody waits for rows in the middle of what was timed."""

    def __init__(self, place: str, connection: Any) -> None:
        self._place = place
        self._connection = connection
        self._schema = _schema_of(place)

    def execute(self, sql: str, values: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
        """The rows of a statement; a COMMIT that undoes instead is an error."""
        done = self._connection.execute(sql.replace("?", "%s"), values or None)
        if sql == "COMMIT" and done.statusmessage != "COMMIT":
            raise LedgerError(expected("a commit", "state", done.statusmessage, "send it again."))
        return done.fetchall() if done.description else []

    def prepare(self) -> None:
        """Within a transaction: makes the schema where it is missing, in turn; refuses what is no state's."""
        self.execute(_TURN, (f"discreet {self._schema}",))
        if not self.execute("SELECT 1 FROM pg_namespace WHERE nspname = ?", (self._schema,)):
            self.execute(f'CREATE SCHEMA "{self._schema}"')
        self.execute(f'SET search_path = "{self._schema}"')
        found = self.execute("SELECT to_regclass('meta') IS NULL, to_regclass('job') IS NULL")
        others = self.execute("SELECT 1 FROM pg_class WHERE relnamespace = current_schema()::regnamespace LIMIT 1")
        if others and found != [(False, False)]:
            cure = "name another one after #; a ledger has a schema of its own, too."
            raise LedgerError(expected("a schema for the state alone", "state", place_text(self._place), cure))

    def take_turn(self) -> None:
        """Within a transaction that writes: beside others that do, and not beside one that prepares."""
        self.execute(_BESIDE, (f"discreet {self._schema}",))

    def is_worth_another_try(self, problem: BaseException) -> bool:
        """Whether a statement failed for what others did meanwhile, so that it may succeed by itself."""
        return getattr(problem, "sqlstate", None) in _AGAIN

    @property
    def is_lost(self) -> bool:
        """Whether the server is gone from its other end."""
        return bool(self._connection.closed)

    def close(self) -> None:
        """Gives it back; what was not committed is undone."""
        self._connection.close()


def postgresql_schema(place: str) -> Callable[[], PostgreSQLConnection]:
    """Connections to the state at ``postgresql://host/database#schema``; the schema is made where it is missing."""
    schema, shown = _schema_of(place), place_text(place)
    psycopg = driver(shown)

    def connect() -> PostgreSQLConnection:
        try:
            opened = psycopg.connect(address_of(place), autocommit=True, connect_timeout=CONNECT_SECONDS)
        except psycopg.Error as problem:
            # What the driver says may quote a part of the URL, so nothing of it is told but its class.
            cure = "check host, database, user and password (~/.pgpass keeps it), and that the server runs."
            found = f"{shown} ({type(problem).__name__})"
            raise LedgerError(expected("a server that can be reached", "state", found, cure)) from None
        try:
            for setting in _SESSION:
                opened.execute(setting)
            opened.execute(f'SET search_path = "{schema}"')
            _check(opened, shown)
        except BaseException:
            opened.close()
            raise
        return PostgreSQLConnection(place, opened)

    return connect


def _check(opened: Any, shown: str) -> None:
    [encoding] = opened.execute("SHOW server_encoding").fetchone()
    if encoding != "UTF8":
        raise LedgerError(expected("a database in UTF8", "state", f"{shown}, {encoding}", "make one with UTF8."))
    before = time.time()
    [moment] = opened.execute("SELECT extract(epoch FROM clock_timestamp())::float8").fetchone()
    after = time.time()
    if not before - APART < moment < after + APART:
        cure = "keep the clocks of all machines together, by NTP: answers leave at moments that all have to agree on."
        raise LedgerError(expected("the clock of the server", "clock", f"{moment - after:+.1f} s", cure))


def _schema_of(place: str) -> str:
    return schema_of(place if "#" in place else f"{place}#{SCHEMA}")
