"""Lines over many predictors: exact forms, intervals that cover, wrong versions that do not pass, and real units."""

from __future__ import annotations

import itertools
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from ibis import _

import discreet as dp
from discreet.inference.covariances import Interval
from discreet.inference.ratio_intervals import PivotNoise
from discreet.inference.regressions import RegressionLine, line, line_interval
from discreet.noise.weighted_sums import LAPLACE, NORMAL, WeightedSums
from discreet.planning.bernstein_polynomials import Reals
from discreet.planning.signed_products import (
    Product,
    error_weight,
    evenly_spread_totals,
    forms_of_line,
    product_pairs,
    products,
)
from discreet.testing.statistics import clopper_pearson

RUNS = 300
"""Of each coverage test. At a confidence of 0.9 a coverage below 0.75 is seen with near certainty."""
FALSE_ALARM = 1e-9
CONFIDENCE = 0.9
PREDICTORS = 4


def line_of(*totals: Any) -> RegressionLine:
    return RegressionLine.of_forms(*forms_of_line(*totals))


def made(rows: int, predictors: int = PREDICTORS) -> Reals:
    """Predictors that have something in common, and are not in the middle; and an outcome, in the last column."""
    chance = np.random.default_rng()
    own = chance.random((rows, predictors)) * np.linspace(1, 0.7, predictors)
    own[:, 1] = (own[:, 0] + own[:, 1] > 1.1).astype(float)
    v = 0.2 + own @ np.linspace(0.3, -0.2, predictors) + 0.1 * chance.random(rows)
    return np.column_stack([own, np.clip(v, 0, 1)])


def value(one: Product, w: Reals) -> Reals:
    """A product of columns from -1 to 1."""
    if len(one) == 2 and one[0] == one[1]:
        return np.asarray(2 * w[:, one[0]] ** 2 - 1)
    return np.asarray(w[:, list(one)].prod(axis=1))


def totals(u: Reals) -> list[Reals]:
    """The exact totals of all blocks, in rows, from their definition."""
    w, found = 2 * u - 1, []
    for block in product_pairs(u.shape[1] - 1):
        a, *b = (value(one, w).sum() for one in block)
        found.append(np.array([[(a + b[0]) / 2, (a - b[0]) / 2] if b else [a]]))
    return found


def noisy(u: Reals, scale: float, law: WeightedSums) -> list[Reals]:
    chance = np.random.default_rng()
    draw = chance.laplace if law is LAPLACE else chance.normal
    return [block + draw(scale=scale, size=(RUNS, block.shape[1])) for block in totals(u)]


def fit_of(u: Reals) -> Reals:
    """What NumPy says: the height at the middle, and all slopes."""
    design = np.column_stack([np.ones(len(u)), u[:, :-1] - 0.5])
    return np.linalg.lstsq(design, u[:, -1], rcond=None)[0].astype(np.float64)


def covers(interval: Interval, truth: float) -> bool:
    hits = int(np.count_nonzero((interval[0] <= truth) & (truth <= interval[1])))
    return clopper_pearson(hits, RUNS, confidence=1 - FALSE_ALARM)[1] >= CONFIDENCE


def test_totals_give_the_exact_moments() -> None:
    for predictors in (3, 4, 5, 10):
        u = made(200, predictors)
        design = np.column_stack([np.ones(200), u[:, :-1] - 0.5])
        scales = np.random.default_rng().random(len(product_pairs(predictors))) + 0.5
        own = line_of(totals(u), list(scales), predictors)
        assert own.squares[0] == pytest.approx(design.T @ design)
        assert own.crossed[0] == pytest.approx(design.T @ u[:, -1])


def test_coefficients_are_those_of_each_scale() -> None:
    """Noise of its own scale in each block moves the sums as much as noise of 1 times the coefficients."""
    u, scales, chance = made(50), [2.0**k for k in range(len(product_pairs(PREDICTORS)))], np.random.default_rng()
    exact, drawn = totals(u), [chance.normal(size=(1, len(block))) for block in product_pairs(PREDICTORS)]
    moved = [block + scale * noise for block, scale, noise in zip(exact, scales, drawn, strict=True)]
    one, other = (line_of(parts, scales, PREDICTORS) for parts in (exact, moved))
    noise = np.concatenate(drawn, axis=1)[0]
    assert (other.squares - one.squares)[0] == pytest.approx(one.at_squares @ noise)
    assert (other.crossed - one.crossed)[0] == pytest.approx(one.at_crossed @ noise)


def test_each_product_is_in_one_block() -> None:
    for predictors in range(1, 17):
        found = [one for block in product_pairs(predictors) for one in block]
        assert sorted(found) == sorted(products(predictors))
        assert len(found) == (predictors + 1) * (predictors + 2) // 2 + 1 + predictors
        assert all(len(block) == 2 for block in product_pairs(predictors)[:-1])


