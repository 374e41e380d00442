"""Spark: computes a plan's totals as one SQL query of a session; nothing but the totals comes to the driver."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from weakref import WeakKeyDictionary

import ibis.expr.schema as sch
import ibis.expr.types as ir
import pyarrow as pa
from numpy.typing import NDArray

from discreet.engines import spark_terms as terms
from discreet.engines.engine import answered, blocks_of, no_ranks
from discreet.engines.statements import Statements, unfused
from discreet.engines.totals import KEYS, POSITION, totals
from discreet.query.plan import Plan
from discreet.query.scan import NAME, barrier
from discreet.query.source import Declaration
from discreet.selection.ranks import Histogram

SETTINGS = {
    "spark.sql.ansi.enabled": "false",  # nothing raises: what the language rules out would be NULL, or wrap
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.parser.escapedStringLiterals": "false",
    "spark.sql.caseSensitive": "false",
    "spark.sql.decimalOperations.allowPrecisionLoss": "true",
    "spark.sql.parquet.datetimeRebaseModeInRead": "CORRECTED",  # where it is EXCEPTION, a date before 1582 raises
    "spark.sql.parquet.int96RebaseModeInRead": "CORRECTED",
    "spark.sql.avro.datetimeRebaseModeInRead": "CORRECTED",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
}
"""What the meaning of a statement depends on, and whether a row can make it raise; set while one runs."""

_locks: WeakKeyDictionary[Any, threading.Lock] = WeakKeyDictionary()
"""One for each session: its views and settings are shared by all that use it."""


class Spark:
    """A table or view of a Spark session of the curator's."""

    def __init__(self, backend: Any, raw: ir.Table) -> None:
        self._backend, self._raw = backend, raw
        self._lock = _locks.setdefault(backend._session, threading.Lock())  # noqa: SLF001 (Ibis has no public name for it)
        self._statements = Statements(lambda plan: self.compiled(totals(plan)))
        self._seen: tuple[Declaration, str] | None = None

    @property
    def schema(self) -> sch.Schema:
        """The raw column names and types."""
        return self._raw.schema()

    def barrier(self, declared: Declaration) -> str:
        """The SQL of the scanned table, its texts compared byte by byte."""
        if self._seen is None or self._seen[0] is not declared:  # one table has one declaration: compile it once
            seen = barrier(self._raw, declared.unit, declared.bounds)
            columns = [
                f"{_identifier(name)} COLLATE UTF8_BINARY AS {_identifier(name)}"
                if dtype.is_string()
                else _identifier(name)
                for name, dtype in seen.schema().items()
            ]
            made = f"SELECT {', '.join(columns)} FROM ({self.compiled(seen)}) AS `raw`"  # noqa: S608 (quoted names)
            self._seen = declared, made
        return self._seen[1]

    def statement(self, plan: Plan) -> str:
        """The SQL that computes a plan's totals from the scan and the keys."""
        no_ranks(plan)
        return self._statements.of(plan)

    def script(self, plan: Plan) -> str:
        """All that is run for a plan; the keys are a view of what the driver has."""
        return f"CREATE TEMPORARY VIEW {NAME} AS {self.barrier(plan.query.declaration)};\n{self.statement(plan)}"

    def totals(self, plan: Plan, statement: str | None = None) -> list[NDArray[Any]]:
        """For each block its exact totals, integers of shape (groups, components); int64 where that holds them."""
        written = self.statement(plan) if statement is None else statement
        return blocks_of(plan, answered(lambda: self._answer(plan, written)))

    def rank_statements(self, plan: Plan) -> tuple[str, ...]:
        """None: quantiles and ends are refused."""
        return no_ranks(plan)

    def histograms(self, plan: Plan) -> list[Histogram]:
        """None: quantiles and ends are refused."""
        no_ranks(plan)
        return []

    def compiled(self, expression: ir.Table) -> str:
        """The SQL of an expression over the scan; refuses what Spark cannot do."""
        with unfused():
            return str(self._backend.compile(terms.portable(expression)))

    def found(self, declared: Declaration, statement: str) -> pa.Table:
        """The rows of a statement over the scan. They are exact: only a mechanism may see them."""
        return answered(lambda: self._rows(declared, statement))

    def _rows(self, declared: Declaration, statement: str) -> pa.Table:
        with self._lock, self._settled() as session, self._scanned(session, declared):
            return session.sql(statement).toArrow()

    def _answer(self, plan: Plan, statement: str) -> pa.Table:
        keys = plan.query.keys
        with self._lock, self._settled() as session, self._scanned(session, plan.query.declaration):
            if keys is None:
                return session.sql(statement).toArrow()
            places = pa.array(range(len(keys.rows)), pa.int64())
            session.createDataFrame(keys.to_arrow().append_column(POSITION, places)).createOrReplaceTempView(KEYS)
            try:
                return session.sql(statement).toArrow()
            finally:
                session.catalog.dropTempView(KEYS)

    @contextmanager
    def _scanned(self, session: Any, declared: Declaration) -> Iterator[None]:
        """The scanned table under its name, for as long as a statement runs."""
        session.sql(f"CREATE OR REPLACE TEMPORARY VIEW {NAME} AS {self.barrier(declared)}")
        try:
            yield
        finally:
            session.catalog.dropTempView(NAME)

    @contextmanager
    def _settled(self) -> Iterator[Any]:
        """The session with our settings, for as long as it is ours."""
        session = self._backend._session  # noqa: SLF001 (as above)
        found = {name: session.conf.get(name, None) for name in SETTINGS}
        others = {name: was for name, was in found.items() if was != SETTINGS[name]}
        for name in others:
            session.conf.set(name, SETTINGS[name])
        try:
            yield session
        finally:
            for name, was in others.items():
                if was is None:
                    session.conf.unset(name)
                else:
                    session.conf.set(name, was)


def _identifier(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"
