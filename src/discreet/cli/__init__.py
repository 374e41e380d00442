"""Arguments in, the public interface called, text out."""

from __future__ import annotations

import signal
import sys
from importlib import import_module

APPLICATION = "discreet.cli.application"
"""Loaded by `main`: an interruption meanwhile ends the command as a later one does, and not with a traceback."""


def main() -> None:
    """The command ``discreet``."""
    try:
        app = import_module(APPLICATION).app
    except KeyboardInterrupt:
        sys.stderr.write("Interrupted. Nothing was charged.\n")
        raise SystemExit(130) from None
    try:
        app(prog_name="discreet")
    finally:  # all that had to be said was said: an interruption from now on ends the process at once, without a word
        signal.signal(signal.SIGINT, signal.SIG_DFL)
