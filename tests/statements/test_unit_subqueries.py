"""A sub-query that is grouped by the unit means what DuckDB means by it, for rows that have a unit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import duckdb
import pyarrow as pa
import pytest

import discreet as dp

Exact = Callable[[dp.Question], list[dict[str, Any]]]

STATEMENTS = [
    "SELECT COUNT(*) AS x FROM (SELECT person FROM people GROUP BY person) AS t",
    "SELECT COUNT(*) AS x FROM (SELECT person, COUNT(*) AS n FROM people GROUP BY 1 HAVING COUNT(*) > 1) AS t",
    "SELECT SUM(LEAST(n, 9)) AS x FROM (SELECT person AS p, COUNT(age) AS n FROM people GROUP BY person) AS t",
    "SELECT SUM(a) AS x FROM (SELECT AVG(age) FILTER (WHERE smokes) AS a FROM people GROUP BY person) AS t",
    "SELECT SUM(d) AS x FROM (SELECT MAX(age) - MIN(age) AS d FROM people WHERE visits > 0 GROUP BY person) AS t",
    "SELECT COUNT(s) AS x FROM (SELECT SUM(spending) AS s FROM people GROUP BY person) AS t",
    "SELECT SUM(LEAST(GREATEST(s, 0), 9)) AS x FROM (SELECT SUM(visits) AS s FROM people GROUP BY person) AS t",
    "SELECT COUNT(*) AS x FROM (SELECT BOOL_OR(smokes) AS b FROM people GROUP BY person) AS t WHERE b",
    "SELECT COUNT(*) AS x FROM (SELECT BOOL_AND(smokes) AS b FROM people GROUP BY person) AS t WHERE b",
    "SELECT SUM(LEAST(n, 5)) AS x FROM (SELECT COUNT(DISTINCT age) AS n FROM people GROUP BY person) AS t",
    "WITH t AS (SELECT person, COUNT(*) AS n FROM people GROUP BY person) SELECT COUNT(*) AS x FROM t WHERE n = 2",
]


@pytest.mark.long
@pytest.mark.parametrize("statement", STATEMENTS)
def test_features_mean_what_duckdb_means(
    statement: str, protect: Callable[..., dp.PrivateTable], data: pa.Table, exact: Exact
) -> None:
    [answer] = exact(dp.sql(statement, people=protect(unit="person")))
    with duckdb.connect() as connection:
        connection.register("everybody", data)
        connection.execute("CREATE VIEW people AS SELECT * FROM everybody WHERE person IS NOT NULL")
        [(wanted,)] = connection.sql(statement).fetchall()
    assert answer["x"] == pytest.approx(float(wanted or 0), abs=1e-6)


@pytest.mark.parametrize(
    ("inner", "what"),
    [
        ("SELECT plan, COUNT(*) AS n FROM people GROUP BY plan", "rows in a sub-query"),
        ("SELECT person, plan, COUNT(*) AS n FROM people GROUP BY person, plan", "rows in a sub-query"),
        ("SELECT person, FIRST(age) AS a FROM people GROUP BY person", "COUNT, SUM, AVG, MIN, MAX"),
        ("SELECT person, MEDIAN(age) AS a FROM people GROUP BY person", "COUNT, SUM, AVG, MIN, MAX"),
        ("SELECT person, SUM(DISTINCT age) AS a FROM people GROUP BY person", "COUNT, SUM, AVG, MIN, MAX"),
        ("SELECT person, age FROM people GROUP BY person", "a known column"),
        ("SELECT person, COUNT(*) AS n FROM people GROUP BY person ORDER BY n", "rows in a sub-query, no ORDER BY"),
    ],
)
def test_what_does_not_make_one_row_of_each_unit_is_refused(
    inner: str, what: str, protect: Callable[..., dp.PrivateTable]
) -> None:
    with pytest.raises(dp.InvalidQuery, match=f"Expected {what}.*at line 1, column "):
        dp.sql(f"SELECT COUNT(*) FROM ({inner}) AS t", people=protect(unit="person"))  # noqa: S608 - our own text


def test_without_a_unit_there_is_nothing_to_group_by(rows: dp.PrivateTable) -> None:
    with pytest.raises(dp.InvalidQuery, match="rows in a sub-query"):
        dp.sql("SELECT COUNT(*) FROM (SELECT person FROM people GROUP BY person) AS t", people=rows)


@pytest.mark.parametrize(
    "feature",
    [
        "SUM(visits) / COUNT(*)",
        "COUNT(*) / SUM(visits)",
        "MAX(CEIL(age)) / 2",
        "SUM(visits) FILTER (WHERE smokes) / COUNT(*)",
    ],
)
def test_features_of_an_unclear_type_are_not_divided(feature: str, protect: Callable[..., dp.PrivateTable]) -> None:
    """In PostgreSQL, whether SUM of whole numbers is one depends on their type, and CEIL of none is one."""
    text = f"SELECT COUNT(f) FROM (SELECT person, {feature} AS f FROM people GROUP BY person) AS t"  # noqa: S608 (ours)
    with pytest.raises(dp.InvalidQuery, match="Expected a division whose type is clear"):
        dp.sql(text, people=protect(unit="person"), dialect="postgres")


def test_a_feature_without_an_alias_keeps_its_type(protect: Callable[..., dp.PrivateTable]) -> None:
    text = "SELECT COUNT(sum_age / 2) FROM (SELECT person, SUM(age) FROM people GROUP BY person) AS t"
    with pytest.raises(dp.InvalidQuery, match="Expected a division whose type is clear"):
        dp.sql(text, people=protect(unit="person"), dialect="postgres")


@pytest.mark.parametrize("dialect", ["duckdb", "postgres", "spark"])
def test_means_of_a_unit_are_real(dialect: str, protect: Callable[..., dp.PrivateTable], exact: Exact) -> None:
    inner = "SELECT person, CAST(SUM(visits) AS DOUBLE PRECISION) / COUNT(*) AS f FROM people GROUP BY person"
    text = f"SELECT SUM(LEAST(GREATEST(f, 0), 9)) AS x FROM ({inner}) AS t"  # noqa: S608 (ours)
    rows = protect(unit="person")
    real = exact(
        dp.sql(text.replace(" PRECISION", "") if dialect != "postgres" else text, people=rows, dialect=dialect)
    )
    assert real[0]["x"] == pytest.approx(1.5 + 5 + 6.5)
