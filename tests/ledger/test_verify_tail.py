"""A long ledger is opened from its last lines, which say what all lines say; how much is read is counted, not timed."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

from discreet.errors import LedgerError
from discreet.ledger import file_format, file_ledger, stored_lines, verify_tail
from discreet.ledger.budget import Budget
from discreet.ledger.declared_sources import DeclaredSource
from discreet.ledger.file_format import check_whole
from discreet.ledger.file_ledger import FileLedger, statement, verify
from discreet.ledger.hash_chain import DAMAGED, Head, LedgerLine
from discreet.ledger.ledger import Charge
from discreet.ledger.privacy_filter import Allowance
from discreet.ledger.stored_lines import EVERY
from discreet.ledger.verify_tail import check_end

MakeCharge = Callable[..., Charge]
Rewrite = Callable[..., None]

ALLOWANCE = Allowance(epsilon=Fraction(1000))
VISITS = DeclaredSource(name="visits", version="1", unit=("person",), neighbors="add-remove")
LINES = 20


@pytest.fixture
def long(path: Path, charge: MakeCharge, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A closed ledger of 100 charges of 0.1, every second one answered, with a source early and one late."""
    monkeypatch.setattr(verify_tail, "SHORT", 0)
    monkeypatch.setattr(verify_tail, "LINES", LINES)
    ledger = FileLedger(path, ALLOWANCE)
    for number in range(1, 101):
        version = replace(VISITS, version="2" if number > 95 else "1")
        made = ledger.reserve(replace(charge(key=f"{number:064x}"), declared=(version,)))
        if number % 2:
            ledger.commit(made, b"answer %d" % number)
    return path


def heads(path: Path) -> tuple[Head, Head]:
    with closing(sqlite3.connect(path)) as database:
        return check_end(database), check_whole(database)


def test_the_end_says_what_the_whole_says(long: Path, charge: MakeCharge, monkeypatch: pytest.MonkeyPatch) -> None:
    """Wherever it begins: at a charge, at an answer, at a source, with nothing but answers behind it."""
    ledger = FileLedger(long, ALLOWANCE)
    for number in (100, 98, 96):
        ledger.commit(number, b"late")
    for lines in (*range(12), *range(13, 150, 9), *range(150, 156)):
        monkeypatch.setattr(verify_tail, "LINES", lines)
        end, whole = heads(long)
        assert end == whole
        assert list(end.sources) == [VISITS, replace(VISITS, version="2")]
    ledger.reserve(replace(charge(), declared=(VISITS,)))
    assert FileLedger(long, ALLOWANCE).spent() == ledger.spent()


