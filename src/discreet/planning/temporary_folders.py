"""A temporary folder that goes with its process, however that one ends.

Claim
    No folder of a process that lives is removed by another one, and nothing that is not a folder of ours.
Requires
    A temporary folder in which only we can rename what is ours, as the sticky bit sees to.
Relies on
    flock, which the kernel takes back when the last process that holds it ends; rename, which is atomic.
Proof
    A folder has a name that `swept` looks for only once it is locked: it is made under another name, locked, and
    renamed. So whoever can lock one by such a name finds that its process has ended, forks of it included, since they
    share the lock. What is opened is a directory and no symbolic link, and its owner is asked of what was opened. Where
    folders cannot be locked, the first name stays and nothing is swept.
Rounding
    None.
Source
    flock(2), open(2) and rename(2) of Linux.
Mutant
    living-folders-are-swept: a lock is not asked for; killed by test_folders_in_use_stay.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import weakref
from contextlib import suppress
from pathlib import Path

from discreet.noise.process_identity import this_process

OPEN = "discreet-locked-"
"""What the name of a locked folder begins with."""
NEW = "discreet-new-"


class Folder:
    """A new folder, which goes with this object; those of processes that were killed go when one is made."""

    def __init__(self) -> None:
        made = tempfile.mkdtemp(prefix=NEW)
        lock = _locked(made)
        self.path = Path(made)
        if lock is not None:
            swept(self.path.parent)
            self.path = self.path.rename(self.path.with_name(self.path.name.replace(NEW, OPEN, 1)))
        weakref.finalize(self, _removed, self.path, lock, this_process())


def swept(place: Path) -> None:
    """Removes our folders whose processes have ended."""
    for left in place.glob(f"{OPEN}*"):
        lock = _locked(str(left))
        if lock is not None:
            _removed(left, lock, this_process())


def _locked(path: str) -> int | None:
    """A folder of ours, open and locked; none where it is another's, in use, or cannot be locked."""
    with suppress(ImportError, OSError):
        import fcntl

        folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        with suppress(OSError):
            if os.fstat(folder).st_uid == os.getuid():
                fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return folder
        os.close(folder)
    return None


def _removed(folder: Path, lock: int | None, owner: tuple[int, int]) -> None:
    """Takes a folder away, but not from the process that this one was forked from."""
    if this_process() == owner:
        shutil.rmtree(folder, ignore_errors=True)
    if lock is not None:
        os.close(lock)
