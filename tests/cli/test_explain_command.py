"""`discreet explain`: all that a query would do, without reading a row or spending anything."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import Result

from discreet.ledger.file_ledger import statement

Run = Callable[..., Result]

BY_PLAN = "SELECT plan, COUNT(*) AS n, AVG(visits) FROM data GROUP BY plan"
WORDS = (
    "--unit", "person", "--bounds", "visits=0:10", "--max-rows", "2", "--max-groups", "1", "--keys", "plan=free,25%",
    "--epsilon", "0.5",
)  # fmt: skip


@pytest.fixture(autouse=True)
def _no_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    """No row is read."""

    def look(*_: object) -> None:
        pytest.fail("a row was looked at")

    monkeypatch.setattr("discreet.engines.duckdb.DuckDB.totals", look)


def test_it_tells_mechanism_error_and_cost(run: Run, file: Path) -> None:
    done = run("explain", file, BY_PLAN, *WORDS)
    assert done.exit_code == 0
    for word in ("add-remove", "max_groups=1, max_rows=2", "epsilon=0.5", "avg_visits", "/n", "moves"):
        assert word in done.stdout
    assert "SELECT" not in done.stdout


def test_json_has_every_fact(run: Run, file: Path) -> None:
    facts = json.loads(run("explain", file, BY_PLAN, *WORDS, "--format", "json").stdout)
    assert [column["name"] for column in facts["columns"]] == ["n", "avg_visits"]
    assert facts["charge"]["epsilon"] == "0.5"
    assert "sql" not in facts
    assert "SELECT" in json.loads(run("explain", file, BY_PLAN, *WORDS, "--format", "json", "--sql").stdout)["sql"]


def test_errors_for_an_assumed_number_of_rows(run: Run, file: Path) -> None:
    errors = [
        json.loads(run("explain", file, BY_PLAN, *WORDS, "--rows-assumed", n, "--format", "json").stdout)["columns"][1]
        for n in (1000, 100_000)
    ]
    assert float(errors[0]["plus_minus"]) > 10 * float(errors[1]["plus_minus"]) > 0
    refused = run("explain", file, BY_PLAN, *WORDS, "--rows-assumed", 0)
    assert refused.exit_code == 2


def test_the_statement_is_shown_on_request(run: Run, file: Path) -> None:
    assert "SELECT" in run("explain", file, BY_PLAN, *WORDS, "--sql").stdout


def test_the_options_of_query_are_taken_and_nothing_is_written(run: Run, file: Path, ledger: Path) -> None:
    before = sorted(path.name for path in Path().iterdir())
    words = ("--ledger", ledger, "--fresh", "--output", "out.csv", "--plot", "p.png", "--name", "a", "--version", "b")
    done = run("explain", file, BY_PLAN, *WORDS, *words)
    assert done.exit_code == 0
    assert "spent epsilon=0 of epsilon=1; epsilon=1 remains." in done.stderr
    assert sorted(path.name for path in Path().iterdir()) == before
    assert statement(ledger).entries == ()


def test_refusals_are_those_of_query(run: Run, file: Path) -> None:
    for words in (("--format", "csv"), ("--max-rows", "0"), ("--ledger", "none.db"), ("--confidence", "2")):
        done = run("explain", file, BY_PLAN, *WORDS, *words)
        assert done.exit_code == 2
        assert "Hint:" in done.stderr


def test_delta_is_part_of_the_price(run: Run, file: Path) -> None:
    text = "SELECT plan, COUNT(*) AS n FROM data GROUP BY plan"
    words = ("--unit", "person", "--max-rows", "2", "--max-groups", "1", "--epsilon", "0.5", "--delta", "1e-6")
    done = run("explain", file, text, *words, "--keys", "unknown")
    assert done.exit_code == 0
    assert "epsilon=0.5, delta=0.000001" in done.stdout
