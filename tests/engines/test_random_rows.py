"""Random values and samples are others each time that a table is read; a unit's limits would be those of other rows."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, cast

import ibis
import ibis.expr.types as ir
import pytest

import discreet as dp
from discreet.engines.postgresql import PostgreSQL
from discreet.engines.random_rows import DRAWS, is_sampled

REFUSED = "Expected a table of the same rows each time that it is read"
STEPS: dict[str, Callable[[ir.Table], ir.Table]] = {
    "a random key": lambda t: t.mutate(k=ibis.random()),
    "a random condition": lambda t: t.filter(ibis.random() < 0.5).select("person"),
    "a random name": lambda t: t.mutate(k=ibis.uuid()),
    "a sample": lambda t: t.sample(0.5),
}
VIEWS = {
    "a random key": "CREATE VIEW seen AS SELECT person, random() AS k FROM visits",
    "a condition": "CREATE VIEW seen AS SELECT person FROM visits WHERE random() < 0.5",
    "a name": "CREATE VIEW seen AS SELECT person, gen_random_uuid() AS k FROM visits",
    "a sequence": "CREATE SEQUENCE numbers; CREATE VIEW seen AS SELECT person, nextval('numbers') AS k FROM visits",
    "a sample": "CREATE VIEW seen AS SELECT person FROM visits USING SAMPLE 50%",
    "a sample of a table": "CREATE VIEW seen AS SELECT person FROM visits TABLESAMPLE bernoulli(50)",
    "a view of a view": "CREATE VIEW own AS SELECT *, uuid() AS k FROM visits; CREATE VIEW seen AS FROM own",
    "an apostrophe": """CREATE VIEW seen AS SELECT person AS "it's", person, random() AS k, 'a' AS note FROM visits""",
    "a macro": "CREATE MACRO own() AS random() * 4; CREATE VIEW seen AS SELECT person, own() AS k FROM visits",
}


SETTLED = {
    *("current_connection_id", "current_query", "current_query_id", "current_transaction_id"),  # one in each statement
    *("error", "setseed", "sleep_ms", "write_log"),  # no value
    *("currval", "setval"),  # which another statement has to move
    *("stats", "vector_type"),  # of how a value is held
}
"""Functions that DuckDB does not compute beforehand either, and that give a row no other value within a statement."""


@pytest.fixture
def connection() -> Any:
    made = ibis.duckdb.connect()
    made.raw_sql("CREATE TABLE visits AS SELECT range AS person, 'a' AS random FROM range(9)")
    return made


def protected(table: ir.Table) -> dp.PrivateTable:
    return dp.protect(table, unit="person", max_rows=1, budget=dp.Budget(epsilon=10**7), name="visits")


@pytest.mark.parametrize("name", STEPS)
def test_steps_that_draw_rows_are_refused(connection: Any, name: str) -> None:
    with pytest.raises(dp.InvalidParameter, match=REFUSED):
        protected(STEPS[name](connection.table("visits")))


@pytest.mark.parametrize("name", VIEWS)
def test_views_that_draw_rows_are_refused(connection: Any, name: str) -> None:
    connection.raw_sql(VIEWS[name])
    with pytest.raises(dp.InvalidParameter, match=REFUSED):
        protected(connection.table("seen"))
    with pytest.raises(dp.InvalidParameter, match=REFUSED):
        protected(connection.table("seen").select("person"))


def test_names_and_texts_draw_nothing(connection: Any) -> None:
    connection.raw_sql("CREATE VIEW seen AS SELECT person, random, 'random() using sample' AS note FROM visits")
    counted = protected(connection.table("seen")).agg(n=lambda t: t.count()).release(epsilon=10**5)
    assert counted["n"].tolist() == [9]


def test_functions_that_duckdb_has_anew_each_time_are_known(connection: Any) -> None:
    asked = "SELECT DISTINCT function_name FROM duckdb_functions() WHERE stability = 'VOLATILE'"
    found = {name for [name] in connection.raw_sql(asked).fetchall()}
    assert {name for name in found if not DRAWS.search(f"SELECT {name}()")} == SETTLED


PLANS = {
    "a table": ("Seq Scan on visits", False),
    "a text": ("Seq Scan on visits|  Filter: (note = 'Sampling: all'::text)", False),
    "a sample": ("Sample Scan on visits|  Sampling: bernoulli ('50'::real)", True),
    "below a join": ("Hash Join|  ->  Sample Scan on visits|        Sampling: system ('50'::real)", True),
    "the same each time": ("Sample Scan on visits|  Sampling: system ('50'::real) REPEATABLE ('1'::float)", False),
    "one of two": ("Append|->  Sample Scan|  Sampling: s (5) REPEATABLE (1)|->  Sample Scan|  Sampling: s (5)", True),
}


@pytest.mark.parametrize("name", PLANS)
def test_samples_are_told_by_their_plans(name: str) -> None:
    """As PostgreSQL 15 shows them; `conformance/test_postgresql_views.py` asks a server."""
    plan, is_drawn = PLANS[name]
    rows = SimpleNamespace(fetchall=lambda: [(line,) for line in plan.split("|")])
    cursor = SimpleNamespace(execute=lambda _: rows)
    assert is_sampled(cursor, "SELECT * FROM visits") is is_drawn


def test_views_of_postgresql_are_read_once() -> None:
    """Whatever a view has no order of may be in another one the next time, and other rows within its limit."""
    stored, view, on_the_way = (PostgreSQL.__new__(PostgreSQL) for _each in range(3))
    for engine, raw, path in ((stored, "t", ()), (view, None, ()), (on_the_way, "t", (SimpleNamespace(table=view),))):
        engine._stored, engine._path = cast(Any, raw), cast(Any, path)
    assert [one.reading for one in (stored, view, on_the_way)] == ["AS NOT MATERIALIZED", "AS", "AS"]
