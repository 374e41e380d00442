"""The barrier: turns NaN into NULL and infinities into bounds, before any expression reads a column.

Claim
    Every column of `barrier(raw, ...)` is of one of six kinds, in its full-width type, and each of its values is NULL
    or lies in the interval that `columns` states for it: NaN is NULL, infinities are the nearest end, and a value
    outside the declared bounds is the nearest bound. Each row of the result depends on that row of `raw` alone, and no
    row can make it raise.
Requires
    Nothing of the rows.
Relies on
    Comparisons with a computed value, a CASE, which engines neither fold nor prune by file statistics (tested on each
    engine version); in these NaN is neither below nor equal to infinity.
Proof
    Of a real x the first branch takes what lies within the bounds, the second what is below, -infinity too, and the
    third what is left up to infinity. NaN is above infinity, or compares as false, and so it gives NULL, as NULL does.
    For other kinds the branches compare with two constants and exhaust the values that are not NULL. Of reals, decimals
    and timestamps what they compare is a computed value, for which a file has no statistics. Those of a file can be
    wrong: writers of before 2018 left out numbers that came together with a NaN, and ordered decimals and timestamps
    of 96 bits by signed bytes; DuckDB leaves -infinity out of those of nanoseconds. Then one person's value would
    decide whether others' are clipped. The casts widen, or are guarded by the branch and by TRY_CAST (unsigned 64-bit
    integers, decimals beyond the doubles).
Rounding
    Decimals become the nearest double before they are clipped.
Source
    Discreet's own trial on DuckDB, PostgreSQL and Spark: a filter `v > 5` on raw floats is not row-wise where a file's
    statistics ignore NaN. PARQUET-1246, of NaN in the statistics of Parquet's C++ writer.
Mutant
    nan-through: what is neither within nor below is above; killed by test_hostile_reals_become_null_or_bounds.
    reals-by-statistics: reals are compared as they are; killed by test_statistics_of_old_writers_clip_nothing.
    moments-by-statistics: timestamps are compared as they are; killed by
    test_statistics_of_old_writers_clip_nothing.
    decimals-by-statistics: decimals are compared as they are; killed by test_statistics_of_old_writers_clip_nothing.
    units-by-statistics: timestamps that are units are compared as they are; killed by
    test_statistics_of_old_writers_leave_no_unit_out.
    columns-as-keywords: names of columns are names of arguments; killed by
    test_a_column_may_have_the_name_of_a_parameter.
    wide-units-as-they-are: a unit of more than 64 bits keeps its type; killed by
    test_units_meet_themselves_across_connections.
    lengths-of-units: a text that is a unit keeps its length, and tables meet by it; killed by
    test_texts_of_any_length_are_one_type_of_unit.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any, NamedTuple

import ibis
import ibis.expr.datatypes as dt
import ibis.expr.schema as sch
import ibis.expr.types as ir

from discreet.language.checked_expressions import DTYPES, FULL_INTEGER, FULL_REAL, MOMENTS, NARROW, Kind, Value, cast
from discreet.language.literals import constant
from discreet.privacy.declaration import Bound
from discreet.sensitivity.intervals import LARGEST_INT, Interval

UNIT = "__discreet_unit_"
"""Prefix of the columns that hold the unit throughout a query; the analyst cannot name them."""

NAME = "__discreet_scan"
"""Name of the table that stands for the scanned one in a plan."""


def scan_name(place: int) -> str:
    """The name of a scanned table in a plan of several; that of the first is `NAME`."""
    return f"{NAME}_{place}" if place else NAME


def place_of(name: str) -> int:
    """The number of the scanned table that a name stands for."""
    return int(name.removeprefix(f"{NAME}_")) if name != NAME else 0


class Scan(NamedTuple):
    """The scanned table of a plan, and what is known of its columns."""

    table: ir.Table
    columns: dict[str, Value]


def kind_of(dtype: dt.DataType) -> Kind | None:
    """The kind as which a column of this type is read; None if it is not read."""
    tests = {
        Kind.BOOLEAN: dtype.is_boolean(),
        Kind.INTEGER: dtype.is_integer(),
        Kind.REAL: dtype.is_floating() or dtype.is_decimal(),
        Kind.TEXT: dtype.is_string() or dtype.is_uuid(),
        Kind.DATE: dtype.is_date(),
        Kind.TIMESTAMP: dtype.is_timestamp(),
    }
    return next((kind for kind, holds in tests.items() if holds), None)


def interval_of(kind: Kind, bounds: tuple[Bound, Bound] | None) -> Interval | None:
    """Where the values of a scanned column lie."""
    if not kind.numeric:
        return None
    if bounds is None:
        return FULL_INTEGER if kind is Kind.INTEGER else FULL_REAL
    low, high = (Fraction(end) for end in bounds)  # type: ignore[arg-type]  # declared bounds of a numeric column are fractions
    return Interval(low, high, integer=kind is Kind.INTEGER)


def scan(
    schema: sch.Schema,
    unit: tuple[str, ...],
    bounds: Mapping[str, tuple[Bound, Bound]],
    auto: frozenset[str] = frozenset(),
) -> Scan:
    """The table that plans are written over, and its columns as checked values.

    The bounds of `auto` columns are as wide as they can be, and nobody stated them.
    """
    kinds = {name: kind for name, dtype in schema.items() if (kind := kind_of(dtype)) is not None}
    types = {name: DTYPES[kind] for name, kind in kinds.items()}
    types |= {f"{UNIT}{i}": _unit_type(schema[name]) for i, name in enumerate(unit)}
    table = ibis.table(types, name=NAME)
    columns = {}
    for name, kind in kinds.items():
        interval = interval_of(kind, bounds.get(name))
        narrow = interval if name in bounds else NARROW.get(kind)
        if name in auto and interval is not None:
            narrow = replace(interval, low=interval.low / 2, high=interval.high / 2)
        span: Any = bounds.get(name) if kind in MOMENTS else None
        capped = schema[name].is_uint64() and name not in bounds
        columns[name] = Value(table[name], kind, interval, nullable=True, narrow=narrow, span=span, capped=capped)
    return Scan(table, columns)


def barrier(
    raw: ir.Table,
    unit: tuple[str, ...],
    bounds: Mapping[str, tuple[Bound, Bound]],
    wanted: frozenset[str] | None = None,
) -> ir.Table:
    """The raw table behind the barrier, without the rows whose unit is NULL; with `wanted` columns or all."""
    kinds = {name: kind for name, dtype in raw.schema().items() if (kind := kind_of(dtype)) is not None}
    if wanted is not None:  # a table of no columns has no rows either
        first = dict(itertools.islice(kinds.items(), 1))
        kinds = {name: kind for name, kind in kinds.items() if name in wanted} or first
    seen = {name: guarded(raw[name], kind, bounds.get(name)) for name, kind in kinds.items()}
    seen |= {f"{UNIT}{i}": unit_column(raw[name]) for i, name in enumerate(unit)}
    table = raw.select([value.name(name) for name, value in seen.items()])  # a name may be `self`
    return table.filter([table[f"{UNIT}{i}"].notnull() for i in range(len(unit))]) if unit else table


def one_of_each(schema: sch.Schema, bounds: Mapping[str, tuple[Bound, Bound]]) -> frozenset[str]:
    """One column for each type and bounds; if their barriers can be written, so can those of all columns.

    >>> sorted(one_of_each(sch.Schema({"a": "int8", "b": "int8", "c": "int8"}), {"a": (0, 1)}))
    ['a', 'c']
    """
    return frozenset({(dtype, bounds.get(name)): name for name, dtype in schema.items()}.values())


def unit_column(column: Any) -> ir.Value:
    """A unit's column, neither clipped nor rounded, which could merge two units; NaN becomes NULL, -0.0 becomes 0.0.

    What an engine shows as text may be a type of its own, with an equality of its own: it is made text. So is what is
    wider than 64 bits: DuckDB's HUGEINT goes by the name of a decimal of 38 digits, and has values of 39, which neither
    such a decimal nor Arrow can hold, where tables meet. Digits tell apart what is told apart in one type; in two types
    one value may be written in two ways, which `one_notation` refuses.
    """
    dtype = column.type()
    if dtype.is_string():
        return cast(column, Kind.TEXT)
    if dtype.is_decimal():  # PostgreSQL's have NaN, which is a text in no other engine
        text = column.cast(dt.string)
        return text.nullif("NaN") if _is_wide(dtype) else ibis.cases((text != "NaN", column))
    if _is_wide(dtype):
        return column.cast(dt.string)
    if not dtype.is_floating():
        return computed(column) if dtype.is_timestamp() else column
    infinite = [ibis.literal(end, type=dtype) for end in (float("inf"), float("-inf"))]
    finite = ((column - column) == 0.0, (column + ibis.literal(0.0, type=dtype)).cast(dtype))
    return ibis.cases(finite, *((column == end, end) for end in infinite))


def _unit_type(dtype: dt.DataType) -> dt.DataType:
    """The type of a unit's column behind the barrier; a text of a stated length is a text there."""
    return dt.string if dtype.is_string() or _is_wide(dtype) else dtype


