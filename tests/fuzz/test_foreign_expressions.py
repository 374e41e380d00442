"""Calculations after the noise are of the answer alone, whatever else Ibis would let into them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import duckdb
import ibis
import ibis.expr.operations as ops
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from ibis import _

import discreet as dp
from discreet.answers import run_post_processing

SECRET = ("7391846", "hepatitis")
ROWS = pa.table({"plan": ["hepatitis"], "person": [7391846]})


@pytest.fixture
def place(tmp_path: Path) -> Path:
    path = tmp_path / "visits.parquet"
    pq.write_table(ROWS, path)
    return path


@ibis.udf.scalar.builtin  # type: ignore[untyped-decorator]  # Ibis has no types here
def getenv(name: str) -> str:  # type: ignore[empty-body]  # DuckDB has the function
    """What the engine's own function of this name gives."""


def _forged(name: str) -> str:  # type: ignore[empty-body]  # as above
    """A function of the engine's that says it is one of Ibis' own."""


_forged.__module__, _forged.__name__ = ops.__name__, "getenv"
forged = ibis.udf.scalar.builtin(_forged)


@ibis.udf.agg.builtin  # type: ignore[untyped-decorator]  # as above
def first(value: int) -> int:  # type: ignore[empty-body]  # as above
    """An aggregate of the engine's."""


def strangers(place: str, held: ibis.Table) -> dict[str, Any]:
    """Expressions that are not of the answer's columns alone, of which Ibis makes sub-queries, and the engine more."""
    named = ibis.table({"person": "int64", "plan": "string"}, name=place)
    text = f"SELECT person FROM read_parquet('{place}')"  # noqa: S608 (what is refused)
    view = ops.SQLStringView(named, text, ibis.schema({"person": "int64"})).to_expr()
    return {
        "a number of rows": named.count(), "of distinct ones": named.nunique(), "of some": named.limit(7).count(),
        "of distinct rows": named.distinct().count(), "a condition on it": named.count() > 3,
        "a calculation with it": lambda t: t.n + named.count(), "a sub-query": named.person.max().as_scalar(),
        "a reduction": named.person.max(), "a column": named.person, "membership": _.n.isin(named.person),
        "existence": ops.ExistsSubquery(named.op()).to_expr(), "a view in SQL": view.as_scalar(),
        "its number of rows": view.count(), "a view of a view": view.limit(1).count(),
        "a frame": ibis.memtable(pa.table({"person": [1]})).count(), "another connection's": held.count(),
        "the engine's function": getenv("HOME"), "a forged one": forged("HOME"),
        "the engine's aggregate": lambda t: first(t.n),
        "inside a window": lambda t: t.n.sum().over(ibis.window(order_by=named.person)),
        "inside a case": lambda t: ibis.ifelse(t.n > 1, named.count(), 0),
    }  # fmt: skip


@pytest.mark.long
@pytest.mark.parametrize("what", strangers("x", ibis.table({"a": "int64"}, name="y")))
def test_calculations_after_the_noise_look_at_no_other_table(what: str, place: Path) -> None:
    """Rows of any file were once shown this way, exactly and for nothing: on an answer, and on a question before it."""
    expression = strangers(str(place), ibis.memtable(ROWS))[what]
    table = dp.protect(place, unit=dp.ROW, budget=dp.Budget(epsilon=1))
    asked = table.group_by("plan", keys={"plan": ["a"]}).agg(n=_.count())
    opened = table.group_by("plan", keys=dp.UNKNOWN).agg(n=_.count())
    for one in (asked.release(epsilon=0.5), asked, opened):
        verbs: list[Callable[[], Any]] = [
            partial(one.mutate, x=expression), partial(one.having, expression), partial(one.order_by, expression),
        ]  # fmt: skip
        verbs += [] if callable(expression) else [partial(one.having, _.n < expression)]
        for verb in verbs:
            with pytest.raises(dp.InvalidQuery, match="Hint: ") as refusal:
                verb()
            assert not any(secret in str(refusal.value) for secret in SECRET)


def test_the_engine_of_an_answer_opens_nothing(place: Path) -> None:
    """Behind the check of what is written stands an engine that would refuse it."""
    connection = run_post_processing._connection()
    for reached in (f"FROM '{place}'", "FROM glob('*')", "SELECT * FROM read_text('/etc/hostname')"):
        with pytest.raises(duckdb.Error, match=r"(?i)permission|disabled|does not exist"):
            connection.con.execute(reached)
    with pytest.raises(duckdb.Error, match=r"(?i)configuration"):
        connection.con.execute("SET enable_external_access = true")
