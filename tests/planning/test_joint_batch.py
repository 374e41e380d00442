"""Batches that are one question: planned as it, with its noise; tables are parts of what is drawn."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from ibis import _

import discreet as dp
from discreet.answers.batch_release import BatchRelease
from discreet.audit.adjacency import DISTANCES
from discreet.exact.amounts import decimal_text
from discreet.mechanisms.joint_totals import JointTotals
from discreet.noise.weighted_sum_bounds import log_concave_quantile
from discreet.planning.batch_planner import price_batch
from discreet.planning.joint_batch import JointBatchPlan, is_one_question, plan_jointly, price_together
from discreet.planning.noise_laws import Law
from discreet.query.batch_question import BatchQuestion
from discreet.query.explain import error_of
from discreet.query.listed_batch_question import ListedBatchQuestion
from discreet.query.table import PrivateTable
from discreet.testing.scripted_words import splitmix
from neighbor_bench import Bench

RANDOM = np.random.default_rng(3)
ROWS = pa.table({
    "id": RANDOM.integers(0, 40, 300), "x": RANDOM.random(300), "y": RANDOM.integers(-4, 4, 300),
    "g": RANDOM.integers(0, 4, 300), "h": RANDOM.integers(0, 2, 300),
})  # fmt: skip
FACTS: dict[str, Any] = {"bounds": {"x": (0, 1), "y": (-4, 3)}, "keys": {"g": [2, 0, 1], "h": [0, 1]}}
PERSONS: dict[str, Any] = {"unit": "id", "max_groups": 2, "max_rows": 3}


def protected(**declared: Any) -> PrivateTable:
    return dp.protect(ROWS, budget=dp.Budget(epsilon=1000, delta=1e-3), **{"unit": dp.ROW, **FACTS, **declared})


def alone(table: PrivateTable) -> dict[str, Any]:
    """A count and two sums, of all rows; asked for apart."""
    return {"n": table.count(), "x": table.agg(x=_.x.sum()), "y": table.agg(y=_.y.sum())}


def grouped(table: PrivateTable) -> dict[str, Any]:
    """The same in groups, of which one question lists fewer, in another order, and another one groups by more names
    than are needed.
    """
    few: Any = table.group_by("g", "h", keys={"g": [1, 2], "h": [1, 0]})
    return {"n": table.group_by("g", "h").agg(n=_.count()), "s": few.agg(y=_.y.sum(), x=_.x.sum(), m=_.count())}


def planned(question: BatchQuestion, **stated: Any) -> JointBatchPlan:
    found = question.plan(**(stated or {"epsilon": 1}))
    assert isinstance(found, JointBatchPlan)
    return found


@pytest.mark.parametrize("declared", [{}, PERSONS])
def test_a_batch_is_as_good_as_the_one_question(declared: dict[str, Any]) -> None:
    """A count and two sums; what else was priced is told beside, and is worse."""
    table = protected(**declared)
    for asked, one in (
        (alone(table), table.agg(count=_.count(), x=_.x.sum(), y=_.y.sum())),
        (
            {name: table.group_by("g").agg(**{name: value}) for name, value in SUMS.items()},
            table.group_by("g").agg(**SUMS),
        ),
    ):
        question, told = dp.batch(asked), one.explain(epsilon=1)
        found = question.explain(epsilon=1)
        own = [error.amount for error in found.accuracy.values()]
        assert own == [error.amount for error in told.accuracy.values()]
        assert found["totals"][0]["mechanism"] == "K-norm, all totals together"
        beside = found["also priced"][0]["plus_minus"].values()
        assert all(mine < float(other) for mine, other in zip(own, beside, strict=True))
        assert question.plan(epsilon=1).charge == dp.Guarantee(epsilon=Fraction(1))
        assert not isinstance(question.plan(rho=0.1), JointBatchPlan)


SUMS: dict[str, Any] = {"n": _.count(), "x": _.x.sum(), "y": _.y.sum()}


def test_where_little_is_gained_it_is_not_taken() -> None:
    """A count and a sum: two totals have it without."""
    table = protected()
    question = dp.batch(n=table.count(), x=table.agg(x=_.x.sum()))
    assert isinstance(question, ListedBatchQuestion)
    assert is_one_question(question.query)
    assert not isinstance(question.plan(epsilon=1), JointBatchPlan)


def test_only_tables_of_the_same_cells_are_one_question() -> None:
    """No sums of cells, no ranges, no means, no more than four columns."""
    table = protected()
    count = table.group_by("g").agg(n=_.count(), x=_.x.sum(), y=_.y.sum())
    over: Any = [table.filter(_.y > least) for least in (-2, 0)]
    wrong: list[Any] = [
        dp.batch(n=count, x=table.agg(x=_.x.sum())),
        dp.batch(a=over[0].count(), b=over[1].agg(x=_.x.sum(), y=_.y.sum())),
        dp.batch(n=table.count(), m=table.agg(m=_.x.mean())),
        table.histogram("x", [0, 0.5, 1], ranges=True).batch,
    ]
    for question in wrong:
        assert not is_one_question(question.query)
    assert isinstance(dp.batch(n=count).plan(epsilon=1), JointBatchPlan)
    assert isinstance(
        dp.batch(a=over[0].count(), b=over[0].agg(x=_.x.sum(), y=_.y.sum())).plan(epsilon=1), JointBatchPlan
    )
    many = {f"a{k}": table.agg(s=(_.x * k).sum()) for k in range(1, 6)}
    assert not isinstance(dp.batch(many).plan(epsilon=1), JointBatchPlan)


def exact(question: BatchQuestion, plan: JointBatchPlan) -> list[Any]:
    source: Any = question.source
    found: list[Any] = source._engine.totals(plan.cells)
    return found


def test_tables_are_parts_of_the_cells() -> None:
    """Key for key, also where one question lists fewer of them in another order."""
    question = dp.batch(grouped(protected()))
    plan = planned(question)
    answer = BatchRelease(plan, exact(question, plan), {}, 0.95)
    frame = ROWS.to_pandas()
    true = frame.groupby(["g", "h"]).agg(m=("x", "size"), x=("x", "sum"), y=("y", "sum"))
    shown = answer["n"].to_pandas()
    assert list(zip(shown.g, shown.h, strict=True)) == [(g, h) for g in (2, 0, 1) for h in (0, 1)]
    assert shown.n.tolist() == [true.m[key] for key in zip(shown.g, shown.h, strict=True)]
    few = answer["s"].to_pandas()
    assert list(zip(few.g, few.h, strict=True)) == [(1, 1), (1, 0), (2, 1), (2, 0)]
    for name in ("m", "x", "y"):
        assert np.allclose(few[name], [true[name][key] for key in zip(few.g, few.h, strict=True)])
    gap = answer.sum("n", "n", g=1, h=1) - answer.sum("s", "m", g=1, h=1)
    assert gap.value == 0
    assert -1e-9 < gap.low <= 0 <= gap.high < 1e-9
    assert answer.sum("s", "y", g=2).value == pytest.approx(true.y[2].sum())


@pytest.mark.long
@pytest.mark.parametrize("declared", [{}, PERSONS, {**PERSONS, "neighbors": "replace-one", "units": 40}])
def test_neighbors_are_within_the_body(declared: dict[str, Any]) -> None:
    """Whoever is left out, or replaced by a later one; and somebody is near its edge."""
    bench, asked = Bench(), (alone, grouped)
    ids = np.arange(300) if not declared else ROWS["id"].to_numpy()
    for ask in asked:
        question = dp.batch(ask(bench.protect(ROWS, **{"unit": dp.ROW, **FACTS, **declared})))
        plan, found = planned(question), []
        whole = np.concatenate(bench.totals(plan.cells), axis=1)
        for i in range(6):
            kept = ids != i
            other = ROWS.filter(pa.array(kept))
            if "neighbors" in declared:  # one is replaced by another one, with its rows
                row = np.flatnonzero(ids == i)
                moved = ROWS.take(pa.array(np.where(kept, np.arange(300), (np.arange(300) + 7) % 300)))
                other = moved.set_column(0, "id", ROWS["id"]) if len(row) else ROWS
            after = np.concatenate(bench.totals(plan.cells, other), axis=1)
            found.append(DISTANCES[JointTotals][1](plan.joint, whole, after))
        assert max(found) <= 1 + 1e-9
        assert max(found) > (0.9 if not declared else 0.2)


def test_combinations_have_the_noise_that_is_left() -> None:
    """A count less a sum of what is never below 0 has less noise than both apart: of 6,000 draws the variance is within
    an eighth of what is stated (five deviations), and intervals of 90 % hold at least as many, of one cell less another
    as well.
    """
    question = dp.batch(grouped(protected()))
    plan, draws = planned(question), 6_000
    answer = BatchRelease(plan, exact(question, plan), {}, 0.9)
    both = answer.sum("s", "m", g=1, h=1) - answer.sum("s", "x", g=1, h=1)
    asked = [both, answer.difference("n", "n", {"g": 1}, {"g": 2}), answer.sum("n", "n", g=0, h=0)]
    cells, steps = plan.cells.query.cells, np.array([block.steps for block in plan.cells.blocks])
    none = np.zeros((draws * cells, len(steps)), dtype=np.int64)
    noise = plan.joint.add_noise(none, splitmix(5)).reshape(draws, cells, -1).astype(float) / steps
    moved = [sum(noise[:, :, block] @ form for (block, _), (form,) in one.forms.items()) for one in asked]
    held = [float(np.mean(np.abs(own) <= one.high - one.value)) for own, one in zip(moved, asked, strict=True)]
    assert held[0] > 0.9
    assert held[1] > 0.9
    assert 0.88 < held[2] < 0.96  # a count, whose noise is whole
    variances = np.var(np.stack(moved), axis=1)
    rounding = 1 / 12 / steps.min() ** 2
    half = both.high - both.value
    stated = ((half - 0.5 * sum(1 / steps[[0, 1]])) / log_concave_quantile(0.1)) ** 2
    assert variances[0] == pytest.approx(stated + rounding, rel=1 / 8)
    apart = sum(np.var(noise[:, 0, plan.cells.columns[place].blocks[0]]) for place in (0, 2))
    assert variances[0] < 0.8 * apart


def test_a_release_is_what_was_explained_and_is_kept() -> None:
    """One event, one charge; the same again costs nothing, and its intervals are those of the one question."""
    table = protected()
    question = dp.batch(alone(table))
    answer = question.release(epsilon=1)
    assert answer.receipt["charge"] == {"epsilon": "1", "delta": "0"}
    assert answer.receipt.charge == dp.Guarantee(epsilon=Fraction(1))
    assert "K-norm" in answer.receipt["totals"][0]["mechanism"]
    again = question.release(epsilon=1)
    assert [one["n"]["count"].tolist() for one in (answer, again)] == [answer["n"]["count"].tolist()] * 2
    assert table.budget.spent.epsilon == 1
    shown = answer["n"].to_pyarrow().to_pydict()
    plan = planned(question)
    half = error_of(plan.tables[0], plan.tables[0].columns[0], 0.95, None).amount
    assert shown["count_high"][0] - shown["count"][0] == math.ceil(half) or half == 0
    total = answer.sum("n", "count")
    assert total.high - total.value == pytest.approx(half)
    assert answer.counts(integers=True)["n"]["count"].to_pylist()[0] >= 0


def test_weights_are_kept() -> None:
    """Weights of tables decide which noise is better."""
    question: Any = dp.batch(alone(protected()))
    plan, other = planned(question), price_batch(question.query, epsilon=1)
    ratio = {
        name: (error_of(own, own.columns[0], 0.95, None).amount / error_of(two, two.columns[0], 0.95, None).amount) ** 2
        for name, own, two in zip(plan.names, plan.tables, other.tables, strict=True)
    }
    assert ratio["n"] > ratio["x"]
    for weights in (None, {"n": 1e-6}, {"x": 1000}):
        assert isinstance(price_together(question.query, epsilon=1, weights=weights), JointBatchPlan)


def test_wanted_errors_are_reached_by_the_cheapest_noise() -> None:
    """That of all totals together, where it is enough at less epsilon than each by itself; and no less is enough."""
    question: Any = dp.batch(alone(protected()))
    wanted = {"n": 20, "x": 20, "y": 100}
    plan = question.plan(within=wanted)
    assert isinstance(plan, JointBatchPlan)
    [other] = plan.runners_up
    assert other.law is Law.LAPLACE
    assert plan.charge.epsilon < other.charge.epsilon
    assert plan.event == plan.joint.event
    for one in (plan, other):
        assert all(
            error_of(own, own.columns[0], 0.95).amount <= wanted[own.columns[0].aggregate.name.replace("count", "n")]
            for own in one.tables
        )
    less = plan_jointly(question.query, plan.charge.epsilon * Fraction(999, 1000))
    assert less is not None
    assert error_of(less.tables[0], less.tables[0].columns[0], 0.95).amount > 20
    told = question.explain(within=wanted)
    assert {row["mechanism"] for row in told["totals"]} == {Law.JOINT.value}
    [beside] = told["also priced"]
    assert beside["charge"] == {"epsilon": decimal_text(other.charge.epsilon), "delta": "0"}
    answer = question.release(within=wanted)
    assert answer.receipt["charge"] == told["charge"]
    assert answer["n"].to_pandas().count_high[0] - answer["n"]["count"][0] <= 20
    few = question.plan(within={"n": 1e-3})  # hardly any noise
    assert few.charge.epsilon == min(one.charge.epsilon for one in (few, *few.runners_up))


def test_listed_tables_beside_ranges_have_it_for_their_part() -> None:
    """As a batch of their own would have it at this part of the price; answers are kept, and cost once."""
    table = protected()
    question = dp.batch(alone(table), ages=table.histogram("y", [-4, 0, 3], ranges=True))
    plan = question.plan(epsilon=4)
    assert isinstance(plan.listed, JointBatchPlan)
    own = dp.batch(alone(table)).explain(epsilon=3).accuracy
    assert {name: question.explain(epsilon=4).accuracy[name].amount for name in own} == {
        name: error.amount for name, error in own.items()
    }
    assert plan.charge == dp.Guarantee(epsilon=Fraction(4))
    first, again = question.release(epsilon=4), question.release(epsilon=4)
    assert first["n"]["count"].tolist() == again["n"]["count"].tolist()
    assert abs(first["n"]["count"][0] - 300) < 60
    assert first.sum("x", "x").low < first.sum("x", "x").high
    assert table.budget.spent.epsilon == 4
    wanted = question.plan(within={"ages": 40, "n": 20})
    assert isinstance(wanted.listed, JointBatchPlan)
    assert wanted.charge.epsilon == sum(part.charge.epsilon for part in wanted.parts)
    mixed = question.plan(within={"ages": 40, "n": 20}, delta=1e-6)
    assert mixed.charge.epsilon <= wanted.charge.epsilon
