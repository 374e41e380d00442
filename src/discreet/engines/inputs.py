"""What a curator may hand over: a file, a frame or an Ibis table, as a raw table in DuckDB.

No type is sniffed from rows: Parquet and frames carry theirs, a CSV file has to be given a schema, and is read as text
that becomes NULL where it does not fit.
"""

from __future__ import annotations

import csv
import datetime
import decimal
import gzip
import itertools
import os
from collections.abc import Callable, Mapping
from glob import glob
from pathlib import Path
from typing import TYPE_CHECKING, Any

import ibis
import ibis.expr.datatypes as dt
import ibis.expr.operations as ops
import ibis.expr.types as ir
import pyarrow as pa

from discreet.errors import InvalidParameter, expected

if TYPE_CHECKING:
    from ibis.backends.duckdb import Backend

PARQUET = (".parquet", ".pq")
DELIMITERS = {".csv": ",", ".tsv": "\t"}
PLAIN = (str, bool, int, float, decimal.Decimal, datetime.date, datetime.time)
_numbers = itertools.count(1)


def connection() -> Backend:
    """An embedded DuckDB of our own, in memory, that reads every timestamp in UTC."""
    backend = ibis.duckdb.connect()
    backend.raw_sql("SET TimeZone = 'UTC'")
    return backend


def table(data: Any, schema: Mapping[str, str] | None) -> tuple[Backend, ir.Table, dict[str, str]]:
    """The connection and the raw table of what was handed over; the columns that it leaves out, and their types."""
    if isinstance(data, str | os.PathLike):
        return *_file(os.fspath(data), schema), {}
    if isinstance(data, ir.Table):
        no_schema(schema)
        return connected(data), data, {}
    backend = connection()
    whole = _as_arrow(data)
    frame = arrow(whole)
    closed = {column.name: str(column.type) for column in whole.schema if column.name not in frame.column_names}
    name = f"frame_{next(_numbers)}"
    try:
        backend.con.register("arriving", frame)
        backend.con.table("arriving").create(name)
    except Exception:  # noqa: BLE001 (whatever DuckDB says of a frame may quote it)
        cure = "leave out or convert columns that are not numbers, truth values, text, dates or timestamps."
        raise InvalidParameter(
            expected("columns that DuckDB can hold", "types", [str(t) for t in frame.schema.types], cure)
        ) from None
    finally:
        backend.con.unregister("arriving")
    return backend, _typed(backend.table(name), schema), closed


def no_schema(schema: Mapping[str, str] | None) -> None:
    """Refuses a schema for what has one of its own."""
    if schema is not None:
        raise InvalidParameter(
            expected(
                "no schema where the table has one", "schema", dict(schema), "cast its columns before it is protected."
            )
        )


def connected(data: ir.Table) -> Any:
    """The connection of a stored table."""
    if data.op().find(ops.InMemoryTable):
        cure = "pass the frame itself, or store it first, connection.create_table(name, frame)."
        raise InvalidParameter(expected("a table of a database", "data", "a memtable", cure))
    try:
        return data.get_backend()
    except Exception as problem:  # noqa: BLE001 (Ibis has several classes for a table without a connection)
        raise InvalidParameter(
            f"Expected a table of a connection, got one that has none: {problem}\nHint: use connection.table(name)."
        ) from None


def _file(path: str, schema: Mapping[str, str] | None) -> tuple[Backend, ir.Table]:
    suffixes = [s.lower() for s in Path(path).suffixes]
    kind = next((s for s in reversed(suffixes) if s in (*PARQUET, *DELIMITERS)), None)
    if kind is None:
        raise InvalidParameter(expected("a .parquet, .csv or .tsv file", "data", path, "convert it to Parquet."))
    if not any(c in path for c in "*?[") and not Path(path).exists():
        raise InvalidParameter(
            expected("a file that exists", "data", path, "check the path; it is taken from the folder that you are in.")
        )
    backend = connection()
    if kind in PARQUET:
        no_schema(schema)
        try:
            return backend, _parquet(backend, path)
        except Exception:  # noqa: BLE001 (whatever DuckDB says of a file may quote it)
            raise InvalidParameter(
                expected(
                    "a readable Parquet file", "data", path, "check that the file is complete and that you may read it."
                )
            ) from None
    if schema is None:
        raise InvalidParameter(
            f"Expected a schema for a CSV file, got none for data={path!r}.\n"
            "Hint: declare it, dp.protect(..., schema={'person': 'int64', 'plan': 'string', 'visits': 'float64'}). "
            "Types guessed from rows would give people away."
        )
    return backend, _typed(_csv(backend, path, DELIMITERS[kind]), schema)


