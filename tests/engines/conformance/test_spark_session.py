"""What a Spark session may change under a protected table: no name means anything else at a look than it did before."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import ibis
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from ibis import _
from pyarrow import orc

import discreet as dp
from discreet.engines.spark_files import Footers

pytestmark = pytest.mark.engine("spark")
Backends = Callable[[str], Any]


@pytest.fixture
def session(backend_of: Backends, other: str) -> Any:
    """Another session of the same Spark: what is registered in it goes with it."""
    return backend_of(other)._session.newSession()


def protected(session: Any, name: str, **facts: Any) -> Any:
    stored = ibis.pyspark.connect(session).table(name)
    facts = {"unit": "person", "max_rows": 1, "bounds": {"v": (0, 10)}, "name": name, **facts}
    return dp.protect(stored, budget=dp.Budget(epsilon=10**7), **facts)


def test_a_function_of_the_session_stands_in_for_none_of_sparks(session: Any) -> None:
    """`least` clips what a person adds; one of the session's own had 100 people counted as 1,234,500."""
    session.sql("CREATE TEMPORARY VIEW functions AS SELECT id AS person, 1.0D AS v FROM range(100)")
    table = protected(session, "functions")
    session.udf.register("mine", lambda *_: 12345, "long")
    assert table.agg(n=_.count()).release(epsilon=1000).to_pandas()["n"].round()[0] == 100
    session.udf.register("least", lambda *_: 12345, "long")
    assert session.sql("SELECT least(1, 2)").collect()[0][0] == 12345  # the attack itself

    with pytest.raises(dp.EngineError, match=r"replaced='least'[^$]*Nothing was charged"):
        table.agg(n=_.count()).release(epsilon=999)
    with pytest.raises(dp.InvalidParameter, match="replaced='least'"):
        protected(session, "functions")


def test_a_protected_name_stays_the_table_that_it_was(session: Any) -> None:
    """After USE, or under a temporary view of the same name, Spark finds another table by it."""
    session.sql("CREATE DATABASE elsewhere")
    try:
        session.sql("CREATE TABLE default.moved AS SELECT id AS person, 1.0D AS v FROM range(100)")
        session.sql("CREATE TABLE elsewhere.moved AS SELECT id AS person, 1.0D AS v FROM range(50)")
        table = protected(session, "moved")
        session.sql("USE elsewhere")
        assert session.table("moved").count() == 50  # the attack itself
        assert table.agg(n=_.count()).release(epsilon=1000).to_pandas()["n"].round()[0] == 100
        session.sql("USE default")
        session.sql("CREATE TEMPORARY VIEW moved AS SELECT id AS person, 1.0D AS v FROM range(10)")
        assert table.agg(n=_.count()).release(epsilon=999).to_pandas()["n"].round()[0] == 100
        session.sql("DROP VIEW moved")
    finally:
        session.sql("USE default")
        session.sql("DROP TABLE IF EXISTS default.moved")
        session.sql("DROP DATABASE elsewhere CASCADE")


def test_other_types_or_places_are_refused_for_nothing(session: Any) -> None:
    session.sql("CREATE TEMPORARY VIEW typed AS SELECT id AS person, 1.0D AS v FROM range(100)")
    table = protected(session, "typed")
    session.sql(
        "CREATE OR REPLACE TEMPORARY VIEW typed AS SELECT CAST(id AS STRING) AS person, 1.0D AS v FROM range(9)"
    )
    with pytest.raises(
        dp.EngineError, match=r"'person' of type bigint, as protected, got type='string'[^$]*Nothing was"
    ):
        table.agg(n=_.count()).release(epsilon=1)
    session.sql("DROP VIEW typed")
    session.sql("CREATE TABLE typed AS SELECT id AS person, 1.0D AS v FROM range(50)")
    try:
        with pytest.raises(dp.EngineError, match=r"typed, got found=.spark_catalog\.default\.typed."):
            table.agg(n=_.count()).release(epsilon=1)
    finally:
        session.sql("DROP TABLE typed")


def test_columns_that_differ_by_case_alone_are_refused(session: Any) -> None:
    session.conf.set("spark.sql.caseSensitive", "true")
    session.sql("CREATE TEMPORARY VIEW cased AS SELECT id AS person, id AS Person, 1.0D AS v FROM range(9)")
    with pytest.raises(dp.InvalidParameter, match="columns of different names"):
        protected(session, "cased")


