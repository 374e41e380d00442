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
def test_errors_fall_at_the_stated_rate(statistic: Statistic) -> None:
    plan = price(question(statistic)._query, epsilon=1)
    column = next(one for one in plan.columns if one.aggregate.statistic is statistic)
    few, many = (half_width_for(plan, column, rows, 0.95) for rows in (MANY, 4 * MANY))
    assert few / many == pytest.approx(4 ** ESTIMATORS[statistic].rate, rel=1e-3)


def test_there_is_no_estimator_for_what_is_not_listed() -> None:
    assert set(ESTIMATORS) <= set(STATISTICS)
