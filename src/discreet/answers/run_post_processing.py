"""Steps after the noise, run: on DuckDB, over the noisy table alone."""

from __future__ import annotations

from typing import Any

import ibis
import ibis.expr.types as ir
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.errors import InvalidQuery
from discreet.inference.interval_propagation import HIGH, LOW, CalculatedInterval
from discreet.inference.post_processing import Processing, Step
from discreet.planning.plan import Plan

SETTINGS = {
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "python_enable_replacements": "false",
    "temp_directory": "''",
    "TimeZone": "'UTC'",
    "enable_external_access": "false",
    "lock_configuration": "true",
}
"""An answer fits in memory: nothing is fetched, nothing of the caller's is read, nothing is written to a disk. The last
one keeps all of them."""

PLACE, CELL = "__discreet_place", "__discreet_cell"


class Processed:
    """An answer after some steps: which of its rows are left, in which order, and the columns beside them."""

    def __init__(self, answer: pa.Table, plan: Plan, totals: list[NDArray[Any]], confidence: float) -> None:
        self._table = answer.append_column(CELL, pa.array(range(answer.num_rows), pa.int64()))
        self._plan, self._totals, self._confidence = plan, totals, confidence

    def after(self, processing: Processing) -> pa.Table:
        """The table that the steps leave; the column `CELL` says which row of the answer each row is."""
        backend = _connection() if any(step.written for step in processing.steps) else None
        for step in processing.steps:
            if step.verb == "limit":
                rows = self._table.num_rows
                self._table = self._table.slice(min(step.offset, rows), min(step.count, rows))
            if step.written:
                self._table = _run(backend, self._table, step)
            for name, op in step.carried.items():
                self._add_ends(name, CalculatedInterval(op, self._plan, self._totals))
            self._table = self._table.select([*step.left, CELL])
        return self._table

    def _add_ends(self, name: str, carried: CalculatedInterval) -> None:
        cells = self._table[CELL].to_numpy()
        for end, values in zip((LOW, HIGH), ends_at(carried, cells, self._confidence), strict=True):
            self._table = _with(self._table, f"{name}{end}", pa.array(values, pa.float64()))


def ends_at(carried: CalculatedInterval, cells: NDArray[np.int64], confidence: float) -> list[NDArray[np.float64]]:
    """The ends of a calculated column in some rows of the answer."""
    found = carried.at(confidence)
    ends = (np.asarray(end, dtype=np.float64) for end in found)
    return [end[cells] if end.ndim else np.full(cells.shape, end) for end in ends]


def _connection() -> Any:
    backend = ibis.duckdb.connect()
    for name, value in SETTINGS.items():
        backend.con.execute(f"SET {name} = {value}")
    return backend


def _with(table: pa.Table, name: str, column: Any) -> pa.Table:
    if name in table.column_names:
        return table.set_column(table.column_names.index(name), name, column)
    return table.append_column(name, column)


def _run(backend: Any, table: pa.Table, step: Step) -> pa.Table:
    name = step.shape.get_name()
    wide = ibis.table({**step.shape.schema(), PLACE: "int64", CELL: "int64"}, name=name)
    written = {n: value.op().replace({step.shape.op(): wide.op()}).to_expr() for n, value in step.written.items()}
    steps: dict[str, ir.Table] = {
        "having": wide.filter(list(written.values())) if step.verb == "having" else wide,
        "mutate": wide.mutate(**written) if step.verb == "mutate" else wide,
    }
    keys = list(written.values()) if step.verb == "order_by" else []
    asked = steps.get(step.verb, wide).order_by([*keys, PLACE]).drop(PLACE)
    backend.con.register(name, table.append_column(PLACE, pa.array(range(table.num_rows), pa.int64())))
    try:
        found = backend.con.sql(str(backend.compile(asked))).to_arrow_table()
    except Exception as problem:  # noqa: BLE001 (DuckDB has many classes; all it knows is the noisy table)
        reason = " ".join(str(problem).split())[:300]
        raise InvalidQuery(
            f"Expected a calculation that the answer's values allow, got {step.text}: {reason}\n"
            "Hint: the answer itself is stored; release it again, for nothing, without this step."
        ) from None
    finally:
        backend.con.unregister(name)
    for i, column in enumerate(found.schema):
        if pa.types.is_decimal(column.type):  # sums of integers come out of DuckDB as these
            found = found.set_column(i, column.name, found[column.name].cast(pa.float64()))
    return found
