"""What a caller gives to look into a ledger: which part of a record, which key, which level."""

from __future__ import annotations

from discreet.errors import InvalidParameter, expected
from discreet.exact.amounts import count

FARTHEST = 2**62
"""No record has so many lines; a database counts no further than twice that."""

KEY = "give the key of a stored answer."


def stretch(after: object, most: object) -> tuple[int, int | None]:
    """From behind which number on, and how many at most.

    >>> stretch(3, None)
    (3, None)
    """
    first = min(count("after", after), FARTHEST)
    return first, None if most is None else min(count("most", most), FARTHEST)


def checked_text(name: str, given: object, cure: str) -> str:
    """A key or a path, which is text.

    >>> checked_text("level", "staff/alice", "write it with its parents.")
    'staff/alice'
    """
    if not isinstance(given, str):
        raise InvalidParameter(expected("a text", name, given, cure))
    return given
