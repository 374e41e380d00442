"""Least squares on the levels of a tree, in two passes: estimates that add up, and their variances.

Claim
    From independent unbiased measurements of the nodes, `upward` and `downward` give the linear unbiased estimates of
    least variance of all nodes at once, and they add up on every level; `variances` are theirs. With `integers=True`
    they are whole numbers that add up exactly, and each is within `rounding` of what it would be without.
Requires
    Variances that are the same for all nodes of a level, or one for each; above 0 and finite on the last level.
    Infinity stands for a level that was not measured.
Relies on
    `mechanisms.consistency` has the same recursion for trees of any order; here children stand side by side, variances
    are those of a level, and whatever hangs from a node can be taken apart from the rest.
Proof
    As there: *up*, the best estimate of a node from its subtree is its children's sum Z, of variance S, and its own
    measurement, of variance v, by precision: Z + t (y - Z) with t = S / (v + S), of variance s = v S / (v + S). *Down*,
    given the estimate x of the node, of variance V, a child's is z + (s / S)(x - Z), of variance s - s^2 / S +
    (s / S)^2 V. What is below a node needs no more of the rest than x: so subtrees can be done one after the other.
    *Integers.* Let x be a whole number. The children's estimates add up to it, so their fractions f_1, f_2, ... add up
    to a whole number F; child i gets its floor and R(f_1 + ... + f_i) - R(f_1 + ... + f_(i-1)) for the rounding R to
    the nearest, which add up to F; each is within 1 of f_i. The last child takes what floating point leaves. An error
    of e in x moves a child by (s / S) e: within (s / S) e + 1, or e where it is an only child.
Rounding
    Floating point: post-processing. Sums of integers are exact.
Source
    Hay, Rastogi, Miklau and Suciu (2010); Gauss and Markov. Cumulative rounding: discreet's own.
Mutant
    own-count-alone: a node's own measurement is taken, and its children's are not; killed by
    test_two_passes_are_least_squares.
    surplus-shared-alike: what a parent has more is divided equally among children of unequal variance; killed by
    test_two_passes_are_least_squares.
    rounded-alone: children are rounded each for itself; killed by test_integers_add_up.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.exact.amounts import confidence_level
from discreet.workloads.hierarchy import Hierarchy

Reals = NDArray[np.float64]

SLICE = 2**21
"""Of values that are estimated at one time."""


@dataclass(frozen=True, slots=True, eq=False)
class LevelVariances:
    """What is known of the nodes from below: one array for each level."""

    own: tuple[Reals, ...]
    """The variance s of the best estimate of each node from its subtree; of the last level, of shape (1,) if it is the
    same for all.
    """
    sums: tuple[Reals, ...]
    """For each level but the last, the variance S of the sum of a node's children."""

    @classmethod
    def of(cls, tree: Hierarchy, noise: Sequence[float | Reals]) -> LevelVariances:
        """From the variance of the measurements of each level, from the top down."""
        own = [np.atleast_1d(np.asarray(noise[-1], dtype=np.float64))]
        sums: list[Reals] = []
        for level in reversed(range(len(tree.children))):
            below, starts = own[-1], tree.starts[level]
            alike = below.size == 1 and len(starts) > 0
            total = tree.children[level] * below[0] if alike else np.add.reduceat(below, starts)
            sums.append(total)
            measured = noise[level]
            own.append(total if _unmeasured(measured) else measured * total / (measured + total))
        return cls(tuple(own[::-1]), tuple(sums[::-1]))

    def share(self, tree: Hierarchy, level: int) -> Reals:
        """For each node below a level, which part of a surplus of its parent it takes."""
        below = self.own[level + 1]
        return np.asarray(below / np.repeat(self.sums[level], tree.children[level]), dtype=np.float64)

    def part(self, tree: Hierarchy, level: int, first: int, end: int) -> LevelVariances:
        """Those of what hangs from some neighboring nodes of a level."""
        own, sums = [], []
        for i in range(level, len(self.own)):
            own.append(self.own[i] if self.own[i].size == 1 else self.own[i][first:end])
            if i < len(self.sums):
                sums.append(self.sums[i][first:end])
                starts, children = tree.starts[i], tree.children[i]
                first, end = int(starts[first]), int(starts[end - 1] + children[end - 1])
        return LevelVariances(tuple(own), tuple(sums))


def _unmeasured(variance: float | Reals) -> bool:
    return bool(np.ndim(variance) == 0 and math.isinf(float(variance)))


