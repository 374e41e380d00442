"""Two passes over a tree are least squares; whole numbers add up, and are as near as stated."""

from __future__ import annotations

import math

import numpy as np
import pytest

from discreet.workloads.hierarchy import Hierarchy
from discreet.workloads.hierarchy_least_squares import LevelVariances, downward, reach, rounding, upward, variances
from random_trees import NOISE, dense, random_tree, weighted


@pytest.mark.parametrize("noise", NOISE)
@pytest.mark.parametrize("seed", range(4))
def test_two_passes_are_least_squares(seed: int, noise: list[float]) -> None:
    tree = random_tree(seed, 2, 5, 9, 30)
    random = np.random.default_rng(seed)
    measured = [random.normal(size=(size, 3)) for size in tree.sizes]
    given = [None if math.isinf(v) else y for y, v in zip(measured, noise, strict=True)]
    known = LevelVariances.of(tree, noise)
    values = downward(tree, upward(tree, given, noise, known), known)
    leaves, covariance = weighted(tree, measured, noise)
    for level, rows, spread in zip(values, dense(tree), variances(tree, known), strict=True):
        assert np.allclose(level, rows @ leaves)
        assert np.allclose(spread, np.diag(rows @ covariance @ rows.T))


def test_a_part_is_done_by_itself() -> None:
    """Up in parts, the rest with what they say, and down in parts again: the same as all at once."""
    tree, noise = random_tree(5, 2, 6, 11, 40), [3.0, 1.0, 5.0, 2.0]
    random = np.random.default_rng(5)
    measured = [random.normal(size=size) for size in tree.sizes]
    known = LevelVariances.of(tree, noise)
    whole = downward(tree, upward(tree, measured, noise, known), known)
    ends = [(0, 2), (2, 3), (3, 6)]
    found, firsts = [], []
    for first, end in ends:
        part, own = tree.part(1, first, end), known.part(tree, 1, first, end)
        inner = range(tree.first_leaf(1, first), tree.first_leaf(1, end))
        middle = int(tree.starts[1][first])
        rows = [measured[1][first:end], measured[2][middle : middle + part.sizes[1]], measured[3][inner]]
        found.append((part, own, upward(part, rows, noise[1:], own)))
        firsts.append(found[-1][2][0][0])
    trunk = Hierarchy(tree.children[:1])
    above = LevelVariances(known.own[:2], known.sums[:1])
    top = downward(
        trunk, upward(trunk, [measured[0], np.concatenate(firsts)], [*noise[:1], known.own[1]], above), above
    )
    assert np.allclose(top[1], whole[1])
    for (first, end), (part, own, passed) in zip(ends, found, strict=True):
        leaves = downward(part, passed, own, top[1][first:end])[-1]
        assert np.allclose(leaves, whole[3][tree.first_leaf(1, first) : tree.first_leaf(1, end)])
    spread = variances(tree, known)
    own = known.part(tree, 1, 2, 6)
    assert np.allclose(variances(tree.part(1, 2, 6), own, spread[1][2:6])[-1], spread[-1][tree.first_leaf(1, 2) :])


@pytest.mark.parametrize("scale", [0.3, 40.0, 1e9])
@pytest.mark.parametrize("seed", range(4))
def test_integers_add_up(seed: int, scale: float) -> None:
    """On every level, exactly, and no further from the estimates than stated; only children have no error of theirs."""
    tree, noise = random_tree(seed, 1, 5, 9, 60), [1.0, 4.0, math.inf, 2.0]
    random = np.random.default_rng(seed)
    measured = [np.rint(random.normal(size=(size, 2)) * scale) for size in tree.sizes]
    known = LevelVariances.of(tree, noise)
    passed = upward(tree, [*measured[:2], None, measured[3]], noise, known)
    real, whole = downward(tree, passed, known), downward(tree, passed, known, integers=True)
    assert all(level.dtype == np.int64 for level in whole)
    for above, level in zip(whole, tree.sums(whole[-1]), strict=True):
        assert np.array_equal(above, level)
    for near, level, off in zip(real, whole, rounding(tree, known), strict=True):
        assert np.all(np.abs(near - level) <= off[:, np.newaxis] + 1e-15 * scale * 2**10 + 1e-9)


def test_whole_numbers_of_whole_estimates_are_they() -> None:
    tree = Hierarchy.of([0, 0], [0, 0, 0, 1])
    known = LevelVariances.of(tree, [math.inf, math.inf, 1.0])
    passed = upward(tree, [None, None, np.array([5.0, -3.0, 0.0, 7.0])], [math.inf, math.inf, 1.0], known)
    assert downward(tree, passed, known, integers=True)[-1].tolist() == [5, -3, 0, 7]


def test_reaches_are_those_of_their_laws() -> None:
    assert reach(0.95, gaussian=True) == pytest.approx(1.959964)
    assert reach(0.95, gaussian=False) == pytest.approx(math.log(20) / math.sqrt(2))
    assert reach(0.5, gaussian=False) == pytest.approx(0.67449, rel=1e-4)
