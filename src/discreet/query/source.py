"""What a query needs to know of its table, and the one thing it asks of it: to release a plan."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from fractions import Fraction
from typing import Any, NamedTuple, Protocol

import ibis.expr.schema as sch

from discreet.privacy.definitions import Neighbors

Key = str | int | bool | date | datetime | None
"""A public group key; None stands for NULL."""

Bound = Fraction | date | datetime


@dataclass(frozen=True, kw_only=True)
class Declaration:
    """What the curator states of a table: all of it public, none of it taken from the rows."""

    name: str
    """The declared source: what the ledger knows the table by."""
    version: str = ""
    unit: tuple[str, ...] = ()
    """The columns that name the privacy unit; none where each row is a unit."""
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
    parts: tuple[Declaration, ...] = ()
    """Of several tables in one plan: what was stated of each that is protected."""
    moved: int = 1
    """Where each row counts for itself, how many rows one unit has: one for each table that was united. After a join on
    any key, how many rows neighbors differ in.
    """

    @property
    def whose(self) -> tuple[str, ...]:
        """The columns that name who is protected."""
        return self.parts[0].unit if self.parts else self.unit

    @property
    def meets(self) -> bool:
        """Whether its rows were made of rows of different units, so that they come and go together."""
        return self.whose != self.unit

    @property
    def label(self) -> str:
        """Name and version, as people read them: of each of several tables."""
        if self.parts:
            return ", ".join(dict.fromkeys(part.label for part in self.parts))
        return f"{self.name}@{self.version}" if self.version else self.name


class Beside(NamedTuple):
    """Two tables that stand in one plan."""

    source: Any
    """A source of both: one budget, one charge."""
    places: tuple[int, ...]
    """Where the scanned tables of the second one stand now."""


class Source(Protocol):
    """A protected table. The curator implements it: the only place where budget, data and entropy meet."""

    @property
    def declaration(self) -> Declaration:
        """What was stated of the table."""

    @property
    def schema(self) -> sch.Schema:
        """Its column names and types."""

    def release(self, plan: Any, *, fresh: bool, confidence: float) -> Any:
        """Charges the plan, runs it, adds the noise and returns the answer."""

    def write(self, plan: Any, to: object, *, fresh: bool, confidence: float) -> Any:
        """The same, with the answer in a file."""

    def statement(self, plan: Any) -> str:
        """The SQL that the engine runs for a plan."""

    def beside(self, other: Any) -> Beside:
        """This table and another one, protected or public, in one plan; refuses what cannot stand together."""

    def parts(self, number: int, most: int) -> tuple[Any, ...]:
        """So many sources of this table that charge together what the `most` dearest of them cost."""

    def rowwise(self, moved: int) -> Any:
        """A source of the same tables in which rows belong to nobody, and neighbors differ in so many of them."""
