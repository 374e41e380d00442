"""Cubes, batches and ranges on each engine: the same cells, and neighbors within the sensitivity of every part."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from ibis import _

import discreet as dp
from discreet.planning.batch_planner import BatchPlan
from discreet.planning.mixed_batch_plan import MixedBatchPlan
from discreet.planning.noise_laws import Law
from discreet.query.batch_question import BatchQuestion
from discreet.query.table import PrivateTable
from neighbor_bench import Bench

ROWS = pa.table({
    "person": [i % 9 for i in range(60)], "plan": ["a", "b", "b", None, "c"] * 12,
    "x": [float(i % 7) for i in range(60)],
    "age": pa.array([None if i % 11 == 0 else i for i in range(60)], pa.int64()),
})  # fmt: skip
WITHOUT = ROWS.filter(pa.array([i % 9 != 4 for i in range(60)]))
LIMITS: dict[str, Any] = {"max_groups": 2, "max_rows": 3}


def cube(t: PrivateTable) -> BatchQuestion:
    groups: Any = t.group_by("plan", old=t.age > 30, keys={"plan": ["a", "b", None]}, cube=True, **LIMITS)
    found: BatchQuestion = groups.agg(n=_.count(), s=_.x.sum())
    return found


def batch(t: PrivateTable) -> BatchQuestion:
    questions = {f"from_{age}": t.filter(_.age >= age).count() for age in (5, 20, 40)}
    by_plan: Any = t.group_by("plan", keys={"plan": ["a", "c"]}, **LIMITS)
    found: BatchQuestion = dp.batch(questions, by_plan=by_plan.agg(s=_.x.sum()), **LIMITS)
    return found


def ranges(t: PrivateTable) -> BatchQuestion:
    return t.histogram("x", [0, 1, 3, 6], ranges=True, **LIMITS).batch


def grouped_ranges(t: PrivateTable) -> BatchQuestion:
    groups: Any = t.group_by("plan", keys={"plan": ["a", "b", None]}, **LIMITS)
    found: BatchQuestion = groups.histogram("x", [0, 1, 3, 6], ranges=True).batch
    return found


@pytest.mark.long
@pytest.mark.parametrize("beside", [True, False])
def test_keys_are_found_beside_a_batch(backend_of: Callable[[str], Any], other: str, *, beside: bool) -> None:
    """At an epsilon that hides nothing, each engine finds the same keys, and counts under them."""
    rows = pa.table({"person": list(range(400)), "plan": ["a", "b"] * 200, "age": [i % 90 for i in range(400)]})
    found = []
    for bench in (Bench(), Bench(backend_of(other))):
        stated: dict[str, Any] = {"bounds": {"age": (0, 90)}, "max_rows": 1, "max_groups": 1, "name": "found"}
        table = dp.protect(bench.put(rows), unit="person", budget=dp.Budget(epsilon=200, delta=1e-6), **stated)
        by_plan: Any = table.group_by("plan", keys=dp.UNKNOWN).agg(n=_.count(), s=_.age.sum())
        listed = {"all_ages": table.count()} if beside else {}
        answer = dp.batch(listed, by_plan=by_plan).release(epsilon=200, delta=1e-6)
        found.append((answer["by_plan"].to_pyarrow()["plan"].to_pylist(), answer["by_plan"]["n"].round().tolist()))
    assert found[0] == found[1] == (["a", "b"], [200, 200])


MANY: dict[str, Any] = {
    "plan": ["a", "b", None], "age": [None, *range(150)], "x_whole": list(range(100)), "decade": list(range(100)),
}  # fmt: skip
"""More combinations than are written out."""


def wide(t: PrivateTable) -> PrivateTable:
    return t.mutate(x_whole=_.x.floor(), decade=(_.age / 10).floor())


def large(t: PrivateTable) -> BatchQuestion:
    return wide(t).crosstabs(*MANY, ways=1, keys=MANY, **LIMITS)


def large_batch(t: PrivateTable) -> BatchQuestion:
    def grouped(*names: str, keys: dict[str, Any]) -> Any:
        return wide(t).group_by(*names, keys=keys, **LIMITS)

    found: BatchQuestion = dp.batch(
        ages=grouped("age", keys={"age": MANY["age"][:90]}).agg(s=_.x.sum()),
        wholes=grouped("x_whole", "plan", keys={"x_whole": range(99), "plan": ["a"]}).agg(n=_.count()),
        decades=grouped("decade", keys={"decade": range(99)}).agg(n=_.count()),
        young=wide(t).filter(_.age < 9).count(),
        **LIMITS,
    )
    return found


def with_ranges(t: PrivateTable) -> BatchQuestion:
    groups: Any = t.group_by("plan", keys={"plan": ["a", "b", None]}, **LIMITS)
    found: BatchQuestion = dp.batch(
        x=t.histogram("x", [0, 1, 3, 6], ranges=True, **LIMITS),
        old=t.filter(_.age >= 20).count(),
        in_plans=groups.histogram("age", [0, 20, 60], ranges="prefixes"),
        **LIMITS,
    )
    return found


@pytest.mark.long
@pytest.mark.parametrize("ask", [cube, batch, ranges, grouped_ranges, large, large_batch, with_ranges])
@pytest.mark.parametrize("stated", [{"epsilon": 1}, {"rho": 0.1}])
def test_batches_are_those_of_duckdb(
    backend_of: Callable[[str], Any], other: str, ask: Callable[[PrivateTable], BatchQuestion], stated: dict[str, Any]
) -> None:
    """Cell for cell; and one person moves no part further than claimed."""
    found = []
    for bench in (Bench(), Bench(backend_of(other))):
        table = bench.protect(ROWS, unit="person", bounds={"x": (0, 6), "age": (0, 60)}, max_rows=3)
        plan: Any = ask(table).plan(**stated)
        parts = plan.planned.values() if isinstance(plan, MixedBatchPlan) else [plan]
        found.append([totals for one in parts for totals in checked_totals(bench, one)])
    assert found[0] == found[1]


def checked_totals(bench: Bench, plan: BatchPlan) -> list[Any]:
    """What is measured, which one person moves no further than claimed."""
    both = [[plan.measured(one) for one in bench.cells(plan, *data)] for data in ((ROWS,), (WITHOUT,))]
    for first, second, own, fine in zip(*both, plan.mechanisms, plan.fine, strict=True):
        for x, y, noise in zip(first, second, own, strict=True):
            moved = (x.astype(object) - y.astype(object)) * fine
            if plan.law is Law.GAUSSIAN:
                assert (moved**2).sum() <= noise.sensitivity**2
            else:
                assert np.abs(moved).sum() <= noise.sensitivity
    return [part.tolist() for own in both[0] for part in own]
