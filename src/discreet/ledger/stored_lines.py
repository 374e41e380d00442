"""The lines of a ledger in a database, read and appended by statements that every database of a ledger understands."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any, Protocol

from discreet.errors import LedgerError, expected
from discreet.ledger.hash_chain import DAMAGED, MORE, Head, LedgerLine, broken, chain_hash, follow

EVERY = 1 << 62
"""More lines than there are."""


class Database(Protocol):
    """A connection within a transaction: SQLite's, or one that takes the same statements."""

    def execute(self, statement: str, parameters: Sequence[Any] = ..., /) -> Any:
        """Runs a statement, with ``?`` for each parameter, and returns its rows."""


_FIELDS = LedgerLine._fields
_LINES = "SELECT {}, chain FROM line WHERE position >= ? ORDER BY position LIMIT ?"
_APPENDED = (*_FIELDS[:-MORE], "chain", "answer", *_FIELDS[-MORE:])
_INSERT = f"INSERT INTO line ({', '.join(_APPENDED)}) VALUES ({', '.join('?' * len(_APPENDED))})"  # noqa: S608 - names


def now() -> str:
    """The time as it is written: UTC, ISO 8601, to the millisecond."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def is_of_first_format(database: Database) -> bool:
    """Whether the last columns of lines are missing: a ledger of the first format, which nobody charged since."""
    row = database.execute("SELECT value FROM meta WHERE name = 'format'").fetchone()
    return row is not None and row[0] == "1"


def insert(database: Database, line: LedgerLine, chain: str, answer: bytes | None) -> None:
    """Appends one row."""
    database.execute(_INSERT, (*line[:-MORE], chain, answer, *line[-MORE:]))


def follow_from(database: Database, head: Head | None, most: int = EVERY) -> Head:
    """The head of the ledger, after verifying all lines since `head`, or so many at most, and that `head` itself is
    still there.
    """
    rows = _rows(database, head.position if head else 0, min(most + 1, EVERY) if head else most)
    if head and next(rows, (None, None))[1] != head.chain:
        raise LedgerError(expected("a ledger that only grows", "ledger", "an older copy of it", DAMAGED))
    for line, chain in rows:
        head = follow(head, line, chain)
    if head is None:
        raise LedgerError(expected("a ledger with its first line", "lines", 0, DAMAGED))
    return head


def check_answer(number: int, digest: str, answer: object) -> bytes:
    """The stored bytes, if they are those that were committed."""
    if not isinstance(answer, bytes) or sha256(answer).hexdigest() != digest:
        raise LedgerError(
            expected("the answer that was committed", "answer", f"damaged bytes for charge {number}", DAMAGED)
        )
    return answer


def line_at(database: Database, position: int) -> tuple[LedgerLine, str]:
    """A line and its hash, which is that of what it says and of the hash before it."""
    previous = ""
    if position:
        [previous] = database.execute("SELECT chain FROM line WHERE position = ?", (position - 1,)).fetchone() or [""]
    for line, chain in _rows(database, position, 1):
        if line.position == position and chain == chain_hash(previous, line):
            return line, chain
    raise LedgerError(broken(position))


def _rows(database: Database, start: int, most: int) -> Iterator[tuple[LedgerLine, str]]:
    names = _FIELDS[:-MORE] if is_of_first_format(database) else _FIELDS
    for *columns, chain in database.execute(_LINES.format(", ".join(names)), (start, most)):
        yield LedgerLine(*columns), chain