@pytest.mark.parametrize("other_name", ["\u0130", "\u0131", "I"])
def test_letters_that_spark_takes_for_one_are_refused(session: Any, other_name: str) -> None:
    """A stored table may have both; a view of it may not, so that every look failed after its charge."""
    session.conf.set("spark.sql.caseSensitive", "true")
    try:
        session.sql(f"CREATE TABLE letters AS SELECT id AS person, 1.0D AS i, 1.0D AS `{other_name}` FROM range(9)")  # noqa: S608 (our own letter)
        with pytest.raises(dp.InvalidParameter, match="columns of different names"):
            protected(session, "letters")
    finally:
        session.sql("DROP TABLE IF EXISTS letters")


def test_far_milliseconds_of_parquet_are_left_out(session: Any, tmp_path: Path) -> None:
    """Spark multiplies them into microseconds, and fails on a file for one far moment."""
    whole = pa.table(
        {
            "person": range(101),
            "v": [1.0] * 101,
            "at": pa.array([*range(100), 2**62], pa.int64()).cast(pa.timestamp("ms")),
        }
    )
    pq.write_table(whole, tmp_path / "far.parquet", coerce_timestamps="ms")
    session.read.parquet(str(tmp_path / "far.parquet")).createOrReplaceTempView("far")
    with pytest.raises(Exception, match="overflow"):  # the attack itself
        session.sql("SELECT count(at) FROM far").collect()
    table = protected(session, "far")
    assert table.agg(n=_.count()).release(epsilon=1000).to_pandas()["n"].round()[0] == 101
    with pytest.raises(dp.InvalidQuery):
        table.agg(n=_.at.count())
    session.sql("CREATE TEMPORARY VIEW derived AS SELECT person, v, year(at) AS y FROM far")
    with pytest.raises(dp.InvalidQuery):
        protected(session, "derived").agg(n=_.y.count())
    session.sql("CREATE TEMPORARY VIEW filtered AS SELECT person, v FROM far WHERE year(at) > 1960")
    with pytest.raises(dp.InvalidParameter, match="a column that can be read"):
        protected(session, "filtered")


def test_files_that_come_later_are_looked_at(session: Any, tmp_path: Path) -> None:
    for unit in ("us", "ms"):
        at = pa.array([1] * 9, pa.int64()).cast(pa.timestamp(unit))
        pq.write_table(
            pa.table({"person": range(9), "v": [1.0] * 9, "at": at}),
            tmp_path / f"{unit}.parquet",
            coerce_timestamps=unit,
        )
        session.read.parquet(str(tmp_path)).createOrReplaceTempView("later")
        if unit == "us":
            table = protected(session, "later")
            table.agg(n=_.at.count()).release(epsilon=1)
    with pytest.raises(dp.EngineError, match=r"columns in milliseconds=\['at'\][^$]*Nothing was charged"):
        table.agg(n=_.at.count()).release(epsilon=2)


def test_moments_of_orc_are_left_out(session: Any, tmp_path: Path) -> None:
    orc.write_table(
        pa.table({"person": range(9), "v": [1.0] * 9, "at": pa.array(range(9), pa.timestamp("ms"))}), tmp_path / "a.orc"
    )
    session.read.orc(str(tmp_path / "a.orc")).createOrReplaceTempView("orc")
    table = protected(session, "orc")
    assert table.agg(n=_.count()).release(epsilon=1000).to_pandas()["n"].round()[0] == 9
    with pytest.raises(dp.InvalidQuery):
        table.agg(n=_.at.count())


