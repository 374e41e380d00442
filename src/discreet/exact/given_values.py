"""Distinguishes values that a caller passed from places that would have to be opened.

Claim
    Whether `in_memory` says yes depends on the type of what is given alone, and to go through what it says yes to runs
    no statement and reads no file.
Requires
    NumPy, pandas, polars and Arrow: arrays of one dimension are values in memory.
Relies on
    Nothing.
Proof
    Sequences and views are those of Python's memory. Of the four packages, what has one dimension and says so as an
    array is an array or a series; lazy frames, readers and datasets do not. A file, a cursor, a relation and a column
    of a connection can be gone through as well, and are neither.
Rounding
    None.
Source
    None.
Mutant
    any-loop-is-a-list: whatever can be gone through counts as values; killed by
    test_values_that_have_to_be_fetched_are_no_list.
    masks-inside-of-lists: lists of masked arrays are taken for lists of numbers; killed by
    test_masked_entries_are_found_in_lists_and_made_by_readers.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, KeysView, Sequence, ValuesView
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeGuard

from discreet.errors import InvalidParameter, expected

if TYPE_CHECKING:
    from numpy.typing import NDArray

ARRAYS = ("numpy", "pandas", "polars", "pyarrow")
"""The packages whose arrays of one dimension are lists of values."""


def in_memory(given: object) -> TypeGuard[Iterable[Any]]:
    """Whether it is a list of values: nothing has to be opened, asked or drained for them, as a file, a cursor or a
    column of a connection would have to be.

    >>> in_memory([1, 2]), in_memory(range(3)), in_memory("ab"), in_memory(iter([1]))
    (True, True, False, False)
    """
    if type(given).__module__.partition(".")[0] in ARRAYS:
        return isinstance(given, Iterable) and hasattr(given, "__array__") and len(getattr(given, "shape", (0,))) == 1
    return isinstance(given, Sequence | KeysView | ValuesView) and not isinstance(given, str | bytes | bytearray)


def values(name: str, given: object, cure: str) -> list[Any]:
    """The values of a list or an array that a caller passed; refuses whatever would have to be opened for them.

    >>> values("reaches", (1, 2), "list them.")
    [1, 2]
    """
    if not in_memory(given):
        raise InvalidParameter(expected("a list or an array of values", name, given, cure))
    return list(given)


def array_of(name: str, given: Any) -> NDArray[Any]:
    """Numbers that a caller passed, as a plain array; refuses nested lists of different lengths, and entries that are
    masked: an array without its mask would have the values behind it. Shows none of them.

    >>> array_of("values", [[1, 2], [3, 4]]).shape
    (2, 2)
    """
    import numpy as np

    cure = "give one number, or an array or a list of numbers, none of them masked."
    try:
        if not _has_masked(given):
            array = np.asanyarray(given)  # a masked one, where what is given makes one of itself
            if not np.ma.is_masked(array):
                return np.asarray(array)
    except (TypeError, ValueError, RecursionError):
        pass
    raise InvalidParameter(expected("numbers", name, f"<{type(given).__name__}>", cure))


def _has_masked(given: object) -> bool:
    """Whether a list, or one inside of it, holds masked entries: of these NumPy takes what is behind the mask."""
    import numpy as np

    if isinstance(given, Sequence) and not isinstance(given, str | bytes | bytearray | range | memoryview):
        return any(_has_masked(one) for one in given if type(one) not in (int, float))
    return bool(np.ma.is_masked(given))


def place_to_write(given: object, example: str) -> str:
    """The path of a file that is to be written; refuses numbers, which Python takes for files that are open already.

    >>> place_to_write("answer.csv", "answer.csv")
    'answer.csv'
    """
    path = os.fspath(given) if isinstance(given, str | os.PathLike) else None
    if not isinstance(path, str) or not path:
        raise InvalidParameter(expected("a place that can be written", "path", given, f'write path="{example}".'))
    path_of("path", path)
    return path


def unwritable(path: str | os.PathLike[str]) -> InvalidParameter:
    """The refusal of a file that the system does not write."""
    cure = "choose a folder that exists and may be written to."
    return InvalidParameter(expected("a place that can be written", "path", str(path), cure))


ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/")
"""As of s3://bucket/file, of which `Path` leaves one slash; a drive has one letter."""
LONGEST_NAME, LONGEST_PATH = 255, 4095
"""In bytes; of Linux, and others have no longer ones."""


def path_of(name: str, given: str | os.PathLike[str]) -> Path:
    """A path whose name is text; refuses one with bytes that are no UTF-8, which Arrow and DuckDB do not take, or with
    NUL, which no system takes, or a name of more than 255 bytes, at which each question about it would fail; and an
    address, where Arrow would go to another machine.

    >>> path_of("to", "answers/plans.parquet").name
    'plans.parquet'
    """
    path = Path(given)
    if ADDRESS.match(str(path)):
        cure = "name a file of this machine; upload it from there, or download it first."
        raise InvalidParameter(expected("a path, and no address", name, str(given), cure))
    if str(path).encode(errors="replace").decode() != str(path):
        cure = "rename the file, or a folder above it: its name has bytes that are no UTF-8."
        raise InvalidParameter(expected("a path in UTF-8", name, str(path).encode(errors="replace").decode(), cure))
    if "\0" in str(path):
        raise InvalidParameter(expected("a path without NUL", name, str(path), "leave it out of the name."))
    longest = max((len(part.encode()) for part in path.parts), default=0)
    if longest > LONGEST_NAME or len(str(path).encode()) > LONGEST_PATH:
        what = f"names of up to {LONGEST_NAME} bytes, in a path of up to {LONGEST_PATH:,}"
        told = f"{len(str(path).encode()):,} bytes, of which one name has {longest:,}"
        raise InvalidParameter(expected(what, name, told, "give the path of a file, not what is in it."))
    return path


def flag(name: str, given: object) -> bool:
    """Checks that an argument is True or False, and not merely truthy.

    >>> flag("fresh", True)
    True
    """
    if not isinstance(given, bool):
        raise InvalidParameter(expected("True or False", name, given, f"write {name}=True, or leave it out."))
    return given
