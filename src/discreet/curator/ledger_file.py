"""A ledger in one SQLite file: it outlives its process, and several processes may share it.

A charge is one line, appended under SQLite's write lock after all lines that others appended were read and verified,
and it is on the disk before `FileLedger.reserve` returns. Each process remembers where the chain of hashes ended when
it last looked, so that a file that was put back to an older state is refused by everybody who has it open.
"""

from __future__ import annotations

import os
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from fractions import Fraction
from hashlib import sha256
from pathlib import Path

from discreet.accounting.allowance import NOTHING, Allowance, Spending
from discreet.curator.declared import Source, Sources
from discreet.curator.ledger import Charge, Entry, Ledger, already_answered, event_of, no_charge
from discreet.curator.ledger_chain import RESTORE, Line, chain_hash, follow, ratios
from discreet.curator.ledger_format import (
    check_answer,
    check_format,
    check_whole,
    follow_from,
    insert,
    now,
    write_new,
)
from discreet.curator.ledger_store import Store, absolute, translated
from discreet.errors import LedgerError, expected
from discreet.privacy.definitions import Guarantee
from discreet.privacy.events import from_json, to_json


@dataclass(frozen=True, kw_only=True, slots=True)
class Statement:
    """All that a ledger file says."""

    path: str
    created: str
    """When the file was made: UTC, ISO 8601."""
    allowance: Allowance
    spent: Spending
    entries: tuple[Entry, ...]
    sources: Sources = field(default_factory=Sources)


class FileLedger(Ledger):
    """A ledger that lasts, in the file at `path`; it is made if nothing is there."""

    def __init__(self, path: str | os.PathLike[str], allowance: Allowance) -> None:
        super().__init__(allowance)
        name = absolute(path)
        if not os.path.lexists(name):
            _make(name, allowance)
        self._store = Store(name)
        with self._store.transaction("BEGIN IMMEDIATE") as database:
            check_format(database, name)
            self._head = self._pending = check_whole(database)
            # Nothing is written, but a file that can only be read is refused now and not at the first charge.
            database.execute("INSERT INTO line SELECT * FROM line WHERE FALSE")
        self.allowance = self._head.allowance
        if not _same(self._head.allowance, allowance):
            cure = "give the allowance that the ledger was made with, or another path."
            found = f"{allowance} for a ledger of {self._head.allowance}"
            raise LedgerError(expected("the allowance of the ledger", "allowance", found, cure))

    @contextmanager
    def alone(self) -> Iterator[Spending]:
        """Keeps all other threads and processes out: SQLite's write lock."""
        with self._transaction("BEGIN IMMEDIATE"):
            yield self._pending.spent

    def append_charge(self, charge: Charge, total: Spending) -> int:
        """Writes a charge and the total with it."""
        event = to_json(charge.event or event_of(charge.guarantee))
        head, texts = self._pending, (charge.source, charge.what, charge.key, event)
        amounts = ratios(*charge.cost, *total)
        self._append(Line._make((head.position + 1, "charge", now(), head.number + 1, *texts, *amounts, "")), None)
        return self._pending.number

    def append_source(self, source: Source) -> None:
        """Writes a source that is new, with an entry of its own."""
        head, texts = self._pending, (source.name, source.version, "", source.to_json())
        amounts = ratios(*NOTHING, *head.spent)
        number = len(head.sources) + 1
        self._append(Line._make((head.position + 1, "source", now(), number, *texts, *amounts, "")), None)

    def sources(self) -> Sources:
        """What was declared of all tables that charges are about, other processes' among them."""
        with self._store.lock:
            if self._store.database().in_transaction:
                return self._pending.sources
            with self._transaction("BEGIN"):
                return self._pending.sources

    @property
    def identity(self) -> str:
        """Its file."""
        return self._store.path

    def append_answer(self, number: int, answer: bytes) -> None:
        """Writes the answer of a charge, once."""
        query = "SELECT kind, key FROM line WHERE number = ? AND number > 0"
        keys = dict(self._store.database().execute(query, (number,)))
        if "charge" not in keys:
            raise no_charge(number)
        if "answer" in keys:
            raise already_answered(number)
        head, texts = self._pending, ("", "", keys["charge"], "")
        amounts = ratios(*NOTHING, *head.spent)
        digest = sha256(answer).hexdigest()
        self._append(Line._make((head.position + 1, "answer", now(), number, *texts, *amounts, digest)), answer)

    def spent(self) -> Spending:
        """The total of all charges, other processes' among them."""
        with self._transaction("BEGIN"):
            return self._pending.spent

    def stored(self, key: str) -> bytes | None:
        """The answer committed last under `key`."""
        query = """
            SELECT number, answer_sha256, answer FROM line
            WHERE kind = 'answer' AND key = ? ORDER BY position DESC LIMIT 1
        """
        with self._transaction("BEGIN") as database:
            found = database.execute(query, (key,)).fetchone()
        return None if found is None else check_answer(*found)

    def entries(self) -> tuple[Entry, ...]:
        """All charges, oldest first."""
        with self._transaction("BEGIN") as database:
            return _entries(database)

    @contextmanager
    def _transaction(self, begin: str) -> Iterator[sqlite3.Connection]:
        """A transaction in which `_pending` is the head of the file, with all that other processes wrote."""
        with self._store.lock:
            with self._store.transaction(begin) as database:
                self._pending = follow_from(database, self._head)
                yield database
            # Only now: had COMMIT failed, the next look at the file would miss a line that was never there.
            self._head = self._pending

    def _append(self, line: Line, answer: bytes | None) -> None:
        chain = chain_hash(self._pending.chain, line)
        insert(self._store.database(), line, chain, answer)
        self._pending = follow(self._pending, line, chain)


