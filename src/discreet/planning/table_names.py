"""Names of the tables of a batch: what people call them, and what they are called in texts."""

from __future__ import annotations

from collections.abc import Iterable

Name = str | tuple[str, ...]


def label(name: Name) -> str:
    """What a table is called in texts, unlike every other of its batch: columns that would be mistaken are in quotes.

    >>> label(()), label(("a", "b")), label(("a, b",)), label(("all",))
    ('all', 'a, b', "'a, b'", "'all'")
    """
    if isinstance(name, str):
        return name
    return ", ".join(repr(one) if one in ("", "all") or {*",:'\""} & {*one} else one for one in name) or "all"


def table_named(name: object, names: Iterable[Name]) -> Name | None:
    """The table that is meant: a tuple of attributes in any order, and one attribute without its tuple.

    >>> table_named("a", [(), ("a",)]), table_named(["b", "a"], [("a", "b")]), table_named("c", ["a"])
    (('a',), ('a', 'b'), None)
    """
    if not isinstance(name, str | tuple | list):
        return None
    for own in names:
        if name == own or (isinstance(own, tuple) and own == (name,)):
            return own
        if isinstance(own, tuple) and isinstance(name, tuple | list) and sorted(map(str, name)) == sorted(own):
            return own
    return None
