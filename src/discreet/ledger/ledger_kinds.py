"""The three kinds of ledgers, by where they are: in memory, in a file, on a PostgreSQL server."""

from __future__ import annotations

import os

from discreet.ledger import file_ledger, postgresql_ledger
from discreet.ledger.file_ledger import FileLedger
from discreet.ledger.ledger import Ledger
from discreet.ledger.ledger_location import is_server
from discreet.ledger.ledger_statement import LedgerStatement
from discreet.ledger.memory_ledger import MemoryLedger
from discreet.ledger.postgresql_ledger import PostgreSQLLedger
from discreet.ledger.privacy_filter import Allowance
from discreet.ledger.published_head import PublishedHead

Place = str | os.PathLike[str]


def ledger_at(place: Place | None, allowance: Allowance) -> Ledger:
    """The ledger at a place, which is made if nothing is there; in memory, where none is named."""
    if place is None:
        return MemoryLedger(allowance)
    return PostgreSQLLedger(str(place), allowance) if is_server(place) else FileLedger(place, allowance)


def create(place: Place, allowance: Allowance) -> None:
    """Makes the ledger of an allowance, where nothing is yet."""
    if is_server(place):
        postgresql_ledger.create(str(place), allowance)
    else:
        file_ledger.create(place, allowance)


def exists(place: Place) -> bool:
    """Whether a ledger is at a place."""
    return postgresql_ledger.exists(str(place)) if is_server(place) else os.path.lexists(place)


def statement(place: Place, *, entries: bool = True, after: int = 0) -> LedgerStatement:
    """What a ledger says, whatever its allowance; its end is verified, and it is not changed."""
    if is_server(place):
        return postgresql_ledger.statement(str(place), entries=entries, after=after)
    return file_ledger.statement(place, entries=entries, after=after)


def verify(place: Place, head: PublishedHead | None = None) -> LedgerStatement:
    """What a ledger says, after every line and answer of it was verified, and that it continues a published head."""
    if is_server(place):
        return postgresql_ledger.verify(str(place), head)
    return file_ledger.verify(place, head)


def head(place: Place) -> PublishedHead:
    """Where the chain of a ledger ends; its end is verified."""
    return postgresql_ledger.head(str(place)) if is_server(place) else file_ledger.head(place)


def backup(place: Place, to: Place) -> LedgerStatement:
    """Copies a ledger, as it stands, into a file where nothing is yet."""
    return postgresql_ledger.backup(str(place), to) if is_server(place) else file_ledger.backup(place, to)
