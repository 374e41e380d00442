"""PostgreSQL: computes a plan's totals in one SELECT of a read-only transaction, and leaves nothing behind.

The scan and the keys are common table expressions of that statement, so no temporary object is made, and a role that
may only read is enough. The totals come back by COPY, in the order of the keys.
"""

from __future__ import annotations

import datetime
import io
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import ibis.expr.types as ir
import pyarrow as pa
import sqlglot

from discreet.engines import postgresql_terms as terms
from discreet.engines.connected import Connected
from discreet.engines.fences import fenced
from discreet.engines.statements import SEPARATOR
from discreet.engines.totals import KEYS
from discreet.errors import InvalidQuery
from discreet.query.key_file import KeyFile
from discreet.query.keys import POSITION, Keys
from discreet.query.language.values import Kind
from discreet.query.plan import Plan
from discreet.query.scan import NAME
from discreet.query.source import Declaration, Key

TYPES: dict[Kind, str] = {
    Kind.INTEGER: "bigint",
    Kind.BOOLEAN: "boolean",
    Kind.REAL: "double precision",
    Kind.TEXT: "text",
    Kind.DATE: "date",
    Kind.TIMESTAMP: "timestamp",
}
SETTINGS = {
    "transaction_read_only": "on",
    "TimeZone": "UTC",
    "DateStyle": "ISO, YMD",
    "standard_conforming_strings": "on",
    "transform_null_equals": "off",
}
"""What the meaning of a statement depends on, set for its transaction alone; and that it only reads."""

ARROW = {
    16: pa.bool_(),
    20: pa.int64(),
    21: pa.int16(),
    23: pa.int32(),
    25: pa.string(),
    701: pa.float64(),
    1043: pa.string(),
    1082: pa.date32(),
    1114: pa.timestamp("us"),
    1700: pa.decimal128(38, 0),
}
"""By the numbers that PostgreSQL gives its types."""


class PostgreSQL(Connected):
    """A table in a PostgreSQL database, reached by a connection of the curator's."""

    bytewise = '::text COLLATE "C"'

    def __init__(self, backend: Any, raw: ir.Table) -> None:
        super().__init__(backend, raw, backend.con)

    def statement(self, plan: Plan) -> str:
        """The SQL that computes a plan's totals from the scan and the keys; refuses keys that cannot be held."""
        if isinstance(plan.query.keys, KeyFile):
            raise InvalidQuery(
                "Expected keys at hand for PostgreSQL, got a file of them.\n"
                "Hint: its statement has to hold all keys, since nothing is written there: read them, "
                "keys=pyarrow.parquet.read_table(path), or copy the table to Parquet and protect that."
            )
        for key in (key for row in plan.query.keys.rows for key in row) if plan.query.keys else ():
            if isinstance(key, str) and "\0" in key:
                raise InvalidQuery(
                    f"Expected keys that PostgreSQL can hold, got {key!r}.\nHint: leave it out; no text there has NUL."
                )
        return super().statement(plan)

    def script(self, plan: Plan) -> str:
        """All that is run for a plan, with the keys as a parameter."""
        settings = "".join(f"SET LOCAL {name} = '{value}';\n" for name, value in SETTINGS.items())
        keys = plan.query.keys
        listed = None if keys is None else _keys_sql(keys, [f"%({name})s" for name in keys.names])
        whole = [self._whole(plan.query.declaration, one, listed, shown=True) for one in self._wanted(plan)]
        return SEPARATOR.join(f"BEGIN;\n{settings}{one};\nROLLBACK" for one in whole)

    def _written(self, expression: ir.Table) -> str:
        tree = fenced(terms.spelled_out(self._backend.compiler.to_sqlglot(terms.portable(expression))))
        text: str = tree.sql("postgres", copy=False, unsupported_level=sqlglot.ErrorLevel.RAISE)
        return text

    def _answer(self, plan: Plan, statement: str) -> pa.Table:
        import psycopg

        con, keys = self._backend.con, plan.query.keys
        with self._reading():
            listed = None
            if keys is not None:
                columns = zip(*keys.rows, strict=True)
                listed = _keys_sql(keys, [written_array(column, con) for column in columns])
            whole = self._whole(plan.query.declaration, statement, listed)
            found = io.BytesIO()
            with (
                psycopg.ClientCursor(con) as plain,
                plain.copy(f"COPY ({whole}) TO STDOUT (FORMAT csv, HEADER)") as rows,
            ):
                for part in rows:
                    found.write(part)
        return _parsed(found)

    def _rows(self, declared: Declaration, statement: str) -> pa.Table:
        with self._reading() as cursor:
            cursor.execute(self._whole(declared, statement, None))
            columns = [(column.name, ARROW[column.type_code]) for column in cursor.description or ()]
            rows = cursor.fetchall()
        parts = list(zip(*rows, strict=True)) or [()] * len(columns)
        return pa.table({name: pa.array(part, kind) for (name, kind), part in zip(columns, parts, strict=True)})

    @contextmanager
    def _reading(self) -> Iterator[Any]:
        """A transaction of our own, or a part of the caller's, that reads and is undone."""
        con = self._backend.con
        with self._lock, con.cursor() as cursor, con.transaction(force_rollback=True):
            for name, value in SETTINGS.items():
                cursor.execute(f"SET LOCAL {name} = '{value}'")
            yield cursor

    def _whole(self, declared: Declaration, statement: str, keys: str | None, *, shown: bool = False) -> str:
        scan = f'"{NAME}" AS NOT MATERIALIZED ({self.barrier(declared)})'
        listed = [] if keys is None else [f'"{KEYS}" AS MATERIALIZED ({keys})']
        rest = statement.removeprefix("WITH ")
        joint = ", " if rest != statement else " "
        return f"WITH {', '.join([scan, *self._others(shown=shown), *listed])}{joint}{rest}"

    def _others(self, *, shown: bool) -> list[str]:  # noqa: ARG002 (for `Several`)
        """The tables beside the scanned one; if `shown`, for people, with parameters for public rows."""
        return []


