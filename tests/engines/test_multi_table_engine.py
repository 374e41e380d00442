"""Which tables one statement can name together. No server is needed here; see `conformance/test_several.py`."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import ibis
import pyarrow as pa
import pytest

import discreet as dp
from discreet.engines import multi_table_engine as module
from discreet.engines.connected_engine import Connected
from discreet.engines.duckdb import DuckDB
from discreet.engines.multi_table_engine import TablePart, several_tables
from discreet.engines.postgresql import PostgreSQL
from discreet.engines.spark import Spark
from discreet.errors import InvalidQuery
from discreet.privacy.declaration import Declaration
from neighbor_bench import plan_of


class Connection:
    """One that nothing is asked of but the server's encoding."""

    info = SimpleNamespace(parameter_status={"server_encoding": "UTF8"}.get)


@pytest.fixture(autouse=True)
def _types_as_ibis_has_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """PostgreSQL tells the types of its columns, and Spark what its session means; here is no server to ask."""
    monkeypatch.setattr(PostgreSQL, "_describe", lambda _, raw: (raw, {}))
    for name in ("_settled", "_changed"):
        monkeypatch.setattr(Spark, name, lambda _: "")


def engine(kind: Any, connection: Connection) -> Connected:
    raw = ibis.table({"person": "int64"}, name="t")
    made: Connected = kind(SimpleNamespace(con=connection, _session=connection), raw)
    return made


def part(found: Connected, name: str) -> TablePart:
    return TablePart(Declaration(name=name), found)


def public(**columns: Any) -> TablePart:
    return TablePart(Declaration(name="public"), rows=pa.table(columns))


@pytest.mark.parametrize("kind", [PostgreSQL, Spark])
def test_tables_of_another_connection_are_refused_by_name(kind: Any) -> None:
    here = Connection()
    mine, near, far = engine(kind, here), engine(kind, here), engine(kind, Connection())
    assert several_tables((part(mine, "visits"), part(near, "calls"))).parts[1].engine is near
    with pytest.raises(InvalidQuery, match=r"one connection, got tables='visits and calls'\.\nHint: make both"):
        several_tables((part(mine, "visits"), part(far, "calls")))


@pytest.mark.parametrize("kind", [PostgreSQL, Spark])
def test_tables_of_two_engines_are_refused_by_name(kind: Any) -> None:
    inside = DuckDB(pa.table({"person": [1]}), None)
    pair = part(inside, "visits"), part(engine(kind, Connection()), "calls")
    for parts in (pair, pair[::-1]):
        with pytest.raises(InvalidQuery, match="tables of one connection"):
            several_tables(parts)


def test_public_rows_that_cannot_be_sent_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    mine = {kind: part(engine(kind, Connection()), "visits") for kind in (PostgreSQL, Spark)}
    with pytest.raises(InvalidQuery, match="text that PostgreSQL can hold"):
        several_tables((mine[PostgreSQL], public(plan=["a", None, "b\0"], n=[1, 2, 3])))
    several_tables((mine[Spark], public(plan=["a", None, "b\0"])))
    with pytest.raises(InvalidQuery, match="public columns of different names"):
        several_tables((mine[Spark], public(plan=["a"], Plan=["b"])))
    several_tables((mine[PostgreSQL], public(plan=["a"], Plan=["b"])))
    monkeypatch.setattr(module, "MOST_BYTES", 15)
    for first in mine.values():
        several_tables((first, public(n=[1])))
        with pytest.raises(InvalidQuery, match="at most 15 public bytes"):
            several_tables((first, public(n=[1, 2])))
    several_tables((part(DuckDB(pa.table({"person": [1]}), None), "visits"), public(n=[1, 2])))


