"""Combinations of the estimates of a tree: what is left of each measurement, as dense least squares says."""

from __future__ import annotations

import itertools
import math

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.workloads.hierarchy import Hierarchy
from discreet.workloads.hierarchy_combinations import MeasuredTree, NodeWeights
from discreet.workloads.hierarchy_least_squares import LevelVariances, downward, upward
from random_trees import dense, random_tree, weighted


@st.composite
def trees(draw: st.DrawFn) -> tuple[Hierarchy, list[float]]:
    """Up to four levels, some of them not measured."""
    sizes = sorted(draw(st.lists(st.integers(1, 12), min_size=2, max_size=4)))
    tree = random_tree(draw(st.integers(0, 99)), *sizes)
    measured = [draw(st.sampled_from([0.1, 1.0, 3.0, 50.0, math.inf])) for _ in sizes[:-1]]
    return tree, [*measured, draw(st.sampled_from([0.1, 1.0, 50.0]))]


@st.composite
def combinations(draw: st.DrawFn, tree: Hierarchy, copies: int) -> list[NodeWeights | None]:
    """Some nodes of some levels of several copies of a tree."""
    found: list[NodeWeights | None] = []
    for size in tree.sizes:
        places = draw(st.lists(st.integers(0, copies * size - 1), max_size=5))
        weights = draw(st.lists(st.integers(-2, 2), min_size=len(places), max_size=len(places)))
        found.append(NodeWeights.of(np.array(places, np.int64), np.array(weights, float)) if places else None)
    return found


@given(data=st.data())
@settings(deadline=None)
def test_combinations_have_the_covariance_of_least_squares(data: st.DataObject) -> None:
    """Copy by copy, the weights of all measurements are those of the inverse of a dense matrix."""
    (tree, noise), copies = data.draw(trees()), 3
    named = data.draw(combinations(tree, copies))
    found = MeasuredTree.of(tree, noise).combined(named)
    rows = dense(tree)
    _, covariance = weighted(tree, [np.zeros(size) for size in tree.sizes], noise)
    forms = []
    for copy in range(copies):
        leaves = np.zeros(tree.sizes[-1])
        for own, level, size in zip(named, rows, tree.sizes, strict=True):
            if own is not None:
                mine = own.places // size == copy
                leaves += level[own.places[mine] % size].T @ own.weights[mine]
        forms += [covariance @ leaves @ level.T / v for level, v in zip(rows, noise, strict=True)]
    spread = [np.full(len(w), 0.0 if math.isinf(v) else v) for w, v in zip(forms, itertools.cycle(noise), strict=False)]
    whole, variances = np.concatenate(forms), np.concatenate(spread)
    assert np.allclose(found[:3], (whole**2 @ variances, whole @ whole, np.abs(whole).sum()), atol=1e-9)
    largest = float(np.max(np.abs(whole) * np.sqrt(variances)))
    assert largest <= found.largest + 1e-9
    assert found.largest**2 <= found.variance + 1e-9


def test_nothing_is_left_of_what_adds_up() -> None:
    tree = random_tree(2, 1, 4, 20)
    whole = NodeWeights(np.array([0]), np.array([1.0]))
    leaves = NodeWeights(np.arange(20), np.full(20, -1.0))
    found = MeasuredTree.of(tree, [4.0, 1.0, 2.0]).combined([whole, None, leaves])
    assert max(found[:3]) < 1e-12


def test_little_is_looked_at() -> None:
    """Of 5,000 leaves, the weights of few nodes give the variance of 1,000 draws; off by so much in one of 10**6."""
    tree, noise = random_tree(7, 1, 20, 300, 5000), [3.0, math.inf, 20.0, 9.0]
    measured, random = MeasuredTree.of(tree, noise), np.random.default_rng(1)
    nodes = np.sort(random.choice(5000, 7, replace=False))
    few = [None, NodeWeights(np.array([3]), np.array([-1.0])), None, NodeWeights(nodes, np.ones(7))]
    found, places = measured.combined(few), measured._upward(few)[0]
    assert sum(map(len, places)) <= 7 * 4 + 3
    known = LevelVariances.of(tree, noise)
    drawn = [
        None if math.isinf(v) else random.normal(0, math.sqrt(v), (size, 1000))
        for size, v in zip(tree.sizes, noise, strict=True)
    ]
    values = downward(tree, upward(tree, drawn, noise, known), known)
    sums = values[3][nodes].sum(axis=0) - values[1][3]
    assert 0.78 < np.mean(sums**2) / found.variance < 1.24
