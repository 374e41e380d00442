"""What the curator states of a table: who is protected, what is publicly known, and how tables stand together."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from fractions import Fraction

from discreet.privacy.definitions import Neighbors

Key = str | int | bool | date | datetime | None
"""A public group key; None stands for NULL."""

Bound = Fraction | date | datetime

UNNAMED = re.compile(r"table \d+ of process \d+ at \S+")
"""What `dp.protect` calls a frame that has no name."""


@dataclass(frozen=True, kw_only=True)
class Declaration:
    """What the curator states of a table: all of it public, none of it taken from the rows."""

    name: str
    """The declared source: what the ledger knows the table by."""
    version: str = ""
    unit: tuple[str, ...] = ()
    """The columns that name the privacy unit; none where each row is a unit."""
    each_of: bool = False
    """Whether each of these columns names a unit, so that a row belongs to several; else all of them name one."""
    via: tuple[tuple[tuple[str, str], ...], ...] = ()
    """Where the unit is named in another table, the steps to it: pairs of a column and the one that it refers to."""
    neighbors: Neighbors = Neighbors.ADD_REMOVE
    size: int | None = None
    """The public number of units, where neighbors replace one."""
    bounds: Mapping[str, tuple[Bound, Bound]] = field(default_factory=dict)
    keys: Mapping[str, tuple[Key, ...]] = field(default_factory=dict)
    max_groups: int | None = None
    max_rows: int | None = None
    auto_limits: frozenset[str] = frozenset()
    """Of ``max_groups`` and ``max_rows``, those that each release chooses; 1 stands for them here."""
    auto_bounds: frozenset[str] = frozenset()
    """The columns whose bounds each release chooses; the widest stand for them in `bounds`."""
    description: str = field(default="", compare=False)
    """What the table is about, for people; like the next one, no part of what a release or a ledger knows it by."""
    descriptions: Mapping[str, str] = field(default_factory=dict, compare=False)
    """What columns hold, for people."""
    parts: tuple[Declaration, ...] = ()
    """Of several tables in one plan: what was stated of each that is protected."""
    rows_changed: int = 1
    """Where each row counts for itself, how many rows one unit has: one for each table that was united, k times as many
    where verbs made k of one. After a join on any key, how many rows neighbors differ in.
    """

    meets_others: bool = False
    """Whether rows were made of rows of different units, so that some come while others go."""

    @property
    def whose(self) -> tuple[str, ...]:
        """The columns that name who is protected."""
        return self.parts[0].unit if self.parts else self.unit

    @property
    def protects(self) -> list[str] | str:
        """Who is protected, as accounts and receipts say it."""
        return f"each of {', '.join(self.unit)}" if self.each_of else list(self.whose) or "each row"

    @property
    def paths(self) -> tuple[str, ...]:
        """How the unit of a row is found where another table names it, of each of several tables: the columns of each
        step and those that they refer to, in words.
        """
        stated = (declared.via for declared in self.parts or (self,) if declared.via)
        return tuple(dict.fromkeys(", then ".join(map(_step, path)) for path in stated))

    @property
    def joins_units(self) -> bool:
        """Whether its rows were made of rows of different units, so that they come and go together."""
        return self.meets_others or self.whose != self.unit

    @property
    def label(self) -> str:
        """Name and version, as people read them: of each of several tables."""
        if self.parts:
            return ", ".join(dict.fromkeys(part.label for part in self.parts))
        return f"{self.title}@{self.version}" if self.version else self.title

    @property
    def title(self) -> str:
        """The name for people; a frame that was not named has one of its own in the ledger alone.

        >>> Declaration(name="table 3 of process 71 at 2026-01-02T03:04:05+00:00/8f3a").title
        'an unnamed frame'
        """
        return "an unnamed frame" if UNNAMED.fullmatch(self.name) else self.name


def _step(pairs: tuple[tuple[str, str], ...]) -> str:
    return " and ".join(f"{column} = {referenced}" for column, referenced in pairs)
