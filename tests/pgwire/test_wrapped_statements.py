"""What tools put around a question is taken off, and nothing else is."""

from __future__ import annotations

import pytest
from sqlglot import exp

from discreet.pgwire.question_texts import tree_of
from discreet.pgwire.wrapped_statements import unwrapped

QUESTION = "SELECT plan, COUNT(*) AS n FROM people GROUP BY plan"


def asked(sql: str) -> exp.Expression:
    return tree_of(sql.replace("Q", QUESTION) if "Q" in sql else sql)


@pytest.mark.parametrize(
    ("sql", "inner"),
    [
        ("Q", "Q"),
        ("SELECT * FROM (Q) AS t", "Q"),
        ("SELECT * FROM (SELECT * FROM (Q) AS a) AS b LIMIT 5", "Q LIMIT 5"),
        (
            'SELECT "t"."n" AS "count", "t"."plan" FROM (Q) AS "t" ORDER BY "t"."n" DESC LIMIT 3',
            'SELECT COUNT(*) AS "count", plan FROM people GROUP BY plan ORDER BY "count" DESC LIMIT 3',
        ),
        (
            "SELECT n AS plan, plan AS p FROM (Q) AS t ORDER BY plan, t.plan, LENGTH(plan)",
            "SELECT COUNT(*) AS plan, plan AS p FROM people GROUP BY plan ORDER BY plan, p, LENGTH(p)",
        ),
        ("WITH w AS (SELECT 1) SELECT * FROM (Q OFFSET 1) AS t LIMIT 2", "WITH w AS (SELECT 1) Q LIMIT 2 OFFSET 1"),
    ],
)
def test_wrappings_are_taken_off(sql: str, inner: str) -> None:
    assert unwrapped(asked(sql)).sql("postgres") == asked(inner).sql("postgres")


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT plan FROM (Q) AS t",  # fewer columns
        "SELECT * FROM (Q) AS t WHERE n > 3",
        "SELECT SUM(n) FROM (Q) AS t",
        "SELECT DISTINCT * FROM (Q) AS t",
        "SELECT * FROM (Q LIMIT 3) AS t LIMIT 2",
        "SELECT * FROM (SELECT * FROM people) AS t",
        "SELECT * FROM (Q LIMIT 3) AS t OFFSET 2",  # one group, and not three
        "SELECT * FROM (Q LIMIT 3) AS t ORDER BY n",
        "SELECT n, plan FROM (Q) AS t(n, plan)",  # other names
        "SELECT n, n FROM (SELECT plan AS n, COUNT(*) AS n FROM people GROUP BY plan) AS t",
        "SELECT * FROM (Q) AS t TABLESAMPLE BERNOULLI (10)",
        "SELECT * INTO other FROM (Q) AS t",
        "SELECT * FROM (Q) AS t FOR UPDATE",
        "WITH w AS (SELECT 1) SELECT * FROM (WITH v AS (SELECT 2) Q) AS t",
    ],
)
def test_other_statements_stay_as_they_are(sql: str) -> None:
    tree = asked(sql)
    assert unwrapped(tree) is tree
