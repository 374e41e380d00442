"""SELECTs of rows in FROM and under WITH are tables like any other; what they may not be is refused with its place."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

import discreet as dp

Exact = Callable[[dp.Question], list[dict[str, Any]]]


@pytest.mark.parametrize(
    ("statement", "answer"),
    [
        ("SELECT COUNT(*) AS n FROM (SELECT * FROM people WHERE age >= 18) AS adults", 5),
        ("SELECT COUNT(*) AS n FROM (SELECT * FROM people WHERE age >= 18)", 5),
        ("SELECT COUNT(*) AS n FROM ((SELECT * FROM people))", 8),
        ("SELECT SUM(a.v) AS n FROM (SELECT visits * 2 AS v FROM people) AS a WHERE a.v > 4", 2 * (3 + 5 + 12 + 7)),
        ("SELECT SUM(visits) AS n FROM (SELECT age AS visits, visits AS age FROM people) AS t", 269),
        ("SELECT SUM(Visits) AS n FROM (SELECT visits + 1 AS Visits FROM people)", 28 + 7),
        ("WITH a AS (SELECT * FROM people WHERE smokes) SELECT COUNT(*) AS n FROM a", 3),
        ("WITH people AS (SELECT * FROM people WHERE smokes) SELECT COUNT(*) AS n FROM people", 3),
        ("WITH a AS (SELECT age FROM people), b AS (SELECT age + 1 AS age FROM a) SELECT SUM(age) AS n FROM b", 276),
        ("SELECT COUNT(*) AS n FROM (WITH a AS (SELECT * FROM people) SELECT a.* FROM a WHERE smokes) AS b", 3),
    ],
)
def test_rows_of_sub_queries(statement: str, answer: int, rows: dp.PrivateTable, exact: Exact) -> None:
    assert exact(dp.sql(statement, people=rows)) == [{"n": answer}]


def test_the_unit_goes_along_and_is_counted_where_it_is_shown(people: dp.PrivateTable, exact: Exact) -> None:
    inner = "SELECT person, plan FROM people WHERE age >= 18"
    counted = f"SELECT COUNT(DISTINCT person) AS n FROM ({inner}) AS t"  # noqa: S608 - our own text
    assert exact(dp.sql(counted, people=people)) == [{"n": 4}]
    hidden = "SELECT COUNT(*) AS n FROM (SELECT age FROM people) AS t"
    facts = dp.sql(hidden, people=people).explain(epsilon=1)
    assert facts["limits"] == {"max_rows": 2}
    with pytest.raises(dp.InvalidQuery, match="a known column, got 'person'"):
        dp.sql("SELECT COUNT(DISTINCT person) FROM (SELECT age FROM people) AS t", people=people)


def test_a_column_that_is_passed_through_keeps_its_declared_keys(rows: dp.PrivateTable, exact: Exact) -> None:
    statement = "SELECT plan, COUNT(*) AS n FROM (SELECT plan FROM people) AS t GROUP BY plan"
    assert [row["n"] for row in exact(dp.sql(statement, people=rows))] == [3, 2, 1]
    with pytest.raises(dp.InvalidQuery, match="public keys of 'plan'"):
        dp.sql("SELECT plan, COUNT(*) FROM (SELECT LOWER(plan) AS plan FROM people) t GROUP BY plan", people=rows)


@pytest.mark.parametrize(
    ("statement", "what"),
    [
        ("SELECT COUNT(*) FROM (SELECT »AVG(age) AS a FROM people)", "rows in a sub-query"),
        ("SELECT COUNT(*) FROM (SELECT plan FROM people GROUP BY »plan)", "rows in a sub-query"),
        ("SELECT COUNT(*) FROM (SELECT age FROM people »LIMIT 3)", "rows in a sub-query, no LIMIT"),
        ("SELECT COUNT(*) FROM (SELECT »DISTINCT age FROM people)", "groups by GROUP BY"),
        ("SELECT COUNT(*) FROM (SELECT »age + 1 FROM people)", "a name for a computed column"),
        ("SELECT COUNT(*) FROM (SELECT age, »visits AS Age FROM people)", "each column once"),
        ("SELECT COUNT(*) FROM (SELECT *, »age FROM people)", "each column once"),
        ("SELECT COUNT(*) FROM (SELECT »* EXCLUDE (age) FROM people)", "* alone"),
        ("SELECT COUNT(*) FROM (SELECT »q.age FROM people AS p)", "a column of 'p'"),
        ("SELECT COUNT(*) FROM (SELECT »q.* FROM people AS p)", "a column of 'p'"),
        ("SELECT SUM(»p.age) FROM (SELECT age FROM people AS p)", "a column's name alone"),
        ("SELECT COUNT(*) FROM (SELECT »person + 1 AS person FROM people)", "columns other than the privacy unit"),
        ("SELECT COUNT(*) FROM (SELECT age FROM nobody)", "a known table"),
        ("SELECT COUNT(*) FROM (SELECT age FROM people) AS »t (a)", "a table under one name"),
        ("WITH »t (a) AS (SELECT age FROM people) SELECT COUNT(*) FROM t", "a table under one name"),
        (
            'WITH »"People" AS (SELECT * FROM people) SELECT COUNT(*) FROM people',
            "a name in double quotes that differs",
        ),
        ("WITH t AS (SELECT * FROM people), »T AS (SELECT * FROM people) SELECT COUNT(*) FROM t", "each name of WITH"),
        ("WITH t AS (SELECT »COUNT(*) AS n FROM people) SELECT COUNT(*) FROM t", "rows in a sub-query"),
    ],
)
def test_what_a_sub_query_may_not_be(statement: str, what: str, people: dp.PrivateTable) -> None:
    with pytest.raises(dp.InvalidQuery) as refusal:
        dp.sql(statement.replace("»", ""), people=people)
    assert f"Expected {what}" in str(refusal.value)
    if "»" in statement:
        assert re.search(rf"at line 1, column {statement.index('»') + 1}\b", str(refusal.value))
