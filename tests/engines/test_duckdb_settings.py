"""Settings of the curator's connection: each is decided, and none moves a total, raises or is left changed."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from typing import Any

import duckdb
import ibis
import ibis.expr.operations as ops
import pyarrow as pa
import pytest
from ibis import _

import discreet as dp
from discreet.engines import duckdb_settings
from discreet.engines.duckdb import DuckDB
from discreet.engines.duckdb_settings import FIXED, IGNORED, PROTECTED, our_settings, put_in_place
from discreet.engines.engine import UNCHARGED
from neighbor_bench import plan_of

OTHER: dict[str, tuple[str, ...]] = {
    "Calendar": ("japanese", "hebrew", "chinese", "buddhist"),
    "TimeZone": ("Asia/Tokyo", "America/Los_Angeles"),
    "disable_timestamptz_casts": ("true",),
    "default_collation": ("NOCASE", "NOACCENT"),
    "default_null_order": ("NULLS_FIRST",),
    "default_order": ("DESCENDING",),
    "error_on_division_by_zero": ("false",),
    "ieee_floating_point_ops": ("false",),
    "integer_division": ("true",),
    "allow_parser_override_extension": ("FALLBACK", "STRICT"),
    "dialect_compatibility_mode": ("SPARK",),
    "legacy_disable_null_type": ("true",),
    "max_expression_depth": ("20",),
    "order_by_non_integer_literal": ("true",),
    "preserve_identifier_case": ("lowercase", "uppercase"),
    "python_enable_replacements": ("true",),
    "arrow_large_buffer_size": ("true",),
    "arrow_lossless_conversion": ("true",),
    "arrow_output_list_view": ("true",),
    "arrow_output_version": ("1.4", "1.5"),
    "binary_as_string": ("true",),
    "enable_profiling": ("json", "query_tree"),
}
"""What each settled one may be instead, and is tried at."""
UNTRIED = {
    "active_grammar_extensions": "an extension has to be there that brings a grammar",
    "current_dialect": "the same of a dialect",
    "warnings_as_errors": "it belongs to the whole database: such a connection is refused",
    "max_execution_time": "a test of its own: every statement of a test would be short of time",
}
TRIED = [(name, value) for name, values in OTHER.items() for value in values]


def test_every_setting_is_decided() -> None:
    """Once: of those that this version of DuckDB has, none is missing, and none is made up."""
    found = [name for (name,) in duckdb.connect().execute("SELECT name FROM duckdb_settings()").fetchall()]
    decided = [*FIXED, *PROTECTED, *(name for names in IGNORED.values() for name in names)]
    assert sorted(decided) == sorted(found)
    assert set(OTHER) | set(UNTRIED) == set(FIXED)


def moments() -> pa.Array:
    start = datetime.datetime(2026, 1, 1, 20, tzinfo=datetime.UTC)  # in Tokyo it is the next day
    hours = [start + datetime.timedelta(hours=7 * i) for i in range(10)]
    return pa.array([*hours, None], pa.timestamp("us", "UTC"))


def rows(connection: Any) -> dict[str, Any]:
    """A table of every type that is read; another of the same units; and the first once more, elsewhere."""
    frame = pa.table(
        {
            "i": pa.array([*range(-5, 5), None], pa.int64()),
            "x": pa.array([0.5, -0.0, float("nan"), float("inf"), 1e300, 2.5, 3.5, -1.5, 0.1, None, 9.0]),
            "s": pa.array(["a", "A", "é", "e", None, "b", "B", "NULL", "", "a", "A"]),
            "day": pa.array([18_000 + i for i in range(11)], pa.int32()).cast(pa.date32()),
            "at": moments(),
            "ok": pa.array([True, False, None] * 3 + [True, True]),
        }
    )
    connection.con.register("frame", frame)
    connection.raw_sql(
        'CREATE TABLE visits AS SELECT *, "at"::TIMESTAMP AS plain, (i % 3)::HUGEINT AS huge,'
        " ('00000000-0000-0000-0000-00000000000' || (abs(i) % 3))::UUID AS id,"
        " (CASE WHEN ok THEN 'yes' ELSE 'no' END)::ENUM('yes', 'no') AS e, i::DECIMAL(20, 3) AS d FROM frame"
    )
    connection.raw_sql('CREATE TABLE calls AS SELECT huge, id, s, "at" AS called FROM visits WHERE i > -3')
    connection.con.unregister("frame")
    return {name: connection.table(name) for name in ("visits", "calls")}


def questions(tables: dict[str, Any], others: dict[str, Any]) -> list[dp.Question]:
    """Of every type, by every way: rows, units, texts, times, joins here and elsewhere."""
    budget = dp.Budget(epsilon=9)
    bounds = {"i": (-5, 5), "x": (-9, 9), "d": (-5, 5)}
    by_row = dp.protect(tables["visits"], unit=dp.ROW, name="rows", bounds=bounds, budget=budget)
    asked = [
        by_row.group_by("s", keys={"s": ["A", "a", None, "é", "B"]}).agg(n=_.count(), m=_.x.mean(), d=_.d.sum()),
        by_row.group_by(d=_.at.day(), keys={"d": [1, 2, 3, 4]}).agg(n=_.count(), h=_.at.hour().mean(), v=_.i.var()),
        by_row.group_by(y=_.at.year(), keys={"y": [2026, 8, 5786]}).agg(n=_.count(), w=(_.plain.month() / 5).sum()),
        by_row.group_by("day", keys={"day": [datetime.date(2019, 4, 14), None]}).agg(n=_.count()),
        by_row.agg(q=(_.i / 2).sum(), r=(_.i // 2).sum(), m=(_.i % 3).sum(), z=(_.x / 2 // 1).mean(), n=_.e.count()),
        by_row.filter(_.at < "2026-01-03").agg(n=_.count(), k=_.ok.count()),
        by_row.filter((_.s == "a") | (_.e == "yes")).agg(n=_.count(), k=_.s.length().fill_null(0).sum()),
    ]
    for unit in ("huge", "id"):
        facts: dict[str, Any] = {"unit": unit, "max_rows": 2, "max_groups": 2, "budget": budget}
        visits = dp.protect(tables["visits"], name=f"visits by {unit}", bounds=bounds, **facts)
        asked.append(visits.group_by("s", keys={"s": ["a", "A", None]}).agg(n=_.count(), x=_.x.sum()))
        for place, where in (("here", tables), ("there", others)):
            calls = dp.protect(where["calls"], name=f"calls by {unit} {place}", **facts).select("called")
            asked.append(visits.select("i", "x").join(calls).agg(n=_.count(), h=_.called.hour().sum()))
    return asked


def totals(asked: list[dp.Question]) -> list[Any]:
    engines: list[Any] = [question._source._engine for question in asked]  # type: ignore[attr-defined]  # the curator's
    plans = [plan_of(question, epsilon=1) for question in asked]
    return [[block.tolist() for block in engine.totals(plan)] for engine, plan in zip(engines, plans, strict=True)]


def values(raw: Any) -> list[Any]:
    found: list[Any] = raw.execute("SELECT name, value FROM duckdb_settings() ORDER BY name").fetchall()
    return found


class Served:
    """Two databases, questions about them, and what they find where nothing was set."""

    def __init__(self) -> None:
        self.connections = [ibis.duckdb.connect() for _place in range(2)]
        self.tables = [rows(connection) for connection in self.connections]
        self.values = values(self.connections[0].con)
        self.asked = questions(*self.tables)
        self.expected = totals(self.asked)


@pytest.fixture(scope="module")
def served() -> Served:
    return Served()


@pytest.fixture
def given(served: Served, name: str, value: str) -> Iterator[list[Any]]:
    """The databases under a setting of the curator's."""
    connections = [connection.con for connection in served.connections]
    for raw in connections:
        raw.execute(f"SET {name} = '{value}'")
    yield connections
    for raw in connections:
        raw.execute(f"RESET {name}")