def create(path: str | os.PathLike[str], allowance: Allowance) -> None:
    """Makes the ledger file of an allowance, where nothing is yet."""
    name = absolute(path)
    if os.path.lexists(name) or not _make(name, allowance):
        raise LedgerError(
            expected("a path where nothing is", "ledger", name, "give another path, or use the ledger that is there.")
        )


def _same(found: Allowance, given: Allowance) -> bool:
    """Whether both say the same; a rho that follows from the rest may differ in its last digits from one machine to
    another, and the one in the file holds.
    """
    if not (found.epsilon and found.rho):
        return found == replace(given, own=given.part)
    is_near = abs(found.rho - given.rho) <= found.rho / 10**9
    return is_near and replace(found, rho=given.rho) == replace(given, own=given.part)


def statement(path: str | os.PathLike[str]) -> Statement:
    """What the ledger at `path` says, whatever its allowance; it is verified and not changed."""
    name = absolute(path)
    store = Store(name)
    with closing(store), store.transaction("BEGIN") as database:
        check_format(database, name)
        head = check_whole(database)
        [created] = database.execute("SELECT time FROM line WHERE position = 0").fetchone()
        return Statement(
            path=name,
            created=created,
            allowance=head.allowance,
            spent=head.spent,
            entries=_entries(database),
            sources=head.sources,
        )


def _entries(database: sqlite3.Connection) -> tuple[Entry, ...]:
    query = """
        SELECT number, time, source, what, key, event, epsilon, delta, rho, slack,
               EXISTS (SELECT 1 FROM line AS a WHERE a.number = line.number AND a.kind = 'answer')
        FROM line WHERE kind = 'charge' ORDER BY position
    """
    return tuple(
        Entry(
            number=number,
            time=time,
            source=source,
            what=what,
            key=key,
            guarantee=Guarantee(epsilon=Fraction(epsilon), delta=Fraction(delta)),
            rho=Fraction(rho),
            slack=Fraction(slack),
            event=from_json(event),
            answered=bool(answered),
        )
        for number, time, source, what, key, event, epsilon, delta, rho, slack, answered in database.execute(query)
    )


def _make(path: str, allowance: Allowance) -> bool:
    """Makes a ledger at `path` in one step that only one process can win; False where another was faster."""
    # Asked in this order: a log that belongs to a ledger made this moment comes after its ledger.
    if os.path.lexists(f"{path}-wal") and not os.path.lexists(path):
        cure = f"a ledger was here and its log is left: {RESTORE}"
        raise LedgerError(expected("no log without its ledger", "ledger", f"{path}-wal", cure))
    folder = Path(path).parent
    # Built where nobody looks, then linked into place: a link, unlike a rename, does not replace what is there.
    with translated(path), tempfile.TemporaryDirectory(prefix=".ledger-", dir=folder) as aside:
        unfinished = Path(aside, "unfinished.db")
        with closing(sqlite3.connect(unfinished, isolation_level=None)) as database:
            write_new(database, allowance)
        try:
            os.link(unfinished, path)
        except FileExistsError:
            return False
        _flush(folder)
    return True


def _flush(folder: Path) -> None:
    """Makes a new name in `folder` survive a power cut, where the system can."""
    if hasattr(os, "O_DIRECTORY"):
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
