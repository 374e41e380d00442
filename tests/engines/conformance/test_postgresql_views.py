"""Views of a PostgreSQL server, and steps of the curator's: a row that they leave out makes no release fail."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import ibis
import ibis.expr.datatypes as dt
import pyarrow as pa
import pytest
from ibis import _

import discreet as dp
from discreet.engines.postgresql_settings import is_stored, qualified
from discreet.errors import InvalidQuery

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


def test_foreign_tables_and_views_are_not_stored(postgresql: Any) -> None:
    """Conditions on them go to the other server, which may have a view there; so do those on tables with such parts."""
    with postgresql.begin() as cursor:
        cursor.execute(
            "DROP SCHEMA IF EXISTS far CASCADE; DROP FOREIGN DATA WRAPPER IF EXISTS nowhere CASCADE;"
            "CREATE SCHEMA far; CREATE FOREIGN DATA WRAPPER nowhere; CREATE SERVER far FOREIGN DATA WRAPPER nowhere;"
            "CREATE TABLE far.plain (n int); CREATE MATERIALIZED VIEW far.kept AS SELECT * FROM far.plain;"
            "CREATE TABLE far.parts (n int) PARTITION BY RANGE (n);"
            "CREATE TABLE far.some PARTITION OF far.parts FOR VALUES FROM (0) TO (9);"
            "CREATE VIEW far.seen AS SELECT * FROM far.plain; CREATE FOREIGN TABLE far.alien (n int) SERVER far;"
            "CREATE TABLE far.old (n int); CREATE TABLE far.heir () INHERITS (far.old);"
            "CREATE FOREIGN TABLE far.grandchild () INHERITS (far.heir) SERVER far;"
            "CREATE TABLE far.mixed (n int) PARTITION BY RANGE (n);"
            "CREATE FOREIGN TABLE far.part PARTITION OF far.mixed FOR VALUES FROM (0) TO (9) SERVER far"
        )
    tables = {name: postgresql.table(name, database="far") for name in ("plain", "kept", "parts", "some", "seen")}
    tables |= {name: postgresql.table(name, database="far") for name in ("alien", "old", "mixed")}
    tables["a step"] = tables["plain"].filter(_.n > 1)
    with postgresql.con.transaction(force_rollback=True), postgresql.con.cursor() as cursor:
        found = {name for name, table in tables.items() if is_stored(cursor, qualified(cursor, table))}
    assert found == {"plain", "kept", "parts", "some"}


@pytest.mark.parametrize("rows", ["tuple_row", "dict_row"])
def test_a_table_that_became_a_view_is_refused_without_a_charge(postgresql: Any, rows: str) -> None:
    """Also where the rows of the caller's cursors are dicts, in which a name would pass for an answer."""
    from psycopg import rows as kinds

    with postgresql.begin() as cursor:
        cursor.execute('DROP TABLE IF EXISTS later; CREATE TABLE later AS TABLE "a function"')
    table = protected(postgresql.table("later"))
    postgresql.con.row_factory = getattr(kinds, rows)
    table.agg(n=_.count()).release(epsilon=0.5)
    spent = table.budget.spent
    with postgresql.begin() as cursor:
        cursor.execute('DROP TABLE later; CREATE VIEW later AS SELECT * FROM "a function"')
    try:
        with pytest.raises(dp.EngineError, match="nothing was charged"):
            table.agg(n=_.count()).release(epsilon=1)
        assert table.budget.spent == spent
    finally:
        postgresql.con.row_factory = kinds.tuple_row
        with postgresql.begin() as cursor:
            cursor.execute("DROP VIEW later")


def test_a_view_that_locks_its_rows_is_refused_without_a_charge(postgresql: Any) -> None:
    """A look only reads, and each would fail."""
    with postgresql.begin() as cursor:
        cursor.execute("DROP TABLE IF EXISTS free CASCADE; CREATE TABLE free (person int, age int)")
        cursor.execute("CREATE VIEW taken AS SELECT * FROM free FOR UPDATE; CREATE VIEW soon AS SELECT * FROM free")
    with pytest.raises(dp.EngineError, match="nothing was charged"):
        protected(postgresql.table("taken"))
    table = protected(postgresql.table("soon"))
    with postgresql.begin() as cursor:
        cursor.execute("CREATE OR REPLACE VIEW soon AS SELECT * FROM free FOR SHARE")
    with pytest.raises(dp.EngineError, match="nothing was charged"):
        table.agg(n=_.count()).release(epsilon=1)
    assert not table.budget.spent.epsilon


