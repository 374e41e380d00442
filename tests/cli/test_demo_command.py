"""`discreet demo` draws into the folder that it is given."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import Result

Run = Callable[..., Result]


@pytest.mark.parametrize(("words", "folder"), [((), "discreet-demo"), (("--output", "a/b"), "a/b")])
def test_it_runs_in_a_folder(run: Run, monkeypatch: pytest.MonkeyPatch, words: Any, folder: str) -> None:
    told: list[Path] = []
    monkeypatch.setattr("discreet.cli.demo_command.run", lambda _, path: told.append(path))
    assert run("demo", *words).exit_code == 0
    assert told == [Path(folder)]
    assert Path(folder).is_dir()


def test_a_file_is_no_folder(run: Run) -> None:
    Path("taken").touch()
    done = run("demo", "--output", "taken")
    assert done.exit_code == 2
    assert "a folder that can be made, got output='taken'" in done.stderr
