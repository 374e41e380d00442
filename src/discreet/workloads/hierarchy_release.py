"""Noisy counts on all levels of a tree that add up, from the exact counts of its leaves.

Claim
    `LevelNoise.release(counts)` is epsilon-differentially private (rho-zCDP) for the stated neighbors, for units that
    add to the leaves within the stated limits. Its estimates are unbiased and add up on every level; with
    `integers=True` they are whole numbers within `NoisyLevels.rounding` of those.
Requires
    Limits that were enforced on the counts. The tree and the shares are public.
Relies on
    `hierarchy.Hierarchy.limits_of`, `sensitivity.contributions`: how far each level moves. `mechanisms.laplace`,
    `mechanisms.gaussian`. `hierarchy_least_squares`.
Proof
    Level l has its mechanism at share_l of epsilon (of rho), for its own sensitivity, on exact sums of integers; the
    shares are at least 0 and add up to 1 at most, and a level without a share is not drawn. The rest is
    post-processing.
    *Intervals* are of the variance of the estimate, for the normal law or the wider of the normal and the Laplace law,
    and half a count more, since noise is whole. What counts as the variance of noise is `variance_of`: that of a few
    whole numbers that are seldom 0 is less, and their tails are heavier. Of sums of up to 40 noises of any one scale
    this is checked exactly, by convolution; of other sums by simulation.
Rounding
    Sensitivities up.
Source
    Hay, Rastogi, Miklau and Suciu (2010); Dwork et al. (2006); Bun and Steinke (2016).
Mutant
    full-price-for-each-level: a level's share does not enter its noise; killed by
    test_levels_together_cost_the_price.
    whole-numbers-as-they-vary: noise has the variance of the whole numbers alone; killed by
    test_noise_that_is_seldom_felt_is_within.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.errors import InvalidParameter, expected
from discreet.exact.amounts import fraction, positive, root_above
from discreet.exact.given_values import array_of, flag, in_memory
from discreet.mechanisms.gaussian import Gaussian
from discreet.mechanisms.laplace import Laplace
from discreet.noise.entropy import RandomWords, fresh_words
from discreet.privacy.definitions import Neighbors
from discreet.privacy.events import Event, composed
from discreet.sensitivity.contributions import Limits, sensitivity, squared_sensitivity
from discreet.sensitivity.workload_sensitivity import neighbors_of
from discreet.workloads.hierarchy import Hierarchy
from discreet.workloads.hierarchy_least_squares import (
    LevelVariances,
    Reals,
    downward,
    reach,
    rounding,
    upward,
    variances,
)
from discreet.workloads.hierarchy_shares import best_shares

Noise = Laplace | Gaussian

LEAST_VARIANCE = 1e-100

CENSUS_2020: dict[str, int] = {
    "nation": 104,
    "state": 1440,
    "county": 447,
    "tract": 687,
    "block group": 1256,
    "block": 165,
}
"""Of 4,099 parts of rho 2.556, those of the levels of the 2020 redistricting data of the United States."""


@dataclass(frozen=True, eq=False)
class LevelNoise:
    """A tree and the noise of each of its levels; None for a level that is not measured.

    >>> LevelNoise.of(Hierarchy.of([0, 0], [0, 0, 1]), epsilon=1).tree.sizes
    (1, 2, 3)
    """

    tree: Hierarchy
    mechanisms: tuple[Noise | None, ...]

    @classmethod
    def of(
        cls,
        tree: Hierarchy,
        *,
        epsilon: object = None,
        rho: object = None,
        limits: Limits = Limits(),  # noqa: B008 (a frozen value)
        neighbors: Neighbors | str = Neighbors.ADD_REMOVE,
        shares: Sequence[object] | None = None,
    ) -> LevelNoise:
        """Laplace noise at an epsilon, Gaussian noise at a rho.

        Args:
            tree: the nodes.
            epsilon: what all levels cost together; or instead
            rho: of zero-concentrated differential privacy.
            limits: of one unit's counts in the leaves; the caller has enforced them.
            neighbors: add-remove, or replace-one.
            shares: of the price, one for each level, such as ``[104, 1440, 447, 687, 1256, 165]``; only what they are
                in proportion to each other counts. Without, the best for equal weights (`best_shares`).

        Raises:
            InvalidParameter: there is no price or two, or the shares are not those of the levels.

        >>> tree = Hierarchy.of([0, 0], [0, 0, 0, 1, 1])
        >>> noise = LevelNoise.of(tree, rho=2, shares=[1, 1, 2])
        >>> [float(one.rho) for one in noise.mechanisms]
        [0.5, 0.5, 1.0]
        """
        if (epsilon is None) == (rho is None):
            got = "none" if epsilon is None else "both"
            raise InvalidParameter(expected("epsilon or rho", "price", got, "state one of them."))
        relation = neighbors_of(neighbors)
        moved = [
            _moved(own, relation, size, gaussian=rho is not None)
            for own, size in zip(tree.limits_of(limits), tree.sizes, strict=True)
        ]
        if shares is None:
            units = [float(one) / 2 if rho is not None else 2 * float(one) ** 2 for one in moved]
            parts = best_shares(tree, units, power=1 if rho is not None else 2)
        else:
            parts = stated_shares(shares, len(tree.sizes))
        total = positive("epsilon", epsilon) if rho is None else positive("rho", rho)
        return cls(
            tree,
            tuple(
                _mechanism(own, total * part, gaussian=rho is not None) for own, part in zip(moved, parts, strict=True)
            ),
        )

    @property
    def event(self) -> Event:
        """What is drawn, all levels together."""
        return composed(*(one.event for one in self.mechanisms if one is not None))

    @property
    def noise(self) -> list[float]:
        """What counts as the variance of each level's noise; infinity where it is not measured."""
        own = self.gaussian
        return [math.inf if one is None else variance_of(one.scale, gaussian=own) for one in self.mechanisms]

    @property
    def gaussian(self) -> bool:
        """Whether the noise is Gaussian."""
        return any(isinstance(one, Gaussian) for one in self.mechanisms)

    def release(self, counts: ArrayLike, *, integers: bool = False, words: RandomWords | None = None) -> NoisyLevels:
        """Noisy counts of all nodes.

        Args:
            counts: whole numbers, one for each leaf.
            integers: whether the estimates are rounded to whole numbers that add up.
            words: random words for tests; without them, of the operating system's secure source.

        >>> tree = Hierarchy.of([0, 0], [0, 0, 0, 1, 1])
        >>> found = LevelNoise.of(tree, epsilon=1).release([5, 0, 3, 9, 9])
        >>> [len(level) for level in found.values], bool(np.isclose(found.values[0][0], found.values[2].sum()))
        ([1, 2, 5], True)
        """
        leaves = array_of("counts", counts)
        if leaves.shape != (self.tree.sizes[-1],) or leaves.dtype.kind not in "iu":
            what, got = f"{self.tree.sizes[-1]:,} whole numbers", f"{leaves.dtype} of the shape {leaves.shape}"
            raise InvalidParameter(expected(what, "counts", got, "count the rows of each leaf."))
        flag("integers", integers)
        source = words or fresh_words()
        measured = [
            None if noise is None else noise.add_noise(exact, source)
            for noise, exact in zip(self.mechanisms, self.tree.sums(leaves), strict=True)
        ]
        known = LevelVariances.of(self.tree, self.noise)
        values = downward(self.tree, upward(self.tree, measured, self.noise, known), known, integers=integers)
        off = rounding(self.tree, known) if integers else [np.zeros(1)] * len(values)
        spread = [np.sqrt(np.maximum(one, 0.0)) for one in variances(self.tree, known)]
        return NoisyLevels(tuple(values), tuple(spread), tuple(off), self.gaussian, self.event)


