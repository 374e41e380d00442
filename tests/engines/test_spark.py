"""Which sessions of Spark are taken. What is computed with them needs one: see `conformance`."""

from __future__ import annotations

from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

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
    for name in ("_settled", "_changed"):
        monkeypatch.setattr(Spark, name, lambda _: "")
    return ibis.table({"person": "int64"}, name="visits")


def test_a_session_of_this_process_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    assert isinstance(engine_selection.opened(told(monkeypatch, SimpleNamespace), None), Spark)


def test_a_session_that_has_been_stopped_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """Spark's SQL is lazy: a statement that nobody collects does not get as far as the context."""

    def collect() -> None:
        raise ConnectionError

    session = type("Session", (), {"sql": lambda *_: SimpleNamespace(collect=collect)})()
    engine: Any = engine_selection.opened(told(monkeypatch, session), None)
    monkeypatch.setattr(Spark, "_in_our_settings", lambda _: nullcontext(session))
    with pytest.raises(dp.EngineError, match="nothing was charged"):
        engine.check_alive()


def test_a_session_that_means_something_else_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    visits = told(monkeypatch, SimpleNamespace)
    engine = engine_selection.opened(visits, None)
    for name in ("_settled", "_changed"):
        monkeypatch.setattr(Spark, name, lambda _: "Expected this, got that.\nHint: do so.")
    with pytest.raises(dp.EngineError, match=r"got that\.\nHint: do so\. Nothing was charged\."):
        engine.check_alive()
    with pytest.raises(dp.InvalidParameter, match="got that"):
        engine_selection.opened(visits, None)


def test_a_session_of_spark_connect_is_refused_for_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    visits, budget = told(monkeypatch, RemoteSession()), dp.Budget(epsilon=1)
    with pytest.raises(dp.InvalidParameter, match=r"got session='one of Spark Connect'\.\nHint: make it with"):
        dp.protect(visits, unit="person", max_rows=1, budget=budget, name="visits")
    assert budget.spent.epsilon == 0
