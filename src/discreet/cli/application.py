"""The commands: each is loaded when it is called, and what it refuses is told without a traceback."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from importlib.metadata import version
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from discreet.cli.messages import print_line, refused
from discreet.cli.options import option
from discreet.cli.standard_output import FAILED, OutputFailure, settle, write_output
from discreet.errors import DiscreetError

COMMANDS = {
    "demo": "discreet.cli.demo_command",
    "query": "discreet.cli.query_command",
    "explain": "discreet.cli.explain_command",
    "top": "discreet.cli.top_command",
    "choose": "discreet.cli.choose_command",
    "count-distinct": "discreet.cli.count_distinct_command",
    "truncated-total": "discreet.cli.truncated_total_command",
    "hierarchy": "discreet.cli.hierarchy_command",
    "kmeans": "discreet.cli.kmeans_command",
    "series": "discreet.cli.series_command",
    "declare": "discreet.cli.declare_command",
    "ledger": "discreet.cli.ledger_command",
    "serve": "discreet.cli.serve_command",
    "ask": "discreet.cli.ask_command",
    "audit": "discreet.cli.audit_command",
    "docs": "discreet.cli.docs_command",
}
"""Where the ``app`` of each command lives; loaded when it is called, so that the quick ones are quick."""

REFUSED = 2
"""The exit code of everything that was refused, by Typer or by discreet."""


class Commands(TyperGroup):
    """The commands by name, and one place where errors become messages."""

    def list_commands(self, ctx: Any) -> list[str]:
        """The names, in the order of the help page."""
        del ctx
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The command of this name; none where there is none."""
        del ctx
        if cmd_name not in COMMANDS:
            return None
        command = typer.main.get_command(import_module(COMMANDS[cmd_name]).app)
        command.name = cmd_name
        return command

    def make_context(self, *arguments: Any, **named: Any) -> Any:
        """Reads the options, and prints help where that is asked for."""
        settle()
        with _told():
            return super().make_context(*arguments, **named)

    def invoke(self, ctx: Any) -> Any:
        """Runs the command; a refusal is printed and ends it with code 2."""
        with _told():
            done = super().invoke(ctx)
            write_output("")
            return done


@contextmanager
def _written_out() -> Iterator[None]:
    """Help, after which a command ends, is written to its end."""
    try:
        yield
    except typer.Exit as end:
        if not end.exit_code:
            write_output("")
        raise


@contextmanager
def _told() -> Iterator[None]:
    """Errors as messages, and as the codes that a command ends with."""
    try:
        with _written_out():
            yield
    except DiscreetError as problem:
        refused(problem)
        raise typer.Exit(REFUSED) from None
    except (OutputFailure, OSError) as problem:
        print_line(str(problem))
        raise typer.Exit(FAILED) from None


app = typer.Typer(
    cls=Commands,
    no_args_is_help=True,
    add_completion=False,
    # Rich would print the values of local variables beside a traceback.
    pretty_exceptions_enable=False,
    help="Private statistics of a table about people: differential privacy on DuckDB.",
)


def _version(asked: bool) -> None:  # noqa: FBT001 (Typer calls it with the value alone)
    if asked:
        write_output(f"discreet {version('discreet')}\n")
        raise typer.Exit


@app.callback()
def options(
    *,
    version: Annotated[
        bool, option(None, "Print the version and leave.", None, "--version", callback=_version, is_eager=True)
    ] = False,
) -> None:
    """Private statistics of a table about people: differential privacy on DuckDB."""
