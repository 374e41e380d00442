"""A ledger file outlives crashes, serves many processes, and is refused when it is not whole."""

from __future__ import annotations

import errno
import itertools
import os
import shutil
import signal
import sqlite3
import subprocess
import time
from collections.abc import Callable
from contextlib import closing
from fractions import Fraction
from pathlib import Path

import pytest

from discreet.errors import BudgetExceeded, InvalidParameter, LedgerError
from discreet.ledger import file_location, sqlite_store
from discreet.ledger.file_ledger import FileLedger, create, statement
from discreet.ledger.file_locks import Descriptor
from discreet.ledger.ledger import Charge
from discreet.ledger.privacy_filter import Allowance

MakeCharge = Callable[..., Charge]
Run = Callable[..., str]
Start = Callable[..., subprocess.Popen[str]]

ONE = Allowance(epsilon=Fraction(1))
KEY = "ab" * 32
PROCESSES = 8


def test_a_restart_goes_on_where_it_ended(used: Path, charge: MakeCharge) -> None:
    ledger = FileLedger(used, ONE)
    assert ledger.spent().epsilon == Fraction(4, 10)
    assert ledger.stored(f"{2:064x}") == b"\2" * 100
    assert ledger.reserve(charge()) == 5
    assert [entry.answered for entry in ledger.entries()] == [True, True, True, False, False]
    ledger.commit(4, b"late")
    assert ledger.stored(KEY) == b"late"


def test_statement_needs_no_allowance_and_changes_nothing(used: Path) -> None:
    before = used.read_bytes()
    told = statement(str(used))
    assert used.read_bytes() == before
    assert [file.name for file in used.parent.iterdir()] == ["spent.db"]
    assert (told.path, str(told.allowance), told.spent.epsilon) == (str(used), str(ONE), Fraction(4, 10))
    assert told.created <= told.entries[0].time
    assert told.entries == FileLedger(used, ONE).entries()


def test_statement_of_nothing_is_refused_and_makes_nothing(path: Path) -> None:
    with pytest.raises(LedgerError):
        statement(path)
    assert not path.exists()


def test_create_makes_a_ledger_only_where_nothing_is(path: Path) -> None:
    create(path, Allowance.union(0.3, 1e-9))
    assert statement(path).allowance == Allowance.union(0.3, 1e-9)
    with pytest.raises(LedgerError, match="where nothing is"):
        create(path, Allowance.union(0.3, 1e-9))
    with pytest.raises(InvalidParameter):
        create(path.with_name("other.db"), Allowance.union(0))
    assert [file.name for file in path.parent.iterdir()] == ["spent.db"]


@pytest.mark.parametrize(
    "allowance", [Allowance(epsilon=Fraction(2)), Allowance(epsilon=Fraction(1), delta=Fraction(1, 9))]
)
def test_another_allowance_is_refused(used: Path, allowance: Allowance) -> None:
    with pytest.raises(LedgerError, match="allowance of the ledger"):
        FileLedger(used, allowance)


# Many processes


RACE = """
from discreet.ledger.file_ledger import FileLedger
for path in sys.stdin:
    budget, won = Budget(epsilon=2, ledger=path.strip()), 0
    for _ in range(3):
        try:
            budget.reserve(charge()).commit(b"answer")
            won += 1
        except BudgetExceeded:
            pass
    print(won, flush=True)
"""


@pytest.mark.long
def test_exactly_ten_charges_of_8_processes_win(folder: Path, start: Start, charge: MakeCharge) -> None:
    """24 attempts on a ledger with room for ten, 50 times over."""
    processes = [start(RACE) for _ in range(PROCESSES)]
    for repetition in range(50):
        path = folder / f"spent-{repetition}.db"
        ledger = FileLedger(path, Allowance(epsilon=Fraction(2)))
        for _ in range(10):
            ledger.reserve(charge())
        for process in processes:
            print(path, file=process.stdin, flush=True)
        assert sum(int(process.stdout.readline()) for process in processes if process.stdout) == 10
        assert ledger.spent().epsilon == 2
        assert [entry.answered for entry in ledger.entries()] == [False] * 10 + [True] * 10


