"""The best known algorithm, chosen by dimension and noisy size: a synopsis, then rounds with clipped points.

Four regimes, by the noise that a round would have beside the spread of the points, x = columns * clusters / (points *
epsilon), with the noisy number of points (and twice that, or more, where a unit moves counts by more than 1):

- x below `SYNOPSIS`, or few columns: noisy counts on a grid (Su et al. 2016) over the columns themselves, or over four
  random directions around a noisy mean where there are more; weighted k-means of the cells, which is free; then rounds
  of Lloyd's in which a point counts only as far as a radius from its center (as in FastLloyd), which needs less noise.
- above it, in up to 20 columns: votes for candidates (`voted_centers`), whose noise does not grow with the columns.
- above it, in more columns, up to `HOPELESS`: one such round from random directions around the noisy mean.
- beyond that no cluster can be seen: all of epsilon is for the mean.

Means are pulled towards what was known before by how much of their movement is noise (James and Stein).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from discreet.clustering.lloyd import LloydResult
from discreet.clustering.point_oracle import ClusterSums, PointGrid, PointOracle, Reals
from discreet.clustering.random_floats import RandomFloats
from discreet.clustering.voted_centers import candidates, voted_centers
from discreet.clustering.weighted_kmeans import weighted_means

SYNOPSIS, HOPELESS = 0.03, 0.2
"""Found on the benchmark: where a projected synopsis overtakes random directions, and the mean everything else."""
VOTES, EASY_COLUMNS, MOST_VOTED_COLUMNS = 1.0, 16, 20
"""In so many columns votes overtake both where there is little to see; beyond, candidates are never near enough."""
PLENTY, ABUNDANCE = 0.005, 0.0005
FEW_COLUMNS = 4
"""Up to so many columns the grid is over the columns themselves; beyond, over so many random directions."""
MOST_CELLS = 20_000
ROWS_FOR_A_CELL = 10
"""Su et al.: (points * epsilon / 10) ** (2d / (2 + d)) cells."""

FOR_SIZE = Fraction(1, 20)
FOR_MEAN = Fraction(1, 10)
FOR_RADIUS = Fraction(1, 20)
FOR_CELLS = Fraction(3, 10)
FOR_VOTERS_MEAN = Fraction(3, 20)
FOR_SIZES = Fraction(1, 5)
"""Of each round."""
BINS = 64
INSIDE = 0.85
"""Part of the points that lie within the radius."""
REACH_OF_MEAN = 0.6
"""Points count towards the first mean up to this part of the largest norm: few are in the corners."""


def best(points: PointOracle, clusters: int, epsilon: Fraction, *, rng: RandomFloats) -> LloydResult:
    """Centers by the method that suits the numbers of points, columns and clusters, and epsilon."""
    left = epsilon
    if points.size is None:
        part = epsilon * FOR_SIZE
        size, left = max(1.0, points.count(part)), left - part
    else:
        size = float(max(1, points.size))
    columns = len(points.half)
    noise = columns * clusters * points.count_sensitivity / (size * float(epsilon))
    if columns > FEW_COLUMNS and clusters > 1 and _votes_win(points, clusters, noise):
        mean = _mean(points, size, left * FOR_VOTERS_MEAN)
        return voted_centers(points, clusters, left * (1 - FOR_VOTERS_MEAN), mean=mean, rng=rng)
    if noise > HOPELESS or clusters == 1:
        mean = _mean(points, size, left)
        return LloydResult(
            centers=np.tile(mean, (clusters, 1)), sizes=np.full(clusters, size / clusters), method="mean"
        )
    if columns <= FEW_COLUMNS:
        return _by_grid(points, clusters, left, (size, noise), rng)
    return _around_mean(points, clusters, left, (size, noise), rng)


def _votes_win(points: PointOracle, clusters: int, noise: float) -> bool:
    """Whether candidates in so many columns are found faster by votes than centers by sums."""
    columns = len(points.half)
    least = SYNOPSIS if columns <= EASY_COLUMNS else HOPELESS
    return columns <= MOST_VOTED_COLUMNS and least < noise <= VOTES and candidates(clusters) <= points.most_centers


def _by_grid(
    points: PointOracle, clusters: int, left: Fraction, known: tuple[float, float], rng: RandomFloats
) -> LloydResult:
    size, noise = known
    part = left * FOR_CELLS
    seen = float(part) / points.count_sensitivity
    grid = over_columns(points.half, size * seen)
    counts = points.cells(grid, part)
    centers, radius = _summary(grid, counts, clusters, seen, rng)
    start = centers @ grid.directions
    # A cell's middle stands for its points, which lie up to half a cell away.
    reach = radius * math.sqrt(len(points.half)) / float(points.weights.min()) + float(grid.widths.max())
    way = _Way(method="grid synopsis", rounds=_number(noise), radius=min(reach, points.largest_norm))
    return _rounds(points, start, left - part, way)


def _around_mean(
    points: PointOracle, clusters: int, left: Fraction, known: tuple[float, float], rng: RandomFloats
) -> LloydResult:
    size, noise = known
    whole = left
    mean = _mean(points, size, whole * FOR_MEAN)
    radius = _radius(points, mean, whole * FOR_RADIUS)
    left = whole - whole * (FOR_MEAN + FOR_RADIUS)
    spread = radius / math.sqrt(len(points.half))
    if noise > SYNOPSIS:
        start = rng.directions(clusters, len(mean))
        start = mean + 0.7 * spread * (start - start.mean(axis=0)) * points.weights
        return _rounds(points, start, left, _Way(method="random directions", rounds=1, radius=radius, common=mean))
    part = whole * FOR_CELLS
    directions, _ = np.linalg.qr(rng.directions(FEW_COLUMNS, len(mean)).T)
    seen = float(part) / points.count_sensitivity
    grid = around(directions.T, mean, 1.25 * spread, size * seen)
    centers, _ = _summary(grid, points.cells(grid, part), clusters, seen, rng)
    start = mean + (centers - directions.T @ mean) @ directions.T
    # A projection shows some clusters as one; rounds part them, where they cost next to nothing.
    rounds = 8 if noise < ABUNDANCE else _number(noise)
    way = _Way(method="projected synopsis", rounds=rounds, radius=radius, common=mean)
    return _rounds(points, start, left - part, way)


def _number(noise: float) -> int:
    """The number of rounds; noise grows with it."""
    return 3 if noise < PLENTY else 2 if noise < SYNOPSIS else 1


# -- the synopsis ------------------------------------------------------------------------------------------------------


def over_columns(half: Reals, seen: float) -> PointGrid:
    """Cubes of one size over all of the bounds; `seen` is the number of points times epsilon.

    >>> over_columns(np.array([1.0, 0.5]), 500.0).shape
    (10, 5)
    """
    wanted = _cells(seen, len(half))
    side = float(2 * half.max())
    while math.prod(_shape(half, side * 0.97)) <= wanted:
        side *= 0.97
    shape = _shape(half, side)
    return PointGrid(directions=np.eye(len(half)), origins=-half, widths=2 * half / np.array(shape), shape=shape)


def _shape(half: Reals, side: float) -> tuple[int, ...]:
    return tuple(max(1, round(float(2 * h / side))) for h in half)


def around(directions: Reals, center: Reals, reach: float, seen: float) -> PointGrid:
    """Cubes over some directions, as far as `largest_norm` from the center."""
    axes = len(directions)
    number = max(2, math.floor(_cells(seen, axes) ** (1 / axes)))
    widths = np.full(axes, 2 * reach / number)
    return PointGrid(directions=directions, origins=directions @ center - reach, widths=widths, shape=(number,) * axes)


def _cells(seen: float, axes: int) -> float:
    wanted: float = (seen / ROWS_FOR_A_CELL) ** (2 * axes / (2 + axes))
    return max(2.0**axes, min(MOST_CELLS, wanted))


def _summary(grid: PointGrid, counts: Reals, clusters: int, epsilon: float, rng: RandomFloats) -> tuple[Reals, float]:
    """Weighted k-means of the cells that stand out from the noise, and how far their points lie from it."""
    middles = grid.middles()
    floor = math.log(max(2, grid.cells)) / epsilon  # noise alone is above it in half a cell of all
    shown = counts > floor
    if not shown.any():
        shown = counts >= np.sort(counts)[-min(clusters, len(counts))]
    held, weights = middles[shown], np.maximum(counts[shown], 1.0)
    centers = weighted_means(held, weights, clusters, rng)
    if len(centers) < clusters:
        centers = np.vstack([centers, np.tile(centers[:1], (clusters - len(centers), 1))])
    nearest = np.linalg.norm(held[:, None, :] - centers[None], axis=2).min(axis=1)
    order = np.argsort(nearest)
    mass = np.cumsum(weights[order])
    return centers, float(nearest[order][np.searchsorted(mass, INSIDE * mass[-1])])


# -- means, and rounds of bounded reach ------------------------------------------------------------------------------


def _mean(points: PointOracle, size: float, epsilon: Fraction) -> Reals:
    """The noisy mean, shrunk toward the middle of the bounds in proportion to its noise."""
    middle = np.zeros((1, len(points.half)))
    sums = points.sums(middle, epsilon, radius=REACH_OF_MEAN * points.largest_norm)
    mean: Reals = np.clip(_pulled(sums, np.array([size]), middle)[0], -points.half, points.half)
    return mean


def _radius(points: PointOracle, center: Reals, epsilon: Fraction) -> float:
    """A weighted L1 distance from the center within which most points lie."""
    edges = np.linspace(0.0, points.largest_norm, BINS + 1)
    counts = points.distances(center, edges, epsilon)
    mass = np.cumsum(np.where(counts > math.log(BINS) * points.count_sensitivity / float(epsilon), counts, 0.0))
    if mass[-1] <= 0:
        return 0.4 * float(points.largest_norm)
    return float(edges[int(np.searchsorted(mass, INSIDE * mass[-1])) + 1])


def _pulled(sums: ClusterSums, sizes: Reals, origin: Reals) -> Reals:
    """Movements sums / sizes, pulled to `origin` - what they start from - by the part of them that is noise."""
    moved = sums.values / np.maximum(sizes, 1.0)[:, None] + origin
    noise = sums.variance.sum() / np.maximum(sizes, 1.0) ** 2
    kept = np.maximum(0.0, 1 - noise / np.maximum((moved**2).sum(axis=1), 1e-300))
    pulled: Reals = kept[:, None] * moved
    return pulled


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class _Way:
    """How rounds go on: their number, how far a point counts, and what means are pulled towards: a common one, or,
    where there is none, each the center that it starts from.
    """

    method: str
    rounds: int
    radius: float
    common: Reals | None = None


def _rounds(points: PointOracle, centers: Reals, epsilon: Fraction, way: _Way) -> LloydResult:
    """Lloyd's rounds in which a point counts no further than the radius from its center."""
    half, part = points.half, epsilon / way.rounds
    centers = np.clip(centers, -half, half)
    sizes, history = np.ones(len(centers)), [centers]
    for _ in range(way.rounds):
        sizes = points.sizes(centers, part * FOR_SIZES)
        sums = points.sums(centers, part * (1 - FOR_SIZES), radius=way.radius)
        towards = centers if way.common is None else np.tile(way.common, (len(centers), 1))
        moved = towards + _pulled(sums, sizes, centers - towards)
        seen = sizes * float(part * FOR_SIZES) > 3 * math.sqrt(2) * points.count_sensitivity
        centers = np.where(seen[:, None], np.clip(moved, -half, half), towards)
        history.append(centers)
    told = f"{way.method}, {way.rounds} round{'s' if way.rounds > 1 else ''}"
    return LloydResult(centers=centers, sizes=sizes, method=told, history=tuple(history))
