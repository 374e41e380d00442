"""DuckDB: computes a plan's totals on a connection of ours or of the curator's."""

from __future__ import annotations

from collections.abc import Callable, Collection, Generator, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager, nullcontext, suppress
from functools import partial
from typing import Any, TypeVar

import ibis.expr.operations as ops
import ibis.expr.types as ir
import pyarrow as pa
import pyarrow.compute as pc

from discreet.engines.connected_engine import Connected, add_noise_to_table
from discreet.engines.duckdb_names import (
    Relation,
    hidden,
    is_computed,
    is_stored,
    is_taken,
    keeps_rows,
    queries_of,
    relations,
    temporary_names,
    written,
)
from discreet.engines.duckdb_settings import NAIVE, are_kept, other_meanings, our_settings, protected_settings
from discreet.engines.duckdb_texts import computed_text, with_computed_texts
from discreet.engines.engine import AddNoise, hide_failure_details, logger
from discreet.engines.exact_totals import KEYS, totals
from discreet.engines.file_patterns import FilesChanged, all_unchanged
from discreet.engines.inferred_types import check_views
from discreet.engines.inputs import table
from discreet.engines.lossy_types import check_told_apart
from discreet.engines.multi_table_engine import TablePart
from discreet.engines.operation_rewriting import rewritten
from discreet.engines.optimizer_fences import with_scans
from discreet.engines.packed_sums import TOO_MANY_ROWS, packs
from discreet.engines.relational_operations import column_names
from discreet.engines.statement_cache import SEPARATOR, Statements
from discreet.errors import InvalidParameter, expected
from discreet.language.input_barrier import NAME, computed
from discreet.planning.batches import ROWS, of_size
from discreet.planning.group_key_file import KeyFile
from discreet.planning.group_keys import Keys
from discreet.planning.plan import Plan
from discreet.privacy.declaration import Bound, Declaration

UNPACKED_NOTE = "-- Instead of the one above, where a unit has more rows in a group than its sums can tell apart:\n"
"""What people read before the statement without packing."""
COMPARED = dict.fromkeys((ops.Intersection, ops.Difference), with_computed_texts)
"""Steps that compare rows by the collations of the curator's columns, unless these are hidden from them."""
STATING = (ops.DatabaseTable, ops.SQLQueryResult)
"""What states columns and types of a connection."""
Found = TypeVar("Found")
MOST_NAMED = 1024
"""Statements of which it is remembered what they name."""


