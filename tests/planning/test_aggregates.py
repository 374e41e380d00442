"""A statistic is one value: from it follow how it is written, priced, computed and explained."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import ibis.expr.datatypes as dt
import ibis.expr.operations as ops
import pyarrow as pa
import pytest
from ibis import _
from ibis.expr.operations.reductions import Filterable

import discreet as dp
from discreet.inference.estimate import estimates
from discreet.planning import aggregates, forms
from discreet.planning.aggregates import STATISTICS, WRITTEN, Aggregate, Linear, Statistic
from discreet.planning.forms import Block
from discreet.planning.measurements import gather
from discreet.planning.planner import price
from discreet.query.explain import explain


class SumOfSquares(Filterable, ops.Reduction):  # type: ignore[misc]  # Ibis has no types here
    """What Ibis has no operation for."""

    arg: ops.Column
    dtype = dt.float64


def squares(_: Aggregate, block: Block, low: Fraction, high: Fraction) -> Linear:
    """The Bernstein coefficients of y², from the ends of the range of y."""
    return block.without_nulls((high**2, low**2, low * high)), 0.0


SUM_OF_SQUARES = Statistic(name="sum of squares", form=forms.TRIPLE, operations=(SumOfSquares,), linear=squares)


def test_one_more_statistic_is_one_value(monkeypatch: pytest.MonkeyPatch) -> None:
    """Listed as `STATISTICS` lists the others, it is checked, shares totals, is priced, computed and explained."""
    monkeypatch.setitem(WRITTEN, SumOfSquares, SUM_OF_SQUARES)
    table = pa.table({"x": [1.0, 4.0, None, 9.0]})
    people = dp.protect(table, unit=dp.ROW, bounds={"x": (-2, 10)}, budget=dp.Budget(epsilon=1))
    question = people.agg(n=_.count(), v=_.x.var(how="pop"), q=lambda t: SumOfSquares(t.x).to_expr())
    plan = price(question._query, epsilon=1)
    assert [block.block.form for block in plan.blocks] == [forms.TRIPLE]
    source: Any = question._source
    exact = estimates(plan, source._engine.totals(plan), 0.95)
    assert float(exact["q"].values[0]) == pytest.approx(1 + 16 + 81)
    assert float(exact["n"].values[0]) == 4
    column = explain(plan, "", confidence=0.95, assume=None)["columns"][2]
    assert (column["statistic"], float(column["plus_minus"]) > 0) == ("sum of squares", True)


def test_each_operation_means_one_statistic() -> None:
    written = [operation for statistic in STATISTICS for operation in statistic.operations]
    assert len(written) == len(set(written)) == len(WRITTEN)
    others = {aggregates.UNITS, aggregates.AT_LEAST}  # counts of the unit, and of values that nobody listed
    assert {one for one in STATISTICS if not one.operations} == others


def test_a_slope_does_not_depend_on_products_of_other_columns() -> None:
    table = pa.table({name: [1.0, 2.0] for name in "uvwx"})
    people = dp.protect(table, unit=dp.ROW, bounds=dict.fromkeys("uvwx", (0, 5)), budget=dp.Budget(epsilon=1))
    blocks, columns = gather(people.regress("u", ["v", "w", "x"])._query)
    [slope] = [column for column in columns if column.aggregate.name == "slope_v"]
    found = [
        slope.aggregate.statistic.variance(slope.aggregate, blocks[i], place) for place, i in enumerate(slope.blocks)
    ]
    assert found == pytest.approx([24, 0, 8, 3.75, 6, 0.75, 0])  # w u and x u; w and x squared


def test_a_sum_of_zeros_keeps_a_share() -> None:
    people = dp.protect(pa.table({"x": [0.0]}), unit=dp.ROW, bounds={"x": (0, 1)}, budget=dp.Budget(epsilon=1))
    [block], [column] = gather(people.agg(s=(_.x * 0).sum())._query)
    assert aggregates.SUM.variance(column.aggregate, block, 0) == 1.0


def test_names_are_their_own() -> None:
    assert len({one.name for one in STATISTICS}) == len(STATISTICS)
