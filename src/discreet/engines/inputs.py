"""What a curator may hand over: a file, a frame or an Ibis table, as a raw table in DuckDB.

No type is sniffed from rows: Parquet and frames carry theirs; a CSV file is given a schema, and what misfits is NULL.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import WeakKeyDictionary

import ibis
import ibis.expr.datatypes as dt
import ibis.expr.operations as ops
import ibis.expr.types as ir
import pyarrow as pa
import pyarrow.compute as pc

from discreet.engines.decimal_digits import WIDTH, within_digits
from discreet.engines.duckdb_names import qualified
from discreet.engines.duckdb_settings import put_in_place
from discreet.engines.duckdb_texts import TOTAL, column_of_file
from discreet.engines.file_patterns import UNREADABLE, Files, header, literal, matching_files, partitions
from discreet.engines.inherited_connections import kept_open_in_forks
from discreet.engines.lossy_types import converted, merged_by_schema, merged_in_files, merged_in_frame
from discreet.engines.object_texts import text_of
from discreet.engines.parquet_columns import GEOMETRY, IN_MANY_BYTES, IN_MILLISECONDS, check_distinct, parquet_columns
from discreet.engines.refused_inputs import ADDRESS, ENDINGS, no_file, no_table
from discreet.errors import InvalidParameter, expected
from discreet.planning.temporary_folders import Folder

if TYPE_CHECKING:
    from ibis.backends.duckdb import Backend

PARQUET = (".parquet", ".pq")
DELIMITERS = {".csv": ",", ".tsv": "\t"}
_numbers = itertools.count(1)

OWN = {"autoinstall_known_extensions": "false", "autoload_known_extensions": "false"}
"""Of connections of ours: nothing is fetched from the network, and nothing is loaded that could reach it."""
_spills: WeakKeyDictionary[Any, Folder] = WeakKeyDictionary()
"""Where a connection of ours puts what does not fit in memory: a folder of mode 0700, which goes with it."""


class RawTable(NamedTuple):
    """What was handed over, in DuckDB."""

    backend: Backend
    table: ir.Table
    unreadable: dict[str, str]
    """The columns that are left out, and their types."""
    files: Files | None = None
    """Where it lies, if it lies in files."""
    merged: Mapping[str, str] = MappingProxyType({})
    """The columns of which values that differ may be read as one, and their types."""


def connection() -> Backend:
    """An embedded DuckDB of our own, in memory, with our settings."""
    backend = ibis.duckdb.connect()
    kept_open_in_forks(backend.con)
    _spills[backend.con] = folder = Folder()
    for name, value in {**OWN, "temp_directory": _quoted(str(folder.path))}.items():
        backend.con.execute(f"SET {name} = {value}")
    put_in_place(backend.con)
    return backend


def table(data: Any, schema: Mapping[str, str] | None, beside: Backend | None = None) -> RawTable:
    """The connection and the raw table of what was handed over; `beside` is a connection of ours for what has none."""
    if isinstance(data, str | os.PathLike):
        return _file(os.fspath(data), schema, beside)
    if isinstance(data, ir.Table):
        no_schema(schema)
        backend = connected(data)
        if backend.name != "duckdb":
            return RawTable(backend, data, {})
        kept_open_in_forks(backend.con)
        for step in data.op().find(ops.Relation):  # of its own tables DuckDB sees to it, of Ibis's steps nobody
            check_distinct(list(step.schema))
        return RawTable(backend, qualified(data, backend.con), {})
    backend = connection() if beside is None else beside
    whole = _as_arrow(data)
    frame = as_arrow(whole)
    unreadable = {column.name: str(column.type) for column in whole.schema if column.name not in frame.column_names}
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
    return _typed(RawTable(backend, backend.table(name), unreadable, None, merged_in_frame(whole.schema)), schema)


def no_schema(schema: Mapping[str, str] | None) -> None:
    """Refuses a schema for what has one of its own."""
    if schema is not None:
        cure = "cast its columns before it is protected."
        raise InvalidParameter(expected("no schema where the table has one", "schema", dict(schema), cure))


def connected(data: ir.Table) -> Any:
    """The connection of a stored table."""
    if data.op().find(ops.InMemoryTable):
        cure = "pass the frame itself, or store it first, connection.create_table(name, frame)."
        raise InvalidParameter(expected("a table of a database", "data", "a memtable", cure))
    if data.op().find(ops.ScalarParameter):
        raise InvalidParameter(expected("a table", "data", "a question with a parameter", "write its value in place."))
    try:
        return data.get_backend()
    except Exception as problem:  # noqa: BLE001 (Ibis has several classes for a table without a connection)
        said = f"Expected a table of a connection, got one that has none: {' '.join(str(problem).split())}"
        raise InvalidParameter(f"{said}\nHint: write connection.table(name), with its connection of Ibis.") from None


def _file(path: str, schema: Mapping[str, str] | None, beside: Backend | None) -> RawTable:
    suffixes = [s.lower() for s in Path(path).suffixes]
    kind = next((s for s in reversed(suffixes) if s in (*PARQUET, *DELIMITERS)), None)
    if kind is None or ADDRESS.match(path):
        raise no_file(path)
    paths = matching_files(path)
    if packed := [one for one in paths if Path(one).suffix.lower() in ENDINGS]:
        raise no_file(packed[0])
    backend = connection() if beside is None else beside
    if kind in PARQUET:
        no_schema(schema)
        return _parquet(backend, path, paths)
    if schema is None:
        raise InvalidParameter(
            f"Expected a schema for a CSV file, got none for data={path!r}.\n"
            "Hint: declare it, dp.protect(..., schema={'person': 'int64', 'plan': 'string', 'visits': 'float64'}). "
            "Types guessed from rows would reveal people. dp.public and via= take none: write the file as Parquet, or "
            "pass a frame."
        )
    return _typed(_csv(backend, path, paths, DELIMITERS[kind]), schema)


def _parquet(backend: Backend, path: str, paths: tuple[str, ...]) -> RawTable:
    """Parquet files as DuckDB reads them, apart from columns of which it would fail on a row."""
    try:
        files = Files(paths, lambda one: parquet_columns(backend.con, one), ordered=False)
    except InvalidParameter:
        raise
    except Exception:  # noqa: BLE001 (whatever DuckDB says of a file may quote it)
        cure = "check that the file is complete and that you may read it."
        raise InvalidParameter(expected("a readable Parquet file", "data", path, cure)) from None
    _check_all(files, path, "each with the columns of the first, of the same types")
    added = partitions(paths, tuple(name for name, _ in files.columns))
    left_out = (IN_MILLISECONDS, IN_MANY_BYTES)
    unreadable = {name: kind for name, kind in files.columns if kind in left_out or GEOMETRY in kind}
    shown = {name: kind for name, kind in files.columns if name not in unreadable} | dict.fromkeys(added, "a folder")
    if not shown:
        cure = "write times in microseconds, as in pyarrow.parquet.write_table(..., coerce_timestamps='us')."
        raise InvalidParameter(expected("a column that can be read", "columns", sorted(unreadable), cure))
    written = ", ".join(column_of_file(_identifier(name), kind) for name, kind in shown.items())
    # Columns that are made of folder names are text, whatever the names are: no type comes from data.
    options = f"hive_partitioning={str(bool(added)).lower()}, hive_types_autocast=false, {TOTAL}"
    raw = _viewed(backend, f"SELECT {written} FROM read_parquet({_list(paths)}, {options})")  # noqa: S608 (quoted names)
    return RawTable(backend, raw, unreadable, files, merged_in_files(dict(files.columns)))


def _check_all(files: Files, path: str, which: str) -> None:
    """Refuses files that do not have one and the same columns, and those that cannot be read."""
    try:
        files.check()
    except Exception:  # noqa: BLE001 (whatever is said of a file may quote it)
        number = len(files.paths)
        cure = "write all of them alike, or protect them one by one under one budget."
        raise InvalidParameter(expected(f"readable files, {which}", "data", f"{path} ({number} files)", cure)) from None


def _viewed(backend: Backend, written: str) -> ir.Table:
    name = f"file_{next(_numbers)}"
    backend.raw_sql(f"CREATE TEMP VIEW {name} AS {written}")
    return backend.table(name)


def _identifier(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _csv(backend: Backend, path: str, paths: tuple[str, ...], delimiter: str) -> RawTable:
    """Every column as text; lines that are no records are passed over, each for itself.

    Quotes have to pair, as every writer of CSV sees to: one that is left open takes the lines up to the next with it.
    A file is read from its beginning by one thread. Several would each guess where a line begins, and a text of many
    lines, though between quotes, has them read it as rows, and others not at all.
    """
    try:
        files = Files(paths, lambda one: header(one, delimiter), ordered=True)
    except UNREADABLE:
        cure = "check that it is a file, and that you may read it; for all files of a folder write 'folder/*.csv'."
        raise InvalidParameter(expected("a readable CSV file", "data", path, cure)) from None
    names = [name for name, _ in files.columns]
    if not names or len({name.casefold() for name in names}) < len(names):
        cure = "write the names of the columns in the first line."  # which is not shown: it may be a row
        raise InvalidParameter(expected("a first line of distinct column names", "columns", len(names), cure))
    _check_all(files, path, "each with the same first line")
    partitioned = str(bool(partitions(paths, tuple(names)))).lower()
    columns = ", ".join(f"{_quoted(name)}: 'VARCHAR'" for name in names)
    try:
        raw = _viewed(
            backend,
            f"SELECT * FROM read_csv({_list(paths)}, "  # noqa: S608 (every part is quoted)
            f"columns={{{columns}}}, auto_detect=false, header=true, "
            f"hive_partitioning={partitioned}, hive_types_autocast=false, "
            f"delim={_quoted(delimiter)}, quote='\"', escape='\"', allow_quoted_nulls=false, "
            f"ignore_errors=true, strict_mode=false, parallel=false)",
        )
    except Exception:  # noqa: BLE001 (whatever DuckDB says of a file may quote it)
        cure = "check that it is a file, and that its folder can be read."
        raise InvalidParameter(expected("a readable CSV file", "data", path, cure)) from None
    return RawTable(backend, raw, {}, files)


def _list(paths: tuple[str, ...]) -> str:
    return f"[{', '.join(_quoted(literal(path)) for path in paths)}]"


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _typed(raw: RawTable, schema: Mapping[str, str] | None) -> RawTable:
    """The declared columns in their declared types; what does not fit is NULL."""
    if schema is None:
        return raw
    columns, kinds = {}, {}
    for name, written in schema.items():
        if name not in raw.table.columns:
            raise InvalidParameter(
                expected(
                    "columns of the data",
                    "schema",
                    name,
                    "check how its first line writes it: in UTF-8, names in a .csv file apart by commas.",
                )
            )
        try:
            kinds[name] = dt.dtype(written)
        except Exception:  # noqa: BLE001 (Ibis's parser has errors of several libraries)
            cure = "use int64, float64, string, boolean, date or timestamp."
            raise InvalidParameter(expected("a known type", f"schema[{name!r}]", written, cure)) from None
        columns[name] = converted(raw.table[name], kinds[name])
    merged = {**raw.merged, **merged_by_schema(raw.table.schema(), kinds)}
    named = raw.table.select([column.name(name) for name, column in columns.items()])  # a name may be `self`
    return raw._replace(table=named, merged=merged)


def as_arrow(data: Any) -> pa.Table:
    """A pandas, polars or Arrow table as Arrow, in types that DuckDB reads; columns of others are left out."""
    frame = _as_arrow(data)
    check_distinct(frame.column_names)
    if not frame.num_columns:
        cure = "name the columns, if only to say that there are no rows."
        raise InvalidParameter(expected("a table that has columns", "columns", [], cure))
    columns = {name: _readable(frame.column(i)) for i, name in enumerate(frame.column_names)}
    return pa.table({name: column for name, column in columns.items() if column is not None})


def _readable(column: pa.ChunkedArray) -> pa.ChunkedArray | None:
    """A column in a type that DuckDB reads, value by value; None for types that no question can be about."""
    kind = column.type
    if pa.types.is_dictionary(kind):
        return _listed(column)
    if pa.types.is_float16(kind):
        return column.cast(pa.float32())
    if pa.types.is_decimal(kind):
        return column.cast(pa.float64(), safe=False) if kind.bit_width > WIDTH else within_digits(column)
    if pa.types.is_timestamp(kind) and kind.tz is not None:  # the same instants, said in UTC
        return pa.chunked_array(
            [chunk.view(pa.timestamp(kind.unit)) for chunk in column.chunks], pa.timestamp(kind.unit)
        )
    if any(test(kind) for test in TEXTS):
        return _legible(column)
    return column if any(test(kind) for test in READABLE) else None


def _listed(column: pa.ChunkedArray) -> pa.ChunkedArray | None:
    """A column of places in lists of values, as these values; a place that its list does not have is NULL."""
    found = []
    for chunk in column.chunks or [pa.array([], column.type)]:
        values, places = _readable(pa.chunked_array([chunk.dictionary])), chunk.indices.cast(pa.int64(), safe=False)
        if values is None:
            return None
        is_there = pc.and_(pc.greater_equal(places, 0), pc.less(places, len(values)))
        found.append(pa.table({"": values.take(pc.if_else(is_there, places, None))}))
    return pa.concat_tables(found, promote_options="permissive").column(0)


def _legible(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Text as it is; a value that is not UTF-8 is NULL, since DuckDB would refuse all of the column for it."""
    held = column.cast(pa.binary() if pa.types.is_string(column.type) else pa.large_binary())
    try:
        return held.cast(pa.string() if pa.types.is_string(column.type) else pa.large_string())
    except pa.ArrowInvalid:
        return pa.chunked_array([pa.array(map(_decoded, held.to_pylist()), pa.large_string())])


