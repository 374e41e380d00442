"""Columns of which values that differ are read as one, by their types: they may not name a unit, nor a key on the way.

Claim
    `check_told_apart(names, merged)` refuses a column if a file or a frame has it in a type of which DuckDB reads two
    values as one: decimals of more than 38 digits, as doubles; nanoseconds with a zone in files, and in 96 bits, as
    microseconds; milliseconds of dates, as days; decimals that a file has in integers of more bytes than their digits
    take, by the last bytes. It refuses a type that is stated for a column, but its own, text and whole numbers. Of all
    other types that are read, values are equal as units only if they are equal in the file or frame, or are one number
    there, as "05" and "5.0" are; except for bytes of a text in a Parquet file that are not UTF-8.
Requires
    The types are those that `parquet_columns` and Arrow state. Integers of 8 and 16 bits in a Parquet file, which has
    them in 32, are no larger than their type: the others are read by their last bytes.
Relies on
    `language.input_barrier.unit_column`, which neither clips nor rounds what DuckDB has read.
Proof
    Two persons whose ids are read as one are one unit. A bounded total then counts what is made of both persons'
    rows, within the limits of one. Without the rows of one of them it may be any other total within these limits: it
    moves by up to twice what one unit adds, so the claim for each of them would be twice as weak as stated. Doubles
    have 53 bits, so decimals of 17 digits and more may meet in one; microseconds are read of what has three digits
    more. The other types are read into types with all of their values (tested, type by type).
    Where a whole number is stated, `converted` leaves the values that are whole. A number that gives back the value of
    which it was made is that of no other. A text gives back its number, or has but zeros behind the point, or is of 15
    digits at most and, as a double, that number. Decimals of 15 digits that differ are different doubles, and below
    10**15 the number is one of these, too. From there on the text is a whole number, and alone in its double. A number
    beside 0 that rounds to 0 has the double 0: no 0 is taken so.
Rounding
    None.
Source
    Parquet's logical types DECIMAL and TIMESTAMP, and its INT96, which is deprecated; Arrow's date64.
Mutant
    units-merge: a unit is taken in any type; killed by test_units_that_would_be_read_alike_are_refused.
    last-bytes-are-units: a decimal in a longer integer is a unit; killed by
    test_decimals_in_longer_integers_are_no_units.
    stated-types-are-units: a unit is taken in any type that is stated; killed by
    test_types_that_are_stated_merge_no_units.
    numbers-that-round-are-whole: a text is whole if it can be read as a number; killed by
    test_types_that_are_stated_merge_no_units.
    reals-that-round-are-whole: the same of reals; killed by test_types_that_are_stated_merge_no_units.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import ibis
import ibis.expr.datatypes as dt
import ibis.expr.types as ir
import pyarrow as pa

from discreet.engines.decimal_digits import WIDTH
from discreet.engines.parquet_columns import CUT, OLD_TIMESTAMP, WIDE_DECIMAL
from discreet.errors import InvalidParameter, expected

EXACT_DIGITS = 15
"""Decimals of so many digits are different doubles, if they are different."""
WHOLE = r"^[^.eE]*([.]0*)?\s*$|^\s*[+-]?0[xX]"
"""What DuckDB takes for a number is a whole one, if it is so written; with an exponent, it may be one as well."""


def merged_in_files(kinds: Mapping[str, str]) -> dict[str, str]:
    """The columns of Parquet files, by their types, of which values that differ may be read as one.

    >>> merged_in_files({"person": "TIMESTAMPTZ_NS", "x": "DOUBLE"})
    {'person': 'TIMESTAMPTZ_NS'}
    """
    whole = (WIDE_DECIMAL, OLD_TIMESTAMP)
    return {name: kind for name, kind in kinds.items() if kind in whole or "TZ_NS" in kind or kind.endswith(CUT)}


def merged_in_frame(schema: pa.Schema) -> dict[str, str]:
    """The same of a frame.

    >>> merged_in_frame(pa.schema({"person": pa.decimal256(40), "x": pa.decimal128(9)}))
    {'person': 'decimal256(40, 0)'}
    """
    return {field.name: str(field.type) for field in schema if _is_merged(field.type)}


def merged_by_schema(found: Mapping[str, dt.DataType], stated: Mapping[str, dt.DataType]) -> dict[str, str]:
    """The columns of which values that differ may be one in the types that are stated for them.

    >>> merged_by_schema({"person": dt.string, "day": dt.string}, {"person": dt.int64, "day": dt.date})
    {'day': 'date'}
    """
    exact = {name: kind.is_string() or kind.is_integer() or kind == found[name] for name, kind in stated.items()}
    return {name: str(kind) for name, kind in stated.items() if not exact[name]}


def converted(column: ir.Value, kind: dt.DataType) -> ir.Value:
    """A column in the type that is stated for it; what does not fit is NULL, as 5.4 is of whole numbers."""
    found = column.type()
    if kind == found:
        return column
    # DuckDB moves a bare cast into its reader of CSV, which drops the rows that fail; behind NULLIF it is NULL.
    column = column.nullif("") if found.is_string() else column
    value = column.try_cast(kind)
    if not kind.is_integer() or found.is_integer():
        return value
    if not found.is_string():
        return ibis.cases((value.try_cast(found) == column, value))
    is_short = (value != 0) & (column.length() <= EXACT_DIGITS) & (column.try_cast(dt.float64) == value)
    is_whole = column.re_search(WHOLE) | is_short
    return ibis.cases((value.cast(dt.string) == column, value), (is_whole, value))


def _is_merged(kind: pa.DataType) -> bool:
    if pa.types.is_dictionary(kind):
        return _is_merged(kind.value_type)
    return bool(pa.types.is_date64(kind) or (pa.types.is_decimal(kind) and kind.bit_width > WIDTH))


def check_told_apart(names: Iterable[str], merged: Mapping[str, str]) -> None:
    """Refuses columns by which rows of different people could be taken for those of one."""
    for name in names:
        if name in merged:
            what = "a unit, and keys that lead to it, in a type that is read value by value"
            cure = "write it as text or as a whole number: of this type, two people could be read as one."
            raise InvalidParameter(expected(what, "column", f"{name}: {merged[name]}", cure))
