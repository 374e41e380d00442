"""A ledger whose entries are lines of a chain of hashes in a database, which several processes may share.

A charge is one line, appended in a transaction that keeps others out, after all lines that they appended were read and
verified; and it lasts before `DatabaseLedger.reserve` returns. Threads that wait for each other share a transaction.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Collection, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from hashlib import sha256
from typing import TypeVar

from discreet.errors import LedgerError, expected
from discreet.ledger.declared_sources import DeclaredSource
from discreet.ledger.entry_pages import change_page, page
from discreet.ledger.group_commit import SharedTransaction, Together
from discreet.ledger.hash_chain import (
    DAMAGED,
    POINTS,
    Head,
    LedgerLine,
    broken,
    chain_hash,
    point_number,
    ratios,
    stated,
    totals_text,
)
from discreet.ledger.ledger import (
    Charge,
    Entry,
    Ledger,
    PaidAnswer,
    already_answered,
    event_of,
    no_charge,
    no_place,
)
from discreet.ledger.level_changes import LevelChange
from discreet.ledger.level_names import is_below
from discreet.ledger.nested_levels import Balances
from discreet.ledger.privacy_filter import NOTHING, Allowance
from discreet.ledger.published_head import PublishedHead, published
from discreet.ledger.signal_deferral import uninterrupted
from discreet.ledger.stored_lines import Database, check_answer, insert, line_at, now
from discreet.privacy.events import to_json

NOWHERE = ("", "", "")
"""The last fields of a line that is of no level."""

Told = TypeVar("Told", Entry, LevelChange)
Found = TypeVar("Found")

_LATEST = "SELECT position, {} FROM line WHERE kind = 'answer' AND key = ?{} ORDER BY number DESC LIMIT 1"
_ANSWER = "SELECT position, answer FROM line WHERE kind = 'answer' AND number = ? AND key = ?"
_WITHIN = " AND (level = ? OR substr(level, 1, ?) = ?)"
_POINTS = """
    SELECT position, answer FROM line WHERE kind = 'point' AND number > 0 AND number >= ? AND number < ? ORDER BY number
