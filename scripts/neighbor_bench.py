"""Computes the exact totals of one question on many tables, for neighbor tests and engine tests."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import ibis.expr.types as ir
import pyarrow as pa
from numpy.typing import NDArray

from discreet.curator.batch_transaction import found_cells
from discreet.curator.protect import protect
from discreet.engines.engine import Engine, integers
from discreet.engines.engine_selection import opened
from discreet.engines.first_looks import NUMBER
from discreet.engines.inputs import as_arrow, connection
from discreet.ledger.budget import Budget
from discreet.planning.batch_planner import BatchPlan
from discreet.planning.plan import Plan
from discreet.planning.planner import price
from discreet.query.question import Question
from discreet.query.table import PrivateTable
from discreet.selection.rank_exponential import Histogram
from discreet.workloads.cell_tables import Cells
from tables_in_engines import into_postgresql, into_spark

NAME = "on the bench"
STORES = {"postgres": into_postgresql, "pyspark": into_spark}


class Bench:
    """Computes the exact, pre-noise totals of many tables on one connection. Nothing here is private.

    The connection is a DuckDB of its own, or any that Ibis has to an engine that discreet knows.

    >>> import discreet as dp
    >>> bench = Bench()
    >>> table = bench.protect(pa.table({"age": [30, 40]}), unit=dp.ROW)
    >>> plan = plan_of(table.count(), epsilon=1)
    >>> bench.totals(plan), bench.totals(plan, pa.table({"age": [30]}))
    ([array([[2]])], [array([[1]])])
    """

    def __init__(self, backend: Any = None) -> None:
        self._backend = connection() if backend is None else backend
        self._engine: Engine | None = None

    def put(self, data: pa.Table, place: int = 0) -> ir.Table:
        """Replaces the table of a place; there are as many places as needed."""
        name = f"{NAME} {place}" if place else NAME
        if self._backend.name != "duckdb":
            return STORES[self._backend.name](self._backend, name, data)
        raw = self._backend.con
        raw.register("arriving", as_arrow(data))
        try:
            raw.execute(f'CREATE OR REPLACE TEMP TABLE "{name}" AS SELECT * FROM arriving')  # noqa: S608 (a constant)
        finally:
            raw.unregister("arriving")
        table: ir.Table = self._backend.table(name)
        return table

    def protect(self, data: pa.Table, **declared: Any) -> PrivateTable:
        """The table as `discreet.protect` gives it, with `declared` and a budget; it sees what is `put` here later."""
        table = self.put(data)
        self._engine = opened(table, None)
        return protect(table, budget=Budget(epsilon=1), name=NAME, **declared)

    def protect_all(self, tables: Sequence[pa.Table], **declared: Any) -> list[PrivateTable]:
        """Several tables in the first places, each protected with the same `declared` and under one budget."""
        budget = Budget(epsilon=1)
        put = [self.put(data, place) for place, data in enumerate(tables)]
        return [protect(table, budget=budget, name=f"{NAME} {i}", **declared) for i, table in enumerate(put)]

    def reads(self, combined: PrivateTable | Question) -> None:
        """What is asked for next is read as this is, which may be of several tables."""
        source: Any = combined._source  # noqa: SLF001 (what release looks at)
        self._engine = source._engine  # noqa: SLF001 (likewise)

    def plan(self, question: Question, *, epsilon: object, delta: object = 0) -> Plan:
        """The plan of a question, whose totals are asked for next, though it joins other tables to the one put here."""
        self.reads(question)
        return plan_of(question, epsilon=epsilon, delta=delta)

    def totals(self, plan: Plan, *data: pa.Table) -> list[NDArray[Any]]:
        """The totals of a plan about what was protected last, from its rows or from those of `data`, table by table."""
        return self._at(data).totals(plan)

    def cells(self, plan: BatchPlan, *data: pa.Table) -> Sequence[Cells]:
        """The same for the cells of a batch."""
        engine = self._at(data)
        return found_cells(engine, plan, engine.statement(plan.cells))

    def masses(self, plan: Plan, *data: pa.Table) -> list[Histogram]:
        """The same for the masses of a plan's blocks of ranks."""
        return self._at(data).histograms(plan)

    def _at(self, data: Sequence[pa.Table]) -> Engine:
        if self._engine is None:
            raise RuntimeError("protect a table first")
        for place, table in enumerate(data):
            self.put(table, place)
        return self._engine

    def found(self, question: Question, expression: ir.Table, *data: pa.Table) -> dict[Any, int]:
        """What a first look finds in such a table: the whole number of each bin, or of each key (a tuple)."""
        engine = self._at(data)
        table = engine.run_statement(question._query.declaration, engine.compiled(expression))  # noqa: SLF001 (as below)
        numbers = integers(table[NUMBER]).tolist() if len(table) else []
        keys = [table[name].to_pylist() for name in table.column_names if name != NUMBER]
        return dict(zip(keys[0] if len(keys) == 1 else zip(*keys, strict=True), numbers, strict=True))


def plan_of(question: Question, *, epsilon: object, delta: object = 0) -> Plan:
    """The plan that a release of the question would run."""
    return price(question._query, epsilon=epsilon, delta=delta)  # noqa: SLF001 (what release and explain do as well)
