"""`discreet demo` shows the study that it is asked for, and draws into the folder that it is given."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import Result

from discreet.cli.studies import STUDIES

Run = Callable[..., Result]


@pytest.mark.parametrize(
    ("words", "folder"),
    [((), "discreet-demo"), (("--output", "a/b"), "a/b"), (("people", "--output", "a"), "a")],
)
def test_it_runs_in_a_folder(run: Run, monkeypatch: pytest.MonkeyPatch, words: Any, folder: str) -> None:
    told: list[Path] = []
    monkeypatch.setattr("discreet.cli.demo.run", lambda _, path: told.append(path))
    assert run("demo", *words).exit_code == 0
    assert told == [Path(folder)]
    assert Path(folder).is_dir()


def test_a_file_is_no_folder(run: Run) -> None:
    Path("taken").touch()
    done = run("demo", "--output", "taken")
    assert done.exit_code == 2
    assert "a folder that can be made, got output='taken'" in done.stderr


def test_an_unknown_study_is_refused(run: Run) -> None:
    done = run("demo", "peeple")
    assert done.exit_code == 2
    assert "got STUDY='peeple'" in done.stderr
    assert "people" in done.stderr
    assert not Path("discreet-demo").exists()


def test_help_names_every_study(run: Run) -> None:
    shown = run("demo", "--help").stdout
    for name in STUDIES:
        assert f"{name}:" in shown
