"""Queries on ordered cells: published figures, bounds, exact distances of integers, errors that are those stated."""

from __future__ import annotations

import itertools
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from discreet.accounting.event_costs import zcdp_of_event
from discreet.errors import InvalidParameter
from discreet.mechanisms.gaussian import Gaussian
from discreet.testing.scripted_words import splitmix
from discreet.workloads.ordered_queries import NoisyCells, OrderedQueries

UNIT = Fraction(1, 2)
COUNTS = [5, 0, 3, 9, 9, 2, 1, 0]


def matrix_of(kind: str, cells: int) -> NDArray[np.float64]:
    """The queries one by one."""
    ends = itertools.combinations(range(cells + 1), 2) if kind == "ranges" else ((0, k + 1) for k in range(cells))
    return np.array([[float(low <= place < high) for place in range(cells)] for low, high in ends])


@pytest.mark.parametrize("cells", [1, 2, 7, 20])
@pytest.mark.parametrize("kind", ["ranges", "prefixes"])
def test_kinds_are_their_queries(kind: str, cells: int) -> None:
    made, dense = getattr(OrderedQueries, kind)(cells), OrderedQueries.of(matrix_of(kind, cells))
    assert made.number == dense.number
    assert np.array_equal(made.squares, dense.squares)


@pytest.mark.parametrize(
    ("kind", "cells", "error", "spectral"),
    [("ranges", 256, 2.9015, 2.872), ("prefixes", 128, 2.3115, 2.2544), ("prefixes", 256, 2.5245, 2.472)],
)
def test_the_published_bounds_are_nearly_attained(kind: str, cells: int, error: float, spectral: float) -> None:
    """Of the integers that are measured; the bound is at least the spectral one."""
    best = getattr(OrderedQueries, kind)(cells).strategy()
    assert best.rmse(rho=UNIT) <= error
    assert spectral - 0.01 < best.bound(rho=UNIT) <= best.rmse(rho=UNIT) * (1 + 1e-9)
    assert best.rmse(rho=UNIT) <= 1.001 * best.bound(rho=UNIT)


def test_windows_that_leave_sums_open() -> None:
    best = OrderedQueries.windows(128, 32).strategy()
    assert best.rmse(rho=UNIT) <= 1.01 * best.bound(rho=UNIT)


@pytest.mark.parametrize("seed", range(6))
def test_no_strategy_is_below_the_bound(seed: int) -> None:
    """Random queries, and random strategies beside the chosen one."""
    random = np.random.default_rng(seed)
    queries = random.normal(size=(6, 5))
    best = OrderedQueries.of(queries).strategy()
    bound = best.bound(rho=UNIT)
    assert bound <= best.rmse(rho=UNIT) * (1 + 1e-9) <= 1.02 * bound
    for _ in range(200):
        other = random.normal(size=(5, 5))
        moved = np.max(np.sum(other**2, axis=0))
        assert np.sqrt(np.sum((queries @ np.linalg.inv(other)) ** 2) * moved / 6) >= bound


def watched(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Gaussian, NDArray[Any]]]:
    seen: list[tuple[Gaussian, NDArray[Any]]] = []
    plain = Gaussian.add_noise

    def add_noise(self: Gaussian, totals: NDArray[Any], words: Any) -> NDArray[Any]:
        seen.append((self, totals.copy()))
        return plain(self, totals, words)

    monkeypatch.setattr(Gaussian, "add_noise", add_noise)
    return seen


