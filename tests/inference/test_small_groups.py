"""Intervals of every statistic hold in groups of any size: empty, of one row, constant, at a bound, of weighted units.

Each table is asked once for its exact totals; the noise is then drawn 300 times. A wrong interval is shown in
`test_a_trusted_end_is_caught`.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import date
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from ibis import _
from numpy.typing import NDArray

import discreet as dp
from discreet.curator.add_noise import with_noise
from discreet.inference import quantile_estimates
from discreet.inference.estimate import Estimate, estimates
from discreet.planning.aggregates import MIN, QUANTILE
from discreet.planning.plan import Column, Plan
from discreet.query.table import PrivateTable
from discreet.selection.rank_exponential import Histogram
from discreet.testing.scripted_words import splitmix
from discreet.testing.statistics import binomial_p
from neighbor_bench import Bench, plan_of

DRAWS = 300
CONFIDENCE = 0.95
FALSE_ALARM = 1e-10
"""Of one column; there are some 2,000."""

SIZES = (0, 1, 2, 5, 20, 50)
LOW, HIGH = 18, 65
AT = 1_577_836_800_000_000
"""2020 began so many microseconds after 1970."""
SHAPES: dict[str, Callable[[int], NDArray[np.int64]]] = {
    "constant": lambda rows: np.full(rows, 40),
    "lowest": lambda rows: np.full(rows, LOW),
    "highest": lambda rows: np.full(rows, HIGH),
    "skewed": lambda rows: np.where(np.arange(rows) % 10 == 0, HIGH, LOW + 1),
    "spread": lambda rows: np.linspace(LOW, HIGH, rows).astype(np.int64) if rows > 1 else np.full(rows, 30),
}


def data(values: NDArray[np.int64], *, weighted: bool) -> pa.Table:
    """The same values as columns of several types. With `weighted`, three units, which have more rows than allowed."""
    rows = len(values)
    return pa.table(
        {
            "unit": pa.array(np.arange(rows) % 3 if weighted else np.arange(rows), pa.int64()),
            "age": pa.array(values, pa.int64()),
            "spent": pa.array(values * 1.37, pa.float64()),
            "height": pa.array((np.arange(rows) * 7 % 11).astype(np.float64), pa.float64()),
            "day": pa.array([date.fromordinal(date(2020, 1, 1).toordinal() + int(v)) for v in values], pa.date32()),
            "at": pa.array(values * 1_000_000 + AT, pa.int64()).cast(pa.timestamp("us")),
        }
    )


BOUNDS = {
    "age": (LOW, HIGH),
    "spent": (0, 100),
    "height": (0, 11),
    "day": (date(2020, 1, 1), date(2020, 12, 31)),
    "at": (date(2020, 1, 1), date(2020, 1, 2)),
}
LINEAR = {
    "n": _.count(),
    "s": _.age.sum(),
    "t": _.spent.sum(),
    "m": _.age.mean(),
    "v": _.spent.var(how="pop"),
    "d": _.age.std(how="pop"),
    "c": _.age.cov(_.height, how="pop"),
    "r": _.age.corr(_.height),
}
ENDS = {
    "lo_age": _.age.min(),
    "hi_age": _.age.max(),
    "lo_spent": _.spent.min(),
    "hi_spent": _.spent.max(),
    "lo_day": _.day.min(),
    "hi_day": _.day.max(),
    "lo_at": _.at.min(),
    "hi_at": _.at.max(),
    "q_age": _.age.median(),
    "q_spent": _.spent.quantile(0.9),
    "q_day": _.day.quantile(0.1),
}


@pytest.fixture(scope="module")
def bench() -> Bench:
    return Bench()


def protected(bench: Bench, values: NDArray[np.int64], *, weighted: bool) -> PrivateTable:
    limits: dict[str, Any] = {"unit": "unit", "max_rows": 2} if weighted else {"unit": dp.ROW}
    return bench.protect(data(values, weighted=weighted), bounds=BOUNDS, **limits)


def drawn(bench: Bench, plan: Plan) -> tuple[dict[str, Estimate], dict[str, Estimate], list[Histogram]]:
    """What the exact totals give, what 300 noisy ones give, and the masses of the ranks."""
    words, exact = splitmix(7), bench.totals(plan)
    noisy = with_noise(plan, [np.repeat(t, DRAWS, axis=0) for t in exact], words)
    masses = bench.masses(plan)
    for one, mass in zip(plan.ranks, masses, strict=True):
        group = np.repeat(np.arange(DRAWS), len(mass.cell))
        many = Histogram(group, np.tile(mass.cell, DRAWS), np.tile(mass.mass, DRAWS))
        noisy.append(one.cuts.made(many, DRAWS, words))
    linear = tuple(column for column in plan.columns if column.ranks is None)
    truth = estimates(replace(plan, columns=linear), exact, CONFIDENCE)
    return truth, estimates(plan, noisy, CONFIDENCE), masses


def cells_of(plan: Plan, column: Column, mass: Histogram) -> tuple[float, float]:
    """Between which values the exact rank of some rows may be put."""
    priced = plan.ranks[column.ranks or 0]
    if column.aggregate.statistic is not QUANTILE:
        place = mass.cell[0 if column.aggregate.statistic is MIN else -1]
        cells = (place, place)
    else:
        below = np.cumsum(mass.mass.astype(np.float64))
        wanted = float(column.aggregate.share or 0) * below[-1]
        places = mass.cell[
            [np.searchsorted(below, wanted - 1e-9), min(np.searchsorted(below, wanted + 1e-9), len(below) - 1)]
        ]
        cells = (places[0], places[1])
    origin, step = float(priced.lattice.origin), float(priced.lattice.step)
    return origin + float(cells[0]) * step, origin + float(cells[1]) * step


def number(ends: NDArray[Any]) -> NDArray[np.float64]:
    """Dates as days, times as seconds."""
    if ends.dtype.kind == "M":
        days = ends.dtype == np.dtype("datetime64[D]")
        return ends.astype(np.int64) / (1 if days else 1e6)
    return ends.astype(np.float64)


def missed(found: Estimate, low: float, high: float) -> int:
    """How many intervals hold nothing of low..high, but for what rounding a lattice's cell leaves."""
    slack = 1e-6 * (1 + abs(low))
    return int(np.count_nonzero((number(found.high) < low - slack) | (number(found.low) > high + slack)))


