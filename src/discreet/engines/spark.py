"""Spark: computes a plan's totals as one SQL query of a session; nothing but the totals comes to the driver.

Where there are many groups, noise is added where the totals are (`spark_executor_noise`), and nothing but noisy totals
comes.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import Any

import ibis.expr.types as ir
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.engines import spark_files, spark_tables
from discreet.engines import spark_terms as terms
from discreet.engines.connected_engine import Connected
from discreet.engines.engine import AddNoise, hide_failure_details
from discreet.engines.exact_totals import KEYS
from discreet.engines.inputs import as_arrow
from discreet.engines.multi_table_engine import TablePart
from discreet.engines.optimizer_fences import SAMPLE
from discreet.engines.replaced_spark_functions import replaced_function_refusal
from discreet.engines.spark_executor_noise import noisy_groups
from discreet.engines.spark_settings import our_settings
from discreet.engines.spark_tables import Meaning
from discreet.engines.statement_cache import SEPARATOR
from discreet.errors import EngineError, InvalidParameter, InvalidQuery, expected
from discreet.language.input_barrier import NAME
from discreet.planning.plan import Plan
from discreet.privacy.declaration import Declaration


class Changed(Exception):
    """A statement would not mean in the session what it says."""


class Spark(Connected):
    """A table or view of a Spark session of the curator's."""

    title = "Spark"
    quote = "`"
    fence = SAMPLE
    binary_collation = " COLLATE UTF8_BINARY"

    def __init__(self, backend: Any, raw: ir.Table) -> None:
        session = backend._session  # noqa: SLF001 (Ibis has no public name for it)
        if type(session).__module__.startswith("pyspark.sql.connect"):
            cure = "make it with SparkSession.builder.getOrCreate(); discreet docs spark says what Spark Connect lacks."
            what = "a Spark session whose Java is reached from here"
            raise InvalidParameter(expected(what, "session", "one of Spark Connect", cure))
        super().__init__(backend, raw, session)
        self._written, self._protected = "", Meaning((), {})
        """Its SQL, and what that stood for when it was protected."""
        self._footers = spark_files.Footers()
        words = hide_failure_details(self._settled, charged=False)
        if words:
            raise InvalidParameter(words)
        if not self._protected.keeps_rows:
            self._find_rows_first()

    def script(self, plan: Plan) -> str:
        """All that is run for a plan; the keys are a view of what the driver has."""
        view = f"CREATE TEMPORARY VIEW {NAME} AS {self.barrier(plan.query.declaration)};\n"
        return self._tables.views(self.identifier) + view + SEPARATOR.join(self._statements_of(plan))

    def _to_sql(self, expression: ir.Table) -> str:
        return terms.legible(str(self._backend.compile(terms.portable(expression))))

    def _readable(self, unit: Sequence[str]) -> ir.Table:
        """A text that is not UTF-8 is NULL: Spark keeps any bytes, and what shows a key would fail on them."""
        del unit
        stated = self._protected.types
        texts = (name for name, kind in self._raw.schema().items() if kind.is_string())
        return self._raw.mutate(**{name: terms.valid_text(self._raw[name], stated[name]) for name in texts})

    def _run_statement(self, declared: Declaration, statement: str) -> pa.Table:
        with self._lock.held(), self._with_settings() as session, self._temporary_views(session, declared):
            return as_arrow(session.sql(statement).toArrow())  # times come with a zone, UTC, and are told without one

    def _run_plan(self, plan: Plan, statement: str) -> pa.Table:
        with self._data_frame(plan, statement) as frame:
            return frame.toArrow()

    def noisy_totals(self, plan: Plan, statement: str, add_noise: AddNoise) -> list[NDArray[Any]] | None:
        """For each block its totals after `add_noise`, which runs on the executors; what it gives comes here."""
        parts = list(self.streamed(plan, statement, add_noise))
        return [np.concatenate(block) for block in zip(*parts, strict=True)]

    def _run_with_noise(self, plan: Plan, statement: str, add_noise: AddNoise) -> Generator[pa.Table]:
        with self._data_frame(plan, statement) as frame:
            yield from noisy_groups(frame, plan, add_noise)

    @contextmanager
    def _data_frame(self, plan: Plan, statement: str) -> Iterator[Any]:
        """What a statement over the scan and a plan's keys finds, as a frame of Spark's that nobody has run yet."""
        keys = plan.query.listed_keys
        with (
            self._lock.held(),
            self._with_settings() as session,
            self._temporary_views(session, plan.query.declaration),
        ):
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
    def _temporary_views(self, session: Any, declared: Declaration) -> Iterator[None]:
        """The scanned tables under their names, for as long as a statement runs; public rows are the driver's."""
        with ExitStack() as stack:
            for name, part in ((NAME, None), *self._tables.other_tables()):
                if part is not None and part.engine is None:
                    session.createDataFrame(part.rows).createOrReplaceTempView(name)
                else:
                    scan = self.barrier(declared) if part is None else self._tables.scan(name)
                    session.sql(f"CREATE OR REPLACE TEMPORARY VIEW {name} AS {scan}")
                stack.callback(session.catalog.dropTempView, name)
            yield

    def _check_other_table(self, part: TablePart) -> None:
        super()._check_other_table(part)
        names = [] if part.rows is None else part.rows.column_names
        if len({spark_tables.folded(name) for name in names}) < len(names):
            cure = "rename one of them; Spark takes 'Plan' for 'plan'."
            raise InvalidQuery(expected("public columns of different names", "columns", names, cure))

    def check_alive(self) -> None:
        """Refuses a connection that answers nothing, or means something else, before anything is charged."""
        words = hide_failure_details(self._changed, charged=False)
        if words:
            raise EngineError(f"{words} Nothing was charged.")
        super().check_alive()

    def _ping(self) -> None:
        with self._lock.held(), self._in_our_settings() as session:  # what it means has been compared just before
            session.sql("SELECT 1").collect()  # without it, nothing gets as far as the context

    def _changed(self) -> str:
        """Why no statement of ours would mean in the session what it says, in words; empty if it would."""
        with self._lock.held(), self._in_our_settings() as session:
            return replaced_function_refusal(session) or self._moved(session)

    def _settled(self) -> str:
        """Has the names of its table stand for what they do now; why that cannot be, in words, empty if it can."""
        with self._lock.held(), self._in_our_settings() as session:
            words = replaced_function_refusal(session)
            if not words:
                self._raw = spark_tables.qualified(session, self._raw, self._to_sql)
                self._written = self._to_sql(self._raw)
                self._protected = spark_tables.meaning_now(session, self._written)
                words = spark_tables.unsettled(self._protected) or self._without_far_moments(session)
            return words

    def _without_far_moments(self, session: Any) -> str:
        """Leaves out the columns whose files Spark may fail on; why that is not enough, in words, empty if it is."""
        found = spark_files.found(session, self._written, self._footers)
        if found.left_out and not found.words:
            self._unreadable = dict.fromkeys(found.left_out, spark_files.FAR)
            self._raw = self._raw.drop(*found.left_out)
            self._written = self._to_sql(self._raw)
            self._protected = spark_tables.meaning_now(session, self._written)
        return found.words

    def _otherwise(self, session: Any) -> str:
        """Why its own table is not the one that was protected, in words; empty if it is."""
        words = spark_tables.changed_table_refusal(spark_tables.meaning_now(session, self._written), self._protected)
        if words:
            return words
        found = spark_files.found(session, self._written, self._footers)
        if found.words or not found.left_out:
            return found.words
        cure = "protect the table that is there now."
        return expected("files as they were protected", "columns in milliseconds", list(found.left_out), cure)

    def _moved(self, session: Any) -> str:
        """Why a table of a statement of ours is not the one that was protected, in words; empty if each is."""
        others = self._tables.same_connection(self).values()
        for engine in (self, *self._engines_on_path, *others):
            words: str = engine._otherwise(session)  # noqa: SLF001 (engines of one kind)
            if words:
                return words
        return ""

    def _in_our_settings(self) -> AbstractContextManager[Any]:
        session = self._backend._session  # noqa: SLF001 (as above)
        # What is asked of Java's objects themselves goes by the settings of the thread's own session.
        session._jvm.SparkSession.setActiveSession(session._jsparkSession)  # noqa: SLF001 (Java)
        return our_settings(session)

    @contextmanager
    def _with_settings(self) -> Iterator[Any]:
        """The session with our settings, for as long as it is ours; raises where a name means something else."""
        with self._in_our_settings() as session:
            if replaced_function_refusal(session) or self._moved(session):
                raise Changed
            yield session
