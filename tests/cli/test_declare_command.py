"""`discreet declare`: a draft beside the file, and never over another one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from typer.testing import Result

Run = Callable[..., Result]


def test_a_draft_is_written_once(run: Run, file: Path) -> None:
    done = run("declare", file)
    assert done.exit_code == 0
    draft = file.with_suffix(".toml")
    assert "Written: " in done.stderr
    assert 'unit = "?"' in draft.read_text()
    again = run("declare", file)
    assert again.exit_code == 2
    assert "not there yet" in again.stderr
    other = run("declare", file, "--output", "other.toml")
    assert other.exit_code == 0
    assert Path("other.toml").exists()


def test_a_draft_is_refused_with_its_line(run: Run, file: Path) -> None:
    run("declare", file, "--output", "draft.toml")
    done = run("query", "--table", "draft.toml", "SELECT COUNT(*) FROM data", "--epsilon", "1")
    assert done.exit_code == 2
    assert "draft.toml, line 10" in done.stderr


def test_a_table_needs_its_connection(run: Run) -> None:
    done = run("declare", "warehouse:clinic.visits")
    assert done.exit_code == 2
    assert "hand it over" in done.stderr
    done = run("declare", "warehouse:clinic.visits", "--connection", "warehouse")
    assert done.exit_code == 2
    assert "name=address" in done.stderr
