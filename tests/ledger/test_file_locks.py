"""One allowance, however the file is mounted, copied and opened beside the ledger, and whatever lies beside it."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from contextlib import closing
from fractions import Fraction
from pathlib import Path

import pytest

from discreet.errors import LedgerError
from discreet.ledger import file_location
from discreet.ledger.file_ledger import FileLedger, backup, statement, verify
from discreet.ledger.file_locks import SUPPORTED, Descriptor
from discreet.ledger.ledger import Charge
from discreet.ledger.privacy_filter import Allowance

pytestmark = pytest.mark.skipif(not SUPPORTED, reason="only Linux has locks that belong to a descriptor")

MakeCharge = Callable[..., Charge]
Popen = subprocess.Popen[str]
Start = Callable[..., Popen]

ONE = Allowance(epsilon=Fraction(1))

SPENDER = """
import discreet.ledger.file_location as place, discreet.ledger.sqlite_store as store, time
from pathlib import Path
store.BUSY_SECONDS = float(os.environ.get("BUSY", 30))
if "ANYWHERE" in os.environ:
    place.MOUNTS = Path("/dev/null")
try:
    budget = Budget(epsilon=1, ledger=sys.argv[1])
    print("open", flush=True)
except LedgerError as refusal:
    print(repr(str(refusal)), flush=True)
for line in sys.stdin:
    won, told = 0, ""
    for _ in range(int(line)):
        try:
            budget.reserve(charge()).commit(b"answer")
            won += 1
        except BudgetExceeded:
            pass
        except LedgerError as refusal:
            told = repr(str(refusal))
    print(won, told, flush=True)
"""
"""Says whether it could open the ledger; then, for each number on its input, how many of so many charges it made."""


def told(process: Popen) -> str:
    assert process.stdout
    return process.stdout.readline().strip()


def ask(process: Popen, number: int) -> None:
    print(number, file=process.stdin, flush=True)


def asked(process: Popen, number: int) -> int:
    ask(process, number)
    return int(told(process).split()[0])


def opened(process: Popen) -> Popen:
    assert told(process) == "open"
    return process


def test_files_removed_beside_an_open_ledger_take_nothing_along(path: Path, start: Start) -> None:
    first = opened(start(SPENDER, path))
    assert asked(first, 9) == 9
    for beside in path.parent.iterdir():
        if beside != path:
            beside.unlink()
    second = opened(start(SPENDER, path))
    assert asked(second, 10) + asked(first, 10) == 1


def by_writing(old: Path, path: Path) -> None:
    path.write_bytes(old.read_bytes())


def by_renaming(old: Path, path: Path) -> None:
    old.replace(path)


@pytest.mark.parametrize("put", [by_writing, by_renaming])
def test_an_old_copy_put_in_place_is_refused_by_all(
    path: Path, start: Start, put: Callable[[Path, Path], None]
) -> None:
    """By whoever has the ledger open, and by whoever opens it while they have; those who come later cannot know."""
    first = opened(start(SPENDER, path))
    old = path.with_name("old.db")
    shutil.copy(path, old)
    assert asked(first, 9) == 9
    put(old, path)
    second = start(SPENDER, path)
    assert "an older copy of it" in told(second)
    ask(first, 10)
    won, refused = told(first).split(" ", 1)
    assert won == "0"
    assert "an older copy of it" in refused or "another file is now at" in refused
    for look in (statement, verify, lambda path: backup(path, path.with_name("copy.db"))):
        with pytest.raises(LedgerError, match="older copy"):
            look(path)
    for process in (first, second):
        process.kill()
        process.communicate()
    assert statement(path).spent.epsilon == 0


def test_a_copy_of_as_many_charges_is_no_copy_of_the_same(used: Path, start: Start, charge: MakeCharge) -> None:
    """As many transactions, and so the same counters in the file's header, but others: no page is taken from memory."""
    first = opened(start(SPENDER, used))
    shutil.copy(used, used.with_name("old.db"))
    assert asked(first, 1) == 1
    other = FileLedger(used.with_name("old.db"), ONE)
    other.commit(other.reserve(charge()), b"Answer")
    by_writing(used.with_name("old.db"), used)
    ask(first, 10)
    assert "an older copy of it" in told(first)


