"""Laplace noise for queries on ordered cells: figures, exact distances of integers, errors that are those stated."""

from __future__ import annotations

import itertools
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from discreet.accounting.event_costs import cost_of
from discreet.errors import InvalidParameter
from discreet.mechanisms.laplace import Laplace
from discreet.testing.scripted_words import splitmix
from discreet.workloads.laplace_strategies import LaplaceStrategy, _error_and_slope, coarse_to_fine, laplace_strategy
from discreet.workloads.ordered_queries import OrderedQueries

COUNTS = [5, 0, 3, 9, 9, 2, 1, 0]


@pytest.fixture(scope="module")
def small() -> LaplaceStrategy:
    """With sums of cells among what is measured."""
    queries = OrderedQueries.of(np.tile(np.eye(8)[:1], (2, 1)) + np.ones((2, 8)))
    found = laplace_strategy(queries, starts=3)
    assert len(found.matrix) > 8
    return found


@pytest.mark.long
@pytest.mark.parametrize(("kind", "most"), [("ranges", 6.7205), ("prefixes", 6.295)])
def test_the_figures_of_128_cells(kind: str, most: float) -> None:
    """Of the integers that are measured."""
    assert laplace_strategy(getattr(OrderedQueries, kind)(128)).rmse(epsilon=1) <= most


def test_it_is_the_same_each_time() -> None:
    one, two = (laplace_strategy(OrderedQueries.prefixes(40), starts=4).matrix for _ in range(2))
    assert np.array_equal(one, two)


@pytest.mark.parametrize("seed", range(4))
def test_the_slope_is_that_of_the_error(seed: int) -> None:
    random = np.random.default_rng(seed)
    squares = OrderedQueries.of(random.normal(size=(5, 6))).squares
    flat = random.random(12)
    error, slope = _error_and_slope(flat, squares)
    sums = flat.reshape(2, 6)
    measured = np.concatenate([np.eye(6), sums]) / (1 + sums.sum(axis=0))
    assert error == pytest.approx(float(np.trace(squares @ np.linalg.inv(measured.T @ measured))))
    for place in range(12):
        step = np.zeros(12)
        step[place] = 1e-6
        change = (_error_and_slope(flat + step, squares)[0] - _error_and_slope(flat - step, squares)[0]) / 2e-6
        assert slope[place] == pytest.approx(change, rel=1e-4, abs=1e-4)


def test_it_is_never_worse_than_cells_alone() -> None:
    for cells in (1, 2, 5, 16, 60):
        queries = OrderedQueries.ranges(cells)
        alone = np.sqrt(2 * np.trace(queries.squares) / queries.number)
        assert laplace_strategy(queries, starts=2).rmse(epsilon=1) <= alone * (1 + 1e-5)


def test_many_cells_are_planned_from_few() -> None:
    """Off by little more than what descent over all of them finds, 6.52; and the same each time."""
    queries = OrderedQueries.prefixes(150)
    found = coarse_to_fine(queries, starts=1)
    alone = np.sqrt(2 * np.trace(queries.squares) / queries.number)
    assert found.rmse(epsilon=1) < 0.56 * alone
    assert np.array_equal(found.matrix, coarse_to_fine(queries, starts=1).matrix)
    assert len(found.matrix) > 150


def test_cells_alone_are_kept_where_sums_are_not_asked_for() -> None:
    found = coarse_to_fine(OrderedQueries.of(np.eye(300)), starts=1)
    assert found.rmse(epsilon=1) == pytest.approx(2**0.5, rel=1e-5)


@pytest.mark.parametrize("neighbors", ["add-remove", "replace-one"])
@pytest.mark.parametrize("contributions", [1, 2])
def test_one_unit_moves_what_is_measured_no_further_than_stated(
    monkeypatch: pytest.MonkeyPatch, small: LaplaceStrategy, neighbors: str, contributions: int
) -> None:
    """Every neighbor, in integers; and the farthest is as far as is stated where one is added."""
    seen: list[tuple[Laplace, NDArray[Any]]] = []
    plain = Laplace.add_noise

    def add_noise(self: Laplace, totals: NDArray[Any], words: Any) -> NDArray[Any]:
        seen.append((self, totals.copy()))
        return plain(self, totals, words)

    monkeypatch.setattr(Laplace, "add_noise", add_noise)
    farthest = Fraction(0)
    for cells in itertools.combinations_with_replacement(range(8), contributions):
        one, two = np.array(COUNTS), np.array(COUNTS)
        for cell in cells:
            one[cell] += 1
        if neighbors == "replace-one":
            two[3] += contributions
        seen.clear()
        for counts in (one, two):
            small.release(counts, epsilon=1, contributions=contributions, neighbors=neighbors, words=splitmix(1))
        (mechanism, first), (_, second) = seen
        apart = sum(abs(int(a - b)) for a, b in zip(first, second, strict=True))
        assert apart <= mechanism.sensitivity
        farthest = max(farthest, Fraction(apart) / mechanism.sensitivity)
    if neighbors == "add-remove":
        assert farthest == 1


def test_the_event_costs_epsilon(small: LaplaceStrategy) -> None:
    assert cost_of(small.release(COUNTS, epsilon=0.25, words=splitmix(2)).event).epsilon == Fraction(1, 4)


def test_errors_are_those_that_were_stated() -> None:
    """The mean of the squares over all ranges, and the coverage of each; a planted shift is caught."""
    best = laplace_strategy(OrderedQueries.ranges(8), starts=3)
    made = [best.release(COUNTS, epsilon=0.1, words=splitmix(seed)) for seed in range(800)]
    squares, held, shifted = [], [], []
    for low, high in itertools.combinations(range(9), 2):
        off = np.array([cells.between(low, high) for cells in made]) - sum(COUNTS[low:high])
        half = made[0].half_width(low, high, confidence=0.9)
        squares.append(np.mean(off**2))
        held.append(np.mean(np.abs(off) <= half))
        shifted.append(np.mean(np.abs(off + half) <= half))
    assert np.sqrt(np.mean(squares)) == pytest.approx(best.rmse(epsilon=0.1), rel=0.1)
    assert min(held) > 0.85
    assert 0.88 < np.mean(held) < 0.92
    assert max(shifted) < 0.85


def test_refusals(small: LaplaceStrategy) -> None:
    with pytest.raises(InvalidParameter, match="at most 2,048 cells"):
        laplace_strategy(OrderedQueries.ranges(2100))
    wrong: list[dict[str, Any]] = [
        {"epsilon": 0},
        {"epsilon": 1, "contributions": 0},
        {"epsilon": 1, "neighbors": "no"},
    ]
    for stated in wrong:
        with pytest.raises(InvalidParameter, match="\nHint: "):
            small.release(COUNTS, **({"epsilon": 1} | stated))
    with pytest.raises(InvalidParameter, match="8 whole numbers"):
        small.release([1, 2], epsilon=1)
    with pytest.raises(InvalidParameter, match="\nHint: "):
        small.release(COUNTS, epsilon=1).between(3, 3)
