"""``discreet serve``: the service over HTTP, and over PostgreSQL's protocol where a port is given."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer

from discreet.cli.messages import print_line
from discreet.cli.options import argument, option
from discreet.errors import InvalidParameter, expected

SERVING, LISTENING, POSTGRES = "discreet.server.serving", "discreet.server.run_server", "discreet.pgwire.server"
"""Loaded when the command is called: they need the extra ``serve``, and the help page does not."""

app = typer.Typer(add_completion=False)


@app.command()
def serve(
    configuration: Annotated[Path | None, argument("[FILE]", "service.toml.")] = None,
    *,
    demo: Annotated[bool, option(None, "Serve the bundled table to three principals.", None, "--demo")] = False,
    port: Annotated[int, option("NUMBER", "Of the demo, for HTTP.", min=1, max=65535)] = 8000,
    pg_port: Annotated[int | None, option("NUMBER", "Of the demo, for PostgreSQL's clients.", min=1, max=65535)] = None,
    tokens: Annotated[
        Path | None, option("FILE", "Where tokens go (of a file: those of operators); nothing may be there yet.")
    ] = None,
) -> None:
    """Serve data sets to analysts elsewhere, over HTTP.

    Exit codes: 0, ended by a signal; 2, refused.
    """
    if demo == (configuration is not None):
        got = "both" if demo else "neither"
        raise InvalidParameter(expected("a configuration or --demo", "serve", got, "discreet serve --demo shows it."))
    serving = _extra(SERVING)
    if configuration is not None:
        serving.serve_file(configuration, tell=print_line, tokens=tokens, pg_face=_postgres_face)
        return
    listening = _extra(LISTENING).Listening(port=port)
    faces = () if pg_port is None else (_postgres_face(replace(listening, port=pg_port)),)
    with tempfile.TemporaryDirectory(prefix="discreet-serve-") as folder:
        where = tokens or Path(folder) / "tokens.json"
        serving.serve_demo(Path(folder), listening, where, tell=print_line, faces=faces)


def _postgres_face(listening: Any) -> Any:
    """What starts the face for PostgreSQL's clients; it refuses other addresses than the loopback without TLS."""
    serve_pg = _extra(POSTGRES).serve_pg
    return lambda service: serve_pg(service, listening.host, listening.port, listening.tls())


def _extra(name: str) -> Any:
    try:
        return import_module(name)
    except ModuleNotFoundError as missing:
        if (missing.name or "").startswith("discreet"):
            raise
        cure = "pip install 'discreet[serve]'."
        raise InvalidParameter(expected("the packages of the extra serve", "missing", missing.name, cure)) from None
