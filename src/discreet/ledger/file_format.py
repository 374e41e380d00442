"""What a ledger file looks like inside: its marks, its tables, and the checks that a file passes before it is trusted.

The format is a promise: a later version reads every earlier one. What identifies a file (`APPLICATION`, and the row
``format`` of the table ``meta``) stays as it is for ever, so that an old version can say that a file is too new for
it.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime
from functools import cache
from hashlib import sha256

from discreet.errors import LedgerError, expected
from discreet.ledger.allowance import Allowance
from discreet.ledger.hash_chain import DAMAGED, Head, LedgerLine, broken, chain_hash, follow, stated

FORMAT = 1
APPLICATION = int.from_bytes(b"dscr", "big")
"""SQLite's application id: what tells a ledger from any other database."""

AMOUNTS = ("epsilon", "delta", "rho", "slack")

_TABLES = """
CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE line (
    position INTEGER PRIMARY KEY,
    kind TEXT NOT NULL,
    time TEXT NOT NULL,
    number INTEGER NOT NULL,
    source TEXT NOT NULL,
    what TEXT NOT NULL,
    key TEXT NOT NULL,
    event TEXT NOT NULL,
    epsilon TEXT NOT NULL,
    delta TEXT NOT NULL,
    rho TEXT NOT NULL,
    slack TEXT NOT NULL,
    spent_epsilon TEXT NOT NULL,
    spent_delta TEXT NOT NULL,
    spent_rho TEXT NOT NULL,
    spent_slack TEXT NOT NULL,
    answer_sha256 TEXT NOT NULL,
    chain TEXT NOT NULL,
    answer BLOB
);
CREATE UNIQUE INDEX one_charge_one_answer ON line (number, kind);
CREATE INDEX answer_by_key ON line (key, position) WHERE kind = 'answer';
"""

# The triggers on INSERT stop INSERT OR REPLACE, which deletes rows without asking the triggers on DELETE.
_APPEND_ONLY = """
CREATE TRIGGER meta_update BEFORE UPDATE ON meta BEGIN SELECT RAISE(ABORT, 'a ledger is append-only'); END;
CREATE TRIGGER meta_delete BEFORE DELETE ON meta BEGIN SELECT RAISE(ABORT, 'a ledger is append-only'); END;
CREATE TRIGGER meta_insert BEFORE INSERT ON meta WHEN EXISTS (SELECT 1 FROM line)
    BEGIN SELECT RAISE(ABORT, 'a ledger is append-only'); END;
CREATE TRIGGER line_update BEFORE UPDATE ON line BEGIN SELECT RAISE(ABORT, 'a ledger is append-only'); END;
CREATE TRIGGER line_delete BEFORE DELETE ON line BEGIN SELECT RAISE(ABORT, 'a ledger is append-only'); END;
CREATE TRIGGER line_insert BEFORE INSERT ON line
    WHEN NEW.position IS NOT (SELECT coalesce(max(position), -1) + 1 FROM line)
    OR EXISTS (SELECT 1 FROM line WHERE number = NEW.number AND kind = NEW.kind)
    BEGIN SELECT RAISE(ABORT, 'a ledger is append-only'); END;
"""

SCHEMA = _TABLES + _APPEND_ONLY

_INSERT = f"INSERT INTO line VALUES ({', '.join('?' * (len(LedgerLine._fields) + 2))})"  # noqa: S608 - question marks

_LINES = f"""
    SELECT {", ".join(LedgerLine._fields)}, chain FROM line WHERE position >= ? ORDER BY position LIMIT ?
"""  # noqa: S608 - names

_ANSWERS = "SELECT number, answer_sha256, answer FROM line WHERE kind = 'answer'"


