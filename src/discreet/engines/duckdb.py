"""DuckDB: computes a plan's totals, and says nothing of what went wrong."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any
from weakref import WeakKeyDictionary

import ibis.expr.schema as sch
import ibis.expr.types as ir
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.engines.inputs import table
from discreet.engines.totals import KEYS, POSITION, totals
from discreet.errors import EngineError
from discreet.query.plan import Plan, Query
from discreet.query.scan import NAME, barrier
from discreet.query.source import Declaration

logger = logging.getLogger("discreet.curator")
# Silent unless the curator asks: Python would print causes to the analyst's screen.
logger.addHandler(logging.NullHandler())

FAILED = (
    "Expected the engine to answer, got a failure; its cause is in the curator's log (logger 'discreet.curator').\n"
    "Hint: the charge stays spent. Ask the curator to look at the log before you try again."
)

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
        self._compiled: WeakKeyDictionary[Query, dict[object, str]] = WeakKeyDictionary()

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
        """The SQL that computes a plan's totals from the scan and the keys; compiled once a lattice."""
        shape = (plan.limits, *((block.lattice, block.steps) for block in plan.blocks))
        known = self._compiled.setdefault(plan.query, {})
        if shape not in known:
            known[shape] = str(self._backend.compile(totals(plan)))
        return known[shape]

    def totals(self, plan: Plan, statement: str | None = None) -> list[NDArray[Any]]:
        """For each block its exact totals, integers of shape (groups, components); int64 where that holds them."""
        if statement is None:
            statement = self.statement(plan)
        answer = self._answer(plan, statement)
        if answer is None:  # raised here, where no exception is being handled that it would carry along
            raise EngineError(FAILED)
        return [
            np.stack([integers(answer[f"b{i}_{j}"]) for j in range(block.block.components)], axis=1)
            for i, block in enumerate(plan.blocks)
        ]

    def _answer(self, plan: Plan, statement: str) -> pa.Table | None:
        try:
            with self._lock, _settled(self._backend.con), self._tables(plan):
                return self._backend.con.sql(statement).to_arrow_table()
        except Exception:
            logger.exception("the engine failed on a charged release")
            return None

    def compiled(self, expression: ir.Table) -> str:
        """The SQL of an expression over the scan."""
        return str(self._backend.compile(expression))

    def found(self, declared: Declaration, statement: str) -> pa.Table:
        """The rows of a statement over the scan. They are exact: only a mechanism may see them."""
        answer = self._rows(declared, statement)
        if answer is None:  # as above
            raise EngineError(FAILED)
        return answer

    def _rows(self, declared: Declaration, statement: str) -> pa.Table | None:
        raw = self._backend.con
        try:
            with self._lock, _settled(raw):
                raw.execute(f'CREATE OR REPLACE TEMP VIEW "{NAME}" AS {self.barrier(declared)}')
                try:
                    return raw.sql(statement).to_arrow_table()
                finally:
                    raw.execute(f'DROP VIEW IF EXISTS "{NAME}"')
        except Exception:
            logger.exception("the engine failed on a charged release")
            return None

    @contextmanager
    def _tables(self, plan: Plan) -> Iterator[None]:
        """The scanned table and the keys, under the names that statements use, for as long as one of them runs."""
        raw, keys = self._backend.con, plan.query.keys
        raw.execute(f'CREATE OR REPLACE TEMP VIEW "{NAME}" AS {self.barrier(plan.query.declaration)}')
        try:
            if keys is not None:
                places = pa.array(range(len(keys.rows)), pa.int64())
                raw.register(KEYS, keys.to_arrow().append_column(POSITION, places))
            yield
        finally:
            raw.unregister(KEYS)
            raw.execute(f'DROP VIEW IF EXISTS "{NAME}"')


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


def integers(column: pa.ChunkedArray) -> NDArray[Any]:
    """A column of 128-bit decimals as integers, 0 for NULL: int64 where all fit, Python integers otherwise."""
    filled = column.combine_chunks().fill_null(0)
    words = np.frombuffer(filled.buffers()[1], dtype=np.int64)[2 * filled.offset : 2 * (filled.offset + len(filled))]
    low, high = words[0::2], words[1::2]
    if np.array_equal(high, low >> 63):
        return low.copy()
    wide: NDArray[Any] = high.astype(object) * 2**64 + low.astype(np.uint64).astype(object)
    return wide
