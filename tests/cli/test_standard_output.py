"""Standard output that is closed, full, gone or of few characters: one line, a code, and what was charged."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from discreet.cli.standard_output import OutputFailure, json_text, write_output
from discreet.ledger.file_ledger import statement

HOSTILE = "\x1b[2J\u202e\nevil\x9b\ud800"
WORDS = ("--each-row", "--name", "people", "--epsilon", "0.5")
COUNT = 'SELECT COUNT(*) AS "Zoë" FROM data'
DISCREET = (sys.executable, "-c", "from discreet.cli import main; main()")


def discreet(*words: object, to: str = "", **environment: str) -> subprocess.CompletedProcess[str]:
    """The command in a process of its own, whose standard output goes where a shell sends it."""
    line = f'"$@" {to}'
    return subprocess.run(
        ["bash", "-c", line, "bash", *DISCREET, *map(str, words)],  # noqa: S607 - a shell's own redirections
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "COLUMNS": "120", **environment},
    )


@pytest.fixture
def ledger(tmp_path: Path) -> Path:
    path = tmp_path / "spent.db"
    assert discreet("ledger", "create", path, "--epsilon", "2").returncode == 0
    return path


@pytest.mark.long
def test_an_answer_that_cannot_be_printed_is_charged_once_and_says_so(file: Path, ledger: Path) -> None:
    """Closed, full, or read by a process that is gone; the stored answer is free."""
    asked = ("query", file, COUNT, *WORDS, "--ledger", ledger)
    places = [">&-", "| true; exit ${PIPESTATUS[0]}"] + ([">/dev/full"] if Path("/dev/full").exists() else [])
    for to in places:
        done = discreet(*asked, to=to)
        assert done.returncode == 1, (to, done)
        assert "Traceback" not in done.stderr
        assert "Exception ignored" not in done.stderr
        assert "Standard output could not be written" in done.stderr
        assert "the ledger has the answer, and gives it again for nothing" in done.stderr
        assert "spent epsilon=0.5" in done.stderr
    found = discreet(*asked)
    assert (found.returncode, "Repeated from" in found.stderr) == (0, True)
    assert float(statement(ledger).spent.epsilon) == 0.5


@pytest.mark.long
def test_without_a_ledger_what_cannot_be_printed_is_lost(file: Path) -> None:
    done = discreet("query", file, COUNT, *WORDS, to=">&-")
    assert done.returncode == 1
    assert "It was paid for; without --ledger, no other command can give it again." in done.stderr
    kept = discreet("query", file, COUNT, *WORDS, "--output", "kept.csv", to=">&-")
    assert kept.returncode == 1
    assert Path("kept.csv").read_text(encoding="utf-8").startswith('"Zoë"')


@pytest.mark.cases
@pytest.mark.parametrize("command", ["explain", "ledger"])
def test_nothing_else_ends_in_a_traceback_either(command: str, file: Path, ledger: Path) -> None:
    words = ("ledger", "show", ledger) if command == "ledger" else ("explain", file, COUNT, *WORDS)
    done = discreet(*words, to=">&-")
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert done.stderr == "Standard output could not be written: it is closed.\n"


@pytest.mark.long
@pytest.mark.cases
@pytest.mark.parametrize(("form", "encoding"), [("table", "ascii"), ("csv", "latin-1"), ("json", "ascii")])
def test_every_encoding_takes_every_answer(form: str, encoding: str, file: Path) -> None:
    done = subprocess.run(
        [*DISCREET, "query", file, COUNT.replace("Zoë", "Zoë 数"), *WORDS, "--format", form],
        capture_output=True,
        check=False,
        env={**os.environ, "PYTHONIOENCODING": encoding, "COLUMNS": "120"},
    )
    assert done.returncode == 0, done.stderr
    text = done.stdout.decode(encoding)
    if form == "json":
        assert list(json.loads(text)["rows"][0]) == ["Zoë 数", "Zoë 数_low", "Zoë 数_high"]
    else:
        assert {"ascii": "Zo\\xeb \\u6570", "latin-1": "Zoë \\u6570"}[encoding] in text
        assert ("+" in text) == (form == "table")


def test_names_of_an_analyst_do_not_command_the_terminal(run: Callable[..., Any], file: Path, ledger: Path) -> None:
    """In what is printed, refused, explained and recorded; programs that read CSV get the name as it is."""
    name = HOSTILE.replace("\ud800", "")
    text = f'SELECT COUNT(*) AS "{name}" FROM data'  # noqa: S608 - what an analyst writes
    asked = ("query", file, text, *WORDS, "--ledger", ledger)
    done = [run(*asked, "--format", form) for form in ("table", "json")]
    done += [run("explain", file, text, *WORDS, *more) for more in ((), ("--sql",), ("--format", "json"))]
    done += [run("ledger", "show", ledger, *more) for more in ((), ("--json",))]
    done += [run("query", file, text.replace("COUNT(*) AS", ""), *WORDS), run("ledger", "show", name)]
    for one in done:
        shown = one.stdout + one.stderr
        assert "evil" in shown
        assert {c for c in shown if not c.isprintable()} <= {"\n"}
    assert json.loads(done[1].stdout)["rows"][0].keys() >= {name}
    assert name in run(*asked, "--format", "csv").stdout


class Terminal:
    """Takes what is written as a terminal does."""

    encoding = "utf-8"

    def __init__(self) -> None:
        self.text = ""

    def isatty(self) -> bool:
        return True

    def write(self, text: str) -> None:
        self.text += text

    def flush(self) -> None:
        pass


def test_a_terminal_is_sent_lines_of_printable_text(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stdout", terminal)
    write_output(f"a,{HOSTILE}\n")
    assert terminal.text == "a,\\x1b[2J\\u202e\nevil\\x9b\\ud800\n"
    assert json.loads(json_text({"n": HOSTILE})) == {"n": HOSTILE}
    assert {c for c in json_text({"n": HOSTILE}) if not c.isprintable()} == {"\n"}


def test_what_is_written_to_nothing_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", None)
    with pytest.raises(OutputFailure, match="it is closed"):
        write_output("a")


@pytest.mark.long
@pytest.mark.parametrize("words", [("--help",), ("--version",), ("query", "--help")])
def test_help_that_cannot_be_printed_is_told(words: tuple[str, ...]) -> None:
    for to in [">&-"] + ([">/dev/full"] if Path("/dev/full").exists() else []):
        done = discreet(*words, to=to)
        assert (done.returncode, done.stderr.count("\n")) == (1, 1), (to, done)
        assert "Traceback" not in done.stderr
