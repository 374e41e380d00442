"""Puts Arrow tables into other engines, value by value as far as their types reach, for tests and benchmarks."""

from __future__ import annotations

from typing import Any

import ibis.expr.types as ir
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from discreet.engines.decimal_digits import within_digits

NUL = "\u2400"
"""The picture of NUL, which PostgreSQL's text cannot hold itself."""
PLACES = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
EPOCH_OF_POSTGRESQL = 10_957
"""Days from 1970 to 2000."""
MOMENTS = (-210_866_803_200, 9_224_318_016_000)
"""The seconds since 1970 that PostgreSQL's timestamps reach."""
DAYS = (-2_440_588, 2_145_031_949 - EPOCH_OF_POSTGRESQL)
"""The days since 1970 that its dates reach."""

PLAIN: dict[pa.DataType, str] = {
    pa.bool_(): "boolean",
    pa.int8(): "smallint",
    pa.uint8(): "smallint",
    pa.int16(): "smallint",
    pa.uint16(): "integer",
    pa.int32(): "integer",
    pa.uint32(): "bigint",
    pa.int64(): "bigint",
    pa.uint64(): "numeric(20, 0)",
    pa.float16(): "real",
    pa.float32(): "real",
    pa.float64(): "double precision",
    pa.string(): "text",
    pa.date32(): "date",
}


def into_postgresql(backend: Any, name: str, data: pa.Table, *, temporary: bool = True) -> ir.Table:
    """A table of PostgreSQL's with the rows of an Arrow table; NUL becomes its picture, and a day or time that is out
    of reach becomes infinite.
    """
    quoted = '"' + name.replace('"', '""') + '"'
    columns = ", ".join(f'"{column.name}" {_type(column.type)}' for column in data.schema)
    parts = [_texts(_of_its_type(data[column.name])) for column in data.schema]
    rows = zip(*parts, strict=True)
    kind = "TEMPORARY " if temporary else ""
    with backend.con.cursor() as cursor, backend.con.transaction():
        cursor.execute(f"DROP TABLE IF EXISTS {quoted} CASCADE")
        cursor.execute(f"CREATE {kind}TABLE {quoted} ({columns})")
        with cursor.copy(f"COPY {quoted} FROM STDIN") as copy:
            for row in rows:
                copy.write_row(row)
    table: ir.Table = backend.table(name)
    return table


def into_spark(backend: Any, name: str, data: pa.Table, *, temporary: bool = True) -> ir.Table:
    """A temporary view of Spark's with the rows of an Arrow table; a time that microseconds do not reach becomes the
    last that they do.
    """
    del temporary
    columns = {column.name: _held(_of_its_type(data[column.name]).combine_chunks()) for column in data.schema}
    frame = backend._session.createDataFrame(pa.table(columns))  # noqa: SLF001 (Ibis has no public name for it)
    view = name.replace(" ", "_")  # Ibis does not quote the names of Spark's tables
    frame.createOrReplaceTempView(view)
    table: ir.Table = backend.table(view)
    return table


SPARK: dict[pa.DataType, pa.DataType] = {
    pa.uint8(): pa.int16(),
    pa.uint16(): pa.int32(),
    pa.uint32(): pa.int64(),
    pa.uint64(): pa.decimal128(20, 0),
    pa.float16(): pa.float32(),
}
"""The narrowest type of Spark's that holds all values of a type that it does not have."""


def _held(column: pa.Array) -> pa.Array:
    kind = column.type
    if pa.types.is_timestamp(kind) and kind.unit != "us":
        micro = [None if value is None else value * 10**6 // PLACES[kind.unit] for value in _integers(column)]
        kept = [None if value is None else min(max(value, -(2**63)), 2**63 - 1) for value in micro]
        return pa.array(kept, pa.int64()).view(pa.timestamp("us", kind.tz))
    return column.cast(SPARK.get(kind, kind))


def _of_its_type(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Decimals of more digits than their type has are NULL, as DuckDB is given them."""
    return within_digits(column) if pa.types.is_decimal(column.type) else column


def _type(kind: pa.DataType) -> str:
    if pa.types.is_timestamp(kind):
        return "timestamp" if kind.tz is None else "timestamp with time zone"
    if pa.types.is_decimal(kind):
        return f"numeric({kind.precision}, {kind.scale})"
    return PLAIN[kind]


def _texts(column: pa.ChunkedArray) -> list[str | None]:
    """The values of a column as PostgreSQL reads them."""
    kind = column.type
    if pa.types.is_timestamp(kind):
        return [_moment(value, PLACES[kind.unit], zoned=kind.tz is not None) for value in _integers(column)]
    if pa.types.is_date(kind):
        return [_day(value) for value in _integers(column)]
    if pa.types.is_floating(kind):
        return [None if value is None else repr(float(value)) for value in column.to_pylist()]
    return [None if value is None else str(value).replace("\0", NUL) for value in column.to_pylist()]


def _integers(column: pa.Array | pa.ChunkedArray) -> list[int | None]:
    stored = pa.int32() if pa.types.is_date(column.type) else pa.int64()
    whole = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    values: list[int | None] = pc.cast(whole.view(stored), pa.int64()).to_pylist()
    return values


def _moment(value: int | None, per_second: int, *, zoned: bool) -> str | None:
    if value is None:
        return None
    seconds, rest = divmod(value, per_second)
    if not MOMENTS[0] <= seconds < MOMENTS[1]:
        return "-infinity" if seconds < 0 else "infinity"
    day, clock = divmod(seconds, 86_400)
    micro = rest * 10**6 // per_second
    date = str(np.datetime64(day, "D"))
    time = f"{clock // 3600:02}:{clock // 60 % 60:02}:{clock % 60:02}.{micro:06}{'+00' if zoned else ''}"
    return _era(date, time)


def _day(value: int | None) -> str | None:
    if value is None:
        return None
    if not DAYS[0] <= value < DAYS[1]:
        return "-infinity" if value < 0 else "infinity"
    return _era(str(np.datetime64(value, "D")), "")


def _era(date: str, time: str) -> str:
    """A date of NumPy's in PostgreSQL's words: the year 0 is 1 BC there."""
    before = date.startswith("-")
    year, month, day = date.removeprefix("-").split("-")
    number = -int(year) if before else int(year)
    shown = f"{number if number > 0 else 1 - number:04}-{month}-{day} {time}".rstrip()
    return shown if number > 0 else f"{shown} BC"
