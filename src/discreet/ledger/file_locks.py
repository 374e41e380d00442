"""Locks on a ledger's file that last as long as its descriptor, whatever else the process opens and closes.

Claim
    On Linux, while ``locked(alone=True)`` is held by way of one `Descriptor`, no other has `locked` on the same file,
    in this process or another, under whatever name, mount or container; and nothing that a process opens or closes but
    that descriptor ends it. A file of which somebody who lives has marked a later line is known by `others_saw_beyond`,
    though it was overwritten, or replaced under the same name in the same folder.
Requires
    A file system that keeps locks with the file, for all who mount it. NFS does so by its server; where the folder
    takes no locks, a mark on it is left out, and a file that was replaced is known only to those who have the old one.
Relies on
    Open file description locks (fcntl(2)): they belong to an open description, conflict with those of any other, and
    end with its last descriptor. SQLite locks by POSIX, around byte 2**30: its locks belong to a process, which loses
    them when it closes any descriptor of the file, such as that of a backup. Those here are taken beside SQLite's.
Proof
    Both kinds of `locked` are locks of one byte, exclusive or shared. A mark is a shared lock of all bytes from a fixed
    one to that of the last line seen; shared locks never wait. A line is marked once it is committed, and whoever asks
    holds the lock of a transaction, so a mark beyond the end shows that lines are missing. Marks on the folder lie
    where a checksum of the name says; names that collide refuse each other, and let nothing in.
Rounding
    None.
Source
    Linux man-pages, fcntl(2); SQLite, How to Corrupt an SQLite Database File, section 2.2.
Mutant
    locks-of-sqlite-alone: no lock of ours is taken; killed by test_a_lock_outlasts_other_handles_of_its_process.

Elsewhere (macOS, Windows) there are no such locks: SQLite's stand alone, and docs/ledger.md says what that means.
"""

from __future__ import annotations

import logging
import os
import struct
import sys
import time
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

if sys.platform == "linux":
    import fcntl

SUPPORTED = sys.platform == "linux"

logger = logging.getLogger("discreet.ledger")

SLOW_SECONDS = 1.0
"""Whoever waits longer for another program is told so; a charge holds the file for some milliseconds."""

_FLOCK = struct.Struct("hhqqi0q")
"""C's ``struct flock``: type, whence, start, length, process."""

_TURN = 1 << 62
"""The byte that is locked for a transaction; SQLite's are around 2**30."""
_MARKS = 1 << 61
_MARK_BITS = 29
"""Marks lie between the two: those of a folder have 2**29 bytes for each checksum of a name."""
_LAST_MARK = (1 << _MARK_BITS) - 1


class Descriptor:
    """A file that is kept open, and the locks that are held by way of it."""

    def __init__(self, path: str) -> None:
        self._files: list[int] = []
        self._marks: list[int] = []
        if not SUPPORTED:
            return
        self._files.append(_opened(path))
        self._marks.append(_MARKS)
        with suppress(OSError):
            self._files.append(_opened_folder(path))
            self._marks.append(_marks_of(path))

    def status(self) -> os.stat_result | None:
        """That of the open file, whatever has its name now; None where none is kept open."""
        return os.fstat(self._files[0]) if self._files else None

    @contextmanager
    def locked(self, *, alone: bool, seconds: float) -> Iterator[bool]:
        """Holds the file for a transaction; yields whether it could be had within so many seconds."""
        had = self._taken(alone, seconds)
        try:
            yield had
        finally:
            if had and self._files:
                _set(self._files[0], "unlock", _TURN, 1)

    def mark(self, position: int) -> None:
        """Says, to whoever has the file or its folder, that line `position` was seen."""
        for file, start in zip(self._files, self._marks, strict=True):
            with suppress(OSError):  # some file systems lock no folders
                _set(file, "shared", start, min(position, _LAST_MARK) + 1)

    def others_saw_beyond(self, position: int) -> bool:
        """Whether somebody who has the file open, or had the one that was here before, saw a later line."""
        length = _LAST_MARK - min(position, _LAST_MARK)
        return any(
            length and _is_locked(file, start + position + 1, length)
            for file, start in zip(self._files, self._marks, strict=True)
        )

    def close(self) -> None:
        """Gives up all that is held."""
        while self._files:
            os.close(self._files.pop())
        self._marks.clear()

    def _taken(self, alone: bool, seconds: float) -> bool:  # noqa: FBT001 - as its public caller has it
        began, pause, told = time.monotonic(), 0.0002, False
        while self._files:
            try:
                _set(self._files[0], "alone" if alone else "shared", _TURN, 1)
            except (BlockingIOError, PermissionError):  # EAGAIN or EACCES: somebody else has it
                waited = time.monotonic() - began
                if waited > seconds:
                    return False
                if waited > SLOW_SECONDS and not told:
                    told = True
                    with suppress(Exception):  # of a handler of the log
                        logger.warning("waiting up to %g s for a ledger that another program holds", seconds)
                time.sleep(pause)
                pause = min(2 * pause, 0.005)
            else:
                break
        return True


def is_open_somewhere(path: str) -> bool:
    """Whether somebody has the ledger open that is at `path`, or was there: has marked a line of it on the folder."""
    if not SUPPORTED:
        return False
    with suppress(OSError):
        folder = _opened_folder(path)
        try:
            return _is_locked(folder, _marks_of(path), _LAST_MARK + 1)
        finally:
            os.close(folder)
    return False


def _opened_folder(path: str) -> int:
    return os.open(Path(path).parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)


def _marks_of(path: str) -> int:
    """Where the marks of a name begin, on its folder."""
    return _MARKS + (zlib.crc32(os.fsencode(Path(path).name)) << _MARK_BITS)


def _opened(path: str) -> int:
    try:
        return os.open(path, os.O_RDWR | os.O_CLOEXEC)
    except PermissionError:
        return os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError as error:
        import errno

        if error.errno != errno.EROFS:
            raise
        return os.open(path, os.O_RDONLY | os.O_CLOEXEC)


if sys.platform == "linux":  # elsewhere no descriptor is opened, and nothing locked by way of one
    _KINDS = {"alone": fcntl.F_WRLCK, "shared": fcntl.F_RDLCK, "unlock": fcntl.F_UNLCK}

    def _set(file: int, kind: str, start: int, length: int) -> None:
        fcntl.fcntl(file, fcntl.F_OFD_SETLK, _FLOCK.pack(_KINDS[kind], os.SEEK_SET, start, length, 0))

    def _is_locked(file: int, start: int, length: int) -> bool:
        with suppress(OSError):
            asked = _FLOCK.pack(fcntl.F_WRLCK, os.SEEK_SET, start, length, 0)
            return bool(_FLOCK.unpack(fcntl.fcntl(file, fcntl.F_OFD_GETLK, asked))[0] != fcntl.F_UNLCK)
        return False
