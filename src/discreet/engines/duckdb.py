"""DuckDB: computes a plan's totals on a connection of ours or of the curator's."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any
from weakref import WeakKeyDictionary

import ibis.expr.schema as sch
import ibis.expr.types as ir
import pyarrow as pa
from numpy.typing import NDArray

from discreet.engines.engine import answered, blocks_of
from discreet.engines.histogram import histogram, histogram_of
from discreet.engines.inputs import table
from discreet.engines.statements import SEPARATOR, Statements, parts_of, unfused
from discreet.engines.totals import KEYS, POSITION, totals
from discreet.query.plan import Plan
from discreet.query.scan import NAME, barrier
from discreet.query.source import Declaration
from discreet.selection.ranks import Histogram

_QUOTE = '"'

_locks: WeakKeyDictionary[Any, threading.Lock] = WeakKeyDictionary()
"""One for each connection: DuckDB's may not be used by two threads at once, and two tables may share one."""


class DuckDB:
    """A raw table in a DuckDB connection, which computes exact totals of it."""

    def __init__(self, data: Any, schema: Mapping[str, str] | None) -> None:
        self._backend, self._raw = table(data, schema)
        self._is_foreign = isinstance(data, ir.Table)
        self._lock = _locks.setdefault(self._backend.con, threading.Lock())
        self._seen: tuple[Declaration, str] | None = None
        self._statements, self._ranked = Statements(self._compiled), Statements(self._compiled_ranks)

    @property
    def schema(self) -> sch.Schema:
        """The raw column names and types."""
        return self._raw.schema()

    def barrier(self, declared: Declaration) -> str:
        """The SQL of the scanned table, as the plan's statement sees it."""
        if self._seen is None or self._seen[0] is not declared:  # one table has one declaration: compile it once
            self._seen = declared, self._uncollated(barrier(self._raw, declared.unit, declared.bounds))
        return self._seen[1]

    def _uncollated(self, seen: ir.Table) -> str:
        """The SQL of a table whose texts are told apart byte by byte, as Python tells keys apart.

        A column of the caller's own database may have a collation that takes 'north' for 'North'. Both listed as keys,
        each of its rows would count in two groups.
        """
        compiled = str(self._backend.compile(seen))
        texts = [f'"{name.replace(_QUOTE, 2 * _QUOTE)}"' for name, dtype in seen.schema().items() if dtype.is_string()]
        if not texts or not self._is_foreign:
            return compiled
        return f"SELECT * REPLACE ({', '.join(f'{text} COLLATE C AS {text}' for text in texts)}) FROM ({compiled})"  # noqa: S608 (quoted names)

    def statement(self, plan: Plan) -> str:
        """The SQL that computes a plan's totals from the scan and the keys."""
        return self._statements.of(plan) if plan.blocks else ""

    def rank_statements(self, plan: Plan) -> tuple[str, ...]:
        """The SQL of the histograms that a plan's blocks of ranks need."""
        return parts_of(self._ranked.of(plan)) if plan.ranks else ()

    def script(self, plan: Plan) -> str:
        """All that the engine runs for a plan, for people to read."""
        view = f'CREATE TEMP VIEW "{NAME}" AS {self.barrier(plan.query.declaration)};\n'
        return view + SEPARATOR.join(one for one in (self.statement(plan), *self.rank_statements(plan)) if one)

    def totals(self, plan: Plan, statement: str | None = None) -> list[NDArray[Any]]:
        """For each block its exact totals, integers of shape (groups, components); int64 where that holds them."""
        written = self.statement(plan) if statement is None else statement
        return blocks_of(plan, answered(lambda: self._answer(plan, written))) if plan.blocks else []

    def histograms(self, plan: Plan) -> list[Histogram]:
        """For each block of ranks how much mass each cell of its lattice holds in each group."""
        return [histogram_of(answered(partial(self._answer, plan, written))) for written in self.rank_statements(plan)]

    def _compiled(self, plan: Plan) -> str:
        with unfused():
            return str(self._backend.compile(totals(plan)))

    def _compiled_ranks(self, plan: Plan) -> str:
        with unfused():
            return SEPARATOR.join(str(self._backend.compile(histogram(plan, one))) for one in plan.ranks)

    def _answer(self, plan: Plan, statement: str) -> pa.Table:
        with self._lock, _settled(self._backend.con), self._tables(plan):
            return self._backend.con.sql(statement).to_arrow_table()

    def compiled(self, expression: ir.Table) -> str:
        """The SQL of an expression over the scan."""
        return str(self._backend.compile(expression))

    def found(self, declared: Declaration, statement: str) -> pa.Table:
        """The rows of a statement over the scan. They are exact: only a mechanism may see them."""
        return answered(lambda: self._rows(declared, statement))

    def _rows(self, declared: Declaration, statement: str) -> pa.Table:
        with self._lock, _settled(self._backend.con), self._scanned(declared):
            return self._backend.con.sql(statement).to_arrow_table()

    @contextmanager
    def _scanned(self, declared: Declaration) -> Iterator[None]:
        """The scanned table, under the name that statements use, for as long as one of them runs."""
        raw = self._backend.con
        raw.execute(f'CREATE OR REPLACE TEMP VIEW "{NAME}" AS {self.barrier(declared)}')
        try:
            yield
        finally:
            raw.execute(f'DROP VIEW IF EXISTS "{NAME}"')

    @contextmanager
    def _tables(self, plan: Plan) -> Iterator[None]:
        """The scanned table and the keys, under the names that statements use, for as long as one of them runs."""
        raw, keys = self._backend.con, plan.query.keys
        with self._scanned(plan.query.declaration):
            try:
                if keys is not None:
                    places = pa.array(range(len(keys.rows)), pa.int64())
                    raw.register(KEYS, keys.to_arrow().append_column(POSITION, places))
                yield
            finally:
                raw.unregister(KEYS)


SETTINGS = {"default_collation": "", "TimeZone": "UTC"}
"""What the meaning of a statement depends on: how texts are compared, and when a day begins."""


@contextmanager
def _settled(raw: Any) -> Iterator[None]:
    """A connection with our settings, for as long as it is ours."""
    found = {name: raw.execute(f"SELECT current_setting('{name}')").fetchone()[0] for name in SETTINGS}
    others = {name: was for name, was in found.items() if was != SETTINGS[name]}
    for name in others:
        raw.execute(f"SET {name} = '{SETTINGS[name]}'")
    try:
        yield
    finally:
        for name, was in others.items():
            raw.execute(f"SET {name} = '{was}'")