WIDE: dict[str, tuple[str, ...]] = {
    "HUGEINT": (str(2**127 - 1), str(-(2**127)), str(10**38), str(10**38 - 1), "-1"),
    "DECIMAL(38, 0)": (str(10**38 - 1), str(1 - 10**38), "0"),
    "DECIMAL(38, 37)": ("9.9999999999999999999999999999999999999", "9.9999999999999999999999999999999999998", "0"),
    "DECIMAL(5, 2)": ("999.99", "-999.99", "0.00"),
    "UUID": ("ffffffff-ffff-ffff-ffff-ffffffffffff", "00000000-0000-0000-0000-000000000000"),
    "UBIGINT": (str(2**64 - 1), "0"),
    "BIGINT": (str(-(2**63)), str(2**63 - 1)),
    "DATE": ("infinity", "-infinity", "5881580-07-10", "5877642-06-25 (BC)"),
    "TIMESTAMP": ("infinity", "-infinity", "290309-12-22 (BC) 00:00:00", "294247-01-10 04:00:54.775806"),
    "TIMESTAMPTZ": ("infinity", "-infinity", "294247-01-10 04:00:54.775806+00"),
    "TIMESTAMP_S": ("infinity", "294247-01-10 04:00:54", "290309-12-22 (BC) 00:00:00"),
    "TIMESTAMP_MS": ("infinity", "294247-01-10 04:00:54"),
    "TIMESTAMP_NS": ("infinity", "2262-04-11 23:47:16.854775806", "1677-09-22"),
    "ENUM('a', 'b')": ("a", "b"),
    "VARCHAR": ("", "\0", "\U0010ffff", "\uffff", "a\0", "A", "a", "a ", "é", "e\u0301"),
    "DOUBLE": ("inf", "-inf", "1.7976931348623157e308", "5e-324", "0"),
    "FLOAT": ("inf", "3.4028235e38", "1e-45"),
    "BOOLEAN": ("true", "false"),
}
"""Identities at the ends of every type that a unit may have."""


@pytest.mark.long
@pytest.mark.cases
@pytest.mark.parametrize("kind", WIDE)
def test_units_meet_themselves_across_connections(kind: str) -> None:
    """Each its own, once, whatever it is: in one connection, in two, and as the types of one name in both."""
    connections = [ibis.duckdb.connect() for _place in range(2)]
    for connection in connections:
        connection.raw_sql(f"CREATE TABLE visits (person {kind}, place INTEGER)")
        connection.con.executemany(
            "INSERT INTO visits VALUES (?, ?)", [[name, place] for place, name in enumerate(WIDE[kind])]
        )
    here, there = (connection.table("visits") for connection in connections)
    budget = dp.Budget(epsilon=1)
    facts: dict[str, Any] = {"unit": "person", "max_rows": 1, "budget": budget}
    mine = dp.protect(here, name="mine", bounds={"place": (0, 99)}, **facts)
    for other in (here, there):
        others = dp.protect(other, name="others", **facts).mutate(there=lambda t: t.place).select("there")
        met = mine.select("place").join(others)
        question = met.filter(lambda t: t.place == t.there).agg(n=lambda t: t.count())
        engine: Any = question._source._engine  # type: ignore[attr-defined]  # the curator's source has it
        [totals] = engine.totals(plan_of(question, epsilon=1))
        assert totals[0, 0] == len(WIDE[kind])
        engine = met._source._engine  # type: ignore[attr-defined]  # as above
        [totals] = engine.totals(plan_of(met.count(), epsilon=1))
        assert totals[0, 0] == len(WIDE[kind])


def test_a_wide_integer_meets_a_decimal_of_the_same_name() -> None:
    """Both are decimals of 38 digits to Ibis; compared as such, the first one of 39 would fail."""
    connection = ibis.duckdb.connect()
    connection.raw_sql(f"CREATE TABLE visits AS SELECT unnest([{2**127 - 1}::HUGEINT, 5]) AS person")
    connection.raw_sql("CREATE TABLE calls AS SELECT 5::DECIMAL(38, 0) AS person, 1 AS called")
    facts: dict[str, Any] = {"unit": "person", "max_rows": 1, "budget": dp.Budget(epsilon=1)}
    visits, calls = (dp.protect(connection.table(name), name=name, **facts) for name in ("visits", "calls"))
    question = visits.join(calls).count()
    engine: Any = question._source._engine  # type: ignore[attr-defined]  # as above
    assert engine.totals(plan_of(question, epsilon=1))[0].tolist() == [[1]]
