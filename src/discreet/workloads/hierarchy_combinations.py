"""Any combination of the estimates of a tree as a linear form of what was measured, without writing that form out.

Claim
    Let x be the estimates of all nodes by `hierarchy_least_squares`, linear in the measurements y: x = L y. For a
    combination c of nodes let w = L^T c, so that c^T x = w^T y. `combined` gives the sums over all measurements of
    w^2 v, of w^2 and of |w|, and at least the largest |w| sqrt(v), v the variances of the measurements. It looks at the
    nodes that c names and at those above them, and at no others.
Requires
    What `hierarchy_least_squares` requires; nodes in rising order, each once.
Relies on
    `hierarchy_least_squares`: s, S and t = S / (v + S) of each node. Those of |w| and w^2 below a node are found once.
Proof
    The transpose of a chain of linear steps is that of each step, in reverse order. *Down*, x = z + (s / S)(x' - Z) for
    a node whose parent has the estimate x' and the children's sum Z; so from the leaves up, a = c + g, where g is the
    sum of (s / S) a over a node's children: a is the coefficient of its best estimate z from below, and -g that of Z.
    *Up*, z = (1 - t) Z + t y; so from the top down, B = a + T' with T' of the parent (B = a at the top), w = t B, and
    T = (1 - t) B - g is the coefficient of Z, so of z of each child beside its own a. On the last level w = B.
    *Others.* Where c names nothing at or below a node, a = 0 there, and its z has the coefficient T'. So all
    measurements below it have T' times their coefficients in z: their w^2 v add up to T'^2 s, as s is the variance of
    z, and w^2 and |w| to T'^2 q and |T'| m, where q = t^2 + (1 - t)^2 Q and m = t + (1 - t) M with the sums Q and M of
    its children, 1 on the last level; 0 <= t <= 1. Such children of one parent count as its sum less that of the
    others. None of them has a |w| sqrt(v) above |T'| sqrt(s).
Rounding
    Floating point: post-processing.
Source
    None: linear algebra.
Mutant
    siblings-forgotten: children of a parent that are not named count as if they were not measured; killed by
    test_combinations_have_the_covariance_of_least_squares.
    surplus-kept: what a child gives back of its parent's surplus is left out; killed by
    test_combinations_have_the_covariance_of_least_squares.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from discreet.workloads.hierarchy import Hierarchy, Integers
from discreet.workloads.hierarchy_least_squares import LevelVariances, Reals


@dataclass(frozen=True, slots=True, eq=False)
class NodeWeights:
    """Some nodes of a level in each of some copies of a tree, and their coefficients."""

    places: Integers
    """Copy times nodes of the level plus node, in rising order, each once."""
    weights: Reals

    @classmethod
    def of(cls, places: Integers, weights: Reals) -> NodeWeights:
        """From places in any order; the weights of equal ones are added up."""
        kept, inverse = np.unique(places, return_inverse=True)
        return cls(kept, np.bincount(inverse, weights, len(kept)).astype(np.float64))

    def __add__(self, other: NodeWeights) -> NodeWeights:
        both = np.concatenate([self.places, other.places]), np.concatenate([self.weights, other.weights])
        return NodeWeights.of(*both)

    def __rmul__(self, factor: float) -> NodeWeights:
        return NodeWeights(self.places, factor * self.weights)


class Combined(NamedTuple):
    """Sums over all measurements, of their coefficients w in a combination."""

    variance: float
    squares: float
    """Of w^2."""
    sizes: float
    """Of |w|."""
    largest: float
    """At least every |w| times the standard deviation of its measurement."""


@dataclass(frozen=True, slots=True, eq=False)
class MeasuredTree:
    """A tree, what was measured of it, and what follows from below for each node.

    >>> tree = MeasuredTree.of(Hierarchy.of([0, 0]), [math.inf, 4.0])
    >>> tree.combined([None, NodeWeights.of(np.array([0, 1]), np.array([1.0, -1.0]))]).variance
    8.0
    """

    tree: Hierarchy
    noise: Sequence[float]
    """The variance of the measurements of each level; infinity where there are none."""
    known: LevelVariances
    squares: LevelVariances
    """In place of variances, the sums of w^2 in the best estimate of each node from below."""
    sizes: LevelVariances
    """The sums of |w|."""
    most: Sequence[float]
    """The largest standard deviation of such an estimate on each level."""

    @classmethod
    def of(cls, tree: Hierarchy, noise: Sequence[float], known: LevelVariances | None = None) -> MeasuredTree:
        """From the variances of the measurements, and those of the estimates from below where they are known."""
        found = LevelVariances.of(tree, noise) if known is None else known
        squares, sizes = (_below(tree, noise, found, power) for power in (2, 1))
        return cls(tree, noise, found, squares, sizes, [math.sqrt(float(own.max())) for own in found.own])

    def combined(self, named: Sequence[NodeWeights | None]) -> Combined:
        """What there is of each measurement in a combination of nodes, level by level from the top down."""
        nodes, above, own, given = self._upward(named)
        found, passed = np.zeros(3), np.zeros(0)
        largest = 0.0
        for level, places in enumerate(nodes):
            size = self.tree.sizes[level]
            whole = own[level] + (passed[above[level]] if level else 0.0)
            trust = _trust(self.noise, self.known, level, places % size)
            measured = np.abs(trust * whole)
            if not math.isinf(self.noise[level]):
                squares = float(measured @ measured)
                found += np.array([squares * self.noise[level], squares, float(measured.sum())])
                largest = max(largest, float(measured.max(initial=0.0)) * math.sqrt(self.noise[level]))
            if level == len(nodes) - 1:
                break
            passed = (1 - trust) * whole - given[level]
            rest = np.abs(passed)
            left = [self._left(kind, level, places, above, nodes) for kind in (self.known, self.squares, self.sizes)]
            found += np.array([float(rest**2 @ left[0]), float(rest**2 @ left[1]), float(rest @ left[2])])
            largest = max(largest, float(rest[left[0] > 0.0].max(initial=0.0)) * self.most[level + 1])
        variance, squares, sizes = found.tolist()
        return Combined(variance, squares, sizes, min(largest, math.sqrt(variance)))

    def _upward(
        self, named: Sequence[NodeWeights | None]
    ) -> tuple[list[Integers], list[Integers], list[Reals], list[Reals]]:
        """For each level the places at or above what is named, where the parent of each stands among those, a and g."""
        levels = len(self.tree.sizes)
        nodes, above = [np.zeros(0, dtype=np.int64)] * levels, [np.zeros(0, dtype=np.int64)] * levels
        own, given = [np.zeros(0)] * levels, [np.zeros(0)] * levels
        reached, back = np.zeros(0, dtype=np.int64), np.zeros(0)
        for level in reversed(range(levels)):
            asked = named[level] or NodeWeights(np.zeros(0, dtype=np.int64), np.zeros(0))
            places = nodes[level] = np.union1d(reached, asked.places) if len(reached) else asked.places
            stand = np.searchsorted(places, reached)
            given[level] = np.bincount(stand, back, len(places)).astype(np.float64)  # whole where there are none
            own[level] = given[level].copy()
            own[level][np.searchsorted(places, asked.places)] += asked.weights
            if level < levels - 1:
                above[level + 1] = stand
            if not level:
                break
            size, starts = self.tree.sizes[level], self.tree.starts[level - 1]
            parents = np.searchsorted(starts, places % size, side="right") - 1
            share = _at(self.known.own[level], places % size) / self.known.sums[level - 1][parents]
            reached, back = places // size * self.tree.sizes[level - 1] + parents, share * own[level]
        return nodes, above, own, given

    def _left(
        self, kind: LevelVariances, level: int, places: Integers, above: list[Integers], nodes: list[Integers]
    ) -> Reals:
        """For some nodes of a level, what their children have together that are not named."""
        below = _at(kind.own[level + 1], nodes[level + 1] % self.tree.sizes[level + 1])
        named = np.bincount(above[level + 1], below, len(places))
        children = np.bincount(above[level + 1], minlength=len(places))
        node = places % self.tree.sizes[level]
        rest = np.where(children < self.tree.children[level][node], kind.sums[level][node] - named, 0.0)
        return np.maximum(rest, 0.0)


def _below(tree: Hierarchy, noise: Sequence[float], known: LevelVariances, power: int) -> LevelVariances:
    """The sums of |w|^power in the best estimate of each node from below, and over its children."""
    own, sums = [np.ones(1)], []
    for level in reversed(range(len(tree.children))):
        starts, below = tree.starts[level], own[-1]
        total = tree.children[level] * below[0] if below.size == 1 else np.add.reduceat(below, starts)
        trust = _trust(noise, known, level, slice(None))
        sums.append(np.asarray(total, dtype=np.float64))
        own.append(trust**power + (1 - trust) ** power * total)
    return LevelVariances(tuple(own[::-1]), tuple(sums[::-1]))


def _trust(noise: Sequence[float], known: LevelVariances, level: int, nodes: Integers | slice) -> Reals:
    """The part t of each node's own measurement in its best estimate from below; 1 on the last level."""
    if level == len(known.sums):
        return np.ones(1)
    below = known.sums[level][nodes]
    return np.zeros(len(below)) if math.isinf(noise[level]) else below / (noise[level] + below)


def _at(own: Reals, nodes: Integers) -> Reals:
    """The values of some nodes, of which all may be one."""
    return np.broadcast_to(own, len(nodes)) if own.size == 1 else own[nodes]
