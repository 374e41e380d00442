"""Answers with keys from a file: held, or written group by group; what would hold them is refused for nothing."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import Result

from discreet.ledger.file_ledger import statement

Run = Callable[..., Result]


def flat(text: str) -> str:
    """A message without its frame."""
    return " ".join(re.sub("[│╭╮╰╯─]", " ", text).split())


SITES = "SELECT site, COUNT(*) AS n FROM data GROUP BY site"


@pytest.fixture
def cells(tmp_path: Path) -> Path:
    """More keys than are shown."""
    pq.write_table(pa.table({"site": range(1000)}), tmp_path / "cells.parquet")
    return tmp_path / "cells.parquet"


def test_keys_of_a_file_are_answered_in_memory_and_streamed(ask: Run, cells: Path) -> None:
    """The same counts; a streamed answer prints its first rows, and its file has the receipt."""
    held = ask("--keys", cells, "--format", "json", statement=SITES)
    counts = [row["n"] for row in json.loads(held.stdout)["rows"]]
    assert counts == [150] * 4 + [0] * 996
    done = ask("--keys", cells, "--output", "out.parquet", statement=SITES)
    assert done.exit_code == 0
    assert "the first 5 of 1,000 rows" in done.stdout
    assert len(done.stdout.splitlines()) < 20
    assert flat(done.stderr).endswith("Written: out.parquet")
    written = pq.read_table("out.parquet")
    assert written["n"].to_pylist() == counts
    assert json.loads(written.schema.metadata[b"discreet"])["charge"]["epsilon"] == "100000"


def test_a_streamed_answer_is_repeated_and_never_replaced(ask: Run, cells: Path, ledger: Path) -> None:
    words = ("--keys", cells, "--ledger", ledger, "--name", "people")
    first = ask(*words, "--output", "a.parquet", statement=SITES, epsilon="0.25")
    assert flat(first.stderr).startswith(f"Charged epsilon=0.25 to {ledger}")
    again = ask(*words, "--output", "b.parquet", statement=SITES, epsilon="0.25")
    assert flat(again.stderr).startswith(f"Repeated from {ledger}, nothing charged")
    assert Path("a.parquet").read_bytes() == Path("b.parquet").read_bytes()
    over = ask(*words, "--output", "a.parquet", "--fresh", statement=SITES, epsilon="0.25")
    assert over.exit_code == 2
    assert "a name that is not taken" in flat(over.stderr)
    assert float(statement(ledger).spent.epsilon) == 0.25


@pytest.mark.parametrize(
    ("words", "text", "said"),
    [
        (["--format", "csv"], SITES, "--format table beside a streamed answer, got format='csv'"),
        (["--plot", "a.png"], SITES, "no picture of a streamed answer"),
        (["--keys", "site=1"], SITES, "one file of keys, or lists of them"),
        ([], f"{SITES} HAVING COUNT(*) > 1", "no steps after the noise"),
        ([], "SELECT site, MEDIAN(visits) FROM data GROUP BY site", "--output with another ending than .parquet"),
        ([], "SELECT plan, COUNT(*) FROM data GROUP BY plan", "public keys of the columns ['plan']"),
    ],
    ids=["format", "plot", "lists", "having", "median", "columns"],
)
def test_what_cannot_be_streamed_is_refused_for_nothing(  # noqa: PLR0917 (fixtures and cases)
    ask: Run, cells: Path, ledger: Path, words: list[str], text: str, said: str
) -> None:
    keys = ("--keys", cells, "--output", "out.parquet", "--ledger", ledger)
    done = ask(*keys, *words, statement=text, epsilon="1")
    assert done.exit_code == 2
    assert said in flat(done.stderr)
    assert statement(ledger).entries == ()
    assert not Path("out.parquet").exists()


def test_a_full_disk_leaves_no_streamed_answer_and_says_that_it_is_paid(
    ask: Run, cells: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    done = ask("--keys", cells, "--output", "out.parquet", statement=SITES)
    assert done.exit_code == 2
    assert "the charge stays spent" in flat(done.stderr)
    assert not list(Path().glob("*out*"))


def test_a_pipe_is_no_place_for_an_answer(ask: Run, ledger: Path) -> None:
    """What is written to one waits for a reader, after the charge; here is one, which reads nothing."""
    os.mkfifo("out.csv")
    reader = os.open("out.csv", os.O_RDONLY | os.O_NONBLOCK)
    done = ask("--output", "out.csv", epsilon="0.5")
    os.close(reader)
    assert done.exit_code == 2
    assert "Expected a file that can be written, got output='out.csv'" in flat(done.stderr)
    assert statement(ledger).entries == ()


@pytest.mark.parametrize("goal", ["one of a pattern", "a hard link", "keys", "a public table"])
def test_output_never_replaces_what_is_read(run: Run, tmp_path: Path, file: Path, goal: str) -> None:
    """By whatever name: nothing is charged, and every file is as it was."""
    parts = [tmp_path / f"v-{number}.parquet" for number in (1, 2)]
    for part in parts:
        part.write_bytes(file.read_bytes())
    link, keys, public = (tmp_path / f"{name}.parquet" for name in ("link", "keys", "plans"))
    link.hardlink_to(parts[1])
    for path in (keys, public):
        pq.write_table(pa.table({"plan": ["free"]}), path)
    whole, by_plan = "SELECT COUNT(*) AS n FROM data", "SELECT plan, COUNT(*) AS n FROM data GROUP BY plan"
    source, statement, words, replaced = {
        "one of a pattern": (tmp_path / "v-*.parquet", whole, (), parts[0]),
        "a hard link": (parts[1], whole, (), link),
        "keys": (parts[0], by_plan, ("--keys", keys), keys),
        "a public table": (parts[0], whole, ("--public", f"plans={public}"), public),
    }[goal]
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    done = run("query", source, statement, "--each-row", "--epsilon", "1", *words, "--output", replaced)
    assert "it would replace what it is made from" in flat(done.stderr)
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before
