"""Trees: exact sums on every level, parts that are the whole's, and distances that no unit exceeds."""

from __future__ import annotations

import itertools
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from discreet.errors import InvalidParameter
from discreet.privacy.definitions import Neighbors
from discreet.sensitivity.contributions import Limits, sensitivity, squared_sensitivity
from discreet.workloads.hierarchy import Hierarchy
from random_trees import random_tree

TREE = Hierarchy.of([0, 0], [0, 0, 0, 1])
"""A nation of two states, of three counties and one."""


def test_sums_are_those_of_the_leaves() -> None:
    tree = random_tree(1, 3, 7, 40)
    leaves = np.random.default_rng(2).integers(-9, 9, (40, 2))
    nation, state, county = tree.sums(leaves)
    assert np.array_equal(county, leaves)
    parents = np.repeat(np.arange(7), tree.children[1])
    assert state.tolist() == [leaves[parents == node].sum(axis=0).tolist() for node in range(7)]
    assert np.array_equal(nation.sum(axis=0), leaves.sum(axis=0))


def test_sums_of_any_size_are_exact() -> None:
    most = 2**63 - 1
    assert TREE.sums(np.full(4, most))[0].tolist() == [4 * most]
    assert TREE.sums(np.full(4, np.iinfo(np.uint64).max))[0].tolist() == [4 * (2**64 - 1)]
    assert TREE.sums(np.array([2**80] * 4, dtype=object))[1].tolist() == [3 * 2**80, 2**80]


def test_a_part_is_that_of_the_whole() -> None:
    tree = random_tree(3, 2, 6, 11, 50)
    leaves = np.arange(50)
    first, end = tree.first_leaf(1, 2), tree.first_leaf(1, 5)
    part = tree.part(1, 2, 5)
    assert part.sizes[0] == 3
    assert part.sizes[-1] == end - first
    assert np.array_equal(part.sums(leaves[first:end])[0], tree.sums(leaves)[1][2:5])
    assert tree.first_leaf(1, 6) == 50


def vectors(limits: Limits, leaves: int) -> list[NDArray[Any]]:
    """All that one unit can add to the leaves, in whole rows."""
    found = []
    for groups in range(limits.max_groups + 1):
        for own in itertools.combinations(range(leaves), groups):
            for rows in itertools.product(range(1, limits.max_rows + 1), repeat=groups):
                one = np.zeros(leaves, dtype=np.int64)
                one[list(own)] = rows
                found.append(one)
    return found


@pytest.mark.parametrize("relation", list(Neighbors))
@pytest.mark.parametrize(("groups", "rows"), [(1, 1), (1, 3), (2, 2), (3, 1), (4, 1)])
def test_one_unit_moves_no_level_further_than_stated(relation: Neighbors, groups: int, rows: int) -> None:
    """Every neighbor, in integers; where a unit counts in one leaf, or in all, the farthest is as far as is stated."""
    limits = Limits(max_groups=groups, max_rows=rows)
    own = vectors(limits, 4)
    others = own if relation is Neighbors.REPLACE_ONE else [np.zeros(4, dtype=np.int64)]
    farthest = [[0, 0] for _ in TREE.sizes]
    for one, other in itertools.product(own, others):
        for level, moved in enumerate(TREE.sums(one - other)):
            farthest[level][0] = max(farthest[level][0], int(np.abs(moved).sum()))
            farthest[level][1] = max(farthest[level][1], int((moved**2).sum()))
    for (one_norm, square), size, held in zip(farthest, TREE.sizes, TREE.limits_of(limits), strict=True):
        assert one_norm <= sensitivity(1, held, relation, totals=size)
        assert square <= squared_sensitivity(1, held, relation, totals=size)
        if groups == 1:
            assert Fraction(one_norm) == sensitivity(1, held, relation, totals=size)
            assert Fraction(square) == squared_sensitivity(1, held, relation, totals=size)
    if relation is Neighbors.ADD_REMOVE:
        assert [one for one, _ in farthest] == [groups * rows] * 3
        assert (
            farthest[0][1]
            == (groups * rows) ** 2
            == squared_sensitivity(1, TREE.limits_of(limits)[0], relation, totals=1)
        )


REFUSED: dict[str, Any] = {
    "no levels": (),
    "a node without a child": ([0, 2],),
    "out of order": ([0, 1, 0],),
    "not from zero": ([1, 1],),
    "fewer than there are": ([0, 0], [0, 0]),
    "more than there are": ([0, 0], [0, 1, 2]),
    "reals": ([0.0, 0.0],),
    "two axes": ([[0, 0]],),
    "nothing": ([],),
    "too many levels": ([0],) * 64,
}


@pytest.mark.parametrize("why", REFUSED)
def test_what_is_no_tree_is_refused(why: str) -> None:
    with pytest.raises(InvalidParameter, match=r"Expected .*(parents of a level|2 to 64 levels)"):
        Hierarchy.of(*REFUSED[why])
