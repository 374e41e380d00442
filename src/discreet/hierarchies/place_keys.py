"""The places of a path of columns: public keys as a tree, and the groups that an engine counts.

Claim
    Each public tuple is one leaf, and each beginning of a tuple one node of its level, below the node of its own
    beginning. The groups of `PlaceKeys` are the tuples of some neighboring leaves, each with every cell, once each.
Requires
    Distinct tuples, as `planning.group_keys` and `planning.group_key_file` see to.
Relies on
    Arrow's dictionaries: two values have one code exactly if they are equal, NULL counted as a value.
Proof
    The code of a beginning of l columns is made of that of l - 1 columns and of the code of the next column; codes are
    numbered by where they come first. Leaves are sorted by the codes of all beginnings, the first column first, so that
    the children of a node stand side by side; a node begins where the code of its level changes.
Rounding
    None.
Source
    Discreet's own.
Mutant
    columns-for-beginnings: a node is told by its own column alone; killed by
    test_a_county_is_one_of_its_state.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.errors import InvalidParameter, InvalidQuery, expected
from discreet.exact.cached_property import cached_property
from discreet.language.checked_expressions import Kind
from discreet.planning.batches import ROWS, lines
from discreet.planning.group_keys import POSITION, Keys
from discreet.privacy.declaration import Key
from discreet.query.public_keys import PublicKeys
from discreet.workloads.hierarchy import Hierarchy

TOTAL = "total"
"""The level above the first column: all that the keys name."""
MOST_PLACES = 2**26
"""Leaves, whose keys are in memory."""
MOST_CELLS = 2**16


@dataclass(frozen=True, eq=False)
class Places:
    """A tree of places, and the cells that each of them has."""

    tree: Hierarchy
    """The total first."""
    path: pa.Table
    """The tuples of the leaves, in the order of the tree."""
    cells: pa.Table
    """The tuples of the cells; one row without columns where there are none."""
    kinds: Mapping[str, Kind]
    """Of the columns of the path, and of the cells after them."""

    @classmethod
    def of(cls, path: Sequence[str], keys: PublicKeys, kinds: Mapping[str, Kind], cells: Keys | None) -> Places:
        """The places of public tuples.

        Args:
            path: the columns, from the top down.
            keys: tuples of these columns.
            kinds: of them.
            cells: the tuples of further columns; none where there are none.
        """
        if set(keys.names) != set(path):
            cure = "the keys name each place by all columns of the path; cells have keys of their own, cells={...}."
            raise InvalidQuery(expected(f"public keys of the columns {list(path)}", "keys", list(keys.names), cure))
        if keys.size > MOST_PLACES:
            what, cure = f"at most {MOST_PLACES:,} places", "leave the last level out."
            raise InvalidQuery(expected(what, "keys", f"{keys.size:,}", cure))
        number = 1 if cells is None else cells.size
        if number > MOST_CELLS:
            raise InvalidQuery(expected(f"at most {MOST_CELLS:,} cells", "cells", f"{number:,}", "use coarser ones."))
        listed = keys.of({name: kinds[name] for name in path}).to_arrow().select(list(path)).combine_chunks()
        order, parents = _sorted(listed)
        every = {name: kinds[name] for name in path}
        found = pa.table({}) if cells is None else cells.to_arrow()
        if cells is not None:
            every |= dict(zip(cells.names, cells.kinds, strict=True))
        leaves = listed if order is None else listed.take(pa.array(order))
        return cls(Hierarchy.of(*parents), leaves, found, every)

    @property
    def levels(self) -> tuple[str, ...]:
        """Their names, from the top down."""
        return (TOTAL, *self.path.column_names)

    @property
    def number_of_cells(self) -> int:
        """How many cells each place has."""
        return max(int(self.cells.num_rows), 1)

    @cached_property
    def digest(self) -> str:
        """Of the tuples, in their order."""
        found = hashlib.sha256()
        for table in (self.path, self.cells):
            found.update(str(table.schema).encode() + b"\0")
            for first in range(0, table.num_rows, ROWS):
                found.update(lines(table.slice(first, ROWS)) if table.num_columns else b"")
        return found.hexdigest()

    def groups(self, first: int = 0, end: int | None = None) -> PlaceKeys:
        """The groups of some neighboring leaves, one for each cell."""
        return PlaceKeys(self, first, self.path.num_rows if end is None else end)

    def named(self, level: int, first: int = 0, end: int | None = None) -> pa.Table:
        """The columns that name the nodes of a level, some neighboring ones of them, one row for each cell."""
        size = self.tree.sizes[level]
        nodes = np.arange(first, size if end is None else end)
        leaves = self._first_leaves[level][nodes] if level < len(self.levels) - 1 else nodes
        own = self.path.select(self.path.column_names[:level])
        return beside(own, leaves, self.cells)

    @cached_property
    def _first_leaves(self) -> list[NDArray[np.int64]]:
        """For each level but the last, the first leaf of each node."""
        return [np.cumsum(own) - own for own in self.tree.leaves]


def beside(path: pa.Table, rows: NDArray[np.int64], cells: pa.Table) -> pa.Table:
    """Some rows of a table, each with every cell."""
    each = max(cells.num_rows, 1)
    places = pa.array(np.repeat(rows, each))
    columns = {name: path[name].take(places) for name in path.column_names}
    turns = pa.array(np.tile(np.arange(each), len(rows)))
    return pa.table({**columns, **{name: cells[name].take(turns) for name in cells.column_names}})


class PlaceKeys(Keys):
    """The groups of some neighboring places: all of their cells, place by place."""

    __slots__ = ("_end", "_first", "_places")
    _places: Places
    _first: int
    _end: int

    def __init__(self, places: Places, first: int, end: int) -> None:
        for name, value in (
            ("names", tuple(places.kinds)),
            ("kinds", tuple(places.kinds.values())),
            ("_places", places),
            ("_first", first),
            ("_end", end),
        ):
            object.__setattr__(self, name, value)

    @property
    def rows(self) -> tuple[tuple[Key, ...], ...]:
        """The tuples, one by one."""
        return tuple(zip(*(column.to_pylist() for column in self.to_arrow().columns), strict=True))

    @property
    def size(self) -> int:
        """How many groups there are."""
        return (self._end - self._first) * self._places.number_of_cells

    @property
    def facts(self) -> list[Any]:
        """What tells them from other keys; ready for JSON."""
        return [self.names, [kind.value for kind in self.kinds], self._first, self._end, self._places.digest]

    def numbered(self) -> pa.Table:
        """The same with their places, as an engine takes it."""
        return self.to_arrow().append_column(POSITION, pa.array(np.arange(self.size)))

    def to_arrow(self) -> pa.Table:
        """One column for each key."""
        return beside(self._places.path, np.arange(self._first, self._end), self._places.cells)


@dataclass(frozen=True, eq=False, repr=False)
class MarkedPlaces(PublicKeys):
    """Places as `group_by` takes them: their groups, whatever their number."""

    _groups: PlaceKeys | None = None

    def of(self, kinds: Mapping[str, Kind]) -> Keys:
        """The groups, whose columns are those of the path and of the cells."""
        if self._groups is None or tuple(kinds) != self._groups.names:
            raise InvalidParameter(expected("the columns of the places", "names", list(kinds), "name them in order."))
        return self._groups


def _sorted(listed: pa.Table) -> tuple[NDArray[np.int64] | None, list[NDArray[np.int64]]]:
    """The order of the leaves in which children stand side by side, None if they do, and the parents of each level."""
    beginnings, order = _beginnings(listed), None
    if any((np.diff(codes) < 0).any() for codes in beginnings):
        order = np.lexsort((np.arange(listed.num_rows), *reversed(beginnings)))
        beginnings = [codes[order] for codes in beginnings]
    above = np.zeros(listed.num_rows, dtype=np.int32)
    parents = []
    for codes in beginnings:
        begins = np.r_[True, np.diff(codes) != 0]
        parents.append(above[begins])
        above = np.cumsum(begins, dtype=np.int32) - 1
    return order, [*parents, above]


def _beginnings(listed: pa.Table) -> list[NDArray[np.int32]]:
    """For each column but the last, a number for the tuple of it and those before it, by where that comes first."""
    found: list[NDArray[np.int32]] = []
    for name in listed.column_names[:-1]:
        indices = listed[name].combine_chunks().dictionary_encode(null_encoding="encode").indices
        codes = indices.to_numpy(zero_copy_only=False).astype(np.int64)
        if found:
            codes = found[-1] * (int(codes.max()) + 1) + codes
        # Equal neighbors are one: there are few others where keys are sorted.
        heads = np.flatnonzero(np.r_[True, np.diff(codes) != 0])
        _, firsts, inverse = np.unique(codes[heads], return_index=True, return_inverse=True)
        ranks = np.empty(len(firsts), dtype=np.int32)
        ranks[np.argsort(firsts)] = np.arange(len(firsts), dtype=np.int32)
        found.append(np.repeat(ranks[inverse], np.diff(np.r_[heads, len(codes)])))
    return found
