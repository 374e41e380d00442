"""Texts are told apart byte by byte, whatever a caller's own database says of them."""

from __future__ import annotations

from typing import Any

import ibis
import numpy as np
import pyarrow as pa
import pytest

import discreet as dp
from discreet.engines.duckdb import DuckDB
from discreet.planning.planner import price

WARDS = ["north", "North", "south"]


def totals(setting: str, column: str) -> list[int]:
    """The exact number of rows of each ward, in a database of the caller's that has a collation."""
    connection = ibis.duckdb.connect()
    connection.raw_sql(f"CREATE TABLE visits (ward {column}); {setting}")
    connection.raw_sql("INSERT INTO visits VALUES ('north'), ('NORTH'), ('south')")
    table = connection.table("visits")
    visits = dp.protect(table, unit=dp.ROW, budget=dp.Budget(epsilon=1), name="visits")
    question = visits.group_by(same=visits.ward, keys={"same": WARDS}).agg(n=lambda t: t.count())
    [found] = DuckDB(table, None).totals(price(question._query, epsilon=1))
    assert isinstance(found, np.ndarray)
    return [int(n) for n in found[:, 0]]


@pytest.mark.parametrize(
    ("setting", "column"),
    [("", "VARCHAR"), ("", "VARCHAR COLLATE NOCASE"), ("SET default_collation = 'nocase'", "VARCHAR")],
    ids=["none", "column", "connection"],
)
def test_a_row_counts_in_one_group(setting: str, column: str) -> None:
    """With a collation that ignores case, the row "north" would count under "north" and under "North"."""
    assert totals(setting, column) == [1, 0, 1]


def test_the_callers_setting_comes_back() -> None:
    connection = ibis.duckdb.connect()
    connection.raw_sql("CREATE TABLE visits AS SELECT 'north' AS ward; SET default_collation = 'nocase'")
    visits = dp.protect(connection.table("visits"), unit=dp.ROW, budget=dp.Budget(epsilon=1), name="visits")
    visits.count().release(epsilon=1)
    assert connection.raw_sql("SELECT current_setting('default_collation')").fetchone() == ("nocase",)


@pytest.mark.parametrize("column", ["VARCHAR", "VARCHAR COLLATE NOCASE", "town"])
def test_units_are_told_apart_as_text(column: str) -> None:
    """A type that only looks like text has an equality of its own, or takes no collation, and no release would work."""
    connection = ibis.duckdb.connect()
    connection.raw_sql(f"CREATE TYPE town AS ENUM ('north', 'NORTH'); CREATE TABLE visits (ward {column})")
    connection.raw_sql("INSERT INTO visits VALUES ('north'), ('NORTH'), ('NORTH'), (NULL)")
    visits = dp.protect(
        connection.table("visits"), unit="ward", max_rows=1, budget=dp.Budget(epsilon=1e6), name="visits"
    )
    assert visits.agg(n=lambda t: t.count(), u=lambda t: t.ward.nunique()).release(epsilon=1e5)["n"].tolist() == [2]


SETS = {
    "both": lambda one, other: one.intersect(other),
    "the first alone": lambda one, other: one.difference(other),
    "either": lambda one, other: one.union(other).distinct(),
    "a join": lambda one, other: one.join(other.rename(again="n"), ["who", "ward"]),
}
ALIKE = [
    ("", "north", "NORTH"),
    ("NOCASE", "north", "NORTH"),
    ("NOACCENT", "\u00e9", "e"),
    ("NFC", "\u00e9", "e\u0301"),
]


@pytest.mark.long
@pytest.mark.parametrize("beside", ["the same connection", "another connection", "a frame"])
@pytest.mark.parametrize("apart", ["who", "ward"])
@pytest.mark.parametrize(("collation", "first", "second"), ALIKE, ids=[name or "none" for name, *_ in ALIKE])
def test_rows_of_two_tables_are_compared_byte_by_byte(
    collation: str, first: str, second: str, apart: str, beside: str
) -> None:
    """DuckDB compares the rows of INTERSECT and EXCEPT by the collations of columns below COLLATE C: a row of one unit
    then stood for those of any number of others.
    """
    written = f"VARCHAR COLLATE {collation}" if collation else "VARCHAR"
    rows = [{"who": "a", "ward": "b", "n": 1, apart: text} for text in (first, second)]
    connections = [ibis.duckdb.connect() for _ in rows]
    sources: list[Any] = []
    for place, row in enumerate(rows):
        connection = connections[place if beside == "another connection" else 0]
        connection.raw_sql(f"CREATE TABLE visits_{place} (who {written}, ward {written}, n INT)")
        connection.raw_sql(f"INSERT INTO visits_{place} VALUES ('{row['who']}', '{row['ward']}', 1)")  # noqa: S608 (ours)
        sources.append(connection.table(f"visits_{place}"))
    if beside == "a frame":
        sources[1] = pa.table({name: [value] for name, value in rows[1].items()})
    budget = dp.Budget(epsilon=1)
    one, other = (
        dp.protect(data, unit="who", max_rows=2, budget=budget, name=f"visits {place}")
        for place, data in enumerate(sources)
    )
    for how, expected in {"both": 0, "the first alone": 1, "either": 2, "a join": 0}.items():
        question = SETS[how](one, other).count()
        [found] = question._source._engine.totals(price(question._query, epsilon=1))
        assert found.tolist() == [[expected]], how
