"""Types of a PostgreSQL server: no function of their owners runs, and none changes between declaration and look."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import discreet as dp

pytestmark = pytest.mark.engine("postgresql")


@pytest.fixture
def postgresql(backend_of: Callable[[str], Any], other: str) -> Any:
    assert other == "postgresql"
    backend = backend_of(other)
    backend.raw_sql(
        "DROP TABLE IF EXISTS moods; DROP SCHEMA IF EXISTS owned CASCADE; CREATE SCHEMA owned;"
        "CREATE TYPE owned.mood AS ENUM ('a', 'b'); CREATE DOMAIN owned.feeling AS owned.mood;"
        "CREATE TABLE moods AS SELECT i AS who, i % 9 AS age, (CASE WHEN i % 2 = 0 THEN 'a' ELSE 'b' END)::owned.mood"
        " AS mood, 'a'::owned.feeling AS feeling FROM generate_series(1, 100) AS i"
    )
    yield backend
    backend.raw_sql("DROP TABLE moods; DROP SCHEMA owned CASCADE")


def protected(backend: Any) -> dp.PrivateTable:
    return dp.protect(
        backend.table("moods"), unit="who", max_rows=1, max_groups=1, bounds={"age": (0, 9)}, name="moods",
        keys={"mood": ["a", "b"], "feeling": ["a", "b"]}, budget=dp.Budget(epsilon=10**6),
    )  # fmt: skip


@pytest.mark.parametrize("target", ["varchar", "text"])
def test_an_enum_is_no_place_for_functions_of_its_owner(postgresql: Any, target: str) -> None:
    """Whoever owns a type may define its cast to text, whose function would run with the curator's rights."""
    table = protected(postgresql)
    postgresql.raw_sql(
        f"CREATE FUNCTION owned.f(owned.mood) RETURNS {target} LANGUAGE plpgsql AS "
        "$$ BEGIN RAISE EXCEPTION 'run by %', current_user; END $$;"
        f"CREATE CAST (owned.mood AS {target}) WITH FUNCTION owned.f(owned.mood) AS IMPLICIT"
    )
    for name, wanted in (("mood", [50, 50]), ("feeling", [100, 0])):
        found = table.group_by(name).agg(n=lambda t: t.count()).release(epsilon=1000).to_pyarrow()
        assert [round(n) for n in found["n"].to_pylist()] == wanted


@pytest.mark.parametrize(
    "change", ["ALTER age TYPE text USING age::text", "ALTER age TYPE float8", "DROP mood", "ADD x int"]
)
def test_a_column_of_another_type_is_refused_before_a_charge(postgresql: Any, change: str) -> None:
    """Read as it was declared, one row of the new type would make a release fail after its charge."""
    table = protected(postgresql)
    table.agg(s=lambda t: t.age.sum()).release(epsilon=1000)
    postgresql.raw_sql(f"ALTER TABLE moods {change}")
    if change.startswith("ADD"):
        table.agg(s=lambda t: t.age.sum()).release(epsilon=999)
        return
    with pytest.raises(dp.EngineError, match="nothing was charged"):
        table.agg(s=lambda t: t.age.sum()).release(epsilon=999)
    assert table.budget.spent.epsilon == 1000


def test_a_number_is_one_unit_whatever_its_scale(postgresql: Any) -> None:
    """1.0 and 1.00 are two texts. A column that is of any scale by now, or was it when a step was written, has both."""
    postgresql.raw_sql("CREATE TABLE owned.scaled AS SELECT 1::numeric(12, 2) AS who FROM generate_series(1, 90)")
    stale = postgresql.table("scaled", database="owned")
    stated: dict[str, Any] = {"unit": "who", "max_rows": 5, "budget": dp.Budget(epsilon=10**6)}
    before = dp.protect(stale, name="before", **stated)
    postgresql.raw_sql(
        "ALTER TABLE owned.scaled ALTER who TYPE numeric; DELETE FROM owned.scaled;"
        "INSERT INTO owned.scaled SELECT ('1.' || repeat('0', i))::numeric FROM generate_series(1, 90) AS i"
    )
    with pytest.raises(dp.EngineError, match="nothing was charged"):
        before.agg(n=lambda t: t.count()).release(epsilon=1000)
    others = {
        "stale": stale,
        "new": postgresql.table("scaled", database="owned"),
        "step": stale.select(who=stale.who + 1),
    }
    for name, raw in others.items():
        table = dp.protect(raw, name=name, **stated)
        assert table.agg(n=lambda t: t.count()).release(epsilon=1000)["n"].tolist() == [5]


def test_units_that_are_no_oids_stand_beside_those_that_are(postgresql: Any) -> None:
    """Of rows of one person, a number below 0 or beyond 32 bits made every release fail after its charge."""
    postgresql.raw_sql(
        "CREATE TABLE owned.first AS SELECT who FROM (VALUES (-1::bigint), (2), (2::bigint << 40)) AS t (who);"
        "CREATE TABLE owned.second AS SELECT 2::oid AS who UNION ALL SELECT 4294967295;"
        "CREATE TABLE owned.both AS SELECT a.who AS one, b.who AS other FROM owned.first AS a, owned.second AS b"
    )
    stated: dict[str, Any] = {"unit": "who", "max_rows": 1, "budget": dp.Budget(epsilon=10**6)}
    first, second = (
        dp.protect(postgresql.table(name, database="owned"), name=name, **stated) for name in ("first", "second")
    )
    both = first.join(second, how="semi").count(), first.union(second).count()
    assert [round(one.release(epsilon=1000).to_pyarrow()["count"][0].as_py()) for one in both] == [1, 4]
    pairs = dp.protect_shared(
        postgresql.table("both", database="owned"), each_of=("one", "other"), name="both", budget=stated["budget"]
    )
    assert pairs.truncated_total(most=8).release(epsilon=10**5).at_least() == 6


@pytest.mark.long
def test_of_a_long_text_the_beginning_is_read(postgresql: Any) -> None:
    """Whole, one of 512 MB of quotation marks failed each look for unknown keys. As a unit it names nobody."""
    postgresql.raw_sql(
        "CREATE TABLE owned.long AS SELECT i AS who, repeat('\"', CASE WHEN i <= 90 THEN 3 ELSE 1 << 20 END) AS word"
        " FROM generate_series(1, 180) AS i"
    )
    raw, budget = postgresql.table("long", database="owned"), dp.Budget(epsilon=10**6, delta=0.1)
    table = dp.protect(raw, unit="who", max_rows=1, name="by number", budget=budget)
    whole = table.word.count(where=table.word.strip().lpad(9, "-").length() == 1 << 18)
    assert table.agg(n=whole).release(epsilon=1000)["n"].tolist() == [90]
    found = table.group_by("word", keys=dp.UNKNOWN, max_groups=1).agg(n=lambda t: t.count())
    shown = found.release(epsilon=900, delta=1e-3).to_pyarrow()
    assert [len(word) for word in shown["word"].to_pylist()] == [3, 1 << 18]
    assert [round(n) for n in shown["n"].to_pylist()] == [90, 90]
    by_word = dp.protect(raw, unit="word", max_rows=200, name="by word", budget=budget)
    assert by_word.agg(n=lambda t: t.count()).release(epsilon=10**5)["n"].tolist() == [90]
