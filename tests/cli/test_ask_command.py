"""`discreet ask`: an answer of a service, as a command."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import Result

from served_demo import served_demo

Run = Callable[..., Result]
FROM = {"from": {"table": "people"}}
BY_PLAN = "SELECT plan, COUNT(*) AS n FROM people GROUP BY plan"


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, str]]:
    """The demonstration, and the file of the analyst's token."""
    folder = tmp_path_factory.mktemp("service")
    with served_demo(folder) as found:
        file = folder / "token"
        file.write_text(found.tokens["analyst"] + "\n", encoding="utf-8")
        yield found.url, str(file)


@pytest.mark.long
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
        (("ask", url, BY_PLAN, "--token-file", token), "--rho or --within"),
        (
            ("ask", url, BY_PLAN, "--epsilon", "1", "--explain", "--format", "csv", "--token-file", token),
            "table or json",
        ),
    ):
        done = run(*words)
        assert done.exit_code == 2
        assert said in done.stderr


@pytest.mark.long
def test_the_charge_and_what_is_left_are_told(run: Run, served: tuple[str, str]) -> None:
    url, token = served
    asked = ("ask", url, "SELECT COUNT(*) AS n FROM people", "--within", "n=400", "--token-file", token)
    first, again = run(*asked), run(*asked)
    told = re.search(r"Charged epsilon=(\S+); of analyst 'analyst', epsilon=(\S+) remains", first.stderr)
    assert told is not None, first.stderr
    cost, left = told.groups()
    assert 0 < float(cost) < 0.1
    assert f"Repeated, nothing charged; of analyst 'analyst', epsilon={left} remains." in " ".join(again.stderr.split())
    assert again.stdout == first.stdout


@pytest.mark.long
def test_keys_are_listed_or_found(run: Run, served: tuple[str, str]) -> None:
    url, token = served
    text = "SELECT site, COUNT(*) AS n FROM people GROUP BY site"
    asked = ("ask", url, text, "--max-groups", "1", "--max-rows", "5", "--token-file", token, "--format", "json")
    listed = run(*asked, "--keys", "site=1,2", "--epsilon", "0.01")
    assert [row["site"] for row in json.loads(listed.stdout)["rows"]] == [1, 2]
    refused = run(*asked, "--keys", "sites.parquet", "--epsilon", "0.01")
    assert refused.exit_code == 2
    assert "keys that are listed, or unknown" in refused.stderr
    assert run(*asked, "--keys", "site=unknown", "--epsilon", "0.01").exit_code == 2
    looked = ("--keys", "unknown", "--epsilon", "0.01", "--delta", "1e-6")
    found = run(*asked, *looked, "--explain")
    assert found.exit_code == 0, found.stderr
    assert json.loads(found.stdout)["charge"] == {"epsilon": "0.01", "delta": "0.000001"}
    for words, amount in ((looked, "delta"), (("--keys", "site=1,2", "--rho", "0.0001"), "rho")):
        refused = run(*asked, *words)  # the demonstration allows epsilon alone
        assert refused.exit_code == 2
        assert f"a charge without {amount}, of which data set 'people' allows none" in " ".join(
            refused.stderr.replace("│", " ").split()
        )


@pytest.mark.long
@pytest.mark.parametrize("ending", [".parquet", ".arrow", ".csv", ".json"])
def test_an_answer_is_written(run: Run, served: tuple[str, str], tmp_path: Path, ending: str) -> None:
    url, token = served
    file, picture = tmp_path / f"answer{ending}", tmp_path / "answer.svg"
    asked = ("ask", url, BY_PLAN, "--epsilon", "0.01", "--token-file", token)
    done = run(*asked, "--output", str(file), "--plot", str(picture))
    assert done.exit_code == 0, done.stderr
    assert picture.stat().st_size > 0
    if ending == ".arrow":
        with pa.ipc.open_file(file) as held:
            table = held.read_all()
        assert table.column_names == ["plan", "n", "n_low", "n_high"]
        assert json.loads(table.schema.metadata[b"discreet"])["charge"]["epsilon"] == "0.01"
    assert b"deductible" in file.read_bytes()


