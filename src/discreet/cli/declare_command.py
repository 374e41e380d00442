"""``discreet declare``: a first draft of the file that states a table."""

from __future__ import annotations

from typing import Annotated

import typer

from discreet.cli.messages import print_line
from discreet.cli.options import argument, option
from discreet.cli.table_option import connections_of
from discreet.curator.write_declaration_draft import write_draft

app = typer.Typer(add_completion=False)


@app.command()
def declare(
    source: Annotated[str, argument("SOURCE", "A Parquet, CSV or TSV file, or a table: warehouse:clinic.visits.")],
    *,
    output: Annotated[str | None, option("FILE", "Where the draft is written; beside the source, with .toml.")] = None,
    connection: Annotated[list[str] | None, option("NAME=ADDRESS", "The connection that a source names.")] = None,
) -> None:
    """Write a first draft of a declaration, from the names and types of the columns alone.

    No row is read. Where a person has to decide, the draft asks, and it is refused until it is answered. A file that is
    there is not replaced. Exit codes: 0, written; 2, refused.
    """
    target = write_draft(source, output, connections=connections_of(connection))
    print_line(f"Written: {target}. Answer its questions, then try it: discreet explain --table {target} 'SELECT ...'.")
