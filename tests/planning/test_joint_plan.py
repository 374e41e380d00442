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
from discreet.mechanisms.knorm_bodies import Polytope
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


PERSONS = pa.table({
    "id": pa.array([1, 1, 1, 1, 1, 2, 2, 3, 3, 3, 3, 4, 5, 5, 6, 7], pa.int64()),
    "x": pa.array([1, 1, 1, 1, 1, None, NAN, 0.3, 7, INFINITE, 0.9, -5, 1, 0, 1, 0], pa.float64()),
    "y": pa.array([3, 3, 3, -4, 3, None, 2, 3, 9, 3, 3, -9, -4, -4, 3, 0], pa.int64()),
    "g": pa.array([0, 1, 2, 2, 2, 0, 1, 0, 1, 2, 2, 0, 1, 2, 2, None], pa.int64()),
})  # fmt: skip


def norm(plan: Plan, difference: np.ndarray[Any, Any]) -> Fraction:
    """The K-norm of what neighbors differ by, exactly, over all groups."""
    assert plan.joint is not None
    body = plan.joint.body
    assert isinstance(body, Polytope)
    planes = [[Fraction(a) for a in plane] for plane in body.planes()]
    found = Fraction(0)
    for row in difference:
        found += max(sum((a * int(d) for a, d in zip(plane, row, strict=True)), Fraction(0)) for plane in planes)
    return found


def persons(data: pa.Table, **declared: Any) -> PrivateTable:
    return table(data, **{"unit": "id", "max_rows": 2, "max_groups": 3, **declared})


def farthest(place: int, **declared: Any) -> Fraction:
    """By how much one person, left out or replaced by another, moves all totals at most, over what is allowed."""
    whole = persons(PERSONS, **declared)
    plan = plan_of(asked(whole)[place])
    assert plan.law is Law.JOINT

    def of(kept: list[bool]) -> Any:
        return totals(persons(PERSONS.filter(pa.array(kept)), **declared), plan).astype(object)

    ids = PERSONS["id"].to_pylist()
    one = {i: of([j == i for j in ids]) for i in sorted(set(ids))}
    before = totals(whole, plan).astype(object)
    assert all((before - of([j != i for j in ids]) == one[i]).all() for i in one)  # of a person's own rows alone
    if "neighbors" in declared:
        return max(norm(plan, x - y) for x in one.values() for y in one.values())
    return max(norm(plan, x) for x in one.values())


@pytest.mark.long
@pytest.mark.parametrize(
    ("place", "replaced"),
    [*((place, {}) for place in range(4)), *((place, {"neighbors": "replace-one", "units": 7}) for place in range(3))],
)
def test_persons_are_within_the_body(place: int, replaced: dict[str, Any]) -> None:
    """Whoever is left out, with more rows than count, in all groups; and it is no larger than it has to be. Two sums of
    a person who is replaced are as good apart.
    """
    found = farthest(place, **replaced)
    assert found <= 1
    assert found >= (Fraction(1, 3) if replaced or place in (1, 2) else Fraction(99, 100))


@pytest.mark.long
@pytest.mark.parametrize("place", [1, 2])
@pytest.mark.parametrize("max_groups", [1, 2])
def test_persons_in_many_groups_are_within_the_body(place: int, max_groups: int) -> None:
    """Scaled down by their groups, and rounded."""
    assert Fraction(4, 10) <= farthest(place, max_groups=max_groups, max_rows=3) <= 1


def test_what_is_rounded_is_within_the_body() -> None:
    """A third of a count of 2^b is rounded down, a third of a sum of at most 3 steps of it is whole: the sum would be
    beyond what that many rows have, by the smallest part of a step.
    """
    person = pa.table({"id": [1, 1, 1], "y": [3, 3, 3], "x": [0.0, 1.0, 0.5], "g": [0, 1, 2]})
    t = persons(person, bounds={"x": (0, 1), "y": (0, 3)}, max_groups=1, max_rows=1)
    plan = plan_of(t.group_by("g").agg(n=_.count(), a=_.x.sum(), b=_.y.sum()))
    assert plan.law is Law.JOINT
    found = norm(plan, totals(t, plan).astype(object))
    assert 1 - Fraction(1, 2**30) < found <= 1


def test_what_is_rounded_is_within_the_body_whatever_was_asked_before() -> None:
    """The same totals for noise of another law, which need not be within it, are of another statement."""
    person = pa.table({"id": [1, 1, 1], "y": [3, 3, 3], "g": [0, 1, 2]})
    t = persons(person, bounds={"y": (0, 3)}, max_groups=1, max_rows=1)
    plan = plan_of(t.group_by("g").agg(s=_.y.sum(where=_.y > 0), n=_.count()))
    [other] = plan.runners_up
    assert (plan.law, other.law) == (Law.JOINT, Law.LAPLACE)
    beyond = totals(t, other).astype(object)
    assert norm(plan, beyond) > 1 >= norm(plan, totals(t, plan).astype(object))


def test_persons_gain_as_much_as_rows() -> None:
    """Half of the variance, at any limits."""
    for limits in ({"max_rows": 1, "max_groups": 1}, {"max_rows": 20, "max_groups": 2}):
        t = persons(PERSONS, bounds={"x": (0, 1), "y": (0, 1)}, **limits)
        plan = plan_of(t.group_by("g").agg(n=_.count(), a=_.x.sum(), b=_.y.sum()))
        assert plan.law is Law.JOINT
        [other] = [one for one in plan.runners_up if one.law is Law.LAPLACE]
        assert 1.9 * plan.cost < other.cost < 2.2 * plan.cost


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


def test_a_public_number_of_rows_is_not_counted() -> None:
    t = table(neighbors="replace-one", rows=10)
    assert plan_of(t.agg(a=_.x.sum(), b=(1 - _.x).sum())).joint is None


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
