"""A ledger in one SQLite file: it outlives its process, and several processes may share it.

A charge is one line, appended under locks on the file after all lines that others appended were read and verified, and
it is on the disk before `FileLedger.reserve` returns. Each process remembers where the chain of hashes ended when it
last looked, so that a file that was put back to an older state is refused by everybody who has it open; and by whoever
opens it while they have (`ledger_locks`).
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path

from discreet.errors import LedgerError, expected
from discreet.ledger.allowance import NOTHING, Allowance, Spending
from discreet.ledger.declared_sources import DeclaredSource, DeclaredSources
from discreet.ledger.entry_pages import page
from discreet.ledger.file_format import (
    check_answer,
    check_format,
    check_whole,
    follow_from,
    insert,
    line_at,
    now,
    write_new,
)
from discreet.ledger.file_location import absolute, built, placed
from discreet.ledger.file_locks import is_open_somewhere
from discreet.ledger.hash_chain import DAMAGED, Head, LedgerLine, chain_hash, follow, ratios
from discreet.ledger.ledger import Charge, Entry, Ledger, already_answered, event_of, no_charge
from discreet.ledger.signal_deferral import uninterrupted
from discreet.ledger.sqlite_store import Store, translated
from discreet.ledger.verify_tail import LINES, SHORT, check_end
from discreet.privacy.events import to_json


@dataclass(frozen=True, kw_only=True, slots=True)
class LedgerStatement:
    """What a ledger file says, and the charges in it, if they were asked for."""

    path: str
    created: str
    """When the file was made: UTC, ISO 8601."""
    allowance: Allowance
    spent: Spending
    number: int
    """How many charges there are."""
    entries: tuple[Entry, ...] = ()
    sources: DeclaredSources = field(default_factory=DeclaredSources)


class FileLedger(Ledger):
    """A ledger that lasts, in the file at `path`; it is made if nothing is there."""

    def __init__(self, path: str | os.PathLike[str], allowance: Allowance) -> None:
        super().__init__(allowance)
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
        with self._store.transaction("BEGIN IMMEDIATE") as database:
            # Nothing is written, but a file that can only be read is refused now and not at the first charge.
            database.execute("INSERT INTO line SELECT * FROM line WHERE FALSE")
        self._size = self._store.size()
        self._store.mark(self._head.position)
        self.allowance = self._head.allowance
        if not _same(self._head.allowance, allowance):
            cure = "give the allowance that the ledger was made with; it says what may ever be spent on its data."
            found = f"{allowance} for a ledger of {self._head.allowance}"
            raise LedgerError(expected("the allowance of the ledger", "allowance", found, cure))

    @uninterrupted
    def reserve(self, charge: Charge) -> int:
        """Records `charge`, for good, and returns its number; or raises BudgetExceeded and records nothing."""
        with self.exclusive() as spent:
            total = self.admitted(charge, spent)
            for source in self._pending.sources.new(charge.declared):
                self.append_source(source)
            return self.append_charge(charge, total)

    @uninterrupted
    def commit(self, number: int, answer: bytes) -> None:
        """Stores the answer that charge `number` paid for, once."""
        with self.exclusive():
            self._append_answer(number, answer)

    @contextmanager
    def exclusive(self) -> Iterator[Spending]:
        """Keeps all other threads and processes out, and yields the total.

        What is appended inside of it lasts once it is left normally; an exception leaves all of it or nothing.
        """
        with self._transaction("BEGIN IMMEDIATE"):
            yield self._pending.spent

    def append_charge(self, charge: Charge, total: Spending) -> int:
        """Writes a charge and the total with it."""
        event = to_json(charge.event or event_of(charge.guarantee))
        head, texts = self._pending, (charge.source, charge.what, charge.key, event)
        amounts = ratios(*charge.cost, *total)
        self._append(
            LedgerLine._make((head.position + 1, "charge", now(), head.number + 1, *texts, *amounts, "")), None
        )
        return self._pending.number

    def append_source(self, source: DeclaredSource) -> None:
        """Writes a source that is new, with an entry of its own."""
        head, texts = self._pending, (source.name, source.version, "", source.to_json())
        amounts = ratios(*NOTHING, *head.spent)
        number = len(head.sources) + 1
        self._append(LedgerLine._make((head.position + 1, "source", now(), number, *texts, *amounts, "")), None)

    @uninterrupted
    def sources(self) -> DeclaredSources:
        """What was declared of all tables that charges are about, other processes' among them."""
        with self._transaction("BEGIN"):
            return self._pending.sources

    @property
    def identity(self) -> str:
        """Its file."""
        return self._store.path

    def _append_answer(self, number: int, answer: bytes) -> None:
        query = "SELECT kind, key FROM line WHERE number = ? AND number > 0"
        keys = dict(self._store.database().execute(query, (number,)))
        if "charge" not in keys:
            raise no_charge(number)
        if "answer" in keys:
            raise already_answered(number)
        head, texts = self._pending, ("", "", keys["charge"], "")
        amounts = ratios(*NOTHING, *head.spent)
        digest = sha256(answer).hexdigest()
        self._append(LedgerLine._make((head.position + 1, "answer", now(), number, *texts, *amounts, digest)), answer)

    @uninterrupted
    def spent(self) -> Spending:
        """The total of all charges, other processes' among them."""
        with self._transaction("BEGIN"):
            return self._pending.spent

    @uninterrupted
    def stored(self, key: str) -> bytes | None:
        """The answer committed last under `key`, if it is the one that the chain has there."""
        query = "SELECT position, answer FROM line WHERE kind = 'answer' AND key = ? ORDER BY position DESC LIMIT 1"
        with self._transaction("BEGIN") as database:
            found = database.execute(query, (key,)).fetchone()
            if found is None:
                return None
            position, answer = found
            line, _ = line_at(database, position)
        if (line.kind, line.key) != ("answer", key):
            raise LedgerError(expected("the answer to this question", "line", position, DAMAGED))
        return check_answer(line.number, line.answer_sha256, answer)

    @uninterrupted
    def entries(self, after: int = 0, most: int | None = None) -> tuple[Entry, ...]:
        """Charges, oldest first: those behind number `after`, and so many at most."""
        found: list[Entry] = []
        while most is None or len(found) < most:
            with self._transaction("BEGIN") as database:
                some = page(database, found[-1].number if found else after, most and most - len(found))
            if not some:
                break
            found += some
        return tuple(found)

    @contextmanager
    def _transaction(self, begin: str) -> Iterator[sqlite3.Connection]:
        """A transaction in which `_pending` is the head of the file, with all that other processes wrote."""
        self._store.check_outside()
        with self._store.lock:
            self._catch_up()
            with self._store.transaction(begin) as database:
                self._pending = follow_from(database, self._head)
                self._store.check_newest(self._pending.position)
                yield database
            # Only now: had COMMIT failed, the next look at the file would miss a line that was never there.
            self._head, self._size = self._pending, self._store.size()
            self._store.mark(self._head.position)

    def _catch_up(self) -> None:
        """Where others wrote much, verifies it some lines at a time, so that nobody waits for it."""
        while self._store.size() - self._size > SHORT:
            with self._store.transaction("BEGIN") as database:
                size, known = self._store.size(), self._head
                self._head = follow_from(database, known, LINES)
            if self._head.position - known.position < LINES:
                self._size = size

    def _append(self, line: LedgerLine, answer: bytes | None) -> None:
        chain = chain_hash(self._pending.chain, line)
        insert(self._store.database(), line, chain, answer)
        self._pending = follow(self._pending, line, chain)