def test_a_lock_outlasts_other_handles_of_its_process(path: Path, start: Start, charge: MakeCharge) -> None:
    """POSIX drops a process's locks when it closes any handle; a rival waits all the same."""
    ledger = FileLedger(path, ONE)
    rival = opened(start(f"os.environ['BUSY'] = '0.2'\n{SPENDER}", path))
    with ledger.exclusive() as before:
        path.open("rb").close()
        shutil.copytree(path.parent, path.parent / "copy")
        ask(rival, 1)
        assert told(rival)[3:].startswith("Expected a ledger that is free")
        one = charge(1)
        ledger.append_charge(one, ledger.admitted(one, before))
    assert asked(rival, 1) == 0
    assert ledger.spent().epsilon == 1


SERVER = """
import shutil, tempfile, threading
from pathlib import Path
from discreet.ledger.file_ledger import backup
path = Path(sys.argv[1])
budget, stop, copies = Budget(epsilon=4, ledger=path), threading.Event(), [0]
def save():
    while not stop.is_set():
        with tempfile.TemporaryDirectory() as folder:
            shutil.copyfile(path, Path(folder, "bytes.db"))
            backup(path, Path(folder, "copy.db"))
        copies[0] += 1
saver = threading.Thread(target=save)
saver.start()
won, refused = 0, 0
for _ in range(20):
    try:
        budget.reserve(charge()).commit(b"answer")
        won += 1
    except BudgetExceeded:
        refused += 1
stop.set()
saver.join()
print(won, refused, copies[0])
"""


def test_servers_that_back_up_lose_no_lock(path: Path, start: Start) -> None:
    """Three servers with a thread each that copies the file and makes backups of it: 40 of 60 charges fit."""
    FileLedger(path, Allowance(epsilon=Fraction(4)))
    servers = [start(SERVER, path) for _ in range(3)]
    won, refused, copies = zip(*(map(int, told(server).split()) for server in servers), strict=True)
    assert (sum(won), sum(refused)) == (40, 20)
    assert min(copies) > 0
    assert statement(path).spent.epsilon == 4


UNSHARE = shutil.which("unshare")


def may_mount() -> bool:
    command = (str(UNSHARE), "-m", "mount", "--bind", "/tmp", "/tmp")  # noqa: S108 - onto itself, and seen by no other
    return UNSHARE is not None and subprocess.run(command, capture_output=True, check=False).returncode == 0


MOUNTING = pytest.mark.skipif(
    not may_mount(), reason="mounts need root; test_a_file_that_is_mounted_alone_is_refused reads them from a list"
)


@pytest.fixture
def mounted(start: Start) -> Callable[[Path, Path], Popen]:
    """Starts a spender in mounts of its own, where one place is seen at another one as well."""

    def popen(source: Path, place: Path) -> Popen:
        inside = place if place.is_file() else place / "spent.db"
        mounting = ('mount --bind "$1" "$2" && shift 2 && exec "$@"', "sh", str(source), str(place))
        return start(SPENDER, inside, by=(str(UNSHARE), "-m", "sh", "-c", *mounting))

    return popen


@MOUNTING
def test_a_folder_in_two_containers_is_one_ledger(folder: Path, mounted: Callable[[Path, Path], Popen]) -> None:
    FileLedger(folder / "spent.db", ONE)
    places = [folder / "a", folder / "b"]
    for place in places:
        place.mkdir()
    spenders = [opened(mounted(folder, place)) for place in places]
    for spender in spenders:
        ask(spender, 10)
    assert sum(int(told(spender).split()[0]) for spender in spenders) == 10


