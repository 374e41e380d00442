"""Levels of a budget, in memory and in a file: for threads, for processes, for whoever opens them again."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from discreet.errors import BudgetExceeded, InvalidParameter, LedgerError
from discreet.ledger.budget import Budget
from discreet.ledger.file_ledger import verify
from discreet.ledger.ledger import Charge
from discreet.ledger.level_names import is_below
from discreet.privacy.definitions import Guarantee

MakeCharge = Callable[..., Charge]
AtOnce = Callable[..., None]
Start = Callable[..., subprocess.Popen[str]]
OpenBudget = Callable[..., Budget]

BY: dict[str, Any] = {"by": "carol", "why": "a test"}
KEY = "ab" * 32


def test_a_charge_to_a_level_is_one_to_all_around_it(open_budget: OpenBudget, charge: MakeCharge) -> None:
    budget = open_budget()
    staff = Budget(parent=budget, epsilon=0.5, name="staff", by="carol", why="a course")
    alice = Budget(parent=staff, epsilon=0.3, name="alice")
    alice.reserve(charge(0.2)).commit(b"answer")
    staff.reserve(charge(0.25))
    assert [str(one.spent) for one in (budget, staff, alice)] == ["epsilon=0.45", "epsilon=0.45", "epsilon=0.2"]
    assert [str(one.remaining) for one in (budget, staff, alice)] == ["epsilon=0.55", "epsilon=0.05", "epsilon=0.05"]
    assert (alice.path, alice.name, budget.path) == ("staff/alice", "alice", "")
    with pytest.raises(BudgetExceeded, match=r"remaining epsilon=0\.05 of level 'staff', got"):
        alice.reserve(charge(0.1))
    with pytest.raises(BudgetExceeded, match=r"remaining epsilon=0\.1 of level 'staff/alice', got"):
        alice.reserve(charge(0.2))
    assert alice.remaining_queries(epsilon=0.01) == 5
    assert [(e.level, e.asked_by, e.answered) for e in budget.entries()] == [
        ("staff/alice", "alice", True),
        ("staff", "staff", False),
    ]
    assert [(c.number, c.kind, c.level, c.by, c.why, c.after) for c in budget.changes()] == [
        (1, "open", "staff", "carol", "a course", 0),
        (2, "open", "staff/alice", "", "", 0),
    ]
    assert (
        repr(alice) == "Budget(level: staff/alice; allowance: epsilon=0.3; spent: epsilon=0.2; remaining: epsilon=0.05)"
    )


def test_levels_are_opened_again(open_budget: OpenBudget, charge: MakeCharge) -> None:
    budget = open_budget()
    staff = Budget(parent=budget, epsilon=0.5, name="staff")
    Budget(parent=staff, rho=0.01, name="alice").reserve(charge(0.1))
    again = budget.child("staff").child("alice")
    assert again.spent == Guarantee(epsilon=Fraction(0), rho=Fraction(1, 200))
    assert Budget(parent=budget, epsilon=0.5, name="staff").path == "staff"
    assert [one.path for one in budget.children] == ["staff"]
    assert [one.path for one in staff.children] == ["staff/alice"]
    assert len(budget.changes()) == 2
    with pytest.raises(LedgerError, match="the allowance of this level"):
        Budget(parent=budget, epsilon=0.6, name="staff")
    with pytest.raises(LedgerError, match="the allowance of this level"):
        Budget(parent=budget, rho=0.5, name="staff")
    with pytest.raises(LedgerError, match="did you mean 'staff'"):
        budget.child("stuff")
    with pytest.raises(LedgerError, match="unlike those beside it"):
        Budget(parent=budget, epsilon=0.5, name="Staff")
    Budget(parent=staff, epsilon=0.5, name="staff")


@pytest.mark.parametrize(
    "stated",
    [
        {"name": "a"}, {"by": "carol"}, {"why": "w"}, {"parent": 7, "name": "a"}, {"parent": "people", "name": "a"},
        {"parent": Budget(epsilon=1)}, {"parent": Budget(epsilon=1), "name": "a/b"},
        {"parent": Budget(epsilon=1), "name": "a", "ledger": "spent.db"},
        {"parent": Budget(epsilon=1), "name": "a", "by": "a\nb"}, {"parent": Budget(epsilon=1), "name": "a", "rho": 1},
    ],
)  # fmt: skip
def test_levels_that_cannot_be_are_refused(stated: dict[str, Any]) -> None:
    with pytest.raises(InvalidParameter, match="Hint: "):
        Budget(**{"epsilon": 1, **stated})


def test_raise_freeze_and_close_are_entries(open_budget: OpenBudget, charge: MakeCharge) -> None:
    budget = open_budget()
    alice = Budget(parent=budget, epsilon=0.1, name="alice")
    alice.reserve(charge(0.1)).commit(b"answer")
    alice.raise_to(epsilon=0.3, by="carol", why="approved")
    alice.reserve(charge(0.1))
    budget.freeze(by="dan", why="a doubt")
    with pytest.raises(BudgetExceeded, match="the whole budget to be open, got frozen"):
        alice.reserve(charge(0.1))
    assert alice.standing == "frozen"
    assert alice.stored(KEY) == b"answer"
    budget.unfreeze(by="dan", why="no doubt")
    alice.close(by="carol", why="she left")
    with pytest.raises(BudgetExceeded, match="level 'alice' to be open, got closed"):
        alice.reserve(charge(0.1))
    assert repr(alice).endswith("remaining: epsilon=0; closed)")
    assert [(c.kind, c.level, c.by, c.after) for c in budget.changes(1)] == [
        ("raise", "alice", "carol", 1),
        ("freeze", "", "dan", 2),
        ("unfreeze", "", "dan", 2),
        ("close", "alice", "carol", 2),
    ]
    assert [c.number for c in budget.changes(2, 2)] == [3, 4]
    assert str(budget.changes(1)[0].allowance) == "epsilon=0.3"
    with pytest.raises(LedgerError, match="above the present one"):
        budget.raise_to(epsilon=1, **BY)
    with pytest.raises(InvalidParameter, match="amounts of this allowance"):
        budget.raise_to(rho=1, **BY)
    with pytest.raises(InvalidParameter, match="who did it"):
        budget.freeze(by="", why="x")


def test_of_two_raises_by_more_none_is_lost(open_budget: OpenBudget, monkeypatch: pytest.MonkeyPatch) -> None:
    alice = Budget(parent=open_budget(), epsilon=0.1, name="alice")
    at, meanwhile = Budget._level, [0.3]

    def looked_at(self: Budget) -> Any:
        found = at(self)
        if meanwhile:
            alice.raise_to(epsilon=meanwhile.pop(), **BY)
        return found

    monkeypatch.setattr(Budget, "_level", looked_at)
    alice.raise_by({"epsilon": 0.1}, **BY)
    assert str(alice.allowance) == "epsilon=0.4"
    assert [str(one.allowance) for one in alice.changes(1)] == ["epsilon=0.3", "epsilon=0.4"]
    with pytest.raises(InvalidParameter, match="amounts of an allowance"):
        alice.raise_by({"rows": 1}, **BY)
    with pytest.raises(InvalidParameter, match="above 0"):
        alice.raise_by({"epsilon": -1}, **BY)


def test_the_whole_budget_may_be_raised(folder: Path, charge: MakeCharge) -> None:
    """Whoever opens it later states what it was raised to; older handles follow."""
    path = folder / "spent.db"
    budget, other = Budget(epsilon=1, ledger=path), Budget(epsilon=1, ledger=path)
    budget.reserve(charge(1))
    budget.raise_to(epsilon=1.5, **BY)
    assert other.remaining == Guarantee(epsilon=Fraction(1, 2))
    other.reserve(charge(0.5))
    with pytest.raises(LedgerError, match="made with, or raised to"):
        Budget(epsilon=1, ledger=path)
    assert Budget(epsilon=1.5, ledger=path).remaining == Guarantee(epsilon=Fraction(0))
    assert verify(path).allowance.epsilon == Fraction(3, 2)


def test_answers_of_others(open_budget: OpenBudget, charge: MakeCharge) -> None:
    """By default a repeat is free whoever paid for it; a policy may keep levels apart."""
    budget = open_budget()
    staff, staffs = (Budget(parent=budget, epsilon=0.5, name=name) for name in ("staff", "staffs"))
    alice, bob = (Budget(parent=staff, epsilon=0.5, name=name) for name in ("alice", "bob"))
    alice.reserve(charge(0.1)).commit(b"first")
    assert [one.stored(KEY) for one in (budget, staff, staffs, alice, bob)] == [b"first"] * 5
    apart = [one.for_asker("x", shared=False) for one in (budget, staff, staffs, alice, bob)]
    assert [one.stored(KEY) for one in apart] == [b"first", b"first", None, b"first", None]
    apart[2].reserve(charge(0.1)).commit(b"second")
    assert [one.stored(KEY) for one in apart] == [b"second", b"first", b"second", b"first", None]
    assert len({one.identity for one in apart}) == 5
    assert alice.identity == bob.identity == staff.identity
    assert budget.entries()[1].asked_by == "x"
    assert apart[1].child("bob").stored(KEY) == b"first"  # as far as its parent sees


def test_handles_are_of_one_process_and_are_not_copied(open_budget: OpenBudget) -> None:
    import copy

    alice = Budget(parent=open_budget(), epsilon=0.3, name="alice")
    with pytest.raises(LedgerError, match="a copy"):
        copy.copy(alice)
    alice._process = (-1, 0)
    for use in (lambda: alice.remaining, lambda: alice.close(**BY), lambda: alice.child("x"), lambda: alice.children):
        with pytest.raises(LedgerError, match="process that made this budget"):
            use()
    with pytest.raises(LedgerError, match="process that made this budget"):
        Budget(parent=alice, epsilon=0.1, name="b")


def test_what_a_budget_holds(open_budget: OpenBudget, folder: Path) -> None:
    budget = open_budget()
    alice = Budget(parent=budget, epsilon=0.3, name="alice")
    other = Budget(parent=Budget(epsilon=1, ledger=folder / "other.db"), epsilon=0.3, name="alice")
    assert budget.holds(alice)
    assert alice.holds(alice)
    for inner, outer in ((budget, alice), (alice, other)):
        assert not outer.holds(inner)
    with pytest.raises(InvalidParameter, match="Expected a budget, got other='int'"):
        budget.holds(7)


# Beside threads and processes

TREE: dict[str, int | Fraction] = {"": 2, "a": 1, "a/b": 1, "a/b/c": Fraction(1, 2), "a/d": Fraction(4, 5), "e": 3}
"""Levels and their epsilon, some of them more than there is around them."""


def planted(budget: Budget) -> dict[str, Budget]:
    levels = {"": budget}
    for path, epsilon in list(TREE.items())[1:]:
        parent, _, name = path.rpartition("/")
        levels[path] = Budget(parent=levels[parent], epsilon=epsilon, name=name)
    return levels


def check(budget: Budget, allowed: dict[str, Fraction]) -> None:
    """No level was passed, and each has what its charges and those below add up to."""
    entries = budget.entries()
    for one in budget.levels():
        below = [entry.guarantee.epsilon for entry in entries if is_below(entry.level, one.path)]
        assert one.spent.epsilon == sum(below) <= allowed[one.path], one.path


def test_threads_at_all_levels(open_budget: OpenBudget, charge: MakeCharge, at_once: AtOnce) -> None:
    budget = open_budget(epsilon=2)
    levels = planted(budget)
    outcomes: list[bool] = []

    def analyst(name: int) -> None:
        chance = random.Random(name)  # noqa: S311 - who asks what
        for _ in range(10):
            level = levels[chance.choice(list(levels))]
            try:
                if chance.random() < 0.1:
                    level.freeze(by="x", why="y")
                    level.unfreeze(by="x", why="y")
                level.reserve(charge(Fraction(1, chance.choice([10, 15, 20])))).commit(b"answer")
                outcomes.append(True)
            except (BudgetExceeded, LedgerError):
                outcomes.append(False)

    at_once([partial(analyst, name) for name in range(16)], turn=1e-5)
    check(budget, {path: Fraction(epsilon) for path, epsilon in TREE.items()})
    assert outcomes.count(True) == len(budget.entries()) > 20
    assert outcomes.count(False) > 20


PROGRAM = """
import random, signal, time

