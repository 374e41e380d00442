"""An embedded DuckDB with the catalog of PostgreSQL, in which the declared tables are empty.

Its relations have the names and columns of PostgreSQL's own (`data/postgresql_catalog.json`); their rows are made from
declarations, and most relations have none, since there are no indexes, constraints or functions here. Sizes and counts
of rows are what PostgreSQL shows of a table that was never analyzed: -1 and 0, whatever the table holds.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from discreet.pgwire.catalog_functions import KEYWORDS, MACROS
from discreet.pgwire.declared_tables import DeclaredTable, stable_oid
from discreet.pgwire.session_settings import SERVER_VERSION, SessionSettings

if TYPE_CHECKING:
    import duckdb

CATALOG, INFORMATION = "pg", "info"
"""The schemas that stand for pg_catalog and information_schema: DuckDB has its own of those names."""
PG_CATALOG_OID, PUBLIC_OID, INFORMATION_OID = 11, 2200, 13_000
OWNER_OID = 10
TABLESPACE_OID = 1663
OWNER = "curator"
HEAP = 2
MEMORY = "96MB"
"""Of all statements about one catalog together, with the catalog; nothing is put on a disk instead."""
SHOWN_TYPES = "x_shown_types (oid UINTEGER, typname VARCHAR, shown VARCHAR, typelem UINTEGER, typcategory VARCHAR)"
STORED: Mapping[str, str] = {
    "oid": "UINTEGER",
    "xid": "UINTEGER",
    "bigint": "BIGINT",
    "integer": "INTEGER",
    "smallint": "SMALLINT",
    "boolean": "BOOLEAN",
    "real": "REAL",
    "double_precision": "DOUBLE",
    "cardinal_number": "INTEGER",
    "timestamp_with_time_zone": "TIMESTAMP",
    "time_stamp": "TIMESTAMP",
    "oidvector": "UINTEGER[]",
    "int2vector": "SMALLINT[]",
    "oid[]": "UINTEGER[]",
    "smallint[]": "SMALLINT[]",
    "boolean[]": "BOOLEAN[]",
    "text[]": "VARCHAR[]",
    "name[]": "VARCHAR[]",
    "char[]": "VARCHAR[]",
    "aclitem[]": "VARCHAR[]",
}
"""How DuckDB holds a column of the catalog; text, where it is not listed."""
Row = Mapping[str, Any]


@cache
def relations() -> dict[str, dict[str, Any]]:
    """The relations of PostgreSQL's catalog by schema and name, and how their columns are held."""
    found: dict[str, dict[str, Any]] = _shipped()["relations"]
    return found


@cache
def _shipped() -> dict[str, Any]:
    text = (files("discreet.data") / "postgresql_catalog.json").read_text(encoding="utf-8")
    shipped: dict[str, Any] = json.loads(text)
    return shipped


@cache
def base_types() -> tuple[dict[str, Any], ...]:
    """The types of PostgreSQL."""
    shipped = _shipped()
    return tuple(dict(zip(shipped["type_columns"], row, strict=True)) for row in shipped["types"])


@cache
def type_names() -> dict[int, str]:
    """How each type is shown, by its number."""
    return {one["oid"]: one["shown"] for one in base_types()}


def catalog_database(database: str, tables: Sequence[DeclaredTable]) -> duckdb.DuckDBPyConnection:
    """A database in memory that answers questions about the catalog; it can reach no file and no network."""
    import duckdb

    connection = duckdb.connect(":memory:", config={"threads": 1, "memory_limit": MEMORY, "temp_directory": ""})
    connection.execute("BEGIN")
    for schema in (CATALOG, INFORMATION):
        connection.execute(f"CREATE SCHEMA {schema}")
    for name, held in relations().items():
        columns = ", ".join(f'"{column}" {stored(kind)}' for column, kind in _columns(held))
        connection.execute(f"CREATE TABLE {_inside(name)} ({columns})")
    connection.execute(f"CREATE TABLE {CATALOG}.{SHOWN_TYPES}")
    for name, make in ROWS.items():
        _fill(connection, _inside(name), make(database, tables))
    _fill(connection, f"{CATALOG}.x_shown_types", base_types())
    for macro in (*MACROS, KEYWORDS):
        connection.execute(macro)
    connection.execute("COMMIT")
    connection.execute("SET enable_external_access = false")
    connection.execute("SET lock_configuration = true")
    return connection


def _inside(name: str) -> str:
    """Where DuckDB has a relation of PostgreSQL."""
    schema, _, relation = name.partition(".")
    return f'{CATALOG if schema == "pg_catalog" else INFORMATION}."{relation}"'


