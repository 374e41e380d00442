"""Staircase noise in a plan: taken where it is better and one unit changes one total, exact, recorded, and attacked."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from ibis import _

import discreet as dp
from discreet.accounting.event_costs import cost_of
from discreet.audit import neighbors
from discreet.audit.compare_runs import findings
from discreet.audit.pipelines import Function, Run
from discreet.mechanisms.staircase import Staircase
from discreet.noise.laplace import DiscreteLaplace
from discreet.planning.linear_error import half_width
from discreet.planning.noise_laws import LEAST_GAIN, Law
from discreet.planning.plan import Plan
from discreet.planning.planner import price
from discreet.privacy.events import Composed, StaircaseEvent, from_json, to_json
from discreet.testing import not_private
from discreet.testing.scripted_words import splitmix
from discreet.testing.statistics import chi_square_p

ROWS = pa.table({"who": [1, 1, 2, 3], "g": ["a", "b", "a", "c"], "x": [1.0, 30.0, 50.0, -4.0]})


def table(data: pa.Table = ROWS, **stated: Any) -> dp.PrivateTable:
    usual: dict[str, Any] = {"unit": "who", "max_rows": 5, "max_groups": 2, "keys": {"g": ["a", "b", "c"]}}
    budget = dp.Budget(epsilon=1000, delta=1e-3)
    return dp.protect(data, bounds={"x": (-10, 50)}, budget=budget, **{**usual, **stated})


def by_row(**stated: Any) -> dp.PrivateTable:
    return table(unit=dp.ROW, max_rows=None, max_groups=None, **stated)


def plan(question: Any, **stated: Any) -> Plan:
    return price(question._query, **stated)


LONE: dict[str, Callable[[], Any]] = {
    "a count of weighted rows": lambda: table().count(),
    "a sum": lambda: table().agg(s=_.x.sum()),
    "sums by group of rows": lambda: by_row().group_by("g").agg(s=_.x.sum()),
    "a replaced unit": lambda: table(neighbors="replace-one", units=3).count(),
    "a public number of rows": lambda: by_row(neighbors="replace-one", rows=4).agg(m=_.x.fill_null(0).mean()),
}
SHARED: dict[str, Callable[[], Any]] = {
    "counts by group of units": lambda: table().group_by("g").agg(n=_.count()),
    "units in one group": lambda: table(max_groups=1).group_by("g").agg(s=_.x.sum()),
    "a pair": lambda: table().agg(m=_.x.mean()),
    "a triple": lambda: table().agg(v=_.x.var()),
    "rows that change their group": lambda: by_row(neighbors="replace-one", rows=4).group_by("g").agg(s=_.x.sum()),
}


@pytest.mark.parametrize("name", LONE)
def test_the_cheapest_is_taken_for_each_epsilon(name: str) -> None:
    """Staircase noise where it has at most 4/5 of the variance, and no wider intervals; never at a small epsilon."""
    question = LONE[name]()
    laws = {epsilon: plan(question, epsilon=epsilon) for epsilon in (0.5, 2, 4, 5, 8, 20)}
    assert [laws[epsilon].law for epsilon in (0.5, 2)] == [Law.LAPLACE] * 2
    assert all(laws[epsilon].law is Law.STAIRCASE for epsilon in (5, 8, 20))
    for epsilon, found in laws.items():
        assert found.cost == min(one.cost for one in (found, *found.runners_up))
        if found.law is Law.STAIRCASE:
            [noise], laplace = [block.noise for block in found.blocks], plan(question, epsilon=epsilon, stairs=False)
            assert isinstance(noise, Staircase)
            usual = DiscreteLaplace.of_scale(noise.sensitivity / noise.epsilon)
            assert noise.law(reals=False).variance <= LEAST_GAIN * usual.variance
            widths = [half_width(one, one.columns[0], 0.95) for one in (found, laplace)]
            assert widths[0] <= widths[1]
            assert found.charge == laplace.charge
            assert found.runners_up[0].law is Law.LAPLACE
    assert laws[20].cost < laws[20].runners_up[0].cost / 50


@pytest.mark.parametrize("name", SHARED)
def test_only_lone_totals_get_stairs(name: str) -> None:
    found = plan(SHARED[name](), epsilon=8)
    assert found.law is Law.LAPLACE
    assert all(one.law is not Law.STAIRCASE for one in found.runners_up)


def test_where_some_totals_are_lone_these_have_stairs() -> None:
    found = plan(table().agg(m=_.x.mean(), s=(_.x * 2).sum()), epsilon=16)
    assert found.law is Law.STAIRCASE
    assert [isinstance(block.noise, Staircase) for block in found.blocks] == [False, True]


def test_with_a_delta_the_best_of_three_is_taken() -> None:
    found = plan(table().agg(s=_.x.sum()), epsilon=6, delta=1e-6)
    assert found.law is Law.STAIRCASE
    assert {one.law for one in found.runners_up} == {Law.LAPLACE, Law.GAUSSIAN}
    assert found.charge.delta == 0


def test_the_totals_have_that_law() -> None:
    """20,000 releases of one count through the whole path against the enumerated law; half an epsilon more is seen."""
    found = plan(table().count(), epsilon=4)
    [block] = found.blocks
    assert isinstance(block.noise, Staircase)
    assert (block.steps, int(block.sensitivity)) == (1, 5)
    drawn = block.noise.add_noise(np.full((20_000, 1), 7), splitmix(3)).reshape(-1) - 7

    def at_least(epsilon: float) -> Callable[[Any], Any]:
        high = block.noise.law(reals=False).high  # type: ignore[union-attr]  # checked above
        z = np.arange(-400, 401)
        mass = np.exp(-epsilon * (np.abs(z) // 5 + (np.abs(z) % 5 >= high)))
        above = np.append(np.cumsum(mass[::-1])[::-1], 0.0) / mass.sum()
        return lambda k: above[np.clip(k + 400, 0, 801)]

    assert chi_square_p(drawn, at_least(4)) > 1e-9
    assert chi_square_p(drawn, at_least(4.5)) < 1e-9


def test_one_unit_costs_its_epsilon_by_enumeration() -> None:
    """Every count that one unit can change, and every output: the ratio is at most e^epsilon, and reaches it."""
    [block] = plan(table().count(), epsilon=4).blocks
    law = block.noise.law(reals=False)  # type: ignore[union-attr]  # test_the_cheapest_is_taken shows that it is one
    weight = [abs(z) // law.width + (abs(z) % law.width >= law.high) for z in range(-60, 61)]
    worst = max(abs(weight[z + d] - weight[z]) for d in range(int(block.sensitivity) + 1) for z in range(121 - d))
    assert worst * law.epsilon == 4
    assert max(abs(weight[z + 6] - weight[z]) for z in range(115)) * law.epsilon == 8  # one more would cost twice


def test_it_is_recorded_and_told() -> None:
    people = table(name="stairs")
    question = people.agg(s=_.x.sum())
    told = question.explain(epsilon=6)
    assert told["totals"][0]["mechanism"] == "discrete staircase"
    assert [other["mechanism"] for other in told["also priced"]] == ["discrete Laplace"]
    assert float(told["columns"][0]["plus_minus"]) < float(told["also priced"][0]["plus_minus"]["s"])
    assert "discrete Laplace for epsilon=6" in repr(told)
    receipt = question.release(epsilon=6).receipt
    assert receipt["totals"][0]["mechanism"] == "discrete staircase"
    assert receipt["charge"] == {"epsilon": "6", "delta": "0"}
    [entry] = people.budget.entries()
    assert isinstance(entry.event, Composed)
    [event] = entry.event.events
    assert isinstance(event, StaircaseEvent)
    assert event.epsilon == cost_of(event).epsilon == Fraction(6)
    assert from_json(to_json(entry.event)) == entry.event
    assert entry.rho == 18


def test_a_repeat_is_free_and_intervals_hold() -> None:
    """400 fresh sums at 99 %: at most 14 miss, or something is wrong (once in a million)."""
    people = not_private(table(max_rows=2, name="intervals"))
    question = people.agg(s=_.x.sum())
    first = question.release(epsilon=5)
    assert question.release(epsilon=5).to_pyarrow().equals(first.to_pyarrow())
    assert people.budget.spent.epsilon == 5
    found = plan(question, epsilon=5)
    half, [block] = half_width(found, found.columns[0], 0.99), found.blocks
    off = block.noise.add_noise(np.zeros((400, 1), dtype=np.int64), splitmix(9)) / block.steps
    missed = np.count_nonzero(np.abs(off * found.columns[0].coefficients[0][0] * block.steps / block.steps) > half)
    assert missed <= 14


def test_calculated_columns_keep_an_interval() -> None:
    people = not_private(table())
    answer = people.agg(s=_.x.sum(), n=_.count()).release(epsilon=20)
    after = answer.mutate(both=_.s + 2 * _.n, twice=2 * _.s).to_pyarrow().to_pydict()
    for name in ("both", "twice"):
        assert after[f"{name}_low"][0] <= after[name][0] <= after[f"{name}_high"][0]


@pytest.mark.parametrize("epsilon", [50, 300, 2000])
def test_large_prices_give_small_noise(epsilon: float) -> None:
    found = plan(table().agg(s=_.x.sum()), epsilon=epsilon)
    assert found.law is Law.STAIRCASE
    assert math.isfinite(found.blocks[0].scale)
    assert half_width(found, found.columns[0], 0.95) < 1e-3


def test_a_wanted_error_is_cheaper() -> None:
    """A count of people with up to five rows, within one: the epsilon found is well below Laplace's."""
    question = table().count()
    priced = question.release(within={"count": 1}).receipt["charge"]["epsilon"]
    scales = ((step / 20, 100 / Fraction(step)) for step in range(100, 600))
    usual = next(epsilon for epsilon, scale in scales if DiscreteLaplace.of_scale(scale).quantile(0.95) <= 1)
    assert float(priced) < 0.8 * usual


