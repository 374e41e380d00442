"""Locates what happened in the user's own code."""

from __future__ import annotations

import linecache
import os
import sys
import sysconfig
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import FrameType

PACKAGE = str(Path(__file__).resolve().parents[1])
FOREIGN = tuple({PACKAGE, *(sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib"))})
"""Code below these folders is nobody's pipeline."""


@dataclass(frozen=True, slots=True)
class Place:
    """A line of the user's code.

    >>> str(Place("job.py", 7))
    'job.py:7'
    """

    file: str
    line: int

    @property
    def text(self) -> str:
        """The line as it is written, without its indentation; empty where the file is gone."""
        return linecache.getline(self.file, self.line).strip()

    def __str__(self) -> str:
        return f"{self.file}:{self.line}" if self.line else "an unknown line"


NOWHERE = Place("", 0)
_HOMES: dict[str, str] = {}
"""Folders in which copies of the user's files run, with the folders that they are copies of."""


@contextmanager
def copied_to(folder: str, home: str) -> Iterator[None]:
    """For a while, lines of files in `folder` are those of the files in `home`."""
    _HOMES[folder] = home
    try:
        yield
    finally:
        del _HOMES[folder]


def at(file: str, line: int) -> Place:
    """A line of code, in the file that its author knows."""
    for folder, home in _HOMES.items():
        if file.startswith(folder + os.sep):
            return Place(str(Path(home, file[len(folder) + 1 :])), line)
    return Place(file, line)


@cache
def is_foreign(file: str) -> bool:
    """Whether a file belongs to Python, to an installed package or to discreet.

    >>> is_foreign(sys.modules["json"].__file__), is_foreign("job.py")
    (True, False)
    """
    inside = "site-packages" in file or "dist-packages" in file  # as a folder of PYTHONPATH may be
    return inside or file.startswith(FOREIGN) or file.startswith(("<frozen", "<string>", "<__array"))


def user_frame(depth: int = 1) -> FrameType | None:
    """The innermost frame above the caller that runs the user's code."""
    frame: FrameType | None = sys._getframe(depth)  # noqa: SLF001 (the documented way to a frame)
    while frame is not None and is_foreign(frame.f_code.co_filename):
        frame = frame.f_back
    return frame


def user_place(depth: int = 1) -> Place:
    """The innermost line of the user's code that led here."""
    frame = user_frame(depth + 1)
    return NOWHERE if frame is None else at(frame.f_code.co_filename, frame.f_lineno)


def raised_at(problem: BaseException) -> Place:
    """The innermost line of the user's code in a traceback."""
    place, trace = NOWHERE, problem.__traceback__
    while trace is not None:
        if not is_foreign(trace.tb_frame.f_code.co_filename):
            place = at(trace.tb_frame.f_code.co_filename, trace.tb_lineno)
        trace = trace.tb_next
    return place