class DuckDB(Connected):
    """A raw table in a DuckDB connection."""

    title = "DuckDB"
    binary_collation = " COLLATE C"

    def __init__(self, data: Any, schema: Mapping[str, str] | None, beside: Any = None) -> None:
        found = table(data, schema, beside)
        super().__init__(found.backend, found.table, found.backend.con)
        self._unreadable, self._files, self._merged = found.unreadable, found.files, found.merged
        self._is_curators = isinstance(data, ir.Table)
        self._protected_settings = self._settings_at_first() if self._is_curators else {}
        known = self._with_lock(relations) if self._is_curators else []
        self._of_views = self._is_curators and not self._with_lock(lambda raw: is_stored(self._raw, raw, known))
        if self._of_views:
            self._with_lock(lambda raw: check_views(self._raw, raw, known))
        self._raw_written, self._queries = str(self._backend.compile(self._raw)), queries_of(self._raw)
        self._temporary = temporary_names(known) if self._of_views else frozenset[str]()
        """The temporary names that the views of a table may mean."""
        if self._is_curators:
            self._check_stated_types()
        self._protected_types = hide_failure_details(self._types_at_first, charged=False) if self._is_curators else None
        """The columns of a table of the curator's connection, and their types, as DuckDB tells them."""
        if self._is_curators:
            self._with_lock(lambda raw: self._check_meanings(raw, known))
        self._unpacked = self._statements
        """The statements of plans without packing."""
        self._statements = Statements(lambda plan: self.compiled(totals(plan, packs=packs(plan))))
        self._named: dict[str, frozenset[str]] = {}
        """The columns that statements compiled here name; of others it is not known."""
        self._plain: Mapping[Any, str | None] | None = None
        """What stands for a table of the curator's that leaves no row out, so that nothing is found first."""
        if self._is_curators:
            if self._with_lock(lambda raw: keeps_rows(self._raw, raw, known)):
                self._plain = written(self._raw, known)
            else:
                self._find_rows_first()

    def keyed_rows(
        self, by: Sequence[str], bounds: Mapping[str, tuple[Bound, Bound]], wanted: frozenset[str] | None
    ) -> tuple[tuple[str, ...], str]:
        """The same; refuses keys of which two could be read as one."""
        check_told_apart(by, self._merged)
        return super().keyed_rows(by, bounds, wanted)

    @property
    def own_connection(self) -> Any:
        """The connection, where it is ours; None where it is the curator's."""
        return None if self._is_curators else self._backend

    def _with_binary_texts(self, seen: ir.Table) -> str:
        return super()._with_binary_texts(seen) if self._is_curators else self.compiled(seen)

    def _binary_text(self, name: str) -> str:
        """Of views, which may read files, a computed text, for which a file has no statistics."""
        return super()._binary_text(computed_text(name) if self._of_views else name)

    def _without_statistics(self, column: ir.Value) -> ir.Value:
        """Of views, which may read timestamps of 96 bits, a computed moment."""
        return computed(column) if self._of_views and column.type().is_timestamp() else column

    def _to_sql(self, expression: ir.Table) -> str:
        names = column_names(expression)
        made = rewritten(expression, COMPARED) if names is None and self._is_curators else expression
        statement = str(self._backend.compile(made))
        if len(self._named) > MOST_NAMED:
            self._named.clear()
        if names is not None:
            self._named[statement] = names
        return statement

    def script(self, plan: Plan) -> str:
        """All that the engine runs for a plan, for people to read."""
        wanted = [self._full_statement(plan.query.declaration, one) for one in self._statements_of(plan)]
        if packs(plan):
            wanted[1:1] = [UNPACKED_NOTE + self._full_statement(plan.query.declaration, self._unpacked.of(plan))]
        return self._tables.views(self.identifier, written=self._tables.same_connection(self)) + SEPARATOR.join(wanted)

    def _full_statement(self, declared: Declaration, statement: str) -> str:
        """A statement with the scanned tables, as DuckDB runs it; of the first, no more columns than it names.

        DuckDB would leave the others out as well, but not before it has looked into each of them.
        """
        near = self._tables.same_connection(self)
        scans = {name: self._tables.scan(name) for name in near}
        engines = {NAME: self, **near}.items()
        once = [name for name, engine in engines if isinstance(engine, DuckDB) and engine._is_found_first]  # noqa: SLF001 (of one kind)
        return with_scans({NAME: self.barrier(declared, self._named.get(statement)), **scans}, statement, once)

    @property
    def _is_found_first(self) -> bool:
        """Whether its rows, or those by which its units are found, are those of a view or of steps."""
        return any(one._found_first is not None for one in (self, *self._engines_on_path))  # noqa: SLF001 (of one kind)

    def _check_other_table(self, part: TablePart) -> None:
        """Refuses a table of a server; those of other connections to DuckDB are copied."""
        if not isinstance(part.engine, DuckDB | None):
            super()._check_other_table(part)

    def one_version(self) -> AbstractContextManager[None] | None:
        """Files, which are compared; of one table alone, and those on the way to its unit."""
        files = [engine._files for engine in (self, *self._engines_on_path)]  # noqa: SLF001 (engines of one kind)
        return None if self.parts or None in files else all_unchanged(files)

    def _run_plan(self, plan: Plan, statement: str) -> pa.Table:
        with self._with_keys(plan):
            declared = plan.query.declaration
            found = self._run(declared, statement)
            if TOO_MANY_ROWS in found.column_names and pc.any(found[TOO_MANY_ROWS]).as_py():
                found = self._run(declared, self._unpacked.of(plan))
            return found.drop_columns(TOO_MANY_ROWS) if TOO_MANY_ROWS in found.column_names else found

    def _run_with_noise(self, plan: Plan, statement: str, add_noise: AddNoise) -> Generator[pa.Table]:
        """The statement ends with a sort, so that all is read before the first row comes; DuckDB keeps the rest."""
        if packs(plan):
            yield from super()._run_with_noise(plan, statement, add_noise)
            return
        whole = self._full_statement(plan.query.declaration, statement)
        with self._with_keys(plan), closing(self._backend.con.sql(whole).to_arrow_reader(ROWS)) as rows:
            for part in of_size(pa.Table.from_batches([batch]) for batch in rows):
                yield add_noise_to_table(plan, add_noise, part)

    def _ping(self) -> None:
        """Once, in words that the table's own columns and types answer too."""
        if self._is_curators:
            self._check_in_place()
            return
        with self._with_settings() as raw:
            if self._files is not None:
                self._files.check()
                if self._files.by_pattern:  # which is looked for in a folder that others write to
                    self._current_types()
            raw.cursor().close()  # which a closed connection refuses
            if not self._lock.was_answered:  # nobody else can have ended it since
                raw.execute("SELECT 1").fetchall()

    def _check_in_place(self) -> None:
        """Refuses a table of the curator's connection that is not the one that was protected.

        It is looked for with the settings that the connection has, where names lead where they did, and with ours if
        it is not found so: settings take longer to change and restore than the rest.
        """
        with self._lock.held(), suppress(Exception):  # whatever a setting of the curator's makes of it
            raw = self._backend.con
            if are_kept(raw, self._protected_settings):
                self._check_relations(raw)
                return
        with self._with_settings() as raw:
            self._check_relations(raw)

    def _check_relations(self, raw: Any) -> None:
        known = relations(raw)
        if is_taken(known, KEYS):
            raise LookupError(f"a temporary table is named {KEYS}: DROP TABLE temp.{KEYS}")
        if self._plain is not None and written(self._raw, known) != self._plain:  # a view stands in its place
            raise FilesChanged
        self._check_types()
        self._check_names(known)

    def _run_statement(self, declared: Declaration, statement: str) -> pa.Table:
        with self._exclusive():
            return self._run(declared, statement)

    def _run(self, declared: Declaration, statement: str) -> pa.Table:
        """What a statement finds, with our settings in place."""
        return self._backend.con.sql(self._full_statement(declared, statement)).to_arrow_table()

    @contextmanager
    def _exclusive(self) -> Iterator[Any]:
        """The connection with our settings, for nobody else, and tables that stay what they were.

        What stands elsewhere is read before our lock is taken: no two wait in turn. Copies are seen to where they are.
        """
        near = self._tables.same_connection(self)
        copies = {name: part.read() for name, part in self._tables.other_tables() if name not in near}
        with self._with_settings() as raw, self._unchanged(), ExitStack() as stack:
            self._lock.was_answered = False
            for engine in near.values():
                if isinstance(engine, DuckDB):
                    stack.enter_context(engine._unchanged())  # noqa: SLF001 (engines of one kind)
            for name, rows in copies.items():
                raw.register(name, rows)
                stack.callback(raw.unregister, name)
            yield raw
            self._lock.was_answered = True

    @contextmanager
    def _with_settings(self) -> Iterator[Any]:
        """The connection with our settings, for nobody else."""
        with (
            self._lock.held(),
            our_settings(self._backend.con, self._protected_settings) if self._is_curators else nullcontext(),
        ):
            yield self._backend.con

    @contextmanager
    def _unchanged(self) -> Iterator[None]:
        """The table, with the columns and types with which it was protected, before a look and afterwards.

        Whether a new name has taken the place of one in a view is asked once, afterwards: then nothing is answered.
        """
        with ExitStack() as stack:
            for engine in self._engines_on_path:
                stack.enter_context(engine._unchanged())  # noqa: SLF001 (engines of one kind)
            if self._files is not None:
                stack.enter_context(self._files.unchanged())
            self._check_types()
            yield
            self._check_types()
            self._check_names()

    def _check_types(self) -> None:
        if self._protected_types is not None and self._current_types() != self._protected_types:
            raise FilesChanged

    def _check_names(self, known: Collection[Relation] | None = None) -> None:
        """Refuses names that mean something else by now; `known` are the relations, where they have been read."""
        if self._of_views and hidden(self._backend.con, self._temporary, known, self._queries):
            raise FilesChanged

    def _with_lock(self, found: Callable[[Any], Found]) -> Found:
        """What a function finds on the connection, for nobody else."""
        with self._lock.held():
            return found(self._backend.con)

    def _current_types(self) -> list[tuple[Any, ...]]:
        described = self._backend.con.sql(f"SELECT * FROM ({self._raw_written})")  # noqa: S608 (the curator's own table)
        return list(zip(described.columns, map(str, described.types), strict=True))

    def _settings_at_first(self) -> dict[str, Any]:
        """Where names lead; refuses a connection whose settings are not ours and cannot be."""
        raw = self._backend.con
        try:
            with self._lock.held(), our_settings(raw, {}):
                return protected_settings(raw)
        except Exception as problem:  # noqa: BLE001 (DuckDB has several classes for it; of a setting, not of a row)
            said = str(problem)
        cure = "settings are changed for each statement and restored; protect the table before SET lock_configuration."
        raise InvalidParameter(expected("a connection whose settings can be set", "connection", said, cure))

    def _check_stated_types(self) -> None:
        """Refuses a table of which DuckDB has other columns or types than its expression: it was made before they
        changed, or a query states them. What is computed of a text as of a number would fail on some row.
        """
        leaves = {one: str(self._backend.compile(one.to_expr())) for one in self._raw.op().find(STATING)}

        def described() -> dict[Any, list[tuple[str, Any]]]:
            of_text = self._backend.compiler.type_mapper.from_string
            with self._with_settings() as raw:
                found = {one: raw.sql(statement) for one, statement in leaves.items()}
                return {
                    one: [(name, of_text(str(kind))) for name, kind in zip(had.columns, had.types, strict=True)]
                    for one, had in found.items()
                }

        for one, had in hide_failure_details(described, charged=False).items():
            if had != [(name, kind.copy(nullable=True)) for name, kind in one.schema.items()]:
                cure = "make it anew, connection.table('visits'); to a query leave its types to DuckDB."
                got = dict(one.schema.items())
                raise InvalidParameter(expected("columns and types that its connection has now", "data", got, cure))

    def _check_meanings(self, raw: Any, known: Collection[Relation]) -> None:
        """Refuses what is computed and would mean something else under our settings than under the curator's."""
        others = other_meanings(raw)
        if not others or not is_computed(self._raw, raw, known):
            return
        if "TimeZone" in others:
            with our_settings(raw, {**self._protected_settings, NAIVE: True}), suppress(Exception):
                self._current_types()
                del others["TimeZone"]
        if others:
            cure = (
                "RESET them, SET TimeZone = 'UTC', or write (at AT TIME ZONE 'Europe/Berlin')::DATE; or store what is "
                "computed, CREATE TABLE visits AS FROM seen, and protect that."
            )
            what = "settings under which a view, a query or a step means what it means in a release"
            raise InvalidParameter(expected(what, "settings", others, cure))

    def _types_at_first(self) -> list[tuple[Any, ...]]:
        with self._with_settings():
            return self._current_types()

    @contextmanager
    def _with_keys(self, plan: Plan) -> Iterator[None]:
        """The keys, under the name that statements use, for as long as one of them runs."""
        keys = plan.query.listed_keys
        with self._exclusive():
            forget = None if keys is None else self._register_keys(keys)
            try:
                yield
            finally:
                if forget is not None:
                    forget()

    def _register_keys(self, keys: Keys) -> Callable[[], object]:
        """Gives the keys their name, and says how it is taken away again.

        A file is read by DuckDB itself, which then knows how many there are.
        """
        raw = self._backend.con
        if isinstance(keys, KeyFile):
            path = str(keys.copy.path).replace("'", "''")
            listed = f"SELECT * FROM read_parquet('{path}')"  # noqa: S608 (a quoted path of ours)
            try:
                raw.cursor().sql(listed)  # in a transaction of its own: one of the curator's would fail with it
            except Exception:  # noqa: BLE001 (a connection that may read no files, whatever it says)
                logger.debug("keys are handed over, since this connection reads no file")
            else:
                raw.execute(f'CREATE OR REPLACE TEMP VIEW "{KEYS}" AS {listed}')
                return partial(raw.execute, f'DROP VIEW "{KEYS}"')
        raw.register(KEYS, keys.numbered())
        return partial(raw.unregister, KEYS)
