"""The bench on which tests compute exact totals."""

from __future__ import annotations

import pyarrow as pa

import discreet as dp
from neighbor_bench import Bench, plan_of


def test_one_plan_is_computed_on_many_tables() -> None:
    bench = Bench()
    plan = plan_of(bench.protect(pa.table({"age": [30, 40]}), unit=dp.ROW).count(), epsilon=1)
    assert [block.tolist() for block in bench.totals(plan)] == [[[2]]]
    assert [block.tolist() for block in bench.totals(plan, pa.table({"age": [30]}))] == [[[1]]]