@pytest.mark.parametrize("neighbors", ["add-remove", "replace-one"])
@pytest.mark.parametrize("contributions", [1, 2])
def test_one_unit_moves_the_measurements_no_further_than_stated(
    monkeypatch: pytest.MonkeyPatch, neighbors: str, contributions: int
) -> None:
    """Every neighbor, in integers; and the farthest is as far as is stated where one is added."""
    seen, best = watched(monkeypatch), OrderedQueries.ranges(8).strategy()
    farthest = Fraction(0)
    for cells in itertools.combinations_with_replacement(range(8), contributions):
        one, two = np.array(COUNTS), np.array(COUNTS)
        for cell in cells:
            one[cell] += 1
        if neighbors == "replace-one":
            two[3] += contributions
        seen.clear()
        for counts in (one, two):
            best.release(counts, rho=1, contributions=contributions, neighbors=neighbors, words=splitmix(1))
        (mechanism, first), (_, second) = seen
        square = sum(int(a - b) ** 2 for a, b in zip(first, second, strict=True))
        assert square <= mechanism.sensitivity**2
        farthest = max(farthest, Fraction(square) / mechanism.sensitivity**2)
    if neighbors == "add-remove":
        assert farthest > Fraction(99, 100)


def test_the_event_costs_rho_and_no_more() -> None:
    cost, delta = zcdp_of_event(
        OrderedQueries.prefixes(8).strategy().release(COUNTS, rho=0.25, words=splitmix(2)).event
    )
    assert delta == 0
    assert Fraction(249, 1000) < cost <= Fraction(1, 4)


def test_errors_are_those_that_were_stated() -> None:
    """The mean of the squares over all ranges, and the coverage of each; a planted shift is caught."""
    best = OrderedQueries.ranges(8).strategy()
    made = [best.release(COUNTS, rho=0.02, words=splitmix(seed)) for seed in range(600)]
    squares, held, shifted = [], [], []
    for low, high in itertools.combinations(range(9), 2):
        off = np.array([cells.between(low, high) for cells in made]) - sum(COUNTS[low:high])
        half = made[0].half_width(low, high, confidence=0.9)
        squares.append(np.mean(off**2))
        held.append(np.mean(np.abs(off) <= half))
        shifted.append(np.mean(np.abs(off + half) <= half))
    assert np.sqrt(np.mean(squares)) == pytest.approx(best.rmse(rho=0.02), rel=0.1)
    assert min(held) > 0.84
    assert 0.88 < np.mean(held) < 0.93
    assert max(shifted) < 0.84


def test_counts_of_any_size_are_added_exactly() -> None:
    most = np.full(8, 2**63 - 1)
    cells = OrderedQueries.ranges(8).strategy().release(most, rho=1, words=splitmix(3))
    assert cells.between(0, 8) == pytest.approx(8 * 2.0**63, rel=1e-9)


def test_one_cell_is_a_count() -> None:
    best = OrderedQueries.prefixes(1).strategy()
    assert best.rmse(rho=UNIT) == pytest.approx(1)
    assert best.bound(rho=UNIT) == pytest.approx(1)


REFUSED: dict[str, Any] = {
    "nothing": [], "one row": [1, 2], "zeros": [[0, 0]], "NaN": [[1, float("nan")]], "infinite": [[float("inf"), 1]],
    "text": [["a", "b"]], "ragged": [[1], [1, 2]], "none": None, "wide": np.ones((1, 5000)),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_matrices_that_are_refused(case: str) -> None:
    with pytest.raises(InvalidParameter, match="\nHint: "):
        OrderedQueries.of(REFUSED[case])


def test_other_refusals() -> None:
    best = OrderedQueries.prefixes(8).strategy()
    cells = best.release(COUNTS, rho=1, words=splitmix(4))
    assert isinstance(cells, NoisyCells)
    for counts in ([1, 2], [0.5] * 8, ["a"] * 8, [True] * 8, np.ones((8, 1), dtype=int)):
        with pytest.raises(InvalidParameter, match="\nHint: "):
            best.release(counts, rho=1)
    wrong: list[Any] = [(0, 9), (3, 3), (-1, 2), (0.0, 3), (True, 3)]
    for low, high in wrong:
        with pytest.raises(InvalidParameter, match="\nHint: "):
            cells.between(low, high)
    for made in (lambda: OrderedQueries.ranges(0), lambda: OrderedQueries.windows(8, 9), lambda: best.rmse(rho=0)):
        with pytest.raises(InvalidParameter, match="\nHint: "):
            made()