@MOUNTING
@pytest.mark.parametrize("anywhere", ["", "1"])
def test_a_file_in_two_containers_is_refused(
    folder: Path, mounted: Callable[[Path, Path], Popen], anywhere: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Since each would have a journal of its own; even if they were let in, no charge would be made twice."""
    if anywhere:
        monkeypatch.setenv("ANYWHERE", anywhere)
    FileLedger(folder / "spent.db", ONE)
    places = [folder / "a.db", folder / "b.db"]
    for place in places:
        place.touch()
    spenders = [mounted(folder / "spent.db", place) for place in places]
    if not anywhere:
        assert all("mount its folder instead" in told(spender) for spender in spenders)
        return
    for spender in spenders:
        ask(opened(spender), 10)
    assert sum(int(told(spender).split()[0]) for spender in spenders) == 10


def test_a_file_that_is_mounted_alone_is_refused(used: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mounts = used.with_name("mountinfo")
    octal = str(used).replace("/", "\\057")
    mounts.write_text(f"22 1 8:1 / / rw - ext4 /dev/sda rw\n36 22 8:1 /a/b {octal} rw - ext4 /dev/sda rw\n")
    monkeypatch.setattr(file_location, "MOUNTS", mounts)
    with pytest.raises(LedgerError, match="mount its folder"):
        FileLedger(used, ONE)


@pytest.mark.parametrize("character", ["\f", "\v", "\r", "\x1c", "\x85", "\u2028", " ", "\\", "é"])
def test_no_name_hides_that_a_file_is_mounted_alone(
    used: Path, character: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Linux writes all but four characters as they are, and what ends a line of a text ends none of its lists."""
    path = used.rename(used.with_name(f"a{character}b.db"))
    shown = os.fsencode(path).replace(b"\\", b"\\134").replace(b" ", b"\\040")
    mounts = used.with_name("mountinfo")
    mounts.write_bytes(b"36 22 8:1 /a/b " + shown + b" rw - ext4 /dev/sda rw\n")
    monkeypatch.setattr(file_location, "MOUNTS", mounts)
    with pytest.raises(LedgerError, match="mount its folder"):
        FileLedger(path, ONE)


def test_a_ledger_that_is_deleted_while_it_is_in_use_is_not_made_anew(used: Path) -> None:
    ledger = FileLedger(used, ONE)
    used.unlink()
    with pytest.raises(LedgerError, match="which a program has open still"):
        FileLedger(used, ONE)
    assert not used.exists()
    FileLedger(used.with_name("other.db"), ONE)
    ledger._store.close()
    assert FileLedger(used, ONE).spent().epsilon == 0


def test_marks_tell_who_saw_more(used: Path) -> None:
    with closing(Descriptor(str(used))) as mine, closing(Descriptor(str(used))) as other:
        other.mark(7)
        assert [mine.others_saw_beyond(position) for position in (0, 6, 7, 8)] == [True, True, False, False]
        assert not other.others_saw_beyond(0)  # what one saw oneself is no news
        used.replace(used.with_name("gone.db"))
        shutil.copy(used.with_name("gone.db"), used)
        with closing(Descriptor(str(used))) as late:
            assert late.others_saw_beyond(6)
            assert not late.others_saw_beyond(7)
    with closing(Descriptor(str(used))) as late:
        assert not late.others_saw_beyond(0)


def test_locks_are_shared_or_alone(used: Path) -> None:
    with closing(Descriptor(str(used))) as mine, closing(Descriptor(str(used))) as other:
        for one, two, had in ((False, False, True), (False, True, False), (True, False, False), (True, True, False)):
            with mine.locked(alone=one, seconds=0), other.locked(alone=two, seconds=0) as found:
                assert found is had
            with other.locked(alone=True, seconds=0) as found:
                assert found


@pytest.mark.skipif(not hasattr(os, "fork"), reason="Windows has no fork")
def test_a_child_shares_no_lock_of_its_parent(path: Path, run: Callable[..., str]) -> None:
    program = """
budget = Budget(epsilon=1, ledger=sys.argv[1])
budget.reserve(charge())
locked, tell = os.pipe()
child = os.fork()
if not child:
    from discreet.ledger import sqlite_store
    sqlite_store.BUSY_SECONDS = 0.2
    os.read(locked, 1)
    try:
        Budget(epsilon=1, ledger=sys.argv[1]).reserve(charge())
    except LedgerError as refusal:
        print("that is free" in str(refusal), flush=True)
    os._exit(0)
with budget._ledger.exclusive():
    os.write(tell, b".")
    os.wait()
print(budget.spent)
"""
    assert run(program, path).splitlines() == ["True", "epsilon=0.1"]