def test_far_milliseconds_are_found_under_numbers_of_columns(session: Any, tmp_path: Path) -> None:
    """A schema with Parquet's numbers of fields has other names than the files: the footers' names said nothing."""
    from pyspark.sql.types import StructType  # which is not here where Spark is not

    rows = pa.table({"person": range(9), "v": [1.0] * 9, "x": pa.array([2**62] * 9, pa.timestamp("ms", "UTC"))})
    numbered = [field.with_metadata({"PARQUET:field_id": str(i)}) for i, field in enumerate(rows.schema)]
    pq.write_table(rows.cast(pa.schema(numbered)), tmp_path / "a.parquet")
    types = StructType()
    for i, (name, kind) in enumerate((("person", "long"), ("v", "double"), ("at", "timestamp"))):
        types = types.add(name, kind, True, {"parquet.field.id": i})  # noqa: FBT003 (Spark has no name for it)
    session.conf.set("spark.sql.parquet.fieldId.read.enabled", "true")
    try:
        session.read.schema(types).parquet(str(tmp_path)).createOrReplaceTempView("numbered")
        table = protected(session, "numbered")
        assert table.agg(n=_.count()).release(epsilon=1000).to_pandas()["n"].round()[0] == 9
    finally:
        session.conf.unset("spark.sql.parquet.fieldId.read.enabled")
    with pytest.raises(dp.InvalidQuery):
        table.agg(n=_.at.count())


@pytest.mark.parametrize(("kind", "read"), [("parquet", "TIMESTAMP_NTZ"), ("orc", "STRING")])
def test_days_that_are_read_as_something_else_are_left_out(kind: str, read: str, session: Any, tmp_path: Path) -> None:
    """One day far away, which has no text or is no moment, made each look fail."""
    days = pa.array([-(2**31), *range(8)], pa.int32()).cast(pa.date32())
    rows = pa.table({"person": pa.array(range(9), pa.int32()), "v": [1.0] * 9, "at": days})
    (pq if kind == "parquet" else orc).write_table(rows, tmp_path / f"a.{kind}")
    for types in (f"person BIGINT, v DOUBLE, at {read}", "person INT, v DOUBLE, at DATE"):
        session.read.schema(types).format(kind).load(str(tmp_path)).createOrReplaceTempView("days")
        table = protected(session, "days")
        assert table.agg(n=_.count()).release(epsilon=1000).to_pandas()["n"].round()[0] == 9
        if "DATE" in types:
            assert (
                table.filter(_.at.year() > 1900).agg(n=_.count()).release(epsilon=999).to_pandas()["n"].round()[0] == 8
            )
        else:
            with pytest.raises(dp.InvalidQuery):
                table.agg(n=_.at.count())


def test_streams_are_refused(session: Any) -> None:
    """Every look at one fails, after its charge; one may take the place of a view, too."""
    stream = session.readStream.format("rate").load().selectExpr("value AS person", "1.0D AS v")
    session.sql("CREATE TEMPORARY VIEW flowing AS SELECT id AS person, 1.0D AS v FROM range(9)")
    table = protected(session, "flowing")
    stream.createOrReplaceTempView("flowing")
    with pytest.raises(dp.EngineError, match=r"a stream[^$]*Nothing was charged"):
        table.agg(n=_.count()).release(epsilon=1)
    with pytest.raises(dp.InvalidParameter, match="got table='a stream'"):
        protected(session, "flowing")


def test_decimals_of_json_are_not_read(session: Any, tmp_path: Path) -> None:
    """Spark writes out all digits of a number to make it a decimal: of this one it takes minutes, of others hours."""
    (tmp_path / "long.json").write_text(
        '{"person": 1, "v": 1, "d": 1.5}\n{"person": 2, "v": 1e20000000, "d": 1e20000000}\n'
    )
    frame = session.read.schema("person LONG, v DOUBLE, d DECIMAL(10, 2)").json(str(tmp_path / "long.json"))
    frame.createOrReplaceTempView("long")
    table = protected(session, "long")
    assert table.agg(n=_.count(), v=_.v.sum()).release(epsilon=1000).to_pandas()[
        ["n", "v"]
    ].round().values.tolist() == [[2, 11]]
    with pytest.raises(dp.InvalidQuery, match="number or decimal that Spark may fail on"):
        table.agg(n=_.d.count())


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        ("csv", {}),
        ("json", {"multiLine": True}),
        ("json", {"mode": "FAILFAST"}),
        ("json", {"ignoreMissingFiles": True}),
        ("parquet", {"ignoreCorruptFiles": True}),
        ("parquet", {"datetimeRebaseMode": "EXCEPTION"}),
    ],
)
def test_readers_that_one_row_can_stop_are_refused(session: Any, tmp_path: Path, kind: str, options: Any) -> None:
    session.range(9).selectExpr("id AS person", "1.0D AS v").write.format(kind).save(str(tmp_path / "made"))
    frame = session.read.schema("person LONG, v DOUBLE").format(kind).options(**options).load(str(tmp_path / "made"))
    frame.createOrReplaceTempView("made")
    with pytest.raises(dp.InvalidParameter, match="Expected files of which no row can make Spark fail"):
        protected(session, "made")
    if kind == "json":
        session.read.schema("person LONG, v DOUBLE").json(str(tmp_path / "made")).createOrReplaceTempView("made")
        protected(session, "made").agg(n=_.count()).release(epsilon=1)