def test_a_row_moves_a_block_by_one_at_most() -> None:
    """In L1 norm and in L2 norm, at all corners and middles and in between; and each block by 1 somewhere."""
    grid = np.array(list(itertools.product((0.0, 0.5, 1.0), repeat=PREDICTORS + 1)))
    rows = np.concatenate([grid, np.random.default_rng().random((2000, PREDICTORS + 1))])
    for block in product_pairs(PREDICTORS):
        a, *b = (value(one, 2 * rows - 1) for one in block)
        own = np.stack([(a + b[0]) / 2, (a - b[0]) / 2] if b else [a], axis=-1)
        for norm in (1, 2):
            assert np.linalg.norm(own, ord=norm, axis=-1).max() == pytest.approx(1.0)


@pytest.mark.long
@pytest.mark.cases
@pytest.mark.parametrize("law", [LAPLACE, NORMAL], ids=["Laplace", "normal"])
@pytest.mark.parametrize("rows", [60, 3000, 200_000])
def test_lines_are_covered(rows: int, law: WeightedSums) -> None:
    """Of any number of rows; and of many, the estimate is near, and the interval not much above its confidence."""
    u = made(rows)
    truth, blocks = fit_of(u), len(product_pairs(PREDICTORS))
    own = line_of(noisy(u, 2.0, law), [2.0] * blocks, PREDICTORS)
    noise = PivotNoise.of(1.0, 0.0, CONFIDENCE, law)
    for form in (*np.eye(PREDICTORS + 1)[[0, 3]], np.array([1.0, *[-0.5] * PREDICTORS])):
        low, high = line_interval(own, form, noise, confidence=CONFIDENCE)
        assert covers((low, high), float(truth @ form))
        assert not np.isnan([low, high]).any()
        if rows == 200_000:
            assert np.count_nonzero((low <= truth @ form) & (truth @ form <= high)) / RUNS <= CONFIDENCE + 0.08
            assert abs(float(line(own, form, scale=1.0).mean()) - truth @ form) < 2e-3


@pytest.mark.long
def test_one_scale_for_all_blocks_is_caught() -> None:
    """The planted version that takes the noise of all blocks for that of the first."""
    u, chance = made(200_000), np.random.default_rng()
    scales = [1.0, *[6.0] * (len(product_pairs(PREDICTORS)) - 1)]
    parts = [
        block + chance.laplace(scale=scale, size=(RUNS, block.shape[1]))
        for block, scale in zip(totals(u), scales, strict=True)
    ]
    noise, form, truth = PivotNoise.of(1.0, 0.0, CONFIDENCE, LAPLACE), np.eye(PREDICTORS + 1)[2], fit_of(u)
    assert covers(line_interval(line_of(parts, scales, PREDICTORS), form, noise, confidence=CONFIDENCE), truth @ form)
    same = line_of(parts, [1.0] * len(scales), PREDICTORS)
    assert not covers(line_interval(same, form, noise, confidence=CONFIDENCE), truth @ form)


def test_a_quarter_of_the_noise_for_shares_that_fit() -> None:
    """What matters is the variance that it says: of a slope over even values, drawn."""
    rows, predictors = 1e6, 4
    chance, scales = np.random.default_rng(), np.linspace(1, 3, len(product_pairs(predictors)))
    parts = [
        np.repeat(block, 4000, axis=0) + chance.normal(scale=scale, size=(4000, block.shape[1]))
        for block, scale in zip(evenly_spread_totals(rows, predictors), scales, strict=True)
    ]
    flat = line_of(evenly_spread_totals(rows, predictors), list(scales), predictors).fitted(1.0)[0]
    assert flat[1:] == pytest.approx(np.zeros(predictors), abs=1e-12)
    found = line_of(parts, list(scales), predictors).fitted(1.0)[:, 2]
    crossed = sum(
        len(block) * (scale / rows) ** 2 * error_weight((1, predictors), 1, predictors)
        for block, scale in zip(product_pairs(predictors), scales, strict=True)
        if (1, predictors) in block
    )
    assert found.std() == pytest.approx(crossed**0.5, rel=0.35)