@uninterrupted
def create(path: str | os.PathLike[str], allowance: Allowance) -> None:
    """Makes the ledger file of an allowance, where nothing is yet."""
    name = absolute(path)
    _check_free(name)
    if not _make(name, allowance):
        _check_free(name)


def _same(found: Allowance, given: Allowance) -> bool:
    """Whether both say the same; a rho that follows from the rest may differ in its last digits from one machine to
    another, and the one in the file holds.
    """
    if not (found.epsilon and found.rho):
        return found == replace(given, own=given.part)
    is_near = abs(found.rho - given.rho) <= found.rho / 10**9
    return is_near and replace(found, rho=given.rho) == replace(given, own=given.part)


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
            told = _told(database, name, head)
        found: list[Entry] = []
        while entries and (missing := head.number - after - len(found)) > 0:
            with store.transaction("BEGIN") as database:
                found += page(database, after + len(found), missing)
    return replace(told, entries=tuple(found))


@uninterrupted
def verify(path: str | os.PathLike[str]) -> LedgerStatement:
    """What the ledger at `path` says, after every page, line and answer of it was verified.

    A copy is verified, which is made beside it and removed, so that charges wait for no more than the copying.
    """
    name = absolute(path)
    with (
        closing(Store(name)) as store,
        translated(name),
        built(Path(name).parent, _copying(store)) as copy,
        closing(sqlite3.connect(copy, isolation_level=None)) as database,
    ):
        check_format(database, name)
        head = check_whole(database)
        return _told(database, name, head)


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
            told = _told(database, name, check_end(database))
        if not placed(target, _copying(store)):
            _check_free(target)
    return told


def _copying(store: Store) -> Callable[[sqlite3.Connection], None]:
    def copy(target: sqlite3.Connection) -> None:
        with store.transaction("BEGIN") as database:
            database.backup(target)

    return copy


def _told(database: sqlite3.Connection, path: str, head: Head) -> LedgerStatement:
    [created] = database.execute("SELECT time FROM line WHERE position = 0").fetchone()
    return LedgerStatement(
        path=path,
        created=created,
        allowance=head.allowance,
        spent=head.spent,
        number=head.number,
        sources=head.sources,
    )


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
