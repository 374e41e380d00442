"""Standard output: what cannot be written there ends a command with one line and a code, not with a traceback."""

from __future__ import annotations

import codecs
import io
import json
import os
import sys
from contextlib import suppress

from discreet.errors import printable

FAILED = 1
"""The exit code where something could not be written."""
PLAIN = "discreet.plain"
"""How characters are written that a terminal's encoding lacks: lines of tables as -, | and +, all else escaped."""
LINES = {**dict.fromkeys("─━═╌╍", "-"), **dict.fromkeys("│┃║", "|"), "·": "*", "±": "+-", "…": "..."}
BOX = range(0x2500, 0x2580)


class OutputFailure(Exception):
    """Standard output is closed, full or gone; a part of the text may have been written."""


def settle() -> None:
    """Has standard output take every text, whatever its encoding."""
    codecs.register_error(PLAIN, _plain)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors=PLAIN)


def write_output(text: str) -> None:
    """Writes to standard output, to its end; a terminal is sent nothing that it would obey.

    Raises:
        Unwritten: some of it could not be written.
    """
    if sys.stdout is None:
        raise OutputFailure("Standard output could not be written: it is closed.")
    try:
        sys.stdout.write(_lines(text) if sys.stdout.isatty() else text)
        sys.stdout.flush()
    except (OSError, ValueError) as problem:
        _give_up()
        raise OutputFailure(f"Standard output could not be written: {printable(str(problem))}.") from None


def json_text(facts: object) -> str:
    """JSON as people read it, with every character escaped that a terminal would obey or hide, or that standard output
    has no code for.
    """
    encoding = getattr(sys.stdout, "encoding", None) or "ascii"
    every = json.dumps(facts, indent=2, ensure_ascii=not encoding.lower().startswith("utf"), allow_nan=False)
    lines = (line if line.isprintable() else "".join(map(_escaped, line)) for line in every.split("\n"))
    return "\n".join(lines) + "\n"


def _lines(text: str) -> str:
    return "\n".join(map(printable, text.split("\n")))


def _escaped(character: str) -> str:
    return character if character.isprintable() else json.dumps(character)[1:-1]


def _plain(problem: UnicodeError) -> tuple[str, int]:
    if not isinstance(problem, UnicodeEncodeError):
        raise problem
    missing = problem.object[problem.start : problem.end]
    return "".join(map(_simple, missing)), problem.end


def _simple(character: str) -> str:
    plain = "+" if ord(character) in BOX else character.encode("ascii", "backslashreplace").decode()
    return LINES.get(character, plain)


def _give_up() -> None:
    """Sends what is left in the buffer nowhere; at its end Python would try once more, and complain."""
    with suppress(OSError, ValueError, AttributeError), open(os.devnull, "wb") as nowhere:  # noqa: PTH123 - no path
        os.dup2(nowhere.fileno(), sys.stdout.fileno())
