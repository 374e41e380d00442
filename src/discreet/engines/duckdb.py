"""DuckDB: computes a plan's totals, and says nothing of what went wrong."""

from __future__ import annotations

import itertools
import logging
import threading
from collections.abc import Mapping
from typing import Any

import ibis
import ibis.expr.schema as sch
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.engines.inputs import table
from discreet.engines.totals import KEYS, POSITION, keys_table, totals
from discreet.errors import EngineError
from discreet.query.plan import Plan
from discreet.query.scan import NAME, barrier

logger = logging.getLogger("discreet.curator")
logger.addHandler(
    logging.NullHandler()
)  # silent unless the curator asks: Python would print causes to the analyst's screen
_numbers = itertools.count(1)


class DuckDB:
    """A raw table in a DuckDB connection, which computes exact totals of it."""

    def __init__(self, data: Any, schema: Mapping[str, str] | None) -> None:
        self._backend, self._raw = table(data, schema)
        self._lock = threading.Lock()

    @property
    def schema(self) -> sch.Schema:
        """The raw column names and types."""
        return self._raw.schema()

    def statement(self, plan: Plan, keys: str = KEYS) -> str:
        """The SQL that computes a plan's totals."""
        declared = plan.query.declaration
        seen = barrier(self._raw, declared.unit, declared.bounds)
        expr = totals(plan)
        expected = keys_table(plan)
        renamed = {} if expected is None else {expected.op(): ibis.table(expected.schema(), name=keys).op()}
        scanned = next((op for op in expr.op().find(type(_unbound())) if op.name == NAME), None)
        op = expr.op().replace({**renamed, **({} if scanned is None else {scanned: seen.op()})})
        return str(self._backend.compile(op.to_expr()))

    def totals(self, plan: Plan) -> list[NDArray[Any]]:
        """For each block its exact totals, integers of shape (groups, components); int64 where that holds them."""
        name = f"discreet_keys_{next(_numbers)}"
        keys = plan.query.keys
        raw = self._backend.con
        try:
            with self._lock:
                if keys is not None:
                    raw.register(
                        name, keys.to_arrow().append_column(POSITION, pa.array(range(len(keys.rows)), pa.int64()))
                    )
                try:
                    answer = raw.sql(self.statement(plan, name)).to_arrow_table()
                finally:
                    if keys is not None:
                        raw.unregister(name)
        except Exception:
            logger.exception("the engine failed on a charged release")
            raise EngineError(
                "Expected the engine to answer, got a failure; its cause is in the curator's log (logger 'discreet.curator').\n"
                "Hint: the charge stays spent. Ask the curator to look at the log before you try again."
            ) from None
        return [
            np.stack([integers(answer[f"b{i}_{j}"]) for j in range(block.block.components)], axis=1)
            for i, block in enumerate(plan.blocks)
        ]


def _unbound() -> Any:
    return ibis.table({"x": "int64"}, name=NAME).op()


def integers(column: pa.ChunkedArray) -> NDArray[Any]:
    """A column of 128-bit decimals as integers, 0 for NULL: int64 where all of them fit, Python integers otherwise."""
    filled = column.combine_chunks().fill_null(0)
    words = np.frombuffer(filled.buffers()[1], dtype=np.int64)[2 * filled.offset : 2 * (filled.offset + len(filled))]
    low, high = words[0::2], words[1::2]
    if np.array_equal(high, low >> 63):
        return low.copy()
    return high.astype(object) * 2**64 + low.astype(np.uint64).astype(object)
