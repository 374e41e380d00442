"""Arguments in, the public interface called, text out."""

from __future__ import annotations

from discreet.cli.application import app


def main() -> None:
    """The command ``discreet``."""
    app(prog_name="discreet")
