"""The file is one file, and what SQLite or the disk raise is told with a cure."""

from __future__ import annotations

import sqlite3
import time
from contextlib import closing
from pathlib import Path

import pytest

from discreet.curator.ledger_store import Store, absolute, identity, translated
from discreet.errors import LedgerError


@pytest.fixture
def path(folder: Path) -> str:
    name = str(folder / "some.db")
    with closing(sqlite3.connect(name)) as database:
        database.execute("CREATE TABLE t (x)")
        database.commit()
    return name


def count(store: Store) -> int:
    with store.transaction("BEGIN") as database:
        [rows] = database.execute("SELECT count(*) FROM t").fetchone()
        return int(rows)


def test_a_transaction_is_whole_or_nothing(path: str) -> None:
    store = Store(path)

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


def test_a_closed_store_opens_again(path: str) -> None:
    store = Store(path)
    assert count(store) == 0
    store.close()
    store.close()
    assert count(store) == 0


def test_a_lost_connection_is_told(path: str) -> None:
    """As when a signal handler forks in the midst of a transaction."""
    store = Store(path)

    def fork_within() -> None:
        with store.transaction("BEGIN IMMEDIATE"):
            store.close()

    with pytest.raises(LedgerError):
        fork_within()
    assert count(store) == 0


def test_every_commit_is_synced(path: str) -> None:
    store = Store(path)
    with store.transaction("BEGIN") as database:
        settings = {name: database.execute(f"PRAGMA {name}").fetchone()[0] for name in ("synchronous", "fullfsync")}
        [pages] = database.execute("PRAGMA wal_autocheckpoint").fetchone()
    assert (settings, pages) == ({"synchronous": 2, "fullfsync": 1}, 1)


def test_a_file_with_two_names_gets_a_moment(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The maker of a ledger removes the first name right after linking the second."""
    second = Path(path + ".second")
    second.hardlink_to(path)
    monkeypatch.setattr(time, "sleep", lambda _: second.unlink(missing_ok=True))
    assert identity(path) == (Path(path).stat().st_dev, Path(path).stat().st_ino)


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


def test_a_name_is_absolute_and_real(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    (folder / "link").symlink_to("target")
    assert absolute("link") == absolute(folder / "target") == str(folder.resolve() / "target")
