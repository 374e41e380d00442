"""The studies of logs and pages run, print their answers beside the truth, and draw their pictures."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from rich.console import Console

from discreet.cli import logs_study, pages_study
from discreet.cli.logs_study import truth
from discreet.logs import integer_programs
from discreet.logs.example_log import example_visits


def shown(console: Console) -> str:
    text: str = console.file.getvalue()  # type: ignore[attr-defined]  # the file is a StringIO
    return text


@pytest.mark.long
def test_the_log_is_released(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logs_study, "USERS", 3000)
    monkeypatch.setattr(integer_programs, "SECONDS", 0.3)
    console = Console(file=io.StringIO(), width=100)
    logs_study.run(console, tmp_path)
    for text in ("/page/1", "users_low", "cost: epsilon 2", "multinomial", "rows at the very most"):
        assert text in shown(console)
    assert (tmp_path / "log.png").stat().st_size > 10_000


def test_the_truth_is_the_number_of_users() -> None:
    log = example_visits(users=50, pages=10)
    assert sum(truth(log).values()) == log.num_rows


def test_the_pages_are_compared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages_study, "PAGES", 60)
    monkeypatch.setattr(pages_study, "example_visits", lambda **_: example_visits(users=400, pages=60))
    console = Console(file=io.StringIO(), width=100)
    pages_study.run(console, tmp_path)
    for text in ("noisy max", "one-shot top-k", "local reports", "top found"):
        assert text in shown(console)
    assert (tmp_path / "pages.png").stat().st_size > 10_000
