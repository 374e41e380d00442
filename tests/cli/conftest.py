"""A small table on disk, and the command as somebody at a terminal runs it."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import csv
from typer.testing import CliRunner, Result

from discreet.cli.application import app

Run = Callable[..., Result]

PLANS = ("free", "25%", None)
ROWS = pa.table(
    {
        "person": [i // 2 for i in range(600)],
        "plan": [PLANS[(i // 2) % 3] for i in range(600)],
        "site": [(i // 2) % 4 for i in range(600)],
        "visits": [i % 7 for i in range(600)],
        "joined": [datetime.date(2020 + i % 2, 1, 31) for i in range(600)],
        "smokes": [i % 5 == 0 for i in range(600)],
    }
)
BY_PLAN = "SELECT plan, COUNT(*) AS n, AVG(visits) FROM data GROUP BY plan"
STATED = ["--unit", "person", "--bounds", "visits=0:10", "--max-rows", "2", "--max-groups", "1"]


@pytest.fixture(autouse=True)
def _desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty folder, a terminal of a fixed width, and pictures without a window."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "Agg")
    monkeypatch.setenv("COLUMNS", "200")


@pytest.fixture
def run() -> Run:
    """Runs ``discreet`` with these words."""
    return lambda *words: CliRunner().invoke(app, [str(word) for word in words])


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "people.parquet"
    pq.write_table(ROWS.select(["person", "plan", "site", "visits"]), path)
    return path


@pytest.fixture
def wide(tmp_path: Path) -> Path:
    """With columns of every kind that keys can have."""
    path = tmp_path / "wide.parquet"
    pq.write_table(ROWS, path)
    return path


@pytest.fixture
def text_file(tmp_path: Path) -> Path:
    path = tmp_path / "people.csv"
    csv.write_csv(ROWS, path)
    return path


@pytest.fixture
def ask(run: Run, file: Path) -> Run:
    """``discreet query`` of the table by plan, at a price that leaves no noise to speak of; further words at its
    end."""

    def asked(*words: object, statement: str = BY_PLAN, epsilon: str = "100000") -> Result:
        keys = ["--keys", "plan=free,25%,\\N"] if statement == BY_PLAN else []
        return run("query", file, statement, *STATED, *keys, "--epsilon", epsilon, *words)

    return asked


@pytest.fixture
def ledger(run: Run, tmp_path: Path) -> Path:
    path = tmp_path / "spent.db"
    assert run("ledger", "create", path, "--epsilon", "1").exit_code == 0
    return path
