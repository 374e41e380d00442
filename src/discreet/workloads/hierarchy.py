"""Levels of a tree, such as nation, states, counties: sums on each, and how far one unit can move them.

Claim
    `Hierarchy.sums(leaves)` are the exact sums over the leaves of each node. Where the leaf totals move between
    neighbors as `sensitivity.contributions` says for some limits, the totals of level l move no further than it says
    for `limits_of(limits)[l]` and the number of totals of that level.
Requires
    Limits that are enforced on the leaves (of each cell, where there are several).
Relies on
    `sensitivity.contributions`; integer sums.
Proof
    Let K = max_groups, k = max_rows, and let a unit have the weights w_j in [0, 1], of sum K at most, in the leaves:
    its entries are between -w_j k back and w_j k T. Its entry in a node i of level l is the sum over the leaves of i,
    between -W_i k back and W_i k T for the sum W_i of their weights, which is at most M = min(K, the most leaves that
    a node of l has). So its weights on level l are W_i / M, in [0, 1], of sum at most K / M <= ceil(K / M), for rows
    k M: those of the limits max_groups = ceil(K / M), max_rows = k M. Where rows are units, K = 1: then M = 1, and
    whatever groups the k rows are in, they are in as many nodes or fewer.
    *Sums.* Children of one node stand side by side, so `reduceat` at the first of each adds up all of its own. int64
    is left for Python's integers where the largest absolute value times the number of leaves is 2**62 or more.
Rounding
    None: integers.
Source
    Hay, Rastogi, Miklau and Suciu (2010), for trees of counts; here with several contributions of one unit.
Mutant
    parents-spread-out: a unit is taken to be in as many states as counties; killed by
    test_one_unit_moves_no_level_further_than_stated.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.errors import InvalidParameter, expected
from discreet.exact.cached_property import cached_property
from discreet.sensitivity.contributions import Limits

Integers = NDArray[np.int64]

FITS = 2**62
MOST_LEVELS = 64


@dataclass(frozen=True, slots=False, eq=False)
class Hierarchy:
    """Nodes on levels, from the top down; the children of each node stand side by side, in the order of their parents.

    >>> tree = Hierarchy.of([0, 0, 0], [0, 0, 1, 2, 2, 2])
    >>> tree.sizes
    (1, 3, 6)
    >>> [level.tolist() for level in tree.sums(np.array([5, 1, 2, 0, 0, 7]))]
    [[15], [6, 2, 7], [5, 1, 2, 0, 0, 7]]
    """

    children: tuple[Integers, ...]
    """For each level but the last, how many children each node has: 1 or more."""

    @classmethod
    def of(cls, *parents: ArrayLike) -> Self:
        """The levels of a tree.

        Args:
            parents: for each level but the first, from the top down, the index of each node's parent on the level
                above, in rising order; each of those has a child.

        Raises:
            InvalidParameter: there is no level below the first, or the indices are something else.
        """
        if not 1 <= len(parents) < MOST_LEVELS:
            cure = "give the parents of each level but the first."
            raise InvalidParameter(expected(f"2 to {MOST_LEVELS} levels", "parents", len(parents), cure))
        counted, above = [], None
        for level, given in enumerate(parents, 1):
            counted.append(_children(level, np.asarray(given), above))
            above = int(counted[-1].sum())
        return cls(tuple(counted))

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """How many nodes each level has."""
        return (*map(len, self.children), int(self.children[-1].sum()))

    @cached_property
    def starts(self) -> tuple[Integers, ...]:
        """For each level but the last, the first child of each node."""
        return tuple(np.cumsum(own) - own for own in self.children)

    @cached_property
    def leaves(self) -> tuple[Integers, ...]:
        """For each level but the last, how many leaves each node has."""
        found = [self.children[-1]]
        for starts in reversed(self.starts[:-1]):
            found.append(np.add.reduceat(found[-1], starts))
        return tuple(reversed(found))

    def sums(self, leaves: NDArray[Any]) -> list[NDArray[Any]]:
        """The sums of whole numbers on each level; of several cells, where `leaves` has further axes."""
        if leaves.dtype != object and leaves.size:
            most = max(abs(int(leaves.min())), abs(int(leaves.max())))
            leaves = leaves.astype(np.int64 if most * self.sizes[-1] < FITS else object, copy=False)
        found = [leaves]
        for starts in reversed(self.starts):
            found.append(np.add.reduceat(found[-1], starts, axis=0))
        return found[::-1]

    def limits_of(self, limits: Limits) -> tuple[Limits, ...]:
        """The limits that hold on each level, where these hold on the leaves.

        >>> tree = Hierarchy.of([0, 0], [0, 0, 0, 1, 1])
        >>> [(own.max_groups, own.max_rows) for own in tree.limits_of(Limits(max_groups=4, max_rows=10))]
        [(1, 40), (2, 30), (4, 10)]
        """
        found = []
        for most in (*(int(own.max()) for own in self.leaves), 1):
            together = min(limits.max_groups, most)
            groups = -(-limits.max_groups // together)
            found.append(Limits(max_groups=groups, max_rows=limits.max_rows * together))
        return tuple(found)

    def part(self, level: int, first: int, end: int) -> Self:
        """What hangs from some neighboring nodes of a level, which are the top of it."""
        own = []
        for children, starts in zip(self.children[level:], self.starts[level:], strict=True):
            own.append(children[first:end])
            first, end = int(starts[first]), int(starts[end - 1] + children[end - 1])
        return type(self)(tuple(own))

    def first_leaf(self, level: int, node: int) -> int:
        """The first leaf of a node; for the node after the last one, the number of leaves."""
        for size, starts in zip(self.sizes[level + 1 :], self.starts[level:], strict=True):
            node = int(starts[node]) if node < len(starts) else size
        return node


def _children(level: int, parents: NDArray[Any], above: int | None) -> Integers:
    """How many children each node of a level has."""
    whole = parents.ndim == 1 and parents.dtype.kind in "iu" and parents.size
    if whole:
        steps = np.diff(parents.astype(np.int64), prepend=-1)
        in_order = bool(((steps == 0) | (steps == 1)).all()) and int(parents[0]) == 0
        if in_order and above in (None, int(parents[-1]) + 1):
            return np.bincount(parents).astype(np.int64)
    wanted = "each" if above is None else f"each of the {above:,}"
    cure = f"number the nodes above from 0, in order; {wanted} has a child."
    got = f"{parents.dtype} of the shape {parents.shape}"
    raise InvalidParameter(expected("the parents of a level, in rising order", f"parents[{level - 1}]", got, cure))
