"""`discreet ledger`: made once, shown as it stands."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

from typer.testing import Result

from discreet.ledger.budget import Budget
from discreet.ledger.declared_sources import DeclaredSource
from discreet.ledger.file_ledger import statement
from discreet.ledger.ledger import Charge
from discreet.privacy.definitions import Guarantee

Run = Callable[..., Result]


def test_a_ledger_is_made_once(run: Run) -> None:
    made = run("ledger", "create", "spent.db", "--epsilon", "0.3", "--delta", "1e-8", "--own-delta", "1e-8")
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
    assert facts["allowance"] == {"epsilon": "1", "delta": "0", "rho": "0", "own_delta": "0"}
    [entry] = facts["entries"]
    for amounts in (facts["spent"], entry):
        found = [Fraction(amounts[name]) for name in ("epsilon", "delta", "rho", "slack")]
        assert found == [Fraction(1, 4), 0, Fraction(1, 32), 0]
    assert entry["event"]["event"] == "composed"
    assert entry["answered"] is True


def test_what_is_no_ledger_is_refused(run: Run, file: Path) -> None:
    for path in ("none.db", file, "."):
        done = run("ledger", "show", path)
        assert done.exit_code == 2
        assert "Hint:" in done.stderr
    empty = Path("empty.db")
    empty.touch()
    assert run("ledger", "show", empty).exit_code == 2


def test_ledgers_of_every_kind(run: Run) -> None:
    """What was stated is shown, by the command and by the budget that uses the file."""
    union = ("--epsilon", "1", "--delta", "1e-6")
    kinds = {
        "union.db": (union, Budget(epsilon=1, delta=1e-6), "spent epsilon=0, delta=0, rho=0 of "),
        "own.db": ((*union, "--own-delta", "1e-7"), Budget(epsilon=1, delta=1e-6, own_delta=1e-7), "rho=0.023"),
        "rho.db": (("--rho", "0.5", "--delta", "1e-9"), Budget(rho=0.5, delta=1e-9), "spent rho=0, delta=0 of rho=0.5"),
    }
    for name, (words, budget, shown) in kinds.items():
        assert run("ledger", "create", name, *words).exit_code == 0
        assert shown in run("ledger", "show", name).stdout
        assert str(statement(name).allowance) in repr(budget)


def test_amounts_are_checked(run: Run) -> None:
    for words in (
        ("--epsilon", "1", "--rho", "1"),
        ("--rho", "1", "--own-delta", "0"),
        ("--epsilon", "0"),
        ("--epsilon", "x"),
        ("--epsilon", "1", "--delta", "-1"),
        (),
    ):
        assert run("ledger", "create", "spent.db", *words).exit_code == 2
        assert not Path("spent.db").exists()


def test_controls_reach_no_terminal(run: Run, ledger: Path) -> None:
    """An analyst's name that would clear the screen, or turn what follows around, is shown by its codes."""
    name = "a\x1b[2J\x9b31m\u202eb\x7f\nc"
    source = DeclaredSource(name=name, version="1", unit=("person",), neighbors="add-remove")
    guarantee = Guarantee(epsilon=Fraction(1, 4))
    charge = Charge(source=name, what=name, key="ab" * 32, guarantee=guarantee, declared=(source,))
    Budget(epsilon=1, ledger=ledger).reserve(charge)
    for words in ((), ("--json",), ("--last", "1")):
        shown = run("ledger", "show", ledger, *words).stdout
        assert not set("\x1b\x9b\u202e\x7f") & set(shown)
    assert json.loads(run("ledger", "show", ledger, "--json").stdout)["sources"][0]["name"] == name
    assert json.loads(run("ledger", "show", ledger, "--json", "--last", "0").stdout)["entries"] == []


def test_a_ledger_is_verified_and_copied(run: Run, ledger: Path) -> None:
    assert "whole, with 0 charges" in run("ledger", "verify", ledger).stdout
    copy = ledger.with_name("copy.db")
    assert "a copy of" in run("ledger", "backup", ledger, copy).stdout
    assert statement(copy) == replace(statement(ledger), path=str(copy.resolve()))
    assert run("ledger", "backup", ledger, copy).exit_code == 2
    assert run("ledger", "verify", "none.db").exit_code == 2