def analyst(path, tree, name):
    chance, budget = random.Random(name), Budget(epsilon=2, ledger=path)
    while True:
        level = budget
        try:
            for step in filter(None, chance.choice(tree).split("/")):
                level = level.child(step)
            level.reserve(charge(Fraction(1, chance.choice([10, 15, 20])))).commit(b"answer")
            if chance.random() < 0.1:
                level.freeze(by=str(name), why="a test")
                level.unfreeze(by=str(name), why="a test")
            if chance.random() < 0.1 and level.path:
                level.raise_to(epsilon=level.allowance.epsilon + Fraction(1, 10), by=str(name), why="a test")
        except (BudgetExceeded, LedgerError):
            continue

for line in sys.stdin:
    path, *tree = line.rstrip("\\n").split("|")
    started = []
    for name in range(6):
        child = os.fork()
        if not child:
            try:
                analyst(path, tree, name)
            finally:
                os._exit(1)
        started.append(child)
    time.sleep(0.15)
    for child in started:
        time.sleep(random.random() * 0.03)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    print("over", flush=True)
"""


@pytest.mark.long
@pytest.mark.skipif(not hasattr(os, "fork"), reason="Windows has no fork")
def test_processes_killed_at_random_moments(folder: Path, start: Start) -> None:
    """Raises and freezes among the charges; what is left is verified line by line, and its sums at all levels."""
    process, charges, raises = start(PROGRAM), 0, 0
    assert process.stdout
    for number in range(6):
        path = folder / f"spent-{number}.db"
        planted(Budget(epsilon=2, ledger=path))
        print("|".join([str(path), *TREE]), file=process.stdin, flush=True)
        assert process.stdout.readline() == "over\n"
        told, left = verify(path), Budget(epsilon=2, ledger=path)
        check(left, {one: level.allowance.epsilon for one, level in told.balances.levels.items()})
        charges += told.number
        raises += sum(change.kind == "raise" for change in left.changes())
    assert charges > 24
    assert raises > 0


def test_two_who_raise_at_once(folder: Path, at_once: AtOnce) -> None:
    """Each says to what, not by how much: the second of two who say the same is told."""
    budgets = [Budget(epsilon=1, ledger=folder / "spent.db") for _ in range(8)]
    told: list[str] = []

    def curator(budget: Budget) -> None:
        try:
            budget.raise_to(epsilon=2, **BY)
            told.append("raised")
        except LedgerError:
            told.append("refused")

    at_once([partial(curator, budget) for budget in budgets], turn=1e-5)
    assert sorted(told) == ["raised", *["refused"] * 7]
    assert {str(budget.allowance) for budget in budgets} == {"epsilon=2"}


def test_a_copy_of_before_a_raise_is_an_older_copy(folder: Path) -> None:
    path = folder / "spent.db"
    budget = Budget(epsilon=1, ledger=path)
    shutil.copy(path, folder / "old.db")
    budget.close(**BY)
    (folder / "old.db").replace(path)
    with pytest.raises(LedgerError):
        Budget(epsilon=1, ledger=path)
    with pytest.raises(LedgerError):
        budget.entries()
