"""Shares of levels: exact variances, and no division of the price that is better."""

from __future__ import annotations

import math

import numpy as np
import pytest

from discreet.workloads.hierarchy import Hierarchy
from discreet.workloads.hierarchy_shares import best_shares, level_variances, noise_of, shares_within
from random_trees import NOISE, dense, random_tree, weighted

FLAT = Hierarchy.of([0] * 20)


@pytest.mark.parametrize("noise", NOISE)
def test_variances_of_levels_are_those_of_dense_least_squares(noise: list[float]) -> None:
    tree = random_tree(7, 2, 5, 9, 30)
    means, largest = level_variances(tree, noise)
    _, covariance = weighted(tree, [np.zeros(size) for size in tree.sizes], noise)
    for level, rows in enumerate(dense(tree)):
        spread = np.diag(rows @ covariance @ rows.T)
        assert means[level] == pytest.approx(spread.mean())
        assert largest[level] == pytest.approx(spread.max())


def test_variances_of_two_levels() -> None:
    means, _ = level_variances(FLAT, [2.0, 3.0])
    assert means[0] == pytest.approx(2 * 60 / 62)
    assert means[1] == pytest.approx(3 - 3 / 20 + means[0] / 400)


@pytest.mark.parametrize("weights", [None, [1.0, 5.0, 0.2]])
@pytest.mark.parametrize("power", [1, 2])
def test_no_division_is_better(power: int, weights: list[float] | None) -> None:
    """Than the chosen one, by more than a thousandth, of all in steps of one fiftieth."""
    tree, units = random_tree(8, 1, 6, 40), [2.0, 2.0, 2.0]
    factors = np.ones(3) if weights is None else np.array(weights)

    def total(shares: list[float]) -> float:
        return float(factors @ level_variances(tree, noise_of(units, shares, power))[0])

    chosen = best_shares(tree, units, power=power, weights=weights)
    assert sum(chosen) == 1
    grid = [
        total([first / 50, second / 50, 1 - (first + second) / 50])
        for first in range(50)
        for second in range(50 - first)
    ]
    assert total([float(share) for share in chosen]) <= 1.001 * min(grid)


def test_a_level_that_is_not_worth_its_noise_is_left_out() -> None:
    """One child each: what the upper level says, the lower one says as well; Laplace noise is better spent on one."""
    chosen = best_shares(Hierarchy.of([0, 1, 2]), [2.0, 2.0], power=2)
    assert chosen == [0, 1]


@pytest.mark.parametrize("power", [1, 2])
def test_stated_deviations_are_met_together(power: int) -> None:
    """At the price that the ratio says: the largest deviation of some level is the stated one, and none is above."""
    tree, units, wanted = random_tree(9, 1, 6, 40), [2.0, 2.0, 2.0], [3.0, 10.0, math.inf]
    shares, ratio = shares_within(tree, units, power=power, deviations=wanted)
    price = ratio ** (2 / power)
    _, largest = level_variances(tree, noise_of([one / price**power for one in units], list(map(float, shares)), power))
    held = np.sqrt(largest) / np.array(wanted)
    assert held.max() == pytest.approx(1)
    _, other = level_variances(tree, noise_of([one / price**power for one in units], [1 / 3, 1 / 3, 1 / 3], power))
    assert (np.sqrt(other) / np.array(wanted)).max() > 1.05


@pytest.mark.parametrize("sizes", [(1, 6, 40), (1, 51, 3143), (1, 4, 20, 100, 700)])
@pytest.mark.parametrize("weighted", [False, True])
def test_gaussian_shares_are_the_best_there_are(sizes: tuple[int, ...], *, weighted: bool) -> None:
    """The sum is convex in the shares, and halves where they double: so no shares have less than twice the sum less the
    largest of its derivatives, which is within a thousandth of the sum.
    """
    tree, units = random_tree(11, *sizes), [2.0] * len(sizes)
    weights = [float(1 + 3 * (level % 2)) for level in range(len(sizes))] if weighted else [1.0] * len(sizes)

    def total(shares: list[float]) -> float:
        return float(np.array(weights) @ level_variances(tree, noise_of(units, shares, 1))[0])

    chosen = [float(share) for share in best_shares(tree, units, power=1, weights=weights)]
    found = total(chosen)
    slopes = [
        (found - total([share + 1e-6 * (place == level) for place, share in enumerate(chosen)])) / 1e-6
        for level in range(len(sizes))
    ]
    assert total([2 * share for share in chosen]) == pytest.approx(found / 2)
    assert max(slopes) - found <= 1e-3 * found
