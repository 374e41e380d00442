"""``discreet demo``: the demo as a command."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from discreet.cli.demo import run
from discreet.errors import InvalidParameter, expected

app = typer.Typer(add_completion=False)


@app.command()
def demo(
    output: Annotated[
        Path, typer.Option(metavar="FOLDER", help="Where the pictures go; it is made if it is not there.")
    ] = Path("discreet-demo"),
) -> None:
    """Ask a bundled table of real people; show private answers beside the true ones, and what they cost.

    Exit codes: 0, shown; 2, refused.
    """
    from rich.console import Console

    try:
        output.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise InvalidParameter(expected("a folder that can be made", "output", str(output), f"{problem}.")) from None
    run(Console(), output)
