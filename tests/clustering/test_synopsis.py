"""The best known way finds clusters, chooses by size and dimension, and spends all of epsilon and no more.

Noise is scripted here, so that the figures are the same each time; benchmarks/clusters.py has the figures on real data.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from discreet.clustering.lloyd import LloydResult
from discreet.clustering.point_oracle import Reals
from discreet.clustering.points import Points
from discreet.clustering.random_floats import RandomFloats
from discreet.clustering.synopsis import MOST_CELLS, around, best, over_columns
from discreet.clustering.weighted_kmeans import squared_distances
from discreet.testing.scripted_words import splitmix


def blobs(n: int, columns: int, clusters: int) -> tuple[Reals, Reals]:
    """Points in [0, 1] around some middles, and the middles."""
    rng = RandomFloats(splitmix(n + columns))
    middles = 0.2 + 0.6 * rng.uniform(clusters, columns)
    off = rng.uniform(n, columns, 4).mean(axis=2) - 0.5
    return middles[np.arange(n) % clusters] + 0.15 * off, middles


def found_in(rows: Reals, clusters: int, epsilon: Any, *, size: int | None = None, seed: int = 1) -> LloydResult:
    amount = Fraction(epsilon)
    rest: dict[str, Any] = {"allowance": amount, "replaces": size is not None, "size": size, "words": splitmix(seed)}
    columns = rows.shape[1]
    points = Points.of(rows, np.zeros(columns), np.ones(columns), weighted=True, **rest)
    found = best(points, clusters, amount, rng=RandomFloats(splitmix(seed + 100)))
    spent = sum(step.epsilon for step in points.recorded)
    assert spent == amount or (spent < amount and "nobody" in found.method)
    return found


def loss(rows: Reals, found: LloydResult, middles: Reals) -> float:
    """Inertia over that of the middles which the rows were made around."""
    inertia = [squared_distances(rows, centers).min(axis=1).sum() for centers in (found.centers + 0.5, middles)]
    return float(inertia[0] / inertia[1])


@pytest.mark.parametrize(
    ("rows", "columns", "epsilon", "way", "most"),
    [
        (20_000, 2, 1, "grid synopsis, 3 rounds", 1.15),
        (20_000, 3, 1, "grid synopsis, 3 rounds", 1.15),
        (20_000, 9, 1, "projected synopsis, 3 rounds", 1.5),
        (1_000, 6, 1, "votes, 4 rounds", 30),
        (1_000, 18, 2, "random directions, 1 round", 60),
        (100, 6, "1/10", "mean", 90),
    ],
)
def test_it_chooses_and_finds(rows: int, columns: int, epsilon: Any, way: str, most: float) -> None:
    points, middles = blobs(rows, columns, 6)
    each = [found_in(points, 6, epsilon, seed=seed) for seed in (1, 2, 3)]
    assert {found.method for found in each} == {way}
    assert sorted(loss(points, found, middles) for found in each)[1] <= most


def test_a_public_size_costs_nothing() -> None:
    rows, middles = blobs(5000, 2, 4)
    assert loss(rows, found_in(rows, 4, 1, size=5000), middles) <= 1.15


@pytest.mark.parametrize("rows", [0, 1, 2])
@pytest.mark.parametrize("columns", [1, 2, 7])
@pytest.mark.parametrize("epsilon", ["1/100", "100"])
def test_hardly_any_points_are_no_fault(rows: int, columns: int, epsilon: str) -> None:
    found = found_in(np.full((rows, columns), 0.9), 3, epsilon)
    assert found.centers.shape == (3, columns)
    assert (np.abs(found.centers) <= 0.5).all()


def test_all_points_in_one_place() -> None:
    found = found_in(np.full((10_000, 2), 0.25), 3, 1)
    assert np.abs(found.centers + 0.25).max(axis=1).min() < 0.05


def test_grids_fit_their_columns() -> None:
    assert over_columns(np.array([1.0, 0.001]), 10**4).shape[1] == 1
    assert over_columns(np.array([1.0, 1.0]), 10**9).cells <= MOST_CELLS
    assert over_columns(np.array([3.0]), 0.01).cells >= 2
    directions = np.eye(2, 5)
    grid = around(directions, np.array([1.0, 2.0, 9.0, 9.0, 9.0]), 3.0, 1000.0)
    assert grid.middles().mean(axis=0) == pytest.approx([1.0, 2.0])
