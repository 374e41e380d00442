"""Views of a Spark session, and steps of the curator's: a row that they leave out makes no release fail."""

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
from discreet.engines.spark_tables import keeps_rows

pytestmark = pytest.mark.engine("spark")

VIEWS = {
    "a condition": "WHERE person RLIKE '^[0-9]+$'",
    "a join": "JOIN good ON person = word",
    "a semi join": "LEFT SEMI JOIN good ON person = word",
    "an anti join": "LEFT ANTI JOIN bad ON person = word",
}
"""Views that fail on no row, though one of a row that they leave out cannot be cast."""


@pytest.fixture
def session(backend_of: Callable[[str], Any], other: str, tmp_path: Path) -> Any:
    session = backend_of(other)._session.newSession()
    session.conf.set("spark.sql.ansi.enabled", "true")
    # Files: Spark would compute what a query says of constants beforehand, whatever its conditions are.
    numbers = [str(i) for i in range(100)]
    pq.write_table(
        pa.table({"person": [*numbers, "one"], "age": [*(n[-1:] for n in numbers), "two"]}), tmp_path / "words"
    )
    pq.write_table(pa.table({"word": numbers}), tmp_path / "good")
    pq.write_table(pa.table({"word": ["one"]}), tmp_path / "bad")
    for name in ("words", "good", "bad"):
        session.read.parquet(str(tmp_path / name)).createOrReplaceTempView(name)
    return session


@pytest.mark.parametrize("name", VIEWS)
def test_a_row_that_a_view_leaves_out_makes_no_release_fail(session: Any, name: str) -> None:
    seen = f"SELECT CAST(person AS INT) AS person, CAST(age AS INT) AS age FROM words {VIEWS[name]}"  # noqa: S608 (ours)
    session.sql(seen).createTempView("seen")
    table = dp.protect(
        ibis.pyspark.connect(session).table("seen"),
        unit="person",
        max_rows=1,
        bounds={"age": (0, 9)},
        budget=dp.Budget(epsilon=10**7),
        name="words",
    )
    for question in (
        table.agg(n=_.count()),
        table.filter(_.age >= 0, _.person > -1).agg(n=_.count()),
        table.join(table.select("age"), ["person", "age"]).agg(n=_.count()),
        table.per_unit(age=_.age.max()).agg(n=_.count()),
    ):
        assert round(question.release(epsilon=10**4).to_pyarrow()["n"][0].as_py()) == 100


def test_which_tables_keep_all_rows(session: Any, tmp_path: Path) -> None:
    path = tmp_path / "words"
    session.sql(f"SELECT person, age || 'x' AS age FROM parquet.`{path}`").createOrReplaceTempView("files")  # noqa: S608 (ours)
    assert keeps_rows(session, "SELECT * FROM files")
    assert keeps_rows(session, "SELECT upper(age) AS age FROM files")
    for left in ("WHERE age > '3'", "LIMIT 3", "JOIN good ON person = word", "TABLESAMPLE (50 PERCENT)"):
        assert not keeps_rows(session, f"SELECT person FROM files {left}")  # noqa: S608 (ours)
    assert not keeps_rows(session, "SELECT DISTINCT person FROM files")
    assert not keeps_rows(session, "SELECT explode(array(person)) AS person FROM files")