@pytest.mark.long
def test_8_processes_that_make_the_same_file_share_it(folder: Path, start: Start) -> None:
    processes = [start(RACE) for _ in range(PROCESSES)]
    for repetition in range(20):
        path = folder / f"spent-{repetition}.db"
        for process in processes:
            print(path, file=process.stdin, flush=True)
        assert sum(int(process.stdout.readline()) for process in processes if process.stdout) == 20
        assert len(statement(path).entries) == 20
    for process in processes:
        process.communicate()
    assert {file.name for file in folder.iterdir()} == {f"spent-{repetition}.db" for repetition in range(20)}


def test_answers_reach_other_processes_byte_for_byte(path: Path, run: Run) -> None:
    answer = bytes(range(256)) * 1000
    run("Budget(epsilon=1, ledger=sys.argv[1]).reserve(charge()).commit(bytes(range(256)) * 1000)", path)
    assert FileLedger(path, ONE).stored(KEY) == answer
    told = run("print(Budget(epsilon=1, ledger=sys.argv[1]).stored('ab' * 32).hex())", path)
    assert bytes.fromhex(told) == answer


@pytest.mark.long
@pytest.mark.parametrize("repetition", range(3) if hasattr(os, "fork") else ())
def test_forks_open_the_file_anew(path: Path, run: Run, repetition: int) -> None:
    """Ten children, forked while a thread is spending, open the file anew: no lock is inherited and no charge lost."""
    program = """
import threading, warnings
warnings.simplefilter("ignore", DeprecationWarning)  # forking beside a thread is what is tried here
budget = Budget(epsilon=10, ledger=sys.argv[1])
stop = threading.Event()
spender = threading.Thread(target=lambda: [budget.reserve(charge()) for _ in range(20)])
spender.start()
for _ in range(10):
    if not os.fork():
        mine = Budget(epsilon=10, ledger=sys.argv[1])
        for _ in range(3):
            mine.reserve(charge())
        os._exit(0)
for _ in range(10):
    assert os.wait()[1] == 0
spender.join()
print(budget.spent)
"""
    assert run(program, path) == "epsilon=5\n"
    assert len(statement(path).entries) == 50


# Crashes


def test_killed_between_reserve_and_commit_is_spent(path: Path, run: Run) -> None:
    run("budget = Budget(epsilon=1, ledger=sys.argv[1]); budget.reserve(charge()); os.kill(os.getpid(), 9)", path)
    assert [file.name for file in path.parent.iterdir()] == ["spent.db"]
    ledger = FileLedger(path, ONE)
    assert ledger.spent().epsilon == Fraction(1, 10)
    assert ledger.stored(KEY) is None
    assert [entry.answered for entry in ledger.entries()] == [False]


def test_the_file_alone_is_the_record(path: Path, run: Run) -> None:
    """After a crash between two charges, whoever copies the file alone loses no charge."""
    run("budget = Budget(epsilon=1, ledger=sys.argv[1]); budget.reserve(charge()); os.kill(os.getpid(), 9)", path)
    shutil.move(path, path.with_name("moved.db"))
    path = path.with_name("moved.db")
    assert FileLedger(path, ONE).spent().epsilon == Fraction(1, 10)


@pytest.mark.parametrize("delay", [0.0, 0.003, 0.01, 0.03, 0.06])
def test_killed_anywhere_no_answer_is_uncharged(path: Path, start: Start, delay: float) -> None:
    """200 queries that print what they answer, killed at some point of them."""
    program = """
budget = Budget(epsilon=100, ledger=sys.argv[1])
for number in range(200):
    budget.reserve(charge(key=f"{number:064x}")).commit(b"answer")
    print(number, flush=True)
"""
    process = start(program, path)
    assert process.stdout
    printed = [process.stdout.readline()]
    time.sleep(delay)
    process.send_signal(signal.SIGKILL)
    printed += process.stdout.readlines()
    ledger = FileLedger(path, Allowance(epsilon=Fraction(100)))
    assert 1 <= len(printed) <= len(ledger.entries()) <= len(printed) + 1
    assert ledger.spent().epsilon == Fraction(len(ledger.entries()), 10)
    assert all(ledger.stored(f"{number:064x}") == b"answer" for number in range(len(printed)))


