"""Public rows for PostgreSQL: literals of a statement, or, from a file of keys, a temporary table while it runs.

Rows of a file are sent by COPY in a transaction that is undone, after which nothing has been made. Only then does the
transaction become one that reads: PostgreSQL makes no table in another, and never lets one write again.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import ibis
import pyarrow as pa
import pyarrow.compute as pc

from discreet.engines.connected_engine import Connected
from discreet.engines.postgresql_settings import shortened
from discreet.errors import InvalidQuery
from discreet.language.checked_expressions import Kind
from discreet.language.input_barrier import kind_of
from discreet.planning.batches import ROWS, lines
from discreet.planning.group_key_file import KeyFile
from discreet.planning.group_keys import POSITION, Keys
from discreet.privacy.declaration import Key

TYPES: dict[Kind, str] = {
    Kind.INTEGER: "bigint",
    Kind.BOOLEAN: "boolean",
    Kind.REAL: "double precision",
    Kind.TEXT: "text",
    Kind.DATE: "date",
    Kind.TIMESTAMP: "timestamp",
}
STORED = 'pg_temp."__discreet_listed"'
"""The table of a file's keys. Its schema is named, so that no other table can stand in for it."""
MAY_STORE = (
    "SELECT has_database_privilege(current_database(), 'TEMP') AND current_setting('transaction_read_only') = 'off'"
)


def keys_sql(keys: Keys, arrays: Sequence[str]) -> str:
    """The keys, numbered in their order: from their table, or from one array for each column."""
    if isinstance(keys, KeyFile):
        return f"SELECT * FROM {STORED}"  # noqa: S608 (a constant)
    columns, shown, names = _unnested(_kinds(keys), arrays)
    return (
        f'SELECT {shown}, "{POSITION}" - 1 AS "{POSITION}" '  # noqa: S608 (quoted names and literals)
        f'FROM unnest({columns}) WITH ORDINALITY AS "listed" ({names}, "{POSITION}")'
    )


def rows_sql(kinds: Mapping[str, Kind], arrays: Sequence[str]) -> str:
    """Public rows, from one array for each column."""
    columns, shown, names = _unnested(kinds, arrays)
    return f'SELECT {shown} FROM unnest({columns}) AS "listed" ({names})'  # noqa: S608 (quoted names and literals)


def written_array(column: Sequence[Key | float]) -> str:
    """The values of one column as a literal. Not by psycopg, to which a program can say what a value is written as."""
    values = ["NULL" if one is None else f'"{_escaped(one)}"' for one in column]
    return "'{" + ",".join(values).replace("'", "''") + "}'"


def _escaped(value: Key | float) -> str:
    text = value.isoformat() if isinstance(value, datetime.date) else str(value)
    return text.replace("\\", "\\\\").replace('"', '\\"')


def check_keys(keys: Keys | None) -> None:
    """Refuses texts that PostgreSQL cannot hold."""
    if isinstance(keys, KeyFile):
        texts = [name for name, kind in _kinds(keys).items() if kind is Kind.TEXT]
        held = (pc.any(pc.match_substring(part[name], "\0")).as_py() for part in keys.batches() for name in texts)
        found = "one with NUL" if texts and any(held) else None
    else:
        every = (key for row in keys.rows for key in row) if keys else ()
        found = next((repr(key) for key in every if isinstance(key, str) and "\0" in key), None)
    if found is not None:
        raise InvalidQuery(
            f"Expected keys that PostgreSQL can hold, got {found}.\nHint: leave it out; no text there has NUL."
        )


def stored_table(name: str) -> str:
    """The temporary table of rows that stand beside the scanned ones under a name."""
    return f'pg_temp."{name}_stored"'


def storing(keys: KeyFile) -> tuple[str, str, str]:
    """The statements that make the table of a file's keys, fill it from what is sent, and count it for the planner."""
    return _storing(STORED, {**_kinds(keys), POSITION: Kind.INTEGER})


def _storing(table: str, of: Mapping[str, Kind]) -> tuple[str, str, str]:
    types = {**TYPES, Kind.TEXT: 'text COLLATE "C"'}
    columns = ", ".join(f"{Connected.identifier(shortened(name))} {types[kind]}" for name, kind in of.items())
    return (
        f"CREATE TEMPORARY TABLE {table} ({columns}) ON COMMIT DROP",
        f"COPY {table} FROM STDIN (FORMAT csv, ENCODING 'UTF8')",
        f"ANALYZE {table}",
    )


def store(cursor: Any, keys: KeyFile) -> None:
    """Makes the table, in a transaction that will be undone, some thousands of keys at a time."""
    _store(cursor, storing(keys), keys.numbered().to_batches(batch_size=ROWS, batch_readahead=1, fragment_readahead=1))


def store_rows(cursor: Any, name: str, rows: pa.Table) -> None:
    """The same of rows at hand, which are to stand beside the scanned ones under a name."""
    kinds = {column: kind for column, dtype in ibis.schema(rows.schema).items() if (kind := kind_of(dtype)) is not None}
    _store(cursor, _storing(stored_table(name), kinds), rows.to_batches(max_chunksize=ROWS))


def _store(cursor: Any, statements: tuple[str, str, str], batches: Iterable[pa.RecordBatch]) -> None:
    made, filled, counted = statements
    cursor.execute(made)
    with cursor.copy(filled) as sent:
        for part in batches:
            sent.write(lines(pa.Table.from_batches([part])))
    cursor.execute(counted)


def _kinds(keys: Keys) -> dict[str, Kind]:
    return dict(zip(keys.names, keys.kinds, strict=True))


def _unnested(kinds: Mapping[str, Kind], arrays: Sequence[str]) -> tuple[str, str, str]:
    """Arrays in their types, the columns that come of them, texts told apart byte by byte, and their names."""
    columns = ", ".join(f"{array}::{TYPES[kind]}[]" for array, kind in zip(arrays, kinds.values(), strict=True))
    quoted = {Connected.identifier(shortened(name)): kind for name, kind in kinds.items()}
    shown = ", ".join(f'{name} COLLATE "C" AS {name}' if kind is Kind.TEXT else name for name, kind in quoted.items())
    return columns, shown, ", ".join(quoted)