def _decoded(value: bytes | None) -> str | None:
    try:
        return None if value is None else value.decode()
    except UnicodeDecodeError:
        return None


TEXTS = (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view)
READABLE = (
    pa.types.is_boolean,
    pa.types.is_integer,
    pa.types.is_floating,
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
    frame = _collected(data) if module == "polars" and hasattr(data, "collect") else data
    if module in ("pandas", "polars") and hasattr(frame, "columns"):
        convert = _polars_column if module == "polars" else _pandas_column
        check_distinct([str(name) for name in frame.columns])
        return pa.table({str(name): _column(name, frame[name], convert) for name in frame.columns})
    raise no_table(data)


def _collected(frame: Any) -> Any:
    """What a lazy frame of polars gives."""
    with suppress(Exception):  # polars quotes the row of which a step fails
        return frame.collect()
    cure = "look at what frame.collect() says: it may quote rows."
    raise InvalidParameter(expected("a lazy frame that can be collected", "data", "one that fails", cure))


def _column(name: object, column: Any, convert: Callable[[Any], pa.Array]) -> pa.Array:
    try:
        return convert(column)
    except Exception:  # noqa: BLE001 (whatever a library says of a column may quote it)
        cure = "convert the column to a plain type, or leave it out."
        told = InvalidParameter(
            expected("columns that Arrow can hold", f"type of {str(name)!r}", str(column.dtype), cure)
        )
    raise told  # here, where no exception is being handled that it would carry along


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
    return pa.array([text_of(item) for item in column.array], type=pa.string())
