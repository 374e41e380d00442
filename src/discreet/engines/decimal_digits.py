"""Decimals with more digits than their type has, which Arrow and Parquet can hold, as NULL.

Claim
    `within_digits(column)` is the column, and NULL where a value has more digits than its type; so is what
    `column_within_digits` says in SQL. No value of either makes DuckDB fail.
Requires
    Columns of decimals of at most 38 digits. A file has them in no more bytes than DuckDB, but for integers of more
    bytes, of which it reads the last ones: such a column is no unit (`parquet_columns`, `lossy_types`).
Relies on
    Arrow's and DuckDB's comparisons, which look at the integer alone.
Proof
    A decimal of 38 digits is an integer of 128 bits, the least of which, -2**127, has no negative: DuckDB fails
    where it is made a text, or a number with another point. All that is left is between -10**38 and 10**38, and so
    is all that DuckDB sees as it reorders conditions: each value is clipped, whatever it is compared with. Arrow's
    decimals of 32 and 64 bits are made ones of 128: of a number too large for its own integer DuckDB makes 0, or what
    its memory has from other rows.
Rounding
    None.
Source
    Arrow's columnar format and Parquet's logical types, which state the digits and do not check them.
Mutant
    decimals-of-any-digits: a decimal of a file is read as it is; killed by test_no_decimal_of_a_file_fails.
    decimals-of-few-bits: a decimal of 32 or 64 bits is read as it is; killed by
    test_decimals_of_fewer_bits_have_no_more_digits.
"""

from __future__ import annotations

import re
from decimal import Decimal

import pyarrow as pa
import pyarrow.compute as pc

WIDTH = 128
"""Bits of the widest decimals that DuckDB has."""
_DECIMAL = re.compile(r"DECIMAL\((\d+),(\d+)\)")


def within_digits(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """A column of decimals of 128 bits without the values that its type does not have.

    >>> within_digits(pa.chunked_array([pa.array([Decimal("1.5")])])).to_pylist()
    [Decimal('1.5')]
    """
    kind = column.type
    if not 0 <= kind.scale <= kind.precision:  # DuckDB has none
        return column
    if kind.bit_width < WIDTH:  # which Arrow does not compare
        kind = pa.decimal128(kind.precision, kind.scale)
        column = column.cast(kind, safe=False)
    least, most = (Decimal((sign, (9,) * kind.precision, -kind.scale)) for sign in (1, 0))
    ends = pc.min_max(column)
    if not ends["min"].is_valid or least <= ends["min"].as_py() <= ends["max"].as_py() <= most:
        return column
    is_within = pc.and_(pc.less_equal(column, pa.scalar(most, kind)), pc.greater_equal(column, pa.scalar(least, kind)))
    return pc.if_else(is_within, column, pa.scalar(None, kind))


def column_within_digits(name: str, kind: str) -> str:
    """The same in SQL, of a quoted column and its type.

    >>> print(column_within_digits("x", "DECIMAL(1,0)").partition(" THEN ")[0])
    CASE WHEN x = least(greatest(x, '-9'::DECIMAL(1,0)), '9'::DECIMAL(1,0))
    """
    kind, digits, places = _DECIMAL.match(kind).group(0, 1, 2)  # type: ignore[union-attr]  # a decimal
    most = f"{Decimal((0, (9,) * int(digits), -int(places))):f}"
    # Clipped first: DuckDB may look at what is under a condition before it looks at the condition.
    clipped = f"least(greatest({name}, '-{most}'::{kind}), '{most}'::{kind})"
    return f"CASE WHEN {name} = {clipped} THEN {clipped} END"
