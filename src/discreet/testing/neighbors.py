"""Hostile tables and their neighbors: strategies of Hypothesis, and plain functions. Needs Hypothesis.

What a privacy claim says is about two tables that differ by one unit. `pairs` draws such tables from values that break
things: the ends of every type, NULL, NaN, infinities, negative zero, odd Unicode, units without a name. The
totals of a plan on both try the claim of the plan: `l1_distances` never exceeds the sensitivity. `databases` draws
several tables, and neighbors that differ in all of them at once.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Context, Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from hypothesis import strategies as st
from numpy.typing import NDArray

from discreet.selection.rank_exponential import Histogram

Row = tuple[Any, ...]
"""One value a column, as it is stored: dates and timestamps are integers, which reach where Python's do not."""

TEXTS = (
    *("a", "b", "A", "", " a ", "ab", "aa", "NULL", "nan", "%", "_", "a'b\"c", "\\", "1", "1e400"),
    *("é", "e\u0301", "İ", "ß", "ŉ", "٣", "\u202ea", "🏳️‍🌈", "\x00", "a\x00b", "\n", ";\n\n", "\uffff", "\U0010ffff"),
    "x" * 5000,
)
UNROUNDED = Context(prec=50)
FLOATS = (0.0, -0.0, 1.0, -1.0, 0.5, 1.5, 2.0, 3.0, 5.0, 7.25, 100.0, 0.1, 1e-3, 2.0**53, -(2.0**63), 1e300)


@dataclass(frozen=True, slots=True)
class Rows:
    """A table as columns (name and Arrow type) and rows, so that single rows can be taken out and put in."""

    columns: tuple[tuple[str, pa.DataType], ...]
    rows: tuple[Row, ...]

    def __repr__(self) -> str:
        return f"Rows({[f'{name}: {kind}' for name, kind in self.columns]}, {list(self.rows)})"

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(name for name, _ in self.columns)

    def with_rows(self, rows: Iterable[Row]) -> Rows:
        """Other rows under the same columns."""
        return Rows(self.columns, tuple(rows))

    def to_arrow(self) -> pa.Table:
        """The table in Arrow."""
        parts = [[row[i] for row in self.rows] for i in range(len(self.columns))]
        return pa.table({name: array(part, kind) for part, (name, kind) in zip(parts, self.columns, strict=True)})

    def unit_of(self, row: Row, unit: Sequence[str]) -> Row | None:
        """The unit of a row; None if a column of it is NULL, NaN, or a decimal of more digits than its type has."""
        places = [self.names.index(name) for name in unit]
        named = tuple(row[place] for place in places)
        if any(part is None or part != part for part in named):  # noqa: PLR0124 (only NaN differs from itself)
            return None
        if any(_has_more_digits(part, self.columns[place][1]) for part, place in zip(named, places, strict=True)):
            return None
        return tuple(part + 0.0 if isinstance(part, float) else part for part in named)  # -0.0 + 0.0 is 0.0

    def units(self, unit: Sequence[str]) -> list[Row]:
        """All units that the rows name, in the order of their first rows."""
        found = (self.unit_of(row, unit) for row in self.rows)
        return list(dict.fromkeys(one for one in found if one is not None))


def _has_more_digits(value: Any, kind: pa.DataType) -> bool:
    return isinstance(value, Decimal) and len(value.as_tuple().digits) > kind.precision


def array(values: Sequence[Any], kind: pa.DataType) -> pa.Array:
    """Stored values as an Arrow array of any of the types here.

    >>> array([-(2**63)], pa.timestamp("s")).cast(pa.int64())[0].as_py() == -(2**63)
    True
    """
    if pa.types.is_timestamp(kind):
        return pa.array(values, pa.int64()).view(kind)
    if pa.types.is_date(kind):
        return pa.array(values, pa.int32()).view(kind)
    if pa.types.is_float16(kind):
        halves = np.array([np.nan if value is None else value for value in values], dtype=np.float16)
        return pa.array(halves, mask=np.array([value is None for value in values], dtype=bool))
    if pa.types.is_decimal128(kind):
        return _decimals(values, kind)
    return pa.array(values, kind)


def _decimals(values: Sequence[Any], kind: pa.DataType) -> pa.Array:
    """Decimals, also with more digits than their type has, which `pa.array` refuses, and files and frames can hold."""
    whole = [0 if value is None else int(value.scaleb(kind.scale, UNROUNDED)) for value in values]
    held = pa.py_buffer(b"".join(one.to_bytes(16, "little", signed=True) for one in whole))
    array = pa.Array.from_buffers(kind, len(whole), [None, held])
    return pc.if_else(pa.array([value is not None for value in values], pa.bool_()), array, pa.scalar(None, kind))


