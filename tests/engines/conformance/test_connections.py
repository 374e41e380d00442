"""A connection of the curator's: only read, left as it was, silent about its secrets, safe in threads."""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Callable
from typing import Any

import ibis
import pyarrow as pa
import pytest

import discreet as dp
from discreet.engines.engine import FAILED, UNCHARGED
from discreet.query.table import PrivateTable
from neighbor_bench import STORES, plan_of

Backends = Callable[[str], Any]
SECRET = "correct horse battery staple"  # noqa: S105 (made up, and never a key to anything)
DATA = pa.table({"person": [1, 2, 3, 1], "plan": ["a", "b", "a", "zzz"], "x": [1.0, 2.0, 3.0, 4711.25]})


def stored(backend: Any, name: str, data: pa.Table = DATA) -> Any:
    return STORES[backend.name](backend, name, data, temporary=False)


def protected(table: Any, **stated: Any) -> PrivateTable:
    facts: dict[str, Any] = {
        "unit": dp.ROW,
        "bounds": {"x": (0, 5)},
        "keys": {"plan": ["b", "a"]},
        "name": "t",
    } | stated
    return dp.protect(table, budget=dp.Budget(epsilon=10**6), **facts)


def asked(table: PrivateTable) -> dp.Question:
    return table.group_by("plan").agg(n=lambda t: t.count(), m=lambda t: t.x.mean())


def tables(backend: Any) -> list[str]:
    return sorted(backend.list_tables())


def test_a_release_is_what_was_asked(backend_of: Backends, other: str) -> None:
    table = protected(stored(backend_of(other), "visits"))
    answer = asked(table).release(epsilon=10**5)
    assert answer.to_pyarrow()["plan"].to_pylist() == ["b", "a"]
    assert answer["n"].tolist() == [1, 2]
    assert answer["m"].tolist() == pytest.approx([2, 2], abs=0.01)
    assert asked(table).release(epsilon=10**5)["n"].tolist() == [1, 2]
    assert table.budget.spent.epsilon == 10**5  # the second was answered from the record


def test_nothing_is_left_behind(backend_of: Backends, other: str) -> None:
    backend = backend_of(other)
    table = protected(stored(backend, "visits"))
    before = tables(backend)
    asked(table).release(epsilon=1)
    assert tables(backend) == before


@pytest.fixture
def dropped(backend_of: Backends, other: str) -> PrivateTable:
    """A protected table that is dropped before anything is asked of it."""
    backend = backend_of(other)
    table = protected(stored(backend, "to_be_dropped"), name="dropped")
    (backend.drop_view if backend.name == "pyspark" else backend.drop_table)("to_be_dropped")
    return table


def test_a_failure_says_nothing_and_is_paid_for(
    dropped: PrivateTable, other: str, caplog: pytest.LogCaptureFixture
) -> None:
    """On PostgreSQL and Spark, where the types of columns are looked at before the charge, it costs nothing."""
    paid = other not in {"postgresql", "spark"}
    with caplog.at_level(logging.DEBUG), pytest.raises(dp.EngineError) as failure:
        asked(dropped).release(epsilon=1)
    assert str(failure.value) == (FAILED if paid else UNCHARGED)
    assert failure.value.__cause__ is None
    assert failure.value.__context__ is None
    assert dropped.budget.spent.epsilon == int(paid)
    assert "to_be_dropped" in caplog.text  # the curator's log has the cause
    assert {record.name for record in caplog.records if record.exc_info} == {"discreet.curator"}


def test_a_failure_leaves_the_connection_usable(dropped: PrivateTable, backend_of: Backends, other: str) -> None:
    backend = backend_of(other)
    before = tables(backend)
    with pytest.raises(dp.EngineError):
        asked(dropped).release(epsilon=1)
    assert tables(backend) == before
    assert asked(protected(stored(backend, "visits"))).release(epsilon=10**5)["n"].tolist() == [1, 2]


