"""Histograms that answer every range: edges, figures, intervals of ranges and of quantiles."""

from __future__ import annotations

from datetime import date
from typing import Any

import ibis
import numpy as np
import pyarrow as pa
import pytest

import discreet as dp
from discreet.answers.batch_release import BatchRelease
from discreet.answers.ranges_release import RangesRelease
from discreet.errors import InvalidParameter, InvalidQuery
from discreet.query.ranges import RangesQuestion
from discreet.testing.scripted_words import splitmix
from discreet.workloads import OrderedQueries

AGES = np.clip(np.random.default_rng(6).normal(40, 18, 300), 0, 99).astype(int)
EDGES = list(range(0, 101, 5))


def ranges(**declared: Any) -> RangesQuestion:
    table = dp.protect(
        pa.table({"age": AGES}), unit=dp.ROW, budget=dp.Budget(epsilon=2**30), bounds={"age": (0, 100)}, **declared
    )
    return table.histogram("age", EDGES, ranges=True)


@pytest.mark.parametrize("stated", [{"epsilon": 2**18}, {"epsilon": 2**18, "delta": 1e-6}])
def test_ranges_are_the_rows_in_them(stated: dict[str, Any]) -> None:
    answer = ranges().release(**stated)
    for low, high in ((0, 5), (15, 70), (0, 100), (95, 100)):
        exact = int(((low <= AGES) & ((high > AGES) | ((high == 100) & (AGES <= 100)))).sum())
        assert abs(answer.between(low, high).value - exact) < 0.1
    shares = answer.cdf().to_pydict()
    assert shares["edge"] == EDGES
    assert np.allclose(shares["share"], [(edge > AGES).mean() for edge in EDGES[:-1]] + [1.0], atol=1e-3)
    assert abs(answer.quantile(0.5).value - np.median(AGES)) < 5
    assert len(answer.table) == 20


def test_differences_of_ranges_are_those_of_their_rows() -> None:
    """What both have in common is in neither the value nor the interval."""
    exact, noisy = ranges().release(epsilon=2**18), ranges().release(epsilon=1)
    young, old = int(((AGES >= 15) & (AGES < 40)).sum()), int((AGES >= 60).sum())
    assert abs(exact.difference((15, 40), (60, 100)).value - (young - old)) < 0.1
    found, apart = noisy.difference((15, 40), (20, 40)), noisy.between(15, 20)
    assert (found.value, found.low, found.high) == pytest.approx((apart.value, apart.low, apart.high))
    for wrong in (((15,), (20, 40)), ((15, 40), 20), ((15, 40), "ab"), ((15, 41), (20, 40)), ((40, 15), (20, 40))):
        with pytest.raises(InvalidParameter, match="\nHint: "):
            noisy.difference(*wrong)


def test_ranges_have_less_noise_than_sums_of_bins() -> None:
    found = ranges().explain(epsilon=1)
    apart = dp.Laplace(sensitivity=1, epsilon=1)
    assert found["strategy"] == "a matrix for these questions"
    assert float(found["ranges"]["worst"]) < 1.96 * (2 * 20) ** 0.5 * float(apart.scale)
    assert float(found["ranges"]["on average"]) < float(found["ranges"]["worst"])


def test_what_is_measured_is_the_best_for_ranges_not_for_bins() -> None:
    """300 bins by themselves have less noise than those of a matrix, and sums of them three times as much."""
    bins = 300
    table = dp.protect(pa.table({"age": AGES}), unit=dp.ROW, budget=dp.Budget(rho=9), bounds={"age": (0, bins)})
    question = table.histogram("age", list(range(bins + 1)), ranges=True)
    found = question.explain(rho=0.5)
    assert found["strategy"] == "a matrix for these questions"
    average = float(found["ranges"]["on average"]) / 1.95996
    assert question.plan(rho=0.5).cost == pytest.approx(average**2 * bins * (bins + 1) / 2, rel=0.01)
    bound = OrderedQueries.ranges(bins).strategy().bound(rho=0.5)
    assert 0.999 * bound < average < 1.05 * bound


@pytest.mark.long
def test_many_bins_are_planned_for_ranges_at_a_pure_epsilon() -> None:
    """By themselves, added up, their ranges would be off by 14.2 on average."""
    table = dp.protect(pa.table({"age": AGES}), unit=dp.ROW, budget=dp.Budget(epsilon=9), bounds={"age": (0, 300)})
    plan = table.histogram("age", list(range(301)), ranges=True).plan(epsilon=1)
    assert plan.strategy.family == "a matrix for these questions"
    assert (plan.cost / (300 * 301 / 2)) ** 0.5 < 9.3


def test_ends_are_edges() -> None:
    answer = ranges().release(epsilon=1)
    odd: list[Any] = [
        3,
        "a",
        10**400,
        None,
        ibis.row_number(),
        ibis.literal(None),
        ibis._.age,
        np.arange(2),
        [1],
        float("nan"),
    ]
    for low, high, text in ((50, 50, "low below high"), *((one, 50, "an edge of the bins") for one in odd)):
        with pytest.raises(InvalidParameter, match=text):
            answer.between(low, high)
    for share in (0, 1, 2, "half"):
        with pytest.raises(InvalidParameter):
            answer.quantile(share)
    with pytest.raises(InvalidParameter, match=r"bins are not cut: write 0 or 5\."):
        answer.between(3, 50)


