"""The types of files beside those of a Spark table: what its readers make of one row depends on no other row."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ibis
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from ibis import _

import discreet as dp

pytestmark = pytest.mark.engine("spark")
Backends = Callable[[str], Any]
TYPES = "person BIGINT, v DOUBLE, n SMALLINT"


@pytest.fixture
def session(backend_of: Backends, other: str) -> Any:
    """Another session of the same Spark: what is registered in it goes with it."""
    return backend_of(other)._session.newSession()


def protected(session: Any, name: str) -> Any:
    stored = ibis.pyspark.connect(session).table(name)
    budget = dp.Budget(epsilon=10**7)
    return dp.protect(stored, unit="person", max_rows=1, bounds={"v": (0, 10)}, name=name, budget=budget)


def test_numbers_of_more_bits_than_a_column_has_are_left_out(session: Any, tmp_path: Path) -> None:
    """Of 65541 the last 16 bits are 5. By a row of 5, all of the row group were found that had been passed over."""
    for numbers, found in (([65541] * 100, 0), ([65541] * 100 + [5], 101)):
        rows = {"person": range(len(numbers)), "v": [1.0] * len(numbers), "n": pa.array(numbers, pa.int32())}
        pq.write_table(pa.table(rows), tmp_path / "a.parquet")
        session.read.schema(TYPES).parquet(str(tmp_path)).createOrReplaceTempView("narrow")
        assert session.sql("SELECT * FROM narrow WHERE n = 5").count() == found  # the attack itself
        table = protected(session, "narrow")
        counted = table.agg(n=_.count()).release(epsilon=1000).to_pandas()["n"]
        assert counted.round()[0] == len(numbers)
        with pytest.raises(dp.InvalidQuery, match="number or decimal that Spark may fail on"):
            table.filter(_.n == 5)


def test_numbers_of_other_types_are_left_out(session: Any, tmp_path: Path) -> None:
    """Where a missing value had made a file's whole numbers doubles, each release failed, after its charge."""
    for name, kind in (("a", pa.int64()), ("b", pa.float64())):
        rows = {"person": range(9), "v": pa.array([1] * 9, pa.float64()), "n": pa.array([1] * 9, kind)}
        pq.write_table(pa.table(rows), tmp_path / f"{name}.parquet")
    for types in ("person BIGINT, v DOUBLE, n BIGINT", "person BIGINT, v DOUBLE, n DOUBLE"):
        session.read.schema(types).parquet(str(tmp_path)).createOrReplaceTempView("mixed")
        table = protected(session, "mixed")
        assert table.agg(n=_.count()).release(epsilon=1000).to_pandas()["n"].round()[0] == 9
        with pytest.raises(dp.InvalidQuery, match="number or decimal that Spark may fail on"):
            table.agg(n=_.n.sum())


def test_texts_that_are_missing_in_all_rows_of_a_file(session: Any, tmp_path: Path) -> None:
    """They have no type there: with one text more, of one person, releases did not fail."""
    for name, texts in (("a", ["x"] * 9), ("b", [None] * 9)):
        rows = {"person": range(9), "v": [1.0] * 9, "w": [1] * 9, "W": [1] * 9, "note": texts, "d": [1] * 9}
        pq.write_table(pa.table(rows), tmp_path / f"{name}.parquet")
    frame = session.read.schema("person BIGINT, note STRING, v DOUBLE, w BIGINT, d DECIMAL(9,2)").parquet(str(tmp_path))
    frame.createOrReplaceTempView("missing")
    table = protected(session, "missing")
    assert table.agg(n=_.count()).release(epsilon=1000).to_pandas()["n"].round()[0] == 9
    for name in ("note", "w", "d"):  # of which no type, two columns, and numbers of too many digits are there
        with pytest.raises(dp.InvalidQuery, match="a text, moment, number or decimal that Spark may fail on"):
            table.agg(n=table[name].count())


@pytest.mark.parametrize("kind", ["TIMESTAMP_NTZ", "STRING"])
def test_parts_of_other_types_are_left_out(session: Any, tmp_path: Path, kind: str) -> None:
    """One day far away, or a text that is missing in a whole file, made each release of a part fail."""
    days = pa.array([1] * 8 + [2**31 - 1], pa.int32()).cast(pa.date32()) if kind != "STRING" else pa.nulls(9)
    seen = pa.StructArray.from_arrays([days, pa.array([1] * 9)], names=["day", "n"])
    pq.write_table(pa.table({"person": range(9), "v": [1.0] * 9, "seen": seen}), tmp_path / "a.parquet")
    for part, name in ((f"day: {kind}", "seen.day"), ("n: BIGINT", "seen.n")):
        frame = session.read.schema(f"person BIGINT, v DOUBLE, seen STRUCT<{part}>").parquet(str(tmp_path))
        frame.selectExpr("person", "v", f"{name} AS part").createOrReplaceTempView("parts")
        table = protected(session, "parts")
        assert table.agg(n=_.count()).release(epsilon=1000).to_pandas()["n"].round()[0] == 9
        if name == "seen.n":
            assert table.agg(n=_.part.count()).release(epsilon=1001).to_pandas()["n"].round()[0] == 9
        else:
            with pytest.raises(dp.InvalidQuery, match="number or decimal that Spark may fail on"):
                table.agg(n=_.part.count())


