"""Rows whose unit is named in another table: the scan of a table, with the unit carried along foreign keys.

Claim
    Let a row of the last table of a path belong to the unit that it names, and a row of an earlier one to every unit
    that some row with its key in the next table belongs to. Neighbors: all rows that belong to one unit are added to
    all tables or removed from them, at once. `owned_rows` gives the rows of the first table that belong to exactly one
    unit, each with that unit. So neighbors differ in it by the rows of that unit and no others, as they do in a table
    that has a column of the unit.
Requires
    Nothing of the rows: keys may repeat, refer to nothing, or be NULL. Foreign and referenced columns, and units, that
    are written in one notation (`language.input_barrier.one_notation`) and totally ordered.
Relies on
    `language.input_barrier.barrier`: its hidden columns are equal where values are, are never NULL and neither clipped
    nor rounded. A binary collation of texts, by which a join, GROUP BY, MIN and MAX agree on what is equal.
Proof
    Let O(r) be the units of a row r. *The statement.* By induction from the last table, each key of a table stands in
    `_units_of_keys` once, with the least and the largest unit of all rows under it, column by column; a key none of
    whose rows belongs to anybody does not. Both are equal, in all columns, where there is one unit, so the join keeps
    the rows with one, once each.
    *Neighbors.* D' is D without all rows r of all tables for which O(r) has the unit a. For a row r that stays, O'(r) =
    O(r): it has only units other than a, so no row with its key in the next table belongs to a, all of these stay too,
    and keep their units by induction; O(r) is the union of theirs. Hence what D' counts is what D counts of the rows
    that stay. A row that goes has a among its units: it counted for a alone, or for nobody. What is shown of a unit
    is a function of it.
    *Two units.* A row of several units goes with each of them, as under ON DELETE CASCADE. Were it counted for one of
    them, by whatever rule, the removal of another would take it from that one; were it left where one unit goes, it
    would come to count for the other. Rows that count for nobody do neither.
Rounding
    None.
Source
    Neighbors by foreign keys: Kotsogiannis et al., "PrivateSQL" (2019), section 3; Dong, Fang, Yi, Tao and
    Machanavajjhala, "R2T" (2022), section 3.
Mutant
    first-unit-takes-all: a row of two units counts for the least; killed by
    test_a_unit_moves_its_own_rows_and_no_others.
    units-of-one-step: of a longer path the least unit alone is carried on; killed by
    test_a_unit_moves_its_own_rows_and_no_others.
    keys-behind-bounds: a foreign key is compared as it is clipped; killed by
    test_keys_are_compared_as_they_are.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from discreet.language.input_barrier import UNIT
from discreet.privacy.declaration import Bound

KEY = "__discreet_key_"
LARGEST = "__discreet_last_"
"""Prefixes of the columns that hold a key, and the largest unit under it; the least has the name of the unit."""


class KeyedTable(Protocol):
    """A raw table whose rows can be told apart by some of its columns."""

    def keyed_rows(
        self, by: Sequence[str], bounds: Mapping[str, tuple[Bound, Bound]], wanted: frozenset[str] | None
    ) -> tuple[tuple[str, ...], str]:
        """Its columns behind the barrier, and the SQL of its rows: those and the hidden ones of `by`."""

    @classmethod
    def identifier(cls, name: str) -> str:
        """A name as the engine's SQL quotes it."""


@dataclass(frozen=True, kw_only=True, eq=False)
class PathStep:
    """One table on the way to the unit, and how the one before refers to it."""

    table: KeyedTable
    foreign: tuple[str, ...]
    """Columns of the table before."""
    referenced: tuple[str, ...]
    """The columns of this one that they name, in the same order."""


def owned_rows(
    first: KeyedTable,
    steps: Sequence[PathStep],
    unit: Sequence[str],
    bounds: Mapping[str, tuple[Bound, Bound]],
    wanted: frozenset[str] | None = None,
) -> str:
    """The SQL of the rows that have one unit: the wanted columns, those of the unit, and the hidden ones."""
    named = _Names(first)
    columns, rows = first.keyed_rows(steps[0].foreign, bounds, wanted)
    shown = [named.column("t", name) for name in columns] + [named.column("p", name) for name in unit]
    hidden = [named.column("p", f"{UNIT}{i}") for i in range(len(unit))]
    met = named.equal(("t", UNIT, 0), ("p", KEY, 0), len(steps[0].foreign))
    alone = named.equal(("p", UNIT, 0), ("p", LARGEST, 0), len(unit))
    of_keys = _units_of_keys(named, steps, unit)
    return f"SELECT {_list([*shown, *hidden])} FROM ({rows}) AS t INNER JOIN ({of_keys}) AS p ON {met} WHERE {alone}"  # noqa: S608 (quoted names)


def _units_of_keys(named: _Names, steps: Sequence[PathStep], unit: Sequence[str]) -> str:
    """The SQL of the units under each key of the first step's table: the least and the largest, column by column."""
    step, *rest = steps
    keys, units = len(step.referenced), range(len(unit))
    more = tuple(rest[0].foreign) if rest else tuple(unit)
    _, rows = step.table.keyed_rows((*step.referenced, *more), {}, frozenset() if rest else frozenset(unit))
    # Of the last table what is hidden begins with the key, and its units follow.
    whose, least, largest, origin = "t", (UNIT, keys), (UNIT, keys), f"({rows}) AS t"
    if rest:
        met = named.equal(("t", UNIT, keys), ("p", KEY, 0), len(rest[0].foreign))
        whose, least, largest = "p", (UNIT, 0), (LARGEST, 0)
        origin = f"{origin} INNER JOIN ({_units_of_keys(named, rest, unit)}) AS p ON {met}"
    key = [named.column("t", f"{UNIT}{i}") for i in range(keys)]
    found = [f"{column} AS {named.own(f'{KEY}{i}')}" for i, column in enumerate(key)]
    for function, (prefix, begin), name in (("MIN", least, UNIT), ("MAX", largest, LARGEST)):
        found += [
            f"{function}({named.column(whose, f'{prefix}{begin + i}')}) AS {named.own(f'{name}{i}')}" for i in units
        ]
    found += [f"MIN({named.column(whose, name)}) AS {named.own(name)}" for name in unit]
    return f"SELECT {_list(found)} FROM {origin} GROUP BY {_list(key)}"  # noqa: S608 (quoted names)


class _Names:
    """How an engine writes the columns of the tables that meet here, t and p."""

    def __init__(self, engine: KeyedTable) -> None:
        self.own = engine.identifier

    def column(self, table: str, name: str) -> str:
        return f"{table}.{self.own(name)}"

    def equal(self, one: tuple[str, str, int], other: tuple[str, str, int], number: int) -> str:
        """That so many columns are equal, each given by its table, its prefix and the first number behind that."""
        pairs = (
            [self.column(table, f"{prefix}{begin + i}") for table, prefix, begin in (one, other)] for i in range(number)
        )
        return " AND ".join(f"{left} = {right}" for left, right in pairs)


def _list(items: Iterable[str]) -> str:
    return ", ".join(items)
