"""Lloyd's algorithm as lecture notes give it: each round spends half of its epsilon on sizes and half on sums."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from discreet.clustering.point_oracle import PointOracle, Reals
from discreet.clustering.random_floats import RandomFloats

ROUNDS = 5


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class LloydResult:
    """Centers in centered coordinates, the noisy numbers of points around them, and how they were found."""

    centers: Reals
    sizes: Reals
    method: str
    history: tuple[Reals, ...] = ()
    """The centers before each round, if there were rounds."""


def lloyd(points: PointOracle, clusters: int, epsilon: Fraction, *, rounds: int, rng: RandomFloats) -> LloydResult:
    """Centers after `rounds` rounds of Lloyd's algorithm, each at epsilon / rounds.

    A round assigns each point to its nearest center, which costs nothing, and moves the centers to sums / sizes: half
    of the round's epsilon is for the sizes, Laplace noise of scale 2 rounds / epsilon, and half for the sums, of scale
    2 rounds |dom| / epsilon, |dom| the largest L1 norm of a point inside of the bounds. Both double for replace-one
    neighbors. The middle of the bounds is taken for zero, which halves |dom|. The first centers are drawn evenly from
    between the bounds, whatever the points are. Where a noisy size is below 1 the center stays; a center outside of
    the bounds is moved to them.

    Source: Blum, Dwork, McSherry and Nissim, "Practical privacy: the SuLQ framework" (2005); theory, section 7.
    """
    half = points.half
    centers = (2 * rng.uniform(clusters, len(half)) - 1) * half
    sizes = np.zeros(clusters)
    history = [centers]
    part = epsilon / (2 * rounds)
    for _ in range(rounds):
        sizes = points.sizes(centers, part)
        sums = points.sums(centers, part, radius=None)
        means = sums.values / np.maximum(sizes, 1.0)[:, None]
        centers = np.where((sizes >= 1)[:, None], np.clip(means, -half, half), centers)
        history.append(centers)
    return LloydResult(centers=centers, sizes=sizes, method=f"lloyd: {rounds} rounds", history=tuple(history))
