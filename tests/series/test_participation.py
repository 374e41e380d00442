"""How far one unit moves the measurements of all its steps: against every unit of small series."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from discreet.errors import InvalidParameter
from discreet.series.participation import Participation
from discreet.series.step_windows import StepWindows
from discreet.series.stream_strategy import StreamStrategy
from series_fixtures import sets_of, worst


@pytest.mark.parametrize(("steps", "apart"), [(1, 1), (2, 1), (3, 1), (2, 3), (3, 2), (9, 1), (4, 4)])
@pytest.mark.parametrize("seed", range(3))
def test_no_unit_moves_the_measurements_further(seed: int, steps: int, apart: int) -> None:
    """Random integers, and the best strategy for a dashboard; for one step exactly, else from above and near."""
    random = np.random.default_rng(seed)
    strange = np.tril(random.integers(-9, 10, size=(8, 8)))
    taken = Participation(steps, apart)
    assert taken.squared(strange.T @ strange) >= worst(strange, steps, apart)
    if taken.within(8) == 1:
        assert taken.squared(strange.T @ strange) == worst(strange, steps, apart)
    if not seed:
        best = StreamStrategy.best(StepWindows.of(8, (1, 3, "all")), taken).matrix
        exact, bound = worst(best, steps, apart), taken.squared(best.T @ best)
        assert exact <= bound <= 1.05 * exact


@pytest.mark.parametrize(("steps", "apart"), [(2, 1), (5, 1), (30, 1), (12, 30), (3, 100)])
def test_entries_that_fall_with_the_distance_are_exact(steps: int, apart: int) -> None:
    """A year by the square root: what a unit does that comes as often and as early as it may."""
    matrix = StreamStrategy.square_root(StepWindows.of(365)).matrix
    unit = np.zeros(365, dtype=np.int64)
    unit[np.arange(steps) * apart] = 1
    assert Participation(steps, apart).squared(matrix.T @ matrix) == int(((matrix @ unit) ** 2).sum())


@pytest.mark.parametrize("seed", range(5))
def test_gaps_are_exact(seed: int) -> None:
    """In L1 norm, where nothing cancels, the bound is what the worst unit does."""
    norms = np.random.default_rng(seed).integers(0, 50, size=9)
    for steps, apart in itertools.product((1, 2, 3, 9), (1, 2, 4, 9)):
        found = Participation(steps, apart).absolute(norms)
        assert found == max(int(norms[list(places)].sum()) for places in sets_of(9, steps, apart))


def test_steps_far_apart_do_not_meet() -> None:
    """A band of five: steps five apart have nothing in common, so k of them cost k of one, exactly."""
    band = np.array([[int(0 <= row - column < 5) for column in range(20)] for row in range(20)])
    assert Participation(3, 5).squared(band.T @ band) == 15 == worst(band[:, ::5], 3, 1)
    assert Participation(3, 4).squared(band.T @ band) > 15


@pytest.mark.long
def test_products_that_could_wrap_are_refused() -> None:
    """Of 4,096 steps at 2**40 each the sum over all pairs is 0 in 64 bits."""
    every = Participation(steps=4096)
    assert every.squared(np.full((4096, 4096), 2**38 - 1)) == 4096**2 * (2**38 - 1)
    for product in (2**40, 2**38, -(2**63)):
        with pytest.raises(InvalidParameter, match="products of columns below"):
            every.squared(np.full((4096, 4096), product))


def test_a_limit_is_no_more_than_there_is() -> None:
    gram = np.eye(10, dtype=np.int64)
    assert Participation(4096).squared(gram) == 10
    assert Participation(4096, 3).squared(gram) == 4
    with pytest.raises(InvalidParameter, match="products of columns below"):
        Participation().squared(gram * 2**40)


@pytest.mark.parametrize("named", [{"steps": 0}, {"steps": 5000}, {"apart": 0}, {"apart": 2.5}])
def test_what_is_no_limit_is_refused(named: dict[str, int]) -> None:
    with pytest.raises(InvalidParameter):
        Participation(**named)
