"""What a ledger file looks like inside: its marks, its tables, and the checks that a file passes before it is trusted.

The format is a promise: a later version reads every earlier one. What identifies a file (`APPLICATION`, and the row
``format`` of the table ``meta``) stays as it is for ever, so that an old version can say that a file is too new for
it.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from functools import cache
from pathlib import Path

from discreet.errors import LedgerError, expected
from discreet.ledger.hash_chain import DAMAGED, Head, LedgerLine, chain_hash, follow, stated
from discreet.ledger.privacy_filter import Allowance
from discreet.ledger.stored_lines import Database, check_answer, follow_from, insert, is_of_first_format, line_at, now

FIRST, SECOND, FORMAT = "1", "2", "3"
"""The formats there were; a ledger of an older one is read as it is, and brought to the last where it is charged. The
second has levels, the third points.
"""
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

_META_TRIGGER = """
CREATE TRIGGER meta_update BEFORE UPDATE ON meta BEGIN SELECT RAISE(ABORT, 'a ledger is append-only'); END;
"""

# The triggers on INSERT stop INSERT OR REPLACE, which deletes rows without asking the triggers on DELETE.
_APPEND_ONLY = f"""{_META_TRIGGER}
CREATE TRIGGER meta_delete BEFORE DELETE ON meta BEGIN SELECT RAISE(ABORT, 'a ledger is append-only'); END;
CREATE TRIGGER meta_insert BEFORE INSERT ON meta WHEN EXISTS (SELECT 1 FROM line)
    BEGIN SELECT RAISE(ABORT, 'a ledger is append-only'); END;
CREATE TRIGGER line_update BEFORE UPDATE ON line BEGIN SELECT RAISE(ABORT, 'a ledger is append-only'); END;
CREATE TRIGGER line_delete BEFORE DELETE ON line BEGIN SELECT RAISE(ABORT, 'a ledger is append-only'); END;
CREATE TRIGGER line_insert BEFORE INSERT ON line
    WHEN NEW.position IS NOT (SELECT coalesce(max(position), -1) + 1 FROM line)
    OR EXISTS (SELECT 1 FROM line WHERE number = NEW.number AND kind = NEW.kind)
    BEGIN SELECT RAISE(ABORT, 'a ledger is append-only'); END;
"""  # noqa: S608 - our own statements

_LEVELS = """
ALTER TABLE line ADD COLUMN level TEXT NOT NULL DEFAULT '';
ALTER TABLE line ADD COLUMN asked_by TEXT NOT NULL DEFAULT '';
ALTER TABLE line ADD COLUMN totals TEXT NOT NULL DEFAULT '';
CREATE INDEX charge_by_level ON line (level, position) WHERE kind = 'charge' AND level <> '';
"""

SCHEMAS = {FIRST: _TABLES + _APPEND_ONLY, **dict.fromkeys((SECOND, FORMAT), _TABLES + _APPEND_ONLY + _LEVELS)}

_ANSWERS = "SELECT number, answer_sha256, answer FROM line WHERE kind IN ('answer', 'point')"


def write_new(database: sqlite3.Connection, allowance: Allowance) -> None:
    """Fills an empty database with a ledger whose first line is its allowance."""
    write_tables(database)
    amounts, time = stated(allowance), now()
    meta = {"format": FORMAT, "created": time, **dict(zip(AMOUNTS, amounts, strict=True))}
    database.executemany("INSERT INTO meta VALUES (?, ?)", meta.items())
    line = LedgerLine._make((0, "created", time, 0, "", f"format {FORMAT}", "", "", *amounts, *["0/1"] * 4, *[""] * 4))
    insert(database, line, chain_hash("", line), None)
    database.execute("COMMIT")


def write_tables(database: sqlite3.Connection) -> None:
    """Begins a transaction in which an empty database gets the tables of a ledger."""
    database.executescript(f"BEGIN; PRAGMA application_id = {APPLICATION}; {SCHEMAS[FORMAT]}")


NO_LEDGER = "give the path of a ledger, or for a new one a path without a file, ledger='spent.db'. If it was one,"


def upgrade(database: sqlite3.Connection) -> None:
    """Brings a ledger of an older format to the present one, within the transaction of the caller."""
    if database.execute("SELECT value FROM meta WHERE name = 'format'").fetchone() == (FORMAT,):
        return
    for statement in _LEVELS.split(";")[:-1] if is_of_first_format(database) else ():
        database.execute(statement)
    database.execute("DROP TRIGGER meta_update")
    database.execute("UPDATE meta SET value = ? WHERE name = 'format'", (FORMAT,))
    database.execute(_META_TRIGGER.strip())


def check_format(database: sqlite3.Connection, path: str) -> None:
    """Refuses a file that is not a ledger, or is too new to be understood."""
    if database.execute("PRAGMA application_id").fetchone() != (APPLICATION,):
        cure = f"{NO_LEDGER} {DAMAGED}"
        raise LedgerError(expected("a ledger made by discreet", "ledger", path, cure))
    [version] = database.execute("SELECT value FROM meta WHERE name = 'format'").fetchone() or [None]
    check_version(version)


def check_version(version: object) -> None:
    """Refuses a format that this version does not know."""
    if version not in SCHEMAS:
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
    check_allowance(database, follow(None, *line_at(database, 0)))
    for number, digest, answer in database.execute(_ANSWERS):
        check_answer(number, digest, answer)
    return head


def check_tables(database: sqlite3.Connection) -> None:
    """Refuses other tables, indexes and triggers than those of a ledger, and a file that ends within a page."""
    if _schema(database) != _own_schema(FIRST if is_of_first_format(database) else FORMAT):
        raise LedgerError(expected("a ledger without damage", "integrity", "changed tables or triggers", DAMAGED))
    [pages], [size] = (database.execute(f"PRAGMA {name}").fetchone() for name in ("page_count", "page_size"))
    [*_, path] = database.execute("PRAGMA database_list").fetchone()
    if path and Path(path).stat().st_size != pages * size:
        raise LedgerError(expected("a ledger without damage", "integrity", "a page that was cut", DAMAGED))


def check_allowance(database: Database, head: Head) -> None:
    """Refuses other amounts beside the lines than those of the first line."""
    meta = dict(database.execute("SELECT name, value FROM meta").fetchall())
    found_amounts = tuple(map(meta.get, AMOUNTS))
    if found_amounts != stated(head.allowance):
        raise LedgerError(expected("the allowance of the first line", "allowance", found_amounts, DAMAGED))


def _schema(database: sqlite3.Connection) -> list[tuple[str, str]]:
    return database.execute(
        "SELECT name, sql FROM sqlite_schema WHERE name NOT LIKE 'sqlite_%' ORDER BY name"
    ).fetchall()


@cache
def _own_schema(version: str) -> list[tuple[str, str]]:
    with closing(sqlite3.connect(":memory:")) as fresh:
        fresh.executescript(SCHEMAS[version])
        return _schema(fresh)
