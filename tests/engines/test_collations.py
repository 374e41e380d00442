"""Texts are told apart byte by byte, whatever a caller's own database says of them."""

from __future__ import annotations

import ibis
import numpy as np
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