PEOPLE = pa.table(
    {
        "who": [1, 1, 2, 3, 3, 4, 5],
        "g": ["a", "b", "a", "c", "b", None, "a"],
        "x": [1.0, 5.0, 2.0, 9.0, 900.0, 3.0, -4.0],
    }
)
ASKED: dict[str, Callable[[dp.PrivateTable], Any]] = {
    "alone": lambda t: t.agg(n=_.who.nunique(), s=_.x.sum()),
    "in groups": lambda t: t.group_by("g").agg(n=_.count(), s=_.x.sum()),
}
CHOSEN = ("most rows", "x is NaN", "of 200 rows", "in every g")
WORST = [one for one in neighbors(PEOPLE, ["who"]) if one.words.endswith(CHOSEN)]


@pytest.mark.long
@pytest.mark.parametrize("name", ASKED)
def test_nothing_but_noise_tells_neighbors_apart(name: str) -> None:
    """Replayed at epsilon = 16: no total with staircase noise is moved by more than one sensitivity, in one entry."""

    def ask(rows: Any) -> Any:
        return ASKED[name](table(rows)).release(epsilon=16)

    made, runs = Function(name="a question", function=ask, like=PEOPLE), list[Run]()
    for rows in (PEOPLE, *(one.data for one in WORST)):
        runs.append(made.run(rows, runs[0].recorder.calls if runs else None))
    stairs = [call for call in runs[0].recorder.calls if call.name == "Staircase.add_noise"]
    assert bool(stairs) == (name == "alone")
    for one, run in zip(WORST, runs[1:], strict=True):
        assert findings(runs[0], run, ("the warnings",), None, one.words) == []


