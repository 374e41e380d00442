"""Released intervals hold the bounded and weighted truth as often as they say."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from ibis import _

import discreet as dp
from discreet.noise.entropy import fresh_words
from discreet.query.estimate import estimates, half_width
from discreet.query.plan import Plan
from discreet.query.price import price
from discreet.testing.statistics import clopper_pearson

RELEASES = 400
CELLS = 25
FALSE_ALARM = 1e-7
"""Of each comparison below: coverage is tested on RELEASES * CELLS = 10,000 intervals."""
GENERATOR = np.random.default_rng(11)
PEOPLE = GENERATOR.integers(0, 300, 2000)
GROUPS = PEOPLE % CELLS
AGES = GENERATOR.integers(0, 60, 2000)


def question(unit: Any, **limits: int) -> dp.Question:
    """Each statistic of some ages in 25 groups, where a person may have more rows than count."""
    rows = pa.table({"who": PEOPLE, "group": GROUPS, "age": AGES})
    table = dp.protect(
        rows, unit=unit, bounds={"age": (0, 50)}, keys={"group": range(CELLS)}, budget=dp.Budget(epsilon=1)
    )
    asked = {
        "n": _.count(),
        "total": _.age.sum(),
        "mean": _.age.mean(),
        "var": _.age.var(),
        "std": _.age.std(how="pop"),
    }
    return table.group_by("group", **limits).agg(**asked)


def exact_totals(asked: dp.Question, plan: Plan) -> list[Any]:
    """What the engine computes for a plan."""
    source: Any = asked._source
    found: list[Any] = source._engine.totals(plan)
    return found


def repeated(plan: Plan, exact: list[Any]) -> list[Any]:
    """The totals of many releases, one below the other."""
    words = fresh_words()
    copies = [np.tile(block, (RELEASES, 1)) for block in exact]
    return [block.noise.blurred(totals, words) for block, totals in zip(plan.blocks, copies, strict=True)]


@pytest.mark.parametrize(
    "asked", [question(dp.ROW), question("who", max_groups=1, max_rows=3)], ids=["each row", "three rows a person"]
)
@pytest.mark.parametrize("confidence", [0.95, 0.6])
def test_intervals_cover_what_they_promise(asked: dp.Question, confidence: float) -> None:
    plan = price(asked._query, epsilon=2)
    exact = exact_totals(asked, plan)
    truth = {name: np.tile(found.values, RELEASES) for name, found in estimates(plan, exact, confidence).items()}
    for name, found in estimates(plan, repeated(plan, exact), confidence).items():
        held = int(((found.low <= truth[name] + 1e-9) & (truth[name] - 1e-9 <= found.high)).sum())
        assert clopper_pearson(held, RELEASES * CELLS, confidence=1 - FALSE_ALARM)[1] >= confidence, name
        if name == "total":
            assert clopper_pearson(held, RELEASES * CELLS, confidence=1 - FALSE_ALARM)[0] <= confidence + 0.01


def test_intervals_of_half_the_noise_would_be_caught() -> None:
    """The planted fault of the test above: intervals computed as if epsilon were twice as large."""
    asked = question(dp.ROW)
    plan, other = price(asked._query, epsilon=2), price(asked._query, epsilon=4)
    exact = exact_totals(asked, plan)
    truth = np.tile(estimates(plan, exact, 0.95)["total"].values, RELEASES)
    found = estimates(other, repeated(plan, exact), 0.95)["total"]
    held = int(((found.low <= truth) & (truth <= found.high)).sum())
    assert clopper_pearson(held, RELEASES * CELLS, confidence=1 - FALSE_ALARM)[1] < 0.95


def test_linear_errors_are_known_beforehand() -> None:
    plan = price(question(dp.ROW)._query, epsilon=2)
    linear = {column.aggregate.name: column for column in plan.columns if column.linear}
    assert set(linear) == {"n", "total"}
    exact = [np.zeros((CELLS, block.block.components), dtype=np.int64) for block in plan.blocks]
    found = estimates(plan, exact, 0.95)
    for name, column in linear.items():
        half = half_width(plan, column, 0.95)
        assert found[name].high == pytest.approx(np.ceil(half) if name == "n" else half)


def test_empty_groups_have_finite_answers_inside_the_bounds() -> None:
    plan = price(question(dp.ROW)._query, epsilon=2)
    exact = [np.zeros((CELLS, block.block.components), dtype=np.int64) for block in plan.blocks]
    for name, found in estimates(plan, repeated(plan, exact), 0.95).items():
        assert np.isfinite([found.values, found.low, found.high]).all()
        assert (found.low <= found.values).all()
        assert (found.values <= found.high).all()
        if name == "mean":
            assert found.low.min() >= 0
            assert found.high.max() <= 50
