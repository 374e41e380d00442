"""An operation that an engine cannot express is refused, in our words, before anything is read or spent."""

from __future__ import annotations

import decimal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ibis.expr.operations as ops
import ibis.expr.types as ir
import pyarrow as pa
import pytest
from ibis.common.exceptions import UnsupportedOperationError

import discreet as dp
from discreet.engines.connected_engine import Connected
from discreet.engines.duckdb import DuckDB
from discreet.engines.engine import UnsupportedQuestion
from discreet.query.table import PrivateTable

ROWS = pa.table(
    {
        "person": [1, 1, 2, 3],
        "plan": ["a", "b", "a", None],
        "cost": [1.0, 2.0, None, 4.0],
        "paid": pa.array([decimal.Decimal("1.5")] * 4, pa.decimal128(12, 2)),
    }
)

QUESTIONS: dict[str, tuple[type[ops.Node], Callable[[PrivateTable], Any]]] = {
    "an answer": (ops.Sqrt, lambda t: t.agg(x=t.cost.sqrt().sum()).release(epsilon=1)),
    "in rounds": (ops.Sqrt, lambda t: t.agg(x=t.cost.sqrt().sum()).release(within={"x": 9}, up_to=1)),
    "in a file": (
        ops.Sqrt, lambda t: t.group_by("plan").agg(x=t.cost.sqrt().sum()).release(epsilon=1, to="nowhere.parquet")
    ),
    "explained": (ops.Sqrt, lambda t: t.agg(x=t.cost.sqrt().sum()).explain(epsilon=1)),
    "ranks": (ops.Sqrt, lambda t: t.agg(x=t.cost.sqrt().median()).release(epsilon=1)),
    "strangers": (ops.Hash, lambda t: t.join(t.select("plan"), "plan", max_matches=2).count().release(epsilon=1)),
    "auto": (ops.Log2, lambda t: t.agg(x=t.paid.sum()).release(epsilon=1)),
    "unknown": (ops.CountStar, lambda t: t.group_by("plan", keys=dp.UNKNOWN).agg(x=t.cost.sum()).release(
        epsilon=1, delta=0.1
    )),
    "clipped": (ops.Min, lambda t: t.agg(x=t.cost.sum()).release(epsilon=1, report="clipped")),
    "weighted": (ops.Max, lambda t: t.agg(x=t.cost.sum()).release(epsilon=1, report="weighted")),
    "the most liked": (ops.CountStar, lambda t: t.top("plan", k=1, epsilon=1)),
    "a choice": (ops.Abs, lambda t: t.choose([1, 2], score=lambda c: (t.cost - c).abs() < 1, epsilon=1)),
    "distinct values": (ops.DenseRank, lambda t: t.count_distinct("plan", epsilon=1)),
    "a truncated total": (ops.Sqrt, lambda t: t.truncated_total(t.cost.sqrt(), epsilon=1)),
    "a log": (ops.Hash, lambda t: dp.release_log(t, user="person", item="plan", epsilon=1, delta=0.1, max_items=1)),
    "clusters-by-the-nearest": (ops.Least, lambda t: t.kmeans("cost", n_clusters=2, epsilon=1)),
    "clusters-by-distances": (ops.Abs, lambda t: t.kmeans("cost", n_clusters=2, epsilon=1)),
}  # fmt: skip


def without(monkeypatch: pytest.MonkeyPatch, lacking: type[ops.Node]) -> list[str]:
    """A DuckDB that cannot write an operation; gives what it was made to run."""
    write, ran = DuckDB._to_sql, list[str]()

    def written(self: DuckDB, expression: ir.Table) -> str:
        if expression.op().find(lacking):
            raise UnsupportedOperationError(f"{lacking.__name__} operation is not supported")
        return write(self, expression)

    def looked(_: Any, __: Any, statement: str) -> pa.Table:
        ran.append(statement)
        raise RuntimeError

    monkeypatch.setattr(DuckDB, "_to_sql", written)
    monkeypatch.setattr(DuckDB, "_run_plan", looked)
    monkeypatch.setattr(DuckDB, "_run_statement", looked)
    return ran


def protected(budget: dp.Budget) -> PrivateTable:
    return dp.protect(
        ROWS, unit="person", bounds={"cost": (0, 9), "paid": "auto"}, keys={"plan": ["a", "b"]}, max_rows=2,
        max_groups=2, budget=budget,
    )  # fmt: skip


@pytest.mark.parametrize("words", QUESTIONS)
def test_what_an_engine_cannot_write_costs_nothing(monkeypatch: pytest.MonkeyPatch, words: str) -> None:
    lacking, ask = QUESTIONS[words]
    budget = dp.Budget(epsilon=10, delta=0.5)
    table = protected(budget)
    ran = without(monkeypatch, lacking)
    with pytest.raises(
        UnsupportedQuestion, match=rf"DuckDB can express.*\({lacking.__name__} operation.*\n.*Hint: "
    ) as told:
        ask(table)
    assert isinstance(told.value, dp.InvalidQuery)
    assert told.value.__cause__ is told.value.__context__ is None
    assert budget.spent.epsilon == budget.spent.delta == 0
    assert ran == []


def test_a_table_that_cannot_be_scanned_is_refused_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where its barrier cannot be written, every release would fail after its charge."""
    budget = dp.Budget(epsilon=10)
    without(monkeypatch, ops.TryCast)
    with pytest.raises(UnsupportedQuestion, match="TryCast operation is not supported"):
        protected(budget)


@pytest.mark.long
def test_what_can_be_written_is_answered() -> None:
    """The questions above are good ones."""
    for words, (_lacking, ask) in QUESTIONS.items():
        if words != "in a file":
            assert ask(protected(dp.Budget(epsilon=10, delta=0.5))) is not None


def test_the_page_tells_all_that_an_engine_provides() -> None:
    page = Path(__file__).parents[2].joinpath("docs", "engines", "adding.md").read_text()
    assert Connected.__abstractmethods__
    assert [name for name in Connected.__abstractmethods__ if f"| `{name}(" not in page] == []
