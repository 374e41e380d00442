"""Spark's settings: which are set while a statement runs, and which are left as they are.

Claim
    While a session is settled, each setting that can change what a statement means, in which types its answer comes, or
    whether it raises, has the value in `FIXED`, or the one that Spark comes with. Afterwards all are as they were.
Requires
    That nobody changes a setting of the session while it is settled.
Relies on
    `conf.getAll`, which tells of every setting that has been made, those that Spark does not document included.
Proof
    The settings of a session that are not as Spark comes with them have been made, so `getAll` tells of them. Those
    whose names begin as `IGNORED` says are about resources, the form of a plan, or how the curator's own tables are
    found and read. All others of `spark.sql` are taken back, known or not, and those of `FIXED` are made.
    Spark passes over the rows of a group of which statistics, a dictionary or a cache say that none meets a condition,
    as that of a view. They have no NaN, which Spark takes for more than any number, or -0.0 for another number than 0:
    by one row that does meet it, all of these came back. Of buckets it takes for granted that a value is in one alone.
Rounding
    None.
Source
    SQLConf of Spark 4.0; `SET -v`.
Mutant
    sparks-own-settings-stay: what is not listed is let be; killed by test_what_is_not_known_is_taken_back.
    corrupt-files-are-passed-over: the rest of a file is left out from a row on that cannot be read; killed by
    test_no_row_is_passed_over.
    broadcasts-that-end: a look fails after the time that a session gives to a part of it; killed by
    test_a_release_fails_for_no_length_of_time.
    sparks-interrupts-cut-restoring: an interrupt leaves the curator our settings; killed by
    test_settings_are_taken_back_through_interrupts.
    parts-of-no-rows: a size by which each answer fails is let be; killed by
    test_no_answer_fails_by_the_size_of_its_parts.
    files-of-no-rows: a size by which no file has a row is let be; killed by
    test_no_answer_fails_by_the_size_of_its_parts.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

from discreet.engines.duckdb_settings import take_back

FIXED = {
    "spark.sql.ansi.enabled": "false",  # nothing raises: what the language rules out would be NULL, or wrap
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.parser.escapedStringLiterals": "false",
    "spark.sql.variable.substitute": "false",  # a text may have ${...} in it
    "spark.sql.caseSensitive": "false",
    "spark.sql.decimalOperations.allowPrecisionLoss": "true",
    "spark.sql.broadcastTimeout": "-1",  # a release fails for no length of time, which rows could make it take
    "spark.sql.groupByOrdinal": "true",
    "spark.sql.orderByOrdinal": "true",
    "spark.sql.timestampType": "TIMESTAMP_LTZ",
    "spark.sql.parquet.datetimeRebaseModeInRead": "CORRECTED",  # where it is EXCEPTION, a date before 1582 raises
    "spark.sql.parquet.int96RebaseModeInRead": "CORRECTED",
    "spark.sql.avro.datetimeRebaseModeInRead": "CORRECTED",
    "spark.sql.files.ignoreCorruptFiles": "false",  # else one row that cannot be read hides all others after it
    "spark.sql.files.ignoreMissingFiles": "false",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.sql.execution.arrow.pyspark.fallback.enabled": "false",
    "spark.sql.execution.arrow.useLargeVarTypes": "false",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "10000",  # with 0 every answer fails, after its charge
    "spark.sql.execution.rangeExchange.sampleSizePerPartition": "100",  # likewise
    "spark.sql.execution.pandas.udf.buffer.size": "65536",  # likewise, where noise is added on executors
    "spark.sql.files.maxPartitionBytes": "128MB",  # likewise; with -1 no file has a row
    "spark.sql.files.openCostInBytes": "4MB",  # far below zero no file has a row, either
    "spark.sql.parquet.columnarReaderBatchSize": "4096",  # with 0 no answer comes to an end, with -1 each fails
    "spark.sql.orc.columnarReaderBatchSize": "4096",  # likewise
    "spark.sql.optimizer.excludedRules": "",  # without InlineCTE no plan of some statements is valid
    "spark.sql.parquet.filterPushdown": "false",  # no statistics of others' rows decide on one: they lack NaN and -0.0
    "spark.sql.orc.filterPushdown": "false",  # likewise
    "spark.sql.inMemoryColumnarStorage.partitionPruning": "false",  # likewise
    "spark.sql.sources.bucketing.enabled": "false",  # one unit in two buckets would count twice
}
"""What the meaning of a statement depends on, and whether a row can make it raise."""

IGNORED: dict[str, tuple[str, ...]] = {
    reason: tuple(starts.split())
    for reason, starts in {
        "resources, and the form of a plan: exact integers depend on neither": """
            adaptive. autoBroadcastJoinThreshold bucketing. cartesianProduct cbo. codegen. exchange.
            execution. inMemoryColumnarStorage. join. leafNodeDefaultParallelism limit. maxSinglePartitionBytes
            objectHashAggregate optimizer. planner. requireAllClusterKeys session.localRelationCacheThreshold shuffle
            sort statistics. subquery. window""",
        "where the curator's own tables are found, and how they are read": """
            artifact. avro. cache. catalog columnNameOfCorruptRecord csv. default extensions files. hive. jdbc. json.
            legacy.avro. legacy.csv. legacy.json. legacy.orc. legacy.parquet. maven. metadataCache orc. parquet.
            pyspark. sources. thrift timeTravel v2. warehouse.dir xml.""",
        "words and records, which the curator alone sees": """
            cli. debug. error. event. extendedExplain max queryExecutionListeners redaction. repl. stackTraces ui.""",
        "what no statement of ours has: streams, pivots, functions and types of the curator's": """
            pivotMaxValues scripting. streaming. transposeMaxValues udt.""",
    }.items()
}
"""How the names of those begin that are let be, after `spark.sql.`, and why."""

PREFIX = "spark.sql."
_IGNORED = tuple(PREFIX + start for starts in IGNORED.values() for start in starts)


def is_ignored(name: str) -> bool:
    """Whether a setting is let be.

    >>> (
    ...     is_ignored("spark.sql.shuffle.partitions"),
    ...     is_ignored("spark.sql.groupByOrdinal"),
    ...     is_ignored("spark.executor.memory"),
    ... )
    (True, False, True)
    """
    return name not in FIXED and (not name.startswith(PREFIX) or name.startswith(_IGNORED))


@contextmanager
def our_settings(session: Any) -> Iterator[Any]:
    """A session with our settings, for as long as it is ours."""
    found: dict[str, str] = dict(session.conf.getAll)
    made = {name: was for name, was in found.items() if not is_ignored(name)}
    changed = [name for name in {**made, **FIXED} if made.get(name) != FIXED.get(name)]
    changed = [name for name in changed if name in FIXED or session.conf.isModifiable(name)]
    try:
        for name in changed:
            _set(session, name, FIXED.get(name))
        yield session
    finally:
        take_back(partial(_set, session), {name: made.get(name) for name in changed})


def _set(session: Any, name: str, value: str | None) -> None:
    """Makes a setting, or takes it back."""
    if value is None:
        session.conf.unset(name)
    else:
        session.conf.set(name, value)
