"""The engine answers, or says one thing for every failure; it leaves nothing behind, and threads do not meet."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import Any

import ibis
import pyarrow as pa
import pytest

import discreet as dp
import discreet.engines.duckdb as engine_module
from discreet.engines.duckdb import DuckDB
from discreet.engines.engine import FAILED, INTERRUPTED, UNCHARGED, hide_failure_details
from discreet.query.table import PrivateTable
from neighbor_bench import plan_of

PRIVATE = "4711 is what one row holds"
DATA = pa.table({"person": [1, 2, 3], "plan": ["a", "b", "a"], "x": [1.0, 2.0, 3.0]})


def protected(data: Any) -> PrivateTable:
    return dp.protect(data, unit=dp.ROW, bounds={"x": (0, 5)}, budget=dp.Budget(epsilon=9), name="t")


@pytest.fixture
def broken(monkeypatch: pytest.MonkeyPatch) -> DuckDB:
    """An engine whose every statement fails with a row in its message."""
    monkeypatch.setattr(engine_module, "totals", lambda *_, **__: ibis.table({"x": "int64"}, name=PRIVATE))
    return DuckDB(DATA, None)


def test_every_failure_says_the_same(broken: DuckDB, caplog: pytest.LogCaptureFixture) -> None:
    plan = plan_of(protected(DATA).count(), epsilon=1)
    with caplog.at_level(logging.DEBUG), pytest.raises(dp.EngineError) as failure:
        broken.totals(plan)
    assert str(failure.value) == FAILED
    assert failure.value.__cause__ is None
    assert failure.value.__context__ is None
    assert PRIVATE in caplog.text  # the curator's log has the cause
    assert {record.name for record in caplog.records if PRIVATE in str(record.exc_info)} == {"discreet.curator"}


def test_a_failure_claims_a_charge_where_there_was_one(caplog: pytest.LogCaptureFixture) -> None:
    for charged, said in ((True, FAILED), (False, UNCHARGED)):
        with pytest.raises(dp.EngineError) as failure:
            hide_failure_details(lambda: 1 / 0, charged=charged)
        assert str(failure.value) == said
        assert ("the charge stays spent" in said, "nothing was charged" in said) == (charged, not charged)
    assert "charge" not in "".join(record.getMessage() for record in caplog.records)


def test_nothing_is_printed_where_nobody_logs(broken: DuckDB, capfd: pytest.CaptureFixture[str]) -> None:
    plan = plan_of(protected(DATA).count(), epsilon=1)
    with pytest.raises(dp.EngineError):
        broken.totals(plan)
    assert PRIVATE not in "".join(capfd.readouterr())


def test_a_failure_leaves_the_engine_usable(monkeypatch: pytest.MonkeyPatch) -> None:
    engine, plan = DuckDB(DATA, None), plan_of(protected(DATA).count(), epsilon=1)
    with monkeypatch.context() as patch:
        patch.setattr(engine_module, "totals", lambda *_, **__: ibis.table({"x": "int64"}, name=PRIVATE))
        with pytest.raises(dp.EngineError):
            engine.totals(plan)
    other = plan_of(protected(DATA).filter(lambda t: t.x > 1).count(), epsilon=1)
    assert engine.totals(other)[0].tolist() == [[2]]


class Ended:
    """A connection whose database was ended by a failure: nothing that it is asked is answered any more."""

    def cursor(self) -> Any:
        return self

    def close(self) -> None: ...

    def execute(self, *_: object) -> Any:
        raise RuntimeError(PRIVATE)

    sql = execute


def test_a_connection_of_ours_is_asked_for_life_once_something_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    """As long as each question was answered, it can be closed, and not dead in another way."""
    table: Any = protected(DATA)
    engine, plan = table._source._engine, plan_of(table.count(), epsilon=1)
    table.count().release(epsilon=1)
    assert engine.totals(plan)[0].tolist() == [[3]]
    monkeypatch.setattr(engine._backend, "con", Ended())
    with pytest.raises(dp.EngineError):
        table.count().release(epsilon=2)
    assert table.budget.spent.epsilon == 3  # nothing had failed before
    with pytest.raises(dp.EngineError, match="nothing was charged"):
        table.count().release(epsilon=4)
    monkeypatch.undo()
    engine._backend.con.close()
    for answered in (True, False):
        engine._lock.was_answered = answered
        with pytest.raises(dp.EngineError, match="nothing was charged"):
            table.count().release(epsilon=8)
    assert table.budget.spent.epsilon == 3


def test_who_interrupts_a_query_is_heard_and_a_row_is_not() -> None:
    def interrupted() -> None:
        raise RuntimeError(INTERRUPTED)

    with pytest.raises(KeyboardInterrupt) as stop:
        hide_failure_details(interrupted)
    assert stop.value.__context__ is None
    connection = ibis.duckdb.connect()
    connection.raw_sql("CREATE VIEW visits AS SELECT error('Query interrupted')::DOUBLE AS x FROM range(3)")
    table = protected(connection.table("visits"))
    with pytest.raises(dp.EngineError):
        table.agg(s=lambda t: t.x.sum()).release(epsilon=1)
    assert table.budget.spent.epsilon == 1


@pytest.mark.parametrize("kind", ["TABLE", "VIEW"])
def test_a_temporary_table_takes_no_other_ones_place(kind: str) -> None:
    """DuckDB looks for a name among temporary tables first: one that was made after `protect` was once counted."""
    connection = ibis.duckdb.connect()
    connection.con.execute("CREATE SCHEMA s; CREATE TABLE s.t AS SELECT 1 AS v FROM range(7)")
    connection.con.execute("CREATE TABLE t AS SELECT 1 AS v FROM range(5)")
    connection.con.execute(f"CREATE TEMP {kind} first AS SELECT 1 AS v FROM range(3)")  # noqa: S608 (ours)
    facts: dict[str, Any] = {"unit": dp.ROW, "budget": dp.Budget(epsilon=10**7)}
    tables = [connection.table("t"), connection.table("t", database="s"), connection.table("first")]
    made = [dp.protect(one, name=f"t{i}", **facts) for i, one in enumerate(tables)]
    connection.con.execute(f"CREATE TEMP {kind} t AS SELECT 1 AS v FROM range(2)")  # noqa: S608 (ours)
    connection.con.execute("CREATE TABLE first AS SELECT 1 AS v FROM range(1)")
    counts = [one.count().release(epsilon=10**6).to_pyarrow()["count"][0].as_py() for one in made]
    assert counts == [5, 7, 3]


def test_names_are_alike_in_any_case_as_they_are_for_duckdb() -> None:
    """A name that was written in another case once stayed open, and a temporary table took its place."""
    connection = ibis.duckdb.connect()
    connection.con.execute("CREATE SCHEMA S; CREATE TABLE S.t AS SELECT 1 AS v FROM range(7)")
    connection.con.execute("CREATE TABLE visits AS SELECT 1 AS v FROM range(5)")
    facts: dict[str, Any] = {"unit": dp.ROW, "budget": dp.Budget(epsilon=10**7)}
    tables = [connection.table("Visits"), connection.table("T", database="s")]
    made = [dp.protect(one, name=f"t{i}", **facts) for i, one in enumerate(tables)]
    connection.con.execute("CREATE TEMP TABLE visits AS SELECT 1 AS v FROM range(2)")
    connection.con.execute("CREATE TEMP TABLE t AS SELECT 1 AS v FROM range(2)")
    counts = [one.count().release(epsilon=10**6).to_pyarrow()["count"][0].as_py() for one in made]
    assert counts == [5, 7]


SEEN: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "a view": ("CREATE VIEW seen AS SELECT * FROM Visits", lambda one: one.table("seen")),
    "a macro": (
        "CREATE MACRO k() AS (SELECT count(*) FROM Visits); CREATE VIEW seen AS FROM range(9) v(v) WHERE v < k()",
        lambda one: one.table("seen"),
    ),
    "a query": ("SELECT 1", lambda one: one.sql("SELECT * FROM Visits", schema={"v": "int32"})),
}


@pytest.mark.parametrize("by", SEEN)
def test_a_temporary_table_takes_no_place_in_a_view(by: str) -> None:
    """DuckDB finds the names in a view anew at each look: one that would find another table is refused, uncharged."""
    connection = ibis.duckdb.connect()
    connection.con.execute("CREATE TABLE visits AS SELECT 1 AS v FROM range(5); CREATE TEMP TABLE before AS SELECT 1")
    made, seen = SEEN[by]
    connection.con.execute(made)
    table = dp.protect(seen(connection), unit=dp.ROW, budget=dp.Budget(epsilon=10**7), name="seen")
    connection.con.execute("CREATE TEMP TABLE other AS SELECT 1 AS v")
    assert table.count().release(epsilon=10**6).to_pyarrow()["count"][0].as_py() == 5
    connection.con.execute("CREATE TEMP TABLE visits AS SELECT 1 AS v FROM range(2)")
    with pytest.raises(dp.EngineError, match="nothing was charged"):
        table.count().release(epsilon=10)
    connection.con.execute("DROP TABLE temp.visits")
    assert table.budget.spent.epsilon == 10**6


@pytest.mark.parametrize(
    "made",
    [
        "CREATE OR REPLACE TABLE visits (person BIGINT, cost VARCHAR)",
        "CREATE OR REPLACE TABLE visits (person BIGINT, cost BIGINT)",
        "CREATE OR REPLACE TABLE visits (cost DOUBLE, person BIGINT)",
        "CREATE OR REPLACE TABLE visits (person BIGINT, price DOUBLE)",
    ],
)
@pytest.mark.parametrize("step", [lambda one: one, lambda one: one.filter(one.person > 0), lambda one: one.union(one)])
def test_a_table_that_was_named_before_it_changed_is_refused(made: str, step: Callable[[Any], Any]) -> None:
    """Of a text that is taken for a number, one row decided whether each release failed, after its charge."""
    connection = ibis.duckdb.connect()
    connection.con.execute("CREATE TABLE visits (person BIGINT, cost DOUBLE)")
    visits = connection.table("visits")
    connection.con.execute(made)
    facts: dict[str, Any] = {"unit": "person", "max_rows": 1, "budget": dp.Budget(epsilon=1)}
    with pytest.raises(dp.InvalidParameter, match="columns and types that its connection has now"):
        dp.protect(step(visits), **facts)
    assert "person" in dp.protect(step(connection.table("visits")), **facts).columns


def test_a_query_that_states_other_types_is_refused() -> None:
    connection = ibis.duckdb.connect()
    stated = connection.sql("SELECT 1 AS person, 'a' AS cost", schema={"person": "int32", "cost": "float64"})
    with pytest.raises(dp.InvalidParameter, match="columns and types that its connection has now"):
        dp.protect(stated, unit="person", max_rows=1, budget=dp.Budget(epsilon=1))


def test_nothing_is_left_in_the_callers_database() -> None:
    connection = ibis.duckdb.connect()
    table = protected(connection.create_table("visits", DATA))

    def names() -> list[Any]:
        return sorted(
            connection.con.sql(
                "SELECT table_name FROM duckdb_tables() UNION SELECT view_name FROM duckdb_views() WHERE NOT internal"
            ).fetchall()
        )

    before = names()
    table.group_by("plan", keys={"plan": ["a", "b"]}).agg(n=lambda t: t.count()).release(epsilon=1)
    assert names() == before == [("visits",)]


def test_columns_that_are_not_asked_about_are_not_scanned() -> None:
    """Of a wide table each would be looked into at every release."""
    table = protected(DATA)
    engine, plan = DuckDB(DATA, None), plan_of(table.filter(lambda t: t.x > 1).count(), epsilon=1)
    scan = engine.script(plan).partition(") SELECT")[0]
    assert '"x"' in scan
    assert '"plan"' not in scan
    assert '"person"' not in scan
    assert engine.totals(plan)[0].tolist() == [[2]]
    assert engine.totals(plan_of(table.count(), epsilon=1))[0].tolist() == [[3]]


def test_one_connection_serves_two_tables_in_many_threads() -> None:
    connection = ibis.duckdb.connect()
    sizes = {"small": 10, "large": 5000}
    engines = {
        name: DuckDB(connection.create_table(name, pa.table({"g": [i % 2 for i in range(n)]})), None)
        for name, n in sizes.items()
    }
    table = dp.protect(connection.table("small"), unit=dp.ROW, budget=dp.Budget(epsilon=1))
    plan = plan_of(table.group_by("g", keys={"g": [0, 1]}).agg(n=lambda t: t.count()), epsilon=1)
    wrong: list[tuple[str, Any]] = []

    def ask(name: str) -> None:
        for _ in range(10):
            found = engines[name].totals(plan)[0].tolist()
            if found != [[sizes[name] // 2]] * 2:
                wrong.append((name, found))

    threads = [threading.Thread(target=ask, args=(name,)) for name in sizes for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_statements_do_not_depend_on_rows() -> None:
    def statement(data: pa.Table) -> str:
        table = protected(data)
        asked = table.filter(table.x > 1).group_by("plan", keys={"plan": ["a"]}).agg(m=lambda t: t.x.mean())
        return str(asked.explain(epsilon=1)["sql"])

    rows = pa.table({"person": [None, -5], "plan": ["zzz", None], "x": [float("nan"), 1e308]}, schema=DATA.schema)
    assert "zzz" not in statement(rows)
    assert _without_numbers(statement(DATA)) == _without_numbers(statement(rows))


def _without_numbers(text: str) -> str:
    """Without the running numbers of our frames."""
    return "".join(part for part in text.split('"') if not part.startswith("frame_"))


def test_more_groups_than_fit_in_a_vector() -> None:
    """Keys come back in their order, whatever the number of threads and vectors."""
    keys = [i * 7919 % 20_011 for i in range(20_011)]
    data = pa.table({"k": pa.array([k for k in range(20_011) for _ in range(k % 3)], pa.int64())})
    table = dp.protect(data, unit=dp.ROW, budget=dp.Budget(epsilon=1))
    plan = plan_of(table.group_by("k", keys={"k": keys}).agg(n=lambda t: t.count()), epsilon=1)
    [totals] = DuckDB(data, None).totals(plan)
    assert totals.ravel().tolist() == [k % 3 for k in keys]


def test_order_survives_a_connection_that_gives_it_up() -> None:
    connection = ibis.duckdb.connect()
    connection.raw_sql("SET preserve_insertion_order = false")
    keys = [i * 7919 % 20_011 for i in range(20_011)]
    data = pa.table({"k": pa.array([k for k in range(20_011) for _ in range(k % 3)], pa.int64())})
    table = dp.protect(connection.create_table("k", data), unit=dp.ROW, budget=dp.Budget(epsilon=1))
    plan = plan_of(table.group_by("k", keys={"k": keys}).agg(n=lambda t: t.count()), epsilon=1)
    [totals] = DuckDB(connection.table("k"), None).totals(plan)
    assert totals.ravel().tolist() == [k % 3 for k in keys]


@pytest.mark.long
@pytest.mark.parametrize(
    "setting",
    [
        "SET integer_division = true",
        "SET ieee_floating_point_ops = false",
        "SET default_null_order = 'nulls_first'",
        "SET TimeZone = 'Asia/Tokyo'",
        "SET threads = 1",
        "PRAGMA enable_verification",
        "PRAGMA disable_optimizer",
    ],
)
def test_settings_of_the_callers_database_move_nothing(setting: str) -> None:
    data = DATA.append_column("at", pa.array([0, 10**15, None], pa.int64()).view(pa.timestamp("us")))
    connection = ibis.duckdb.connect()
    connection.raw_sql(setting)
    table = protected(data)
    asked = table.group_by("plan", keys={"plan": ["b", "a", None]}).agg(
        m=(table.x / 2 // 1).mean(), s=(table.x % 2).sum(), h=table.at.hour().var(), n=table.at.count()
    )
    plan = plan_of(asked, epsilon=1)
    expected = DuckDB(data, None).totals(plan)
    found = DuckDB(connection.create_table("t", data), None).totals(plan)
    assert [block.tolist() for block in found] == [block.tolist() for block in expected]


def test_a_table_in_the_place_of_keys_costs_nothing() -> None:
    """Under our name for keys: a question with keys once failed after its charge, every time."""
    connection = ibis.duckdb.connect()
    connection.con.execute("CREATE TABLE visits AS SELECT 1 AS v FROM range(5)")
    table = dp.protect(connection.table("visits"), unit=dp.ROW, budget=dp.Budget(epsilon=1), name="visits")
    connection.con.execute("CREATE TEMP TABLE __DISCREET_KEYS AS SELECT 1 AS v")
    question = table.group_by("v", keys={"v": [1, 2]}).agg(n=lambda t: t.count())
    with pytest.raises(dp.EngineError, match="nothing was charged"):
        question.release(epsilon=0.5)
    assert table.budget.spent.epsilon == 0
    connection.con.execute("DROP TABLE temp.__discreet_keys")
    assert len(question.release(epsilon=0.5)) == 2
