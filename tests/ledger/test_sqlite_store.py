"""The file is one file, and what SQLite or the disk raise is told with a cure."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import zipfile
from collections.abc import Callable
from contextlib import closing
from fractions import Fraction
from pathlib import Path

import pytest

from discreet.errors import LedgerError
from discreet.ledger import sqlite_store
from discreet.ledger.budget import Budget
from discreet.ledger.file_ledger import FileLedger, statement, verify
from discreet.ledger.ledger import Charge
from discreet.ledger.privacy_filter import Allowance
from discreet.ledger.sqlite_store import Store, translated

MakeCharge = Callable[..., Charge]
Start = Callable[..., subprocess.Popen[str]]

ONE = Allowance(epsilon=Fraction(1))


@pytest.fixture
def some(folder: Path) -> str:
    name = str(folder / "some.db")
    with closing(sqlite3.connect(name)) as database:
        database.execute("CREATE TABLE t (x)")
        database.commit()
    return name


def count(store: Store) -> int:
    with store.transaction("BEGIN") as database:
        [rows] = database.execute("SELECT count(*) FROM t").fetchone()
        return int(rows)


def test_a_transaction_is_whole_or_nothing(some: str) -> None:
    store = Store(some)

    def insert_and_fail(error: type[BaseException]) -> None:
        with store.transaction("BEGIN IMMEDIATE") as database:
            database.execute("INSERT INTO t VALUES (1)")
            raise error

    for error in (ValueError, KeyboardInterrupt, SystemExit):
        with pytest.raises(error):
            insert_and_fail(error)
    assert count(store) == 0
    with store.transaction("BEGIN IMMEDIATE") as database:
        database.execute("INSERT INTO t VALUES (1)")
    assert count(store) == 1


def test_a_closed_store_opens_again(some: str) -> None:
    store = Store(some)
    assert count(store) == 0
    store.close()
    store.close()
    assert count(store) == 0


def test_a_lost_connection_is_told(some: str) -> None:
    """As when a signal handler forks in the midst of a transaction."""
    store = Store(some)

    def fork_within() -> None:
        with store.transaction("BEGIN IMMEDIATE"):
            store.close()

    with pytest.raises(LedgerError):
        fork_within()
    assert count(store) == 0


def test_every_commit_is_synced_into_the_file(some: str) -> None:
    store = Store(some)
    with store.transaction("BEGIN") as database:
        names = ("synchronous", "fullfsync", "journal_mode")
        settings = {name: database.execute(f"PRAGMA {name}").fetchone()[0] for name in names}
    # 3 is EXTRA: with FULL, a power cut brings a journal back that was removed, and it undoes the charge.
    assert settings == {"synchronous": 3, "fullfsync": 1, "journal_mode": "delete"}


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (OSError(28, "No space left on device"), "No space left"),
        (sqlite3.OperationalError("odd"), "odd"),
        (OverflowError("BLOB longer than INT_MAX bytes"), "longer"),
        (UnicodeDecodeError("utf-8", b"\xff", 0, 1, "invalid start byte"), "invalid start byte"),
    ],
)
def test_what_the_disk_raises_is_told_with_a_cure(error: Exception, told: str) -> None:
    with pytest.raises(LedgerError, match=rf"spent\.db[\s\S]*{told}[\s\S]*Hint: "), translated("spent.db"):
        raise error


def test_other_errors_pass() -> None:
    with pytest.raises(ZeroDivisionError), translated("spent.db"):
        raise ZeroDivisionError


OLD = Path(__file__).parent / "old_ledger.zip"
"""Made by commit e42e057 in a process that was killed: five charges of 0.1, of which the last two are in the
write-ahead log alone; three have answers.
"""


def unpacked(folder: Path) -> Path:
    with zipfile.ZipFile(OLD) as file:
        file.extractall(folder)
    (folder / "spent.db").chmod(0o644)
    return folder / "spent.db"


def test_an_old_ledger_is_converted_and_loses_nothing(folder: Path, charge: MakeCharge) -> None:
    path = unpacked(folder)
    assert path.read_bytes()[18:20] == b"\2\2"
    ledger = FileLedger(path, ONE)
    assert [file.name for file in folder.iterdir()] == ["spent.db"]
    assert path.read_bytes()[18:20] == b"\1\1"
    assert path.stat().st_mode & 0o777 == 0o600
    assert [entry.answered for entry in ledger.entries()] == [True, True, True, False, False]
    assert [ledger.stored(f"{number:064x}") for number in (1, 2, 3, 4)] == [b"\1" * 100, b"\2" * 100, b"\3" * 100, None]
    ledger.commit(5, b"late")
    assert ledger.reserve(charge()) == 6
    assert (verify(path).number, ledger.spent().epsilon) == (6, Fraction(6, 10))


def test_an_old_ledger_takes_levels(folder: Path, charge: MakeCharge) -> None:
    """It is read as it is; whoever opens it to charge brings it to the present format; old lines keep their hash."""
    path = unpacked(folder)
    told = statement(path)
    assert (told.number, told.changes, told.entries[0].asked_by) == (5, (), "")
    with closing(sqlite3.connect(path)) as database:
        old = database.execute("SELECT position, chain FROM line ORDER BY position").fetchall()
        assert database.execute("SELECT value FROM meta WHERE name = 'format'").fetchone() == ("1",)
    with pytest.raises(LedgerError, match="allowance of the ledger"):
        FileLedger(path, Allowance(epsilon=Fraction(2)))
    assert statement(path) == told
    budget = Budget(epsilon=1, ledger=path)
    alice = Budget(parent=budget, epsilon=0.3, name="alice")
    alice.reserve(charge()).commit(b"answer")
    assert verify(path).entries == ()
    assert (budget.spent.epsilon, alice.spent.epsilon) == (Fraction(6, 10), Fraction(1, 10))
    assert [entry.level for entry in Budget(epsilon=1, ledger=path).entries()] == [*[""] * 5, "alice"]
    with closing(sqlite3.connect(path)) as database:
        assert database.execute("SELECT position, chain FROM line ORDER BY position LIMIT 9").fetchall() == old[:9]
        assert database.execute("SELECT value FROM meta WHERE name = 'format'").fetchone() == ("3",)
        with pytest.raises(sqlite3.IntegrityError, match="append-only"):
            database.execute("UPDATE meta SET value = '1' WHERE name = 'format'")


OLD_USER = """
import sqlite3
database = sqlite3.connect(sys.argv[1], isolation_level=None)
print(*database.execute("SELECT count(*) FROM line").fetchone(), flush=True)
sys.stdin.readline()
"""


def test_an_old_ledger_in_use_waits_for_its_users(folder: Path, start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    """An older version that has it open would go on with the log."""
    path = unpacked(folder)
    user = start(OLD_USER, path)
    assert user.stdout
    assert int(user.stdout.readline()) == 10
    monkeypatch.setattr(sqlite_store, "BUSY_SECONDS", 0.05)
    with pytest.raises(LedgerError, match="that is free"):
        FileLedger(path, ONE)
    user.communicate("\n")
    assert FileLedger(path, ONE).spent().epsilon == Fraction(1, 2)


KILLED = """
import random, time
from discreet.ledger.file_ledger import statement
begun = time.monotonic()
statement(sys.argv[1])
chance, usual = random.Random(1), time.monotonic() - begun
for path in sys.stdin:
    child = os.fork()
    if not child:
        statement(path.strip())
        os._exit(0)
    time.sleep(chance.random() * 2 * usual)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    print("over", flush=True)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="Windows has no fork")
