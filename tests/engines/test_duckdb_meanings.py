"""A view, a step or a generated column means in a release what it means in its curator's session, or is refused."""

from __future__ import annotations

import ibis
import pytest

import discreet as dp
from discreet.engines.duckdb import DuckDB
from discreet.engines.duckdb_settings import FIXED, MEANINGS

ALL = "SELECT name, value FROM duckdb_settings() ORDER BY name"
MEANT: dict[str, tuple[str, str]] = {
    "Calendar": ("japanese", "date_part('year', \"at\") > 2000"),
    "TimeZone": ("Asia/Tokyo", "\"at\"::DATE > DATE '2026-01-01'"),
    "binary_as_string": ("true", "x > 0"),
    "default_collation": ("NOCASE", "s = 'A'"),
    "default_null_order": ("NULLS_FIRST", "row_number() OVER (ORDER BY x) = 1"),
    "default_order": ("DESCENDING", "row_number() OVER (ORDER BY x) = 1"),
    "dialect_compatibility_mode": ("SPARK", "x > 0"),
    "ieee_floating_point_ops": ("false", "ln(x + 1) > 0"),
    "integer_division": ("true", "x / 2 > 0"),
}
"""Values of the curator's, and a condition that may go by them."""


@pytest.mark.parametrize("name", MEANT)
def test_what_would_mean_something_else_is_refused(name: str) -> None:
    """As it is protected, where something is computed; all settings are left as they were."""
    value, condition = MEANT[name]
    own = "x > 0" if "OVER" in condition else condition  # which a generated column cannot have
    connection = ibis.duckdb.connect()
    connection.con.execute(
        "CREATE TABLE visits AS SELECT 1.5 AS x, 'a' AS s, TIMESTAMPTZ '2026-01-01 20:00:00+00' AS \"at\";"  # noqa: S608 (ours)
        f"CREATE VIEW seen AS SELECT x, {condition} AS y FROM visits;"
        f'CREATE TABLE made (x DOUBLE, s VARCHAR, "at" TIMESTAMPTZ, y BOOLEAN GENERATED ALWAYS AS ({own}))'
    )
    visits = connection.table("visits")
    given = [connection.table("seen"), connection.table("made"), visits.mutate(y=visits["at"].date())]
    for computed in given:
        DuckDB(computed, None)
    connection.con.execute(f"SET {name} = '{value}'")
    before = connection.con.execute(ALL).fetchall()
    for computed in given:
        with pytest.raises(dp.InvalidParameter, match=f"means in a release, got settings={{'{name}'"):
            DuckDB(computed, None)
    DuckDB(visits, None)
    assert connection.con.execute(ALL).fetchall() == before


def test_each_of_them_is_tried() -> None:
    assert set(MEANT) == set(MEANINGS) <= set(FIXED)


def test_a_view_fails_where_it_failed_when_it_was_protected() -> None:
    """A sub-query that has several rows for a person is the curator's to allow."""
    connection = ibis.duckdb.connect()
    connection.con.execute(
        "CREATE TABLE visits AS SELECT i AS person FROM range(9) AS r (i); CREATE TABLE plans AS FROM visits;"
        "CREATE VIEW seen AS SELECT person, (SELECT p.person FROM plans AS p WHERE p.person = v.person) AS plan "
        "FROM visits AS v; SET scalar_subquery_error_on_multiple_rows = false"
    )
    table = dp.protect(connection.table("seen"), unit="person", max_rows=1, budget=dp.Budget(epsilon=10**6), name="v")
    connection.con.execute("INSERT INTO plans VALUES (5); SET scalar_subquery_error_on_multiple_rows = true")
    question = table.agg(n=table["plan"].count())
    assert question.release(epsilon=10**5)["n"].tolist() == [9]
    assert connection.con.execute("SELECT current_setting('scalar_subquery_error_on_multiple_rows')").fetchone() == (
        True,
    )
