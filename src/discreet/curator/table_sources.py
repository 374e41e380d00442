"""The source that a declaration names: a file beside it, or a table of a connection that was handed over."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import ibis.expr.types as ir

from discreet.engines.file_patterns import MAGIC
from discreet.engines.inputs import DELIMITERS
from discreet.errors import InvalidParameter, expected, nearest_name
from discreet.exact.given_values import path_of

NAMED = re.compile(r"(?P<connection>[^\W\d][\w-]*):(?P<table>.+)", re.DOTALL)
PART = re.compile(r'"((?:[^"]|"")+)"|([^".]+)')

LISTED = "SELECT table_name FROM information_schema.tables WHERE table_schema = ? ORDER BY table_name"


class TableOf(NamedTuple):
    """A table of a connection, as it is written: ``warehouse:clinic.visits``."""

    connection: str
    parts: tuple[str, ...]
    """Catalog, schema and name, from the left; those that were left out are the connection's own."""


def stated_source(source: str, folder: Path, connections: Iterable[str]) -> str | TableOf:
    """Where a source lies: a path, relative to the folder of its declaration, or a table of a connection.

    >>> stated_source("warehouse:clinic.visits", Path("/data"), ["warehouse"])
    TableOf(connection='warehouse', parts=('clinic', 'visits'))
    >>> stated_source("2024/*.parquet", Path("/data"), [])
    '/data/2024/*.parquet'
    """
    found = NAMED.fullmatch(source)
    named = found is not None and (found["connection"] in connections or not os.path.exists(folder / source))  # noqa: PTH110 (as below)
    if found is None or not named or len(found["connection"]) == 1:  # a drive of Windows
        return path(source, folder)
    if found["connection"] not in connections:
        known = list(connections)
        cure = nearest_name(found["connection"], known) if known else _none_given(found["connection"])
        raise InvalidParameter(expected("a connection that was handed over", "source", source, cure))
    return TableOf(found["connection"], _parts(source, found["table"]))


def path(source: str, folder: Path) -> str:
    """A path or a pattern, relative to a folder whose own name is no pattern; refuses what cannot be one."""
    whole = folder / path_of("source", source)
    if os.path.exists(whole) or Path(source).is_absolute():  # noqa: PTH110 (false, not an error, for a name too long)
        return str(whole)
    if not any(one in source for one in MAGIC):
        cure = "check the path, which is relative to the folder of the declaration."
        raise InvalidParameter(expected("a file that exists", "source", source, cure))
    return str(Path(glob.escape(str(folder))) / source)


def table(place: TableOf, connections: Mapping[str, Any]) -> ir.Table:
    """The table of a connection; refuses one that is not there, and tells nothing that the database said."""
    connection = connected(place.connection, connections[place.connection])
    *where, name = place.parts
    try:
        return connection.table(name, database=tuple(where) if len(where) > 1 else where[0] if where else None)
    except Exception:  # noqa: BLE001 (each backend has its own classes, and may quote what it was told)
        told = expected("a table of the connection", "source", str_of(place), _names(connection, where, name))
    raise InvalidParameter(told)


def str_of(place: TableOf) -> str:
    """A table of a connection as it is written.

    >>> print(str_of(TableOf("warehouse", ("clinic", "my.visits"))))
    warehouse:clinic."my.visits"
    """
    parts = [part if PART.fullmatch(part) else '"' + part.replace('"', '""') + '"' for part in place.parts]
    return f"{place.connection}:{'.'.join(parts)}"


def delimiter(path: str) -> str | None:
    """What is between the columns of a text file; none for other files.

    >>> delimiter("visits.csv.gz"), delimiter("visits.parquet")
    (',', None)
    """
    return next((DELIMITERS[end.lower()] for end in reversed(Path(path).suffixes) if end.lower() in DELIMITERS), None)


def connected(name: str, connection: Any) -> Any:
    """A connection of Ibis, or the one that an address opens; what the database says of it is not repeated."""
    if not isinstance(connection, str):
        if hasattr(connection, "table") and hasattr(connection, "list_tables"):
            return connection
        cure = "hand over a connection of Ibis, as ibis.postgres.connect(...) makes it, or its address."
        raise InvalidParameter(expected("a connection", f"connections[{name!r}]", connection, cure))
    import ibis

    try:
        return ibis.connect(connection)
    except Exception:  # noqa: BLE001 (whatever is said of an address may quote the password in it)
        got = f"connections[{name!r}] that does not"
    cure = "check its address, as in postgresql://reader@db.example/clinic, and that the database can be reached."
    raise InvalidParameter(f"Expected a connection that opens, got {got}.\nHint: {cure}")


def _none_given(name: str) -> str:
    return (
        f"hand it over: dp.open(..., connections={{{name!r}: ibis.postgres.connect(...)}}). "
        "For a file, write a path relative to this declaration."
    )


def _parts(source: str, text: str) -> tuple[str, ...]:
    """Catalog, schema and name; a part that has a dot or a quote is written in double quotes."""
    parts = []
    place = 0
    while (found := PART.match(text, place)) is not None:
        parts.append(found[1].replace('""', '"') if found[1] is not None else found[2])
        place = found.end()
        if place == len(text) and len(parts) <= 3:
            return tuple(parts)
        if text[place : place + 1] != ".":
            break
        place += 1
    cure = 'write warehouse:clinic.visits, and a name that has a dot in double quotes: warehouse:clinic."my.visits".'
    raise InvalidParameter(expected("a table, or schema.table", "source", source, cure))


def _names(connection: Any, where: list[str], name: str) -> str:
    """The nearest name of a table there."""
    try:
        if connection.name == "duckdb":  # of which Ibis lists no tables with DuckDB 2
            schema = where[-1] if where else connection.current_database
            known = [one for (one,) in connection.con.execute(LISTED, [schema]).fetchall()]
        else:
            known = connection.list_tables(database=tuple(where) if len(where) > 1 else where[0] if where else None)
    except Exception:  # noqa: BLE001 (there may be no such schema; the refusal stands without its names)
        known = []
    return nearest_name(name, known[:1000]) if known else "check its schema and its name, and that it may be read."
