"""One place where tables take turns under one question: what neighbor tests and tests of an engine look through."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from numpy.typing import NDArray

from discreet.curator.budget import Budget
from discreet.curator.protect import protect
from discreet.engines.duckdb import DuckDB
from discreet.engines.inputs import arrow, connection
from discreet.query.plan import Plan
from discreet.query.price import price
from discreet.query.question import Question
from discreet.query.table import PrivateTable

NAME = "on the bench"


class Bench:
    """Computes the exact, pre-noise totals of many tables on one DuckDB connection. Nothing here is private.

    >>> import discreet as dp
    >>> bench = Bench()
    >>> table = bench.protect(pa.table({"age": [30, 40]}), unit=dp.ROW)
    >>> plan = plan_of(table.count(), epsilon=1)
    >>> bench.totals(plan), bench.totals(plan, pa.table({"age": [30]}))
    ([array([[2]])], [array([[1]])])
    """

    def __init__(self) -> None:
        self._backend = connection()
        self._engine: DuckDB | None = None

    def put(self, data: pa.Table) -> None:
        """Puts a table in the place of the one before."""
        raw = self._backend.con
        raw.register("arriving", arrow(data))
        try:
            raw.execute(f'CREATE OR REPLACE TEMP TABLE "{NAME}" AS SELECT * FROM arriving')  # noqa: S608 (a constant)
        finally:
            raw.unregister("arriving")

    def protect(self, data: pa.Table, **declared: Any) -> PrivateTable:
        """The table as `discreet.protect` gives it, with `declared` and a budget; it sees what is `put` here later."""
        self.put(data)
        table = self._backend.table(NAME)
        self._engine = DuckDB(table, None)
        return protect(table, budget=Budget(epsilon=1), name=NAME, **declared)

    def totals(self, plan: Plan, data: pa.Table | None = None) -> list[NDArray[Any]]:
        """The totals of a plan about the table that was protected last, from its rows or from those of `data`."""
        if self._engine is None:
            raise RuntimeError("protect a table first")
        if data is not None:
            self.put(data)
        return self._engine.totals(plan)


def plan_of(question: Question, *, epsilon: object) -> Plan:
    """The plan that a release of the question would run."""
    return price(question._query, epsilon=epsilon)  # noqa: SLF001 (what release and explain do as well)
