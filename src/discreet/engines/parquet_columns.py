"""The columns of a Parquet file and what it stores in them, by its schema alone."""

from __future__ import annotations

import re
from typing import Any

from discreet.engines.files import Columns, literal

IN_MILLISECONDS = "TIMESTAMP in milliseconds"
"""DuckDB widens them as it reads, and fails on a whole file that has one far moment."""
GEOMETRY = "GEOMETRY"
"""A type that Ibis reads with an extension, which is not there."""
WIDE_DECIMAL = "DOUBLE of a decimal of more than 38 digits"
OLD_TIMESTAMP = "TIMESTAMP of nanoseconds in 96 bits"
"""What DuckDB reads as another type than the file has it in."""
MILLISECONDS = re.compile(r"'TIMESTAMP_MILLIS'|TimestampType\(.*MILLIS=MilliSeconds")
_STORED = "SELECT name, type, converted_type, logical_type FROM parquet_schema(?)"


def parquet_columns(connection: Any, path: str) -> Columns:
    """The columns of one file, and their types: those of DuckDB, or ours where these do not say what is stored."""
    stored = connection.execute(_STORED, [literal(path)]).fetchall()
    far = {name for name, *kind in stored if MILLISECONDS.search(str(kind))}
    # DuckDB has one type for what the file has in several; of the two kinds below it says DOUBLE and TIMESTAMP.
    ours = {(name, "DOUBLE"): WIDE_DECIMAL for name, _, kind, _ in stored if kind == "DECIMAL"}
    ours |= {(name, "TIMESTAMP"): OLD_TIMESTAMP for name, kind, *_ in stored if kind == "INT96"}
    described = "DESCRIBE SELECT * FROM read_parquet(?, hive_partitioning=false)"
    columns = connection.execute(described, [literal(path)]).fetchall()
    return tuple((name, IN_MILLISECONDS if name in far else ours.get((name, kind), kind)) for name, kind, *_ in columns)
