"""Views of a PostgreSQL server, and steps of the curator's: a row that they leave out makes no release fail."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ibis
import ibis.expr.datatypes as dt
import pytest
from ibis import _

import discreet as dp

pytestmark = pytest.mark.engine("postgresql")

VIEWS = {
    "a function": "WHERE good(person) AND good(age)",
    "a barrier": "WHERE good(person) AND good(age)",
    "a join": "JOIN (VALUES (1)) AS one (n) ON good(person) AND good(age)",
}
"""Views that fail on no row, though their conditions cost more than any of ours."""


@pytest.fixture
def postgresql(backend_of: Callable[[str], Any], other: str) -> Any:
    assert other == "postgresql"
    backend = backend_of(other)
    with backend.begin() as cursor:
        cursor.execute(
            "DROP TABLE IF EXISTS words CASCADE; CREATE TABLE words AS SELECT i::text AS person, (i % 9)::text AS age"
            " FROM generate_series(1, 100) AS i; INSERT INTO words VALUES ('one', 'two');"
            "CREATE OR REPLACE FUNCTION good(word text) RETURNS boolean LANGUAGE sql IMMUTABLE COST 1000"
            " SET search_path = pg_catalog AS $$ SELECT word ~ '^[0-9]+$' $$"
        )
        for name, rest in VIEWS.items():
            option = "WITH (security_barrier)" if name == "a barrier" else ""
            cursor.execute(
                f'CREATE VIEW "{name}" {option} AS SELECT person::int AS person, age::int AS age FROM words {rest}'  # noqa: S608 (our own)
            )
    return backend


def protected(data: Any) -> dp.PrivateTable:
    return dp.protect(
        data, unit="person", max_rows=1, bounds={"age": (0, 9)}, budget=dp.Budget(epsilon=10**6), name="words"
    )


@pytest.mark.parametrize("name", VIEWS)
def test_a_row_that_a_view_leaves_out_makes_no_release_fail(postgresql: Any, name: str) -> None:
    table = protected(postgresql.table(name))
    questions = (
        table.agg(n=_.count()),
        table.filter(_.age >= 0, _.person > 0).agg(n=_.count()),
        table.join(table.select("age"), ["person", "age"]).agg(n=_.count()),
        table.per_unit(age=_.age.max()).agg(n=_.count()),
    )
    for question in questions:
        assert round(question.release(epsilon=1000).to_pyarrow()["n"][0].as_py()) == 100


@ibis.udf.scalar.builtin(name="good", database="public", signature=((dt.string,), dt.boolean))  # type: ignore[untyped-decorator]  # Ibis's own
def good(word: Any) -> Any: ...


def test_a_row_that_a_step_leaves_out_makes_no_release_fail(postgresql: Any) -> None:
    words = postgresql.table("words")
    kept = words.filter(good(words.person), good(words.age))
    table = protected(kept.select(person=kept.person.cast("int64"), age=kept.age.cast("int64")))
    assert round(table.agg(n=_.count()).release(epsilon=1000).to_pyarrow()["n"][0].as_py()) == 100
