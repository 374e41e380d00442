"""Arguments in, the public interface called, text out."""

from __future__ import annotations

import signal
import sys
import time
from contextlib import suppress
from importlib import import_module

APPLICATION = "discreet.cli.application"
"""Loaded by `main`: an interruption meanwhile ends the command as a later one does, and not with a traceback."""
INTERRUPTED = 130
"""The exit code of an interrupted command."""
HASTE = 1.0
"""For so many seconds after an interruption another one changes nothing: what the first means is still to be said."""

_interruptions: list[float] = []


def main() -> None:
    """The command ``discreet``; interrupted, it ends with one line of words, however often that happens."""
    watched = signal.getsignal(signal.SIGINT) is signal.default_int_handler  # a shell has what runs beside it ignore it
    if watched:
        signal.signal(signal.SIGINT, _interrupt)
    words = "Nothing was charged."
    try:
        app = import_module(APPLICATION).app
        words = "What was charged stays charged: see discreet ledger show."
        app(prog_name="discreet")
    except (KeyboardInterrupt, SystemExit) as end:
        if getattr(end, "code", INTERRUPTED) != INTERRUPTED:
            raise
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        with suppress(OSError, ValueError, AttributeError):  # nowhere is left to tell it
            sys.stderr.write(f"Interrupted. {words}\n")
            sys.stderr.flush()
        raise SystemExit(INTERRUPTED) from None
    finally:  # all that had to be said was said: an interruption from now on ends the process at once, without a word
        if watched:
            signal.signal(signal.SIGINT, signal.SIG_DFL)


def _interrupt(*_: object) -> None:
    now = time.monotonic()
    if not _interruptions or now - _interruptions[-1] > HASTE:
        _interruptions.append(now)
        raise KeyboardInterrupt
