"""Where a ledger's file is: one name, in one folder, for its owner alone; and how a new one gets there, whole or not.

SQLite keeps a journal beside the file, under its name. Whoever reaches the file by another name or in another folder
(a hard link, a file mounted into a container by itself) would not see the journal that a crash left, and take half a
charge for a whole one, or undo the charges of others by it later. So such files are refused.
"""

from __future__ import annotations

import os
import re
import sqlite3
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path
from tempfile import mkdtemp

from discreet.errors import InvalidParameter, LedgerError, expected
from discreet.exact.given_values import path_of
from discreet.ledger.file_locks import Descriptor
from discreet.ledger.hash_chain import DAMAGED

SETTLING_SECONDS = 2.0
"""How long a file may have two names: its maker links it into place and then removes the first name."""

ABANDONED_SECONDS = 60.0
"""How long an unfinished file is left alone, since its maker takes hold of it after making it."""

MOUNTS = Path("/proc/self/mountinfo")
"""All mounts that this process sees; Linux has it."""

COMPANIONS = ("-journal", "-wal", "-shm")
"""How the files are called that SQLite keeps beside a database, and removes when it is done with them."""

_FOLDER, _UNFINISHED = ".ledger-", "unfinished.db"
"""A ledger is built in a folder of its own, beside the place where it goes."""


def absolute(path: object) -> str:
    """The one name of a ledger's file: absolute and without symbolic links, whatever the working directory becomes."""
    cure = "give a path such as ledger='spent.db', or leave it out to keep the record in memory."
    try:
        text = os.fspath(path)  # type: ignore[call-overload]  # what is no path raises TypeError, which is the check
    except TypeError:
        text = None
    if not isinstance(text, str) or not text or "\0" in text or text == ":memory:":
        raise InvalidParameter(expected("the path of a file", "ledger", path, cure))
    path_of("ledger", text)
    try:
        name = str(path_of("ledger", os.path.realpath(text)))
    except FileNotFoundError:
        cure = "change to a folder that exists, or give the whole path of the ledger."
        raise LedgerError(expected("a current folder that exists", "ledger", path, cure)) from None
    if name.endswith(COMPANIONS):
        cure = "write another name, such as ledger='spent.db': SQLite deletes files of this name beside another one."
        raise InvalidParameter(expected("a name that SQLite gives to no file of its own", "ledger", path, cure))
    return name


def identity(path: str) -> tuple[int, int]:
    """What tells the file at `path` from every other; refuses what cannot be a ledger."""
    status = Path(path).stat()
    patience = time.monotonic() + SETTLING_SECONDS
    while stat.S_ISREG(status.st_mode) and status.st_nlink > 1 and time.monotonic() < patience:
        if not _without_first_name(path, status):
            time.sleep(0.001)
        status = Path(path).stat()
    if not stat.S_ISREG(status.st_mode):
        raise LedgerError(expected("a file", "ledger", path, "give the path of a file, not of a folder or a device."))
    if status.st_size == 0:
        raise LedgerError(expected("a ledger", "ledger", f"{path}, which is empty", DAMAGED))
    if status.st_nlink != 1:
        cure = "end all programs that use it, then remove the other hard links: each name has a journal of its own."
        raise LedgerError(expected("a file with one name", "names", status.st_nlink, cure))
    return status.st_dev, status.st_ino


def _without_first_name(path: str, status: os.stat_result) -> bool:
    """Removes the name under which the file was built, which a maker that was killed left: it is in place already."""
    for built in Path(path).parent.glob(f"{_FOLDER}*/{_UNFINISHED}"):
        with suppress(OSError):
            if os.path.samestat(built.stat(follow_symlinks=False), status):
                built.unlink()
                return True
    return False


def check_mount(path: str) -> None:
    """Refuses a file that is mounted by itself: another container would keep its journal in another folder."""
    try:
        mounts = MOUNTS.read_bytes()
    except OSError:
        return
    # Bytes: the kernel escapes no more than space, tab, end of line and backslash, and a text has other ends of lines.
    places = (line.split(b" ")[4] for line in mounts.split(b"\n") if line.count(b" ") > 4)
    named = {re.sub(rb"\\([0-7]{3})", lambda octal: bytes([int(octal[1], 8)]), place) for place in places}
    if os.fsencode(path) in named:
        cure = "mount its folder instead; SQLite keeps a journal beside the file, which all who use it have to see."
        raise LedgerError(expected("a ledger whose folder is mounted", "ledger", f"{path}, mounted alone", cure))


def tighten(path: str) -> None:
    """Takes a file that all may read from all but its owner; one that a group alone shares was meant so."""
    status = Path(path).stat()
    if hasattr(os, "geteuid") and status.st_mode & stat.S_IRWXO and status.st_uid == os.geteuid():
        Path(path).chmod(stat.S_IMODE(status.st_mode) & stat.S_IRWXU)


def placed(path: str, write: Callable[[sqlite3.Connection], object]) -> bool:
    """Puts the database that `write` fills at `path`, whole and in one step; False where another was faster."""
    folder = Path(path).parent
    remove_leftovers(folder)
    with built(folder, write) as unfinished:
        try:
            # A link, unlike a rename, does not replace what is there.
            os.link(unfinished, path)
        except FileExistsError:
            return False
        flush_folder(folder)
    return True


@contextmanager
def built(folder: Path, write: Callable[[sqlite3.Connection], object]) -> Iterator[Path]:
    """The file of a database that `write` fills, where nobody looks; gone afterwards."""
    aside = Path(mkdtemp(prefix=_FOLDER, dir=folder))
    unfinished = aside / _UNFINISHED
    try:
        os.close(os.open(unfinished, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        with ExitStack() as stack:
            held = Descriptor(str(unfinished))
            stack.callback(held.close)
            stack.enter_context(held.locked(alone=True, seconds=0))
            with closing(sqlite3.connect(unfinished, isolation_level=None)) as database:
                database.execute("PRAGMA synchronous = FULL")
                database.execute("PRAGMA fullfsync = ON")
                write(database)
            yield unfinished
    finally:
        _remove(aside)


def remove_leftovers(folder: Path) -> None:
    """Removes what makers that were killed left in `folder`: files of some age that nobody holds, and empty folders."""
    for aside in folder.glob(f"{_FOLDER}*"):
        with suppress(OSError):
            if time.time() - aside.stat().st_mtime >= ABANDONED_SECONDS:
                aside.rmdir()
    for left in folder.glob(f"{_FOLDER}*/{_UNFINISHED}"):
        with suppress(OSError):
            if time.time() - left.stat().st_mtime < ABANDONED_SECONDS:
                continue
            held = Descriptor(str(left))
            try:
                with held.locked(alone=True, seconds=0) as had:
                    if had and held.status():
                        _remove(left.parent)
            finally:
                held.close()


def _remove(aside: Path) -> None:
    with suppress(OSError):
        for file in aside.glob(f"{_UNFINISHED}*"):
            file.unlink(missing_ok=True)
        aside.rmdir()


def flush_folder(folder: Path) -> None:
    """Makes a new name in `folder` survive a power cut, where the system can."""
    if hasattr(os, "O_DIRECTORY"):
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
