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
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import ibis
import ibis.expr.datatypes as dt
import ibis.expr.types as ir
import pyarrow as pa

from discreet.errors import EngineError, InvalidParameter, expected, nearest

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


def table(data: Any, schema: Mapping[str, str] | None) -> tuple[Backend, ir.Table]:
    """The connection and the raw table of what was handed over."""
    if isinstance(data, str | os.PathLike):
        return _file(os.fspath(data), schema)
    if isinstance(data, ir.Table):
        _no_schema(schema)
        return _connected(data)
    backend = connection()
    frame = _widened(_arrow(data))
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
    return backend, _typed(backend.table(name), schema)


def _widened(frame: pa.Table) -> pa.Table:
    """Half-precision columns as floats, which hold all their values; DuckDB does not read halves."""
    fields = [field.with_type(pa.float32()) if pa.types.is_float16(field.type) else field for field in frame.schema]
    return frame.cast(pa.schema(fields))


def _no_schema(schema: Mapping[str, str] | None) -> None:
    if schema is not None:
        raise InvalidParameter(
            expected(
                "no schema where the table has one", "schema", dict(schema), "cast its columns before it is protected."
            )
        )


def _connected(data: ir.Table) -> tuple[Backend, ir.Table]:
    try:
        backend = data.get_backend()
    except Exception as problem:  # noqa: BLE001 (Ibis has several classes for a table without a connection)
        raise InvalidParameter(
            f"Expected a table of a connection, got one that has none: {problem}\nHint: use connection.table(name)."
        ) from None
    if backend.name != "duckdb":
        raise InvalidParameter(
            expected(
                "a table on DuckDB",
                "backend",
                backend.name,
                "read it into DuckDB first; other engines have not passed the conformance suite.",
            )
        )
    return backend, data


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
        _no_schema(schema)
        try:
            return backend, backend.read_parquet(path)
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


def _csv(backend: Backend, path: str, delimiter: str) -> ir.Table:
    """Every column as text; lines that are no records are passed over, each for itself."""
    opener = gzip.open if path.lower().endswith(".gz") else open
    with opener(path, "rt", encoding="utf-8-sig", errors="replace", newline="") as lines:
        header = next(csv.reader(lines, delimiter=delimiter), [])
    if not header or len(set(header)) < len(header):
        raise InvalidParameter(
            expected(
                "a first line of distinct column names",
                "header",
                header,
                "write the names of the columns in the first line.",
            )
        )
    columns = ", ".join(f"{_quoted(name)}: 'VARCHAR'" for name in header)
    name = f"text_{next(_numbers)}"
    backend.raw_sql(
        f"CREATE TEMP VIEW {name} AS SELECT * FROM read_csv({_quoted(path)}, "  # noqa: S608 (every part is quoted)
        f"columns={{{columns}}}, auto_detect=false, header=true, "
        f"delim={_quoted(delimiter)}, quote='\"', escape='\"', ignore_errors=true, strict_mode=false)"
    )
    return backend.table(name)


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _typed(raw: ir.Table, schema: Mapping[str, str] | None) -> ir.Table:
    """The declared columns in their declared types; what does not fit is NULL."""
    if schema is None:
        return raw
    columns = {}
    for name, written in schema.items():
        if name not in raw.columns:
            raise InvalidParameter(expected("columns of the data", "schema", name, nearest(name, raw.columns)))
        try:
            target = dt.dtype(written)
        except Exception:  # noqa: BLE001 (Ibis's parser has errors of several libraries)
            cure = "use int64, float64, string, boolean, date or timestamp."
            raise InvalidParameter(expected("a known type", f"schema[{name!r}]", written, cure)) from None
        columns[name] = raw[name] if target.is_string() and raw[name].type().is_string() else raw[name].try_cast(target)
    return raw.select(**columns)


def _arrow(data: Any) -> pa.Table:
    """A pandas, polars or Arrow table as Arrow; text where pandas holds Python objects, whatever they are."""
    if isinstance(data, pa.Table | pa.RecordBatch):
        return pa.table(data) if isinstance(data, pa.Table) else pa.Table.from_batches([data])
    module = type(data).__module__.split(".")[0]
    if module == "polars":
        frame = data.collect() if hasattr(data, "collect") else data
        return frame.to_arrow()
    if module == "pandas" and hasattr(data, "columns"):
        return pa.table({str(name): _pandas_column(data[name]) for name in data.columns})
    cure = "give a path, a pandas, polars or Arrow table, or an Ibis table."
    raise InvalidParameter(expected("a table", "data", type(data).__name__, cure))


def _pandas_column(column: Any) -> pa.Array:
    """One pandas column by its dtype alone: objects are text, each for itself, never inferred together."""
    if column.dtype == object:
        return pa.array([_text(item) for item in column.array], type=pa.string())
    if str(column.dtype) == "category":
        return _pandas_column(column.astype(object))
    try:
        return pa.array(column, from_pandas=True)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError):
        raise EngineError(
            "Expected columns that Arrow can hold, got a pandas type that it cannot.\n"
            "Hint: convert the column to a plain type."
        ) from None


def _text(item: object) -> str | None:
    if not isinstance(item, PLAIN) or item != item:  # noqa: PLR0124 (NaN, NaT and foreign objects are NULL)
        return None
    return str(item).encode("utf-8", "replace").decode("utf-8")
