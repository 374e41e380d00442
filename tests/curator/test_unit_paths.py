"""The path to a unit as it is stated: refused in words where no row could be found by it, and part of what is known."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import ibis
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from ibis import _

import discreet as dp
from discreet.client.remote_declaration import declared
from discreet.curator.release_key import stated
from discreet.errors import InvalidParameter, SourceWarning
from discreet.query.explanation import plan_digest
from discreet.query.table import PrivateTable
from discreet.service.data_sets import DataSet

LINES = pa.table({"order": [1, 1, 2], "v": [1.0, 2.0, 3.0], "paid": [True, True, False], "Person": ["x", "y", "z"]})
ORDERS = pa.table({"key": [1, 2], "unit": ["a", "b"], "text": ["1", "2"], "done": [True, False], "x": [1.0, 2.0]})
BY: dict[str, str] = {"order": "key"}


def protected(lines: Any = LINES, via: Any = ((ORDERS, BY),), unit: Any = "unit", **stated: Any) -> PrivateTable:
    facts: dict[str, Any] = {"budget": dp.Budget(epsilon=100), "name": "lines", "max_rows": 5, **stated}
    return dp.protect(lines, unit=unit, via=via, **facts)


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "no pair": ({"via": ORDERS}, "tables on the way to the unit"),
    "no step": ({"via": []}, "tables on the way to the unit"),
    "a mapping alone": ({"via": {"order": "key"}}, "tables on the way to the unit"),
    "no columns": ({"via": [(ORDERS, {})]}, "tables on the way to the unit"),
    "columns that are no names": ({"via": [(ORDERS, {"order": 1})]}, "tables on the way to the unit"),
    "rows that are units": ({"unit": dp.ROW, "max_rows": None}, "a unit that is a column, at the end of a path"),
    "an unknown foreign key": ({"via": [(ORDERS, {"orders": "key"})]}, "a known column"),
    "an unknown key": ({"via": [(ORDERS, {"order": "keys"})]}, "a known column"),
    "an unknown unit": ({"unit": "units"}, "a known column"),
    "a unit of the table itself": ({"unit": "v"}, "a known column"),
    "keys of two kinds": ({"via": [(ORDERS, {"order": "text"})]}, "keys 'order' and 'text' of the same type"),
    "real keys": ({"via": [(ORDERS, {"v": "x"})]}, "keys that are compared exactly"),
    "truth values": ({"via": [(ORDERS, {"paid": "done"})]}, "keys that are compared exactly"),
    "a unit of truth values": ({"unit": "done"}, "keys that are compared exactly"),
    "a real unit": ({"unit": "x"}, "keys that are compared exactly"),
    "a unit of the same name": (
        {"via": [(ORDERS.rename_columns(["key", "person", "text", "done", "x"]), BY)], "unit": "person"},
        "a unit that is no column of the table itself",
    ),
    "a file that is not there": ({"via": [("no.parquet", BY)]}, "a file that exists"),
    "a CSV file": ({"via": [("orders.csv", BY)]}, "a file that exists"),
    "a table of ours": ({"via": [(ORDERS.append_column("__discreet_x", [[1, 2]]), BY)]}, "other column names"),
    "bounds of the unit": ({"bounds": {"unit": (0, 1)}}, "columns other than the privacy unit"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_no_row_is_found_by_is_refused(name: str) -> None:
    facts, told = REFUSED[name]
    with pytest.raises(InvalidParameter) as refusal:
        protected(**facts)
    assert told in str(refusal.value)
    assert "\nHint: " in str(refusal.value)


def test_tables_of_a_path_are_of_one_connection() -> None:
    one, other = (ibis.duckdb.connect() for _i in range(2))
    lines, orders = one.create_table("lines", LINES), other.create_table("orders", ORDERS)
    for first, second in ((lines, orders), (LINES, orders), (lines, ORDERS)):
        with pytest.raises(InvalidParameter, match="tables of one connection"):
            protected(first, [(second, BY)])


def test_a_step_that_stands_alone_needs_no_list() -> None:
    table = protected(via=(ORDERS, BY))
    assert table.declaration.via == ((("order", "key"),),)
    assert table.columns == ("order", "v", "paid", "Person", "unit")


def test_an_answer_of_another_path_is_another_answer() -> None:
    """And under one ledger it has another name: units that other columns lead to may be other ones."""
    budget, other = dp.Budget(epsilon=1), {**BY, "Person": "text"}
    tables = [protected(via=[(ORDERS, BY)], budget=budget), protected(via=[(ORDERS, other)])]
    assert len({str(stated(table.declaration, "SELECT 1", {})) for table in tables}) == 2
    tables[0].count().release(epsilon=0.1)
    with pytest.raises(InvalidParameter, match="the via that was declared for every version of 'lines'"):
        protected(via=[(ORDERS, other)], budget=budget)
    protected(via=[(ORDERS, other)], budget=budget, name="others")


def test_a_new_version_has_a_path_of_its_own() -> None:
    first = protected(version=1, bounds={"v": (0, 9)})
    with pytest.raises(InvalidParameter, match="the path to the unit of the new rows"):
        first.refreshed(LINES, version=2)
    more = pa.table({"key": [1, 2], "unit": ["c", "c"]})
    later = first.refreshed(LINES, version=2, via=[(more, BY)])
    assert later.declaration.unit == ("unit",)
    assert round(later.agg(n=_.unit.nunique()).release(epsilon=50)["n"].item()) == 1


DECLARED = """\
[table]
source = "lines.parquet"
unit = "unit"
[[table.via]]
source = "orders.parquet"
on = { order = "key" }
[table.limits]
max_rows = 5
[columns.v]
bounds = [0, 9]
[columns.unit]
description = "who ordered"
[budget]
epsilon = 100
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    pq.write_table(LINES, tmp_path / "lines.parquet")
    pq.write_table(ORDERS, tmp_path / "orders.parquet")
    return tmp_path