def misses(bench: Bench, table: PrivateTable, asked: dict[str, Any], **price: float) -> Iterator[tuple[str, int]]:
    """How often the interval of each column that has a truth fails to hold it."""
    plan = plan_of(table.agg(**asked), **price)
    truth, found, masses = drawn(bench, plan)
    for column in plan.columns:
        name = column.aggregate.name
        assert np.all(number(found[name].low) <= number(found[name].high)), name
        if column.ranks is not None:
            if len(masses[column.ranks].cell):
                yield name, missed(found[name], *cells_of(plan, column, masses[column.ranks]))
        elif np.isfinite(value := float(number(truth[name].values)[0])):
            yield name, missed(found[name], value, value)


def too_many(missed: int) -> bool:
    return missed > DRAWS * (1 - CONFIDENCE) and binomial_p(missed, DRAWS, 1 - CONFIDENCE) < FALSE_ALARM


def linear(values: NDArray[np.int64]) -> dict[str, Any]:
    """The aggregates that are computed from sums, and have a truth for these values."""
    none = {"m", "v", "d", "c", "r"} if not len(values) else {"r"} if len(set(values.tolist())) == 1 else set()
    return {name: asked for name, asked in LINEAR.items() if name not in none}


CASES = [*((shape, False) for shape in SHAPES), *((shape, True) for shape in ("constant", "skewed"))]


@pytest.mark.long
@pytest.mark.cases
@pytest.mark.parametrize(("shape", "weighted"), CASES, ids=[f"{s}{' weighted' if w else ''}" for s, w in CASES])
@pytest.mark.parametrize("rows", SIZES)
def test_intervals_hold_in_small_groups(bench: Bench, rows: int, shape: str, *, weighted: bool) -> None:
    """At epsilon 1 for each row of a unit and each column; the sums of weighted units have Gaussian noise."""
    values = SHAPES[shape](rows)
    table, own = protected(bench, values, weighted=weighted), linear(values)
    most = 2 if weighted else 1
    found = dict(misses(bench, table, own, epsilon=most * len(own), delta=1e-6 if weighted else 0))
    found |= dict(misses(bench, table, ENDS, epsilon=most * len(ENDS)))
    assert set(own) | (set(ENDS) if rows else set()) == set(found)
    assert not {name: many for name, many in found.items() if too_many(many)}


