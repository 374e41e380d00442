"""Marginals measured as they are, each at its share, and all tables from them by least squares; for either noise.

Claim
    `WeightedMarginals` of a list of sets measures their marginals at shares that add up to 1 at most; `tables` are the
    unbiased estimates of least variance from them, and agree with each other. Its parts' `squared`, `absolute` and
    `apart` hold.
Requires
    Each subset of a table's axes that its cells depend on lies in a measured set. Cells that fit in memory.
Relies on
    `workloads.residual_tables` for the parts that marginals have in common.
Proof
    *Error.* A marginal is the sum over its subsets A of what they add to it: spread tables whose sums along each axis
    of A are 0, orthogonal to each other. Measured sets Q that contain A know that part from their sums over Q - A,
    whose noise has n_(Q-A) times the variance of a cell, in the same directions for all of them; so least squares
    weights them by 1 / (n_(Q-A) s_Q), each A for itself. The variance of a cell of S is then the sum over its
    subsets of V_A / n_(S-A)^2 times factors as in `workloads.residual_strategy`, 1 / V_A the sum of those weights.
    *Shares* follow from descent on that sum; nothing is claimed of how near to the least they are.
    *Moves.* The column of a cell has a 1 in its own cell of the marginal. Columns of two cells are equal, if they agree
    along the set's axes, or orthogonal. So each row of A^T A has n_(rest) ones, and |A v|^2 <= K min(K, n_(rest)) for
    amounts of at most 1, K in all.
Rounding
    Shares are rounded down to multiples of 2**-60; figures are floats.
Source
    McKenna, Miklau, Hay and Machanavajjhala, "Optimizing error of high-dimensional statistical queries under
    differential privacy" (2018): weighted marginals as a strategy.
Mutant
    all-shares-are-whole: each marginal is measured at the whole price; killed by test_shares_add_up_to_one_at_most.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.exact.cached_property import cached_property
from discreet.workloads.cell_tables import (
    Axes,
    Cells,
    CellTable,
    MeasuredPart,
    Reals,
    exact_cells,
    largest_sum,
    others_of,
    outer,
    over,
    summed_to,
)
from discreet.workloads.residual_tables import centered, spread

PARTS = 2**60
TURNS = 300
MOST_STARTS = 4
NEARLY = 0.99
"""The share of a set that a descent starts from nearly alone."""
LEAST_SHARE = 1e-4
"""Sets of less are left out, where the others say all that is asked."""


class WeightedMarginals:
    """The marginals to measure for some tables, and their shares of a price.

    Args:
        sizes: how many values each axis has.
        tables: what is asked.
        sets: the axes of each marginal that may be measured; those of the tables, and all of them, without.
        power: 2 where the variance of noise goes with its share to the minus 2, as that of Laplace noise; or 1.

    >>> strategy = WeightedMarginals((2, 3), [CellTable((0,), (None,)), CellTable((0, 1), (None, None))], power=2)
    >>> exact = strategy.measure(np.arange(6).reshape(2, 3, 1))
    >>> [table[:, 0].tolist() for table in strategy.tables(exact)]
    [[3.0, 12.0], [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]]
    """

    def __init__(
        self, sizes: Sequence[int], tables: Sequence[CellTable], sets: Sequence[Axes] | None = None, *, power: int
    ) -> None:
        self.sizes, self._tables, self._power = tuple(sizes), tuple(tables), power
        asked = dict.fromkeys(table.axes for table in tables)
        chosen = list(dict.fromkeys([*asked, tuple(range(len(sizes)))]) if sets is None else sets)
        self._values: dict[Axes, float] = {}
        for table in self._tables:
            for subset, variance in self._variances_of(table).items():
                self._values[subset] = self._values.get(subset, 0.0) + table.weight * float(variance.sum())
        self._values = {subset: value for subset, value in self._values.items() if value > 0}
        shares = self._descended(chosen)
        kept = [one for one, share in zip(chosen, shares, strict=True) if share >= LEAST_SHARE]
        if len(kept) < len(chosen) and all(any(set(a) <= set(q) for q in kept) for a in self._values):
            chosen, shares = kept, self._descended(kept)
        whole = [max(1, math.floor(share * (1 - 2.0**-40) * PARTS)) for share in shares]
        self._shares = {one: Fraction(part, PARTS) for one, part in zip(chosen, whole, strict=True)}
        self._trusted: dict[Axes, dict[Axes, float]] = {}

    @property
    def family(self) -> str:
        """Which marginals are measured."""
        every = tuple(range(len(self.sizes)))
        if list(self._shares) == [every]:
            return "cells, added up"
        return "marginals as asked" if set(self._shares) <= {t.axes for t in self._tables} else "marginals and cells"

    def _sizes(self, axes: Axes) -> list[int]:
        return [self.sizes[axis] for axis in axes]

    def _rest(self, own: Axes, left: Axes) -> int:
        return math.prod(self.sizes[axis] for axis in own if axis not in left)

    def _variances_of(self, table: CellTable) -> dict[Axes, Reals]:
        """What variance 1 in the part of each subset adds to each cell of a table."""
        squares = table.squares(self.sizes)
        return {
            subset: outer(squares, table.axes, subset) / float(self._rest(table.axes, subset)) ** 2
            for subset in table.subsets(self.sizes)
        }

    @np.errstate(under="ignore")  # as NumPy does by itself; the program around may not
    def _descended(self, sets: list[Axes]) -> list[float]:
        """Shares of small error: multiplicative steps that would end at once if no set shared its parts, from even
        shares, and from each of the largest sets nearly alone.
        """
        subsets = list(self._values)
        values = np.array([self._values[subset] for subset in subsets])
        within = np.array(
            [[1.0 / self._rest(q, a) if set(a) <= set(q) else 0.0 for q in sets] for a in subsets]
        )  # precision at a share of 1
        widest = sorted(range(len(sets)), key=lambda i: -len(sets[i]))[:MOST_STARTS]
        even = np.ones(len(sets)) / len(sets)
        best, least = even, math.inf
        for start in (even, *(NEARLY * np.eye(len(sets))[i] + (1 - NEARLY) * even for i in widest)):
            shares = start
            for _ in range(TURNS):
                precision = within @ shares**self._power
                error = float(values @ (1 / precision))
                if error < least:
                    best, least = shares, error
                gains = (values / precision**2) @ within * shares ** (2 * self._power)
                shares = np.maximum(gains, 1e-300) ** (1 / (self._power + 1))
                shares = shares / shares.sum()
        return [float(share) for share in best]

    @cached_property
    def parts(self) -> tuple[MeasuredPart, ...]:
        """One for each measured marginal."""
        return tuple(
            MeasuredPart(
                share=share,
                absolute=1,
                squared=partial(_squared, others_of(self.sizes, one)),
                apart=2,
                rows=math.prod(self._sizes(one)),
            )
            for one, share in self._shares.items()
        )

    def measure(self, cells: Cells) -> list[NDArray[Any]]:
        """The marginals of exact cells."""
        exact = exact_cells(cells, 1)
        return [over(exact, one).reshape(-1, cells.shape[-1]) for one in self._shares]

    def _trust(self, subset: Axes) -> dict[Axes, float]:
        """How much each measured set counts for the part of a subset."""
        if subset not in self._trusted:
            own = {
                one: float(share) ** self._power / self._rest(one, subset)
                for one, share in self._shares.items()
                if set(subset) <= set(one)
            }
            whole = sum(own.values())
            self._trusted[subset] = {one: precision / whole for one, precision in own.items()}
        return self._trusted[subset]

    def tables(self, noisy: Sequence[Reals]) -> list[Reals]:
        """The tables, each from what the measured sets say of its subsets."""
        measured = {one: part.reshape(*self._sizes(one), -1) for one, part in zip(self._shares, noisy, strict=True)}
        components = noisy[0].shape[-1]
        parts: dict[Axes, Reals] = {}
        for subset in self._values:
            known = self._trust(subset).items()
            pooled = sum(trust * summed_to(measured[one], one, subset) for one, trust in known)
            parts[subset] = centered(np.asarray(pooled), axes=len(subset))
        found = []
        for table in self._tables:
            shape = (*self._sizes(table.axes), components)
            whole = np.zeros(shape)
            for subset in table.subsets(self.sizes):
                if subset in parts:
                    places = [table.axes.index(axis) for axis in subset]
                    added = spread(parts[subset], [*places, len(shape) - 1], shape)
                    whole = whole + added / self._rest(table.axes, subset)
            found.append(table.of(whole).reshape(-1, components))
        return found

    def form(self, table: int, weights: Reals) -> list[Reals]:
        """The coefficients of each measured marginal."""
        own = self._tables[table]
        back = own.back(weights.reshape(own.shape(self.sizes)))
        found = {one: np.zeros(self._sizes(one)) for one in self._shares}
        for subset in own.subsets(self.sizes):
            if subset not in self._values:
                continue
            part = centered(summed_to(back, own.axes, subset), axes=len(subset)) / self._rest(own.axes, subset)
            for one, trust in self._trust(subset).items():
                places = [one.index(axis) for axis in subset]
                found[one] = found[one] + trust * spread(part, places, self._sizes(one))
        return [coefficients.reshape(-1) for coefficients in found.values()]

    def roundings(self, table: int) -> Reals:
        """Of the form of each cell of a table a bound of the sum of absolute coefficients."""
        own = self._tables[table]
        sums, whole = own.absolutes(self.sizes), np.zeros(())
        for subset in own.subsets(self.sizes):
            if subset in self._values:
                spreads = sum(trust * self._rest(one, subset) for one, trust in self._trust(subset).items())
                whole = whole + outer(sums, own.axes, subset) * spreads / self._rest(own.axes, subset)
        return whole.reshape(-1)

    def variances(self, table: int, noise: Sequence[float]) -> Reals:
        """The variance of each cell of a table."""
        own, whole = dict(zip(self._shares, noise, strict=True)), np.zeros(())
        for subset, variance in self._variances_of(self._tables[table]).items():
            known = self._trust(subset).items() if subset in self._values else ()
            pooled = sum(trust**2 * own[one] * self._rest(one, subset) for one, trust in known)
            whole = whole + variance * pooled
        return whole.reshape(-1)

    @property
    def facts(self) -> list[Any]:
        """Which marginals are measured, at which shares."""
        return ["marginals", self._power, [[one, str(share)] for one, share in self._shares.items()]]


def _squared(others: int, most: int) -> int:
    return most * largest_sum([(1, others)], most)