def test_patterns_that_spark_does_not_know_are_refused(session: Any, tmp_path: Path) -> None:
    """They stopped nothing until one person had a day."""
    (tmp_path / "a.json").write_text('{"person": 1, "v": 1}\n')
    reader = session.read.schema("person BIGINT, v DOUBLE, day DATE")
    reader.option("dateFormat", "YYYY-MM-dd").json(str(tmp_path)).createOrReplaceTempView("days")
    with pytest.raises(dp.InvalidParameter, match="Expected a pattern that Spark knows"):
        protected(session, "days")
    reader.option("dateFormat", "dd.MM.yyyy").json(str(tmp_path)).createOrReplaceTempView("days")
    assert protected(session, "days").agg(n=_.count()).release(epsilon=1000).to_pandas()["n"].round()[0] == 1


@pytest.mark.parametrize("kind", ["json", "parquet"])
def test_types_that_are_found_out_under_a_path_are_refused(session: Any, tmp_path: Path, kind: str) -> None:
    """One row of text among numbers, or one person in a folder of that name, made each look at the view fail."""
    rows = session.range(9).selectExpr("id AS person", "CAST(id % 2 AS DOUBLE) AS v")
    (rows.write.partitionBy("v") if kind == "parquet" else rows.write).format(kind).save(str(tmp_path / "made"))
    session.sql(f"CREATE OR REPLACE TEMPORARY VIEW by_path AS FROM {kind}.`{tmp_path / 'made'}`")
    session.sql("CREATE OR REPLACE TEMPORARY VIEW above AS SELECT person, v FROM by_path WHERE person >= 0")
    for name in ("by_path", "above"):
        with pytest.raises(dp.InvalidParameter, match="Expected columns whose types are stated"):
            protected(session, name)
    stated = session.read.schema("person BIGINT, v DOUBLE").format(kind).load(str(tmp_path / "made"))
    stated.createOrReplaceTempView("by_frame")
    session.sql("CREATE OR REPLACE TEMPORARY VIEW above AS SELECT person, v FROM by_frame WHERE person >= 0")
    for name in ("by_frame", "above"):
        assert protected(session, name).agg(n=_.count()).release(epsilon=1000).to_pandas()["n"].round()[0] == 9


@pytest.mark.parametrize("kind", ["parquet", "orc", "a cache"])
@pytest.mark.parametrize(("condition", "value"), [("v >= 0", -0.0), ("v > 5", math.nan)])
def test_no_statistics_decide_on_the_rows_of_a_view(
    session: Any, tmp_path: Path, kind: str, condition: str, value: float
) -> None:
    """Which are without NaN, and tell -0.0 from 0: by one row of another person, all of them were there."""
    for others in ([], [9.0]):
        values = [-1.0, *[value] * 20, *others]
        frame = session.createDataFrame(list(enumerate(values)), "person BIGINT, v DOUBLE").coalesce(1)
        path = str(tmp_path / str(len(others)))
        if kind == "parquet":
            Path(path).mkdir()
            pq.write_table(pa.table({"person": range(len(values)), "v": values}), f"{path}/a.parquet")
        elif kind == "orc":
            frame.write.orc(path)
        frame = frame.cache() if kind == "a cache" else session.read.format(kind).load(path)
        frame.createOrReplaceTempView("all_rows")
        session.sql(f"CREATE OR REPLACE TEMPORARY VIEW seen AS SELECT * FROM all_rows WHERE {condition}")  # noqa: S608 (ours)
        if kind == "parquet":
            assert session.table("seen").count() == (21 if others else 0)  # the attack itself
        counted = protected(session, "seen").agg(n=_.count()).release(epsilon=1000).to_pandas()["n"]
        assert counted.round()[0] == 20 + len(others)


def test_a_unit_in_two_buckets_counts_once(session: Any, tmp_path: Path) -> None:
    """Whole numbers of 32 and of 64 bits go to different buckets: a person had the rows of two."""
    rows = session.range(20).selectExpr("CAST(id AS INT) AS person", "1D AS v")
    path = str(tmp_path / "made")
    made = "person BIGINT, v DOUBLE) USING parquet CLUSTERED BY (person) INTO 4 BUCKETS"
    try:
        rows.coalesce(1).write.bucketBy(4, "person").option("path", path).saveAsTable("short_buckets")
        session.sql(f"CREATE TABLE buckets ({made} LOCATION '{path}'")
        session.sql("INSERT INTO buckets SELECT id, 1 FROM range(20)")
        assert session.sql("SELECT person FROM buckets GROUP BY person").count() > 20  # the attack itself
        counted = protected(session, "buckets").agg(n=_.count()).release(epsilon=1000).to_pandas()["n"]
        assert counted.round()[0] == 20
    finally:
        session.sql("DROP TABLE IF EXISTS buckets")
        session.sql("DROP TABLE IF EXISTS short_buckets")


def test_a_folder_whose_name_is_no_value_of_its_column(
    session: Any, other: str, backend_of: Backends, tmp_path: Path
) -> None:
    """Its rows have none, also in a second session, of which the settings were not those of what was asked of files."""
    for name in ("1", "x"):
        session.range(9).selectExpr("id AS person", "1.0D AS v").write.parquet(str(tmp_path / f"site={name}"))
    first = backend_of(other)._session
    first.sql("SELECT 1").collect()
    made = "CREATE TABLE fitting (person BIGINT, v DOUBLE, site INT) USING parquet PARTITIONED BY (site)"
    session.sql(f"{made} LOCATION '{tmp_path}'")
    session.conf.set("spark.sql.ansi.enabled", "false")
    try:
        session.sql("MSCK REPAIR TABLE fitting")
        session.sparkContext._jvm.SparkSession.setActiveSession(first._jsparkSession)
        table = protected(session, "fitting")
        session.sparkContext._jvm.SparkSession.setActiveSession(first._jsparkSession)
        counted = table.agg(n=_.count(), m=_.site.count()).release(epsilon=10**5)
        assert [counted[name].tolist() for name in "nm"] == [[9], [9]]
    finally:
        session.sql("DROP TABLE fitting")
