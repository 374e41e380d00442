"""Times are read in UTC, wherever a caller's own connection takes itself to be."""

from __future__ import annotations

import datetime

import ibis
import pyarrow as pa
import pytest
from ibis import _

import discreet as dp
from discreet.engines.duckdb import DuckDB
from discreet.planning.planner import price

EVENING = datetime.datetime(2026, 1, 1, 20, tzinfo=datetime.UTC)  # in Tokyo it is the next day


@pytest.mark.parametrize("zone", ["UTC", "Asia/Tokyo", "America/Los_Angeles"])
def test_the_day_of_a_moment_is_that_of_utc(zone: str) -> None:
    connection = ibis.duckdb.connect()
    connection.raw_sql(f"SET TimeZone = '{zone}'")
    connection.create_table("visits", pa.table({"at": pa.array([EVENING], pa.timestamp("us", tz="UTC"))}))
    table = connection.table("visits")
    visits = dp.protect(table, unit=dp.ROW, budget=dp.Budget(epsilon=1), name="visits")
    question = visits.group_by(day=_.at.day(), keys={"day": [1, 2]}).agg(n=_.count())
    [found] = DuckDB(table, None).totals(price(question._query, epsilon=1))
    assert [int(n) for n in found[:, 0]] == [1, 0]
    assert DuckDB(table.select("at"), None).schema == table.schema()  # which goes by no zone
    assert connection.con.execute("SELECT current_setting('TimeZone')").fetchone() == (zone,)
