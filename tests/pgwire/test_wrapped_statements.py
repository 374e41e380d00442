"""What tools put around a question is taken off, and nothing else is."""

from __future__ import annotations

import pytest

from discreet.pgwire.question_texts import tree_of
from discreet.pgwire.wrapped_statements import unwrapped

QUESTION = "SELECT plan, COUNT(*) AS n FROM people GROUP BY plan"


@pytest.mark.parametrize(
    ("sql", "inner"),
    [
        (QUESTION, QUESTION),
        (f"SELECT * FROM ({QUESTION}) AS t", QUESTION),
        (f"SELECT * FROM (SELECT * FROM ({QUESTION}) AS a) AS b LIMIT 5", f"{QUESTION} LIMIT 5"),
        (
            f'SELECT "t"."n" AS "count", "t"."plan" FROM ({QUESTION}) AS "t" ORDER BY "t"."n" DESC LIMIT 3',
            'SELECT COUNT(*) AS "count", plan FROM people GROUP BY plan ORDER BY "n" DESC LIMIT 3',
        ),
    ],
)
def test_wrappings_are_taken_off(sql: str, inner: str) -> None:
    assert unwrapped(tree_of(sql)).sql("postgres") == tree_of(inner).sql("postgres")


@pytest.mark.parametrize(
    "sql",
    [
        f"SELECT plan FROM ({QUESTION}) AS t",  # fewer columns
        f"SELECT * FROM ({QUESTION}) AS t WHERE n > 3",
        f"SELECT SUM(n) FROM ({QUESTION}) AS t",
        f"SELECT DISTINCT * FROM ({QUESTION}) AS t",
        f"SELECT * FROM ({QUESTION} LIMIT 3) AS t LIMIT 2",
        "SELECT * FROM (SELECT * FROM people) AS t",
    ],
)
def test_other_statements_stay_as_they_are(sql: str) -> None:
    tree = tree_of(sql)
    assert unwrapped(tree) is tree
