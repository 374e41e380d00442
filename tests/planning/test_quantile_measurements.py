"""Cuts are laid out as their proof wants, cost what they are given, and miss no more than they say."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray

from discreet.planning.quantile_measurements import (
    COUNTED,
    END_COUNTED,
    MANY,
    MISS,
    RECOUNTED,
    of_end,
    of_quantiles,
    rank_bits,
)
from discreet.selection.quantiles import QuantileCuts

LIKE = QuantileCuts(stages=(), cells=1000, mass=3)


def shares(many: int) -> list[Fraction]:
    return [Fraction(i, many + 1) for i in range(1, many + 1)]


@pytest.mark.parametrize("many", [1, 2, 3, 9, 15, 16, 99])
@pytest.mark.parametrize("epsilon", [Fraction(1), Fraction(3, 10**4)])
@pytest.mark.parametrize("mass", [1, 5 * 2**20])
def test_parts_add_up_to_epsilon(many: int, epsilon: Fraction, mass: int) -> None:
    like = replace(LIKE, mass=mass)
    cuts, _ = of_quantiles(shares(many), like, epsilon)
    assert cuts.epsilon == epsilon
    assert cuts.counting == epsilon * (RECOUNTED if many >= MANY else COUNTED[like.mass > 1])
    assert all(stage.epsilon > 0 for stage in cuts.stages)


@pytest.mark.parametrize("many", [1, 2, 3, 9, 15, 16, 40])
def test_stretches_of_a_stage_do_not_overlap(many: int) -> None:
    """Each cut lies between cuts of earlier stages, and no stage has two cuts between the same."""
    cuts, places = of_quantiles(shares(many), LIKE, Fraction(1))
    made: set[int] = set()
    for stage in cuts.stages:
        for cut in stage.cuts:
            assert cut.place not in made
            below = max((place for place in made if place < cut.place), default=None)
            above = min((place for place in made if place > cut.place), default=None)
            assert (cut.low, cut.high) == (below, above)
        assert len({(cut.low, cut.high) for cut in stage.cuts}) == len(stage.cuts)
        made |= {cut.place for cut in stage.cuts}
    assert made == set(range(cuts.size))
    assert len(places) == many


@pytest.mark.parametrize("many", [1, 3, 15, 16, 40])
def test_masses_lie_between_rungs(many: int) -> None:
    """Each wanted cut lies between two rungs that are counted; where the masses say more than that, all are."""
    cuts, places = of_quantiles(shares(many), LIKE, Fraction(1))
    rungs = set(range(cuts.size)) - set(places)
    assert cuts.counted == (sorted(rungs) if many < MANY else list(range(many)))
    assert cuts.masses == len(cuts.counted) + 1
    if many < MANY:
        assert all({place - 1, place + 1} <= rungs for place in places)


def test_an_end_lies_one_likely_miss_away() -> None:
    for top in (False, True):
        cuts = of_end(LIKE, Fraction(1, 2), 4, top=top, row=1)
        [cut] = cuts.stages[0].cuts
        assert (cut.mass < 0) is top
        assert abs(cut.mass) == pytest.approx(cuts.farthest(cuts.stages[0], cut, 4, 0.05), abs=1)


@pytest.mark.parametrize("cells", [2, 110, 2**20])
def test_the_count_beyond_an_end_is_enough(cells: int) -> None:
    """The mass that the cut aims at is what counting it needs, and costs what it says."""
    cuts = of_end(replace(LIKE, cells=cells), Fraction(1, 2), 4, top=True, row=1)
    assert cuts.epsilon == Fraction(1, 2)
    assert cuts.counting is not None
    wanted = abs(Fraction(cuts.stages[0].cuts[0].mass))
    assert wanted >= 0.99 * END_COUNTED * LIKE.mass / cuts.counting


def law_of_end(cuts: QuantileCuts, masses: Sequence[int]) -> NDArray[np.float64]:
    """The probability of each cell, written out from the definition: exp(-rate |C - T|), tied over the cell."""
    [stage] = cuts.stages
    [cut] = stage.cuts
    below = np.concatenate([[0], np.cumsum(masses)])
    target = float(cut.mass) + (below[-1] if cut.mass < 0 else 0)
    away = np.maximum(np.maximum(below[:-1] - target, target - below[1:]), 0)
    weights = np.exp(-float(cuts.rate(stage, cut, 1)) * away)
    return np.asarray(weights / weights.sum())


@pytest.mark.parametrize("row", [1, 2**20])
@pytest.mark.parametrize("top", [False, True])
@pytest.mark.parametrize("rows", [[40], [3, 40], [40, 41], [0, 63], [10, 10, 40, 40]])
def test_an_end_is_exact_where_epsilon_is_large(row: int, rows: list[int], *, top: bool) -> None:
    """The chance of any other cell falls to 0: it had stayed at MISS, on the side where nobody is."""
    like, masses = replace(LIKE, cells=64, mass=row), np.bincount(rows, minlength=64) * row
    for epsilon in (50, 10**3, 10**6):
        cuts = of_end(like, Fraction(epsilon), 1, top=top, row=row)
        chances = law_of_end(cuts, masses.tolist())
        rate = float(cuts.rate(cuts.stages[0], cuts.stages[0].cuts[0], 1))
        assert 1 - chances[max(rows) if top else min(rows)] <= 1e-12 + 64 * math.exp(-rate * row * 0.49)


@pytest.mark.parametrize("row", [1, 2**20])
def test_an_end_lies_outside_as_seldom_as_said(row: int) -> None:
    """At every epsilon, of the one law of a line with enough rows."""
    masses = np.zeros(1000, dtype=np.int64)
    masses[:300] = 1000 * row
    for epsilon in (Fraction(1, 10), Fraction(1), Fraction(20), Fraction(100), Fraction(10**4)):
        cuts = of_end(replace(LIKE, mass=row), epsilon, 1, top=True, row=row)
        assert law_of_end(cuts, masses.tolist())[300:].sum() <= MISS


def test_positions_of_all_groups_can_be_numbered() -> None:
    assert rank_bits(1) == 32
    assert all((groups << rank_bits(groups)) * 4096 < 2**63 for groups in (1, 2**18, 10**6, 10**7))
