"""Names that an object does not have: answered with the nearest one that it has, or with the line to write."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from difflib import get_close_matches
from importlib import import_module
from typing import TYPE_CHECKING, ClassVar, NoReturn

from discreet.errors import UnknownName

NOTHING: Mapping[str, str] = {}


def each(line: str, names: str) -> Iterator[tuple[str, str]]:
    """One line for several names, which blanks part, as entries of a table of words."""
    return ((name, line) for name in names.split())


def line_for(name: str, known: Iterable[str], instead: Mapping[str, str]) -> str:
    """The cure for a name that is not there: what to write in its place, or the nearest name, or all that there are.

    >>> line_for("groupby", ["group_by", "agg"], {})
    "did you mean 'group_by'?"
    >>> line_for("describe", ["agg"], {"describe": "write .agg(n=_.count())."})
    'write .agg(n=_.count()).'
    """
    folded = name.lower().replace("_", "")
    lines = {one.lower().replace("_", ""): line for one, line in instead.items()}
    if folded in lines:
        return lines[folded]
    public = sorted(one for one in set(known) if not one.startswith("_"))
    by_folded = {one.lower().replace("_", ""): one for one in public}
    close = get_close_matches(folded, by_folded, n=1, cutoff=0.75)
    if close:
        return f"did you mean {by_folded[close[0]]!r}?"
    return f"there are {', '.join(public)}."


FRAMES: Mapping[str, str] = {"to_pandas": "pandas", "to_polars": "polars"}
"""Methods of answers that give a frame, and the package that it is of."""


def of_frames(name: str, package: str) -> bool:
    """Whether the frames of a package have a name.

    >>> of_frames("corr", "pandas"), of_frames("no such name", "pandas"), of_frames("corr", "no_such_package")
    (True, False, False)
    """
    try:
        return hasattr(import_module(package).DataFrame, name)
    except ImportError:
        return False


class NearNames:
    """An object that answers a name which it does not have with the line to write.

    hasattr() finds nothing there, and names that begin with an underscore, which Python and notebooks probe for, are
    plain AttributeErrors: copies, pickles and displays are what they would be.
    """

    __slots__ = ()
    _instead: ClassVar[Mapping[str, str]] = NOTHING
    """By name, in any spelling of its capitals and underscores."""

    def _line_for(self, name: str) -> str:
        """What to write in place of a name."""
        line = line_for(name, dir(self), self._instead)
        for made, package in FRAMES.items() if line.startswith("there are") else ():
            if hasattr(type(self), made) and of_frames(name, package):
                return f"write .{made}().{name}, of a frame."
        return line

    if not TYPE_CHECKING:  # for a type checker, which finds a name that is not there by itself

        def __getattr__(self, name: str) -> NoReturn:
            if name.startswith("_"):
                raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}", name=name, obj=self)
            said = f"Expected a name that a {type(self).__name__} has, got .{name}."
            raise UnknownName(f"{said}\nHint: {self._line_for(name)}")
