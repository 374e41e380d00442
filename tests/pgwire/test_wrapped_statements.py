"""What tools put around a question is taken off, and nothing else is."""

from __future__ import annotations

import time

import pytest
from sqlglot import exp

from discreet.pgwire.question_texts import tree_of
from discreet.pgwire.wrapped_statements import unwrapped
from pg_sockets import RawClient, fields, letters, query, state

QUESTION = "SELECT plan, COUNT(*) AS n FROM people GROUP BY plan"
AROUND = "SELECT * FROM ({}) AS t"


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
        ("SELECT n, plan FROM (SELECT * FROM (Q) AS a) AS b", "SELECT COUNT(*) AS n, plan FROM people GROUP BY plan"),
        (
            "SELECT plan AS p, n FROM (SELECT plan, COUNT(*) AS n FROM people GROUP BY 1) AS t",
            "SELECT plan AS p, COUNT(*) AS n FROM people GROUP BY 1",
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
        "SELECT n, plan FROM (Q ORDER BY 2 LIMIT 1) AS t",  # the second item would be another one
        "SELECT plan AS n, n AS plan FROM (Q ORDER BY n LIMIT 1) AS t",
        "SELECT n, plan FROM (SELECT plan, COUNT(*) AS n FROM people GROUP BY 1) AS t",
        "SELECT * INTO other FROM (Q) AS t",
        "SELECT * FROM (Q) AS t FOR UPDATE",
        "WITH w AS (SELECT 1) SELECT * FROM (WITH v AS (SELECT 2) Q) AS t",
    ],
)
def test_other_statements_stay_as_they_are(sql: str) -> None:
    tree = asked(sql)
    assert unwrapped(tree) is tree


def test_many_wrappings_take_no_longer_than_the_text() -> None:
    """Of twenty around 700 columns, each was copied for each: the server's one loop stood still for 45 seconds."""
    columns = ", ".join(f"COUNT(*) FILTER (WHERE age > {i}) AS c{i}" for i in range(500))
    sql = QUESTION.replace("COUNT(*) AS n", columns)
    for _ in range(20):
        sql = AROUND.format(sql)
    tree = tree_of(sql)
    began = time.thread_time()
    assert unwrapped(tree).find(exp.Subquery) is None
    assert time.thread_time() - began < 5


@pytest.mark.parametrize("condition", ["age > 1 {# nothing #}", "age == 3", "plan = 'fr' 'ee'", "plan ~~ 'f%'"])
def test_what_is_refused_alone_is_refused_in_a_wrapping(client: RawClient, condition: str) -> None:
    """The parser's own text of a question has another meaning where it read less than was written."""
    question = QUESTION.replace("GROUP", f"WHERE {condition} GROUP")
    for sql in (question, AROUND.format(question)):
        assert letters(client.ask(query(sql))) == "EZ"
        assert state(client.ask(query(sql))) == state(client.ask(query(question)))


def test_an_interval_in_a_wrapping_is_read_whole(client: RawClient) -> None:
    """`'3 months ago'` is so much less, and was so much more."""
    shifted = "SELECT COUNT(*) AS n FROM people WHERE DATE '2020-01-01' + INTERVAL '3 months ago' < DATE '2020-01-02'"
    found = client.ask(query(AROUND.format(shifted)))
    assert fields(found[0][1])["M"].startswith("Expected a constant whole number of one of YEAR")