"""


class DatabaseLedger(Ledger):
    """A ledger that lasts."""

    _pending: Head
    """Where the chain ends, with what the transaction has appended."""

    def __init__(self) -> None:
        self._together = Together()

    @abstractmethod
    def _transaction(self, *, alone: bool) -> AbstractContextManager[Database]:
        """A transaction in which `_pending` is the head, with all that others wrote; alone, if something is written."""

    @abstractmethod
    def _database(self) -> Database:
        """The connection of the transaction that this thread is in."""

    @uninterrupted
    def reserve(self, charge: Charge) -> int:
        """Records `charge`, for good, and returns its number; or raises BudgetExceeded and records nothing."""
        return self._run(partial(self._append_new, charge), alone=True)

    def _append_new(self, charge: Charge) -> int:
        before = self._pending.balances
        after = self.admitted(charge, before)
        for source in before.sources.new(charge.declared):
            self.append_source(source)
        return self.append_charge(charge, after)

    @uninterrupted
    def opened(self, charge: Charge, answer: bytes, scope: str = "") -> bytes:
        """The answer that is stored under the key of `charge`, of those in a scope; where there is none, this one,
        recorded in one transaction with the charge.
        """

        def step() -> bytes:
            found = self._latest(charge.key, scope)
            if found is None:
                self._append_answer(self._append_new(charge), answer)
            return answer if found is None else found.answer

        return self._run(step, alone=True)

    @uninterrupted
    def published(self, key: str, place: int, answer: bytes, scope: str = "") -> bytes:
        """The point at a place behind the answer under `key`: the one that is there, or this one, where it is next."""

        def step() -> bytes:
            line = self._latest_line(key, scope)
            if line is None:
                raise no_place(place)
            number = point_number(line.number, place)
            found = self._between(line.number, number, number + 1)
            if not found:
                if place > 1 and not self._between(line.number, number - 1, number):
                    raise no_place(place)
                self._append_paid("point", number, line.key, line.level, answer)
            return found[0] if found else answer

        return self._run(step, alone=True)

    @uninterrupted
    def points(self, key: str, scope: str = "") -> tuple[bytes, ...]:
        """All points behind the answer under `key`, in their order."""

        def step() -> tuple[bytes, ...]:
            line = self._latest_line(key, scope)
            first = POINTS * line.number if line else 0
            return self._between(line.number, first, first + POINTS) if line else ()

        return self._run(step, alone=False)

    @uninterrupted
    def change(self, change: LevelChange) -> None:
        """Records a change of a level, for good; or raises LedgerError and records nothing."""

        def step() -> None:
            before = self._pending.balances
            after = self.changed(change, before)
            if after is not before:
                self._append_change(change, after)

        self._run(step, alone=True)

    @uninterrupted
    def commit(self, number: int, answer: bytes) -> None:
        """Stores the answer that charge `number` paid for, once."""
        self._run(partial(self._append_answer, number, answer), alone=True)

    def _run(self, step: Callable[[], Found], *, alone: bool) -> Found:
        return self._together.run(SharedTransaction(self._transaction, lambda: self._pending), step, alone=alone)

    @contextmanager
    def exclusive(self) -> Iterator[Balances]:
        """Keeps all other threads and processes out, and yields the balances.

        What is appended inside of it lasts once it is left normally; an exception leaves all of it or nothing.
        """
        with self._transaction(alone=True):
            yield self._pending.balances

    def append_charge(self, charge: Charge, after: Balances) -> int:
        """Writes a charge and the totals with it."""
        event = to_json(charge.event or event_of(charge.guarantee))
        texts, amounts = (charge.source, charge.what, charge.key, event), ratios(*charge.cost, *after.whole.spent)
        where = (charge.level, charge.asked_by, totals_text(after, charge.level))
        self._append(LedgerLine._make((self._next, "charge", now(), after.number, *texts, *amounts, "", *where)), after)
        return self._pending.number

    def append_source(self, source: DeclaredSource) -> None:
        """Writes a source that is new, with an entry of its own."""
        balances, texts = self._pending.balances, (source.name, source.version, "", source.to_json())
        amounts = ratios(*NOTHING, *balances.whole.spent)
        number, after = len(balances.sources) + 1, balances._replace(sources=balances.sources.with_(source))
        self._append(LedgerLine._make((self._next, "source", now(), number, *texts, *amounts, "", *NOWHERE)), after)

    def _append_change(self, change: LevelChange, after: Balances) -> None:
        allowed = ratios(*NOTHING) if change.allowance is None else stated(change.allowance)
        texts, amounts = ("", change.kind, "", change.why), (*allowed, *ratios(*after.whole.spent))
        where = (change.level, change.by, "")
        self._append(LedgerLine._make((self._next, "level", now(), after.changes, *texts, *amounts, "", *where)), after)

    def _append_answer(self, number: int, answer: bytes) -> None:
        query = "SELECT kind, key, level FROM line WHERE number = ? AND number > 0 AND kind IN ('charge', 'answer')"
        found = {kind: told for kind, *told in self._database().execute(query, (number,))}
        if "charge" not in found:
            raise no_charge(number)
        if "answer" in found:
            raise already_answered(number)
        key, level = found["charge"]
        self._append_paid("answer", number, key, level, answer)

    def _append_paid(self, kind: str, number: int, key: str, level: str, answer: bytes) -> None:
        amounts, digest = ratios(*NOTHING, *self._pending.spent), sha256(answer).hexdigest()
        texts, where = ("", "", key, ""), (level, "", "")
        line = LedgerLine._make((self._next, kind, now(), number, *texts, *amounts, digest, *where))
        self._append(line, self._pending.balances, answer)

    @uninterrupted
    def balances(self) -> Balances:
        """How all levels stand, and what was declared of all tables that charges are about, by other processes too."""
        return self._run(lambda: self._pending.balances, alone=False)

    @uninterrupted
    def latest(self, key: str, level: str = "") -> PaidAnswer | None:
        """The answer under `key` of the charge with the highest number, of those charged to a level or below it, if it
        is the one that the chain has there.
        """
        return self._run(partial(self._latest, key, level), alone=False)

    @uninterrupted
    def answer_to(self, number: int, key: str) -> bytes | None:
        """What charge `number` paid for, if that is under `key`."""

        def step() -> bytes | None:
            found = self._database().execute(_ANSWER, (number, key)).fetchone()
            return None if found is None else self._checked(key, "", *found)[1].answer

        return self._run(step, alone=False)

    @uninterrupted
    def paid_by(self, key: str, level: str = "", without: Collection[int] = ()) -> int | None:
        """The number of the charge whose answer `latest` finds, or would find without some charges; how long this takes
        does not depend on the answers.
        """

        def step() -> int | None:
            line = self._latest_line(key, level, without)
            return None if line is None else line.number

        return self._run(step, alone=False)

    def _latest(self, key: str, level: str) -> PaidAnswer | None:
        found = self._newest(key, level, "answer")
        return None if found is None else self._checked(key, level, *found)[1]

    def _latest_line(self, key: str, level: str, without: Collection[int] = ()) -> LedgerLine | None:
        found = self._newest(key, level, "NULL", without)
        return None if found is None else self._answer_line(key, level, found[0])

    def _newest(self, key: str, level: str, column: str, without: Collection[int] = ()) -> tuple[int, bytes] | None:
        scope = (level, len(level) + 1, f"{level}/") if level else ()
        rest = _WITHIN if level else ""
        if without:
            rest += f" AND number NOT IN ({', '.join('?' * len(without))})"
        sql = _LATEST.format(column, rest)
        return self._database().execute(sql, (key, *scope, *without)).fetchone()  # type: ignore[no-any-return]  # of any database

    def _checked(self, key: str, level: str, position: int, answer: bytes) -> tuple[LedgerLine, PaidAnswer]:
        line = self._answer_line(key, level, position)
        return line, PaidAnswer(line.number, check_answer(line.number, line.answer_sha256, answer))

    def _answer_line(self, key: str, level: str, position: int) -> LedgerLine:
        line, _ = line_at(self._database(), position)
        if (line.kind, line.key) != ("answer", key) or (level and not is_below(line.level, level)):
            raise LedgerError(expected("the answer to this question", "line", position, DAMAGED))
        return line

    def _between(self, charge: int, first: int, end: int) -> tuple[bytes, ...]:
        """The points of a charge whose numbers are from `first` to below `end`."""
        database, found = self._database(), []
        for position, answer in database.execute(_POINTS, (first, end)).fetchall():
            line, _ = line_at(database, position)
            if line.kind != "point" or line.number // POINTS != charge:
                raise LedgerError(expected("a point of this charge", "line", position, DAMAGED))
            found.append(check_answer(charge, line.answer_sha256, answer))
        return tuple(found)

    @uninterrupted
    def head(self) -> PublishedHead:
        """Where the chain ends, to be published."""
        return self._run(lambda: published(self._database(), self._pending), alone=False)

    @uninterrupted
    def entries(self, after: int = 0, most: int | None = None) -> tuple[Entry, ...]:
        """Charges, oldest first: those behind number `after`, and so many at most."""
        return self._pages(page, after, most)

    @uninterrupted
    def changes(self, after: int = 0, most: int | None = None) -> tuple[LevelChange, ...]:
        """Changes of levels, oldest first: those behind number `after`, and so many at most."""
        return self._pages(change_page, after, most)

    def _pages(
        self, read: Callable[[Database, int, int | None], list[Told]], after: int, most: int | None
    ) -> tuple[Told, ...]:
        """So many of one kind, page by page, with others let in between two of them."""
        found: list[Told] = []
        while most is None or len(found) < most:
            with self._transaction(alone=False) as database:
                some = read(database, found[-1].number if found else after, most and most - len(found))
            if not some:
                break
            found += some
        return tuple(found)

    @property
    def _next(self) -> int:
        """The position of the next line."""
        return self._pending.position + 1

    def _append(self, line: LedgerLine, after: Balances, answer: bytes | None = None) -> None:
        """Writes a line, with which the levels stand as `after` says: what `follow` finds for whoever reads it."""
        before = self._pending.balances
        charges = after.number - before.number
        if charges != (line.kind == "charge") or (charges and after.whole.spent.epsilon <= before.whole.spent.epsilon):
            raise LedgerError(broken(line.position))
        chain = chain_hash(self._pending.chain, line)
        insert(self._database(), line, chain, answer)
        self._pending = Head(position=line.position, chain=chain, balances=after)


def other_allowance(given: Allowance, found: Allowance) -> LedgerError:
    """The refusal of another allowance than that of the ledger."""
    cure = "give the allowance that it was made with, or raised to; it says what may ever be spent on its data."
    return LedgerError(expected("the allowance of the ledger", "allowance", f"{given} for a ledger of {found}", cure))
