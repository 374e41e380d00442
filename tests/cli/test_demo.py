"""The demo answers every question beside the truth, draws its pictures and prints what was spent."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from rich.console import Console

from discreet.cli.demo import ALLOWANCE, SCENES, run


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    """What one run prints, and the folder of its pictures."""
    folder = tmp_path_factory.mktemp("demo") / "pictures"
    console = Console(file=io.StringIO(), width=120)
    run(console, folder)
    return console.file.getvalue(), folder  # type: ignore[attr-defined]  # the file is the StringIO above


@pytest.mark.long
def test_every_question_is_asked_and_priced(shown: tuple[str, Path]) -> None:
    for scene in SCENES:
        assert scene.title in shown[0]
        assert f"cost: epsilon {scene.epsilon:g}" in shown[0]


def test_true_values_stand_beside_the_answers(shown: tuple[str, Path]) -> None:
    """Known facts of the public table: people with the free plan, and those over 50 with a chronic condition."""
    assert "1,980 │" in shown[0]
    assert "595 │" in shown[0]


def test_a_row_is_a_line_in_a_narrow_terminal(tmp_path: Path) -> None:
    console = Console(file=io.StringIO(), width=80)
    run(console, tmp_path)
    lines = console.file.getvalue().splitlines()  # type: ignore[attr-defined]  # as above
    assert sum(line.startswith(("│deductible│", "│ deductible │")) for line in lines) == 6
    assert "│          │" not in console.file.getvalue()  # type: ignore[attr-defined]  # as above


def test_the_ledger_adds_up_and_a_repeat_is_free(shown: tuple[str, Path]) -> None:
    spent = sum(scene.epsilon for scene in SCENES)
    assert spent < ALLOWANCE
    assert f"spent │ {spent:7g} │".replace(" ", "") in shown[0].replace(" ", "")
    assert f"remaining│{ALLOWANCE - spent:g}│" in shown[0].replace(" ", "")


def test_pictures_are_drawn(shown: tuple[str, Path]) -> None:
    wanted = {scene.picture for scene in SCENES if scene.picture is not None}
    assert {path.name for path in shown[1].iterdir()} == wanted
    assert all(path.read_bytes().startswith(b"\x89PNG") for path in shown[1].iterdir())