def _parquet(backend: Backend, path: str) -> ir.Table:
    """A Parquet file as DuckDB reads it, apart from zoned nanoseconds, a type that Ibis does not know."""
    # Columns that are made of folder names are text, whatever the names are: no type comes from data.
    raw = backend.read_parquet(path, hive_types_autocast=False)
    zoned = [name for name, dtype in raw.schema().items() if dtype.is_unknown() and "TIMESTAMPTZ_NS" in str(dtype)]
    if not zoned:
        return raw
    columns = ", ".join(f"TRY_CAST({_identifier(name)} AS TIMESTAMPTZ) AS {_identifier(name)}" for name in zoned)
    view = f"file_{next(_numbers)}"
    file = _identifier(raw.get_name())
    backend.raw_sql(f"CREATE TEMP VIEW {view} AS SELECT * REPLACE ({columns}) FROM {file}")  # noqa: S608 (quoted names)
    return backend.table(view)


def _identifier(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _csv(backend: Backend, path: str, delimiter: str) -> ir.Table:
    """Every column as text; lines that are no records are passed over, each for itself.

    Quotes have to pair, as every writer of CSV sees to: one that is left open takes the lines up to the next with it.
    """
    header = _header(path, delimiter)
    if not header or len(set(header)) < len(header):
        cure = "write the names of the columns in the first line."  # which is not shown: it may be a row
        raise InvalidParameter(expected("a first line of distinct column names", "columns", len(header), cure))
    columns = ", ".join(f"{_quoted(name)}: 'VARCHAR'" for name in header)
    name = f"text_{next(_numbers)}"
    backend.raw_sql(
        f"CREATE TEMP VIEW {name} AS SELECT * FROM read_csv({_quoted(path)}, "  # noqa: S608 (every part is quoted)
        f"columns={{{columns}}}, auto_detect=false, header=true, "
        f"delim={_quoted(delimiter)}, quote='\"', escape='\"', allow_quoted_nulls=false, "
        f"ignore_errors=true, strict_mode=false)"
    )
    return backend.table(name)


def _header(path: str, delimiter: str) -> list[str]:
    """The names in the first line of a file, or of the first of several."""
    files = [path] if Path(path).exists() else sorted(glob(path, recursive=True))  # noqa: PTH207 (an absolute pattern)
    if not files:
        raise InvalidParameter(expected("files that match", "data", path, "check the pattern."))
    opener = gzip.open if files[0].lower().endswith(".gz") else open
    try:
        with opener(files[0], "rt", encoding="utf-8-sig", errors="replace", newline="") as lines:
            return next(csv.reader(lines, delimiter=delimiter), [])
    except (OSError, EOFError, csv.Error):  # a folder, no permission, no such compression, a line without end
        cure = "check that it is a file, and that you may read it; for all files of a folder write 'folder/*.csv'."
        raise InvalidParameter(expected("a readable CSV file", "data", path, cure)) from None


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _typed(raw: ir.Table, schema: Mapping[str, str] | None) -> ir.Table:
    """The declared columns in their declared types; what does not fit is NULL."""
    if schema is None:
        return raw
    columns = {}
    for name, written in schema.items():
        if name not in raw.columns:
            raise InvalidParameter(
                expected(
                    "columns of the data",
                    "schema",
                    name,
                    "check how its first line writes it: in UTF-8, names in a .csv file apart by commas.",
                )
            )
        try:
            target = dt.dtype(written)
        except Exception:  # noqa: BLE001 (Ibis's parser has errors of several libraries)
            cure = "use int64, float64, string, boolean, date or timestamp."
            raise InvalidParameter(expected("a known type", f"schema[{name!r}]", written, cure)) from None
        column = raw[name]
        if not column.type().is_string():
            columns[name] = column.try_cast(target)
        else:
            # DuckDB moves a bare cast into its reader of CSV, which drops the rows that fail; behind NULLIF it is NULL.
            columns[name] = column if target.is_string() else column.nullif("").try_cast(target)
    return raw.select(**columns)


def arrow(data: Any) -> pa.Table:
    """A pandas, polars or Arrow table as Arrow, in types that DuckDB reads; columns of others are left out."""
    frame = _as_arrow(data)
    if len(set(frame.column_names)) < frame.num_columns:
        raise InvalidParameter(expected("distinct column names", "data", frame.column_names, "rename one of them."))
    if not frame.num_columns:
        cure = "name the columns, if only to say that there are no rows."
        raise InvalidParameter(expected("a table that has columns", "columns", [], cure))
    columns = {name: _readable(frame.column(i)) for i, name in enumerate(frame.column_names)}
    return pa.table({name: column for name, column in columns.items() if column is not None})


def _readable(column: pa.ChunkedArray) -> pa.ChunkedArray | None:
    """A column in a type that DuckDB reads, value by value; None for types that no question can be about."""
    kind = column.type
    if pa.types.is_dictionary(kind):
        return _readable(column.cast(kind.value_type))
    if pa.types.is_float16(kind):
        return column.cast(pa.float32())
    if pa.types.is_decimal(kind):
        return column.cast(pa.float64(), safe=False) if kind.bit_width > pa.decimal128(1, 0).bit_width else column
    if pa.types.is_timestamp(kind) and kind.tz is not None:  # the same instants, said in UTC
        return pa.chunked_array(
            [chunk.view(pa.timestamp(kind.unit)) for chunk in column.chunks], pa.timestamp(kind.unit)
        )
    return column if any(test(kind) for test in READABLE) else None


READABLE = (
    pa.types.is_boolean,
    pa.types.is_integer,
    pa.types.is_floating,
    pa.types.is_string,
    pa.types.is_large_string,
    pa.types.is_string_view,
    pa.types.is_date,
    pa.types.is_timestamp,
)


def _as_arrow(data: Any) -> pa.Table:
    """What was handed over as Arrow; text where pandas holds Python objects, whatever they are."""
    if isinstance(data, pa.Table):
        return data
    if isinstance(data, pa.RecordBatch):
        return pa.Table.from_batches([data])
    module = type(data).__module__.split(".")[0]
    frame = data.collect() if module == "polars" and hasattr(data, "collect") else data
    if module in ("pandas", "polars") and hasattr(frame, "columns"):
        convert = _polars_column if module == "polars" else _pandas_column
        return pa.table({str(name): _column(name, frame[name], convert) for name in frame.columns})
    cure = "give a path, a pandas, polars or Arrow table, or an Ibis table."
    raise InvalidParameter(expected("a table", "data", type(data).__name__, cure))


def _column(name: object, column: Any, convert: Callable[[Any], pa.Array]) -> pa.Array:
    try:
        return convert(column)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError):
        cure = "convert the column to a plain type, or leave it out."
        raise InvalidParameter(
            expected("columns that Arrow can hold", f"type of {str(name)!r}", str(column.dtype), cure)
        ) from None


def _polars_column(column: Any) -> pa.Array:
    return column.to_arrow()


def _pandas_column(column: Any) -> pa.Array:
    """One pandas column by its dtype alone: objects are text, each for itself, never inferred together."""
    if str(column.dtype) == "category":
        return _pandas_column(column.astype(object))
    if column.dtype != object:
        try:
            return pa.array(column, from_pandas=True)
        except UnicodeEncodeError:  # text with lone surrogates, which is text still
            pass
    return pa.array([_text(item) for item in column.array], type=pa.string())


def _text(item: object) -> str | None:
    """One Python object as text; NaN, NaT, foreign objects and integers too long to print are NULL."""
    if not isinstance(item, PLAIN) or (isinstance(item, decimal.Decimal) and item.is_nan()) or item != item:  # noqa: PLR0124 (NaN and NaT)
        return None
    try:
        return str(item).encode("utf-8", "backslashreplace").decode("utf-8")
    except ValueError:
        return None