def test_types_that_spark_finds_out_are_refused(session: Any, tmp_path: Path) -> None:
    """One row made a column of numbers one of texts, and a permanent view, which casts them back, fail at each look."""
    rows = session.range(9).selectExpr("id AS person", "1.0D AS v", "id % 3 AS site")
    folders, lines = str(tmp_path / "folders"), str(tmp_path / "lines")
    rows.write.partitionBy("site").parquet(folders)
    rows.write.json(lines)
    for n, query in enumerate((f"json.`{lines}`", f"parquet.`{folders}`")):
        session.sql(f"CREATE VIEW guessed_{n} AS SELECT * FROM {query}")  # noqa: S608 (of this test)
    try:
        for name in ("guessed_0", "guessed_1"):
            with pytest.raises(dp.InvalidParameter, match="Expected columns whose types are stated"):
                protected(session, name)
    finally:
        session.sql("DROP VIEW guessed_0")
        session.sql("DROP VIEW guessed_1")
    session.read.schema("person LONG, v DOUBLE, site STRING").parquet(folders).createOrReplaceTempView("stated")
    rows.write.partitionBy("site").mode("overwrite").saveAsTable("stored")
    try:
        for name in ("stated", "stored"):
            assert protected(session, name).agg(n=_.count()).release(epsilon=10**5).to_pandas()["n"].tolist() == [9]
    finally:
        session.sql("DROP TABLE stored")


def test_bytes_that_are_no_text_are_null(session: Any) -> None:
    """Spark keeps any bytes in a text. Keys that a look had found failed on them after the charge, by one row."""
    session.sql(
        "CREATE TEMPORARY VIEW bytes AS SELECT id AS person, if(id % 3 = 0, 'é', CAST(X'FFFE' AS STRING)) AS plan,"
        " if(id = 1, CAST(X'FE' AS STRING), CAST(id AS STRING)) AS name, 1.0D AS v FROM range(300)"
    )
    table = protected(session, "bytes", max_groups=1)
    counted = table.group_by("plan", keys={"plan": ["é", None]}).agg(n=_.count()).release(epsilon=1000)
    assert [round(n) for n in counted["n"].tolist()] == [100, 200]
    budget = dp.Budget(epsilon=10**7, delta=0.1)
    stored = ibis.pyspark.connect(session).table("bytes")
    named = dp.protect(stored, unit="name", budget=budget, max_rows=1, max_groups=1, name="named")
    assert named.agg(n=_.count()).release(epsilon=1000).to_pandas()["n"].round()[0] == 299
    for how, counted in ((dp.UNKNOWN, _.count()), (dp.UNKNOWN_BY_COUNT, _.name.nunique())):
        shown = named.group_by("plan", keys=how).agg(n=counted).release(epsilon=100, delta=1e-3)
        assert shown.to_pyarrow()["plan"].to_pylist() == ["é"]


def test_names_of_files_are_asked_for_together(session: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A call for each of them took as long as a look, for a table of thousands of files."""
    place = tmp_path / "many\nfiles"
    session.range(40).selectExpr("id AS person", "1.0D AS v").repartition(20).write.parquet(str(place))
    relation = session.read.parquet(str(place))._jdf.queryExecution().analyzed().collectLeaves().apply(0).relation()
    footers, client = Footers(), session.sparkContext._gateway._gateway_client
    footers.types(session, relation)
    sent: list[str] = []
    plain = client.send_command

    def noted(text: str, *more: Any, **named: Any) -> Any:
        sent.append(text)
        return plain(text, *more, **named)

    monkeypatch.setattr(client, "send_command", noted)
    found = footers.types(session, relation)
    assert found == [[("person", "required int64 person"), ("v", "required double v")]] * 20
    assert len(footers._seen) == 20
    assert len(sent) < 40
