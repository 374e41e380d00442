"""Those who wait share a transaction: each is judged by itself, and told once it lasts."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from functools import partial
from pathlib import Path

import pytest

from discreet.errors import BudgetExceeded, LedgerError
from discreet.ledger import group_commit
from discreet.ledger.budget import Budget
from discreet.ledger.file_ledger import FileLedger, verify
from discreet.ledger.group_commit import SharedTransaction, Together, Waiting
from discreet.ledger.ledger import Charge

MakeCharge = Callable[..., Charge]
AtOnce = Callable[..., None]
OpenBudget = Callable[..., Budget]


class Book:
    """A ledger of words, which lasts by transactions that may fail."""

    def __init__(self) -> None:
        self.lasting: list[str] = []
        self.pending: list[str] = []
        self.transactions: list[tuple[bool, int]] = []
        self.fails_at = ""
        self.together = Together()
        self.mark: object = None

    def run(self, step: Callable[[], int], *, alone: bool) -> int:
        return self.together.run(SharedTransaction(self.transaction, lambda: self.mark), step, alone=alone)

    @contextmanager
    def transaction(self, *, alone: bool) -> Iterator[None]:
        self.pending = list(self.lasting)
        if self.fails_at == "begin":
            raise LedgerError("no ledger")
        yield
        if self.fails_at == "commit":
            raise OSError("no room")
        self.transactions.append((alone, len(self.pending) - len(self.lasting)))
        self.lasting = self.pending

    def write(self, word: str) -> int:
        if word == "refused":
            raise BudgetExceeded("no")
        self.pending.append(word)
        self.mark = object()
        if word == "broken":
            raise LedgerError("half of it")
        if word == "odd":
            raise ZeroDivisionError
        return len(self.pending)

    def waiting(self, *words: str) -> list[Waiting]:
        """Steps that wait already, as those of other threads would."""
        others = [Waiting(partial(self.write, word), alone=True) for word in words]
        self.together._queue.extend(others)
        return others


def test_who_waits_shares_a_transaction() -> None:
    book = Book()
    others = book.waiting("a", "b")
    assert book.run(partial(book.write, "c"), alone=True) == 3
    assert book.lasting == ["a", "b", "c"]
    assert book.transactions == [(True, 3)]
    assert [(one.is_done, one.returned) for one in others] == [(True, 1), (True, 2)]
    assert book.run(lambda: len(book.pending), alone=False) == 3
    assert book.transactions[-1] == (False, 0)


def test_a_refusal_is_one_s_own() -> None:
    book = Book()
    others = book.waiting("a", "refused", "b")
    assert book.run(partial(book.write, "c"), alone=True) == 3
    assert book.transactions == [(True, 3)]
    assert isinstance(others[1].failed, BudgetExceeded)
    with pytest.raises(BudgetExceeded):
        book.run(partial(book.write, "refused"), alone=True)
    assert book.lasting == ["a", "b", "c"]


@pytest.mark.parametrize(("word", "error"), [("broken", LedgerError), ("odd", ZeroDivisionError)])
def test_a_step_that_breaks_leaves_nothing_and_harms_nobody(word: str, error: type[Exception]) -> None:
    """What it appended is undone with all of its transaction; the others have one of their own each."""
    book = Book()
    others = book.waiting("a", word, "b")
    assert book.run(partial(book.write, "c"), alone=True) == 3
    assert book.lasting == ["a", "b", "c"]
    assert book.transactions == [(True, 1)] * 3
    assert [type(one.failed) for one in others] == [type(None), error, type(None)]


@pytest.mark.parametrize(("place", "error"), [("begin", LedgerError), ("commit", OSError)])
def test_nobody_hears_of_what_is_undone(place: str, error: type[Exception]) -> None:
    """Nor is it tried again: whether a commit that failed has happened is not known."""
    book = Book()
    book.fails_at = place
    others = book.waiting("a", "refused")
    with pytest.raises(error):
        book.run(partial(book.write, "c"), alone=True)
    assert [type(one.failed) for one in others] == [error] * 2
    assert (book.lasting, book.transactions) == ([], [])
    book.fails_at = ""
    assert book.run(partial(book.write, "d"), alone=True) == 1


def test_a_long_queue_takes_several_transactions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(group_commit, "MOST", 3)
    book = Book()
    others = book.waiting(*"abcde")
    assert book.run(partial(book.write, "x"), alone=True) == 6
    assert [one.is_done for one in others] == [True] * 5
    assert "".join(book.lasting) == "abcdex"
    assert book.transactions == [(True, 3)] * 2


def test_the_lead_is_passed_on() -> None:
    """Who comes while another one leads waits for its step, or for the lead."""
    book, seen = Book(), list[int]()

    def late() -> None:
        seen.append(book.run(partial(book.write, "late"), alone=True))

    thread = threading.Thread(target=late)

    def first() -> int:
        thread.start()
        while not book.together._queue:  # until it waits
            thread.join(0.001)
        return book.write("first")

    assert book.run(first, alone=True) == 1
    thread.join(30)
    assert (seen, book.lasting) == ([2], ["first", "late"])
    assert not book.together._has_leader


@pytest.mark.parametrize("place", ["_serve", "islice"])
def test_a_leader_that_fails_takes_no_ledger_with_it(monkeypatch: pytest.MonkeyPatch, place: str) -> None:
    """It has no memory left, say, at a line between two transactions: whoever waits, or comes then, waited for ever."""
    book, plain = Book(), getattr(group_commit, place)
    others = book.waiting("a")

    def failing(*_: object) -> None:
        raise MemoryError

    monkeypatch.setattr(group_commit, place, failing)
    with pytest.raises(MemoryError):
        book.run(partial(book.write, "b"), alone=True)
    monkeypatch.setattr(group_commit, place, plain)
    if place == "_serve":
        assert (others[0].is_done, type(others[0].failed)) == (True, LedgerError)
    else:  # it has the lead now, and its thread is there in general
        book.together._lead(SharedTransaction(book.transaction, lambda: book.mark), others[0])
    assert not book.together._has_leader
    assert book.run(partial(book.write, "c"), alone=True) == len(book.lasting)
    assert book.lasting == ["a", "c"][place == "_serve" :]


def test_one_inside_of_another_is_refused() -> None:
    book = Book()
    with pytest.raises(LedgerError, match="one charge at a time"):
        book.run(lambda: book.run(partial(book.write, "a"), alone=True), alone=True)
    assert book.run(partial(book.write, "b"), alone=True) == 1


def test_threads_are_written_together(path: Path, charge: MakeCharge, at_once: AtOnce) -> None:
    """What all of them have is exact, and takes fewer transactions than one for each reservation and answer."""
    budget = Budget(epsilon=2, ledger=path)
    ledger = budget._ledger
    assert isinstance(ledger, FileLedger)
    begun, transaction = list[bool](), ledger._store.transaction

    def counted(begin: str) -> object:
        begun.append(begin != "BEGIN")
        return transaction(begin)

    ledger._store.transaction = counted  # type: ignore[method-assign, assignment]  # to count them
    gate, outcomes = threading.Event(), list[str]()

    def analyst() -> None:
        gate.wait()
        try:
            budget.reserve(charge(0.1)).commit(b"answer")
            outcomes.append("answered")
        except BudgetExceeded:
            outcomes.append("refused")

    at_once([*[analyst] * 40, gate.set], turn=1e-5)
    assert (outcomes.count("answered"), outcomes.count("refused")) == (20, 20)
    assert budget.spent.epsilon == Fraction(2)
    assert sum(begun) < 40 + 20
    assert verify(path).number == 20


@pytest.mark.long
def test_what_fills_the_disk_does_not_keep_others_out(
    open_budget: OpenBudget, charge: MakeCharge, at_once: AtOnce
) -> None:
    """A charge that cannot be written is refused by itself."""
    budget = open_budget(epsilon=1)
    numbers = list[int]()

    def bad() -> None:
        with pytest.raises(LedgerError):
            budget.reserve(charge(0.1)).store(10**6, b"answer")

    at_once([bad, *[lambda: numbers.append(budget.reserve(charge(0.1)).number)] * 5], turn=1e-5)
    assert len(set(numbers)) == 5
    assert budget.spent.epsilon == Fraction(6, 10)
