"""The commands of single verbs, `discreet top` and others: one charge, explained beforehand, refused in words."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import Result

from discreet.ledger.file_ledger import statement

Run = Callable[..., Result]

UNIT = ("--unit", "person", "--max-rows", "2", "--max-groups", "1")
BOUNDS = ("--bounds", "visits=0:10,site=0:4")
KEYS = ("--keys", r"plan=free,25%,\N")
CANDIDATES = (
    "SELECT COUNT(*) FILTER (WHERE visits >= 2) AS two, COUNT(*) FILTER (WHERE visits >= 6) AS six, "
    "SUM(visits) AS all_visits FROM data WHERE site < 4"
)
COMMANDS: dict[str, tuple[str, ...]] = {
    "top": ("plan", *KEYS, "--k", "2"),
    "choose": (CANDIDATES, *BOUNDS),
    "count-distinct": ("visits", *BOUNDS),
    "truncated-total": ("SELECT SUM(visits) FROM data WHERE site < 4", *BOUNDS),
    "hierarchy": ("SELECT site, plan, COUNT(*) AS n FROM data GROUP BY site, plan", "--keys", "places.parquet"),
    "kmeans": ("visits,site", *BOUNDS, "--clusters", "2", "--algorithm", "lloyd", "--rounds", "2"),
}
PLACES = pa.table({"site": [0, 1, 1, 2], "plan": ["free", "free", "25%", None]})


@pytest.fixture(autouse=True)
def _places(tmp_path: Path) -> None:
    """The last level of a path, in a file."""
    pq.write_table(PLACES, tmp_path / "places.parquet")


def flat(text: str) -> str:
    """A message without its frame."""
    return " ".join(re.sub("[│╭╮╰╯─]", " ", text).split())


@pytest.fixture(name="spent")
def _spent(run: Run, tmp_path: Path) -> Path:
    path = tmp_path / "spent.db"
    assert run("ledger", "create", path, "--epsilon", "1000").exit_code == 0
    return path


@pytest.mark.long
@pytest.mark.parametrize("name", COMMANDS)
def test_one_charge_and_a_table(run: Run, file: Path, spent: Path, name: str) -> None:
    words = (name, file, *COMMANDS[name], *UNIT, "--epsilon", "100", "--ledger", spent)
    told = run(*words, "--explain")
    assert told.exit_code == 0, told.stderr
    assert "charge  epsilon=100" in told.stdout
    assert statement(spent).spent.epsilon == 0
    done = run(*words, "--output", "out.parquet")
    assert done.exit_code == 0, done.stderr
    assert re.search(r"Charged epsilon=100 to \S*spent.db", flat(done.stderr))
    assert statement(spent).spent.epsilon == 100
    again = json.loads(run(*words, "--format", "json").stdout)
    assert statement(spent).spent.epsilon == 100
    assert again["receipt"]["charge"] == {"epsilon": "100", "delta": "0"}
    assert pq.read_table("out.parquet").num_rows == len(again["rows"])
    rows = list(csv.DictReader(run(*words, "--format", "csv").stdout.splitlines()))
    assert [list(row) for row in rows] == [list(row) for row in again["rows"]]
    account = json.loads(run(*words, "--explain", "--format", "json").stdout)
    assert account["charge"] == again["receipt"]["charge"]


@pytest.mark.long
def test_the_answers_are_those_of_the_verbs(run: Run, file: Path) -> None:
    price = ("--epsilon", "10000")
    chosen = json.loads(run("choose", file, CANDIDATES, *BOUNDS, *UNIT, *price, "--format", "json").stdout)
    assert chosen["rows"] == [{"chosen": "all_visits"}]
    few = "SELECT COUNT(*) FILTER (WHERE visits >= 2) AS two, COUNT(*) FILTER (WHERE visits >= 6) AS six FROM data"
    chosen = json.loads(run("choose", file, few, *BOUNDS, *UNIT, *price, "--format", "json").stdout)
    assert chosen["rows"] == [{"chosen": "two"}]
    best = run("top", file, "site", "--keys", "site=0,3", "--where", "site <> 0", *UNIT, *price, "--format", "csv")
    assert best.stdout.splitlines()[1:] == ["3"]
    as_set = run("top", file, "plan", *KEYS, "--k", "2", "--as-set", *UNIT, *price)
    assert "choice of" in as_set.stdout
    found = json.loads(run("count-distinct", file, "site", *UNIT, *price, "--format", "json").stdout)
    assert found["rows"] == [{"limit": found["rows"][0]["limit"], "value": 4, "value_low": 4, "value_high": None}]
    one = json.loads(run("count-distinct", file, "site", "--max-values", "1", *UNIT, *price, "--format", "json").stdout)
    assert one["rows"][0]["limit"] == 1
    drawn = run("kmeans", file, "visits,site", *BOUNDS, *UNIT, *price, "--plot", "centers.svg")
    assert drawn.exit_code == 0
    assert Path("centers.svg").exists()


@pytest.mark.long
def test_totals_and_levels_are_those_of_the_verbs(run: Run, file: Path) -> None:
    plain, price = UNIT[:2], ("--epsilon", "10000", "--format", "json")
    for text in (
        "SELECT COUNT(*) FROM data",
        "SELECT COUNT(plan) FROM data",
        "SELECT COUNT(*) FILTER (WHERE visits > 2) AS n FROM data WHERE site = 1",
        "SELECT SUM(visits * 2) FILTER (WHERE site = 1) FROM data",
    ):
        [[total]] = duckdb.execute(text.replace("data", f"'{file}'")).fetchall()
        for limit in (("auto", "--most", "32"), ("race", "--most", "32"), ("64",)):
            words = ("truncated-total", file, text, *plain, *BOUNDS, "--limit", *limit, *price)
            [row] = json.loads(run(*words).stdout)["rows"]
            assert abs(row["value"] - total) <= 1
    few = run("truncated-total", file, "SELECT COUNT(*) FROM data", *plain, "--most", "1", *price)
    assert json.loads(few.stdout)["rows"][0]["limit"] == 1
    words = ("hierarchy", file, "SELECT site, plan, COUNT(*) AS n FROM data GROUP BY site, plan", *UNIT)
    found = json.loads(run(*words, "--keys", "places.parquet", "--where", "visits < 7", *price).stdout)["rows"]
    assert [(row["level"], row["site"], row["plan"]) for row in found][:3] == [
        ("total", None, None),
        ("site", 0, None),
        ("site", 1, None),
    ]
    assert [round(row["n"]) for row in found] == [200, 50, 100, 50, 50, 50, 50, 50]
    cells = run(*words, "--keys", "places.parquet", "--cells", "visits=0,1", "--format", "csv", "--epsilon", "10000")
    rows = list(csv.DictReader(cells.stdout.splitlines()))
    assert list(rows[0]) == ["level", "site", "plan", "visits", "n", "n_low", "n_high"]
    assert len(rows) == 2 * 8


def test_no_limits_are_asked_for_that_a_verb_does_not_need(run: Run, file: Path) -> None:
    """Conditions and statements are read without them."""
    price, where = ("--epsilon", "100", "--unit", "person"), ("--where", "visits > 2")
    for words in (("top", file, "plan", *KEYS), ("count-distinct", file, "site")):
        done = run(*words, *where, *price)
        assert done.exit_code == 0, done.stderr


def test_intervals_have_the_confidence_that_was_asked_for(run: Run, file: Path) -> None:
    words = ("truncated-total", file, "SELECT COUNT(*) FROM data", *UNIT, "--epsilon", "1", "--limit", "4")
    found = []
    for confidence in ("0.5", "0.9", "1.5"):
        done = run(*words, "--format", "json", "--confidence", confidence)
        if done.exit_code == 0:
            [row] = json.loads(done.stdout)["rows"]
            found.append(row["value"] - row["value_low"])
    assert found[0] == 0
    assert found[1] > 5
    assert (done.exit_code, "a confidence between 0 and 1" in flat(done.stderr)) == (2, True)


REFUSED: dict[str, tuple[tuple[str, ...], str]] = {
    "no price": (("top", "plan", *KEYS), "--epsilon or --rho"),
    "no column": (("top",), "a file and what is asked of it"),
    "keys that nobody listed": (("top", "plan", "--epsilon", "1"), "public values of"),
    "an unknown column": (("top", "plans", "--epsilon", "1", "--keys", "plans=a"), "known column"),
    "keys of another column": (("top", "plan", "--epsilon", "1", "--keys", "site=1"), "keys"),
    "no condition": (
        ("top", "plan", *KEYS, "--epsilon", "1", "--where", "1 = 1) GROUP BY (plan"),
        "condition|SELECT|column",
    ),
    "two columns for a condition": (
        ("top", "plan", *KEYS, "--epsilon", "1", "--where", "site = 1; SELECT 1"),
        "statement|SQL|end",
    ),
    "groups to choose from": (
        ("choose", "SELECT plan, COUNT(*) AS n FROM data GROUP BY plan", *KEYS, "--epsilon", "1"),
        "GROUP BY|keys",
    ),
    "an average to choose": (
        ("choose", "SELECT AVG(visits) AS a, AVG(site) AS b FROM data", *BOUNDS, "--epsilon", "1"),
        "a count under a condition, or a sum",
    ),
    "a count of all rows": (
        ("choose", "SELECT COUNT(*) AS a, SUM(site) AS b FROM data", *BOUNDS, "--epsilon", "1"),
        "a count under a condition, or a sum",
    ),
    "two totals": (
        ("truncated-total", "SELECT SUM(site) AS a, COUNT(*) AS b FROM data", *BOUNDS, "--epsilon", "1"),
        "one count or sum, without GROUP BY",
    ),
    "a total in groups": (
        ("truncated-total", "SELECT plan, COUNT(*) AS n FROM data GROUP BY plan", "--epsilon", "1"),
        "one count or sum, without GROUP BY",
    ),
    "the rows of a total": (
        ("truncated-total", "SELECT COUNT(*) AS n FROM data LIMIT 1", "--epsilon", "1"),
        "groups and aggregates alone",
    ),
    "an average as a total": (
        ("truncated-total", "SELECT AVG(site) AS n FROM data", *BOUNDS, "--epsilon", "1"),
        "a count under a condition, or a sum",
    ),
    "a total without bounds": (
        ("truncated-total", "SELECT SUM(site) AS n FROM data", "--epsilon", "1"),
        "with bounds.*--bounds visits=0:1000",
    ),
    "a limit in words": (
        ("truncated-total", "SELECT COUNT(*) AS n FROM data", "--epsilon", "1", "--limit", "many"),
        "a whole number, auto or race",
    ),
    "levels without groups": (
        ("hierarchy", "SELECT COUNT(*) AS n FROM data", "--keys", "places.parquet", "--epsilon", "1"),
        "a statement that groups by the path",
    ),
    "levels without places": (
        ("hierarchy", "SELECT site, COUNT(*) AS n FROM data GROUP BY site", "--keys", "site=1,2", "--epsilon", "1"),
        "a Parquet file of all places",
    ),
    "cells of no column": (
        (*("hierarchy", COMMANDS["hierarchy"][0], "--keys", "places.parquet"), "--cells", "sites=1", "--epsilon", "1"),
        "keys of the columns grouped by, got cells",
    ),
    "one candidate": (
        ("choose", "SELECT SUM(site) AS b FROM data", *BOUNDS, "--epsilon", "1"),
        "2 to 1,000 candidates",
    ),
    "rho for pure parts": (("count-distinct", "site", "--rho", "1"), "an epsilon"),
    "no bounds": (("kmeans", "visits", "--epsilon", "1"), "bounds for"),
    "no such algorithm": (("kmeans", "visits", *BOUNDS, "--algorithm", "exec", "--epsilon", "1"), "'best' or 'lloyd'"),
    "a picture of a choice": (
        ("top", "plan", *KEYS, "--epsilon", "1", "--plot", "x.svg"),
        "an answer with a picture",
    ),
    "its own file": (("top", "plan", *KEYS, "--epsilon", "1", "--output", "people.parquet"), "a file of its own"),
}


@pytest.mark.long
@pytest.mark.parametrize("name", REFUSED)
def test_refusals_cost_nothing(run: Run, file: Path, spent: Path, name: str) -> None:
    (command, *words), match = REFUSED[name]
    done = run(command, file, *words, *UNIT, "--ledger", spent)
    assert done.exit_code == 2, done.stdout
    assert re.search(match, flat(done.stderr))
    assert statement(spent).spent.epsilon == 0


DECLARED = """
[table]
source = "people.parquet"
name = "clinic"
unit = "person"
[table.limits]
max_groups = 1
max_rows = 2
[columns.plan]
keys = ["free", "25%"]
[columns.visits]
bounds = [0, 10]
[budget]
epsilon = 1000
ledger = "declared.db"
"""


@pytest.mark.long
def test_a_declaration_stands_for_the_file_and_its_ledger(run: Run, file: Path) -> None:
    Path("clinic.toml").write_text(DECLARED, encoding="utf-8")
    told = run("top", "--table", "clinic.toml", "plan", "--epsilon", "1", "--explain")
    assert "clinic" in told.stdout, told.stderr
    assert not Path("declared.db").exists()
    for words in (
        ("top", "plan"),
        ("truncated-total", "SELECT SUM(visits) FROM clinic"),
        ("choose", "SELECT COUNT(*) FILTER (WHERE visits > 3) AS a, SUM(visits) AS b FROM clinic"),
        ("count-distinct", "site", "--where", "visits > 2"),
        ("kmeans", "visits"),
    ):
        done = run(words[0], "--table", "clinic.toml", *words[1:], "--epsilon", "10")
        assert done.exit_code == 0, done.stderr
    assert statement(Path("declared.db")).spent.epsilon == 50
    refused = run("top", file, "plan", "--table", "clinic.toml", "--epsilon", "1")
    assert (refused.exit_code, "one statement beside --table" in flat(refused.stderr)) == (2, True)
