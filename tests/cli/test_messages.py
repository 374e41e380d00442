"""Messages are shown as they are, and progress only where somebody watches."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from discreet.cli import messages
from discreet.errors import InvalidQuery


def test_messages_are_not_markup(capsys: pytest.CaptureFixture[str]) -> None:
    messages.refused(InvalidQuery("Expected [bold]a[/bold], got b.\nHint: dp.protect(bounds={'x': (0, 1)})."))
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "Expected [bold]a[/bold], got b." in shown.err
    assert "On the command line: --bounds visits=0:50." in shown.err
    assert "InvalidQuery" in shown.err


def test_progress_is_for_terminals(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = {}
    for terminal in (True, False):
        file = io.StringIO()
        console = Console(file=file, force_terminal=terminal, width=80)
        monkeypatch.setattr(messages, "errors", lambda console=console: console)
        with messages.working("computing"):
            pass
        shown[terminal] = file.getvalue()
    assert "computing" in shown[True]
    assert "0:00:0" in shown[True]
    assert shown[False] == ""
