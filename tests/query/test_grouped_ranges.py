"""Ranges of the bins of each of some groups, and prefixes: figures, errors, limits, refusals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import discreet as dp
from discreet.errors import InvalidParameter, InvalidQuery
from discreet.planning.noise_laws import Law
from discreet.workloads import OrderedQueries

CHANCE = np.random.default_rng(6)
AGES = np.clip(CHANCE.normal(40, 18, 600), 0, 99).astype(int)
WARDS = np.array(["a", "b", "c", "d"])[CHANCE.integers(0, 4, 600)]
EDGES = list(range(0, 101, 10))
LISTED = ["a", "b", "none"]
ROWS = pa.table({"who": np.arange(600) // 3, "ward": WARDS, "age": AGES})
PRICES: tuple[dict[str, Any], ...] = ({"epsilon": 2**18}, {"epsilon": 2**18, "delta": 1e-6})


def table(**declared: Any) -> Any:
    stated: dict[str, Any] = {"unit": dp.ROW, "budget": dp.Budget(epsilon=2**30, delta=1e-3)}
    return dp.protect(ROWS, **{**stated, "bounds": {"age": (0, 100)}, **declared})


def groups(**declared: Any) -> Any:
    return table(**declared).group_by("ward", keys={"ward": LISTED})


def exact(ward: str, low: int, high: int) -> int:
    return int(((ward == WARDS) & (low <= AGES) & (high > AGES)).sum())


@pytest.mark.parametrize("stated", PRICES)
@pytest.mark.parametrize("kind", [True, "prefixes"])
def test_ranges_of_groups_are_the_rows_in_them(stated: dict[str, Any], kind: Any) -> None:
    answer = groups().histogram("age", EDGES, ranges=kind).release(**stated)
    assert (list(answer), len(answer), answer.groups) == (LISTED, 3, ("ward",))
    for low, high in ((0, 10), (10, 70), (0, 100), (90, 100)):
        found = answer.between(low, high)
        assert found.to_pyarrow()["ward"].to_pylist() == LISTED
        for ward, value in zip(LISTED, found["count"], strict=True):
            assert abs(value - exact(ward, low, high)) < 0.1
            assert abs(answer[ward].between(low, high).value - exact(ward, low, high)) < 0.1
    assert len(answer.table) == answer.to_pyarrow().num_rows == 30
    assert len(answer["a"].table) == 10


def test_what_is_measured_costs_no_more_than_without_groups() -> None:
    """The noise of each group is that of one; and both figures of the bound are the same."""
    apart = table().histogram("age", EDGES, ranges=True)
    for stated in ({"epsilon": 1}, {"rho": 0.5}):
        alone, each = apart.explain(**stated), groups().histogram("age", EDGES, ranges=True).explain(**stated)
        assert each["strategy"] == f"{alone['strategy']}, in each group"
        assert each["ranges"] == alone["ranges"]
        assert each["bound"] == alone["bound"]
    bound = OrderedQueries.ranges(10).strategy().bound(rho=0.5)
    average = float(each["ranges"]["on average"]) / 1.95996
    assert 0.999 * bound < average < 1.03 * bound
    assert "1.00" in each["bound"]


@pytest.mark.long
@pytest.mark.parametrize("stated", [{"epsilon": 1}, {"rho": 0.5}])
def test_prefixes_have_less_noise_than_from_ranges(stated: dict[str, Any]) -> None:
    """By what is measured for them; and ranges have less by what is measured for ranges."""
    of_ranges = table().histogram("age", range(101), ranges=True).plan(**stated)
    of_prefixes = table().histogram("age", range(101), ranges="prefixes").plan(**stated)

    def variance(plan: Any, kind: str) -> float:
        queries: OrderedQueries = getattr(OrderedQueries, kind)(100)
        forms = np.stack([plan.form(0, one)[0] for one in np.eye(100)])
        total = float((queries.squares * (forms @ forms.T)).sum()) / queries.number
        return total * float(plan.part_variances[0][0]) / int(plan.cells.blocks[0].steps) ** 2

    assert variance(of_prefixes, "prefixes") < 0.9 * variance(of_ranges, "prefixes")
    assert variance(of_ranges, "ranges") < 0.95 * variance(of_prefixes, "ranges")
    found = table().histogram("age", range(101), ranges="prefixes").explain(**stated)
    assert sorted(found["prefixes"]) == ["on average", "worst"]
    rms = variance(of_prefixes, "prefixes") ** 0.5
    if "rho" in stated:
        assert float(found["prefixes"]["on average"]) == pytest.approx(1.95996 * rms, rel=1e-3)
        assert rms < 1.03 * OrderedQueries.prefixes(100).strategy().bound(rho=0.5)


def test_bins_by_themselves_are_measured_where_a_unit_is_in_many() -> None:
    """A matrix for ranges adds up what a unit adds to many bins; what is chosen is the best of both."""
    persons = table(unit="who", max_rows=3).group_by("ward", keys={"ward": LISTED}, max_groups=12)
    plan = persons.histogram("age", EDGES, ranges=True).plan(rho=1)
    assert plan.strategy.family == "cells, added up, in each group"
    assert plan.cells.limits.max_groups == 12
    few = table(unit="who", max_rows=3).group_by("ward", keys={"ward": LISTED}, max_groups=1)
    assert few.histogram("age", EDGES, ranges=True).plan(rho=1).strategy.family.startswith("a matrix")


def test_limits_are_of_pairs_of_a_group_and_a_bin() -> None:
    """A person of three rows in one group counts in one bin: as much as one row, in parts."""
    rows = pa.table({"who": [1, 1, 1], "ward": ["a"] * 3, "age": [5, 15, 25]})
    protected = dp.protect(rows, unit="who", budget=dp.Budget(epsilon=2**20), bounds={"age": (0, 100)}, max_rows=1)
    asked: Any = protected.group_by("ward", keys={"ward": ["a"]}, max_groups=1)
    answer = asked.histogram("age", EDGES, ranges=True).release(epsilon=2**18)
    assert abs(answer["a"].between(0, 100).value - 1) < 0.1
    assert abs(answer["a"].between(0, 10).value - 1 / 3) < 0.1


def test_a_histogram_of_groups_without_ranges_is_a_question() -> None:
    question = groups().histogram("age", EDGES)
    answer = question.release(epsilon=2**18)
    assert answer.groups == ("ward", "age_bin")
    assert abs(answer["count"].sum() - exact("a", 0, 100) - exact("b", 0, 100)) < 1
    assert dp.question(question.document(), {"table": table()}).document() == question.document()


def test_groups_may_be_tuples_conditions_and_null() -> None:
    keys = pa.table({"ward": ["a", "d", None], "old": [True, False, False]})
    protected = table().mutate(old=lambda t: t.age > 50)
    tuples: Any = protected.group_by("ward", "old", keys=dp.public_keys(keys, name="pairs"))
    answer = tuples.histogram("age", EDGES, ranges=True).release(epsilon=2**18)
    assert list(answer) == [("a", True), ("d", False), (None, False)]
    assert abs(answer["a", True].between(0, 50).value) < 0.1
    assert abs(answer["d", False].between(0, 50).value - exact("d", 0, 50)) < 0.1
    assert answer.between(50, 60).groups == ("ward", "old")
    halves = protected.group_by("old").histogram("age", EDGES, ranges="prefixes").release(epsilon=2**18)
    assert list(halves) == [False, True]
    assert abs(halves[True].between(0, 100).value - (AGES > 50).sum()) < 0.1


def test_the_smallest_epsilon_for_the_worst_range_of_a_group_is_found() -> None:
    question = groups().histogram("age", EDGES, ranges=True)
    found = question.plan(within=40)
    assert found.charge == table().histogram("age", EDGES, ranges=True).plan(within=40).charge
    assert float(question.explain(within=40)["ranges"]["worst"]) <= 40
    answer = question.release(within=40)
    assert float(answer.receipt["charge"]["epsilon"]) == float(found.charge.epsilon)


def test_the_same_question_again_is_free() -> None:
    protected = table(budget=dp.Budget(epsilon=1))
    question: Any = protected.group_by("ward", keys={"ward": LISTED}).histogram("age", EDGES, ranges=True)
    first, second = question.release(epsilon=1), question.release(epsilon=1)
    assert first.to_pyarrow().equals(second.to_pyarrow())
    assert protected.budget.spent.epsilon == 1
    other: Any = protected.group_by("ward", keys={"ward": LISTED}).histogram("age", EDGES, ranges="prefixes")
    with pytest.raises(dp.BudgetExceeded):
        other.release(epsilon=1)


def test_all_prices_and_laws_are_charged() -> None:
    question = groups().histogram("age", EDGES, ranges=True)
    assert question.plan(epsilon=1).law is Law.LAPLACE
    assert question.plan(rho=0.1).law is Law.GAUSSIAN
    assert question.plan(rho=0.1).charge == table().histogram("age", EDGES, ranges=True).plan(rho=0.1).charge


REFUSED: dict[str, tuple[Any, str]] = {
    "unknown keys": (
        lambda t: t.group_by("ward", keys=dp.UNKNOWN, max_groups=1).histogram("age", EDGES, ranges=True),
        "groups that are listed",
    ),
    "the name of the bins": (
        lambda t: (
            t.mutate(age_bin=t.ward).group_by("age_bin", keys={"age_bin": LISTED}).histogram("age", EDGES, ranges=True)
        ),
        "other names than the bins",
    ),
    "too many pairs": (
        lambda t: t.group_by("who", keys={"who": range(200_000)}, max_groups=1).histogram("age", EDGES, ranges=True),
        "at most 1,048,576 pairs",
    ),
    "no limit": (
        lambda t: t.group_by("ward", keys={"ward": LISTED}).histogram("age", EDGES, ranges=True),
        "max_groups",
    ),
    "a limit to find": (
        lambda t: t.group_by("ward", keys={"ward": LISTED}, max_groups="auto").histogram("age", EDGES, ranges=True),
        "limits and bounds that are stated",
    ),
    "another kind": (
        lambda t: t.group_by("ward", keys={"ward": LISTED}, max_groups=1).histogram("age", EDGES, ranges="suffixes"),
        "True, False or 'prefixes'",
    ),
    "no flag": (lambda t: t.histogram("age", EDGES, max_groups=1, ranges=1), "ranges"),
    "unordered edges": (
        lambda t: t.group_by("ward", keys={"ward": LISTED}, max_groups=1).histogram("age", [0, 9, 5], ranges=True),
        "rising order",
    ),
}


@pytest.mark.long
@pytest.mark.parametrize("case", REFUSED)
def test_what_no_group_can_have_is_refused(case: str) -> None:
    ask, said = REFUSED[case]
    protected = table(unit="who", max_rows=3)
    with pytest.raises((InvalidQuery, InvalidParameter), match=said):
        ask(protected)
    assert protected.budget.spent.epsilon == 0