@pytest.mark.long
@pytest.mark.parametrize("epsilon", [100, 140, 160, 700, 740, 1000, 5000, 10**6])
def test_no_epsilon_is_too_large(epsilon: int) -> None:
    table = pa.table({"person": [1, 1, 2], "visits": [1, 2, None], "x": [1.0, 2.0, 3.0]})
    facts: dict[str, Any] = {"unit": "person", "bounds": {"x": (0, 5)}, "max_rows": 2}
    people = dp.protect(table, budget=dp.Budget(epsilon=10**9), **facts)
    for name, question in (("n", people.agg(n=_.visits.count())), ("x", people.agg(x=_.x.sum()))):
        [row] = question.release(epsilon=epsilon).to_pyarrow().to_pylist()
        assert row[name] == pytest.approx({"n": 2, "x": 6}[name], abs=0.01)
    stated: dict[str, Any] = {"unit": "person", "neighbors": "replace-one", "units": 2, "max_rows": 1}
    people = dp.protect(table.append_column("b", [[True, None, True]]), budget=dp.Budget(epsilon=10**9), **stated)
    [row] = people.agg(n=_.b.nunique(where=_.x > 0)).release(epsilon=epsilon).to_pyarrow().to_pylist()
    assert row["n"] == pytest.approx(1, abs=0.02)
