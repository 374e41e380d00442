"""What each level of a tree should cost, so that the estimates of all levels are as good as they can be together.

Claim
    `level_variances(tree, noise)` are the mean and the largest variance of the least-squares estimates on each level,
    exactly. `best_shares` are positive shares, or 0 for levels that are better left unmeasured, whose sum is 1 exactly;
    of Gaussian noise they attain the least weighted sum of mean variances up to a thousandth of it.
Requires
    A tree; for each level the variance that its noise would have at the whole price.
Relies on
    `hierarchy_least_squares`: variances. SciPy's descent for the shares: a bad one costs accuracy, and nothing else.
Proof
    *Leaves.* All leaves have the same noise, so that those of one parent with k of them have the variance s - s/k +
    V/k^2, V that of the parent: the mean and the largest follow from the parents.
    *Gaussian noise.* The precision of a measurement is in proportion to its share. The variance of an estimate is
    a^T (sum p_l A_l^T A_l)^-1 a, convex in the precisions p (the inverse is convex on positive matrices), so that
    descent finds the least sum f; and since f(c p) = f(p) / c, no shares have less than 2 f less its largest slope. Of
    Laplace noise, whose precision goes with the square of the share, it need not be convex; descent starts at equal
    shares, and each level is tried without.
Rounding
    Shares are whole millionths.
Source
    Cormode, Procopiuc, Srivastava, Shen and Yu, "Differentially private spatial decompositions" (2012), for budgets
    that differ by level; Pukelsheim, "Optimal design of experiments" (2006), for the convexity.
Mutant
    leaves-alike-their-parents: a leaf is taken to be as good as its parent's share of it; killed by
    test_variances_of_levels_are_those_of_dense_least_squares.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from discreet.workloads.hierarchy import Hierarchy
from discreet.workloads.hierarchy_least_squares import LevelVariances, Reals, variances

MILLION = 10**6
LEAST_SHARE = 1e-4
"""A level with less is not measured."""
LITTLE = 0.1
"""Levels with less are tried without; of Laplace noise, all but the last are."""
SMOOTHING = 24.0
"""The power in which errors are added up where the largest is to be small."""

Errors = tuple[Reals, Reals]
"""The mean and the largest variance of each level."""


def level_variances(tree: Hierarchy, noise: Sequence[float]) -> Errors:
    """The mean and the largest variance of the estimates of each level, from the variances of the noise.

    >>> means, largest = level_variances(Hierarchy.of([0, 0, 0]), [math.inf, 2.0])
    >>> means.tolist(), largest.tolist()
    ([6.0, 2.0], [6.0, 2.0])
    """
    known = LevelVariances.of(tree, list(noise))
    if len(tree.children) > 1:
        inner = Hierarchy(tree.children[:-1])
        above = variances(inner, LevelVariances(known.own[:-1], known.sums[:-1]))
    else:
        above = [known.own[0]]
    children, parents, own = tree.children[-1], above[-1], float(noise[-1])
    leaf = own - own / children + parents / children**2
    mean = float(np.sum(children * leaf)) / tree.sizes[-1]
    return (
        np.array([*(float(level.mean()) for level in above), mean]),
        np.array([*(float(level.max()) for level in above), float(leaf.max())]),
    )


def noise_of(units: Sequence[float], shares: Sequence[float] | Reals, power: int) -> list[float]:
    """The variance of each level's noise at its share, from that at the whole price; infinity at no share."""
    return [one / share**power if share > 0 else math.inf for one, share in zip(units, shares, strict=True)]


def best_shares(
    tree: Hierarchy, units: Sequence[float], *, power: int, weights: Sequence[float] | None = None
) -> list[Fraction]:
    """The shares of the levels with the least weighted sum of their mean variances.

    Args:
        tree: the nodes.
        units: the variance of each level's noise at the whole price.
        power: the variance goes with the share to the minus this: 1 for Gaussian noise, 2 for Laplace noise.
        weights: of the levels; all alike without.

    >>> tree = Hierarchy.of([0] * 50)
    >>> [float(share) for share in best_shares(tree, [1.0, 1.0], power=1)]
    [0.495, 0.505]
    """
    factors = np.ones(len(tree.sizes)) if weights is None else np.asarray(weights, dtype=np.float64)

    def total(shares: Reals) -> float:
        means, _ = level_variances(tree, noise_of(units, shares, power))
        return math.log(float(factors @ means))

    return _whole(_least(total, len(tree.sizes), power))


def shares_within(
    tree: Hierarchy, units: Sequence[float], *, power: int, deviations: Sequence[float]
) -> tuple[list[Fraction], float]:
    """The shares with which the largest deviation of a level over the stated one is smallest, and that ratio.

    Infinity is stated for levels of which nothing is asked.
    """
    wanted = np.asarray(deviations, dtype=np.float64)

    def worst(shares: Reals) -> float:
        _, largest = level_variances(tree, noise_of(units, shares, power))
        logs = SMOOTHING * (np.log(largest) - 2 * np.log(wanted))
        return float(np.logaddexp.reduce(logs)) / SMOOTHING

    shares = _whole(_least(worst, len(tree.sizes), power))
    _, largest = level_variances(tree, noise_of(units, [float(one) for one in shares], power))
    return shares, float(np.max(np.sqrt(largest) / wanted))


def _least(cost: Callable[[Reals], float], levels: int, power: int) -> Reals:
    """Shares of a small cost; those of levels that it is better without are 0."""
    measured, little = np.ones(levels, dtype=bool), LITTLE if power == 1 else 1.0
    best, least = _descended(cost, measured)
    while True:
        tried = [
            _descended(cost, without)
            for level in np.flatnonzero(measured[:-1] & (best[:-1] < little))
            for without in [measured & (np.arange(levels) != level)]
        ]
        shares, found = min(tried, key=lambda one: one[1], default=(best, math.inf))
        if found > least + 1e-9:
            return best
        best, least, measured = shares, found, shares > 0


def _descended(cost: Callable[[Reals], float], measured: NDArray[np.bool_]) -> tuple[Reals, float]:
    """Shares of the levels that are measured, from equal ones down."""
    from scipy.optimize import minimize

    def shares(logs: Reals) -> Reals:
        parts = np.zeros(len(measured))
        parts[measured] = np.exp(logs - logs.max())
        normal: Reals = parts / parts.sum()
        return normal

    start = np.zeros(int(measured.sum()))
    if start.size == 1:
        return shares(start), cost(shares(start))
    found = minimize(lambda logs: cost(shares(logs)), start, method="L-BFGS-B", bounds=[(-20.0, 20.0)] * start.size)
    return shares(found.x), float(found.fun)


def _whole(shares: Reals) -> list[Fraction]:
    """Shares in whole millionths, whose sum is 1; the largest takes what is left."""
    kept = np.where(shares < LEAST_SHARE, 0.0, shares)
    kept[-1] = max(kept[-1], LEAST_SHARE)
    parts = np.floor(MILLION * kept / kept.sum()).astype(int)
    parts[int(parts.argmax())] += MILLION - int(parts.sum())
    return [Fraction(int(part), MILLION) for part in parts]
