"""The names of levels, of which no two beside each other look alike to a computer or fold into one.

A level is known by its path, such as ``staff/alice``; that of the whole budget is empty.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable

from discreet.errors import InvalidParameter, LedgerError, expected

WHOLE = ""
"""The path of the whole budget."""
LONGEST = 100
DEEPEST = 32


def path_below(path: str, name: object) -> str:
    """The path of the level `name` inside of the one at `path`; refuses what is no name."""
    cure = "write a name such as name='alice': up to 100 printable characters, without a slash or spaces at its ends."
    if not isinstance(name, str) or not 0 < len(name) <= LONGEST:
        raise InvalidParameter(expected("the name of a level", "name", name, cure))
    if not name.isprintable() or "/" in name or name != name.strip() or name in (".", ".."):
        raise InvalidParameter(expected("the name of a level", "name", name, cure))
    if unicodedata.normalize("NFKC", name) != name:
        cure = f"write it as {unicodedata.normalize('NFKC', name)!r}, which reads the same and is one name everywhere."
        raise InvalidParameter(expected("a name in its usual characters (NFKC)", "name", name, cure))
    below = f"{path}/{name}" if path else name
    if below.count("/") >= DEEPEST:
        cure = "put this level beside others instead of inside of them."
        raise InvalidParameter(expected(f"at most {DEEPEST} levels inside of each other", "name", name, cure))
    return below


def lineage(path: str) -> tuple[str, ...]:
    """The paths from the whole budget to a level.

    >>> lineage("staff/alice")
    ('', 'staff', 'staff/alice')
    """
    if not path:
        return (WHOLE,)
    parts = path.split("/")
    return (WHOLE, *("/".join(parts[: number + 1]) for number in range(len(parts))))


def is_below(path: str, above: str) -> bool:
    """Whether a level is the other one, or inside of it."""
    return not above or path == above or path.startswith(f"{above}/")


def parent_of(path: str) -> str:
    """The path of the level around this one."""
    return path.rpartition("/")[0]


def check_apart(path: str, known: Iterable[str]) -> None:
    """Refuses a new level whose name would be taken for that of one beside it: ``Alice`` beside ``alice``."""
    parent, folded = parent_of(path), _folded(path)
    for other in known:
        if other and other != path and parent_of(other) == parent and _folded(other) == folded:
            cure = f"open {other!r}, or give a name that differs in more than capital letters."
            raise LedgerError(expected("a name unlike those beside it", "name", path, cure))


def words(path: str) -> str:
    """A level in a sentence."""
    return f"level {path!r}" if path else "the whole budget"


def _folded(path: str) -> str:
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", path).casefold())