@pytest.mark.long
def test_something_is_found(served: Served) -> None:
    assert all(any(any(row) for block in blocks for row in block) for blocks in served.expected)


@pytest.mark.long
@pytest.mark.cases
@pytest.mark.parametrize(("name", "value"), TRIED)
def test_no_setting_moves_a_total(served: Served, given: list[Any], name: str, value: str) -> None:
    """Set between `protect` and the question; and the curator finds all settings as they were."""
    before = [values(raw) for raw in given]
    assert dict(before[0])[name] != dict(served.values)[name], value
    assert totals(served.asked) == served.expected
    assert [values(raw) for raw in given] == before


@pytest.mark.long
def test_many_settings_together_move_no_total(served: Served) -> None:
    """Set before `protect` as well."""
    connections = [connection.con for connection in served.connections]
    for raw in connections:
        for name, (value, *_more) in OTHER.items():
            if name != "max_expression_depth":  # under which DuckDB would not tell of its settings
                raw.execute(f"SET {name} = '{value}'")
    before = [values(raw) for raw in connections]
    try:
        assert totals(questions(*served.tables)) == served.expected
        assert [values(raw) for raw in connections] == before
    finally:
        for raw in connections:
            for name in OTHER:
                raw.execute(f"RESET {name}")


def test_other_connections_see_no_change() -> None:
    """Of the same database: what is set for a look is set for its connection alone."""
    one = duckdb.connect()
    other = one.cursor()
    for name, (value, *_more) in OTHER.items():
        if name not in ("max_expression_depth", "enable_profiling"):
            other.execute(f"SET GLOBAL {name} = '{value}'")
    before, own = values(other), values(one)
    with our_settings(one, {}):
        assert values(other) == before
        assert dict(values(one))["TimeZone"] == "UTC"
    assert values(other) == before
    assert values(one) == own
    other.execute("SET GLOBAL default_collation = 'NOACCENT'")
    assert dict(values(one))["default_collation"] == "NOACCENT"  # nothing of ours stands before what is set later


