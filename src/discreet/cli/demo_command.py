"""``discreet demo``: the studies as a command."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from discreet.cli.options import argument, option
from discreet.cli.studies import FIRST, STUDIES, study
from discreet.errors import InvalidParameter, expected

app = typer.Typer(add_completion=False)

NAMES = "; ".join(f"{name}: {one.about}" for name, one in STUDIES.items())


@app.command()
def demo(
    name: Annotated[str, argument("[STUDY]", f"What to show. {NAMES}.", show_default=True)] = FIRST,
    output: Annotated[Path, option("FOLDER", "Where the pictures go; it is made if it is not there.")] = Path(
        "discreet-demo"
    ),
) -> None:
    """Show private answers beside the true ones, and what they cost, on data that are public or made up.

    Exit codes: 0, shown; 2, refused.
    """
    from rich.console import Console

    chosen = study(name)
    try:
        output.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise InvalidParameter(expected("a folder that can be made", "output", str(output), f"{problem}.")) from None
    chosen.run(Console(), output)