def _keys_sql(keys: Keys, arrays: Sequence[str]) -> str:
    """The keys, numbered in their order, from one array for each column."""
    columns, shown, names = _unnested(dict(zip(keys.names, keys.kinds, strict=True)), arrays)
    return (
        f'SELECT {shown}, "number" - 1 AS "{POSITION}" '  # noqa: S608 (quoted names and literals)
        f'FROM unnest({columns}) WITH ORDINALITY AS "listed" ({names}, "number")'
    )


def rows_sql(kinds: Mapping[str, Kind], arrays: Sequence[str]) -> str:
    """Public rows, from one array for each column."""
    columns, shown, names = _unnested(kinds, arrays)
    return f'SELECT {shown} FROM unnest({columns}) AS "listed" ({names})'  # noqa: S608 (quoted names and literals)


def _unnested(kinds: Mapping[str, Kind], arrays: Sequence[str]) -> tuple[str, str, str]:
    """Arrays in their types, the columns that come of them, texts told apart byte by byte, and their names."""
    columns = ", ".join(f"{array}::{TYPES[kind]}[]" for array, kind in zip(arrays, kinds.values(), strict=True))
    quoted = {PostgreSQL.identifier(name): kind for name, kind in kinds.items()}
    shown = ", ".join(f'{name} COLLATE "C" AS {name}' if kind is Kind.TEXT else name for name, kind in quoted.items())
    return columns, shown, ", ".join(quoted)


def written_array(column: Sequence[Any], con: Any) -> str:
    """The values of one column as a literal."""
    from psycopg import sql

    return str(sql.Literal(_array(column)).as_string(con))


def _array(column: Sequence[Key | float]) -> list[Any]:
    """The values of one column as PostgreSQL writes them."""
    return [key.isoformat() if isinstance(key, datetime.date) else key for key in column]


def _parsed(found: io.BytesIO) -> pa.Table:
    """The answer to a statement whose columns are all whole numbers."""
    from pyarrow import csv

    found.seek(0)
    names = found.readline().decode().rstrip("\n").split(",")
    found.seek(0)
    return csv.read_csv(
        found,
        read_options=csv.ReadOptions(use_threads=False),
        parse_options=csv.ParseOptions(ignore_empty_lines=False),  # a lone NULL is an empty line
        convert_options=csv.ConvertOptions(
            column_types=dict.fromkeys(names, pa.decimal128(38, 0)), null_values=[""], strings_can_be_null=True
        ),
    )