STATED: tuple[tuple[Any, Any, pa.DataType], ...] = (
    (0, 10**13 + 1, pa.int64()),
    (-(2**62) - 1, 3, pa.int64()),
    (2**53 + 1, 2**63 - 1, pa.int64()),
    (2**60, 2**60 + 3, pa.int64()),
    (0.0, 0.3, pa.float64()),
    (-1e-9, 1e9, pa.float64()),
    (0.1, 0.8, pa.float64()),
)
"""Bounds of which no lattice has both."""


@pytest.mark.parametrize(("low", "high", "kind"), STATED, ids=str)
def test_means_reach_the_stated_bounds_and_no_further(low: Any, high: Any, kind: pa.DataType) -> None:
    """An interval that ends with the range holds a mean that is there, whatever points the lattice has."""
    groups = range(20)
    values = [end for end in (low, high) for _ in range(10)]
    rows = pa.table({"g": pa.array(groups, pa.int64()), "x": pa.array(values, kind)})
    facts: dict[str, Any] = {"bounds": {"x": (low, high)}, "keys": {"g": groups}, "budget": dp.Budget(epsilon=9)}
    asked = dp.protect(rows, unit=dp.ROW, **facts).group_by("g").agg(m=_.x.mean(), v=_.x.var(how="pop"))
    found = asked.release(epsilon=9).to_pyarrow().to_pylist()
    ends = math.nextafter(low, -math.inf), math.nextafter(high, math.inf)  # whole numbers lie between doubles
    for row in found:
        assert ends[0] <= row["m_low"] <= row["m_high"] <= (ends[1] if high > 2**53 else high)
        assert row["m"] is None or row["m_low"] <= row["m"] <= row["m_high"]
    assert min(row["m_low"] for row in found) <= low
    assert max(row["m_high"] for row in found) >= high
    held = [row["m_low"] <= value <= row["m_high"] for row, value in zip(found, values, strict=True)]
    assert held.count(False) < 10  # of 20, at 95 %


@pytest.mark.parametrize("high", [10**13 + 1, 0.3, 0.7, 1e9 / 3])
def test_spreads_reach_as_far_as_the_stated_bounds(high: float) -> None:
    """Of two rows at both bounds: no variance is larger, and none of a lattice's points need be so far apart."""
    groups = range(50)
    kind = pa.int64() if isinstance(high, int) else pa.float64()
    values = pa.array([0, high] * len(groups), kind)
    rows = pa.table({"g": pa.array([g for g in groups for _ in range(2)], pa.int64()), "x": values, "y": values})
    facts: dict[str, Any] = {"bounds": {"x": (0, high), "y": (0, high)}, "keys": {"g": groups}}
    table = dp.protect(rows, unit=dp.ROW, **facts, budget=dp.Budget(epsilon=9)).group_by("g")
    asked = {"v": _.x.var(how="pop"), "d": _.x.std(how="pop"), "c": _.x.cov(_.y, how="pop")}
    found = table.agg(**asked).release(epsilon=9).to_pyarrow().to_pylist()
    for name, truth in (("v", Fraction(high) ** 2 / 4), ("d", Fraction(high) / 2), ("c", Fraction(high) ** 2 / 4)):
        held = [row[f"{name}_low"] <= truth <= row[f"{name}_high"] for row in found]
        assert held.count(False) < 15, name


