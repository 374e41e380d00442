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
from discreet.engines.spark_tables import meaning_now

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
    assert meaning_now(session, "SELECT * FROM files").keeps_rows
    assert meaning_now(session, "SELECT upper(age) AS age FROM files").keeps_rows
    for left in ("WHERE age > '3'", "LIMIT 3", "JOIN good ON person = word", "TABLESAMPLE (50 PERCENT)"):
        assert not meaning_now(session, f"SELECT person FROM files {left}").keeps_rows  # noqa: S608 (ours)
    assert not meaning_now(session, "SELECT DISTINCT person FROM files").keeps_rows
    assert not meaning_now(session, "SELECT explode(array(person)) AS person FROM files").keeps_rows


def test_a_view_that_later_leaves_rows_out_is_refused(session: Any) -> None:
    """Its rows are not found first: one person whom it leaves out made each release fail, after its charge."""
    session.sql("SELECT try_cast(person AS INT) AS person FROM words").createOrReplaceTempView("seen")
    stored = ibis.pyspark.connect(session).table("seen")
    table = dp.protect(stored, unit="person", max_rows=1, budget=dp.Budget(epsilon=10**7), name="words")
    session.sql("SELECT CAST(person AS INT) FROM words JOIN good ON person = word").createOrReplaceTempView("seen")
    with pytest.raises(dp.EngineError, match=r"a view that leaves out no row, as protected[^$]*Nothing was charged"):
        table.agg(n=_.count()).release(epsilon=1)


DRAWN = {
    "a key": "SELECT person, rand() AS age FROM words",
    "a key of a group": "SELECT person, max(age) || rand() AS age FROM words GROUP BY person",
    "a condition": "SELECT person, age FROM words WHERE rand(7) < 0.5",
    "a condition further down": "SELECT person, age FROM words WHERE age IN (SELECT uuid() FROM good)",
    "a sample": "SELECT person, age FROM words TABLESAMPLE (50 PERCENT)",
    "numbers of rows": "SELECT person, monotonically_increasing_id() AS age FROM words",
}


@pytest.mark.parametrize("name", DRAWN)
def test_rows_that_are_drawn_are_refused(session: Any, name: str) -> None:
    """A statement reads them twice, and a unit is limited by others than it adds; also when such a view comes later."""
    facts: dict[str, Any] = {"unit": "person", "max_rows": 1, "budget": dp.Budget(epsilon=10**7), "name": "words"}
    session.sql("SELECT person, age FROM words").createOrReplaceTempView("seen")
    table = dp.protect(ibis.pyspark.connect(session).table("seen"), **facts)
    session.sql(DRAWN[name]).createOrReplaceTempView("seen")
    with pytest.raises(dp.EngineError, match=r"Expected a table of the same rows each time[^$]*Nothing was charged"):
        table.agg(n=_.count()).release(epsilon=1)
    with pytest.raises(dp.InvalidParameter, match="Expected a table of the same rows each time"):
        dp.protect(ibis.pyspark.connect(session).table("seen"), **facts)


def test_what_spark_takes_for_random_and_is_not(session: Any) -> None:
    session.sql(
        "SELECT person, first(file) || (SELECT first(word) FROM good) AS file"
        " FROM (SELECT person, input_file_name() AS file FROM words) GROUP BY person"
    ).createOrReplaceTempView("seen")
    stored = ibis.pyspark.connect(session).table("seen")
    table = dp.protect(stored, unit="person", max_rows=1, budget=dp.Budget(epsilon=10**7), name="words")
    assert table.agg(n=_.file.count()).release(epsilon=10**5)["n"].tolist() == [101]
