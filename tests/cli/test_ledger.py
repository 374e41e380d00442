"""`discreet ledger`: made once, shown as it stands."""

from __future__ import annotations

import json
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

from typer.testing import Result

Run = Callable[..., Result]


def test_a_ledger_is_made_once(run: Run) -> None:
    made = run("ledger", "create", "spent.db", "--epsilon", "0.3", "--delta", "1e-8")
    assert made.exit_code == 0
    assert made.stdout == (
        "spent.db: spent epsilon=0, delta=0 of epsilon=0.3, delta=0.00000001; epsilon=0.3, delta=0.00000001 remains.\n"
    )
    again = run("ledger", "create", "spent.db", "--epsilon", "0.3")
    assert again.exit_code == 2
    assert "Expected a path where nothing is" in again.stderr


def test_entries_are_shown(ask: Run, run: Run, ledger: Path) -> None:
    assert "spent epsilon=0 of epsilon=1" in run("ledger", "show", ledger).stdout
    ask("--ledger", ledger, "--name", "a [bold]name[/]", epsilon="0.25")
    shown = run("ledger", "show", ledger).stdout
    for word in ("a [bold]name[/]", "epsilon=0.25", "by plan", "yes", "epsilon=0.75 remains"):
        assert word in shown
    facts = json.loads(run("ledger", "show", ledger, "--json").stdout)
    assert (facts["allowance"], facts["spent"]) == ({"epsilon": "1", "delta": "0"}, {"epsilon": "1/4", "delta": "0"})
    [entry] = facts["entries"]
    assert Fraction(entry["epsilon"]) == Fraction(1, 4)
    assert entry["answered"] is True


def test_what_is_no_ledger_is_refused(run: Run, file: Path) -> None:
    for path in ("none.db", file, "."):
        done = run("ledger", "show", path)
        assert done.exit_code == 2
        assert "Hint:" in done.stderr
    empty = Path("empty.db")
    empty.touch()
    assert run("ledger", "show", empty).exit_code == 2


def test_amounts_are_checked(run: Run) -> None:
    for words in (("--epsilon", "0"), ("--epsilon", "x"), ("--epsilon", "1", "--delta", "-1"), ()):
        assert run("ledger", "create", "spent.db", *words).exit_code == 2
        assert not Path("spent.db").exists()
