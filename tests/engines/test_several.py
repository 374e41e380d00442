"""Which tables one statement can name together. No server is needed here; see `conformance/test_several.py`."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import ibis
import pyarrow as pa
import pytest

from discreet.engines import several as module
from discreet.engines.connected import Connected
from discreet.engines.duckdb import DuckDB
from discreet.engines.postgresql import PostgreSQL
from discreet.engines.several import Part, several
from discreet.engines.spark import Spark
from discreet.errors import InvalidQuery
from discreet.query.source import Declaration


class Connection:
    """One that nothing is asked of."""


@pytest.fixture(autouse=True)
def _types_as_ibis_has_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """PostgreSQL tells the types of its columns; here is no server to ask."""
    monkeypatch.setattr(PostgreSQL, "_told", lambda _, raw: (raw, {}))


def engine(kind: Any, connection: Connection) -> Connected:
    raw = ibis.table({"person": "int64"}, name="t")
    made: Connected = kind(SimpleNamespace(con=connection, _session=connection), raw)
    return made


def part(found: Connected, name: str) -> Part:
    return Part(Declaration(name=name), found)


def public(**columns: Any) -> Part:
    return Part(Declaration(name="public"), rows=pa.table(columns))


@pytest.mark.parametrize("kind", [PostgreSQL, Spark])
def test_tables_of_another_connection_are_refused_by_name(kind: Any) -> None:
    here = Connection()
    mine, near, far = engine(kind, here), engine(kind, here), engine(kind, Connection())
    assert several((part(mine, "visits"), part(near, "calls"))).parts[1].engine is near
    with pytest.raises(InvalidQuery, match=r"one connection, got tables='visits and calls'\.\nHint: make both"):
        several((part(mine, "visits"), part(far, "calls")))


@pytest.mark.parametrize("kind", [PostgreSQL, Spark])
def test_tables_of_two_engines_are_refused_by_name(kind: Any) -> None:
    inside = DuckDB(pa.table({"person": [1]}), None)
    pair = part(inside, "visits"), part(engine(kind, Connection()), "calls")
    for parts in (pair, pair[::-1]):
        with pytest.raises(InvalidQuery, match="tables of one connection"):
            several(parts)


def test_public_rows_that_cannot_be_sent_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    mine = {kind: part(engine(kind, Connection()), "visits") for kind in (PostgreSQL, Spark)}
    with pytest.raises(InvalidQuery, match="text that PostgreSQL can hold"):
        several((mine[PostgreSQL], public(plan=["a", None, "b\0"], n=[1, 2, 3])))
    several((mine[Spark], public(plan=["a", None, "b\0"])))
    with pytest.raises(InvalidQuery, match="public columns of different names"):
        several((mine[Spark], public(plan=["a"], Plan=["b"])))
    several((mine[PostgreSQL], public(plan=["a"], Plan=["b"])))
    monkeypatch.setattr(module, "MOST_BYTES", 15)
    for first in mine.values():
        several((first, public(n=[1])))
        with pytest.raises(InvalidQuery, match="at most 15 public bytes"):
            several((first, public(n=[1, 2])))
    several((part(DuckDB(pa.table({"person": [1]}), None), "visits"), public(n=[1, 2])))
