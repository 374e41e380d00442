"""Units that are named in another table: the same rows on each engine, and neighbors in all tables at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from ibis import _

import discreet as dp
from depth import examples
from neighbor_bench import STORES, Bench
from neighbor_claims import check_neighbors
from owned_tables import OwnedPair, owned_pairs, protected, totals

Backends = Callable[[str], Any]
LINES = pa.table({
    "order": ["a", "A", "a ", "é", "e", "", None, "b", "b", "none"], "part": [1, 1, 2, 2, 3, 3, 1, 1, 2, 2],
    "v": [1.5, 2.0, float("nan"), 4.0, 5.0, float("inf"), 7.0, 8.0, 9.0, 10.0],
})  # fmt: skip
ORDERS = pa.table({
    "order": ["a", "A", "a ", "é", "e", "", None, "b", "b", "b", "A"], "customer": [1, 2, 3, 4, 5, 6, 7, 1, 1, 8, 2],
})  # fmt: skip
CUSTOMERS = pa.table(
    {"customer": [1, 2, 3, 4, 5, 6, 6, 8, None], "unit": ["p", "P", "p", "é", "q", "q", "p", None, "r"]}
)
QUESTIONS: dict[str, Callable[..., Any]] = {
    "rows": lambda lines, _orders: lines.agg(n=_.count(), units=_.unit.nunique(), v=_.v.sum()),
    "groups": lambda lines, _orders: lines.group_by("part", keys={"part": [1, 2, 3]}).agg(n=_.count(), v=_.v.mean()),
    "a median": lambda lines, _orders: lines.agg(m=_.v.median()),
    "beside the orders": lambda lines, orders: lines.join(orders, ["unit", "order"]).agg(
        n=_.count(), c=_.customer.sum()
    ),
    "one row each": lambda lines, _orders: lines.per_unit(n=_.count()).agg(n=_.n.clip(0, 9).sum()),
}


def stored(backend: Any, name: str, data: pa.Table) -> Any:
    if backend.name == "duckdb":
        return backend.create_table(name, data, overwrite=True)
    return STORES[backend.name](backend, name, data, temporary=False)


def found(backend: Any, name: str) -> list[Any]:
    tables = [stored(backend, f"owned_{i}", data) for i, data in enumerate((LINES, ORDERS, CUSTOMERS))]
    to_customers = (tables[2], {"customer": "customer"})
    facts: dict[str, Any] = {"unit": "unit", "max_groups": 2, "max_rows": 3, "budget": dp.Budget(epsilon=1)}
    via = [(tables[1], {"order": "order"}), to_customers]
    lines = dp.protect(tables[0], via=via, bounds={"v": (0, 9)}, name="lines", **facts)
    orders = dp.protect(tables[1], via=to_customers, bounds={"customer": (0, 9)}, name="orders", **facts)
    bench = Bench(backend)
    plan = bench.plan(QUESTIONS[name](lines, orders), epsilon=1)
    return [*(block.tolist() for block in bench.totals(plan)), *(str(one) for one in bench.masses(plan))]


@pytest.mark.long
@pytest.mark.parametrize("name", QUESTIONS)
def test_a_unit_is_carried_along_as_on_duckdb(backend_of: Backends, engine: str, name: str) -> None:
    wanted = found(backend_of("duckdb"), name)
    assert wanted
    assert found(backend_of(engine), name) == wanted


_benches: dict[str, Bench] = {}


@pytest.fixture
def bench(backend_of: Backends, engine: str) -> Bench:
    return _benches.setdefault(engine, Bench(backend_of(engine)))


@pytest.mark.long
@settings(max_examples=examples(10), suppress_health_check=list(HealthCheck))
@given(pair=owned_pairs(), data=st.data())
def test_neighbors_in_all_tables_are_within_the_sensitivity(bench: Bench, pair: OwnedPair, data: st.DataObject) -> None:
    """All that belongs to one unit is removed from both tables, rows that belong to others too among it; or there is
    another unit in its place."""
    table = protected(bench, pair, data.draw(st.integers(1, 5), label="max_rows"))
    check_neighbors(bench, table, data, lambda plan: totals(bench, plan, pair.second))
