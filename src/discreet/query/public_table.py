"""A public table, all of which a join may know."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, ClassVar

import ibis
import ibis.expr.types as ir
import pyarrow as pa
import pyarrow.compute as pc

from discreet.errors import NoTruth, printable
from discreet.language.checked_expressions import DTYPES, Kind, Value
from discreet.language.input_barrier import kind_of, scan_name
from discreet.sensitivity.intervals import Interval


@dataclass(frozen=True, eq=False)
class PublicTable(NoTruth):
    """A table without private rows, as `discreet.public` marks it. It can be joined to a protected one.

    >>> import discreet as dp
    >>> import pyarrow as pa
    >>> dp.public(pa.table({"plan": ["free", "25%"], "share": [0, 25]}))
    <public table: plan: text, share: integer; 2 rows>
    """

    _ask: ClassVar[str] = "ask for .rows.num_rows; for whether there is one: table is not None."

    rows: pa.Table
    """In the types of the language."""
    digest: str
    """Of the rows, so that an answer over other rows is another answer."""
    closed: Mapping[str, str] = field(default_factory=dict)
    """The columns that are not read, and their types."""
    name: str = ""
    """What documents call it."""
    renames: Mapping[str, str] = field(default_factory=dict)
    """The columns that it has of the table of this name, new by old, where they were renamed."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(self.rows.column_names)

    def __repr__(self) -> str:
        columns = ", ".join(f"{name}: {kind.value}" for name, kind in self.kinds.items())
        return printable(f"<public table: {columns}; {self.rows.num_rows:,} rows>")

    @property
    def kinds(self) -> dict[str, Kind]:
        """What each column is read as."""
        found = {name: kind_of(dtype) for name, dtype in ibis.schema(self.rows.schema).items()}
        return {name: kind for name, kind in found.items() if kind is not None}

    def renamed(self, names: Mapping[str, str]) -> PublicTable:
        """Some of its columns under other names, new by old; one may come twice."""
        if list(names.items()) == [(name, name) for name in self.rows.column_names]:
            return self
        rows = pa.table({new: self.rows[old] for new, old in names.items()})
        facts = json.dumps([self.digest, *names.items()])
        renames = {new: self.renames.get(old, old) for new, old in names.items()}
        changed = hashlib.sha256(facts.encode()).hexdigest()
        return PublicTable(rows, changed, self.closed, name=self.name, renames=renames)

    def most(self, names: Sequence[str]) -> int:
        """The largest number of rows with equal values in some columns; NULL equals nothing."""
        keys = self.rows.select(list(names)).drop_null()
        counted = keys.append_column("__discreet_one", pa.array([1] * keys.num_rows, pa.int8()))
        largest = pc.max(counted.group_by(list(names)).aggregate([("__discreet_one", "count")])["__discreet_one_count"])
        return int(largest.as_py() or 0)

    def table(self, place: int) -> ir.Table:
        """What stands for it in a plan."""
        return ibis.table({name: DTYPES[kind] for name, kind in self.kinds.items()}, name=scan_name(place))

    def value(self, name: str, expr: Any) -> Value:
        """What is known of a column: the least and the greatest of its values, which are public."""
        kind, column = self.kinds[name], self.rows[name]
        interval = None
        if kind.numeric:
            ends = pc.min_max(column).as_py()
            low, high = (Fraction(ends[end]) if ends[end] is not None else Fraction(0) for end in ("min", "max"))
            interval = Interval(low, high, integer=kind is Kind.INTEGER)
        return Value(expr, kind, interval, nullable=column.null_count > 0, narrow=interval)
