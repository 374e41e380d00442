"""The totals of lines over several predictors against the written rules in plain Python, to the last step."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet as dp
import discreet.engines.connected_engine as engine_module
from discreet.engines.duckdb import DuckDB
from discreet.planning.noise_laws import Law
from discreet.planning.plan import PricedBlock
from discreet.planning.planner import price
from discreet.testing.neighbors import l1_distances
from neighbor_bench import Bench, plan_of

BOUNDS = {"x": (0, 5), "y": (-2, 3), "i": (-3, 7), "z": (0, 9)}
NAMES = ("x", "y", "i", "b", "z")
REALS = st.sampled_from((None, math.nan, math.inf, -math.inf, -0.0, 0.0, 5e-324, 1e308)) | st.floats(-3, 10)
ROWS = st.lists(
    st.tuples(
        st.sampled_from((None, 1, 2, 3)), st.sampled_from((None, "a", "b", "c")), REALS, REALS,
        st.sampled_from((None, -(2**15), 2**15 - 1, 0, 1, 2, 5)), st.sampled_from((None, False, True)), REALS,
    ),
    max_size=12,
)  # fmt: skip
KINDS = {"person": pa.int64(), "plan": pa.string(), "i": pa.int16(), "b": pa.bool_()}


def arrow(rows: list[tuple[Any, ...]]) -> pa.Table:
    names = ("person", "plan", *NAMES)
    columns = list(zip(*rows, strict=True)) or [()] * len(names)
    return pa.table(
        {name: pa.array(part, KINDS.get(name, pa.float64())) for name, part in zip(names, columns, strict=True)}
    )


def record(row: tuple[Any, ...]) -> dict[str, Any]:
    """A raw row as questions see it."""
    found = dict(zip(("person", "plan", *NAMES), row, strict=True))
    for name, (low, high) in BOUNDS.items():
        value = found[name]
        inside = None if value is None or value != value else min(max(value, low), high)  # noqa: PLR0124 (NaN)
        found[name] = float(inside) if name != "i" and inside is not None else inside
    return found


@pytest.fixture(scope="module")
def bench() -> Bench:
    return Bench()


@pytest.mark.long
@settings(max_examples=10)
@given(
    rows=ROWS,
    grouped=st.booleans(),
    by_person=st.booleans(),
    some=st.booleans(),
    limits=st.tuples(st.integers(1, 4), st.integers(1, 4)),
)
def test_totals_of_lines_are_those_of_the_rules(
    bench: Bench,
    asked: Any,
    reference: Callable[..., list[list[int]]],
    *,
    rows: list[tuple[Any, ...]],
    grouped: bool,
    by_person: bool,
    some: bool,
    limits: tuple[int, int],
) -> None:
    """Rows or persons as units, NULL in any column, a condition, groups: and no row moves them beyond the steps."""
    most_groups, most_rows = limits
    stated: dict[str, Any] = {"max_groups": most_groups, "max_rows": most_rows} if by_person else {}
    table = bench.protect(arrow(rows), unit="person" if by_person else dp.ROW, bounds=BOUNDS, **stated)
    keys = ["b", None, "a", "absent"]
    asker: Any = table.group_by("plan", keys={"plan": keys}) if grouped else table
    plan = plan_of(asker.regress("z", list(NAMES[:-1]), where=table.x < 3 if some else None), epsilon=1)
    assert sum(block.block.components for block in plan.blocks) == 20
    values = [value.expr.op() for value in plan.columns[0].aggregate.values]
    listed = keys if grouped else [None]

    def of(block: PricedBlock) -> Callable[[dict[str, Any]], tuple[float, ...] | None]:
        places = [NAMES[values.index(value.expr.op())] for value in block.block.values]
        return lambda row: None if any(row[name] is None for name in NAMES) else tuple(row[name] for name in places)

    for block, found in zip(plan.blocks, bench.totals(plan), strict=True):
        python = asked(
            value=of(block),
            where=lambda row: not some or (None if row["x"] is None else row["x"] < 3),
            key=lambda row: row["plan"] if grouped else None,
            keys=listed,
            unit=(lambda row: row["person"]) if by_person else None,
            max_groups=min(most_groups, len(listed)) if by_person else len(listed),
            max_rows=most_rows,
        )
        assert found.tolist() == reference(block, python, [record(row) for row in rows])


def corners() -> list[tuple[float, ...]]:
    """All ends and middles of three ranges, beyond which nothing is, and an outcome."""
    return [(*row, z) for row in itertools.product((0.0, 2.5, 5.0), (-2.0, 3.0), (-3.0, 7.0)) for z in (0.0, 9.0)]


@pytest.mark.parametrize("neighbors", ["add-remove", "replace-one"])
@pytest.mark.parametrize("delta", [0, 1e-6])
def test_no_row_moves_lines_further_than_claimed(neighbors: str, delta: float) -> None:
    """In L1 norm for Laplace noise, in L2 norm for Gaussian; and where rows are added, some move each block as far."""
    rows = corners()
    data = pa.table({name: [row[k] for row in rows] for k, name in enumerate(("x", "y", "i", "z"))})
    data = data.append_column("n", pa.array(range(len(rows))))
    stated: dict[str, Any] = {"neighbors": neighbors, "rows": 2} if neighbors == "replace-one" else {}
    budget = dp.Budget(epsilon=9, delta=0.1)
    table = dp.protect(data, unit=dp.ROW, bounds=BOUNDS, budget=budget, name=f"{neighbors} {delta}", **stated)
    each = table.group_by("n", keys={"n": list(range(len(rows)))}).regress("z", ["x", "y", "i"])
    priced = price(each._query, epsilon=1, delta=delta)
    laws = {plan.law: plan for plan in (priced, *priced.runners_up)}
    plan = laws[Law.GAUSSIAN if delta else Law.LAPLACE]
    for block, totals in zip(plan.blocks, DuckDB(data, None).totals(plan), strict=True):
        own, claimed = totals.astype(float), float(block.sensitivity)
        others = own if stated else np.zeros_like(own[:1])
        far = np.linalg.norm(own[:, None] - others[None], ord=2 if delta else 1, axis=-1).max()
        assert far <= claimed * (1 + 1e-9)
        assert stated or far >= claimed * (0.7 if delta else 1 - 1e-9)


def test_every_signed_product_is_clipped(monkeypatch: pytest.MonkeyPatch) -> None:
    """Were the barrier to fail, one row would still count no more than the steps that its sensitivity is made of."""
    monkeypatch.setattr(engine_module, "barrier", lambda raw, *_: raw)
    values = {"x": [20.0, 1.0, 1.0, -20.0], "y": [1.0, -90.0, 1.0, 90.0], "i": [1.0, 1.0, 99.0, -99.0]}
    data = pa.table({**values, "z": [1.0, 1.0, 90.0, -90.0]})
    table = dp.protect(data, unit=dp.ROW, bounds=BOUNDS, budget=dp.Budget(epsilon=1), name="wild")
    plan = plan_of(table.regress("z", ["x", "y", "i"]), epsilon=1)
    for k in range(len(data)):
        for block, total in zip(plan.blocks, DuckDB(data.slice(k, 1), None).totals(plan), strict=True):
            assert 0 < sum(abs(int(entry)) for entry in total.ravel()) <= block.steps


def test_a_person_moves_lines_no_further_than_claimed() -> None:
    """One with many rows in many groups, at the corners, added to others."""
    rows = [(9, group, *row) for group in "abc" for row in (corners()[0], corners()[-1])]
    more = [(1, group, *row) for group in "abc" for row in (*corners()[:3], corners()[-1])]
    names = ("person", "plan", "x", "y", "i", "z")

    def made(rows: list[Any]) -> pa.Table:
        return pa.table({name: [row[k] for row in rows] for k, name in enumerate(names)})

    table = dp.protect(
        made(rows), unit="person", bounds=BOUNDS, budget=dp.Budget(epsilon=1), name="who", max_groups=2, max_rows=3
    )
    question = table.group_by("plan", keys={"plan": list("abc")}).regress("z", ["x", "y", "i"])
    plan = plan_of(question, epsilon=1)
    before, after = (DuckDB(made(part), None).totals(plan) for part in (rows, [*rows, *more]))
    for block, old, new in zip(plan.blocks, before, after, strict=True):
        assert block.sensitivity == 2 * 3 * block.steps
        assert 0 < l1_distances([old], [new])[0] <= block.sensitivity