def _columns(held: Mapping[str, Any]) -> list[tuple[str, str]]:
    parts = (part.partition(":") for part in held["columns"].split(" "))
    return [(name, kind) for name, _, kind in parts]


def stored(kind: str) -> str:
    """How DuckDB holds a type of the catalog."""
    return STORED.get(kind, "VARCHAR")


def _fill(connection: duckdb.DuckDBPyConnection, relation: str, rows: Iterable[Row]) -> None:
    import pyarrow as pa

    made = list(rows)
    if not made:
        return
    connection.register("x_rows", pa.Table.from_pylist([dict(row) for row in made]))
    own = connection.table(relation).columns
    columns = ", ".join(f'"{name}"' for name in own if name in made[0])
    connection.execute(f"INSERT INTO {relation} ({columns}) SELECT {columns} FROM x_rows")  # noqa: S608 - names of ours
    connection.unregister("x_rows")


Maker = Callable[[str, Sequence[DeclaredTable]], Iterable[Row]]


def _namespaces(_database: str, _tables: Sequence[DeclaredTable]) -> Iterable[Row]:
    names = {"pg_catalog": PG_CATALOG_OID, "public": PUBLIC_OID, "information_schema": INFORMATION_OID}
    return [{"oid": oid, "nspname": name, "nspowner": OWNER_OID} for name, oid in names.items()]


def _class(oid: int, name: str, namespace: int, kind: str, columns: int) -> Row:
    return {
        "oid": oid, "relname": name, "relnamespace": namespace, "reltype": 0, "reloftype": 0, "relowner": OWNER_OID,
        "relam": HEAP if kind == "r" else 0, "relfilenode": 0, "reltablespace": 0, "relpages": 0, "reltuples": -1,
        "relallvisible": 0, "reltoastrelid": 0, "relhasindex": False, "relisshared": False, "relpersistence": "p",
        "relkind": kind, "relnatts": columns, "relchecks": 0, "relhasrules": False, "relhastriggers": False,
        "relhassubclass": False, "relrowsecurity": False, "relforcerowsecurity": False, "relispopulated": True,
        "relreplident": "d", "relispartition": False, "relrewrite": 0, "relfrozenxid": 0, "relminmxid": 0,
        "relacl": None,
    }  # fmt: skip


def _relation_oid(name: str) -> int:
    return int(relations()[name]["oid"]) or stable_oid("catalog", name)


def _classes(_database: str, tables: Sequence[DeclaredTable]) -> Iterable[Row]:
    for table in tables:
        yield {**_class(table.oid, table.name, PUBLIC_OID, "r", len(table.columns)), "relacl": [f"=r/{OWNER}"]}
    for name, held in relations().items():
        schema, _, relation = name.partition(".")
        namespace = PG_CATALOG_OID if schema == "pg_catalog" else INFORMATION_OID
        yield _class(_relation_oid(name), relation, namespace, held["kind"], len(_columns(held)))


def _attributes(_database: str, tables: Sequence[DeclaredTable]) -> Iterable[Row]:
    sizes = {one["oid"]: one for one in base_types()}
    for table in tables:
        for number, column in enumerate(table.columns, 1):
            kind = sizes[column.oid]
            yield {
                "attrelid": table.oid, "attname": column.name, "atttypid": column.oid, "attlen": kind["typlen"],
                "attnum": number, "attndims": 0, "attcacheoff": -1, "atttypmod": -1, "attbyval": kind["typbyval"],
                "attalign": kind["typalign"], "attstorage": kind["typstorage"], "attcompression": "",
                "attnotnull": False, "atthasdef": False, "atthasmissing": False, "attidentity": "",
                "attgenerated": "", "attisdropped": False, "attislocal": True, "attinhcount": 0, "attstattarget": -1,
                "attcollation": kind["typcollation"],
            }  # fmt: skip


def _types(_database: str, _tables: Sequence[DeclaredTable]) -> Iterable[Row]:
    for one in base_types():
        row = {name: value for name, value in one.items() if name != "shown"}
        yield row | {
            "typnamespace": PG_CATALOG_OID, "typowner": OWNER_OID, "typisdefined": True, "typrelid": 0,
            "typsubscript": "-", "typanalyze": "-", "typnotnull": False, "typbasetype": 0, "typtypmod": -1,
            "typndims": 0,
        }  # fmt: skip


def _comments(_database: str, tables: Sequence[DeclaredTable]) -> Iterable[Row]:
    of_classes = _relation_oid("pg_catalog.pg_class")
    for table in tables:
        if table.description:
            yield {"objoid": table.oid, "classoid": of_classes, "objsubid": 0, "description": table.description}
        for number, column in enumerate(table.columns, 1):
            if column.comment:
                yield {"objoid": table.oid, "classoid": of_classes, "objsubid": number, "description": column.comment}


