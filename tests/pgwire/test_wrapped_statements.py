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
            'SELECT COUNT(*) AS "count", plan FROM people GROUP BY plan ORDER BY "n" DESC LIMIT 3',
        ),
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
    ],
)
def test_other_statements_stay_as_they_are(sql: str) -> None:
    tree = asked(sql)
    assert unwrapped(tree) is tree
