"""Marginals of a table: the division of rho among residual tables that makes their errors the least there can be.

Claim
    `Marginals.total()` gives the shares of rho with the least sum of weighted variances over all cells of all marginals
    that any Gaussian mechanism on linear queries can have; `Marginals.largest()` those with the least largest variance
    of a cell, or of it over a stated one, up to a part of `GAP` above the bound that it states.
Requires
    One record for each unit, or `contributions` of them at most; neighbors by adding or removing a unit.
Relies on
    `workloads.residual_tables`.
Proof
    A residual table A with noise of variance s has rho = moved_A / (2 s). The cells of marginal S, of N_S cells, have
    the variance N_S^-2 sum of s_A kept_A over its subsets, so the weighted sum over all cells is the sum of s_A v_A,
    v_A = kept_A times the sum of w_S / N_S over the marginals that contain A. By Cauchy and Schwarz, sum(s v) times
    2 rho = sum(s v) sum(moved / s) is at least sum(sqrt(moved v))^2, with equality where rho_A is in proportion to
    sqrt(moved_A v_A). Now moved_A kept_A is the square of the product of d - 1, the number of eigenvectors of
    W^T W that A stands for, and their eigenvalue is n times that sum of w_S / N_S, n the size of the domain: so it is
    the square of the sum of the roots of all eigenvalues over n, below which no strategy is (Li and Miklau).
    *Largest.* Whatever the weights u_S of sum 1, the largest variance is at least the sum of u_S var_S, and so at least
    the least total for weights u_S / N_S: the bound. Weights that grow with the variances that they lead to bring both
    together.
Rounding
    Shares are rounded down to multiples of 2**-60, so that they add up to no more than rho; figures are floats.
Source
    Li and Miklau, "Optimal error of query sets under the differentially-private matrix mechanism" (2013); Xiao, He,
    Zhang and Kifer (2023).
Mutant
    marginals-share-alike: each residual table has the same part of rho; killed by
    test_the_total_is_the_bound_of_all_strategies.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from discreet.errors import InvalidParameter, expected, nearest_name
from discreet.exact.amounts import above_zero, at_least_one, positive
from discreet.exact.cached_property import cached_property
from discreet.noise.entropy import RandomWords
from discreet.privacy.definitions import Neighbors
from discreet.workloads.marginal_release import NoisyMarginals, release
from discreet.workloads.residual_tables import centered_variance, squared_sensitivity

Set = tuple[str, ...]
Reals = NDArray[np.float64]

PARTS = 2**60
GAP = 1e-4
"""How far the largest variance may be above its bound, as a part of it."""
TURNS = 20_000
MOST_SETS = 4_000_000
"""Pairs of a marginal and a subset of its attributes."""


class Marginals:
    """Tables over sets of attributes of one population, to be answered together.

    Args:
        sizes: how many values each attribute has, by name; 2 or more.
        sets: the marginals, each a tuple of names; the empty one is the number of records. Or instead
        ways: all sets of so many attributes, or of each number in a list, as ``ways=[0, 1, 2]``.
        weights: how much the squared error of a cell matters, by set; 1 for those that are left out.

    Raises:
        InvalidParameter: a size below 2, an unknown name, a set twice, or more than fit in memory.

    >>> tables = Marginals({"sex": 2, "plan": 3, "age": 10}, ways=2)
    >>> tables.sets
    (('sex', 'plan'), ('sex', 'age'), ('plan', 'age'))
    >>> best = tables.total()
    >>> round(best.rmse(rho=0.5), 3), round(best.bound(rho=0.5), 3)
    (1.413, 1.413)
    """

    def __init__(
        self,
        sizes: Mapping[str, int],
        sets: Iterable[Sequence[str]] | None = None,
        *,
        ways: int | Sequence[int] | None = None,
        weights: Mapping[Set, object] | None = None,
    ) -> None:
        self.sizes = {name: at_least_one(f"sizes[{name!r}]", size) for name, size in sizes.items()}
        if not self.sizes or min(self.sizes.values()) < 2:
            cure = "leave out what has one value: it says nothing."
            raise InvalidParameter(expected("attributes of 2 values or more", "sizes", dict(sizes), cure))
        if (sets is None) is (ways is None):
            cure = "write sets=[('sex', 'age'), ...] or ways=2."
            raise InvalidParameter(expected("sets or ways", "stated", "both" if ways is not None else "neither", cure))
        self.sets: tuple[Set, ...] = self._all(ways) if sets is None else tuple(self._known(one) for one in sets)
        if not self.sets or len(set(self.sets)) < len(self.sets):
            cure = "name each set once; the order of its attributes makes no other."
            raise InvalidParameter(expected("distinct sets of attributes", "sets", len(self.sets), cure))
        if sum(2 ** len(one) for one in self.sets) > MOST_SETS:
            cure = "ask for marginals of fewer attributes."
            raise InvalidParameter(expected(f"at most {MOST_SETS:,} subsets in all", "sets", len(self.sets), cure))
        stated = {} if weights is None else {self._known(one): weight for one, weight in weights.items()}
        if unknown := [one for one in stated if one not in set(self.sets)]:
            raise InvalidParameter(expected("weights of the sets", "weights", unknown[0], "leave it out."))
        self.weights = np.array([float(above_zero("weights", stated.get(one, 1))) for one in self.sets])

    def _all(self, ways: object) -> tuple[Set, ...]:
        wanted = [ways] if isinstance(ways, int) else list(ways) if isinstance(ways, Sequence) else [None]
        most = len(self.sizes)
        if not wanted or any(isinstance(k, bool) or not isinstance(k, int) or not 0 <= k <= most for k in wanted):
            cure = "write ways=2, or ways=[0, 1, 2]."
            raise InvalidParameter(expected(f"numbers of attributes from 0 to {most}", "ways", ways, cure))
        if sum(math.comb(most, k) for k in wanted if k is not None) > MOST_SETS:
            raise InvalidParameter(expected(f"at most {MOST_SETS:,} marginals", "ways", ways, "ask for fewer."))
        return tuple(one for k in wanted if k is not None for one in itertools.combinations(self.sizes, k))

    def _known(self, one: Sequence[str]) -> Set:
        if isinstance(one, str) or not all(name in self.sizes for name in one):
            wrong = one if isinstance(one, str) else next(name for name in one if name not in self.sizes)
            raise InvalidParameter(expected("tuples of attributes", "sets", wrong, nearest_name(wrong, self.sizes)))
        if len(set(one)) < len(one):
            raise InvalidParameter(expected("an attribute once in a set", "sets", tuple(one), "name each once."))
        return tuple(name for name in self.sizes if name in set(one))

    @cached_property
    def _pairs(self) -> tuple[tuple[Set, ...], NDArray[np.int64], NDArray[np.int64]]:
        """All subsets of the sets; and for each pair of a set and a subset of it, the places of both."""
        place = {name: i + 1 for i, name in enumerate(self.sizes)}
        widths = np.array([len(one) for one in self.sets])
        blocks, sets, most = [], [], max(int(widths.max()), 1)
        for width in np.unique(widths).tolist():
            members = [[place[name] for name in one] for one in self.sets if len(one) == width]
            masks = (np.arange(2**width)[:, None] >> np.arange(width)) & 1
            chosen = np.array(members, dtype=np.int32).reshape(len(members), 1, width) * masks
            padded = np.zeros((*chosen.shape[:2], most), dtype=np.int32)
            padded[:, :, most - width :] = np.sort(chosen, axis=2)
            blocks.append(padded.reshape(-1, most))
            sets.append(np.repeat(np.flatnonzero(widths == width), 2**width))
        rows, inverse = np.unique(np.concatenate(blocks), axis=0, return_inverse=True)
        names = tuple(self.sizes)
        subsets = tuple(tuple(names[i - 1] for i in row if i) for row in rows.tolist())
        return subsets, np.concatenate(sets), inverse.reshape(-1)

    @property
    def subsets(self) -> tuple[Set, ...]:
        """The sets whose residual tables are measured."""
        return self._pairs[0]

    @cached_property
    def cells(self) -> Reals:
        """How many cells each marginal has."""
        return np.array([float(math.prod(self.sizes[name] for name in one)) for one in self.sets])

    @cached_property
    def _moved(self) -> Reals:
        return np.array([float(squared_sensitivity([self.sizes[name] for name in one])) for one in self.subsets])

    @cached_property
    def _kept(self) -> Reals:
        return np.array([centered_variance([self.sizes[name] for name in one]) for one in self.subsets])

    def total(self) -> MarginalStrategy:
        """The shares of rho for the least weighted sum of variances over all cells."""
        shares, least = self._least(self.weights)
        return MarginalStrategy(self, shares, least / float(self.weights @ self.cells))

    def largest(self, within: Mapping[Set, object] | None = None) -> MarginalStrategy:
        """The shares for the least largest variance of a cell; with `within`, of it over the squares of these standard
        deviations, by set.
        """
        targets = np.ones(len(self.sets))
        if within is not None:
            stated = {self._known(one): positive("within", error) for one, error in within.items()}
            if set(stated) != set(self.sets):
                cure = "state one for each set, as within={('sex', 'age'): 10, ...}."
                raise InvalidParameter(expected("an error for each marginal", "within", len(stated), cure))
            targets = np.array([float(stated[one]) ** 2 for one in self.sets])
        own = np.ones(len(self.sets)) / len(self.sets)
        best, bound = None, 0.0
        for _ in range(TURNS):
            shares, least = self._least(own / self.cells / targets)
            ratios = self._variances(shares) / targets
            bound = max(bound, least)
            if best is None or ratios.max() < best[0]:
                best = float(ratios.max()), shares
            if best[0] <= (1 + GAP) * bound:
                break
            own = own * ratios
            own = own / own.sum()
        if best is None:
            raise TypeError(self)
        return MarginalStrategy(self, best[1], bound)

    def _least(self, weights: Reals) -> tuple[Reals, float]:
        """The shares for weights of variances, and the least sum, both at rho = 1/2."""
        _, sets, subsets = self._pairs
        value = self._kept * np.bincount(subsets, (weights / self.cells)[sets], minlength=len(self.subsets))
        roots = np.sqrt(self._moved * value)
        return roots / roots.sum(), float(roots.sum()) ** 2

    def _variances(self, shares: Reals) -> Reals:
        """The variance of a cell of each marginal at rho = 1/2."""
        _, sets, subsets = self._pairs
        noise = self._moved / shares * self._kept
        return np.bincount(sets, noise[subsets], minlength=len(self.sets)) / self.cells**2


@dataclass(frozen=True, eq=False)
class MarginalStrategy:
    """The division of rho among residual tables, and the errors that it leads to."""

    marginals: Marginals
    shares: Reals
    """Of rho, for each of `marginals.subsets`."""
    _bound: float
    """A variance, at rho = 1/2: on average or the largest, whichever was made the least."""

    def parts(self, rho: object) -> list[Fraction]:
        """The rho of each residual table: exact fractions that add up to `rho` or a little less."""
        exact = positive("rho", rho)
        whole = np.maximum(1, np.floor(self.shares * (1 - 2.0**-40) * PARTS)).astype(np.int64)
        return [exact * Fraction(part, PARTS) for part in whole.tolist()]

    def variances(self, *, rho: object) -> dict[Set, float]:
        """The variance of a cell of each marginal."""
        found = self.marginals._variances(self.shares) / (2 * float(positive("rho", rho)))  # noqa: SLF001 (one module)
        return dict(zip(self.marginals.sets, found.tolist(), strict=True))

    def rmse(self, *, rho: object) -> float:
        """The root of the weighted mean of all cells' squared errors."""
        weights = self.marginals.weights * self.marginals.cells
        variances = np.array(list(self.variances(rho=rho).values()))
        return math.sqrt(float(weights @ variances / weights.sum()))

    def largest(self, *, rho: object) -> float:
        """The largest standard deviation of a cell."""
        return math.sqrt(max(self.variances(rho=rho).values()))

    def bound(self, *, rho: object) -> float:
        """What no Gaussian mechanism on linear queries can be below: of `rmse`, or of the largest standard deviation
        (over those that were stated).
        """
        return math.sqrt(self._bound / (2 * float(positive("rho", rho))))

    def release(
        self,
        records: NDArray[np.integer],
        *,
        rho: object,
        contributions: int = 1,
        neighbors: Neighbors | str = Neighbors.ADD_REMOVE,
        words: RandomWords | None = None,
    ) -> NoisyMarginals:
        """All marginals, with Gaussian noise; arguments and errors as of `marginal_release.release`.

        >>> answer = Marginals({"sex": 2, "age": 3}, ways=1).total().release(np.array([[0, 1], [1, 2]]), rho=1)
        >>> answer["age"].values.shape
        (3,)
        """
        return release(records, self, rho=rho, contributions=contributions, neighbors=neighbors, words=words)
