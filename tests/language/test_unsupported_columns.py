"""A column that is there and not read says so, and what cures it, wherever it is named."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import ibis
import polars as pl
import pyarrow as pa
import pytest
from ibis import _

import discreet as dp
from discreet.errors import DiscreetError, InvalidParameter
from discreet.language.unsupported_columns import cast_first, no_column
from discreet.query.query_steps import UnknownColumn
from discreet.query.table import PrivateTable

TYPES = {
    "UNION(a INT, b VARCHAR)": "UNION(a INT, b TEXT)",
    "STRUCT(a INT)": "struct<a: int32>",
    "INT[]": "array<int32>",
    "INT[3]": "array<int32, 3>",
    "MAP(VARCHAR, INT)": "map<string, int32>",
    "BIT": "BIT",
    "TIME WITH TIME ZONE": "time",
    "TIME": "time",
    "UHUGEINT": "UINT128",
    "BIGNUM": "BIGNUM",
    "JSON": "json",
    "VARIANT": "json",
    "BLOB": "binary",
    "INTERVAL": "interval('us')",
}
"""DuckDB's types that are not read, and what they are called."""
READ = {"ENUM('x', 'y')": "text", "HUGEINT": "real number", "UUID": "text", "TIMESTAMP_NS": "timestamp"}


def table_of(kind: str) -> Any:
    connection = ibis.duckdb.connect()
    connection.raw_sql(f"CREATE TABLE t (person INT, odd {kind}, x DOUBLE)")
    return connection.table("t")


def protected(data: Any, **stated: Any) -> PrivateTable:
    facts: dict[str, Any] = {"unit": "person", "max_rows": 1, "max_groups": 1, "bounds": {"x": (0, 1)}} | stated
    return dp.protect(data, budget=dp.Budget(epsilon=1), **facts)


@pytest.mark.parametrize("kind", TYPES)
def test_every_type_is_called_by_its_name(kind: str) -> None:
    table = protected(table_of(kind))
    assert table.columns == ("person", "x")
    with pytest.raises(UnknownColumn) as refusal:
        table["odd"]
    assert f"'odd' is there, of type {TYPES[kind]}, which is not read." in str(refusal.value)
    assert "CAST(odd AS TEXT) AS odd" in str(refusal.value)


@pytest.mark.parametrize("kind", READ)
def test_types_that_are_read_are_no_refusal(kind: str) -> None:
    table = protected(table_of(kind))
    assert table._columns["odd"].kind.value == READ[kind]
    assert table._closed == {}


DOORS: dict[str, Callable[[PrivateTable], Any]] = {
    "an attribute": lambda t: t.odd,
    "an item": lambda t: t["odd"],
    "a condition": lambda t: t.filter(_.odd == 1),
    "a method": lambda t: t.filter(_.odd.length() > 1),
    "an item of _": lambda t: t.filter(_["odd"] == 1),
    "a lambda": lambda t: t.mutate(y=lambda s: s.odd + 1),
    "an item of a lambda": lambda t: t.mutate(y=lambda s: s["odd"] + 1),
    "a key": lambda t: t.group_by("odd", keys={"odd": [1]}),
    "an unlisted key": lambda t: t.group_by(_.odd, keys=dp.UNKNOWN),
    "an argument": lambda t: t.agg(s=_.odd.sum()),
    "a name as an argument": lambda t: t.agg(s="odd"),
    "a feature": lambda t: t.per_unit(s=_.odd.sum()),
    "a predictor": lambda t: t.regress("x", "odd"),
    "select": lambda t: t.select("odd"),
    "drop": lambda t: t.drop("odd"),
    "rename": lambda t: t.rename(new="odd"),
    "cast": lambda t: t.cast({"odd": "string"}),
    "cut": lambda t: t.cut("odd", [0, 1]),
    "a later step": lambda t: t.filter(_.x > 0).select("x").filter(_.odd > 1),
    "a key of a join": lambda t: t.join(dp.public(pa.table({"odd": [1]})), "odd"),
    "a column after a join": lambda t: t.select("x", "person").join(t, "person", how="semi").filter(_.odd == 1),
    "an item of a log": lambda t: dp.release_log(t, user="person", item="odd", epsilon=1, delta=1e-6),
    "SQL's argument": lambda t: dp.sql("SELECT SUM(odd) FROM t", t=t),
    "SQL's condition": lambda t: dp.sql("SELECT COUNT(*) FROM t WHERE t.ODD > 3", t=t),
    "SQL's key": lambda t: dp.sql("SELECT odd, COUNT(*) FROM t GROUP BY odd", t=t),
    "SQL's quotes": lambda t: dp.sql('SELECT COUNT("odd") FROM t', t=t),
    "SQL's USING": lambda t: dp.sql("SELECT COUNT(*) FROM t a JOIN t b USING (person, odd)", t=t),
    "SQL's ON": lambda t: dp.sql("SELECT COUNT(*) FROM t a JOIN t b ON a.person = b.person AND a.x = b.odd", t=t),
    "SQL's joined tables": lambda t: dp.sql("SELECT SUM(b.odd) FROM t a JOIN t b USING (person)", t=t),
}


