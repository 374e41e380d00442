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
    assert {one for one in STATISTICS if not one.operations} == {aggregates.UNITS}  # which is a count of the unit


def test_names_are_their_own() -> None:
    assert len({one.name for one in STATISTICS}) == len(STATISTICS)
