"""Tuples of keys in a file or a frame, as the curator marks them: all that an analyst can group by beside lists.

Claim
    What a `group_by` finds in such an object, and what it refuses, is a function of what `discreet.public_keys` read
    when the curator called it. No path, frame or connection is looked at afterwards.
Requires
    That the tuples are public: only the curator can know it, so only the curator makes these objects.
Relies on
    `KeyFile`: a copy of our own. `tuples`: values in memory.
Proof
    Whether tuples are readable, of exact types and distinct is decided when the object is made. `of` compares names and
    kinds of columns, and takes the columns in another order.
Rounding
    None.
Source
    Keys that are read off the protected file publish it: each of its tuples would be a group of the answer.
Mutant
    tuples-in-any-order: columns are taken in the order of the frame; killed by
    test_columns_come_in_the_order_of_the_groups.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import pyarrow as pa

from discreet.errors import InvalidQuery, NoTruth, expected, printable
from discreet.exact.cached_property import cached_property
from discreet.language.checked_expressions import Kind
from discreet.planning.group_key_file import KeyFile
from discreet.planning.group_keys import PYTHON_TYPES, Keys, comparable, typed
from discreet.privacy.declaration import Key


@dataclass(frozen=True, eq=False, repr=False)
class PublicKeys(NoTruth):
    """Public tuples of keys, as `discreet.public_keys` marks them; ``group_by(..., keys=...)`` takes them.

    >>> import discreet as dp
    >>> import pyarrow as pa
    >>> dp.public_keys(pa.table({"plan": ["free", "25%"], "year": [1, 2]}))
    <public keys: plan, year; 2 tuples>
    """

    _ask: ClassVar[str] = "ask for .size; for whether there are some: keys is not None."

    names: tuple[str, ...]
    """The columns."""
    _rows: tuple[tuple[Key, ...], ...] = ()
    _file: KeyFile | None = None
    name: str = ""
    """What documents call them."""

    @property
    def size(self) -> int:
        """How many tuples there are."""
        return len(self._rows) if self._file is None else self._file.size

    def __repr__(self) -> str:
        return printable(f"<public keys: {', '.join(self.names)}; {self.size:,} tuples>")

    def page(self, after: int, most: int) -> pa.Table:
        """The tuples behind the first `after`, so many at most, as a table of the columns."""
        return self._table.slice(after, most) if self._file is None else self._file.page(after, most)

    @cached_property
    def _table(self) -> pa.Table:
        """Those in memory; refuses a column of several kinds, which no group_by takes either."""
        arrays = []
        for name, column in zip(self.names, zip(*self._rows, strict=True), strict=True):
            held = next((type(key) for key in column if key is not None), str)
            kind = next(kind for kind, one in PYTHON_TYPES.items() if held in one)
            arrays.append(typed({name: kind}, [(key,) for key in column]).to_arrow()[name])
        return pa.table(dict(zip(self.names, arrays, strict=True)))

    def of(self, kinds: Mapping[str, Kind]) -> Keys:
        """The keys of the columns of a group_by, in their order."""
        comparable(kinds)
        if set(self.names) != set(kinds):
            cure = "group by all of its columns; .rename(...) gives those of the table its names."
            raise InvalidQuery(expected(f"public keys of the columns {list(kinds)}", "keys", list(self.names), cure))
        if self._file is not None:
            return self._file.by(kinds)
        places = [self.names.index(name) for name in kinds]
        return typed(kinds, [tuple(row[place] for place in places) for row in self._rows])
