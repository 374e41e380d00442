"""The files behind a path or a pattern: which they are, and whether they still have the columns that were declared.

Claim
    What is read of a file under the name of a column stands under that name in the file. Whether a look is refused for
    a file that has changed depends on names, types and times of change, never on a row.
Requires
    A file system that moves a file's time of change, inode or size whenever it is written or replaced, a link's
    whenever it is made anew, and neither twice within one tick of that clock, some milliseconds. Folders that are not
    moved away and back during a look.
Relies on
    The header of a CSV file, the schema of a Parquet file, which stand apart from its rows.
Proof
    The files are those that matched when the table was protected, by absolute paths. `unchanged` takes the state of
    each before a look, compares the columns of each whose state is new, and takes the states once more afterwards. If
    they are equal, no file was written in between, so what was compared is what was read; if they are not, the look is
    refused whatever it found, also where the reader failed on a row of a file that was replaced under its hands.
Rounding
    None.
Source
    Optimistic concurrency control: Kung and Robinson (1981).
Mutant
    columns-are-taken-on-trust: a file that has changed is read as if it had not; killed by
    test_a_file_with_other_columns_is_refused.
    folders-in-place-of-files: a folder that has taken the place of a file is read; killed by
    test_a_file_with_other_columns_is_refused.
    links-of-folders: a link to a folder is not looked at; killed by test_a_folder_that_is_turned_away_and_back.
    files-change-while-they-are-read: states are not compared afterwards; killed by
    test_a_change_during_the_look_is_refused.
"""

from __future__ import annotations

import csv
import gzip
import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from glob import glob
from pathlib import Path
from urllib.parse import unquote

from discreet.errors import InvalidParameter, expected
from discreet.exact.given_values import path_of

MOST_STEPS = 1000
"""So many folders and links are on the way to a file, at most."""
MAGIC = "*?["
"""What makes a pattern of a path."""
PART = re.compile(r"[^=?\\\n]+=[^=?\\\n]+")
"""A name and a value, as DuckDB reads them of a folder; it decodes %20, and fails at what is no UTF-8 then."""

Columns = tuple[tuple[str, str], ...]
"""Names and types."""
State = tuple[int, ...]


class Files:
    """Files that are read as one table, all with the columns of the first."""

    def __init__(self, paths: tuple[str, ...], columns: Callable[[str], Columns], *, ordered: bool) -> None:
        self.paths = paths
        self._columns = columns
        self._ordered = ordered
        self._known: dict[str, State] = {paths[0]: _state(paths[0])}
        self.columns = columns(paths[0])
        """The names and types that every file has."""

    @property
    def by_pattern(self) -> bool:
        """Whether a name has characters of a pattern, by which the engine looks for it."""
        return any(c in path for path in self.paths for c in MAGIC)

    def check(self) -> tuple[State, ...]:
        """The state of each file; refuses one that lacks the columns of the first, or has them in another order."""
        states = {path: _state(path) for path in self.paths}
        for path, state in states.items():
            if self._known.get(path) != state:
                self._compare(path)
                self._known[path] = state
        return tuple(states.values())

    @contextmanager
    def unchanged(self) -> Iterator[None]:
        """A look at the files, which is refused if one of them is written meanwhile."""
        before = self.check()
        try:
            yield
        finally:  # a change goes before whatever came of the look
            if tuple(map(_state, self.paths)) != before:
                raise FilesChanged

    def _compare(self, path: str) -> None:
        found = self._columns(path)
        if not (found == self.columns if self._ordered else set(found) >= set(self.columns)):
            raise FilesChanged


@contextmanager
def all_unchanged(tables: Iterable[Files]) -> Iterator[None]:
    """A look at the files of several tables, which is refused if one of them is written meanwhile."""
    with ExitStack() as stack:
        for files in tables:
            stack.enter_context(files.unchanged())
        yield


class FilesChanged(Exception):
    """A file whose columns are not those of the others, or not those that it had."""