def now() -> str:
    """The time as it is written: UTC, ISO 8601, to the millisecond."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def write_new(database: sqlite3.Connection, allowance: Allowance) -> None:
    """Fills an empty database with a ledger whose first line is its allowance."""
    database.executescript(f"BEGIN; PRAGMA application_id = {APPLICATION}; {SCHEMA}")
    amounts, time = stated(allowance), now()
    meta = {"format": str(FORMAT), "created": time, **dict(zip(AMOUNTS, amounts, strict=True))}
    database.executemany("INSERT INTO meta VALUES (?, ?)", meta.items())
    line = LedgerLine._make((0, "created", time, 0, "", f"format {FORMAT}", "", "", *amounts, *["0/1"] * 4, ""))
    insert(database, line, chain_hash("", line), None)
    database.execute("COMMIT")


def insert(database: sqlite3.Connection, line: LedgerLine, chain: str, answer: bytes | None) -> None:
    """Appends one row."""
    database.execute(_INSERT, (*line, chain, answer))


def follow_from(database: sqlite3.Connection, head: Head | None, most: int = -1) -> Head:
    """The head of the file, after verifying all lines since `head`, or so many at most, and that `head` itself is still
    there.
    """
    rows = _rows(database, head.position if head else 0, most + 1 if head and most >= 0 else most)
    if head and next(rows, (None, None))[1] != head.chain:
        raise LedgerError(expected("a ledger that only grows", "ledger", "an older copy of it", DAMAGED))
    for line, chain in rows:
        head = follow(head, line, chain)
    if head is None:
        raise LedgerError(expected("a ledger with its first line", "lines", 0, DAMAGED))
    return head


def check_format(database: sqlite3.Connection, path: str) -> None:
    """Refuses a file that is not a ledger, or is too new to be understood."""
    if database.execute("PRAGMA application_id").fetchone() != (APPLICATION,):
        cure = f"give the path of a ledger. If it was one, {DAMAGED}"
        raise LedgerError(expected("a ledger made by discreet", "ledger", path, cure))
    [version] = database.execute("SELECT value FROM meta WHERE name = 'format'").fetchone() or [None]
    if version != str(FORMAT):
        # 1 is the first format, so any other number is a newer one.
        is_newer = isinstance(version, str) and version.isdecimal()
        cure = "upgrade discreet: a newer version wrote this ledger." if is_newer else DAMAGED
        raise LedgerError(expected(f"a ledger of format {FORMAT}", "format", version, cure))


def check_whole(database: sqlite3.Connection) -> Head:
    """Reads the whole file and returns its verified head; refuses the least damage."""
    check_tables(database)
    [found] = database.execute("PRAGMA integrity_check(1)").fetchone()
    if found != "ok":
        raise LedgerError(expected("a ledger without damage", "integrity", found, DAMAGED))
    head = follow_from(database, None)
    check_allowance(database, head)
    for number, digest, answer in database.execute(_ANSWERS):
        check_answer(number, digest, answer)
    return head


def check_tables(database: sqlite3.Connection) -> None:
    """Refuses other tables, indexes and triggers than those of a ledger."""
    if _schema(database) != _own_schema():
        raise LedgerError(expected("a ledger without damage", "integrity", "changed tables or triggers", DAMAGED))


def check_allowance(database: sqlite3.Connection, head: Head) -> None:
    """Refuses other amounts beside the lines than those of the first line."""
    meta = dict(database.execute("SELECT name, value FROM meta"))
    found_amounts = tuple(map(meta.get, AMOUNTS))
    if found_amounts != stated(head.allowance):
        raise LedgerError(expected("the allowance of the first line", "allowance", found_amounts, DAMAGED))


def check_answer(number: int, digest: str, answer: object) -> bytes:
    """The stored bytes, if they are those that were committed."""
    if not isinstance(answer, bytes) or sha256(answer).hexdigest() != digest:
        raise LedgerError(
            expected("the answer that was committed", "answer", f"damaged bytes for charge {number}", DAMAGED)
        )
    return answer


def line_at(database: sqlite3.Connection, position: int) -> tuple[LedgerLine, str]:
    """A line and its hash, which is that of what it says and of the hash before it."""
    previous = ""
    if position:
        [previous] = database.execute("SELECT chain FROM line WHERE position = ?", (position - 1,)).fetchone() or [""]
    for line, chain in _rows(database, position, 1):
        if line.position == position and chain == chain_hash(previous, line):
            return line, chain
    raise LedgerError(broken(position))


def _rows(database: sqlite3.Connection, start: int, most: int = -1) -> Iterator[tuple[LedgerLine, str]]:
    for *columns, chain in database.execute(_LINES, (start, most)):
        yield LedgerLine(*columns), chain


def _schema(database: sqlite3.Connection) -> list[tuple[str, str]]:
    return database.execute(
        "SELECT name, sql FROM sqlite_schema WHERE name NOT LIKE 'sqlite_%' ORDER BY name"
    ).fetchall()


@cache
def _own_schema() -> list[tuple[str, str]]:
    with closing(sqlite3.connect(":memory:")) as fresh:
        fresh.executescript(SCHEMA)
        return _schema(fresh)