def one_notation(one: dt.DataType, other: dt.DataType) -> bool:
    """Whether equal values of a unit in columns of these types are equal behind the barrier: 1.5 is written "1.50" with
    two decimals and "1.500" with three, and a UUID in text may have capital letters. Texts of stated lengths are texts:
    no engine leaves the blanks there that fill up a char(n).

    >>> one_notation(dt.int32, dt.int64), one_notation(dt.String(length=3), dt.string)
    (True, True)
    >>> one_notation(dt.Decimal(12, 2), dt.Decimal(12, 3)), one_notation(dt.uuid, dt.string)
    (False, False)
    """
    if one.is_decimal() and other.is_decimal():
        return bool(one.scale == other.scale and _is_wide(one) == _is_wide(other))
    if all(kind.is_signed_integer() for kind in (one, other)) or all(kind.is_string() for kind in (one, other)):
        return True
    return bool(one.copy(nullable=True) == other.copy(nullable=True))


def _is_wide(dtype: dt.DataType) -> bool:
    """Whether a type has more than 64 bits, and one text for each value: of decimals those of a stated scale."""
    return dtype.is_uuid() or (dtype.is_decimal() and dtype.precision is not None)


def computed(column: Any) -> ir.Value:
    """The same values, computed, for which a file has no statistics."""
    return ibis.cases((column.notnull(), column))