@pytest.mark.long
@pytest.mark.parametrize("door", DOORS)
def test_every_door_says_that_it_is_there(door: str) -> None:
    table = protected(table_of("INT[]"))
    with pytest.raises(DiscreetError) as refusal:
        DOORS[door](table)
    assert str(refusal.value).startswith("Expected a column of numbers, truth values, text or dates, got ")
    assert "'odd' is there, of type array<int32>" in str(refusal.value)
    assert table.budget.spent.epsilon == 0


@pytest.mark.parametrize(
    "stated", [{"unit": "odd"}, {"unit": ["person", "odd"]}, {"bounds": {"odd": (0, 1)}}, {"keys": {"odd": ["a"]}}]
)
def test_the_curator_is_told_as_well(stated: dict[str, Any]) -> None:
    with pytest.raises(InvalidParameter, match="'odd' is there, of type struct<a: int32>, which is not read"):
        protected(table_of("STRUCT(a INT)"), **stated)


def test_a_table_of_such_columns_alone_is_refused() -> None:
    connection = ibis.duckdb.connect()
    connection.raw_sql("CREATE TABLE t (a INT[], b BIT)")
    with pytest.raises(InvalidParameter, match=r"truth values, text or dates, got columns=\['a', 'b'\]"):
        dp.protect(connection.table("t"), unit=dp.ROW, budget=dp.Budget(epsilon=1))


def test_the_second_table_of_a_join_says_it_too() -> None:
    connection = ibis.duckdb.connect()
    connection.raw_sql("CREATE TABLE a (person INT, x DOUBLE); CREATE TABLE b (person INT, y DOUBLE, odd BIT)")
    budget = dp.Budget(epsilon=1)
    one, other = (dp.protect(connection.table(n), unit="person", max_rows=1, budget=budget) for n in "ab")
    public = dp.public(pa.table({"y": [1], "tags": [[1]]}))
    assert "'odd' is there, of type BIT" in str(_refused(lambda: one.join(other).filter(_.odd == 1)))
    assert public.closed == {"tags": "list<item: int64>"}
    assert "'tags' is there" in str(_refused(lambda: one.mutate(y=1).join(public, "tags")))
    assert "'tags' is there" in str(_refused(lambda: one.mutate(y=1).join(public, "y").filter(_.tags == 1)))


def _refused(ask: Callable[[], Any]) -> DiscreetError:
    with pytest.raises(DiscreetError) as refusal:
        ask()
    return refusal.value


FRAMES: dict[str, Callable[[], Any]] = {
    "Arrow": lambda: pa.table({"person": [1], "odd": [[1]], "money": [Decimal(1)]}),
    "Polars": lambda: pl.DataFrame({"person": [1], "odd": [[1]], "money": [Decimal(1)]}),
}


@pytest.mark.parametrize("frame", FRAMES)
def test_columns_that_a_frame_leaves_out_are_named(frame: str) -> None:
    table = protected(FRAMES[frame](), bounds={})
    assert table.columns == ("person", "money")
    assert "'odd' is there, of type " in str(_refused(lambda: table.odd))


def test_a_new_column_may_have_the_name() -> None:
    table = protected(table_of("INT[]")).mutate(odd=_.x)
    assert table.filter(_.odd > 1).columns == ("person", "x", "odd")


def test_it_is_no_attribute() -> None:
    assert not hasattr(protected(table_of("INT[]")), "odd")


def test_names_that_are_nowhere_are_unknown() -> None:
    assert no_column("od", ["x"], {"odd": "bit"}).startswith("Expected a known column, got column='od'.")
    table = protected(table_of("INT[]"))
    for ask in (lambda: table.select("od"), lambda: dp.sql("SELECT SUM(od) FROM t", t=table)):
        assert "Expected a known column" in str(_refused(ask))
    assert "Expected a column or a verb of the table, got .od." in str(_refused(lambda: table.od))


@pytest.mark.parametrize(("name", "quoted"), [("a b", '"a b"'), ("Plan", '"Plan"'), ('x"y', '"x""y"'), ("ok", "ok")])
def test_the_cure_quotes_names(name: str, quoted: str) -> None:
    assert cast_first(name, "bit").endswith(f"AS SELECT CAST({quoted} AS TEXT) AS {quoted}, ...")
