"""What no table can be made of, and the line that makes one: addresses, other files, frames of other libraries."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from discreet.errors import InvalidParameter, expected

ADDRESS = re.compile(r"([a-z][a-z0-9+.]*)://", re.IGNORECASE)
DATABASES = ("postgresql", "postgres", "duckdb", "sqlite", "mysql", "mssql", "snowflake", "bigquery", "databricks")
STATEMENT = re.compile(r"\s*(select|with|from)\s", re.IGNORECASE)

CONNECTED = "write dp.protect(ibis.{}.connect(...).table('visits'), ...), with a connection of Ibis."
ENDINGS: Mapping[str, str] = {
    **dict.fromkeys((".xlsx", ".xls", ".ods"), "read it first: dp.protect(pandas.read_excel('visits.xlsx'), ...)."),
    **dict.fromkeys((".json", ".jsonl", ".ndjson"), "read it first: dp.protect(pandas.read_json('visits.json'), ...)."),
    **dict.fromkeys(
        (".feather", ".arrow", ".ipc"), "read it first: dp.protect(pyarrow.feather.read_table(path), ...)."
    ),
    **dict.fromkeys((".dta", ".sav", ".sas7bdat"), "read it first, as by pandas.read_stata, read_spss or read_sas."),
    **dict.fromkeys((".pkl", ".pickle", ".npy", ".npz", ".h5", ".hdf5"), "load it, and give the frame."),
    **dict.fromkeys((".duckdb", ".ddb"), CONNECTED.format("duckdb")),
    **dict.fromkeys((".db", ".sqlite", ".sqlite3"), "export the table: engines are DuckDB, PostgreSQL and Spark."),
    **dict.fromkeys((".zip", ".bz2", ".xz", ".zst"), "unpack it; .csv.gz can be read as it is."),
    ".txt": "name it .csv or .tsv, by what is between its columns.",
    ".toml": "write dp.open('people.toml'), which reads a declaration.",
    ".sql": "write dp.sql('SELECT ...', people=table), of a table that is protected.",
}
SPARK = "write frame.createOrReplaceTempView('v'), and give ibis.pyspark.connect(spark).table('v')."
RELATION = "give relation.to_arrow_table(), or the table itself, ibis.duckdb.connect(...).table('visits')."
KINDS: Mapping[str, str] = {
    "pyspark.DataFrame": SPARK,
    "pandas.Series": "give a frame with the column of the unit, series.to_frame() or data[['person', 'visits']].",
    "polars.Series": "give a frame with the column of the unit, series.to_frame() or data.select('person', 'visits').",
    "numpy.ndarray": "name the columns: dp.protect(pandas.DataFrame(array, columns=['person', 'visits']), ...).",
    "builtins.dict": "write dp.protect(pyarrow.table(data), ...).",
    "builtins.list": "write dp.protect(pyarrow.Table.from_pylist(rows), ...), of rows that are dicts.",
    "builtins.tuple": "write dp.protect(pyarrow.Table.from_pylist(rows), ...), of rows that are dicts.",
    "duckdb.DuckDBPyRelation": RELATION,
    "_duckdb.DuckDBPyRelation": RELATION,
    "ibis.Backend": "name the table: connection.table('visits').",
    "dask.DataFrame": "give frame.compute(), or the files that it reads.",
    "modin.DataFrame": "give frame._to_pandas(), or the files that it reads.",
    "pyarrow.FileSystemDataset": "give the pattern of its files, 'visits/*.parquet', or dataset.to_table().",
    "sqlite3.Connection": "export the table: engines are DuckDB, PostgreSQL and Spark.",
    "sqlalchemy.Engine": "write dp.protect(ibis.postgres.connect(...).table('visits'), ...).",
    "psycopg.Connection": "write dp.protect(ibis.postgres.connect(...).table('visits'), ...).",
    "discreet.PrivateTable": "it is protected already: ask it, or refresh it by .refreshed(data, version=2).",
    "discreet.PublicTable": "it was marked as public; give the data themselves.",
    "discreet.Release": "it is an answer already, and public: read it by .to_pandas().",
    "builtins.NoneType": "give a path, a pandas, polars or Arrow table, or an Ibis table.",
}
ANY = "give a path, a pandas, polars or Arrow table, or an Ibis table."


def no_file(path: str) -> InvalidParameter:
    """The refusal of a text that names no file which can be read; of an address it shows no more than its scheme."""
    address = ADDRESS.match(path)
    if address:
        scheme = address[1].lower()
        of_database = next((name for name in DATABASES if scheme.startswith(name)), "")
        cure = (
            "copy the files here, or read them into a table of DuckDB, and give ibis.duckdb.connect(...).table(name)."
        )
        if of_database:
            cure = CONNECTED.format("postgres" if of_database.startswith("postgres") else of_database)
        what = "a local file, a frame or an Ibis table"
        return InvalidParameter(expected(what, "data", f"an address of {scheme}://", cure))
    if STATEMENT.match(path):
        cure = "protect the table first; dp.sql('SELECT ...', people=people) asks it."
        return InvalidParameter(expected("a file, a frame or an Ibis table", "data", "a statement in SQL", cure))
    ending = Path(path).suffix.lower()
    cure = ENDINGS.get(ending, "end its name with what it is; another kind of file is converted to Parquet first.")
    return InvalidParameter(expected("a .parquet, .csv or .tsv file", "data", path, cure))


def no_table(data: object) -> InvalidParameter:
    """The refusal of an object that is no table: by its type alone."""
    kind = type(data)
    package = kind.__module__.partition(".")[0]
    cure = KINDS.get(f"{package}.{kind.__name__}", ANY)
    return InvalidParameter(expected("a table", "data", kind.__name__, cure))
