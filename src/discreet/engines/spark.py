"""Spark: computes a plan's totals as one SQL query of a session; nothing but the totals comes to the driver.

Where there are many groups, noise is added where the totals are, and nothing but noisy totals comes.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import ibis.expr.types as ir
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.engines import spark_terms as terms
from discreet.engines.connected import Connected
from discreet.engines.engine import Blur, answered, blocks_of, noisy, widths_of
from discreet.engines.statements import SEPARATOR
from discreet.engines.totals import KEYS
from discreet.query.batches import ROWS
from discreet.query.keys import POSITION
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


AT_ONCE = 32 * ROWS
"""So many groups come to the driver at once."""


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
        with self._framed(plan, statement) as frame:
            return frame.toArrow()

    def blurred(self, plan: Plan, statement: str, blur: Blur) -> list[NDArray[Any]] | None:
        """For each block its totals after `blur`, which runs on the executors: what it gives comes to the driver."""
        return blocks_of(plan, answered(lambda: pa.concat_tables(self._noisy(plan, statement, blur))))

    def _noisy(self, plan: Plan, statement: str, blur: Blur) -> Generator[pa.Table]:
        """The totals are written before noise is added, once: a task that is run again reads them again.

        Were they computed again, from a table that has changed, the same noise would show by how much. So if what was
        written is lost, the release fails.
        """
        with self._framed(plan, statement) as frame:
            written = frame.localCheckpoint(eager=True)
            try:
                for first in range(0, plan.query.cells, AT_ONCE):
                    part = written.where(f"{POSITION} >= {first} AND {POSITION} < {first + AT_ONCE}")
                    changed = partial(_changed, partial(noisy, blur, widths_of(plan)))
                    found = part.mapInArrow(changed, written.schema).toArrow()
                    yield found.take(np.argsort(found[POSITION].to_numpy()))
            finally:
                _forgotten(written)

    @contextmanager
    def _framed(self, plan: Plan, statement: str) -> Iterator[Any]:
        """What a statement over the scan and a plan's keys finds, as a frame of Spark's that nobody has run yet."""
        keys = plan.query.keys
        with self._lock, self._settled() as session, self._scanned(session, plan.query.declaration):
            if keys is None:
                yield session.sql(statement)
                return
            listed = keys.numbered()
            rows = listed if isinstance(listed, pa.Table) else listed.to_table()
            session.createDataFrame(rows).createOrReplaceTempView(KEYS)
            try:
                yield session.sql(statement)
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


def _changed(noisily: Callable[[Any], Any], batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """What an executor makes of its part of the totals."""
    return map(noisily, batches)


def _forgotten(written: Any) -> None:
    """Frees what was written at once, where the session is one that lets us; Spark's own cleaning takes the rest."""
    plan = getattr(written, "_jdf", None)
    if plan is not None:
        plan.queryExecution().analyzed().rdd().unpersist(True)  # noqa: FBT003 (Java has no names: whether to wait)
