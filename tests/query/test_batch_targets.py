"""Wanted errors of the tables of a batch: the smallest epsilon reaches them, and less does not."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from ibis import _

import discreet as dp
from discreet.errors import InvalidParameter, InvalidQuery
from discreet.query.explain import error_of
from discreet.query.table import PrivateTable


def protected() -> PrivateTable:
    random, n = np.random.default_rng(5), 500
    rows = pa.table({
        "plan": random.choice(["a", "b", "c"], n).tolist(), "age": random.integers(0, 90, n),
        "x": random.normal(3, 2, n),
    })  # fmt: skip
    budget = dp.Budget(epsilon=2**40, delta=1e-2)
    bounds = {"age": (0, 90), "x": (0, 6)}
    return dp.protect(rows, unit=dp.ROW, budget=budget, bounds=bounds, keys={"plan": ["a", "b"]})


def test_targets_find_the_smallest_epsilon() -> None:
    table = protected()
    question = dp.batch(by_plan=table.group_by("plan").agg(n=_.count()), old=table.filter(_.age >= 40).count())
    plan = question.plan(within={"by_plan": 20, "old": {"count": 15}})
    errors = question.explain(within={"by_plan": 20, "old": {"count": 15}}).accuracy
    assert errors["by_plan: n"].amount <= 20
    assert errors["old: count"].amount <= 15
    assert plan.charge.epsilon < 1
    for other in (plan, *question.plan(epsilon=plan.charge.epsilon * 9 / 10).runners_up):
        if other is not plan:
            worst = [one.blocks[0].scale * 2**0.5 * 1.96 for one in other.tables]
            assert worst[0] > 17 or worst[1] > 13
    for wrong, text in (
        ({}, "a wanted error for some tables"), ({"old": {}}, "a wanted error for some columns"),
        ({"c": 1}, "tables of the batch"), ({"old": {"m": 1}}, "columns of"),
        ({"old": 0}, "within"), ({"old": 1e-30}, "an error that some epsilon reaches"),
    ):  # fmt: skip
        with pytest.raises(InvalidParameter, match=text):
            question.plan(within=wrong)
    with pytest.raises(InvalidParameter, match="Expected epsilon or within"):
        question.plan(within={"old": 5}, epsilon=1)
    means = dp.batch(m=table.agg(m=_.x.mean()))
    with pytest.raises(InvalidQuery, match="whose error is known beforehand"):
        means.plan(within={"m": 1}, delta=1e-6)


def test_targets_are_parts_of_counts_of_so_many_rows() -> None:
    table = protected()
    question = dp.batch(by_plan=table.group_by("plan").agg(n=_.count()), old=table.filter(_.age >= 40).count())
    asked: dict[str, Any] = {"within": {"by_plan": 0.05, "old": 0.02}, "relative": True, "assume": {"rows": 400}}
    plan = question.plan(**asked)
    assert plan.charge == question.plan(within={"by_plan": 20, "old": 8}).charge
    assert question.explain(**asked).accuracy["by_plan: n"].amount <= 20
    assert question.plan(**(asked | {"assume": {"rows": 4000}})).charge.epsilon < plan.charge.epsilon
    released = question.release(**asked)
    assert released.receipt.charge == plan.charge
    sums = dp.batch(x=table.agg(x=_.x.sum()))
    for wrong, text in (
        ({"relative": True}, "beside relative=True"), (asked | {"assume": None}, "assume={'rows': n} beside"),
        (asked | {"assume": {"rows": 0}}, "assume={'rows': n}"), (asked | {"relative": 1}, "True or False"),
        (asked | {"within": {"old": -0.1}}, "within"),
    ):  # fmt: skip
        with pytest.raises(InvalidParameter, match=text):
            question.plan(**wrong)
    with pytest.raises(InvalidParameter, match="counts beside relative=True"):
        sums.plan(**(asked | {"within": {"x": 0.1}}))


def test_targets_of_means_hold_for_cells_of_so_many_rows() -> None:
    means = dp.batch(m=protected().group_by("plan").agg(m=_.x.mean(), n=_.count()))
    asked: dict[str, Any] = {"within": {"m": {"m": 0.5}}, "delta": 1e-6}
    for rows in (100, 10_000):
        found = means.plan(**asked, assume={"rows": rows})
        assert error_of(found.tables[0], found.tables[0].columns[0], 0.95, rows).amount <= 0.5
        cheaper = means.explain(epsilon=found.charge.epsilon * Fraction(98, 100), delta=1e-6, assume={"rows": rows})
        assert cheaper.accuracy["m: m"].amount > 0.5
    assert found.charge.epsilon < means.plan(**asked, assume={"rows": 100}).charge.epsilon
