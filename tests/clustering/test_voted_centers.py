"""Votes find clusters, cost what they are given, and leave the mean where nobody wins."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from discreet.clustering.point_oracle import Reals
from discreet.clustering.points import Points
from discreet.clustering.random_floats import RandomFloats
from discreet.clustering.voted_centers import ROUNDS, candidates, voted_centers
from discreet.testing.scripted_words import splitmix

MIDDLES = np.array([[-0.3] * 5, [0.3, 0.3, -0.3, -0.3, 0.0], [-0.3, 0.3, 0.3, 0.0, -0.3]])


def points_of(rows: Reals, epsilon: Fraction) -> Points:
    rest: dict[str, Any] = {"allowance": epsilon, "replaces": False, "size": None, "words": splitmix(1)}
    return Points.of(rows, np.full(5, -0.5), np.full(5, 0.5), weighted=True, **rest)


def test_clusters_are_found() -> None:
    rows = np.repeat(MIDDLES, 1000, axis=0) + 0.1 * (RandomFloats(splitmix(2)).uniform(3000, 5) - 0.5)
    points = points_of(rows, Fraction(2))
    found = voted_centers(points, 3, Fraction(2), mean=rows.mean(axis=0), rng=RandomFloats(splitmix(3)))
    far = np.linalg.norm(found.centers[:, None] - MIDDLES[None], axis=2)
    assert sorted(far.argmin(axis=1).tolist()) == [0, 1, 2]
    assert far.min(axis=1).max() < 0.3
    np.testing.assert_allclose(found.sizes, 1000, atol=300)


def test_every_round_is_one_count() -> None:
    points = points_of(np.zeros((100, 5)), Fraction(2))
    voted_centers(points, 3, Fraction(2), mean=np.zeros(5), rng=RandomFloats(splitmix(3)))
    assert [(step.what, step.epsilon, step.answers) for step in points.recorded] == [
        ("sizes", Fraction(2, ROUNDS), candidates(3))
    ] * ROUNDS
    assert points.recorded[0].scale == ROUNDS / 2


def test_without_winners_all_centers_are_the_mean(monkeypatch: Any) -> None:
    monkeypatch.setattr("discreet.clustering.voted_centers.STANDS_OUT", 10**6)
    mean = np.full(5, 0.25)
    found = voted_centers(
        points_of(np.zeros((10, 5)), Fraction(1)), 3, Fraction(1), mean=mean, rng=RandomFloats(splitmix(3))
    )
    np.testing.assert_array_equal(found.centers, np.tile(mean, (3, 1)))
    assert found.method == "votes that nobody won: the mean"


def test_fewer_winners_than_clusters() -> None:
    found = voted_centers(
        points_of(np.zeros((400, 5)), Fraction(4)), 9, Fraction(4), mean=np.zeros(5), rng=RandomFloats(splitmix(4))
    )
    assert found.centers.shape == (9, 5)
    assert np.isfinite(found.centers).all()
