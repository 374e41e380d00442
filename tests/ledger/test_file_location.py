"""A ledger has one name, in a folder that all see; a new one is there whole or not at all, for its owner alone."""

from __future__ import annotations

import os
import shutil
import sqlite3
import stat
import subprocess
import time
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import pytest

from discreet.errors import InvalidParameter, LedgerError
from discreet.ledger import file_location
from discreet.ledger.file_ledger import FileLedger, backup, create, verify
from discreet.ledger.file_location import absolute, identity, placed, remove_leftovers, tighten
from discreet.ledger.privacy_filter import Allowance

Start = Callable[..., subprocess.Popen[str]]

ONE = Allowance(epsilon=Fraction(1))


@pytest.fixture
def some(folder: Path) -> str:
    name = folder / "some.db"
    name.write_bytes(b"some")
    return str(name)


def test_a_file_with_two_names_gets_a_moment(some: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The maker of a ledger removes the first name right after linking the second."""
    second = Path(some + ".second")
    second.hardlink_to(some)
    monkeypatch.setattr(time, "sleep", lambda _: second.unlink(missing_ok=True))
    assert identity(some) == (Path(some).stat().st_dev, Path(some).stat().st_ino)


def test_a_name_is_absolute_and_real(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    (folder / "link").symlink_to("target")
    assert absolute("link") == absolute(folder / "target") == str(folder.resolve() / "target")


def modes(folder: Path) -> set[int]:
    return {stat.S_IMODE(file.stat().st_mode) for file in folder.iterdir() if file.is_file()}


def test_a_current_folder_that_is_gone_is_said_in_words(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gone = folder / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    with pytest.raises(LedgerError, match=r"Expected a current folder that exists, got ledger='spent\.db'"):
        absolute("spent.db")
    assert absolute(str(folder / "spent.db")) == str(folder / "spent.db")


def test_ledgers_and_all_that_belongs_to_them_are_for_their_owner(folder: Path) -> None:
    before = os.umask(0)
    try:
        ledger = FileLedger(folder / "spent.db", ONE)
        with ledger.exclusive():
            ledger._store.database().execute("CREATE TABLE x (y)")
            assert (folder / "spent.db-journal").exists()
            assert modes(folder) == {0o600}
            ledger._store.database().execute("DROP TABLE x")
        backup(folder / "spent.db", folder / "copy.db")
        create(folder / "new.db", ONE)
    finally:
        os.umask(before)
    assert modes(folder) == {0o600}
    assert len(list(folder.iterdir())) == 3


@pytest.mark.parametrize(("before", "after"), [(0o644, 0o600), (0o666, 0o600), (0o660, 0o660), (0o600, 0o600)])
def test_what_all_may_read_is_tightened(used: Path, before: int, after: int) -> None:
    """A file that a group alone shares was meant so."""
    used.chmod(before)
    FileLedger(used, ONE)
    assert stat.S_IMODE(used.stat().st_mode) == after
    tighten(str(used))
    assert stat.S_IMODE(used.stat().st_mode) == after


KILLED = """
from discreet.ledger import file_location
from discreet.ledger.file_ledger import create
from discreet.ledger.privacy_filter import Allowance
step = getattr(file_location, sys.argv[2])
def killed(*arguments):
    os.kill(os.getpid(), 9)
setattr(file_location, sys.argv[2], killed)
create(sys.argv[1], Allowance(epsilon=Fraction(1)))
"""


def test_a_maker_killed_between_its_two_names_leaves_a_ledger(folder: Path, start: Start) -> None:
    start(KILLED, folder / "spent.db", "flush_folder").wait()
    assert (folder / "spent.db").stat().st_nlink == 2
    begun = time.monotonic()
    assert FileLedger(folder / "spent.db", ONE).spent().epsilon == 0
    assert time.monotonic() - begun < file_location.SETTLING_SECONDS
    assert (folder / "spent.db").stat().st_nlink == 1


def test_what_killed_makers_left_is_swept(folder: Path, start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    """After a while, and unless somebody holds it still."""
    start(KILLED.replace("getattr(file_location, sys.argv[2])", "None"), folder / "spent.db", "flush_folder").wait()
    (folder / "spent.db").unlink()
    assert [file.name[:8] for file in folder.iterdir()] == [".ledger-"]
    remove_leftovers(folder)
    assert len(list(folder.iterdir())) == 1
    monkeypatch.setattr(file_location, "ABANDONED_SECONDS", -1.0)
    with file_location.built(folder, lambda database: database.execute("CREATE TABLE t (x)")) as mine:
        remove_leftovers(folder)
        assert mine.exists()
        assert len(list(folder.iterdir())) == 1
    assert list(folder.iterdir()) == []
    (folder / ".ledger-empty").mkdir()
    remove_leftovers(folder)
    assert list(folder.iterdir()) == []


def test_what_is_there_is_not_replaced(some: str, folder: Path) -> None:
    assert not placed(some, lambda database: database.execute("CREATE TABLE t (x)"))
    assert Path(some).read_bytes() == b"some"
    assert len(list(folder.iterdir())) == 1


@pytest.mark.parametrize("end", ["-journal", "-wal", "-shm"])
def test_a_ledger_is_not_called_as_sqlite_calls_its_own_files(used: Path, end: str) -> None:
    """Reading `spent.db` once deleted the ledger `spent.db-journal`, whose allowance was then given anew."""
    name = used.with_name(used.name + end)
    for call in (lambda: FileLedger(name, ONE), lambda: create(name, ONE), lambda: backup(used, name)):
        with pytest.raises(InvalidParameter, match="a name that SQLite gives"):
            call()
    assert not name.exists()


def test_a_backup_is_a_ledger_that_was(used: Path) -> None:
    told = backup(used, used.with_name("copy.db"))
    ledger = FileLedger(used, ONE)
    assert told.spent == ledger.spent() == FileLedger(used.with_name("copy.db"), ONE).spent()
    assert ledger.entries() == FileLedger(used.with_name("copy.db"), ONE).entries()
    assert verify(used).number == verify(used.with_name("copy.db")).number == 4
    for taken in (used, used.with_name("copy.db")):
        with pytest.raises(LedgerError, match="where nothing is"):
            backup(used, taken)
    with pytest.raises(LedgerError):
        backup(used.with_name("none.db"), used.with_name("other.db"))
    assert sorted(file.name for file in used.parent.iterdir()) == ["copy.db", "spent.db"]


def test_a_full_disk_makes_no_backup(used: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_: object) -> None:
        raise sqlite3.OperationalError("database or disk is full")

    monkeypatch.setattr(file_location, "flush_folder", shutil.rmtree)  # never reached
    with pytest.raises(sqlite3.OperationalError):
        placed(str(used.with_name("copy.db")), full)
    assert [file.name for file in used.parent.iterdir()] == ["spent.db"]