def test_a_release_fails_for_no_length_of_time() -> None:
    """Which rows could make it take."""
    raw = ibis.duckdb.connect(max_execution_time="5000").con
    told = "SELECT current_setting('max_execution_time')"
    with our_settings(raw, {}):
        assert raw.execute(told).fetchall() == [(0,)]
    assert raw.execute(told).fetchall() == [(5000,)]


def test_settings_come_back_after_a_failure() -> None:
    raw = duckdb.connect()
    raw.execute("SET TimeZone = 'Asia/Tokyo'")
    before = values(raw)
    with pytest.raises(ZeroDivisionError), our_settings(raw, {"search_path": "main"}):
        raise ZeroDivisionError
    assert values(raw) == before


def test_one_setting_that_does_not_come_back_keeps_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    """As when a fault falls between the two statements of one of them."""
    raw = duckdb.connect()
    raw.execute("SET TimeZone = 'Asia/Tokyo'; SET default_null_order = 'NULLS_FIRST'")
    take_back = duckdb_settings._restore

    def failing(raw: Any, name: str, value: Any) -> None:
        take_back(raw, name, value)
        raise ZeroDivisionError

    monkeypatch.setattr(duckdb_settings, "_restore", failing)
    before = values(raw)
    with pytest.raises(ZeroDivisionError), our_settings(raw, {}):
        pass
    assert values(raw) == before


def test_a_connection_of_ours_is_settled_for_good() -> None:
    raw = duckdb.connect()
    put_in_place(raw)
    assert put_in_place(raw) == {}


def test_settings_that_cannot_be_set_are_refused_for_nothing() -> None:
    """At `protect`; and before the charge, where they were locked later."""
    connection = ibis.duckdb.connect()
    connection.raw_sql("CREATE TABLE visits AS SELECT 1 AS person")
    facts: dict[str, Any] = {"unit": "person", "max_rows": 1, "name": "visits"}
    table = dp.protect(connection.table("visits"), budget=dp.Budget(epsilon=1), **facts)
    connection.raw_sql("SET TimeZone = 'Asia/Tokyo'; SET lock_configuration = true")
    with pytest.raises(dp.InvalidParameter, match=r"settings can be set, got .*\n.*lock_configuration"):
        dp.protect(connection.table("visits"), budget=dp.Budget(epsilon=1), **facts)
    with pytest.raises(dp.EngineError) as refusal:
        table.count().release(epsilon=1)
    assert str(refusal.value) == UNCHARGED
    assert table.budget.spent.epsilon == 0


def test_a_connection_that_takes_warnings_for_errors_is_refused() -> None:
    connection = ibis.duckdb.connect()
    connection.raw_sql("CREATE TABLE visits AS SELECT 1 AS person")
    connection.raw_sql("SET enable_logging = true; SET warnings_as_errors = true")
    with pytest.raises(dp.InvalidParameter, match="settings can be set"):
        DuckDB(connection.table("visits"), None)


def test_warnings_that_became_errors_are_refused_for_nothing() -> None:
    """Before the charge, where they raise since the table was protected; some settings of ours warn."""
    connection = ibis.duckdb.connect()
    connection.raw_sql("CREATE TABLE visits AS SELECT 1 AS person")
    table = dp.protect(
        connection.table("visits"), unit="person", max_rows=1, name="visits", budget=dp.Budget(epsilon=1)
    )
    connection.raw_sql("SET enable_logging = true; SET warnings_as_errors = true")
    with pytest.raises(dp.EngineError) as refusal:
        table.count().release(epsilon=1)
    assert str(refusal.value) == UNCHARGED
    assert table.budget.spent.epsilon == 0