@pytest.mark.parametrize("high", [100, 7, 1003])
def test_an_interval_of_next_to_no_noise_holds_the_sum(high: int) -> None:
    """At so much epsilon the noise is 0 but for one time in ten thousand, and the interval is as wide as rounding."""
    groups = range(200)
    values = [high * g * 31 // 200 % (high + 1) for g in groups]
    rows = pa.table({"g": pa.array(groups, pa.int64()), "x": pa.array(values, pa.int64())})
    facts: dict[str, Any] = {"bounds": {"x": (0, high)}, "keys": {"g": groups}, "budget": dp.Budget(epsilon=10**9)}
    asked = dp.protect(rows, unit=dp.ROW, **facts).group_by("g").agg(s=_.x.sum())
    found = asked.release(epsilon=10 * high).to_pyarrow().to_pylist()
    held = [row["s_low"] <= value <= row["s_high"] for row, value in zip(found, values, strict=True)]
    assert held.count(False) < 5


FEW_ENDS = {name: ENDS[name] for name in ("lo_age", "hi_age", "lo_spent", "hi_spent")}


@pytest.mark.parametrize("rows", SIZES[1:])
def test_ends_hold_in_small_groups(bench: Bench, rows: int) -> None:
    """With less epsilon, so that hardly any cut lies among the rows."""
    table = protected(bench, SHAPES["constant"](rows), weighted=False)
    assert not any(too_many(many) for _name, many in misses(bench, table, FEW_ENDS, epsilon=1.2))


def test_a_trusted_end_is_caught(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """The ends as they were: the cut was taken for one that lies among the rows, however few they are."""
    monkeypatch.setattr(quantile_estimates, "noise_quantile_at_end", lambda *_noise: -(10**18))
    table = protected(bench, SHAPES["constant"](5), weighted=False)
    assert all(too_many(many) for _name, many in misses(bench, table, FEW_ENDS, epsilon=1.2))


PERSONS = {"g": np.repeat(np.arange(len(SIZES)), SIZES)}
"""The group of each person, of as many as a group has."""
RANKED = {"q": lambda t: t.age.quantile([0.1, 0.5, 0.9]), "lo": lambda t: t.age.min(), "hi": lambda t: t.age.max()}


def of_persons(shape: str) -> pa.Table:
    """Persons with one to three rows each, in groups of 0 to 50 of them."""
    rows = 1 + np.arange(len(PERSONS["g"])) % 3
    group = np.repeat(PERSONS["g"], rows)
    ages = np.concatenate([SHAPES[shape](int((group == g).sum())) for g in range(len(SIZES))])
    return pa.table({"unit": np.repeat(np.arange(len(rows)), rows), "g": group, "age": ages})


def missed_in_groups(bench: Bench, shape: str, epsilon: float, *, grouped: bool = True) -> dict[tuple[str, int], int]:
    """How often the interval of each ranked column fails in each group, or of all persons: of 300 draws."""
    keys = {"keys": {"g": list(range(len(SIZES)))}} if grouped else {}
    table = bench.protect(of_persons(shape), unit="unit", max_groups=1, max_rows=2, bounds={"age": (LOW, HIGH)}, **keys)
    asked: Any = table.group_by("g").agg(**RANKED) if grouped else table.agg(**RANKED)
    plan = plan_of(asked, epsilon=epsilon)
    groups, noisy, masses = plan.query.cells, [], bench.masses(plan)
    for one, mass in zip(plan.ranks, masses, strict=True):
        draw = np.repeat(np.arange(DRAWS), len(mass.cell))
        many = Histogram(
            draw * groups + np.tile(mass.group, DRAWS), np.tile(mass.cell, DRAWS), np.tile(mass.mass, DRAWS)
        )
        noisy.append(one.cuts.made(many, DRAWS * groups, splitmix(11)))
    found, seen = estimates(plan, noisy, CONFIDENCE), {}
    for column, g in itertools.product(plan.columns, range(groups)):
        whole = masses[column.ranks or 0]
        own = Histogram(*(part[whole.group == g] for part in (whole.group, whole.cell, whole.mass)))
        if len(own.cell):
            name = column.aggregate.name
            ends = Estimate(*(part[g::groups] for part in (found[name].values, found[name].low, found[name].high)))
            seen[name, SIZES[g] if grouped else sum(SIZES)] = missed(ends, *cells_of(plan, column, own))
    return seen


@pytest.mark.long
@pytest.mark.cases
@pytest.mark.parametrize("epsilon", [1.5, 9, 60])
@pytest.mark.parametrize("shape", SHAPES)
def test_intervals_of_ranks_hold_for_persons(bench: Bench, shape: str, epsilon: float) -> None:
    """Quantiles together and both ends, of persons with several rows, as a whole and in groups."""
    for grouped, cases in ((True, 5 * len(SIZES[1:])), (False, 5)):
        found = missed_in_groups(bench, shape, epsilon, grouped=grouped)
        assert len(found) == cases
        assert not {case: many for case, many in found.items() if too_many(many)}


def test_intervals_of_persons_without_doubt_are_caught(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """As if the counts of rows between the cuts had no noise."""
    monkeypatch.setattr(quantile_estimates, "noise_quantiles", lambda one, *_asked: np.zeros(len(one.cuts.counted)))
    found = missed_in_groups(bench, "spread", 1.5)
    assert sum(too_many(many) for (name, _persons), many in found.items() if name.startswith("q")) > 5