def upward(
    tree: Hierarchy, measured: Sequence[NDArray[Any] | None], noise: Sequence[float | Reals], known: LevelVariances
) -> tuple[list[Reals], list[Reals]]:
    """The best estimate of each node from its subtree, and for each level but the last its children's sum.

    Args:
        tree: the nodes.
        measured: for each level, an array with one row for each node; None where it was not measured.
        noise: the variance of each level's measurements.
        known: `LevelVariances` of the same.
    """
    best = [np.asarray(measured[-1], dtype=np.float64)]
    sums: list[Reals] = []
    for level in reversed(range(len(tree.children))):
        total = np.add.reduceat(best[-1], tree.starts[level], axis=0)
        sums.append(total)
        own = measured[level]
        if own is None:
            best.append(total)
            continue
        trust = known.sums[level] / (noise[level] + known.sums[level])
        best.append(total + _beside(trust, total) * (np.asarray(own, dtype=np.float64) - total))
    return best[::-1], sums[::-1]


def downward(
    tree: Hierarchy,
    found: tuple[Sequence[Reals], Sequence[Reals]],
    known: LevelVariances,
    top: NDArray[Any] | None = None,
    *,
    integers: bool = False,
) -> list[NDArray[Any]]:
    """Estimates that add up on every level.

    Args:
        tree: the nodes.
        found: what `upward` returned.
        known: the variances.
        top: the estimates of the first level, where more is known of them than what is below them says.
        integers: whether all are rounded to whole numbers (int64).
    """
    best, sums = found
    first: NDArray[Any] = best[0] if top is None else top
    values = [np.rint(first).astype(np.int64) if integers else first]
    for level in range(len(tree.children)):
        share, below = known.share(tree, level), best[level + 1]
        values.append(np.empty(below.shape, dtype=np.int64 if integers else np.float64))
        for nodes, own in _slices(tree, level, below[:1].size):
            children = tree.children[level][nodes]
            surplus = np.repeat(values[-2][nodes] - sums[level][nodes], children, axis=0)
            near = below[own] + _beside(share[own], surplus) * surplus
            values[-1][own] = _whole(near, values[-2][nodes], children) if integers else near
    return values


def _slices(tree: Hierarchy, level: int, width: int) -> Iterator[tuple[slice, slice]]:
    """Neighboring nodes of a level and their children, some at a time, so that little more is held than the result."""
    ends = np.cumsum(tree.children[level])
    first = 0
    while first < len(ends):
        begin = int(ends[first - 1]) if first else 0
        end = max(int(np.searchsorted(ends, begin + SLICE // max(width, 1), side="right")), first + 1)
        yield slice(first, end), slice(begin, int(ends[end - 1]))
        first = end


def _whole(near: Reals, above: NDArray[np.int64], children: NDArray[np.int64]) -> NDArray[np.int64]:
    """Whole numbers near estimates, that add up to those of the level above."""
    starts = np.cumsum(children) - children
    floors = np.floor(near)
    running = np.cumsum(near - floors, axis=0)
    before = np.concatenate([np.zeros_like(running[:1]), running[starts[1:] - 1]])
    upto = np.floor(running - np.repeat(before, children, axis=0) + 0.5)
    added = upto.copy()
    added[1:] -= upto[:-1]
    added[starts] = upto[starts]
    whole: NDArray[np.int64] = (floors + added).astype(np.int64)
    whole[starts + children - 1] += above - np.add.reduceat(whole, starts, axis=0)
    return whole


def variances(tree: Hierarchy, known: LevelVariances, top: Reals | None = None) -> list[Reals]:
    """The variance of each estimate, one array for each level."""
    found = [known.own[0] if top is None else top]
    for level, children in enumerate(tree.children):
        share, own = known.share(tree, level), known.own[level + 1]
        found.append(own - share * own + share**2 * np.repeat(found[-1], children))
    return found


def rounding(tree: Hierarchy, known: LevelVariances, top: Reals | None = None) -> list[Reals]:
    """How far whole numbers are from the estimates at most, one array for each level."""
    found = [np.full(tree.sizes[0], 0.5) if top is None else top]
    for level, children in enumerate(tree.children):
        alone = np.repeat(children == 1, children)
        found.append(known.share(tree, level) * np.repeat(found[-1], children) + ~alone)
    return found


def reach(confidence: object, *, gaussian: bool) -> float:
    """Half the width of an interval in standard deviations; of sums of Laplace noise, the wider of both laws' own."""
    miss = 1 - confidence_level(confidence)
    normal = -NormalDist().inv_cdf(float(miss / 2))
    return normal if gaussian else max(normal, -math.log(miss) / math.sqrt(2))


def _beside(factors: Reals, rows: NDArray[Any]) -> Reals:
    """One factor for each row of an array."""
    return factors.reshape(factors.shape + (1,) * (rows.ndim - 1))
