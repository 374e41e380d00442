"""Weighted k-means finds the clusters that are there, and does with fewer points than clusters."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.clustering.random_floats import RandomFloats
from discreet.clustering.weighted_kmeans import squared_distances, weighted_means
from discreet.testing.scripted_words import splitmix

CHANCE = RandomFloats(splitmix(1))


def test_far_clusters_are_found() -> None:
    middles = 100 * CHANCE.uniform(8, 2)
    points = (middles[:, None] + CHANCE.uniform(8, 50, 2)).reshape(-1, 2)
    centers = weighted_means(points, np.ones(len(points)), 8, CHANCE)
    assert squared_distances(points, centers).min(axis=1).sum() < 8 * 50 * 2 / 12 * 1.1


def test_weights_count() -> None:
    centers = weighted_means(np.array([[0.0], [1.0]]), np.array([3.0, 1.0]), 1, CHANCE)
    assert centers[0, 0] == pytest.approx(0.25)


def test_fewer_points_than_clusters() -> None:
    centers = weighted_means(np.array([[1.0, 2.0]]), np.array([5.0]), 3, CHANCE)
    assert centers.tolist() == [[1.0, 2.0]] * 3