def opened(folder: Path, *replaced: str, **given: Any) -> PrivateTable:
    text = DECLARED
    for old, new in zip(replaced[::2], replaced[1::2], strict=True):
        assert old in text
        text = text.replace(old, new)
    (folder / "lines.toml").write_text(text)
    table = dp.open(folder / "lines.toml", **given)
    assert isinstance(table, PrivateTable)
    return table


def test_a_declaration_states_the_path(folder: Path) -> None:
    table = opened(folder)
    assert table.declaration.via == ((("order", "key"),),)
    answer = table.agg(n=_.count(), people=_.unit.nunique()).release(epsilon=50)
    assert (round(answer["n"].item()), round(answer["people"].item())) == (3, 2)


def test_a_declaration_states_a_path_through_a_database(folder: Path) -> None:
    warehouse = ibis.duckdb.connect()
    for name, rows in (("lines", LINES), ("orders", ORDERS)):
        warehouse.create_table(name, rows)
    table = opened(
        folder, "lines.parquet", "warehouse:lines", "orders.parquet", "warehouse:main.orders",
        connections={"warehouse": warehouse},
    )  # fmt: skip
    assert round(table.count().release(epsilon=50)["count"].item()) == 3


@pytest.mark.parametrize(
    ("old", "new", "told", "line"),
    [
        ('on = { order = "key" }', 'on = { order = "keys" }', "a known column", 4),
        ('on = { order = "key" }', 'on = "order"', "tables on the way to the unit", 4),
        ('on = { order = "key" }', "", "tables on the way to the unit", 4),
        ('source = "orders.parquet"', 'source = "none.parquet"', "a file that exists", 4),
        ('unit = "unit"\n', 'unit = "row"\n', "no max_rows where each row is a unit of its own", 8),
        ('unit = "unit"', 'unit = "units"', "a known column", 4),
    ],
)
def test_a_refusal_of_a_path_has_its_line(folder: Path, old: str, new: str, told: str, line: int) -> None:
    with pytest.raises(InvalidParameter) as refusal:
        opened(folder, old, new)
    assert told in str(refusal.value)
    assert f"lines.toml, line {line}." in str(refusal.value)


def test_another_table_on_the_way_is_noticed(tmp_path: Path) -> None:
    """Answers are stored by what was stated, and one of the first would be given for the second."""
    lines = pa.table({"k": [1, 2, 3]})
    one, other = pa.table({"k": [1, 2, 3], "u": [1, 2, 3]}), pa.table({"k": [1, 1, 1], "u": [1, 2, 3]})
    budget = dp.Budget(epsilon=10)

    def protected_by(orders: pa.Table, name: str = "lines") -> Any:
        return dp.protect(lines, unit="u", via=[(orders, {"k": "k"})], budget=budget, name=name, max_rows=3)

    protected_by(one)
    protected_by(one)
    with pytest.warns(SourceWarning, match="got another one for name='lines'"):
        protected_by(other)
    protected_by(other, "other lines")


def longer() -> PrivateTable:
    persons = pa.table({"unit": ["a", "b"], "who": ["x", "y"]})
    lines = LINES.rename_columns(["order", "v", "paid", "item"])
    path = [(ORDERS, BY), (persons, {"unit": "unit"})]
    return protected(lines, path, "who", max_groups=1, bounds={"v": (0, 3)}, budget=dp.Budget(epsilon=1000, delta=0.1))


PATH = ["order = key, then unit = unit"]
TELLING: dict[str, Any] = {
    "an account": lambda t: t.count().explain(epsilon=1),
    "an account of a batch": lambda t: dp.batch(a=t.count(), b=t.filter(_.v > 1).count()).explain(epsilon=1),
    "totals": lambda t: t.count().release(epsilon=1).receipt,
    "a batch": lambda t: dp.batch(a=t.count(), b=t.filter(_.v > 1).count()).release(epsilon=1).receipt,
    "a join": lambda t: t.union(t, raise_limits=True).count().release(epsilon=1).receipt,
    "unknown keys": lambda t: (
        t.group_by("item", keys=dp.UNKNOWN).agg(n=_.count()).release(epsilon=1, delta=1e-3).receipt
    ),
    "a reading": lambda t: t.top("item", k=1, keys=["x", "y"], epsilon=1).receipt,
    "distinct values": lambda t: t.count_distinct("item", epsilon=1).receipt,
    "a log": lambda t: dp.release_log(t, user="who", item="item", epsilon=3, delta=1e-3, max_items=1).receipt,
}  # fmt: skip


@pytest.mark.long
@pytest.mark.parametrize("kind", TELLING)
def test_a_path_is_told(kind: str) -> None:
    """It says who is protected, and nothing of the rows: the curator stated it."""
    assert TELLING[kind](longer())["via"] == PATH


def test_a_path_is_shown_and_is_a_part_of_the_plan() -> None:
    account = longer().count().explain(epsilon=1)
    assert "       via  order = key, then unit = unit" in repr(account)
    without = {name: fact for name, fact in account.items() if name != "via"}
    assert plan_digest(without) != plan_digest(account)
    alone = dp.protect(ORDERS, unit="unit", max_rows=1, budget=dp.Budget(epsilon=1), name="alone")
    assert "via" not in alone.count().explain(epsilon=1)


def test_a_path_is_a_public_fact_and_comes_to_a_client() -> None:
    table = longer()
    facts = DataSet(name="lines", table=table, budget=table.budget).facts()
    assert facts["via"] == [{"order": "key"}, {"unit": "unit"}]
    assert declared(facts)[0].via == table.declaration.via