def matching_files(path: str) -> tuple[str, ...]:
    """The files that a path or a pattern stands for, by their absolute paths and in the order of these.

    A file whose own name has the characters of a pattern is that file. Only files of this machine are found, so that
    no address of another one comes as far as the engine.
    """
    if path_of("data", path).exists():
        if not Path(path).is_file():  # one that waits for a writer, say
            cure = f"name a file; for all files of a folder write 'folder/*{Path(path).suffix or '.parquet'}'."
            raise InvalidParameter(expected("a file", "data", path, cure))
        return (os.path.abspath(path_of("data", path)),)  # noqa: PTH100 (links stay what they are called)
    if not any(c in path for c in MAGIC):
        cure = "check the path, which is relative to the current folder."
        raise InvalidParameter(expected("a file that exists", "data", path, cure))
    found = glob(path, recursive=True)  # noqa: PTH207 (of any folder)
    own = (path_of("data", one) for one in found if Path(one).is_file())
    files = tuple(sorted(os.path.abspath(one) for one in own))  # noqa: PTH100 (as above)
    if not files:
        raise InvalidParameter(expected("files that match", "data", path, "check the pattern."))
    return files


def literal(path: str) -> str:
    """A path as a pattern that matches that file alone.

    >>> literal("/data/visits-[1].parquet")
    '/data/visits-[[]1].parquet'
    """
    return "".join(f"[{c}]" if c in MAGIC else c for c in path)


def partitions(paths: tuple[str, ...], names: tuple[str, ...]) -> tuple[str, ...]:
    """The columns that the names of folders add, the same for all files; refuses one that a file has as well.

    >>> partitions(("/data/zip=1/a.csv", "/data/zip=2/a.csv"), ("person",))
    ('zip',)
    """
    parts = [[part for part in Path(path).parts[:-1] if "=" in part] for path in paths]
    odd = next((part for own in parts for part in own if not PART.fullmatch(part) or "\ufffd" in unquote(part)), None)
    if odd is not None:
        cure = "rename the folder, name=value, or leave the = out."
        raise InvalidParameter(expected("folders with one name and one value", "folder", odd, cure))
    keys = {tuple(part.split("=")[0] for part in own) for own in parts}
    added = keys.pop() if len(keys) == 1 else ()
    for name in added:
        if name.casefold() in {one.casefold() for one in names}:
            cure = "rename the folder: what is called name=value above a file is a column of it."
            raise InvalidParameter(expected("folders that are not named as columns are", "folder", name, cure))
    return added


def header(path: str, delimiter: str) -> Columns:
    """The names in the first line of a CSV file, all of them text."""
    opener = gzip.open if path.lower().endswith(".gz") else open
    with opener(path, "rt", encoding="utf-8-sig", errors="replace", newline="") as lines:
        return tuple((name, "VARCHAR") for name in next(csv.reader(lines, delimiter=delimiter), []))


UNREADABLE = (OSError, EOFError, csv.Error)
"""Of a header: a folder, no permission, no such compression, a line without end."""


def _state(path: str) -> State:
    """What changes whenever a file is written or replaced, or the link to it; of files alone: in a folder that has
    taken the place of one, what is written does not show, and what waits for a writer would keep a look waiting.
    """
    found = os.stat(path)  # noqa: PTH116 (of an absolute path)
    if not stat.S_ISREG(found.st_mode):
        raise FilesChanged
    file = (found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)
    return (*file, *_links(path))


def _links(path: str) -> Iterator[int]:
    """What changes whenever a link on the way to a file is made anew, in a folder above it too."""
    place, left = "/", [part for part in path.split("/") if part]
    for _ in range(MOST_STEPS):
        if not left:
            return
        step = os.path.join(place, left.pop(0))  # noqa: PTH118 (".." is left to the system)
        own = os.lstat(step)
        if not stat.S_ISLNK(own.st_mode):
            place = step
            continue
        yield from (own.st_ino, own.st_ctime_ns)
        target = os.readlink(step)  # noqa: PTH115 (as above)
        place, left = "/" if target.startswith("/") else place, [*filter(None, target.split("/")), *left]
    raise FilesChanged
