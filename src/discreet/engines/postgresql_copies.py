"""The rows of a statement as PostgreSQL's COPY sends them, and as Arrow holds them.

Claim
    `copied` gives each row of a statement, every value in its column's type. No value becomes one of Python's, so that
    whether it succeeds depends on the columns' types alone, where each is a number, a truth value, text, or a date or
    time in the years 1 to 9999.
Requires
    The settings of `postgresql_settings`; integers of at most 38 digits in decimals.
Relies on
    COPY: one message for each row, and its CSV (a NULL is nothing, an empty text two quotes). Arrow's reader of CSV for
    the types below, which does not look into texts (`check_utf8`).
Proof
    A text is passed on as its bytes; on a server of UTF-8 those of two different texts differ, and each is decoded when
    a mechanism has chosen it, and not before. The other types are written in words that Arrow reads, under fixed
    settings. A block holds whole rows, however long one is.
Rounding
    None: doubles are written in as many digits as tell them apart.
Source
    PostgreSQL 15, sections 55.2.6 (COPY operations) and COPY (CSV format).
Mutant
    texts-looked-into: Arrow checks each text; killed by test_texts_are_not_looked_into.
    first-mark-is-lost: a text that comes first loses its byte order mark; killed by
    test_a_byte_order_mark_belongs_to_its_text.
"""

from __future__ import annotations

import codecs
from collections.abc import Generator, Mapping
from typing import Any

import pyarrow as pa

from discreet.planning.batches import ROWS

TYPES = {
    16: pa.bool_(),
    20: pa.int64(),
    21: pa.int16(),
    23: pa.int32(),
    700: pa.float32(),
    701: pa.float64(),
    1082: pa.date32(),
    1114: pa.timestamp("us"),
    1700: pa.decimal128(38, 0),
}
"""By the numbers that PostgreSQL gives its types; all others are texts."""
MOST_BYTES = 2**26
"""Of a block; one row may be longer."""


def copied(cursor: Any, statement: str) -> Generator[pa.Table]:
    """The rows of a statement, some at a time; at least one table."""
    import psycopg

    cursor.execute(f"SELECT * FROM ({statement}) AS found LIMIT 0")  # noqa: S608 (a statement of ours)
    types = {column.name: TYPES.get(column.type_code, pa.string()) for column in cursor.description}
    with (
        psycopg.ClientCursor(cursor.connection) as plain,
        plain.copy(f"COPY ({statement}) TO STDOUT (FORMAT csv)") as sent,
    ):
        held: list[bytes] = []
        size = 0
        for line in map(bytes, sent):
            held.append(line)
            size += len(line)
            if len(held) == ROWS or size > MOST_BYTES:
                yield read(b"".join(held), types)
                held, size = [], 0
        yield read(b"".join(held), types)


def read(lines: bytes, types: Mapping[str, pa.DataType]) -> pa.Table:
    """Lines of CSV as PostgreSQL writes them."""
    from pyarrow import csv

    if not lines:  # no block at all, which Arrow refuses
        return pa.schema(types).empty_table()
    return csv.read_csv(
        pa.BufferReader(codecs.BOM_UTF8 + lines),
        read_options=csv.ReadOptions(use_threads=False, block_size=len(lines) + 4, column_names=list(types)),
        parse_options=csv.ParseOptions(newlines_in_values=True, ignore_empty_lines=False),  # a lone NULL is no text
        convert_options=csv.ConvertOptions(
            check_utf8=False,
            column_types=dict(types),
            null_values=[""],
            true_values=["t"],
            false_values=["f"],
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
        ),
    )