def hostile(kind: pa.DataType) -> list[Any]:
    """Values of a type that are likely to break things, some ordinary ones, and NULL.

    >>> hostile(pa.int8())[:4]
    [None, -128, 127, 0]
    """
    if pa.types.is_floating(kind):
        return [None, *_hostile_floats(np.finfo(kind.to_pandas_dtype()))]
    if pa.types.is_integer(kind):
        info = np.iinfo(kind.to_pandas_dtype())
        return [None, int(info.min), int(info.max), *(n for n in (0, 1, -1, 2, 3, 5, 7, 100) if info.min <= n)]
    if pa.types.is_decimal(kind):
        ends = [Decimal((sign, (9,) * kind.precision, -kind.scale)) for sign in (0, 1)]
        beyond = [Decimal(end).scaleb(-kind.scale, UNROUNDED) for end in (-(2**127), 2**127 - 1)]
        return [None, *ends, *beyond, *(Decimal(n).scaleb(-kind.scale) for n in (0, 1, -1, 150, 700))]
    if pa.types.is_timestamp(kind):
        day = 86_400 * {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[kind.unit]
        return [None, -(2**63), 2**63 - 1, 0, 1, -1, 18_262 * day, 18_262 * day + day // 24, 10**15, -(10**15)]
    if pa.types.is_date(kind):
        return [None, -(2**31), 2**31 - 1, 0, 1, -1, 18_262, 18_293, 11_016, -719_162, 2_932_896, 2_932_897]
    return [None, True, False] if pa.types.is_boolean(kind) else [None, *TEXTS]


def _hostile_floats(info: Any) -> list[float]:
    ends = [float(end) for end in (info.max, info.min, info.tiny, info.smallest_subnormal)]
    ordinary = [float(info.dtype.type(value)) for value in FLOATS if abs(value) <= float(info.max)]
    return [math.nan, math.inf, -math.inf, *ends, *ordinary]


INTEGERS = (pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64())
REALS = (pa.float16(), pa.float32(), pa.float64(), pa.decimal128(12, 2), pa.decimal128(38, 0))
MOMENTS = tuple(pa.timestamp(unit, tz) for unit in ("s", "ms", "us", "ns") for tz in (None, "UTC", "Europe/Berlin"))
IDENTITIES = (pa.int64(), pa.string(), pa.string(), pa.bool_(), pa.date32(), *INTEGERS, *REALS, *MOMENTS)
"""Every type that is read may say who somebody is."""


FEW = {"person": 3, "site": 2, "plan": 5}
"""Columns with few values in one table, so that rows have them in common."""

LISTED = ("a", "b", None)
"""Plans that questions are likely to list as keys."""


@st.composite
def schemas(draw: st.DrawFn) -> tuple[tuple[str, pa.DataType], ...]:
    """Columns of every family, in types drawn for each: who, where (a second part of a unit), and what is asked of."""
    return (
        ("person", draw(st.sampled_from(IDENTITIES))),
        ("site", draw(st.sampled_from((pa.int32(), pa.string())))),
        ("plan", pa.string()),
        ("v", draw(st.sampled_from(REALS))),
        ("x", draw(st.sampled_from((pa.float64(), pa.float32())))),
        ("i", draw(st.sampled_from(INTEGERS))),
        ("b", pa.bool_()),
        ("day", pa.date32()),
        ("at", draw(st.sampled_from(MOMENTS))),
    )


@st.composite
def rows_of(draw: st.DrawFn, columns: Sequence[tuple[str, pa.DataType]], *, least: int = 0, most: int = 8) -> Rows:
    """A table of these columns with few units, few sites, and hostile values everywhere."""
    pools = [hostile(kind) for _, kind in columns]
    for i, (name, _) in enumerate(columns):
        if name in FEW:
            often = LISTED if name == "plan" else (*pools[i], None, None)
            values = st.sampled_from(pools[i]) | st.sampled_from(often)
            pools[i] = draw(st.lists(values, min_size=1, max_size=FEW[name]))
    row = st.tuples(*map(st.sampled_from, pools))
    return Rows(tuple(columns), tuple(draw(st.lists(row, min_size=least, max_size=most))))


@dataclass(frozen=True, slots=True)
class NeighborPair:
    """Two tables that differ by one unit: by its presence, or, where `replaced`, by its rows."""

    first: Rows
    second: Rows
    unit: tuple[str, ...]
    """The columns of the unit; none where each row is one."""
    replaced: bool


@st.composite
def pairs(draw: st.DrawFn) -> NeighborPair:
    """A table and a neighbor of it, with rows as units or with a unit of one or two columns."""
    table = draw(schemas().flatmap(rows_of))
    unit = draw(st.sampled_from(((), ("person",), ("person",), ("person", "site"))))
    replaced = draw(st.booleans())
    return NeighborPair(table, draw(neighbors(table, unit, replaced=replaced)), unit, replaced)


@st.composite
def neighbors(draw: st.DrawFn, table: Rows, unit: Sequence[str] = (), *, replaced: bool = False) -> Rows:
    """A neighbor of a table: one unit removed or added, or, where `replaced`, one unit's rows given to another one.

    Rows that name nobody may come and go as well: no unit has them, so they must move nothing. The order changes too.
    """
    present = table.units(unit) if unit else list(range(len(table.rows)))
    one = draw(st.sampled_from(present)) if present and (replaced or draw(st.booleans())) else None
    kept = without(table, unit, one) if one is not None else table
    rows = list(kept.rows)
    if one is None or replaced:
        rows += draw(_additions(kept, unit))
    if unit:
        rows += [row for row in draw(rows_of(table.columns, most=3)).rows if table.unit_of(row, unit) is None]
    return table.with_rows(draw(st.permutations(rows)))


HELD = "held"
"""A column that says which of several tables a row is in, one bit for each."""


@st.composite
def databases(draw: st.DrawFn, *, most: int = 3) -> tuple[NeighborPair, ...]:
    """Several tables of the same columns, and neighbors that differ in all of them at once, by the same unit.

    Where each row is a unit, it has one row in each table, which need not be alike: these leave all tables, or enter
    them, or are `replaced`.
    """
    columns = draw(schemas())
    unit = draw(st.sampled_from(((), (), ("person",), ("person", "site"))))
    replaced, number = draw(st.booleans()), draw(st.integers(2, most))
    people = draw(rows_of((*columns, (HELD, pa.int8())), most=12))
    tables = [_held(people, place) for place in range(number)]
    if unit:
        others = draw(neighbors(people, unit, replaced=replaced))
        seconds = [_held(others, place) for place in range(number)]
    else:
        leaves = draw(st.booleans())
        seconds = [draw(_of_one_row(table, leaves=leaves, replaced=replaced)) for table in tables]
    return tuple(NeighborPair(*both, unit, replaced) for both in zip(tables, seconds, strict=True))


def _held(people: Rows, place: int) -> Rows:
    rows = (row[:-1] for row in people.rows if row[-1] is None or row[-1] >> place & 1)
    return Rows(people.columns[:-1], tuple(rows))


@st.composite
def _of_one_row(draw: st.DrawFn, table: Rows, *, leaves: bool, replaced: bool) -> Rows:
    """The table without one of its rows, or with one more, or with another one in its place; or the same."""
    rows = list(draw(st.permutations(table.rows)))
    if leaves or replaced:
        gone = rows[:1] if draw(st.integers(0, 3)) else []
        rows = rows[len(gone) :]
    else:
        gone = [()]
    if replaced or not leaves:
        rows += draw(rows_of(table.columns, least=len(gone), most=len(gone))).rows
    return table.with_rows(draw(st.permutations(rows)))


def without(table: Rows, unit: Sequence[str], one: Any) -> Rows:
    """The table without one unit: all rows of the one named, or, without unit columns, the row at that place.

    >>> table = Rows((("person", pa.int64()),), ((1,), (2,), (1,)))
    >>> without(table, ("person",), (1,)).rows, without(table, (), 0).rows
    (((2,),), ((2,), (1,)))
    """
    if not unit:
        return table.with_rows([row for i, row in enumerate(table.rows) if i != one])
    return table.with_rows([row for row in table.rows if table.unit_of(row, unit) != one])


@st.composite
def _additions(draw: st.DrawFn, table: Rows, unit: Sequence[str]) -> list[Row]:
    """Hostile rows of one unit that the table does not have: often more rows, in more groups, than limits allow."""
    rows = draw(rows_of(table.columns, least=3, most=12)).rows
    if not unit:
        return list(rows[:1])
    taken = set(table.units(unit))
    new = next((one for one in (table.unit_of(row, unit) for row in rows) if one not in taken), None)
    if new is None:
        return []
    places = [table.names.index(name) for name in unit]
    named = dict(zip(places, new, strict=True))
    return [tuple(named.get(i, value) for i, value in enumerate(row)) for row in rows]


def mass_distances(first: Sequence[Histogram], second: Sequence[Histogram]) -> list[int]:
    """How far two lists of masses are apart, block by block: the L1 norm over all groups and cells."""
    result = []
    for one, other in zip(first, second, strict=True):
        held, kept = (
            dict(zip(zip(x.group.tolist(), x.cell.tolist(), strict=True), x.mass.tolist(), strict=True))
            for x in (one, other)
        )
        result.append(sum(abs(held.get(place, 0) - kept.get(place, 0)) for place in held | kept))
    return result


def l1_distances(first: Sequence[NDArray[Any]], second: Sequence[NDArray[Any]]) -> list[int]:
    """How far two lists of integer totals are apart, block by block: the L1 norm over all groups and components.

    >>> l1_distances([np.array([[1, 2], [3, 4]])], [np.array([[1, 0], [4, 4]])])
    [3]
    """
    return [
        sum(abs(int(a) - int(b)) for a, b in zip(x.ravel(), y.ravel(), strict=True))
        for x, y in zip(first, second, strict=True)
    ]
