"""k-means of public weighted points, which turns a noisy synopsis into centers at no cost.

Not left to scikit-learn, which is not among the dependencies, and has a seed in place of the random words here.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from discreet.clustering.point_oracle import Reals
from discreet.clustering.random_floats import RandomFloats

RESTARTS = 6
TRIALS = 4
"""Candidates for each further center, of which the best is taken."""
STILL = 1e-6
"""Rounds stop when the relative gain is below this."""


def weighted_means(points: Reals, weights: Reals, clusters: int, rng: RandomFloats) -> Reals:
    """Centers of low weighted inertia: the best of several runs of Lloyd's rounds from k-means++.

    Args:
        points: shape (n, columns).
        weights: above zero, shape (n,).
        clusters: how many; where there are fewer points, some centers are the same.
        rng: for the starts.

    Source: Lloyd (1957, 1982); Arthur and Vassilvitskii, k-means++ (2007), with several trials for each center.

    >>> from discreet.testing.scripted_words import splitmix
    >>> points = np.array([[0.0], [1.0], [10.0], [11.0]])
    >>> sorted(weighted_means(points, np.array([1.0, 1.0, 1.0, 3.0]), 2, RandomFloats(splitmix(1))).ravel().tolist())
    [0.5, 10.75]
    """
    best, least = points[:1], np.inf
    for _ in range(RESTARTS):
        centers, inertia = _rounds(points, weights, _start(points, weights, clusters, rng))
        if inertia < least:
            best, least = centers, inertia
    return best


def squared_distances(points: Reals, centers: Reals) -> Reals:
    """Squared distances, shape (n, clusters).

    >>> squared_distances(np.array([[0.0, 0.0], [3.0, 4.0]]), np.array([[0.0, 0.0]]))
    array([[ 0.],
           [25.]])
    """
    far = np.sum(points**2, axis=1)[:, None] - 2 * points @ centers.T + np.sum(centers**2, axis=1)
    positive: Reals = np.maximum(far, 0.0)
    return positive


def _start(points: Reals, weights: Reals, clusters: int, rng: RandomFloats) -> Reals:
    first = drawn_indices(weights, rng.uniform(1))
    centers = points[first]
    far = squared_distances(points, centers)[:, 0]
    for _ in range(clusters - 1):
        chosen = drawn_indices(weights * far, rng.uniform(TRIALS))
        nearer = np.minimum(far[:, None], squared_distances(points, points[chosen]))
        best = int((weights @ nearer).argmin())
        far = nearer[:, best]
        centers = np.vstack([centers, points[chosen[best]]])
    return centers


def drawn_indices(masses: Reals, places: Reals) -> NDArray[np.intp]:
    """Indices with these probabilities, up to a factor."""
    sums = np.cumsum(masses)
    result: NDArray[np.intp] = np.minimum(np.searchsorted(sums, places * sums[-1], side="right"), len(masses) - 1)
    return result


def _rounds(points: Reals, weights: Reals, centers: Reals) -> tuple[Reals, float]:
    before = np.inf
    while True:
        far = squared_distances(points, centers)
        nearest = far.argmin(axis=1)
        inertia = float(weights @ far[np.arange(len(points)), nearest])
        if not inertia < before * (1 - STILL):
            return centers, inertia
        before = inertia
        mass = np.bincount(nearest, weights=weights, minlength=len(centers))
        sums = [np.bincount(nearest, weights=weights * column, minlength=len(centers)) for column in points.T]
        held = mass > 0
        centers = np.where(held[:, None], np.stack(sums, axis=1) / np.where(held, mass, 1.0)[:, None], centers)