def test_a_full_disk_refuses_and_recovers(path: Path, run: Run) -> None:
    """A write that fails answers nothing; what was recorded stays, and the ledger works on once there is room."""
    program = """
import resource
budget = Budget(epsilon=1, ledger=sys.argv[1])
first = budget.reserve(charge())
limits = resource.getrlimit(resource.RLIMIT_FSIZE)
resource.setrlimit(resource.RLIMIT_FSIZE, (os.path.getsize(sys.argv[1]), limits[1]))
wide = Charge(source="s", what="w" * 100_000, key="ab" * 32, guarantee=Guarantee(epsilon=Fraction(1, 10)))
for use in (lambda: budget.reserve(wide), lambda: first.commit(bytes(100_000))):
    try:
        use()
    except LedgerError as refusal:
        print("Hint:" in str(refusal))
print(budget.spent)
resource.setrlimit(resource.RLIMIT_FSIZE, limits)
first.commit(b"answer")
budget.reserve(wide)
print(budget.spent)
"""
    assert run(program, path).splitlines() == ["True", "True", "epsilon=0.1", "epsilon=0.2"]
    assert [entry.answered for entry in statement(path).entries] == [True, False]


def test_a_file_whose_size_is_unknown_is_refused_and_nothing_charged(
    used: Path, charge: MakeCharge, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At each time that it is asked for: what fails costs nothing, in our words, and the ledger works on."""

    def refused(times: int) -> Callable[[Descriptor], os.stat_result | None]:
        left, real = itertools.count(-times), Descriptor.status

        def status(held: Descriptor) -> os.stat_result | None:
            if next(left) == 0:
                raise OSError(errno.EIO, "Input/output error")
            return real(held)

        return status

    ledger, failures = FileLedger(used, ONE), 0
    for times in range(8):
        before = ledger.spent().epsilon
        with monkeypatch.context() as patched:
            patched.setattr(Descriptor, "status", refused(times))
            try:
                ledger.reserve(charge())
            except LedgerError:
                failures += 1
                before -= Fraction(1, 10)
        assert ledger.spent().epsilon == before + Fraction(1, 10)
    assert failures >= 3


# Places


def test_one_file_under_every_name(path: Path, charge: MakeCharge, monkeypatch: pytest.MonkeyPatch) -> None:
    """Relative, absolute and through a symbolic link: one ledger, also after the working directory changed."""
    elsewhere = path.parent / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(path.parent)
    (elsewhere / "link.db").symlink_to(path)  # dangling at first: the ledger is made at its target
    names: list[str | Path] = ["elsewhere/link.db", "spent.db", "./elsewhere/../spent.db", path]
    ledgers = [FileLedger(name, ONE) for name in names]
    monkeypatch.chdir(elsewhere)
    for ledger in ledgers:
        ledger.reserve(charge())
    assert {ledger.spent().epsilon for ledger in ledgers} == {Fraction(4, 10)}
    assert {file.name for file in path.parent.rglob("*.db")} == {"spent.db", "link.db"}


def test_odd_names_are_names(folder: Path, charge: MakeCharge) -> None:
    for name in ["a b?mode=memory#%41.db", "file:x.db", "ä'\"\n.db"]:
        FileLedger(folder / name, ONE).reserve(charge())
        assert FileLedger(folder / name, ONE).spent().epsilon == Fraction(1, 10)
    assert len(list(folder.iterdir())) == 3


def test_a_name_that_is_not_utf_8_is_refused_and_nothing_made(folder: Path) -> None:
    """SQLite tells names as text, so that such a ledger could be made and never opened."""
    for place in [folder / "a\udcff.db", folder / "\udcff" / "spent.db"]:
        with pytest.raises(InvalidParameter, match="a path in UTF-8"):
            FileLedger(place, ONE)
    assert not list(folder.iterdir())


def test_places_that_cannot_hold_a_file_are_refused(folder: Path, used: Path) -> None:
    (folder / "loop").symlink_to(folder / "loop")
    for place in [folder, folder / "missing" / "spent.db", used / "spent.db", folder / "loop", Path("/dev/null")]:
        with pytest.raises(LedgerError, match="Hint: "):
            FileLedger(place, ONE)


def test_a_file_that_cannot_be_written_is_refused_at_once(used: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def connect(path: str) -> sqlite3.Connection:
        return sqlite3.connect(f"{Path(path).as_uri()}?mode=ro", uri=True, isolation_level=None)

    monkeypatch.setattr(sqlite_store, "connect", connect)
    with pytest.raises(LedgerError, match="can be written"):
        FileLedger(used, ONE)


def test_a_second_name_is_refused(used: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_location, "SETTLING_SECONDS", 0.01)
    os.link(used, used.with_name("other.db"))
    with pytest.raises(LedgerError, match="hard links"):
        FileLedger(used, ONE)


def test_a_held_file_is_refused_after_a_while(used: Path, monkeypatch: pytest.MonkeyPatch, charge: MakeCharge) -> None:
    monkeypatch.setattr(sqlite_store, "BUSY_SECONDS", 0.01)
    ledger = FileLedger(used, ONE)
    with closing(sqlite3.connect(used, isolation_level=None)) as rival:
        rival.execute("BEGIN IMMEDIATE")
        with pytest.raises(LedgerError, match="another program holds the file"):
            ledger.reserve(charge())
        assert ledger.spent().epsilon == Fraction(4, 10)
    assert ledger.reserve(charge()) == 5


def test_a_charge_inside_of_a_charge_is_refused(path: Path, charge: MakeCharge) -> None:
    """As a signal handler could try it: neither of the two is let in on a total that the other changes."""
    ledger = FileLedger(path, ONE)

    def nest() -> None:
        with ledger.exclusive():
            ledger.reserve(charge())

    with pytest.raises(LedgerError):
        nest()
    assert ledger.spent().epsilon == 0
    assert ledger.reserve(charge()) == 1


# Old copies


def test_a_log_without_its_ledger_is_refused(used: Path) -> None:
    used.with_name("spent.db-wal").write_bytes(b"left")
    used.unlink()
    with pytest.raises(LedgerError, match="a ledger was here"):
        FileLedger(used, ONE)


def test_a_replaced_file_is_refused(used: Path, charge: MakeCharge) -> None:
    shutil.copy(used, used.with_name("old.db"))
    ledger = FileLedger(used, ONE)
    ledger.reserve(charge())
    used.with_name("old.db").replace(used)
    for use in (ledger.spent, lambda: ledger.reserve(charge()), lambda: ledger.commit(4, b""), ledger.entries):
        with pytest.raises(LedgerError, match="another file"):
            use()


def test_a_file_put_back_to_an_older_state_is_refused(used: Path, charge: MakeCharge) -> None:
    shutil.copy(used, used.with_name("old.db"))
    ledger = FileLedger(used, ONE)
    ledger.reserve(charge())
    with closing(sqlite3.connect(used.with_name("old.db"))) as old, closing(sqlite3.connect(used)) as live:
        old.backup(live)
    with pytest.raises(LedgerError, match="only grows"):
        ledger.reserve(charge())


def test_a_removed_file_is_refused_and_not_made_anew(used: Path, charge: MakeCharge) -> None:
    ledger = FileLedger(used, ONE)
    used.unlink()
    with pytest.raises(LedgerError):
        ledger.reserve(charge())
    assert not used.exists()


def test_over_the_allowance_is_refused_as_in_memory(used: Path, charge: MakeCharge) -> None:
    before = used.read_bytes()
    ledger = FileLedger(used, ONE)
    with pytest.raises(BudgetExceeded, match=r"remaining epsilon=0\.6,"):
        ledger.reserve(charge(0.7))
    del ledger
    assert used.read_bytes() == before