def _databases(database: str, _tables: Sequence[DeclaredTable]) -> Iterable[Row]:
    return [{
        "oid": stable_oid("database", database), "datname": database, "datdba": OWNER_OID, "encoding": 6,
        "datlocprovider": "c", "datistemplate": False, "datallowconn": True, "datconnlimit": -1, "datfrozenxid": 0,
        "datminmxid": 0, "dattablespace": TABLESPACE_OID, "datcollate": "C.UTF-8", "datctype": "C.UTF-8",
    }]  # fmt: skip


def _roles(_database: str, _tables: Sequence[DeclaredTable]) -> Iterable[Row]:
    return [{
        "oid": OWNER_OID, "rolname": OWNER, "rolsuper": False, "rolinherit": True, "rolcreaterole": False,
        "rolcreatedb": False, "rolcanlogin": False, "rolreplication": False, "rolconnlimit": -1,
        "rolpassword": "********", "rolbypassrls": False,
    }]  # fmt: skip


def _tables(database: str, tables: Sequence[DeclaredTable]) -> Iterable[Row]:
    for table in tables:
        yield {
            "table_catalog": database, "table_schema": "public", "table_name": table.name, "table_type": "BASE TABLE",
            "is_insertable_into": "NO", "is_typed": "NO",
        }  # fmt: skip


def _information_columns(database: str, tables: Sequence[DeclaredTable]) -> Iterable[Row]:
    names = {one["oid"]: one["typname"] for one in base_types()}
    for table in tables:
        for number, column in enumerate(table.columns, 1):
            yield {
                "table_catalog": database, "table_schema": "public", "table_name": table.name,
                "column_name": column.name, "ordinal_position": number, "is_nullable": "YES",
                "data_type": type_names()[column.oid], "udt_catalog": database, "udt_schema": "pg_catalog",
                "udt_name": names[column.oid], "dtd_identifier": str(number), "is_self_referencing": "NO",
                "is_identity": "NO", "identity_cycle": "NO", "is_generated": "NEVER", "is_updatable": "NO",
            }  # fmt: skip


def _schemata(database: str, _tables: Sequence[DeclaredTable]) -> Iterable[Row]:
    names = ("pg_catalog", "public", "information_schema")
    return [{"catalog_name": database, "schema_name": name, "schema_owner": OWNER} for name in names]


def _procedures(_database: str, _tables: Sequence[DeclaredTable]) -> Iterable[Row]:
    """Those that types are read and written with: drivers tell arrays by them."""
    held = {"pronamespace": PG_CATALOG_OID, "proowner": OWNER_OID, "prokind": "f", "prolang": 12, "proretset": False}
    return [{"oid": oid, "proname": name, **held} for name, oid in _shipped()["procedures"].items()]


def _settings(_database: str, _tables: Sequence[DeclaredTable]) -> Iterable[Row]:
    found = SessionSettings(user="").everything()
    return [{"name": name, "setting": value, "context": "user", "vartype": "string"} for name, value in found]


ROWS: Mapping[str, Maker] = {
    "pg_catalog.pg_namespace": _namespaces,
    "pg_catalog.pg_class": _classes,
    "pg_catalog.pg_attribute": _attributes,
    "pg_catalog.pg_type": _types,
    "pg_catalog.pg_description": _comments,
    "pg_catalog.pg_database": _databases,
    "pg_catalog.pg_roles": _roles,
    "pg_catalog.pg_am": lambda _database, _tables: [{"oid": HEAP, "amname": "heap", "amtype": "t"}],
    "pg_catalog.pg_tablespace": lambda _database, _tables: [
        {"oid": 1663, "spcname": "pg_default", "spcowner": OWNER_OID}
    ],
    "pg_catalog.pg_tables": lambda _database, tables: [
        {"schemaname": "public", "tablename": one.name, "tableowner": OWNER, "hasindexes": False} for one in tables
    ],
    "pg_catalog.pg_proc": _procedures,
    "pg_catalog.pg_settings": _settings,
    "information_schema.tables": _tables,
    "information_schema.columns": _information_columns,
    "information_schema.schemata": _schemata,
    "information_schema.information_schema_catalog_name": lambda database, _tables: [{"catalog_name": database}],
}
"""What makes the rows of each relation that has any."""


def is_never_filled(relation: str, schema: str) -> bool:
    """Whether a relation of the catalog has no rows, whatever is declared."""
    name = f"{schema or 'pg_catalog'}.{relation}"
    return name in relations() and name not in ROWS


VERSION_TEXT = f"PostgreSQL {SERVER_VERSION} (discreet: answers with differential privacy)"
