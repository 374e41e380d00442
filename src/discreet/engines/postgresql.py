"""PostgreSQL: computes a plan's totals in one SELECT of a transaction that is undone, and leaves nothing behind.

The scan and the keys are common table expressions of that statement, so no temporary object is made, and a role that
may only read is enough; but keys of a file are a temporary table of the transaction. The totals come back by COPY, in
the order of the keys.
"""

from __future__ import annotations

import io
from collections.abc import Generator, Iterator
from contextlib import closing, contextmanager
from functools import partial
from itertools import islice
from typing import Any

import ibis.expr.types as ir
import pyarrow as pa
import sqlglot

from discreet.engines import postgresql_terms as terms
from discreet.engines.connected import Connected, noisy_table
from discreet.engines.engine import Blur, answered
from discreet.engines.fences import fenced
from discreet.engines.postgresql_keys import MAY_STORE, check_keys, keys_sql, store, storing, written_array
from discreet.engines.postgresql_types import told
from discreet.engines.statements import SEPARATOR
from discreet.engines.totals import KEYS
from discreet.errors import InvalidQuery
from discreet.query.batches import ROWS, of_size
from discreet.query.key_file import KeyFile
from discreet.query.keys import Keys
from discreet.query.plan import Plan
from discreet.query.scan import NAME, kind_of
from discreet.query.source import Declaration

