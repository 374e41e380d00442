"""`discreet series`: published day by day from a script, and paid for once."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import Result

from discreet.ledger.file_ledger import statement
from series_fixtures import ROWS, until

Run = Callable[..., Result]

SQL = "SELECT ward, COUNT(*) AS n FROM data WHERE nights >= 0 GROUP BY ward"
WORDS = (
    "--unit", "person", "--bounds", "nights=0:8", "--max-rows", "2", "--max-groups", "2", "--keys", "ward=A,B",
    "--name", "hospital", "--by", "day", "--start", "2026-01-01", "--until", "2026-01-20", "--windows", "1,7,all",
    "--max-steps", "4", "--delta", "1e-6",
)  # fmt: skip


@pytest.fixture(name="spent")
def _spent(run: Run, tmp_path: Path) -> Path:
    path = tmp_path / "year.db"
    assert run("ledger", "create", path, "--epsilon", "1", "--delta", "1e-6").exit_code == 0
    return path


def stored(rows: pa.Table, folder: Path, name: str = "hospital.parquet") -> Path:
    pq.write_table(rows, folder / name)
    return folder / name


def test_day_by_day(run: Run, spent: Path, tmp_path: Path) -> None:
    """One charge; each call prints all numbers so far, those of earlier days as they were."""
    ledger = ("--ledger", spent, "--format", "json")
    first = run(
        "series", stored(until(3), tmp_path), SQL, *WORDS, "--epsilon", "0.5", *ledger, "--through", "2026-01-03"
    )
    assert first.exit_code == 0, first.stderr
    assert "Charged epsilon=0.5" in first.stderr
    file = stored(until(9), tmp_path, "later.parquet")
    words = [*WORDS, "--version", "2", "--epsilon", "0.5", *ledger]
    later = run("series", file, SQL, *words, "--through", "2026-01-09", "--plot", tmp_path / "n.png")
    assert "nothing charged" in later.stderr
    rows = [json.loads(done.stdout)["rows"] for done in (first, later)]
    assert rows[1][: len(rows[0])] == rows[0]
    assert (len(rows[0]), len(rows[1])) == (2 * 6, 2 * (9 + 3 + 9))
    assert (tmp_path / "n.png").exists()
    assert len(statement(spent).entries) == 1


def test_it_explains_for_nothing(run: Run, spent: Path, tmp_path: Path) -> None:
    file = stored(ROWS, tmp_path)
    done = run("series", file, SQL, *WORDS, "--epsilon", "0.5", "--ledger", spent, "--explain")
    assert done.exit_code == 0, done.stderr
    assert "n, window 7" in done.stdout
    assert statement(spent).entries == ()


def test_numbers_are_steps_as_well(run: Run, tmp_path: Path) -> None:
    rows = pa.table({"person": [1, 2, 3], "week": [1, 1, 2]})
    words = (
        "--name",
        "weeks",
        "--unit",
        "person",
        "--max-rows",
        "1",
        "--by",
        "week",
        "--start",
        "1",
        "--every",
        "1",
        "--until",
        "5",
    )
    more = ("--max-steps", "2", "--apart", "2", "--rho", "0.5", "--through", "2", "--format", "json")
    done = run("series", stored(rows, tmp_path), "SELECT COUNT(*) AS n FROM data", *words, *more)
    assert done.exit_code == 0, done.stderr
    assert [row["step"] for row in json.loads(done.stdout)["rows"]] == [1, 2]


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        (("--through", "2026-01-21"), "one of the 20 steps"),
        ((), "--through"),
        (("--through", "2026-01-03", "--by", "date"), "a column of the table"),
        (("--through", "2026-01-03", "--fresh"), "no --fresh"),
        (("--through", "2026-01-03", "--start", "soon"), "start"),
        (("--through", "2026-01-03", "--windows", "9" * 5000), "windows"),
    ],
)
def test_refusals_cost_nothing(run: Run, spent: Path, tmp_path: Path, wrong: tuple[str, ...], told: str) -> None:
    done = run("series", stored(ROWS, tmp_path), SQL, *WORDS, "--epsilon", "0.5", "--ledger", spent, *wrong)
    assert done.exit_code == 2
    assert told in done.stderr
    assert statement(spent).entries == ()


def test_a_picture_that_fails_says_where_the_numbers_are(
    run: Run, spent: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise ValueError("no such font")

    monkeypatch.setattr("discreet.series.series_release.SeriesRelease.plot", fail)
    words = (*WORDS, "--epsilon", "0.5", "--ledger", spent, "--through", "2026-01-03", "--plot", tmp_path / "n.png")
    done = run("series", stored(ROWS, tmp_path), SQL, *words)
    assert done.exit_code == 1, done.output
    assert "Charged epsilon=0.5" in done.stderr
    assert "no such font. With --ledger" in " ".join(done.stderr.split())


def test_a_file_needs_a_name(run: Run, tmp_path: Path) -> None:
    """Tomorrow's file has another path, and would be another series."""
    words = [word for word in WORDS if word not in ("--name", "hospital")]
    done = run("series", stored(ROWS, tmp_path), SQL, *words, "--epsilon", "0.5", "--through", "2026-01-03")
    assert done.exit_code == 2
    assert "--name or --table" in done.stderr
