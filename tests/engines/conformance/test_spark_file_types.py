"""The types of files beside those of a Spark table: what its readers make of one row depends on no other row."""

from __future__ import annotations

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
