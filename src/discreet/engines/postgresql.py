"""PostgreSQL: computes a plan's totals in one SELECT of a transaction that is undone, and leaves nothing behind.

The scan and the keys are common table expressions of that statement, so no temporary object is made, and a role that
may only read is enough; but keys of a file are a temporary table of the transaction. The totals come back by COPY, in
the order of the keys.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from contextlib import closing, contextmanager
from functools import partial
from typing import Any

import ibis
import ibis.expr.types as ir
import pyarrow as pa
import pyarrow.compute as pc
import sqlglot

from discreet.engines import postgresql_terms as terms
from discreet.engines import postgresql_types
from discreet.engines.connected_engine import Connected, add_noise_to_table
from discreet.engines.engine import AddNoise, hide_failure_details
from discreet.engines.exact_totals import KEYS
from discreet.engines.multi_table_engine import TablePart
from discreet.engines.optimizer_fences import fenced
from discreet.engines.postgresql_copies import copied
from discreet.engines.postgresql_keys import (
    MAY_STORE,
    check_keys,
    keys_sql,
    rows_sql,
    store,
    store_rows,
    stored_table,
    storing,
    written_array,
)
from discreet.engines.postgresql_settings import (
    as_statements,
    check,
    curators_settings,
    is_stored,
    put_in_place,
    qualified,
    shortened,
    undone,
)
from discreet.engines.random_rows import drawn_refusal, is_sampled
from discreet.engines.statement_cache import SEPARATOR
from discreet.errors import InvalidParameter, InvalidQuery, expected
from discreet.language.input_barrier import NAME, kind_of
from discreet.planning.batches import of_size
from discreet.planning.group_key_file import KeyFile
from discreet.planning.group_keys import Keys
from discreet.planning.plan import Plan
from discreet.privacy.declaration import Declaration

READ_ONLY = "SET LOCAL transaction_read_only = 'on'"
AT_EACH_NAME = "AS NOT MATERIALIZED"


class PostgreSQL(Connected):
    """A table in a PostgreSQL database, reached by a connection of the curator's."""

    title = "PostgreSQL"
    binary_collation = '::text COLLATE "C"'

    def __init__(self, backend: Any, raw: ir.Table) -> None:
        check(backend.con, raw)
        super().__init__(backend, raw, backend.con)
        self._curators_settings: dict[str, str] = {}
        self._written, self._types = "", postgresql_types.Told()
        """The table of the caller's, in SQL, and its columns' types."""
        self._stored: ir.Table | None = None
        """The table, if the server stores it as it is."""
        self._is_sampled = False
        self._raw, self._unreadable = hide_failure_details(partial(self._describe, raw), charged=False)
        if self._stored is None:
            self._find_rows_first()
        if self._is_sampled:
            raise InvalidParameter(drawn_refusal())

    def _describe(self, raw: ir.Table) -> tuple[ir.Table, dict[str, str]]:
        with self._lock.held(), self._cursor() as cursor, undone(self._backend.con, cursor):
            raw = qualified(cursor, raw)
            put_in_place(cursor, {})
            cursor.execute(READ_ONLY)  # as a look is: FOR UPDATE in a view fails now, and not after a charge
            self._curators_settings = curators_settings(cursor)
            self._stored = raw if is_stored(cursor, raw) else None
            # Of the others Ibis knows that they are not read, and some it would show by functions that may be missing.
            known = {name: dtype.is_unknown() or kind_of(dtype) is not None for name, dtype in raw.schema().items()}
            open_names = [name for name, is_open in known.items() if is_open]
            if not open_names:
                return raw, {}
            self._written = self._to_sql(raw.select(open_names))
            self._types = postgresql_types.column_types(cursor, self._written)
            self._is_sampled = self._stored is None and is_sampled(cursor, self._written)
            return postgresql_types.with_server_types(cursor, raw, self._types)

    def statement(self, plan: Plan) -> str:
        """The SQL that computes a plan's totals from the scan and the keys; refuses keys that cannot be held."""
        check_keys(plan.query.listed_keys)
        if isinstance(plan.query.listed_keys, KeyFile):
            cure = "read the keys into memory, dp.public_keys(pyarrow.parquet.read_table(path))."
            self._check_may_store("a file of keys", cure)
        return super().statement(plan)

    def script(self, plan: Plan) -> str:
        """All that is run for a plan, with the keys as a parameter, or as what is sent."""
        settings = as_statements(self._curators_settings)
        keys = plan.query.listed_keys
        stored = storing(keys) if isinstance(keys, KeyFile) else ()
        listed = None if keys is None else keys_sql(keys, [f"%({name})s" for name in keys.names])
        whole = [
            self._full_statement(plan.query.declaration, one, listed, shown=True) for one in self._statements_of(plan)
        ]
        return SEPARATOR.join(";\n".join(["BEGIN", *settings, *stored, READ_ONLY, one, "ROLLBACK"]) for one in whole)

    def _readable(self, unit: Sequence[str]) -> ir.Table:
        return terms.with_short_texts(self._raw, unit)

    @classmethod
    def identifier(cls, name: str) -> str:
        """A name as PostgreSQL's SQL quotes it."""
        return super().identifier(shortened(name))

    def _to_sql(self, expression: ir.Table) -> str:
        made = terms.spelled_out(self._backend.compiler.to_sqlglot(terms.portable(expression)))
        tree = terms.with_conditions_for_semi_joins(fenced(made))
        for name in tree.find_all(sqlglot.exp.Identifier):
            name.set("this", shortened(name.this))
        text: str = tree.sql("postgres", copy=False, unsupported_level=sqlglot.ErrorLevel.RAISE)
        return text

    def _run_plan(self, plan: Plan, statement: str) -> pa.Table:
        with closing(self._answer_tables(plan, statement)) as parts:
            return pa.concat_tables(parts)

    def _run_with_noise(self, plan: Plan, statement: str, add_noise: AddNoise) -> Generator[pa.Table]:
        """The totals as they come: they are found and sorted by the server, which keeps them until they are read."""
        with closing(self._answer_tables(plan, statement)) as parts:  # now, not when its garbage is collected
            for part in of_size(parts):
                yield add_noise_to_table(plan, add_noise, part)

    def _answer_tables(self, plan: Plan, statement: str) -> Generator[pa.Table]:
        """The rows of an answer, some at a time; at least one table."""
        keys = plan.query.listed_keys
        with self._read_only(keys) as cursor:
            listed = None
            if keys is not None:
                listed = keys_sql(keys, [written_array(column) for column in zip(*keys.rows, strict=True)])
            yield from copied(cursor, self._full_statement(plan.query.declaration, statement, listed))

    def _run_statement(self, declared: Declaration, statement: str) -> pa.Table:
        with self._read_only() as cursor:
            return pa.concat_tables(copied(cursor, self._full_statement(declared, statement, None)))

    def _ping(self) -> None:
        with self._rolled_back() as cursor:
            cursor.execute(READ_ONLY)
            self._check_types(cursor)

    def _cursor(self) -> Any:
        """A cursor that gives rows as tuples, whatever those of the caller's give: a dict would pass for any answer."""
        import psycopg
        from psycopg.rows import tuple_row

        return psycopg.Cursor(self._backend.con, row_factory=tuple_row)

    @contextmanager
    def _rolled_back(self) -> Iterator[Any]:
        """A transaction of our own, or a part of the caller's, that is undone, with our settings."""
        with self._lock.held(), self._cursor() as cursor, undone(self._backend.con, cursor):
            put_in_place(cursor, self._curators_settings)
            yield cursor

    @contextmanager
    def _read_only(self, keys: Keys | None = None) -> Iterator[Any]:
        """The same, in which nothing can be written once the keys of a file are there."""
        with self._rolled_back() as cursor:
            if isinstance(keys, KeyFile):
                store(cursor, keys)
            for name, part in self._tables.other_tables():
                if part.secret:
                    store_rows(cursor, name, part.rows)
            cursor.execute(READ_ONLY)
            for engine in (self, *self._tables.same_connection(self).values()):
                if isinstance(engine, PostgreSQL):
                    engine._check_types(cursor)  # noqa: SLF001 (engines of one kind)
            yield cursor

    def _check_types(self, cursor: Any) -> None:
        postgresql_types.check(cursor, self._written, self._types)
        if self._stored is None:
            is_another = bool(self._written) and is_sampled(cursor, self._written)
        else:
            is_another = not is_stored(cursor, self._stored)
        if is_another:
            raise postgresql_types.OtherTypes
        for engine in self._engines_on_path:
            engine._check_types(cursor)  # noqa: SLF001 (engines of one kind)

    def _check_may_store(self, what: str, cure: str) -> None:
        """Refuses what needs a temporary table where none can be made."""

        def asked() -> bool:
            with self._rolled_back() as cursor:
                [may] = cursor.execute(MAY_STORE).fetchone()
                return bool(may)

        if not hide_failure_details(asked, charged=False):
            raise InvalidQuery(
                f"Expected a connection that may make temporary tables, for {what}, got one that may not.\n"
                f"Hint: GRANT TEMPORARY ON DATABASE to its role, without default_transaction_read_only; or {cure}"
            )

    @property
    def reading(self) -> str:
        """How a statement reads its rows: stored ones wherever they are named, and those of a view once, which may be
        others each time, as with a LIMIT and no order.
        """
        are_stored = [one._stored is not None for one in (self, *self._engines_on_path)]  # noqa: SLF001 (engines of one kind)
        return AT_EACH_NAME if all(are_stored) else "AS"

    def _full_statement(self, declared: Declaration, statement: str, keys: str | None, *, shown: bool = False) -> str:
        scan = f'"{NAME}" {self.reading} ({self.barrier(declared)})'
        listed = [] if keys is None else [f'"{KEYS}" AS MATERIALIZED ({keys})']
        rest = statement.removeprefix("WITH ")
        joint = ", " if rest != statement else " "
        return f"WITH {', '.join([scan, *self._other_scans(shown=shown), *listed])}{joint}{rest}"

    def _other_scans(self, *, shown: bool) -> list[str]:
        """The tables beside the scanned one; public rows are literals, as keys are, or if `shown` parameters."""
        written = []
        for name, part in self._tables.other_tables():
            if part.secret:
                written.append(f'"{name}" AS NOT MATERIALIZED (SELECT * FROM {stored_table(name)})')  # noqa: S608 (quoted name)
            elif part.engine is None:
                written.append(f'"{name}" AS MATERIALIZED ({self._public_rows(name, part, shown=shown)})')
            else:
                reading = part.engine.reading if isinstance(part.engine, PostgreSQL) else AT_EACH_NAME
                written.append(f'"{name}" {reading} ({self._tables.scan(name)})')
        return written

    def _public_rows(self, place: str, part: TablePart, *, shown: bool) -> str:
        rows: Any = part.rows
        kinds = {name: kind for name, dtype in ibis.schema(rows.schema).items() if (kind := kind_of(dtype)) is not None}
        if shown:
            return rows_sql(kinds, [f"%({place}.{name})s" for name in kinds])
        return rows_sql(kinds, [written_array(rows[name].to_pylist()) for name in kinds])

    def _check_other_table(self, part: TablePart) -> None:
        super()._check_other_table(part)
        if part.secret:
            self._check_may_store("steps that are kept", "leave keep_steps out.")
            return
        texts = [] if part.rows is None else [one for one in part.rows.columns if pa.types.is_string(one.type)]
        if any(pc.any(pc.match_substring(one, "\0")).as_py() for one in texts):
            cure = "leave such rows out of the public table; no text there has NUL."
            raise InvalidQuery(expected("text that PostgreSQL can hold", "public text", "one with NUL", cure))
