"""Centers by votes: each point votes for the nearest candidate, and new candidates are made from the winners.

A point is in one count of each round, whatever its columns are: noise does not grow with their number, as that of sums
does. What grows is the space in which candidates have to be lucky.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from discreet.clustering.lloyd import LloydResult
from discreet.clustering.point_oracle import PointOracle, Reals
from discreet.clustering.random_floats import RandomFloats
from discreet.clustering.weighted_kmeans import drawn_indices, weighted_means

ROUNDS = 4
SPREAD, SHRINKS = 0.4, 0.7
"""Of the first candidates, in parts of half the bounds, and what is left of that after each round."""
STANDS_OUT = 1.5
"""Votes below this multiple of their noise scale are ignored."""


def candidates(clusters: int) -> int:
    """How many there are in each round."""
    return 16 * clusters + 32


def voted_centers(
    points: PointOracle, clusters: int, epsilon: Fraction, *, mean: Reals, rng: RandomFloats
) -> LloydResult:
    """Centers from `ROUNDS` rounds of votes, each at an equal part of epsilon; the first candidates are around `mean`.

    The winners stay, and new ones are drawn around them, nearer each time; at the end, weighted k-means of the
    candidates by their votes, which is free. Where nobody wins, all centers are the mean.

    Source: private evolution (Lin et al. 2024) with points in place of pictures, as in PE-means (2026).
    """
    half, number = points.half, candidates(clusters)
    spread: Reals = SPREAD * half
    part = epsilon / ROUNDS
    proposals: Reals = np.clip(mean + spread * rng.normal(number, len(half)), -half, half)
    proposals[0] = mean
    votes: Reals = np.zeros(number)
    for i in range(ROUNDS):
        if i:
            spread = spread * SHRINKS
            proposals = _descendants(proposals, votes, clusters, spread, rng)
            proposals = np.clip(proposals, -half, half)
        counted: Reals = points.sizes(proposals, part) - STANDS_OUT * points.count_sensitivity / float(part)
        votes = np.where(counted > 0, counted, 0.0)
        if not votes.any():
            alike = np.tile(mean, (clusters, 1))
            return LloydResult(centers=alike, sizes=np.zeros(clusters), method="votes that nobody won: the mean")
    won = votes > 0
    centers = weighted_means(proposals[won], votes[won], clusters, rng)
    nearest = np.argmin(((proposals[won][:, None] - centers[None]) ** 2).sum(axis=2), axis=1)
    sizes: Reals = np.bincount(nearest, weights=votes[won], minlength=clusters).astype(np.float64)
    return LloydResult(centers=centers, sizes=sizes, method=f"votes, {ROUNDS} rounds")


def _descendants(proposals: Reals, votes: Reals, clusters: int, spread: Reals, rng: RandomFloats) -> Reals:
    """The winners, and others around candidates drawn in proportion to their votes."""
    order = np.argsort(-votes, kind="stable")[: max(clusters, len(proposals) // 4)]
    kept = proposals[order[votes[order] > 0]]
    parents = drawn_indices(votes, rng.uniform(len(proposals) - len(kept)))
    children: Reals = proposals[parents] + spread * rng.normal(len(parents), proposals.shape[1])
    return np.vstack([kept, children])
