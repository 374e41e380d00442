"""The options that there are, and those that docs/command-line.md explains, are the same."""

from __future__ import annotations

import re
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated

import pytest
import typer
from typer.testing import CliRunner

from discreet.cli import explain_command, query_command
from discreet.cli.options import QueryOptions, taking

PAGE = (Path(__file__).parents[2] / "docs" / "command-line.md").read_text(encoding="utf-8")


def options(app: typer.Typer) -> set[str]:
    command = typer.main.get_command(app)
    return {name for parameter in command.params for name in parameter.opts if name.startswith("--")} - {"--help"}


def test_the_page_explains_every_option_and_no_other() -> None:
    rows = re.findall(r"^\| (`--.*?) \|", PAGE, re.MULTILINE)
    explained = {name for row in rows for name in re.findall(r"`(--[a-z-]+)`", row)}
    assert explained == options(query_command.app) | options(explain_command.app)


def test_explain_takes_what_query_takes() -> None:
    assert options(explain_command.app) - options(query_command.app) == {"--rows-assumed", "--sql"}
    assert options(query_command.app) <= options(explain_command.app)
    assert len(options(query_command.app)) == len(fields(QueryOptions)) - 2


def test_fields_become_options(capsys: pytest.CaptureFixture[str]) -> None:
    @dataclass(frozen=True, kw_only=True)
    class RandomWords:
        first: Annotated[str, typer.Argument()]
        number: Annotated[int, typer.Option()] = 3

    app = typer.Typer()

    @app.command()
    @taking(RandomWords)
    def show(words: RandomWords) -> None:
        """Show
        it."""
        typer.echo(f"{words.first} {words.number}")

    assert CliRunner().invoke(app, ["a"]).stdout == "a 3\n"
    assert CliRunner().invoke(app, ["a", "--number", "4"]).stdout == "a 4\n"
    assert CliRunner().invoke(app, []).exit_code == 2
    assert "Show it." in CliRunner().invoke(app, ["--help"]).stdout
    assert capsys.readouterr().out == ""
