"""Checks column names: every engine must be able to store and distinguish them."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from discreet.errors import InvalidQuery, expected
from discreet.language.literals import plain_text as writable


def check_name(name: str, known: Iterable[str]) -> None:
    """Refuses a name that some engine cannot store, or could confuse with another column's, since it ignores case."""
    if type(name) is not str:  # which could write itself otherwise
        raise InvalidQuery(
            expected("plain text as a name", "name", f"<{type(name).__name__}>", "write str.__str__(x).")
        )
    if not writable(name):
        raise InvalidQuery("Expected a name, got ''.\nHint: name the column.")
    if name.casefold().startswith("__discreet"):
        raise InvalidQuery(expected("another name", "column", name, "names that begin with __discreet are taken."))
    alike = next((other for other in known if other != name and other.casefold() == name.casefold()), None)
    if alike is not None:
        cure = f"engines do not tell it from {alike!r}: use that name, or another."
        raise InvalidQuery(expected("a name that differs by more than case", "column", name, cure))


def check_apart(names: Collection[str]) -> None:
    """Refuses names of one table of which two differ by case alone.

    >>> check_apart(["plan", "Plan"])
    Traceback (most recent call last):
    discreet.errors.InvalidQuery: Expected a name that differs by more than case, got column='plan'.
    Hint: engines do not tell it from 'Plan': use that name, or another.
    """
    if len({name.casefold() for name in names}) < len(names):
        for name in names:
            check_name(name, names)