def test_the_end_says_what_the_whole_says_of_levels(
    path: Path, charge: MakeCharge, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Charges to a level, to one in it and to one around it, in turn, and changes among them."""
    monkeypatch.setattr(verify_tail, "SHORT", 0)
    budget = Budget(epsilon=1000, ledger=path)
    a, e = Budget(parent=budget, epsilon=50, name="a"), Budget(parent=budget, epsilon=50, name="e")
    b = Budget(parent=a, epsilon=50, name="b")
    for turn, level in enumerate([a, b, b, a, e, budget, b, b, e, a, budget, e, e, b, a] * 2):
        level.reserve(charge()).commit(b"answer")
        if turn % 7 == 3:
            level.raise_to(epsilon=51 + turn * 100, by="x", why="y")
        if turn == 20:
            e.freeze(by="x", why="y")
            e.unfreeze(by="x", why="y")
    Budget(parent=b, epsilon=1, name="c").close(by="x", why="y")
    with closing(sqlite3.connect(path)) as database:
        [last] = database.execute("SELECT max(position) FROM line").fetchone()
    for lines in range(last + 2):
        monkeypatch.setattr(verify_tail, "LINES", lines)
        end, whole = heads(path)
        assert end == whole
    assert end.balances.levels["a/b/c"].standing == "closed"


def test_opening_and_charging_read_as_much_of_a_long_ledger_as_of_a_short_one(
    long: Path, charge: MakeCharge, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[int] = []
    rows = stored_lines._rows

    def counted(*arguments: object) -> Iterator[tuple[LedgerLine, str]]:
        for row in rows(*arguments):  # type: ignore[arg-type]  # as they came
            read.append(row[0].position)
            yield row

    monkeypatch.setattr(stored_lines, "_rows", counted)
    ledger = FileLedger(long, ALLOWANCE)
    assert len(read) <= LINES + 5
    for use, most in ((lambda: ledger.reserve(charge()), 2), (lambda: ledger.stored(f"{1:064x}"), 2)):
        read.clear()
        use()
        assert len(read) <= most
    read.clear()
    assert statement(long, after=100).number == 101
    assert len(read) <= LINES + 5
    read.clear()
    verify(long)
    assert len(read) > 150


LAST, SOURCE, EARLY = 152, 1, 30


def at(position: int, change: str) -> str:
    return f"{change} WHERE position = {position}"


@pytest.mark.long
@pytest.mark.parametrize(
    ("change", "why"),
    [
        (at(LAST - 1, "UPDATE line SET epsilon = '1/100'"), "unbroken chain"),
        (at(LAST, "UPDATE line SET spent_epsilon = '0/1'"), "unbroken chain"),
        (at(LAST - LINES, "UPDATE line SET spent_epsilon = '0/1'"), "unbroken chain"),
        (at(LAST - LINES - 1, "UPDATE line SET chain = 'x'"), "unbroken chain"),
        (at(LAST - 3, "UPDATE line SET chain = 'x'"), "unbroken chain"),
        (at(LAST - 5, "DELETE FROM line"), "unbroken chain"),
        (at(LAST - LINES - 1, "DELETE FROM line"), "unbroken chain"),
        (at(SOURCE, "UPDATE line SET event = replace(event, 'person', 'house')"), "unbroken chain"),
        ("UPDATE line SET epsilon = '9999/1' WHERE position = 0", "unbroken chain"),
        ("UPDATE meta SET value = '9999/1' WHERE name = 'epsilon'", "allowance of the first line"),
        ("UPDATE line SET number = 1000 WHERE number = 100 AND kind = 'charge'", "unbroken chain"),
        ("UPDATE line SET number = 'x' WHERE number = 100 AND kind = 'charge'", "as many charges|unbroken chain"),
        ("UPDATE line SET number = 'x' WHERE number = 5 AND kind = 'charge'", "as many charges|unbroken chain"),
        ("UPDATE line SET number = number + 0.5 WHERE kind = 'charge'", "as many charges|unbroken chain"),
        ("DROP INDEX answer_by_key", "changed tables"),
    ],
)
def test_a_change_at_the_end_of_a_long_ledger_is_refused(long: Path, rewritten: Rewrite, change: str, why: str) -> None:
    with closing(sqlite3.connect(long)) as database:
        assert database.execute("SELECT max(position) FROM line").fetchone() == (LAST,)
        assert database.execute("SELECT position FROM line WHERE kind = 'source'").fetchone() == (SOURCE,)
    rewritten(long, change)
    for look in (lambda: FileLedger(long, ALLOWANCE), lambda: statement(long), lambda: verify(long)):
        with pytest.raises(LedgerError, match=why):
            look()


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (at(EARLY, "UPDATE line SET what = 'other'"), "unbroken chain"),
        (at(EARLY, "UPDATE line SET spent_epsilon = '0/1'"), "unbroken chain"),
        (at(EARLY, "DELETE FROM line"), "unbroken chain"),
        ("UPDATE line SET answer = X'00' WHERE number = 1 AND kind = 'answer'", "answer that was committed"),
    ],
)
def test_a_change_long_before_the_end_is_found_by_verifying(
    long: Path, rewritten: Rewrite, change: str, why: str
) -> None:
    """It changes nothing of what is spent and what may be; an answer is compared when it is given."""
    sound = statement(long, entries=False)
    rewritten(long, change)
    assert statement(long, entries=False) == sound
    with pytest.raises(LedgerError, match=why):
        verify(long)
    assert [file.name for file in long.parent.iterdir()] == ["spent.db"]
    if "answer" in change:
        with pytest.raises(LedgerError, match=why):
            FileLedger(long, ALLOWANCE).stored(f"{1:064x}")


def test_an_answer_of_another_question_is_not_given(long: Path, rewritten: Rewrite) -> None:
    """As a damaged index would: a line that was moved to another key is not the one that was hashed."""
    rewritten(long, at(LAST - 2, "UPDATE line SET key = 'y'"))
    rewritten(long, "UPDATE line SET key = 'x' WHERE number = 5 AND kind = 'answer'")
    with closing(sqlite3.connect(long)), pytest.raises(LedgerError, match="unbroken chain"):
        statement(long)


def test_verifying_keeps_nobody_waiting(long: Path, charge: MakeCharge, monkeypatch: pytest.MonkeyPatch) -> None:
    """The copy is verified, not the file: a charge is made meanwhile."""
    ledger, whole = FileLedger(long, ALLOWANCE), stored_lines.follow_from

    def charged(database: sqlite3.Connection, head: Head | None, most: int = EVERY) -> Head:
        if head is None:
            ledger.reserve(charge())
        return whole(database, head, most)

    monkeypatch.setattr(file_format, "follow_from", charged)
    assert verify(long).number == 100
    assert ledger.spent().epsilon == Fraction(101, 10)


def test_much_that_others_wrote_is_read_some_lines_at_a_time(
    long: Path, charge: MakeCharge, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_ledger, "LINES", LINES)
    monkeypatch.setattr(file_ledger, "SHORT", 1 << 14)
    mine, other = FileLedger(long, ALLOWANCE), FileLedger(long, ALLOWANCE)
    for _ in range(200):
        other.reserve(charge())
    read: list[int] = []
    follow_from = stored_lines.follow_from

    def counted(database: sqlite3.Connection, head: Head | None, most: int = EVERY) -> Head:
        after = follow_from(database, head, most)
        read.append(after.position - (head.position if head else 0))
        return after

    monkeypatch.setattr(file_ledger, "follow_from", counted)
    assert mine.reserve(charge()) == 301
    assert sum(read) == 200
    assert max(read) <= LINES + (1 << 14) // 300


def test_no_cure_spends_twice() -> None:
    """What a damaged ledger recorded stays spent: no hint may say to go on from less."""
    import ast

    folder = Path(verify_tail.__file__).parents[1]
    files = [*folder.glob("ledger/*.py"), folder / "cli/accounts.py"]
    texts = [
        node.value
        for file in files
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    ]
    assert DAMAGED in texts
    for forbidden in ("restore", "or another path", "or one where nothing", "put the first one back", "newest backup"):
        assert [text for text in texts if forbidden in text] == []
