"""`discreet audit`: exit codes, the line in the message, and reports as files."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import Result

Run = Callable[..., Result]

EXAMPLES = Path(__file__).parents[2] / "examples" / "audit"
STATED = ("--unit", "patient", "--epsilon", "1", "--data", "visits.csv")


@pytest.fixture(autouse=True)
def _examples(tmp_path: Path) -> None:
    for name in ("forgotten_clip.py", "visits.csv"):
        shutil.copy(EXAMPLES / name, tmp_path)


def test_a_violation_is_code_1_and_names_its_line(run: Run, tmp_path: Path) -> None:
    done = run("audit", "forgotten_clip.py", *STATED, "--json", "report.json", "--page", "report.md")
    assert done.exit_code == 1
    line = next(
        i for i, text in enumerate(Path("forgotten_clip.py").read_text().split("\n"), 1) if "noisy_total" in text
    )
    assert f"forgotten_clip.py:{line}:" in done.stdout
    report = json.loads(Path("report.json").read_text())
    assert (report["violations"], report["findings"][0]["place"]) == (1, f"forgotten_clip.py:{line}")
    assert Path("report.md").read_text().startswith("# Replay of forgotten_clip.py\n\nA violation was found.")


def test_nothing_found_is_code_0_and_no_proof(run: Run) -> None:
    Path("constant.py").write_text("print(3)\n")
    done = run("audit", "constant.py", *STATED)
    assert done.exit_code == 0
    assert "That is no proof" in done.stdout
    assert "private" not in done.stdout


@pytest.mark.long
def test_a_statement_takes_what_a_query_takes(run: Run) -> None:
    Path("by_ward.sql").write_text("SELECT ward, SUM(minutes) AS m FROM data GROUP BY ward")
    stated = ["--bounds", "minutes=0:60", "--keys", "ward=north,west", "--max-groups", "1", "--max-rows", "2"]
    done = run("audit", "by_ward.sql", *STATED, *stated)
    assert done.exit_code == 0, done.output
    assert "calls of chance compared: 1" in done.stdout


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("none.py", *STATED), "existing script"),
        (("visits.csv", *STATED), "existing script"),
        (("forgotten_clip.py", "--unit", "nobody", "--data", "visits.csv"), "known names"),
        (("forgotten_clip.py", "--unit", "patient", "--data", "none.csv"), "existing file"),
        (("forgotten_clip.py", *STATED, "--neighbors", "far"), "neighbors"),
    ],
)
def test_refusals_are_code_2(run: Run, words: tuple[str, ...], told: str) -> None:
    done = run("audit", *words)
    assert done.exit_code == 2
    assert told in done.stderr


def test_a_statement_needs_its_price(run: Run) -> None:
    Path("all.sql").write_text("SELECT COUNT(*) FROM data")
    done = run("audit", "all.sql", "--unit", "row", "--data", "visits.csv")
    assert done.exit_code == 2
    assert "--epsilon 1" in done.stderr
