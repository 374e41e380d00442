"""Settings of a Spark session: each that it tells of is decided by a rule, and none moves a total or stays changed."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterator
from pathlib import Path
from time import sleep
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from ibis import _

import discreet as dp
from discreet.engines.spark_settings import FIXED, PREFIX, is_ignored
from neighbor_bench import STORES, plan_of
from spark_names import RESET

pytestmark = pytest.mark.engine("spark")
Backends = Callable[[str], Any]

OTHER = {
    "spark.sql.ansi.enabled": "true",
    "spark.sql.ansi.doubleQuotedIdentifiers": "true",
    "spark.sql.ansi.enforceReservedKeywords": "true",
    "spark.sql.session.timeZone": "Asia/Tokyo",
    "spark.sql.parser.escapedStringLiterals": "true",
    "spark.sql.parser.quotedRegexColumnNames": "true",
    "spark.sql.caseSensitive": "true",
    "spark.sql.decimalOperations.allowPrecisionLoss": "false",
    "spark.sql.groupByAliases": "false",
    "spark.sql.groupByOrdinal": "false",
    "spark.sql.orderByOrdinal": "false",
    "spark.sql.timestampType": "TIMESTAMP_NTZ",
    "spark.sql.broadcastTimeout": "1",
    "spark.sql.execution.arrow.useLargeVarTypes": "true",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "0",
    "spark.sql.execution.rangeExchange.sampleSizePerPartition": "0",
    "spark.sql.execution.pandas.udf.buffer.size": "0",
    "spark.sql.files.maxPartitionBytes": "-1",
    "spark.sql.files.openCostInBytes": "-9999999999",
    "spark.sql.parquet.columnarReaderBatchSize": "-1",
    "spark.sql.orc.columnarReaderBatchSize": "-1",
    "spark.sql.datetime.java8API.enabled": "true",
    "spark.sql.icu.caseMappings.enabled": "false",
    "spark.sql.storeAssignmentPolicy": "STRICT",
    "spark.sql.optimizer.excludedRules": "org.apache.spark.sql.catalyst.optimizer.InlineCTE",
    "spark.sql.mapKeyDedupPolicy": "LAST_WIN",
    "spark.sql.function.concatBinaryAsString": "true",
    "spark.sql.legacy.timeParserPolicy": "LEGACY",
    "spark.sql.legacy.castComplexTypesToString.enabled": "true",
    "spark.sql.legacy.setopsPrecedence.enabled": "true",
    "spark.sql.legacy.integralDivide.returnBigint": "false",
    "spark.sql.legacy.literal.pickMinimumPrecision": "false",
    "spark.sql.legacy.sizeOfNull": "false",
    "spark.sql.legacy.statisticalAggregate": "true",
    "spark.sql.legacy.negativeIndexInArrayInsert": "true",
    "spark.sql.legacy.allowHashOnMapType": "true",
    "spark.sql.legacy.typeCoercion.datetimeToString.enabled": "true",
    "spark.sql.legacy.allowNegativeScaleOfDecimal": "true",
    "spark.sql.legacy.doLooseUpcast": "true",
}
"""Settings that are tried at another value."""


def test_every_setting_is_decided(backend_of: Backends, other: str) -> None:
    """Of those that this version tells of, none is left to a rule that nobody thought of."""
    session = backend_of(other)._session
    found = [row[0] for row in session.sql("SET -v").collect()]
    meant = tuple(PREFIX + start for start in RESET)
    assert [name for name in found if not is_ignored(name) and name not in FIXED and not name.startswith(meant)] == []
    assert len(found) > 200


@pytest.fixture(scope="module")
def questions(backend_of: Backends) -> list[tuple[Any, Any]]:
    backend = backend_of("spark")
    start = datetime.datetime(2026, 1, 1, 20, tzinfo=datetime.UTC)  # in Tokyo it is the next day
    data = pa.table(
        {
            "who": pa.array([i % 4 for i in range(11)], pa.int64()),
            "i": pa.array([*range(-5, 5), None], pa.int64()),
            "x": pa.array([0.5, -0.0, float("nan"), float("inf"), 1e300, 2.5, 3.5, -1.5, 0.1, None, 9.0]),
            "d": pa.array([*range(10), None], pa.int64()).cast(pa.decimal128(22, 3)),
            "s": pa.array(["a", "A", "é", "a\\b", None, "${x}", "İ", "NULL", "", "a", "A"]),
            "at": pa.array(
                [*(start + datetime.timedelta(hours=7 * i) for i in range(10)), None], pa.timestamp("us", "UTC")
            ),
        }
    )
    stored = STORES[backend.name](backend, "settings", data, temporary=False)
    facts: dict[str, Any] = {"bounds": {"i": (-5, 5), "x": (-9, 9), "d": (0, 9)}, "budget": dp.Budget(epsilon=9)}
    by_row = dp.protect(stored, unit=dp.ROW, name="rows", **facts)
    by_unit = dp.protect(stored, unit="who", max_rows=2, max_groups=1, name="units", **facts)
    asked = [
        by_row.group_by("s", keys={"s": ["A", "a", None, "a\\b", "${x}"]}).agg(n=_.count(), m=_.x.mean(), d=_.d.sum()),
        by_row.group_by(d=_.at.day(), keys={"d": [1, 2, 3]}).agg(n=_.count(), h=_.at.hour().mean(), v=_.i.var()),
        by_row.agg(q=(_.i / 2).sum(), r=(_.i // 2).sum(), m=(_.i % 3).sum(), n=_.s.count(where=_.s.lower() == "i̇")),
        by_unit.group_by("s", keys={"s": ["a", "A", None]}).agg(n=_.count(), x=_.x.sum()),
    ]
    return [(question._source._engine, plan_of(question, epsilon=1)) for question in asked]  # type: ignore[attr-defined]  # the curator's source has it


def totals(questions: list[tuple[Any, Any]]) -> list[Any]:
    return [[block.tolist() for block in engine.totals(plan)] for engine, plan in questions]


def test_no_size_of_parts_hides_rows(session: Any, backend_of: Backends, tmp_path: Path) -> None:
    """With a size below zero Spark takes each file for empty, and says nothing."""
    pq.write_table(pa.table({"who": range(100)}), tmp_path / "rows.parquet")
    stored = backend_of("spark").read_parquet(tmp_path / "rows.parquet")
    session.conf.set("spark.sql.files.maxPartitionBytes", "-1")
    assert session.read.parquet(str(tmp_path / "rows.parquet")).count() == 0  # the fault itself
    for name, value in OTHER.items():
        session.conf.set(name, value)
    table = dp.protect(stored, unit="who", max_rows=1, budget=dp.Budget(epsilon=10**6), name="rows")
    assert table.agg(n=_.count()).release(epsilon=10**5)["n"].tolist() == [100]


def test_a_release_fails_for_no_length_of_time(session: Any, backend_of: Backends) -> None:
    """Without adaptive plans, Spark waits for what it broadcasts as long as a setting says; one row may take longer."""

    def slowly(number: int) -> str:
        sleep(2.5 * (number == 7))
        return "a"

    session.udf.register("slowly", slowly)
    session.sql("CREATE OR REPLACE TEMPORARY VIEW slow AS SELECT id, slowly(id) AS plan FROM range(9)")
    session.conf.set("spark.sql.adaptive.enabled", "false")
    session.conf.set("spark.sql.broadcastTimeout", "1")
    try:
        with pytest.raises(Exception, match="broadcast"):
            session.sql("SELECT * FROM range(9) AS r LEFT JOIN slow ON r.id = slow.id").toArrow()  # the fault itself
        table = dp.protect(
            backend_of("spark").table("slow"), unit="id", max_rows=1, max_groups=1, name="slow",
            keys={"plan": ["a", "b"]}, budget=dp.Budget(epsilon=10**6),
        )  # fmt: skip
        assert table.group_by("plan").agg(n=_.count()).release(epsilon=10**5)["n"].tolist() == [9, 0]
    finally:
        session.conf.unset("spark.sql.adaptive.enabled")
        session.catalog.dropTempView("slow")


@pytest.fixture(scope="module")
def expected(questions: list[tuple[Any, Any]]) -> list[Any]:
    return totals(questions)


@pytest.fixture
def session(backend_of: Backends, other: str) -> Iterator[Any]:
    found = backend_of(other)._session
    yield found
    for name in OTHER:
        found.conf.unset(name)


def test_no_setting_moves_a_total(session: Any, questions: list[Any], expected: list[Any]) -> None:
    for name, value in OTHER.items():
        session.conf.set(name, value)
        before = dict(session.conf.getAll)
        assert totals(questions[:2]) == expected[:2], name
        assert dict(session.conf.getAll) == before
        session.conf.unset(name)


def test_all_settings_together_move_no_total(session: Any, questions: list[Any], expected: list[Any]) -> None:
    for name, value in OTHER.items():
        session.conf.set(name, value)
    before = dict(session.conf.getAll)
    assert totals(questions) == expected
    assert dict(session.conf.getAll) == before


def test_a_row_that_cannot_be_read_hides_nobody(session: Any, backend_of: Backends, tmp_path: Path) -> None:
    """Milliseconds reach further than Spark's microseconds; under the setting alone, nobody would be counted."""
    whole = pa.table({"at": pa.array([*range(1000), 2**62], pa.int64()).cast(pa.timestamp("ms"))})
    pq.write_table(whole, tmp_path / "far.parquet", coerce_timestamps="ms")
    session.conf.set("spark.sql.files.ignoreCorruptFiles", "true")
    try:
        stored = backend_of("spark").read_parquet(tmp_path / "far.parquet")
        found = session.read.parquet(str(tmp_path / "far.parquet")).selectExpr("count(at)").collect()
        assert found[0][0] == 0  # the attack itself
        with pytest.raises(dp.InvalidParameter, match="a column that can be read"):
            dp.protect(stored, unit=dp.ROW, budget=dp.Budget(epsilon=9), name="far")
    finally:
        session.conf.unset("spark.sql.files.ignoreCorruptFiles")
