"""Each estimator says how its error falls with the number of rows, and holds what it says."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from ibis import _

import discreet as dp
from discreet.inference.estimate import half_width_for
from discreet.inference.estimators import ESTIMATORS
from discreet.planning import aggregates
from discreet.planning.aggregates import STATISTICS, Statistic
from discreet.planning.planner import price

ASKED: dict[Statistic, dict[str, Any]] = {
    aggregates.MEAN: {"a": _.x.mean()},
    aggregates.VARIANCE: {"a": _.x.var()},
    aggregates.STD: {"a": _.x.std()},
    aggregates.COVARIANCE: {"a": _.x.cov(_.y)},
    aggregates.CORRELATION: {"a": _.x.corr(_.y)},
}
MANY = 10**6


def question(statistic: Statistic) -> dp.Question:
    table = pa.table({"x": [1.0, 4.0, 9.0], "y": [2.0, 3.0, 5.0]})
    people = dp.protect(table, unit=dp.ROW, bounds={"x": (0, 10), "y": (0, 5)}, budget=dp.Budget(epsilon=1))
    return people.agg(**ASKED[statistic]) if statistic in ASKED else people.regress("y", "x")


@pytest.mark.parametrize("statistic", ESTIMATORS, ids=lambda one: one.name)
def test_errors_fall_as_rows_grow(statistic: Statistic) -> None:
    plan = price(question(statistic)._query, epsilon=1)
    column = next(one for one in plan.columns if one.aggregate.statistic is statistic)
    few, many = (half_width_for(plan, column, rows, 0.95) for rows in (MANY, 4 * MANY))
    assert few / many == pytest.approx(4, rel=1e-3)


def test_there_is_no_estimator_for_what_is_not_listed() -> None:
    assert set(ESTIMATORS) <= set(STATISTICS)


def test_the_error_of_a_deviation_is_that_of_values_spread_evenly() -> None:
    """Of 20,000 such rows `explain` states what a release has, within half of it."""
    rows = pa.table({"x": [float(i % 101) for i in range(20_200)]})
    table = dp.protect(rows, unit=dp.ROW, bounds={"x": (0, 100)}, budget=dp.Budget(epsilon=9), name="even")
    asked = table.agg(s=lambda t: t.x.std())
    [stated] = asked.explain(epsilon=1, assume={"rows": 20_200}).accuracy.values()
    found = asked.release(epsilon=1).to_pyarrow().to_pylist()[0]
    width = (found["s_high"] - found["s_low"]) / 2
    assert width / 2 < stated.amount < 3 * width
