"""The columns of a Parquet file and what it stores in them, by its schema alone."""

from __future__ import annotations

import re
from typing import Any

from discreet.engines.duckdb_names import SMALL
from discreet.engines.file_patterns import Columns, literal
from discreet.errors import InvalidParameter, expected

IN_MILLISECONDS = "TIMESTAMP in milliseconds"
"""DuckDB widens them as it reads, and fails on a whole file that has one far moment."""
GEOMETRY = "GEOMETRY"
"""A type that Ibis reads with an extension, which is not there."""
WIDE_DECIMAL = "DOUBLE of a decimal of more than 38 digits"
IN_MANY_BYTES = "DECIMAL in more bytes than its digits take"
"""DuckDB fails on a whole file that has one number of more bytes than its own integers for these digits."""
BYTES_OF_DIGITS = ((4, 2), (9, 4), (18, 8), (38, 16))
"""In how many bytes DuckDB has decimals of so many digits; those of more are doubles."""
CUT = "in an integer of more bytes than its digits take"
"""DuckDB reads such a decimal of a file by its last bytes."""
INTEGERS = {"INT32": 4, "INT64": 8}
OLD_TIMESTAMP = "TIMESTAMP of nanoseconds in 96 bits"
"""What DuckDB reads as another type than the file has it in."""
MILLISECONDS = re.compile(r"'TIMESTAMP_MILLIS'|TimestampType\(.*MILLIS=MilliSeconds")
_STORED = "SELECT name, type, converted_type, logical_type, precision, type_length, num_children FROM parquet_schema(?)"


def check_distinct(names: list[str]) -> None:
    """Refuses a table of which two columns have one name, or names that differ by the case of a to z alone: engines do
    not tell them apart, and DuckDB would give one of them another name. Of a name with NUL it reads
    what stands before that.
    """
    if any("\0" in name for name in names):
        raise InvalidParameter(expected("column names without NUL", "names", names, "rename them in the frame."))
    folded = [name.translate(SMALL) for name in names]
    if len(set(folded)) < len(names):
        twice = sorted({name for name, one in zip(names, folded, strict=True) if folded.count(one) > 1})
        cure = (
            "rename them in the frame, or before the file is written, or in a step of Ibis's; case makes no difference."
        )
        raise InvalidParameter(expected("distinct column names", "twice", twice, cure))


def _top_level(stored: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """What the file says of the columns themselves, without what is in them, which may have the same names: each node
    comes before its children, whose number is last, and the file's own first of all.

    >>> _top_level([("schema", 2), ("a", 1), ("element", None), ("b", None)])
    [('a', 1), ('b', None)]
    """
    own, within = [], 0
    for node in stored[1:]:
        if not within:
            own.append(node)
        within += (node[-1] or 0) - bool(within)
    return own


def parquet_columns(connection: Any, path: str) -> Columns:
    """The columns of one file, and their types: those of DuckDB, or ours where these do not say what is stored."""
    stored = _top_level(connection.execute(_STORED, [literal(path)]).fetchall())
    check_distinct([name for name, *_ in stored])
    far = {name for name, *kind, _ in stored if MILLISECONDS.search(str(kind))}
    longer = {name: kind for name, kind, of, _, *size, _ in stored if of == "DECIMAL" and _is_longer(kind, *size)}
    cut = {name for name, kind in longer.items() if kind in INTEGERS}
    # DuckDB has one type for what the file has in several; of the two kinds below it says DOUBLE and TIMESTAMP.
    ours = {(name, "DOUBLE"): WIDE_DECIMAL for name, _, kind, *_ in stored if kind == "DECIMAL"}
    ours |= {(name, "TIMESTAMP"): OLD_TIMESTAMP for name, kind, *_ in stored if kind == "INT96"}
    described = "DESCRIBE SELECT * FROM read_parquet(?, hive_partitioning=false)"
    columns = connection.execute(described, [literal(path)]).fetchall()
    left_out = {**dict.fromkeys(far, IN_MILLISECONDS), **dict.fromkeys(longer.keys() - cut, IN_MANY_BYTES)}
    ours |= {(name, kind): f"{kind} {CUT}" for name, kind, *_ in columns if name in cut and kind.startswith("DECIMAL(")}
    return tuple((name, left_out.get(name) or ours.get((name, kind), kind)) for name, kind, *_ in columns)


def _is_longer(kind: str, digits: int, length: str | None) -> bool:
    """Whether a decimal may be stored in more bytes than DuckDB has for its digits.

    >>> _is_longer("BYTE_ARRAY", 9, None), _is_longer("FIXED_LEN_BYTE_ARRAY", 9, "4"), _is_longer("INT32", 4, None)
    (True, False, True)
    """
    room = next((room for most, room in BYTES_OF_DIGITS if digits <= most), None)
    taken = INTEGERS.get(kind, length)
    return room is not None and (taken is None or int(taken) > room)
