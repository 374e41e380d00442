"""What is let in at each level of a budget, against plain sums over all charges."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import BudgetExceeded, LedgerError
from discreet.ledger.level_changes import CLOSE, FREEZE, OPEN, RAISE, UNFREEZE, LevelChange
from discreet.ledger.level_names import is_below, lineage
from discreet.ledger.nested_levels import Balances
from discreet.ledger.privacy_filter import NOTHING, Allowance, Spending
from discreet.privacy.definitions import Guarantee

TENTH = Spending.of(Fraction(1, 10))
ONE = Allowance.union(1)


def change(kind: str, level: str, allowance: Allowance | None = None) -> LevelChange:
    return LevelChange(kind=kind, level=level, allowance=allowance, by="carol", why="a test")


def nested(whole: Allowance = ONE, **levels: Any) -> Balances:
    """Balances with levels of so much epsilon, or of an allowance, by path with ``__`` for a slash."""
    balances = Balances.of(whole)
    for path, stated in levels.items():
        allowance = stated if isinstance(stated, Allowance) else Allowance.union(stated)
        balances = balances.changed(change(OPEN, path.replace("__", "/"), allowance))
    return balances


def charged(balances: Balances, *paths: str, cost: Spending = TENTH) -> Balances:
    for path in paths:
        balances = balances.charged(path, cost)
    return balances


def test_a_charge_is_counted_at_all_levels() -> None:
    after = charged(nested(staff=1, staff__alice=1, staff__bob=1), "staff/alice", "staff/bob", "staff", "")
    spent = {path: level.spent.epsilon * 10 for path, level in after.levels.items()}
    assert spent == {"": 4, "staff": 3, "staff/alice": 1, "staff/bob": 1}
    assert (after.number, after.changes) == (4, 3)


@pytest.mark.parametrize(
    ("levels", "names"),
    [
        ({"a": Fraction(3, 10), "a__b": 1, "a__b__c": 1}, "level 'a',"),
        ({"a": 1, "a__b": Fraction(3, 10), "a__b__c": 1}, "level 'a/b',"),
        ({"a": 1, "a__b": 1, "a__b__c": Fraction(3, 10)}, "level 'a/b/c',"),
        ({"a": 2, "a__b": 2, "a__b__c": 2}, "the whole budget,"),
    ],
)
def test_every_level_bounds_what_is_below(levels: dict[str, Any], names: str) -> None:
    balances = nested(Allowance.union(Fraction(3, 10)) if "whole" in names else ONE, **levels)
    balances = charged(balances, *["a/b/c"] * 3)
    with pytest.raises(BudgetExceeded, match=names):
        balances.charged("a/b/c", Spending.of(Fraction(1, 10**9)))
    assert balances.whole.spent.epsilon == Fraction(3, 10)


def test_a_budget_without_levels_speaks_of_none() -> None:
    with pytest.raises(BudgetExceeded) as refusal:
        Balances.of(ONE).charged("", Spending.of(Fraction(2)))
    assert "level" not in str(refusal.value)
    assert "whole" not in str(refusal.value)


def test_levels_of_several_kinds() -> None:
    """A level in rho inside of one in epsilon: both sums are kept, and both refuse."""
    balances = nested(ONE, a=Allowance.concentrated(Fraction(1, 50)))
    balances = charged(balances, *["a"] * 4)
    with pytest.raises(BudgetExceeded, match="rho=0 of level 'a'"):
        balances.charged("a", TENTH)
    assert balances.remaining("a") == Guarantee(epsilon=Fraction(6, 10), rho=Fraction(0))
    assert charged(balances, *[""] * 6).remaining("") == Guarantee(epsilon=Fraction(0))


@pytest.mark.parametrize("kind", [FREEZE, CLOSE])
@pytest.mark.parametrize("level", ["", "staff", "staff/alice"])
def test_nothing_is_charged_below_a_level_that_is_not_open(kind: str, level: str) -> None:
    before = nested(staff=1, staff__alice=1, other=1)
    after = before.changed(change(kind, level))
    with pytest.raises(BudgetExceeded, match="to be open"):
        after.charged("staff/alice", TENTH)
    assert after.more("staff/alice", TENTH) == 0
    assert after.remaining("staff/alice") == Guarantee(epsilon=Fraction(0))
    assert after.standing("staff/alice") == ("frozen" if kind == FREEZE else "closed")
    if level:
        assert charged(after, "other").levels["other"].spent == TENTH
    if kind == FREEZE:
        assert charged(after.changed(change(UNFREEZE, level)), "staff/alice").number == 1


def test_what_is_closed_stays_closed() -> None:
    closed = nested(staff=1, staff__alice=1).changed(change(CLOSE, "staff"))
    for kind, path, allowance in [
        (UNFREEZE, "staff", None),
        (FREEZE, "staff", None),
        (CLOSE, "staff", None),
        (RAISE, "staff", Allowance.union(2)),
        (RAISE, "staff/alice", Allowance.union(2)),
        (OPEN, "staff/bob", ONE),
        (UNFREEZE, "staff/alice", None),
    ]:
        with pytest.raises(LedgerError, match="to be open, got closed"):
            closed.changed(change(kind, path, allowance))


def test_a_frozen_level_is_frozen_once() -> None:
    frozen = nested(staff=1).changed(change(FREEZE, "staff"))
    with pytest.raises(LedgerError, match="that is open"):
        frozen.changed(change(FREEZE, "staff"))
    with pytest.raises(LedgerError, match="that is frozen"):
        nested(staff=1).changed(change(UNFREEZE, "staff"))
    assert frozen.changed(change(CLOSE, "staff")).standing("staff") == "closed"


def test_a_level_is_opened_once_and_again_with_the_same_allowance() -> None:
    balances = nested(staff=Fraction(1, 2))
    assert balances.changed(change(OPEN, "staff", Allowance.union(0.5))) is balances
    with pytest.raises(LedgerError, match="the allowance of this level"):
        balances.changed(change(OPEN, "staff", Allowance.union(0.6)))
    with pytest.raises(LedgerError, match="a level of this budget"):
        balances.changed(change(OPEN, "stuff/alice", ONE))
    with pytest.raises(LedgerError, match="did you mean 'staff'"):
        balances.charged("stafff", TENTH)


# Raises


def test_a_raise_lets_more_in() -> None:
    balances = charged(nested(Allowance.union(2), a=Fraction(1, 10)), "a")
    with pytest.raises(BudgetExceeded):
        balances.charged("a", TENTH)
    raised = balances.changed(change(RAISE, "a", Allowance.union(Fraction(2, 10))))
    assert raised.remaining("a") == Guarantee(epsilon=Fraction(1, 10))
    assert raised.remaining("") == balances.remaining("")
    assert charged(raised, "a").levels["a"].spent.epsilon == Fraction(1, 5)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (Allowance.union(1), Allowance.union(1)),
        (Allowance.union(1), Allowance.union(Fraction(9, 10))),
        (Allowance.union(1, 1e-6), Allowance.union(2)),
        (Allowance.union(1, 1e-6), Allowance.union(2, 1e-7)),
        (Allowance.union(1, 1e-6), Allowance.union(2, 1e-6, own=0)),
        (Allowance.union(1, 1e-6), Allowance.union(2, 1e-6, own=1e-6)),
        (Allowance.union(1), Allowance.concentrated(10)),
        (Allowance.concentrated(1), Allowance.union(10)),
        (Allowance.concentrated(1, 1e-6), Allowance.concentrated(2)),
    ],
)
def test_a_raise_lowers_nothing(old: Allowance, new: Allowance) -> None:
    with pytest.raises(LedgerError, match="above the present one"):
        Balances.of(old).changed(change(RAISE, "", new))


def test_a_settled_level_stays_settled() -> None:
    """Its first charge has more delta than is kept for such: plain sums decide, and a raise may not bring rho back,
    or the deltas of both rules would be spent.
    """
    old = Allowance.union(1, Fraction(9, 10**6))
    first = Spending.of(Fraction(1, 10), Fraction(5, 10**6))
    settled = Balances.of(old).charged("", first)
    with pytest.raises(LedgerError, match="keeps the rule of earlier charges"):
        settled.changed(change(RAISE, "", Allowance.union(1, Fraction(18, 10**6))))
    kept = settled.changed(change(RAISE, "", Allowance.union(2, Fraction(18, 10**6), own=Fraction(3, 10**6))))
    last = charged(kept, *[""] * 19)
    assert last.whole.spent.epsilon == 2
    with pytest.raises(BudgetExceeded):
        last.charged("", Spending.of(Fraction(1, 10**6)))


def test_the_amounts_of_a_raise() -> None:
    union = Allowance.union(1, 3e-6)
    assert union.raised(epsilon=2) == Allowance.union(2, 3e-6)
    assert union.raised(delta=6e-6) == Allowance.union(1, 6e-6)
    assert union.raised(delta=9e-6, own=1e-6) == Allowance.union(1, 9e-6, own=1e-6)
    assert Allowance.union(1, 3e-6, own=0).raised(delta=6e-6).part == 0
    assert Allowance.union(1, 3e-6, own=3e-6).raised(delta=6e-6) == Allowance.union(1, 6e-6, own=6e-6)
    assert Allowance.union(1).raised(epsilon=2) == Allowance.union(2)
    assert Allowance.concentrated(1, 1e-6).raised(rho=2) == Allowance.concentrated(2, 1e-6)


# Any sequence

PATHS = ("", "a", "a/b", "a/b/c", "a/d", "e")
amounts = st.sampled_from([Fraction(1, 10), Fraction(1, 3), Fraction(1, 2), Fraction(1), Fraction(5, 7)])
steps = st.tuples(
    st.sampled_from(["charge", "charge", "charge", OPEN, RAISE, FREEZE, UNFREEZE, CLOSE]),
    st.sampled_from(PATHS),
    amounts,
)


@given(st.lists(steps, max_size=40))
def test_no_level_is_ever_passed(sequence: list[tuple[str, str, Fraction]]) -> None:
    """Against plain sums: a charge is let in exactly when all levels around it are open and have room for it."""
    balances, allowed = Balances.of(ONE), {"": Fraction(1)}
    standing, charges = {"": "open"}, list[tuple[str, Fraction]]()

    def spent(path: str) -> Fraction:
        return sum((amount for one, amount in charges if is_below(one, path)), Fraction(0))

    for kind, path, amount in sequence:
        around = lineage(path)
        if kind == "charge":
            fits = all(
                one in allowed and standing[one] == "open" and spent(one) + amount <= allowed[one] for one in around
            )
            try:
                balances = balances.charged(path, Spending.of(amount))
                charges.append((path, amount))
                assert fits
            except (BudgetExceeded, LedgerError):
                assert not fits
        else:
            allowance = Allowance.union(amount) if kind in (OPEN, RAISE) else None
            try:
                after = balances.changed(change(kind, path, allowance))
            except LedgerError:
                continue
            if after is balances:  # open already, with this allowance
                assert (kind, allowed[path]) == (OPEN, amount)
                continue
            if kind in (OPEN, RAISE):
                assert allowed.get(path, Fraction(0)) <= amount
                allowed[path] = amount
            standing[path] = {FREEZE: "frozen", CLOSE: "closed", UNFREEZE: "open"}.get(kind, standing.get(path, "open"))
            assert all(standing[one] != "closed" or one == path for one in around)
            balances = after
        assert {one: level.spent.epsilon for one, level in balances.levels.items()} == {p: spent(p) for p in allowed}
        assert {one: level.standing for one, level in balances.levels.items()} == standing
        for one in allowed:
            left = [allowed[p] - spent(p) if standing[p] == "open" else 0 for p in lineage(one)]
            is_open = all(standing[p] == "open" for p in lineage(one))
            assert balances.remaining(one).epsilon == (min(left) if is_open else 0)


def test_closing_is_for_good_whatever_comes() -> None:
    """No change leads out of ``closed``."""
    closed = nested(a=1).changed(change(CLOSE, "a"))
    states = [closed]
    for kind in (OPEN, RAISE, FREEZE, UNFREEZE, CLOSE):
        try:
            states.append(closed.changed(change(kind, "a", ONE if kind in (OPEN, RAISE) else None)))
        except LedgerError:
            continue
    assert all(first.levels["a"] == second.levels["a"] for first, second in pairwise(states))
    assert closed.whole.spent == NOTHING