def guarded(column: Any, kind: Kind, bounds: tuple[Bound, Bound] | None) -> ir.Value:
    """One raw column behind the barrier."""
    if kind in (Kind.REAL, Kind.TIMESTAMP):
        column = computed(column)
    if kind is Kind.REAL:
        return _guarded_real(column, interval_of(kind, bounds) or FULL_REAL)
    if kind is Kind.INTEGER:
        return _guarded_integer(column, interval_of(kind, bounds) or FULL_INTEGER)
    # Seconds and milliseconds reach further than microseconds, and a plain cast of such a moment raises.
    value = column.try_cast(DTYPES[kind]) if kind is Kind.TIMESTAMP else cast(column, kind)
    if kind in MOMENTS:
        low, high = (constant(end).expr for end in bounds or MOMENTS[kind])
        return ibis.cases((value < low, low), (value > high, high), (value.notnull(), value))
    return value


def _guarded_real(column: Any, interval: Interval) -> ir.Value:
    value = column.try_cast(dt.float64) if column.type().is_decimal() else cast(column, Kind.REAL)
    low, high, infinite = (_real(end) for end in (interval.low, interval.high, float("inf")))
    # Faster than LEAST on DuckDB. NaN is above all numbers, or none of them is comparable to it: it meets no branch.
    return ibis.cases((value.between(low, high), value), (value < low, low), (value <= infinite, high))


def _real(end: Fraction | float) -> ir.Value:
    return cast(ibis.literal(float(end)), Kind.REAL)


def _guarded_integer(column: Any, interval: Interval) -> ir.Value:
    dtype = column.type()
    value = cast(column, Kind.INTEGER)
    if dtype.is_uint64():
        largest = ibis.literal(int(LARGEST_INT), type=dt.uint64)
        value = ibis.cases(
            (column <= largest, column.try_cast(dt.int64)),
            (column > largest, cast(ibis.literal(int(LARGEST_INT)), Kind.INTEGER)),
        )
    if interval == FULL_INTEGER:
        return value
    low, high = (cast(ibis.literal(int(end)), Kind.INTEGER) for end in (interval.low, interval.high))
    return ibis.cases((value.between(low, high), value), (value < low, low), (value > high, high))