def test_semi_joins_of_the_curators_keep_their_rows(postgresql: Any) -> None:
    """sqlglot passes over one that follows another, and would lose the rows of right and outer joins that follow."""
    rows = {"one": [1, 2, 3, 4], "two": [1, 2, 3], "three": [2, 3, 9]}
    one, two, three = (
        postgresql.create_table(f"semi_{name}", pa.table({"person": held}), overwrite=True)
        for name, held in rows.items()
    )
    budget = dp.Budget(epsilon=10**6)
    for kinds, wanted in ((("semi", "semi"), 2), (("semi", "anti"), 1), (("anti", "left"), 1), (("right", "semi"), 2)):
        data = one.join(two, "person", how=kinds[0]).join(three, "person", how=kinds[1]).select("person")
        table = dp.protect(data, unit=dp.ROW, budget=budget, name="+".join(kinds))
        assert round(table.agg(n=_.count()).release(epsilon=1000).to_pyarrow()["n"][0].as_py()) == wanted
    for half, whole in itertools.product(("semi", "anti"), ("right", "outer")):
        data = one.join(two, "person", how=half).join(three, "person", how="left").join(two, "person", how=whole)
        with pytest.raises(InvalidQuery, match="a right or outer join later"):
            dp.protect(data.select("person"), unit=dp.ROW, budget=budget, name="lost")


SAMPLES = {"anew": "TABLESAMPLE bernoulli (50)", "the same": "TABLESAMPLE bernoulli (50) REPEATABLE (1)"}


def test_samples_are_refused_unless_they_are_the_same(postgresql: Any) -> None:
    with postgresql.begin() as cursor:
        for name, sample in SAMPLES.items():
            cursor.execute(
                f'CREATE VIEW "{name}" AS SELECT w.person, 1 AS age FROM words w JOIN words v {sample} USING (person)'  # noqa: S608 (our own)
            )
    with pytest.raises(dp.InvalidParameter, match="a table of the same rows each time"):
        protected(postgresql.table("anew"))
    table = protected(postgresql.table("the same"))
    with postgresql.begin() as cursor:
        cursor.execute('CREATE OR REPLACE VIEW "the same" AS SELECT * FROM "anew"')
    with pytest.raises(dp.EngineError, match="nothing was charged"):
        table.count().release(epsilon=1)
    assert table.budget.spent.epsilon == 0


def test_a_view_is_read_once_in_a_statement(postgresql: Any) -> None:
    """A table of more than a quarter of the buffers is read from where the last reading ended."""
    with postgresql.begin() as cursor:
        cursor.execute(
            "DROP TABLE IF EXISTS large CASCADE; CREATE TABLE large AS SELECT i / 10 AS person, i % 2 AS side,"
            " i AS age, repeat('p', 400) AS pad FROM generate_series(1, 90000) AS i;"
            "CREATE VIEW first_rows AS SELECT person, side, age FROM large LIMIT 1000"
        )
        joined = "WITH s AS {} (SELECT * FROM first_rows OFFSET 0) SELECT count(*) FROM s JOIN s AS t USING (age)"
        twice, once = (cursor.execute(joined.format(how)).fetchone()[0] for how in ("NOT MATERIALIZED", ""))
    assert twice < once == 1000
    tables = protected(postgresql.table("first_rows")), protected(postgresql.table("large"))
    for table, start in zip(tables, ("AS (", "AS NOT MATERIALIZED ("), strict=True):
        halves = table.group_by("side", keys={"side": [0, 1]}, max_groups=1).agg(m=_.age.median())
        sql = halves.explain(epsilon=1)["sql"]
        assert sql.count('FROM "__discreet_scan"') > sql.count("BEGIN")
        assert sql.count(f'"__discreet_scan" {start}') == sql.count("BEGIN")
    view = dp.protect(postgresql.table("first_rows"), unit="person", max_rows=1, budget=tables[1].budget, name="first")
    both = tables[1].join(view, "person", how="semi").count()
    assert '"__discreet_scan_1" AS (' in both.explain(epsilon=1)["sql"]
