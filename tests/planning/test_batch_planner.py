"""Prices of batches: parts that add up to the charge, noise of their size, and the least error of what was tried."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from ibis import _

import discreet as dp
from discreet.accounting.event_costs import zcdp_of_event
from discreet.errors import InvalidParameter, InvalidQuery
from discreet.mechanisms.gaussian import Gaussian
from discreet.mechanisms.laplace import Laplace
from discreet.planning.batch_planner import BatchPlan, price_batch
from discreet.planning.noise_laws import Law
from discreet.planning.planner import price
from discreet.query.batch_question import BatchQuestion
from discreet.query.explain import error_of
from discreet.testing.scripted_words import splitmix

TABLE = pa.table({"person": [1, 1, 2, 3] * 5, "a": ["x", "y"] * 10, "b": [1, 2, 3, 4] * 5, "v": list(range(20))})
FACTS: dict[str, Any] = {"keys": {"a": ["x", "y"], "b": [1, 2, 3, 4]}, "bounds": {"v": (0, 20)}}
PRICES = [{"epsilon": 1}, {"epsilon": 1, "delta": 1e-6}, {"rho": 0.5}]


def cube(*, sums: bool = True, **declared: Any) -> BatchQuestion:
    stated = {"unit": dp.ROW, **declared}
    limits = {} if stated["unit"] is dp.ROW else {"max_groups": 2, "max_rows": 3}
    table = dp.protect(TABLE, budget=dp.Budget(epsilon=10), **FACTS, **stated)
    asked = {"n": _.count(), "s": _.v.sum()} if sums else {"n": _.count()}
    return table.group_by("a", "b", cube=True, **limits).agg(**asked)


def plans(question: BatchQuestion, stated: dict[str, Any]) -> list[BatchPlan]:
    best = question.plan(**stated)
    return [best, *best.runners_up]


@pytest.mark.parametrize("stated", PRICES)
@pytest.mark.parametrize("unit", [dp.ROW, "person"])
def test_parts_of_a_batch_add_up_to_its_price(stated: dict[str, Any], unit: Any) -> None:
    for plan in plans(cube(unit=unit), stated):
        every = [one for own in plan.mechanisms for one in own]
        if plan.law is Law.LAPLACE:
            assert all(isinstance(one, Laplace) for one in every)
            spent = sum((one.epsilon for one in every if isinstance(one, Laplace)), start=Fraction(0))
            assert Fraction(999_999, 1_000_000) * plan.charge.epsilon < spent <= plan.charge.epsilon
        else:
            assert all(isinstance(one, Gaussian) for one in every)
            mu2 = sum((one.mu**2 for one in every if isinstance(one, Gaussian)), start=Fraction(0))
            paid = dp.Gaussian(sensitivity=1, **stated)
            assert Fraction(999_999, 1_000_000) * paid.mu**2 < mu2 <= paid.mu**2 * (1 + Fraction(1, 10**12))
            if plan.charge.rho is not None:
                assert zcdp_of_event(plan.event)[0] <= plan.charge.rho == Fraction(1, 2)


@pytest.mark.parametrize("stated", PRICES)
def test_fine_sums_have_noise_of_their_size(stated: dict[str, Any]) -> None:
    """What is measured of rows that count once moves by whole multiples of what it is multiplied by."""
    for plan in plans(cube(sums=False), stated):
        [block], [fine] = plan.cells.blocks, plan.fine
        assert block.steps == 1 < fine
        for part, noise in zip(plan.strategy.parts, plan.mechanisms[0], strict=True):
            least = part.absolute if plan.law is Law.LAPLACE else math.sqrt(part.squared(1))
            assert math.isclose(float(noise.sensitivity), fine * least, rel_tol=1e-9)


@pytest.mark.parametrize("stated", PRICES)
def test_large_counts_do_not_wrap(stated: dict[str, Any]) -> None:
    """What is multiplied before it is measured is added up in integers of any size."""
    for plan in plans(cube(sums=False), stated):
        counts = np.full((8, 1), 2**52, dtype=np.int64)
        found = plan.totals(plan.noisy([counts], splitmix(3)))
        assert [float(table[0].sum()) for table in found] == pytest.approx([2.0**55] * 4, rel=1e-6)


@pytest.mark.parametrize("stated", PRICES)
def test_the_best_of_all_families_is_taken(stated: dict[str, Any]) -> None:
    costs = [plan.cost for plan in plans(cube(), stated)]
    assert costs[0] <= min(costs) * 1.001
    assert costs == sorted(costs, key=lambda cost: float(f"{cost:.4g}"))
    assert len(costs) >= 2


def test_cells_added_up_have_the_error_of_their_sum() -> None:
    """Of eight cells, at a pure epsilon, the total has the noise of all eight."""
    plan = next(p for p in plans(cube(sums=False), {"epsilon": 1}) if p.strategy.family == "cells, added up")
    single = price(plan.cells.query, epsilon=1)
    variance = single.blocks[0].scale ** 2
    for table, cells in zip(plan.tables, (8, 4, 2, 1), strict=True):
        assert math.isclose(table.blocks[0].scale ** 2, cells * variance, rel_tol=1e-3)


def test_one_table_alone_costs_what_its_question_costs() -> None:
    table = dp.protect(TABLE, unit=dp.ROW, budget=dp.Budget(epsilon=10), **FACTS)
    question = table.group_by("a").agg(n=_.count())
    alone = price(question._query, epsilon=1)
    both = dp.batch(one=question).plan(epsilon=1)
    ours = error_of(both.tables[0], both.tables[0].columns[0], 0.95).amount
    assert ours <= error_of(alone, alone.columns[0], 0.95).amount * 1.001


def test_a_pure_epsilon_is_for_counts_and_sums() -> None:
    table = dp.protect(TABLE, unit=dp.ROW, budget=dp.Budget(epsilon=10), **FACTS)
    means = table.group_by("a", cube=True).agg(m=_.v.mean())
    with pytest.raises(InvalidQuery, match="Expected a delta or a rho beside means"):
        means.plan(epsilon=1)
    assert means.plan(epsilon=1, delta=1e-6).law is Law.GAUSSIAN


def test_cubes_have_the_least_error_there_is() -> None:
    assert cube().explain(rho=0.5)["bound"].startswith("1.000 times the least error")
    assert cube().explain(epsilon=1)["bound"] == "none is known"
    assert "1.000 times the least error" in repr(cube().explain(rho=0.5))


def test_weights_are_of_tables() -> None:
    light, heavy = cube().plan(rho=0.5), cube().plan(rho=0.5, weights={("a", "b"): 100})
    errors = [[plan.tables[i].blocks[0].scale for i in (0, 3)] for plan in (light, heavy)]
    assert errors[1][0] > errors[0][0]
    assert errors[1][1] < errors[0][1]
    for wrong in ({"c": 1}, {("a",): 0}, {("a",): float("nan")}, [1]):
        with pytest.raises(InvalidParameter, match=r"weight"):
            cube().plan(rho=0.5, weights=wrong)  # type: ignore[arg-type]  # what is refused


def test_every_price_is_checked() -> None:
    refused: list[dict[str, Any]] = [{}, {"epsilon": 0}, {"epsilon": 1, "rho": 1}, {"rho": -1}]
    for wrong in (*refused, {"epsilon": 1, "delta": 2}):
        with pytest.raises(InvalidParameter):
            cube().plan(**wrong)


def test_cells_of_unequal_noise_are_told_apart() -> None:
    """Prefixes of a measured marginal have the more noise the longer they are, and each its own interval."""
    table = dp.protect(TABLE, unit=dp.ROW, budget=dp.Budget(epsilon=10), **FACTS)
    questions = {f"up_to_{k}": table.filter(_.b <= k).count() for k in (1, 2, 3)}
    plan = dp.batch(questions, by_b=table.group_by("b").agg(n=_.count())).plan(epsilon=1)
    assert plan.tables[0].classes is None or len(plan.tables[0].classes.of) == 4
    direct = price_batch(plan.query, epsilon=1)
    for place, own in enumerate(direct.tables):
        variances = direct.variances(place, 0)
        blocks = [own.blocks] if own.classes is None else own.classes.blocks
        labels = np.zeros(len(variances), dtype=int) if own.classes is None else own.classes.of
        scales = np.array([blocks[i][0].scale for i in labels])
        assert np.allclose(scales**2 / variances, (scales**2 / variances)[0], rtol=1e-6)


def test_all_subsets_have_their_own_plan() -> None:
    plan = cube().plan(rho=1)
    assert plan.query.names == tuple(one for k in range(3) for one in itertools.combinations(("a", "b"), k))
    assert [table.query.cells for table in plan.tables] == [1, 2, 4, 8]
    assert all(table.reconciled and table.charge == plan.charge for table in plan.tables)
