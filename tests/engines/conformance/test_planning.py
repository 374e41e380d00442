"""What an engine plans is not much larger than what it was asked."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

from discreet.engines.engine_selection import opened
from neighbor_bench import Bench, plan_of


@pytest.mark.engine("postgresql")
@pytest.mark.parametrize("aggregate", ["mean", "var", "cov"])
def test_a_deep_question_has_a_short_plan(backend_of: Callable[[str], Any], other: str, aggregate: str) -> None:
    """Without fences its plan is 12, 90 and 50 times as long, and a question twice as deep is planned for minutes."""
    bench = Bench(backend_of(other))
    rows = pa.table({"person": [1, 2], "x": [1.0, None], "v": [0.5, 9.0]})
    table = bench.protect(rows, unit="person", max_rows=2, bounds={"x": (0, 5)})
    deep = table.v.clip(-9, 9) * table.x / table.x.abs().clip(1, 7)
    asked = table.x.cov(deep) if aggregate == "cov" else getattr(deep, aggregate)()
    plan = plan_of(table.agg(a=asked), epsilon=1)
    engine: Any = opened(bench.put(rows), None)
    statement = engine._full_statement(plan.query.declaration, engine.statement(plan), None)
    told = engine._backend.con.execute(f"EXPLAIN (VERBOSE, COSTS OFF) {statement}").fetchall()
    assert sum(len(line.strip()) for (line,) in told) < 4 * len(statement)