def missed(stated: dict[str, Any], *, values: Any = AGES, sided: bool = True) -> tuple[float, float]:
    """How often intervals of ranges and of quantiles miss at 90 %."""
    question = ranges()
    plan = question.plan(**stated)
    source: Any = question.batch.source
    exact, words = source._engine.totals(plan.cells), splitmix(23)
    wrong = {"ranges": 0, "quantiles": 0}
    repeats = 300
    for _repeat in range(repeats):
        answer = RangesRelease(BatchRelease(plan, plan.noisy(exact, words), {}, 0.9), EDGES, 0.9)
        for low, high in ((10, 60), (40, 45)):
            found, true = answer.between(low, high), int(((low <= values) & (high > values)).sum())
            wrong["ranges"] += not found.low <= true <= found.high
        quantile = answer.quantile(0.25)
        true_value = np.sort(values)[int(np.ceil(0.25 * len(values))) - 1]
        high_end = quantile.high if sided else quantile.low
        wrong["quantiles"] += not quantile.low <= true_value <= high_end
    return wrong["ranges"] / (2 * repeats), wrong["quantiles"] / repeats


@pytest.mark.long
@pytest.mark.parametrize("stated", [{"epsilon": 0.2}, {"rho": 0.01}])
def test_quantiles_of_ranges_are_held(stated: dict[str, Any]) -> None:
    """600 ranges at 10 %, 300 quantiles at 10 % or less; and a rule of one edge alone is far off."""
    of_ranges, of_quantiles = missed(stated)
    assert 0.05 < of_ranges < 0.16
    assert of_quantiles < 0.15
    assert missed(stated, sided=False)[1] > 0.5


def test_few_rows_leave_quantiles_open() -> None:
    table = dp.protect(pa.table({"age": AGES[:2]}), unit=dp.ROW, budget=dp.Budget(epsilon=9), bounds={"age": (0, 100)})
    question = table.histogram("age", EDGES, ranges=True)
    found = [question.release(epsilon=0.1, fresh=True).quantile(0.5) for _again in range(20)]
    # Nine in ten at least; fewer than half of 20 then are one time in ten million.
    assert sum((one.low, one.high) == (0, 100) for one in found) >= 10


def test_dates_have_edges_too() -> None:
    days = pa.array([date(2020, 1, 1 + k % 20) for k in range(40)])
    table = dp.protect(pa.table({"day": days}), unit=dp.ROW, budget=dp.Budget(epsilon=2**20))
    edges = [date(2020, 1, 1), date(2020, 1, 11), date(2020, 2, 1)]
    answer = table.histogram("day", edges, ranges=True).release(epsilon=2**18)
    assert abs(answer.between(edges[0], edges[1]).value - 20) < 0.1
    assert answer.quantile(0.25).low == edges[0]


def test_one_bin_is_a_range() -> None:
    table = dp.protect(pa.table({"age": AGES}), unit=dp.ROW, budget=dp.Budget(epsilon=2**20), bounds={"age": (0, 100)})
    for stated in ({"epsilon": 2**18}, {"epsilon": 2**18, "delta": 1e-6}):
        answer = table.histogram("age", [0, 100], ranges=True).release(**stated)
        assert abs(answer.between(0, 100).value - 300) < 0.1


def test_units_need_their_limits() -> None:
    table = dp.protect(
        pa.table({"who": AGES, "age": AGES}),
        unit="who",
        max_rows=2,
        budget=dp.Budget(epsilon=9),
        bounds={"age": (0, 100)},
    )
    with pytest.raises(InvalidQuery, match="max_groups"):
        table.histogram("age", EDGES, ranges=True)
    plan = table.histogram("age", EDGES, ranges=True, max_groups=3).plan(rho=1)
    assert plan.cells.limits.max_groups == 3


def test_the_smallest_epsilon_for_the_worst_range_is_found() -> None:
    """A part in 500 less, and the worst range would be off by more."""
    question = ranges()
    found = question.plan(within=40)
    price = float(found.charge.epsilon)
    assert float(question.explain(within=40)["ranges"]["worst"]) <= 40
    assert float(question.explain(epsilon=price * 0.998)["ranges"]["worst"]) > 40
    assert question.plan(within=40, delta=1e-6).charge.epsilon <= found.charge.epsilon
    wrong: tuple[tuple[dict[str, Any], str], ...] = (
        ({"within": 0}, "within"), ({"within": 1, "epsilon": 1}, "Expected epsilon or within"),
        ({"within": 1e-30}, "an error that some epsilon reaches"),
    )  # fmt: skip
    for stated, text in wrong:
        with pytest.raises(InvalidParameter, match=text):
            question.release(**stated)