SETTINGS = {
    "TimeZone": "UTC",
    "DateStyle": "ISO, YMD",
    "standard_conforming_strings": "on",
    "transform_null_equals": "off",
}
"""What the meaning of a statement depends on, set for its transaction alone."""
READ_ONLY = "SET LOCAL transaction_read_only = 'on'"

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

    title = "PostgreSQL"
    bytewise = '::text COLLATE "C"'

    def __init__(self, backend: Any, raw: ir.Table) -> None:
        super().__init__(backend, raw, backend.con)
        self._raw, self._closed = answered(partial(self._told, raw), charged=False)

    def _told(self, raw: ir.Table) -> tuple[ir.Table, dict[str, str]]:
        # Of the others Ibis knows that they are not read, and some it would show by functions that may not be there.
        open_names = [name for name, dtype in raw.schema().items() if dtype.is_unknown() or kind_of(dtype) is not None]
        if not open_names:
            return raw, {}
        with self._undone() as cursor:
            return told(cursor, raw, str(self._backend.compile(raw.select(open_names))))

    def statement(self, plan: Plan) -> str:
        """The SQL that computes a plan's totals from the scan and the keys; refuses keys that cannot be held."""
        check_keys(plan.query.keys)
        if isinstance(plan.query.keys, KeyFile):
            self._check_may_store()
        return super().statement(plan)

    def script(self, plan: Plan) -> str:
        """All that is run for a plan, with the keys as a parameter, or as what is sent."""
        settings = [f"SET LOCAL {name} = '{value}'" for name, value in SETTINGS.items()]
        keys = plan.query.keys
        stored = storing(keys) if isinstance(keys, KeyFile) else ()
        listed = None if keys is None else keys_sql(keys, [f"%({name})s" for name in keys.names])
        whole = [self._whole(plan.query.declaration, one, listed, shown=True) for one in self._wanted(plan)]
        return SEPARATOR.join(";\n".join(["BEGIN", *settings, *stored, READ_ONLY, one, "ROLLBACK"]) for one in whole)

    def _written(self, expression: ir.Table) -> str:
        tree = fenced(terms.spelled_out(self._backend.compiler.to_sqlglot(terms.portable(expression))))
        text: str = tree.sql("postgres", copy=False, unsupported_level=sqlglot.ErrorLevel.RAISE)
        return text

    def _answer(self, plan: Plan, statement: str) -> pa.Table:
        with closing(self._parts(plan, statement)) as parts:
            return pa.concat_tables(parts)

    def _noisy(self, plan: Plan, statement: str, blur: Blur) -> Generator[pa.Table]:
        """The totals as they come: they are found and sorted by the server, which keeps them until they are read."""
        with closing(self._parts(plan, statement)) as parts:  # now, not when its garbage is collected
            for part in of_size(parts):
                yield noisy_table(plan, blur, part)

    def _parts(self, plan: Plan, statement: str) -> Generator[pa.Table]:
        """The rows of an answer, some at a time; at least one table."""
        import psycopg

        con, keys = self._backend.con, plan.query.keys
        with self._reading(keys):
            listed = None
            if keys is not None:
                arrays = [written_array(column, con) for column in zip(*keys.rows, strict=True)]
                listed = keys_sql(keys, arrays)
            whole = self._whole(plan.query.declaration, statement, listed)
            with (
                psycopg.ClientCursor(con) as plain,
                plain.copy(f"COPY ({whole}) TO STDOUT (FORMAT csv, HEADER)") as sent,
            ):
                lines = iter(sent)
                names, rest = b"".join(islice(lines, ROWS)).split(b"\n", 1)
                while True:
                    end = rest.rfind(b"\n") + 1
                    yield _parsed(names, rest[:end])
                    more = b"".join(islice(lines, ROWS))
                    if not more:
                        break
                    rest = rest[end:] + more

    def _rows(self, declared: Declaration, statement: str) -> pa.Table:
        with self._reading() as cursor:
            cursor.execute(self._whole(declared, statement, None))
            columns = [(column.name, ARROW[column.type_code]) for column in cursor.description or ()]
            rows = cursor.fetchall()
        parts = list(zip(*rows, strict=True)) or [()] * len(columns)
        return pa.table({name: pa.array(part, kind) for (name, kind), part in zip(columns, parts, strict=True)})

    @contextmanager
    def _undone(self) -> Iterator[Any]:
        """A transaction of our own, or a part of the caller's, that is undone."""
        con = self._backend.con
        with self._lock, con.cursor() as cursor, con.transaction(force_rollback=True):
            for name, value in SETTINGS.items():
                cursor.execute(f"SET LOCAL {name} = '{value}'")
            yield cursor

    @contextmanager
    def _reading(self, keys: Keys | None = None) -> Iterator[Any]:
        """The same, in which nothing can be written once the keys of a file are there."""
        with self._undone() as cursor:
            if isinstance(keys, KeyFile):
                store(cursor, keys)
            cursor.execute(READ_ONLY)
            yield cursor

    def _check_may_store(self) -> None:
        """Refuses a file of keys where no table can be made for them."""

        def asked() -> bool:
            with self._undone() as cursor:
                [may] = cursor.execute(MAY_STORE).fetchone()
                return bool(may)

        if not answered(asked, charged=False):
            raise InvalidQuery(
                "Expected a connection that may make temporary tables, for a file of keys, got one that may not.\n"
                "Hint: GRANT TEMPORARY ON DATABASE to its role, without default_transaction_read_only; or read the "
                "keys, keys=pyarrow.parquet.read_table(path)."
            )

    def _whole(self, declared: Declaration, statement: str, keys: str | None, *, shown: bool = False) -> str:
        scan = f'"{NAME}" AS NOT MATERIALIZED ({self.barrier(declared)})'
        listed = [] if keys is None else [f'"{KEYS}" AS MATERIALIZED ({keys})']
        rest = statement.removeprefix("WITH ")
        joint = ", " if rest != statement else " "
        return f"WITH {', '.join([scan, *self._others(shown=shown), *listed])}{joint}{rest}"

    def _others(self, *, shown: bool) -> list[str]:  # noqa: ARG002 (for `Several`)
        """The tables beside the scanned one; if `shown`, for people, with parameters for public rows."""
        return []


def _parsed(names: bytes, lines: bytes) -> pa.Table:
    """Lines of whole numbers under a line of names."""
    from pyarrow import csv

    return csv.read_csv(
        io.BytesIO(names + b"\n" + lines),
        read_options=csv.ReadOptions(use_threads=False),
        parse_options=csv.ParseOptions(ignore_empty_lines=False),  # a lone NULL is an empty line
        convert_options=csv.ConvertOptions(
            column_types=dict.fromkeys(names.decode().split(","), pa.decimal128(38, 0)),
            null_values=[""],
            strings_can_be_null=True,
        ),
    )