@pytest.mark.long
def test_a_file_that_cannot_be_written_is_refused_before_anything_is_sent(
    run: Run, served: tuple[str, str], tmp_path: Path
) -> None:
    url, token = served
    asked = ("ask", url, BY_PLAN, "--epsilon", "0.01", "--token-file", token)
    for path in (token, str(tmp_path / "none" / "x.csv"), str(tmp_path / "x.xlsx")):
        done = run(*asked, "--output", path)
        assert done.exit_code == 2
        assert "Written" not in done.stderr


TOP: dict[str, Any] = {"version": 1, "top": {"from": {"table": "people"}, "column": "plan", "k": 2}}
AGE = {"greater_equal": [{"column": "age"}, 18]}
DOCUMENTS: dict[str, tuple[dict[str, Any], list[str]]] = {
    "top": (TOP["top"], ["plan"]),
    "choose": ({**FROM, "candidates": [["old", AGE], ["young", {"not": [AGE]}]]}, ["chosen"]),
    "count_distinct": ({**FROM, "column": "age"}, ["limit", "value", "value_low", "value_high"]),
    "question": ({**FROM, "aggregates": [["n", {"count_star": []}]]}, ["n", "n_low", "n_high"]),
}


@pytest.mark.long
@pytest.mark.parametrize("kind", DOCUMENTS)
def test_documents_of_all_kinds_are_asked(run: Run, served: tuple[str, str], tmp_path: Path, kind: str) -> None:
    url, token = served
    body, columns = DOCUMENTS[kind]
    (tmp_path / "asked.json").write_text(json.dumps({"version": 1, kind: body}))
    words = ("ask", url, "--document", tmp_path / "asked.json", "--epsilon", "0.01", "--token-file", token)
    told = run(*words, "--explain")
    assert told.exit_code == 0, told.output
    assert "charge  epsilon=0.01" in told.stdout
    done = run(*words, "--format", "json", "--output", "answer.parquet")
    assert done.exit_code == 0, done.output
    assert list(json.loads(done.stdout)["rows"][0]) == columns
    assert "Charged epsilon=0.01" in done.stderr
    assert pq.read_table("answer.parquet").column_names == columns
    again = run(*words)
    assert "nothing charged" in again.stderr
    assert columns[0] in again.stdout


def test_hierarchies_are_asked_with_their_places(run: Run, served: tuple[str, str], tmp_path: Path) -> None:
    url, token = served
    pq.write_table(pa.table({"plan": ["free"]}), "places.parquet")
    levels = {**FROM, "levels": ["plan"], "keys": "places", "aggregates": [["n", {"count_star": []}]]}
    (tmp_path / "asked.json").write_text(json.dumps({"version": 1, "hierarchy": levels}))
    words = ("ask", url, "--document", tmp_path / "asked.json", "--epsilon", "0.01", "--token-file", token)
    done = run(*words, "--public-keys", "places=places.parquet", "--explain")
    assert "1 total, 1 plan" in done.stdout
    refused = run(*words, "--public-keys", "places=places.parquet")  # of which its curator marked none
    assert (refused.exit_code, "public keys" in refused.stderr) == (2, True)


@pytest.mark.long
def test_what_is_no_document_is_refused(run: Run, served: tuple[str, str], tmp_path: Path) -> None:
    url, token = served
    (tmp_path / "asked.json").write_text(json.dumps(TOP))
    (tmp_path / "bad.json").write_text("{")
    asked = ("ask", url, "--epsilon", "1", "--token-file", token)
    for words, said in (
        ((*asked,), "SQL or a document"),
        ((*asked, "--document", tmp_path / "none.json"), "a file with a document"),
        ((*asked, "--document", tmp_path / "bad.json"), "a file with a document"),
        ((*asked, BY_PLAN, "--document", tmp_path / "asked.json"), "a document alone"),
        ((*asked, "--document", tmp_path / "asked.json", "--max-rows", "1"), "a document alone"),
        ((*asked, "--document", tmp_path / "asked.json", "--plot", "x.svg"), "an answer with a picture"),
        ((*asked, "--document", tmp_path / "asked.json", "--output", tmp_path / "asked.json"), "a file of its own"),
        (("ask", url, "--within", "n=3", "--token-file", token, "--document", tmp_path / "asked.json"), "--epsilon"),
    ):
        done = run(*words)
        assert done.exit_code == 2, said
        assert said in " ".join(re.sub("[│╭╮╰╯─]", " ", done.stderr).split())
