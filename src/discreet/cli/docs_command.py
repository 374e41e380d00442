"""``discreet docs``: the documents in a terminal, as far as an installed package has them, which is all of them."""

from __future__ import annotations

import io
import sys
from typing import Annotated

import typer

from discreet.cli.document_pages import page, title, topics
from discreet.cli.options import argument
from discreet.cli.standard_output import write_output

app = typer.Typer(add_completion=False)

WIDTH = 100
"""Lines longer than this are hard to read, however wide the terminal is."""


@app.command()
def docs(
    topic: Annotated[
        str | None, argument("TOPIC", "A page, such as sql or theory/local; without one, their list.")
    ] = None,
) -> None:
    """Show a page of the documents, or the list of them.

    What messages cite, as discreet docs sql, is shown here, without a network. Where the output goes to a file or a
    pipe it is the Markdown itself. Exit codes: 0, shown; 2, there is no such page.
    """
    if topic is None:
        found = topics()
        width = max(map(len, found))
        write_output("".join(f"{name:{width}}  {title(path)}\n" for name, path in found.items()))
    elif sys.stdout is not None and sys.stdout.isatty():
        write_output(markdown_text(page(topic)))
    else:
        write_output(page(topic))


def markdown_text(text: str) -> str:
    """Markdown as a terminal shows it, with the places of links beside their words.

    Rich writes to a text of ours: standard output takes it as it takes all else, in `written`.
    """
    from rich.console import Console
    from rich.markdown import Markdown

    kept = io.StringIO()
    console = Console(file=kept, width=min(Console().width, WIDTH), force_terminal=False, force_jupyter=False)
    console.print(Markdown(text, hyperlinks=False))
    return kept.getvalue()
