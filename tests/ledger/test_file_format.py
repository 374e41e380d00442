"""What a ledger file looks like inside, and that one which looks otherwise is refused."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from fractions import Fraction
from hashlib import sha256
from pathlib import Path

import pytest

from discreet.errors import LedgerError
from discreet.ledger.file_format import check_format, check_whole, write_new
from discreet.ledger.file_ledger import FileLedger, statement
from discreet.ledger.ledger import Charge
from discreet.ledger.ledger_statement import LedgerStatement
from discreet.ledger.privacy_filter import NOTHING, Allowance
from discreet.ledger.stored_lines import check_answer, follow_from, now

MakeCharge = Callable[..., Charge]
Rewrite = Callable[..., None]

ONE = Allowance(epsilon=Fraction(1))
ALLOWANCE = Allowance.union(Fraction(1, 3), Fraction(1, 10**9))


@pytest.fixture
def database() -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as fresh:
        write_new(fresh, ALLOWANCE)
        yield fresh


def test_a_new_ledger_passes_its_own_checks(database: sqlite3.Connection) -> None:
    check_format(database, "spent.db")
    head = check_whole(database)
    assert (head.allowance, head.spent, head.number) == (ALLOWANCE, NOTHING, 0)
    assert follow_from(database, head) == head


def test_an_empty_database_is_no_ledger() -> None:
    with closing(sqlite3.connect(":memory:")) as empty, pytest.raises(LedgerError, match=r"spent\.db"):
        check_format(empty, "spent.db")


def test_an_answer_is_known_by_its_hash() -> None:
    assert check_answer(1, sha256(b"answer").hexdigest(), b"answer") == b"answer"
    for damaged in (b"Answer", "answer", None):
        with pytest.raises(LedgerError, match="charge 1"):
            check_answer(1, sha256(b"answer").hexdigest(), damaged)


def test_times_are_utc_and_sort_as_text() -> None:
    first, second = now(), now()
    assert first <= second
    assert first.endswith("+00:00")
    assert len(first) == len("2030-01-01T00:00:00.000+00:00")


def content(path: Path) -> tuple[LedgerStatement, dict[str, bytes | None]]:
    """All that a ledger says."""
    told, ledger = statement(path), FileLedger(path, ONE)
    return told, {entry.key: ledger.stored(entry.key) for entry in told.entries}


@pytest.mark.parametrize(
    "damaged",
    [
        lambda _: b"",
        lambda whole: whole[:100],
        lambda whole: whole[:4096],
        lambda whole: whole[: len(whole) // 2],
        lambda whole: whole[:-4096],
        lambda whole: whole[:-1],
        lambda _: b"spent: 0\n" * 1000,
        lambda whole: bytes(len(whole)),
        lambda whole: whole[:4096] + bytes(4096) + whole[8192:],
        lambda whole: whole.replace(b"count by plan", b"count by PLAN", 1),
        lambda whole: whole.replace(b"\2" * 100, b"\3" * 100, 1),
        lambda whole: whole.replace(b"only", b"oily", 1),
    ],
    ids=[
        "empty",
        "header",
        "page",
        "half",
        "last-page",
        "last-byte",
        "text",
        "zeros",
        "hole",
        "word",
        "answer",
        "trigger",
    ],
)
def test_damage_is_refused(used: Path, damaged: Callable[[bytes], bytes]) -> None:
    whole = used.read_bytes()
    used.write_bytes(damaged(whole))
    assert used.read_bytes() != whole
    before = used.read_bytes()
    for look in (lambda: FileLedger(used, ONE), lambda: statement(used)):
        with pytest.raises(LedgerError, match="Hint: "):
            look()
    assert used.read_bytes() == before


@pytest.mark.long
def test_a_flipped_byte_is_refused_or_means_nothing(used: Path) -> None:
    """Every 127th byte of the file in turn: the ledger is refused, or (in unused space) says what it said before."""
    whole, sound = used.read_bytes(), content(used)
    refused = 0
    for place in range(0, len(whole), 127):
        used.write_bytes(whole[:place] + bytes([whole[place] ^ 0xFF]) + whole[place + 1 :])
        try:
            assert content(used) == sound
        except LedgerError:
            refused += 1
    assert refused > 15


def test_a_foreign_database_is_refused_and_left_alone(path: Path) -> None:
    with closing(sqlite3.connect(path)) as foreign:
        foreign.execute("CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL)")
        foreign.execute("INSERT INTO meta VALUES ('format', '1')")
        foreign.commit()
    before = path.read_bytes()
    with pytest.raises(LedgerError, match="made by discreet"):
        FileLedger(path, ONE)
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ("UPDATE meta SET value = '4' WHERE name = 'format'", "upgrade discreet"),
        ("UPDATE meta SET value = 'x' WHERE name = 'format'", "stays spent"),
        ("DELETE FROM meta WHERE name = 'format'", "stays spent"),
        ("UPDATE meta SET value = '100/1' WHERE name = 'epsilon'", "allowance of the first line"),
        ("UPDATE line SET epsilon = '100/1' WHERE position = 0", "unbroken chain"),
        ("UPDATE line SET epsilon = '1/100' WHERE position = 1", "unbroken chain"),
        ("UPDATE line SET spent_epsilon = '0/1' WHERE number = 4", "unbroken chain"),
        ("UPDATE line SET spent_delta = '1/0' WHERE number = 4", "unbroken chain"),
        ("UPDATE line SET chain = 'x' WHERE number = 4", "unbroken chain"),
        ("UPDATE line SET time = '2000-01-01T00:00:00.000+00:00' WHERE number = 2", "unbroken chain"),
        ("UPDATE line SET what = X'00FF' WHERE number = 4", "unbroken chain"),
        ("UPDATE line SET answer = X'00' WHERE kind = 'answer' AND number = 1", "answer that was committed"),
        ("UPDATE line SET answer = NULL WHERE kind = 'answer' AND number = 1", "answer that was committed"),
        ("DELETE FROM line WHERE position = 3", "unbroken chain"),
        ("DELETE FROM line WHERE position = 0", "unbroken chain"),
        ("DELETE FROM line", "first line"),
        ("DROP INDEX one_charge_one_answer", "changed tables"),
        ("CREATE TABLE more (x)", "changed tables"),
        ("PRAGMA application_id = 0", "made by discreet"),
    ],
)
def test_changed_records_are_refused(used: Path, rewritten: Rewrite, change: str, why: str) -> None:
    rewritten(used, change)
    for look in (lambda: FileLedger(used, ONE), lambda: statement(used)):
        with pytest.raises(LedgerError, match=why):
            look()


def test_rewriting_nothing_is_no_damage(used: Path, rewritten: Rewrite) -> None:
    """So that the test above cannot pass for a fault of its own tool."""
    rewritten(used)
    assert content(used)[0].spent.epsilon == Fraction(4, 10)


SAME_NUMBER = """
INSERT OR REPLACE INTO line
SELECT (SELECT max(position) + 1 FROM line), kind, time, number, source, what, key, event, epsilon, delta, rho, slack,
'0/1', '0/1', '0/1', '0/1', '', chain, NULL, level, asked_by, totals FROM line WHERE position = 1
"""


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE line SET epsilon = '0/1'",
        "DELETE FROM line",
        "INSERT OR REPLACE INTO line SELECT * FROM line WHERE position = 1",
        SAME_NUMBER,
        "UPDATE meta SET value = '100/1' WHERE name = 'epsilon'",
        "DELETE FROM meta",
        "INSERT OR REPLACE INTO meta VALUES ('epsilon', '100/1')",
    ],
)
def test_tables_only_grow(used: Path, change: str) -> None:
    with closing(sqlite3.connect(used)) as database, pytest.raises(sqlite3.IntegrityError, match="append-only"):
        database.execute(change)


def test_damage_is_seen_while_the_ledger_is_open(used: Path, charge: MakeCharge, rewritten: Rewrite) -> None:
    ledger = FileLedger(used, ONE)
    FileLedger(used, ONE).reserve(charge())
    rewritten(used, "UPDATE line SET epsilon = '1/1000' WHERE number = 5")
    with pytest.raises(LedgerError, match="unbroken chain"):
        ledger.reserve(charge())


def test_the_format_is_kept(used: Path) -> None:
    """What a later version has to read: change this test only together with a new format number."""
    with closing(sqlite3.connect(used)) as database:
        assert database.execute("PRAGMA application_id").fetchone() == (int.from_bytes(b"dscr", "big"),)
        assert database.execute("PRAGMA journal_mode").fetchone() == ("delete",)
        meta = dict(database.execute("SELECT name, value FROM meta"))
        lines = database.execute("SELECT * FROM line ORDER BY position").fetchall()
    assert (meta["format"], meta["epsilon"], meta["delta"]) == ("3", "1/1", "0/1")
    nothing = ("0/1",) * 4
    assert lines[0][:17] == (
        0,
        "created",
        meta["created"],
        0,
        "",
        "format 3",
        "",
        "",
        "1/1",
        *nothing[1:],
        *nothing,
        "",
    )
    amounts = ("1/10", "0/1", "1/200", "0/1")
    event = '{"epsilon":"1/10","event":"pure","version":1}'
    texts = ("people, version 1", "count by plan", f"{1:064x}", event)
    assert lines[1][:17] == (1, "charge", lines[1][2], 1, *texts, *amounts, *amounts, "")
    assert (lines[2][1], lines[2][3], lines[2][6:16]) == ("answer", 1, (f"{1:064x}", "", *nothing, *amounts))