def test_many_threads_meet_no_others_keys(backend_of: Backends, other: str) -> None:
    backend = backend_of(other)
    sizes = {"small": 10, "large": 400}
    found: list[Any] = []
    asks = {}
    for name, size in sizes.items():
        table = protected(stored(backend, name, pa.table({"g": [i % 2 for i in range(size)]})), bounds={}, keys={})
        plan = plan_of(table.group_by("g", keys={"g": [1, 0]}).agg(n=lambda t: t.count()), epsilon=1)
        asks[name] = table._source._engine, plan  # type: ignore[attr-defined]  # the curator's source has it

    def ask(name: str) -> None:
        engine, plan = asks[name]
        found.extend((name, engine.totals(plan)[0].tolist()) for _ in range(5))

    threads = [threading.Thread(target=ask, args=(name,)) for name in sizes for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 20
    assert all(totals == [[sizes[name] // 2]] * 2 for name, totals in found)


def test_what_is_shown_is_what_runs(backend_of: Backends, other: str) -> None:
    """The statement of an explanation names the real table, the scan and the keys, and no row."""
    table = protected(stored(backend_of(other), "visits"))
    text = str(asked(table).explain(epsilon=1)["sql"])
    assert "visits" in text
    assert "__discreet_scan" in text
    assert "zzz" not in text
    assert "4711" not in text


def test_many_keys_come_back_in_their_order(backend_of: Backends, other: str) -> None:
    keys = [i * 7919 % 5003 for i in range(5003)]
    data = pa.table({"k": pa.array([k for k in range(5003) for _ in range(k % 3)], pa.int64())})
    table = protected(stored(backend_of(other), "many", data), bounds={}, keys={})
    question = table.group_by("k", keys={"k": keys}).agg(n=lambda t: t.count())
    [totals] = table._source._engine.totals(plan_of(question, epsilon=1))  # type: ignore[attr-defined]  # as above
    assert totals.ravel().tolist() == [k % 3 for k in keys]


NAMES = ("number", "listed", "found", "raw", "position", "total_0", "rows_0", "k", "l", "p")
"""What statements of ours call a table or a column, or have called it."""


def test_keys_may_have_any_name(backend_of: Backends, other: str) -> None:
    """PostgreSQL numbered the keys in a column `number`: by a key of that name each release failed after its charge."""
    data = pa.table({name: ["a", "b", "a"] for name in NAMES})
    table = protected(stored(backend_of(other), "names", data), bounds={}, keys={})
    for name in NAMES:
        question = table.group_by(name, keys={name: ["a", "b"]}).agg(n=lambda t: t.count())
        [totals] = table._source._engine.totals(plan_of(question, epsilon=1))  # type: ignore[attr-defined]  # as above
        assert totals.ravel().tolist() == [2, 1]


def test_an_empty_table_answers(backend_of: Backends, other: str) -> None:
    for stated in ({"unit": dp.ROW}, {"unit": "person", "max_rows": 1, "max_groups": 1}):
        table = protected(stored(backend_of(other), "nobody", DATA.slice(0, 0)), **stated)
        assert asked(table).release(epsilon=10**5)["n"].tolist() == [0, 0]
        assert table.agg(n=lambda t: t.count()).release(epsilon=10**5)["n"].tolist() == [0]


# -- PostgreSQL alone --------------------------------------------------------------------------------------------------


@pytest.fixture
def postgresql(backend_of: Backends, other: str) -> Any:
    if other != "postgresql":
        pytest.fail("only PostgreSQL asks for this")
    return backend_of(other)


def only(name: str) -> pytest.MarkDecorator:
    """Tests of one engine: `other` is that engine, where it is here."""
    return pytest.mark.engine(name)


@only("postgresql")
def test_secrets_are_not_repeated(postgresql: Any, caplog: pytest.LogCaptureFixture) -> None:
    """Neither a wrong password, nor the right one of a connection that breaks, is in an error, a log or a receipt."""
    import ibis

    info = postgresql.con.info
    postgresql.raw_sql(f"DROP ROLE IF EXISTS reader; CREATE ROLE reader LOGIN PASSWORD '{SECRET}'")
    stored(postgresql, "visits")
    postgresql.raw_sql("GRANT SELECT ON visits TO reader")
    backend = ibis.postgres.connect(host=info.host, user="reader", password=SECRET, database=info.dbname)
    table = protected(backend.table("visits"), name=None)
    with caplog.at_level(logging.DEBUG):
        answer = asked(table).release(epsilon=1)
        told = [repr(table), repr(answer), json.dumps(answer.receipt), str(asked(table).explain(epsilon=1))]
        told += [f"{entry.source} {entry.what}" for entry in table.budget.entries()]
        backend.con.close()
        with pytest.raises(dp.EngineError) as failure:
            asked(table).release(epsilon=2)
        told += [str(failure.value), caplog.text]
    assert not [text for text in told if SECRET in text or "reader" in text]


@only("postgresql")
def test_only_reading_is_asked_for(postgresql: Any) -> None:
    """A role that may read one table and make nothing, not even temporary tables, is enough."""
    import ibis

    info = postgresql.con.info
    stored(postgresql, "visits")
    postgresql.raw_sql("DROP ROLE IF EXISTS meek; CREATE ROLE meek LOGIN; GRANT SELECT ON visits TO meek")
    postgresql.raw_sql("REVOKE TEMPORARY ON DATABASE postgres FROM PUBLIC; REVOKE CREATE ON SCHEMA public FROM PUBLIC")
    backend = ibis.postgres.connect(host=info.host, user="meek", database=info.dbname)
    try:
        assert asked(protected(backend.table("visits"))).release(epsilon=10**5)["n"].tolist() == [1, 2]
    finally:
        backend.disconnect()


@only("postgresql")
def test_a_statement_cannot_write(postgresql: Any) -> None:
    """Whatever the table of the curator's is made of: a function in it that writes fails, and writes nothing."""
    stored(postgresql, "visits")
    postgresql.raw_sql(
        "DROP TABLE IF EXISTS written CASCADE; CREATE TABLE written (n int);"
        "CREATE OR REPLACE FUNCTION writes() RETURNS int LANGUAGE sql VOLATILE AS"
        " 'INSERT INTO public.written VALUES (1) RETURNING n';"
        "CREATE OR REPLACE VIEW writing AS SELECT *, writes() AS w FROM visits"
    )
    table = protected(postgresql.table("writing"), bounds={"x": (0, 5), "w": (0, 5)})
    with pytest.raises(dp.EngineError):
        table.agg(s=lambda t: t.w.sum()).release(epsilon=1)
    assert postgresql.raw_sql("SELECT count(*) FROM written").fetchone() == (0,)


@only("postgresql")
@pytest.mark.parametrize(
    "setting",
    [
        "TimeZone = 'Asia/Tokyo'",
        "DateStyle = 'German'",
        "standard_conforming_strings = off",
        "transform_null_equals = on",
        "extra_float_digits = 0",
        "IntervalStyle = 'sql_standard'",
    ],
)
def test_settings_of_the_callers_move_nothing_and_stay(postgresql: Any, setting: str) -> None:
    import datetime

    name, value = setting.split(" = ")
    evening = datetime.datetime(2026, 1, 1, 20, tzinfo=datetime.UTC)  # in Tokyo it is the next day
    data = pa.table({"at": pa.array([evening, None], pa.timestamp("us", "UTC")), "s": ["a\\b", None]})
    table = protected(stored(postgresql, "moments", data), bounds={}, keys={})
    question = table.agg(
        first=table.at.count(where=table.at.day() == 1), like=table.s.count(where=table.s.like("a\\_")),
        null=table.at.count(where=(table.at == "2026-01-01T20:00").isnull()), all=table.s.count(),
    )  # fmt: skip
    was = postgresql.raw_sql(f"SHOW {name}").fetchone()
    postgresql.raw_sql(f"SET {name} = {value}")
    try:
        answer = question.release(epsilon=10**5)
        shown = postgresql.raw_sql(f"SHOW {name}").fetchone()
    finally:
        postgresql.raw_sql(f"SET {name} = '{was[0]}'")
    assert [answer[column].tolist() for column in ("first", "like", "null", "all")] == [[1], [1], [0], [1]]
    assert str(shown[0]).split(",")[0] == value.strip("'").split(",")[0]


@only("postgresql")
def test_collations_of_the_callers_move_nothing(postgresql: Any) -> None:
    """A column that takes 'north' for 'North' would count a row under both."""
    postgresql.raw_sql(
        "DROP TABLE IF EXISTS wards; DROP COLLATION IF EXISTS blurred;"
        "CREATE COLLATION blurred (provider = icu, locale = 'und-u-ks-level2', deterministic = false);"
        "CREATE TABLE wards (ward text COLLATE blurred, who text COLLATE blurred);"
        "INSERT INTO wards VALUES ('north', 'ann'), ('NORTH', 'Ann'), ('south', 'bob')"
    )
    table = protected(postgresql.table("wards"), bounds={}, keys={"ward": ["north", "North", "south"]})
    assert table.group_by("ward").agg(n=lambda t: t.count()).release(epsilon=10**5)["n"].tolist() == [1, 0, 1]
    assert table.agg(n=table.ward.count(where=table.ward.like("n%"))).release(epsilon=10**5)["n"].tolist() == [1]


@only("postgresql")
def test_a_long_text_makes_no_release_fail(postgresql: Any) -> None:
    """PostgreSQL's TRIM takes eight bytes for each of a text, and no more than 2^30."""
    postgresql.raw_sql(
        "DROP TABLE IF EXISTS words CASCADE;"
        "CREATE TABLE words AS SELECT i AS person, ' a ' AS word FROM generate_series(1, 9) AS i;"
        "INSERT INTO words VALUES (10, repeat('x', 140000000))"
    )
    table = protected(postgresql.table("words"), bounds={}, keys={})
    answer = table.agg(
        both=table.word.count(where=table.word.strip() == "a"),
        left=table.word.count(where=table.word.lstrip() == "a "),
        right=table.word.count(where=table.word.rstrip() == " a"),
    ).release(epsilon=10**5)
    postgresql.raw_sql("DROP TABLE words")
    assert [answer[name].tolist() for name in ("both", "left", "right")] == [[9], [9], [9]]


@only("postgresql")
def test_the_order_of_a_database_is_not_that_of_texts(postgresql: Any) -> None:
    """Of those that were computed, which have no column's collation: 'b' is after 'C', whatever a dictionary says."""
    con = postgresql.con
    con.execute("DROP DATABASE IF EXISTS english")
    con.execute(
        "CREATE DATABASE english ENCODING 'UTF8' LOCALE_PROVIDER icu ICU_LOCALE 'en-US' LOCALE 'C' TEMPLATE template0"
    )
    backend = ibis.postgres.connect(host=con.info.host, user=con.info.user, database="english")
    try:
        assert backend.con.execute("SELECT 'b' < 'C'").fetchone() == (True,)
        table = protected(stored(backend, "visits"), unit="person", max_rows=2, max_groups=1)
        word = ibis.cases((table.x > 2.5, "b"), else_="C")
        by_unit = table.per_unit(last=word.max()).agg(n=lambda t: t.count(where=t.last == "b"))
        by_row = table.agg(n=table.x.count(where=word < "C"), between=table.x.count(where=word.between("B", "Z")))
        answer = by_row.release(epsilon=10**5)
        assert (answer["n"].tolist(), answer["between"].tolist()) == ([0], [2])
        assert by_unit.release(epsilon=10**5)["n"].tolist() == [2]
    finally:
        backend.disconnect()
        con.execute("DROP DATABASE english")


@only("postgresql")
def test_endless_numbers_and_days_lie_within_bounds(postgresql: Any) -> None:
    """What PostgreSQL's types hold and no other's: NaN and infinite decimals, decimals beyond the doubles, and days and
    times before 1 and after 9999, or without an end.
    """
    postgresql.raw_sql(
        "DROP TABLE IF EXISTS endless; CREATE TABLE endless (d numeric, day date, at timestamp, zoned timestamptz);"
        "INSERT INTO endless VALUES ('NaN', 'infinity', 'infinity', 'infinity'),"
        "('1e131000', '-infinity', '-infinity', '-infinity'),"
        "('-Infinity', '4713-01-01 BC', '4713-01-01 BC', '4713-01-01 BC'), "
        "('Infinity', '5874897-12-31', '294276-12-31', null),"
        "('-1e131000', null, null, null), ('1e-16000', '2020-05-05', '2020-05-05', '2020-05-05 01:00+05')"
    )
    table = protected(postgresql.table("endless"), bounds={"d": (-2, 3)}, keys={})
    answer = table.agg(
        total=table.d.sum(), n=table.d.count(), year=table.day.year().sum(), at=table.at.year().sum(),
        day=table.zoned.day().sum()
    ).release(epsilon=10**7 // 20)  # fmt: skip
    assert answer["total"].tolist() == pytest.approx([2 * 3 - 2 * 2], abs=0.01)
    assert answer["n"].tolist() == [5]
    assert answer["year"].tolist() == pytest.approx([2 * 9999 + 2 * 1 + 2020], abs=1)
    assert answer["at"].tolist() == pytest.approx([2 * 9999 + 2 * 1 + 2020], abs=1)
    assert answer["day"].tolist() == pytest.approx([31 + 1 + 1 + 4], abs=0.1)


@only("postgresql")
@pytest.mark.parametrize("type_", ["numeric", "numeric(5,2)", "numeric(30,2)", "float8"])
def test_rows_whose_unit_is_no_number_belong_to_nobody(postgresql: Any, type_: str) -> None:
    postgresql.raw_sql(
        f"DROP TABLE IF EXISTS nobody; CREATE TABLE nobody (person {type_}, v int);"  # noqa: S608 (a type of the test's)
        "INSERT INTO nobody VALUES ('NaN', 1), ('NaN', 1), (NULL, 1), (1, 1), (1.0, 1), (2, 1), (2.5, 1)"
    )
    table = protected(postgresql.table("nobody"), unit="person", bounds={}, keys={}, max_rows=5)
    answer = table.agg(n=table.v.count(), persons=table.person.nunique()).release(epsilon=10**6)
    assert (answer["n"].tolist(), answer["persons"].tolist()) == ([4], [3])


@only("postgresql")
def test_money_is_a_decimal(postgresql: Any) -> None:
    postgresql.raw_sql(
        "DROP TABLE IF EXISTS wages; CREATE TABLE wages (id int, paid money);"
        "INSERT INTO wages VALUES (1, 12.34), (2, -7), (3, NULL), (4, 92233720368547758.07)"
    )
    table = protected(postgresql.table("wages"), unit="id", bounds={"paid": (-5, 20)}, keys={}, max_rows=1)
    answer = table.agg(total=table.paid.sum(), n=table.paid.count()).release(epsilon=10**6)
    assert answer["total"].tolist() == pytest.approx([12.34 - 5 + 20], abs=0.01)
    assert answer["n"].tolist() == [3]


@only("postgresql")
def test_keys_that_cannot_be_held_are_refused_for_nothing(postgresql: Any) -> None:
    table = protected(stored(postgresql, "visits"), keys={"plan": ["a\0b"]})
    with pytest.raises(dp.InvalidQuery, match="keys that PostgreSQL can hold"):
        asked(table).release(epsilon=1)
    assert table.budget.spent.epsilon == 0


@only("postgresql")
def test_a_transaction_of_the_callers_goes_on(postgresql: Any) -> None:
    table = protected(stored(postgresql, "visits"))
    with postgresql.con.transaction():
        postgresql.con.execute("INSERT INTO visits (plan) VALUES ('b')")
        assert asked(table).release(epsilon=10**5)["n"].tolist() == [2, 2]
        postgresql.con.execute("INSERT INTO visits (plan) VALUES ('b')")
    assert asked(table).release(epsilon=10**5, fresh=True)["n"].tolist() == [3, 2]
