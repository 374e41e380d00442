"""One mechanism for all totals: where it is taken, what it gains, and that each row is within its body."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from ibis import _

import discreet as dp
from discreet.audit.adjacency import DISTANCES
from discreet.mechanisms.joint_totals import JointTotals
from discreet.planning.noise_laws import Law
from discreet.planning.plan import Plan
from discreet.planning.planner import price
from discreet.query.table import PrivateTable

NAN, INFINITE = float("nan"), float("inf")
ROWS = pa.table({
    "x": pa.array([0.0, 1.0, None, NAN, INFINITE, -INFINITE, 0.3, 0.99, 7.0, -5.0], pa.float64()),
    "y": pa.array([1, 0, 3, -4, None, 2, 2, 3, -4, 9], pa.int64()),
    "g": pa.array([0, 1, 0, 1, 0, 1, 2, None, 0, 1], pa.int64()),
})  # fmt: skip


def table(data: pa.Table = ROWS, **declared: Any) -> PrivateTable:
    stated: dict[str, Any] = {"unit": dp.ROW, "bounds": {"x": (0, 1), "y": (-4, 3)}, "keys": {"g": [0, 1, 2]}}
    return dp.protect(data, budget=dp.Budget(epsilon=1000, delta=1e-6), **{**stated, **declared})


def asked(t: PrivateTable) -> list[Any]:
    groups: Any = t.group_by("g")
    return [
        t.agg(n=_.count(), a=_.x.sum(), b=_.y.sum()),
        groups.agg(n=_.count(), a=_.x.sum(), b=_.y.sum()),
        groups.agg(n=_.count(where=_.y > 0), m=_.x.count(), b=_.y.sum(where=_.x > 0.5), a=_.x.sum()),
        t.agg(a=_.x.sum(), b=_.y.sum()),
    ]


def plan_of(question: Any, **stated: Any) -> Plan:
    return price(question._query, **(stated or {"epsilon": 1}))


def totals(t: PrivateTable, plan: Plan) -> np.ndarray[Any, Any]:
    engine = t._source._engine  # type: ignore[attr-defined] # the curator's own
    return np.concatenate(engine.totals(plan, engine.statement(plan)), axis=1)


@pytest.mark.long
@pytest.mark.parametrize("place", range(4))
def test_rows_are_within_the_body(place: int) -> None:
    """Whatever row is left out, NULL, NaN or out of bounds: the difference has norm 1 at most, and somewhere 1."""
    whole = table()
    plan = plan_of(asked(whole)[place])
    assert plan.joint is not None
    before, found = totals(whole, plan), []
    for i in range(ROWS.num_rows):
        other = table(ROWS.filter(pa.array([k != i for k in range(ROWS.num_rows)])))
        found.append(DISTANCES[JointTotals][1](plan.joint, before, totals(other, plan)))
    assert max(found) <= 1 + 1e-9
    assert max(found) >= 0.99


def test_a_count_and_two_sums_have_half_the_variance() -> None:
    """13.3 where they have 27.5 apart, for sums of values from 0 to 1 at epsilon 1; rounding adds 1/12 to a count, and
    to sums of whole numbers.
    """
    plan = plan_of(table(bounds={"x": (0, 1), "y": (0, 1)}).agg(n=_.count(), a=_.x.sum(), b=_.y.sum()))
    assert plan.law is Law.JOINT
    assert plan.joint is not None
    variances = [part.variance / block.steps**2 for part, block in zip(plan.joint.parts(), plan.blocks, strict=True)]
    assert abs(sum(variances) - 13.5) < 0.01
    [other] = [one for one in plan.runners_up if one.law is Law.LAPLACE]
    assert other.cost > 1.9 * plan.cost
    assert plan.charge.epsilon == 1


def test_the_better_is_taken() -> None:
    """A count and one sum are as good apart, and with a delta Gaussian noise may be better."""
    t = table()
    assert plan_of(t.agg(n=_.count(), a=_.x.sum())).law is Law.LAPLACE
    assert plan_of(asked(t)[0], rho=1).joint is None
    assert plan_of(asked(t)[0], epsilon=Fraction(1, 100)).law is Law.JOINT
    assert plan_of(t.agg(n=_.count(), a=_.x.sum(), b=_.y.mean())).joint is None


@pytest.mark.parametrize(
    "declared",
    [
        {"unit": "y", "max_rows": 3, "max_groups": 1, "bounds": {"x": (0, 1)}},
        {"neighbors": "replace-one", "rows": 10},
    ],
)
def test_other_neighbors_have_totals_apart(declared: dict[str, Any]) -> None:
    """A unit of several rows is weighted down total by total; a replaced row moves two groups."""
    t = table(**declared)
    question = t.agg(a=_.x.sum(), b=(1 - _.x).sum())
    assert plan_of(question).joint is None


def test_answers_have_noise_of_all_totals() -> None:
    """Near the exact totals; the same question again is the same answer, at no charge."""
    t = table()
    answer = asked(t)[1].release(epsilon=2)
    assert np.allclose(answer["n"], [4, 4, 1], atol=50)  # e**-25 or so
    assert np.allclose(answer["b"], [0, 1, 2], atol=200)
    assert asked(t)[1].release(epsilon=2)["a"].tolist() == answer["a"].tolist()
    assert t.budget.spent.epsilon == 2
    assert answer.receipt["totals"][0]["mechanism"] == Law.JOINT.value


def test_calculations_on_such_answers_have_intervals() -> None:
    answer = asked(table())[1].release(epsilon=1)
    found = answer.mutate(c=_.a + _.b).to_pandas()
    assert (found.c_low < found.c).all()
    assert (found.c < found.c_high).all()