def test_settings_come_back_in_a_transaction_that_failed() -> None:
    """In which DuckDB takes no setting; the curator finds it as failed as it was, and nothing of it is written."""
    connection = ibis.duckdb.connect()
    connection.raw_sql("CREATE TABLE visits AS SELECT range AS person FROM range(9)")
    connection.raw_sql(
        "CREATE VIEW bad AS SELECT CASE WHEN person = 7 THEN error('7')::INT ELSE 1 END AS person FROM visits"
    )
    table = dp.protect(connection.table("bad"), unit="person", max_rows=1, name="bad", budget=dp.Budget(epsilon=1))
    connection.raw_sql("SET TimeZone = 'Asia/Tokyo'; SET integer_division = true")
    before = values(connection.con)
    connection.raw_sql("BEGIN; INSERT INTO visits VALUES (100)")
    with pytest.raises(dp.EngineError, match="the charge stays spent"):
        table.count().release(epsilon=1)
    with pytest.raises(duckdb.TransactionException, match="aborted"):
        connection.raw_sql("SELECT 1")
    connection.raw_sql("ROLLBACK")
    assert values(connection.con) == before
    assert connection.con.execute("SELECT max(person) FROM visits").fetchone() == (8,)


@pytest.mark.parametrize("by", ["name", "SQL"])
def test_a_table_is_that_of_the_path_on_which_it_was_protected(by: str) -> None:
    """`USE` would lead its name to another table, of the same columns; a text of SQL is run as it was written."""
    connection = ibis.duckdb.connect()
    connection.raw_sql("CREATE TABLE visits AS SELECT 1 AS person; CREATE SCHEMA other")
    connection.raw_sql("CREATE TABLE other.visits AS SELECT range AS person FROM range(50)")
    rows = connection.table("visits")
    if by == "SQL":
        rows = ops.SQLQueryResult("SELECT * FROM visits", rows.schema(), connection).to_expr()
    table = dp.protect(rows, unit="person", max_rows=1, name="visits", budget=dp.Budget(epsilon=1))
    connection.raw_sql("ALTER TABLE other.visits ALTER person TYPE INTEGER; USE other")
    before = values(connection.con)
    assert totals([table.count()]) == [[[[1]]]]
    assert table.count().release(epsilon=1).to_pyarrow().num_rows == 1  # nor is it refused before the charge
    assert values(connection.con) == before


def test_a_table_that_is_gone_is_no_variable_of_ours() -> None:
    """DuckDB looks for a name that it does not know among the variables of whoever calls it."""
    connection = ibis.duckdb.connect()
    names = ("whole", "statement", "declared", "written")
    for name in names:
        connection.raw_sql(f"CREATE TABLE {name} AS SELECT 1 AS person")
        engine = DuckDB(connection.table(name), None)
        connection.raw_sql(f"DROP TABLE {name}")
        written = pa.table({"person": pa.array([1, 2], pa.int32())})
        with pytest.raises(Exception, match=f"Table with name {name} does not exist"), engine._exclusive():
            del written


@pytest.mark.parametrize("failure", [KeyboardInterrupt(), RuntimeError("Query interrupted")], ids=repr)
@pytest.mark.parametrize("place", range(6))
def test_settings_are_taken_back_through_interrupts(place: int, failure: BaseException) -> None:
    """The curator's settings are theirs again, whenever Ctrl-C falls while they are restored."""
    con = duckdb.connect()
    theirs = {"TimeZone": "Asia/Tokyo", "default_null_order": "NULLS_FIRST", "integer_division": True}
    for name, value in theirs.items():
        con.execute(f"SET SESSION {name} = '{value}'")
    left = [place]

    class Interrupted:
        def execute(self, statement: str) -> Any:
            if statement.startswith(("RESET", "SET")) and entered:
                left[0] -= 1
                if left[0] == -1:
                    raise failure
            return con.execute(statement)

    entered = False
    with pytest.raises(type(failure)), our_settings(Interrupted(), {}):  # noqa: PT012 (a look)
        assert con.execute("SELECT current_setting('TimeZone')").fetchone() == ("UTC",)
        entered = True
    found = {name: con.execute(f"SELECT current_setting('{name}')").fetchone() for name in theirs}
    assert found == {name: (value,) for name, value in theirs.items()}
