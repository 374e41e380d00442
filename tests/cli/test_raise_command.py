"""`discreet ledger raise`: an entry with who and why, and nothing given back."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import pytest
from typer.testing import Result

from discreet.ledger.budget import Budget

Run = Callable[..., Result]


def test_a_raise_is_an_entry(run: Run) -> None:
    run("ledger", "create", "spent.db", "--epsilon", "1")
    done = run("ledger", "raise", "spent.db", "--epsilon", "1.5", "--by", "carol", "--why", "the board, 3 May")
    assert done.exit_code == 0
    assert (
        done.stdout == "spent.db: raised to epsilon=1.5. In all, spent epsilon=0 of epsilon=1.5; epsilon=1.5 remains.\n"
    )
    budget = Budget(epsilon=1.5, ledger="spent.db")
    [change] = budget.changes()
    assert (change.by, change.why, change.kind) == ("carol", "the board, 3 May", "raise")


def test_levels_and_rho_are_raised_too(run: Run) -> None:
    whole = Budget(rho=0.5, ledger="rho.db")
    Budget(parent=Budget(parent=whole, rho=0.2, name="staff"), rho=0.1, name="alice")
    done = run(
        *("ledger", "raise", "rho.db", "--rho", "0.15", "--level", "staff/alice", "--by", "carol", "--why", "a course")
    )
    assert done.stdout.startswith("rho.db, level staff/alice: raised to rho=0.15. In all, spent rho=0 of rho=0.5;")
    assert whole.child("staff").child("alice").allowance.rho == Fraction("0.15")


@pytest.mark.parametrize(
    ("stated", "why"),
    [
        ([], "a larger amount"),
        (["--epsilon", "0.5"], "Expected"),
        (["--epsilon", "x"], "Expected"),
        (["--epsilon", "2", "--level", "nobody"], "Expected"),
    ],
)
def test_what_is_no_raise_is_refused(run: Run, stated: list[str], why: str) -> None:
    run("ledger", "create", "spent.db", "--epsilon", "1")
    done = run("ledger", "raise", "spent.db", *stated, "--by", "carol", "--why", "because")
    assert done.exit_code == 2
    assert why in done.stderr
    assert "raised" not in done.stdout
    assert Budget(epsilon=1, ledger="spent.db").changes() == ()


def test_nothing_is_raised_where_nothing_is(run: Run) -> None:
    done = run("ledger", "raise", "none.db", "--epsilon", "2", "--by", "carol", "--why", "because")
    assert done.exit_code == 2
    assert "a ledger that exists" in done.stderr
