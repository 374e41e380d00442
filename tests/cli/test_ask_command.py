"""`discreet ask`: an answer of a service, as a command."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from typer.testing import Result

from served_demo import served_demo

Run = Callable[..., Result]
BY_PLAN = "SELECT plan, COUNT(*) AS n FROM people GROUP BY plan"


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, str]]:
    """The demonstration, and the file of the analyst's token."""
    folder = tmp_path_factory.mktemp("service")
    with served_demo(folder) as found:
        file = folder / "token"
        file.write_text(found.tokens["analyst"] + "\n", encoding="utf-8")
        yield found.url, str(file)


def test_a_service_is_asked(run: Run, served: tuple[str, str]) -> None:
    url, token = served
    done = run("ask", url, BY_PLAN, "--epsilon", "0.01", "--token-file", token, "--format", "json")
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    assert [row["plan"] for row in found["rows"]] == ["free", "25%", "50%", "95%", "deductible"]
    assert found["receipt"]["charge"] == {"epsilon": "0.01", "delta": "0"}
    again = run("ask", url, BY_PLAN, "--epsilon", "0.01", "--token-file", token, "--format", "csv")
    assert again.stdout.splitlines()[0] == '"plan","n","n_low","n_high"'
    assert [int(line.split(",")[1]) for line in again.stdout.splitlines()[1:]] == [row["n"] for row in found["rows"]]


def test_the_price_is_shown_for_nothing(run: Run, served: tuple[str, str]) -> None:
    url, token = served
    asked = ("ask", url, BY_PLAN, "--epsilon", "1000", "--token-file", token)
    done = run(*asked, "--explain", "--format", "json")
    assert json.loads(done.stdout)["charge"] == {"epsilon": "1000", "delta": "0"}
    refused = run(*asked)
    assert refused.exit_code == 2
    assert "Expected" in refused.stderr


def test_what_cannot_be_sent_is_refused(run: Run, served: tuple[str, str], tmp_path: Path) -> None:
    url, token = served
    for words, said in (
        (("ask", url, BY_PLAN, "--epsilon", "1", "--token-file", str(tmp_path / "none")), "a file with a token"),
        (("ask", "http://numbers.example", BY_PLAN, "--epsilon", "1", "--token-file", token), "https"),
        (("ask", url, BY_PLAN, "--token-file", token), "--epsilon or --rho"),
        (
            ("ask", url, BY_PLAN, "--epsilon", "1", "--explain", "--format", "csv", "--token-file", token),
            "table or json",
        ),
    ):
        done = run(*words)
        assert done.exit_code == 2
        assert said in done.stderr