def table(rows: int = 6000) -> pa.Table:
    chance = np.random.default_rng()
    x, k = chance.uniform(-20, 60, rows), chance.integers(0, 9, rows)
    ok, flat = chance.random(rows) < 0.4, chance.uniform(5, 6, rows)
    y = np.clip(30 + 0.4 * x - 2 * k + 6 * ok + 3 * flat + chance.normal(0, 3, rows), 0, 100)
    missing = chance.random(rows) < 0.1
    data = {"x": pa.array(x, mask=missing), "k": k, "ok": ok, "flat": flat, "y": y}
    return pa.table({**data, "g": chance.choice(["a", "b"], rows), "who": np.arange(rows) // 2})


BOUNDS = {"x": (-20, 60), "k": (0, 8), "flat": (5, 6), "y": (0, 100)}
KEYS = {"g": ["a", "b"]}
NAMES = ["x", "k", "ok", "flat"]


@pytest.mark.cases
@pytest.mark.parametrize("unit", ["row", "person"])
def test_lines_in_their_own_units(unit: str) -> None:
    """As NumPy has them in every group, in intervals that hold it; rows without one of the values do not count."""
    data = table()
    frame = data.to_pandas()
    limits: dict[str, Any] = {"unit": dp.ROW} if unit == "row" else {"unit": "who", "max_rows": 2, "max_groups": 2}
    people = dp.protect(data, bounds=BOUNDS, keys=KEYS, budget=dp.Budget(epsilon=10**7), name=f"line {unit}", **limits)
    for where in (None, _.k > 2):
        question = people.group_by("g").regress("y", NAMES, where=where)
        answer = question.release(epsilon=10**6)
        ends = answer.to_pyarrow()
        for place, group in enumerate(("a", "b")):
            own = frame[(frame.g == group) & ((frame.k > 2) if where is not None else True)].dropna()
            design = np.column_stack([own[NAMES].astype(float), np.ones(len(own))])
            wanted = np.linalg.lstsq(design, own.y, rcond=None)[0].tolist()
            names = [*(f"slope_{name}" for name in NAMES), "intercept"]
            assert [answer[name][place] for name in names] == pytest.approx(wanted, rel=1e-3, abs=1e-3)
            for name, truth in zip(names, wanted, strict=True):
                assert ends[f"{name}_low"][place].as_py() <= truth <= ends[f"{name}_high"][place].as_py()


def test_the_error_is_foreseen_and_told() -> None:
    """Of values spread evenly that have nothing to do with each other: the figure of `explain` is that found."""
    rows, chance = 300_000, np.random.default_rng()
    bounds = {"a": (-20, 60), "b": (5, 9), "c": (0, 1), "y": (0, 80)}
    data = pa.table({name: chance.uniform(low, high, rows) for name, (low, high) in bounds.items()})
    people = dp.protect(data, unit=dp.ROW, bounds=bounds, budget=dp.Budget(epsilon=9, delta=0.1), name="even")
    question = people.regress("y", ["a", "b", "c"])
    told, ends = question.explain(epsilon=1), question.release(epsilon=1).to_pyarrow().to_pylist()[0]
    for column in told["columns"]:
        half = (ends[f"{column['name']}_high"] - ends[f"{column['name']}_low"]) / 2
        assert half == pytest.approx(float(column["plus_minus"].removesuffix("/n")) / rows, rel=0.2)
    assert [one["statistic"] for one in told["totals"]] == ["sums of products together"] * 7
    assert {one["components"] for one in told["totals"]} == {2}
    names = {one for block in told["totals"] for one in block["of"].split(", ")}
    assert names == {"1", *"abcy", *(f"{k} x y" for k in "abc"), "a x b", "a x c", "b x c", "a x a", "b x b", "c x c"}
    assert "sums of" in repr(told)
    assert sum(Fraction(one["epsilon"]) for one in told["totals"]) == 1
    other = question.explain(epsilon=1, delta=1e-6)["also priced"][0]
    assert set(other["plus_minus"]) == {"slope_a", "slope_b", "slope_c", "intercept"}
    assert float(question.explain(epsilon=1, assume={"rows": rows})["columns"][0]["plus_minus"]) > 0


@pytest.mark.long
def test_lines_are_found_within_a_target() -> None:
    """In rounds, up to a cap: the first that is good enough."""
    people = dp.protect(table(20_000), unit=dp.ROW, bounds=BOUNDS, budget=dp.Budget(epsilon=10**6), name="rounds")
    answer = people.regress("y", NAMES).release(within={"slope_x": 0.05}, up_to=500)
    assert answer["slope_x"][0] == pytest.approx(0.4, abs=0.06)
    assert people.budget.spent.epsilon < 500


@pytest.mark.long
def test_sixteen_predictors() -> None:
    rows, chance = 2000, np.random.default_rng()
    x = chance.random((rows, 16))
    y = np.clip(x @ np.linspace(-1, 1, 16), -4, 4)
    data = pa.table({**{f"x{k}": x[:, k] for k in range(16)}, "y": y})
    bounds = {**{f"x{k}": (0, 1) for k in range(16)}, "y": (-4, 4)}
    people = dp.protect(data, unit=dp.ROW, bounds=bounds, budget=dp.Budget(epsilon=10**8), name="sixteen")
    answer = people.regress("y", [f"x{k}" for k in range(16)]).release(epsilon=10**6)
    found = [answer[f"slope_x{k}"][0] for k in range(16)]
    assert found == pytest.approx(np.linspace(-1, 1, 16).tolist(), abs=2e-2)