def test_a_conversion_killed_anywhere_loses_nothing(folder: Path, start: Start, used: Path) -> None:
    process = start(KILLED, used)
    for number in range(25):
        (folder / str(number)).mkdir()
        path = unpacked(folder / str(number))
        print(path, file=process.stdin, flush=True)
        assert process.stdout
        assert process.stdout.readline() == "over\n"
        assert verify(path).spent.epsilon == Fraction(1, 2)


def test_a_foreign_log_is_left_alone(folder: Path) -> None:
    path = folder / "foreign.db"
    with closing(sqlite3.connect(path)) as foreign:
        foreign.execute("PRAGMA journal_mode = WAL")
        foreign.execute("CREATE TABLE t (x)")
        foreign.commit()
    before = path.read_bytes()
    with pytest.raises(LedgerError, match="made by discreet"):
        FileLedger(path, ONE)
    assert path.read_bytes() == before


def test_a_file_that_is_no_ledger_keeps_its_permissions(tmp_path: Path) -> None:
    """Whoever runs this may own files that others need, and name one of them by mistake."""
    other = tmp_path / "passwd"
    other.write_text("root:x:0:0\n" * 100)
    other.chmod(0o644)
    with pytest.raises(LedgerError, match="a ledger made by discreet"):
        Budget(epsilon=1, ledger=other)
    assert other.stat().st_mode & 0o777 == 0o644
    assert other.read_text().startswith("root:x:0:0")
