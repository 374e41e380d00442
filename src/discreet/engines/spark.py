"""Spark: computes a plan's totals as one SQL query of a session; nothing but the totals comes to the driver."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import ibis.expr.types as ir
import pyarrow as pa

from discreet.engines import spark_terms as terms
from discreet.engines.connected import Connected
from discreet.engines.statements import SEPARATOR
from discreet.engines.totals import KEYS, POSITION
from discreet.query.plan import Plan
from discreet.query.scan import NAME
from discreet.query.source import Declaration

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


class Spark(Connected):
    """A table or view of a Spark session of the curator's."""

    quote = "`"
    bytewise = " COLLATE UTF8_BINARY"

    def __init__(self, backend: Any, raw: ir.Table) -> None:
        super().__init__(backend, raw, backend._session)  # noqa: SLF001 (Ibis has no public name for it)

    def script(self, plan: Plan) -> str:
        """All that is run for a plan; the keys are a view of what the driver has."""
        view = f"CREATE TEMPORARY VIEW {NAME} AS {self.barrier(plan.query.declaration)};\n"
        return view + SEPARATOR.join(self._wanted(plan))

    def _written(self, expression: ir.Table) -> str:
        return str(self._backend.compile(terms.portable(expression)))

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