def test_a_head_is_published_and_verified(run: Run) -> None:
    run("ledger", "create", "spent.db", "--epsilon", "1")
    public = run("ledger", "key", "curator.key").stdout.strip()
    assert Path("curator.key").stat().st_mode & 0o777 == 0o600
    assert run("ledger", "key", "curator.key").exit_code == 2
    for name, words in (("signed.json", ("--key", "curator.key")), ("plain.json", ())):
        done = run("ledger", "head", "spent.db", *words)
        assert done.exit_code == 0
        Path(name).write_text(done.stdout, encoding="utf-8")
    Budget(epsilon=1, ledger="spent.db").close(by="carol", why="the end")
    seen = run("ledger", "verify", "spent.db", "--head", "signed.json", "--public-key", public)
    assert seen.exit_code == 0
    assert f"with 0 charges, signed by {public}." in seen.stdout
    assert "which nobody signed" in run("ledger", "verify", "spent.db", "--head", "plain.json").stdout
    run("ledger", "create", "other.db", "--epsilon", "1")
    for refused_words in (
        ("other.db", "--head", "signed.json"),
        ("spent.db", "--head", "plain.json", "--public-key", public),
        ("spent.db", "--head", "none.json"),
        ("spent.db", "--head", "curator.key"),
        ("spent.db", "--public-key", public),
    ):
        refused = run("ledger", "verify", *refused_words)
        assert refused.exit_code == 2
        assert "Hint:" in refused.stderr


def test_levels_and_changes_are_shown(run: Run) -> None:
    budget = Budget(epsilon=1, ledger="spent.db")
    alice = Budget(parent=budget, epsilon=0.3, name="[bold]alice", by="carol", why="a course")
    charge = Charge(source="people", what="count", key="ab" * 32, guarantee=Guarantee(epsilon=Fraction(1, 10)))
    alice.reserve(charge)
    alice.freeze(by="dan", why="a doubt")
    shown = run("ledger", "show", "spent.db").stdout
    for word in ("asked by", "[bold]alice", "epsilon=0.3", "frozen"):
        assert word in shown
    facts = json.loads(run("ledger", "show", "spent.db", "--json").stdout)
    assert [(one["path"], one["standing"]) for one in facts["levels"]] == [("", "open"), ("[bold]alice", "frozen")]
    assert [(one["kind"], one["by"], one["after"]) for one in facts["changes"]] == [
        ("open", "carol", 0),
        ("freeze", "dan", 1),
    ]
    assert facts["changes"][0]["allowance"]["epsilon"] == "3/10"
    assert (facts["entries"][0]["level"], facts["entries"][0]["asked_by"]) == ("[bold]alice", "[bold]alice")


def test_no_password_is_shown(run: Run) -> None:
    """Of a server that is not there."""
    url = "postgresql://carol:s3cr3t@127.0.0.1:1/study#visits"
    for words in (
        ("create", url, "--epsilon", "1"),
        ("show", url),
        ("verify", url),
        ("head", url),
        ("backup", url, "x"),
    ):
        done = run("ledger", *words)
        assert done.exit_code == 2
        assert "postgresql://127.0.0.1:1/study#visits" in done.stderr.replace("\n", "").replace("│", "").replace(
            " ", ""
        )
        assert "s3cr3t" not in done.stdout + done.stderr


DECLARED = """
[table]
source = "people.parquet"
unit = "person"
[budget]
epsilon = 1
"""


def test_a_declaration_stands_for_its_ledger(run: Run, file: Path) -> None:
    place = file.with_name("people.toml")
    place.write_text(DECLARED + 'ledger = "kept.db"\n', encoding="utf-8")
    refused = run("ledger", "show", str(place))
    assert refused.exit_code == 2
    assert "a ledger that exists" in refused.stderr
    assert "beside a declaration" in run("ledger", "create", str(place), "--epsilon", "2").stderr
    made = run("ledger", "create", str(place))
    assert (made.exit_code, "spent epsilon=0 of epsilon=1" in made.stdout) == (0, True), made.stderr
    assert "not there yet" in run("ledger", "create", str(place)).stderr
    for words in (("show",), ("verify",), ("head",)):
        by_file, by_ledger = (run("ledger", *words, str(one)) for one in (place, file.with_name("kept.db")))
        assert by_file.exit_code == 0, by_file.stderr
        if words != ("head",):  # which tells the time
            assert by_file.stdout == by_ledger.stdout
    copied = run("ledger", "backup", str(place), str(file.with_name("copy.db")))
    assert (copied.exit_code, file.with_name("copy.db").exists()) == (0, True)
    place.write_text(DECLARED, encoding="utf-8")
    assert "a declaration that names its ledger" in run("ledger", "show", str(place)).stderr