@dataclass(frozen=True, eq=False)
class NoisyLevels:
    """Estimates that add up, from the top down: one array for each level."""

    values: tuple[NDArray[Any], ...]
    deviations: tuple[Reals, ...]
    """Their standard deviations, before they are rounded; of noise below about a count, more than that."""
    rounding: tuple[Reals, ...]
    """How far rounding moved each at most."""
    _gaussian: bool
    event: Event

    def half_widths(self, level: int, *, confidence: object = 0.95) -> Reals:
        """What each node of a level is off by at most, each with this confidence."""
        width = reach(confidence, gaussian=self._gaussian)
        return np.asarray(width * self.deviations[level] + 0.5 + self.rounding[level], dtype=np.float64)


def variance_of(scale: Fraction, *, gaussian: bool) -> float:
    """What counts as the variance of noise in whole numbers: that of the Laplace noise that it is rounded from, or of
    Gaussian noise and what rounding adds to wide noise; never so small that its square is 0.
    """
    square = float(scale) ** 2
    return square + 1 / 12 if gaussian else max(2 * square, LEAST_VARIANCE)


def stated_shares(shares: object, levels: int) -> list[Fraction]:
    """Parts of the price, in proportion to what is stated, whose sum is 1.

    >>> stated_shares([1, 3], 2)
    [Fraction(1, 4), Fraction(3, 4)]
    """
    listed = list(shares) if in_memory(shares) else []
    found = [fraction("shares", share) for share in listed]
    if len(found) != levels or min(found) < 0 or not found[-1]:
        cure = "give one number for each level from the top down, 0 for one that is not measured; never for the last."
        raise InvalidParameter(expected(f"{levels} shares of 0 or more", "shares", shares, cure))
    return [share / sum(found) for share in found]


def _moved(limits: Limits, neighbors: Neighbors, totals: int, *, gaussian: bool) -> Fraction:
    """How far one unit moves the totals of a level: in L1 norm, or the square of the L2 norm."""
    norm = squared_sensitivity if gaussian else sensitivity
    return Fraction(norm(1, limits, neighbors, totals=totals))


def _mechanism(moved: Fraction, price: Fraction, *, gaussian: bool) -> Noise | None:
    if not price:
        return None
    if gaussian:
        return Gaussian(sensitivity=root_above(moved), rho=price)
    return Laplace(sensitivity=moved, epsilon=price)
