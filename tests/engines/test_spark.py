"""Which sessions of Spark are taken. What is computed with them needs one: see `conformance`."""

from __future__ import annotations

from types import SimpleNamespace

import ibis
import ibis.expr.types as ir
import pytest

import discreet as dp
from discreet.engines import engine_selection
from discreet.engines.spark import Spark


class RemoteSession:
    """One that Spark Connect made, as far as it says so."""

    __module__ = "pyspark.sql.connect.session"


def told(monkeypatch: pytest.MonkeyPatch, session: object) -> ir.Table:
    """A table of Ibis on such a session."""
    backend = SimpleNamespace(name="pyspark", version="4.0.1", _session=session)
    monkeypatch.setattr(engine_selection, "connected", lambda _: backend)
    return ibis.table({"person": "int64"}, name="visits")


def test_a_session_of_this_process_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    assert isinstance(engine_selection.opened(told(monkeypatch, SimpleNamespace), None), Spark)


def test_a_session_of_spark_connect_is_refused_for_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    visits, budget = told(monkeypatch, RemoteSession()), dp.Budget(epsilon=1)
    with pytest.raises(dp.InvalidParameter, match=r"got session='one of Spark Connect'\.\nHint: make it with"):
        dp.protect(visits, unit="person", max_rows=1, budget=budget, name="visits")
    assert budget.spent.epsilon == 0
