"""Gaussian noise in products of split attributes: tables, and sums along their axes, over domains of any size.

Claim
    `SplitProducts` measures, for each set A of attributes that tables have in common, the product of the split matrices
    of A, of the marginal over A. `tables` are unbiased and agree with each other, and `variances` are theirs. Of all
    divisions of rho among these measurements its own has the least weighted sum of variances of what is asked. Its
    parts' `squared`, `absolute` and `apart` hold.
Requires
    The splits' own claims.
Relies on
    `workloads.axis_splits`.
Proof
    *Tables.* Along each attribute x = z (sum of x) + R C x. A table over S is therefore the sum over its subsets A of
    R along A, z along the rest, of C along A of the marginal over A: what is measured. Their noises are independent, so
    that variances add up: of a cell whose rows are b_i along the axes, the product over A of |b_i R_i|^2 and over the
    rest of (b_i z_i)^2, times the variance of the noise in A.
    *Shares.* With noise of variance moved_A / (2 rho_A), the sum of all errors is a sum of moved_A v_A / (2 rho_A),
    which is least where rho_A is in proportion to the root of moved_A v_A (Cauchy and Schwarz).
    *Splits.* Each attribute's is the one, of those on offer, with which that sum is least; one after the other.
    *Moves.* The column of a cell is the product of its columns along A, so norms multiply. The product of two columns
    is the product of entries of the G_i = C_i^T C_i, and K cells have at most min(K, d_i) different values along an
    axis: the sum of |products| of one of them with K others is at most the product over A of the sums of the
    min(K, d_i) largest entries of a row of |G_i|, times min(K, cells that agree on A); and at most K times the largest
    square (Cauchy and Schwarz). Two columns are at most 2 (largest square) + 2 max(0, -p) apart, squared, for the
    least product p that entries of the G_i have.
Rounding
    Shares are rounded down to multiples of 2**-60; figures are floats.
Source
    Xiao, He, Zhang and Kifer (2023), for even splits; McKenna, Miklau, Hay and Machanavajjhala, "Optimizing error of
    high-dimensional statistical queries under differential privacy" (2018), for products.
Mutant
    one-axis-of-a-product: a cell is taken to move a product along its first axis alone; killed by
    test_cells_move_parts_no_further_than_stated.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.exact.cached_property import cached_property
from discreet.workloads.axis_splits import MOST_VALUES, AxisSplit, along, even, oblique
from discreet.workloads.cell_tables import (
    Axes,
    Cells,
    CellTable,
    MeasuredPart,
    Reals,
    exact_cells,
    others_of,
    over,
)

PARTS = 2**60
BITS = 30
"""Of the entries of a product in all; along one axis at most half of them."""
LEAST_BITS = 6
ROUNDS = 2
"""Of choosing the splits, one after the other."""

Squares = tuple[Reals | None, ...]
"""Along each axis of a table the sums of products of what is asked; None for its values."""


class SplitProducts:
    """The products of splits to measure for some tables over a domain of so many values along each axis.

    Args:
        sizes: how many values each axis has.
        tables: what is asked.
        squares: for each table and axis the sums of products of the queries whose errors matter; without them, those of
            its maps.

    >>> prefixes = CellTable((0, 1), (np.tri(20, dtype=np.int64), None))
    >>> strategy = SplitProducts((20, 3), [prefixes, CellTable((1,), (None,))])
    >>> exact = strategy.measure(np.ones((20, 3, 1), dtype=np.int64))
    >>> [float(round(table[-1, 0], 6)) for table in strategy.tables(exact)]
    [20.0, 20.0]
    """

    family = "products of splits"

    def __init__(
        self, sizes: Sequence[int], tables: Sequence[CellTable], squares: Sequence[Squares] | None = None
    ) -> None:
        self.sizes, self._tables = tuple(sizes), tuple(tables)
        self._asked = [squares_of(table) for table in tables] if squares is None else list(squares)
        self._splits = self._chosen()
        values = self._values([self._spreads(axis, split) for axis, split in enumerate(self._splits)])
        roots = {subset: math.sqrt(self._moved(subset) * value) for subset, value in values.items()}
        whole = sum(roots.values())
        self._shares = {
            subset: Fraction(max(1, math.floor(root / whole * (1 - 2.0**-40) * PARTS)), PARTS)
            for subset, root in roots.items()
        }

    @staticmethod
    def applies(sizes: Sequence[int], tables: Sequence[CellTable]) -> bool:
        """Whether some axis is asked for other sums than its values, and none of those has too many of them."""
        mapped = [a for t in tables for a, own in zip(t.axes, t.maps, strict=True) if own is not None and sizes[a] > 1]
        return bool(mapped) and max(sizes[axis] for axis in mapped) <= MOST_VALUES

    def _chosen(self) -> list[AxisSplit]:
        """The split of each axis."""
        asked = [self._squares_along(axis) for axis in range(len(self.sizes))]
        mapped = [axis for axis, own in enumerate(asked) if own is not None]
        most = max((sum(axis in mapped for axis in table.axes) for table in self._tables), default=1)
        bits = max(LEAST_BITS, BITS // max(2, most))
        offers = [
            (even(size),) if own is None else oblique(own, bits=bits)
            for size, own in zip(self.sizes, asked, strict=True)
        ]
        chosen = [own[0] for own in offers]
        spreads = [self._spreads(axis, split) for axis, split in enumerate(chosen)]
        for axis in mapped * ROUNDS if len(self._tables) > 1 or len(mapped) > 1 else mapped:
            least = math.inf
            for split in offers[axis]:
                tried = [*spreads[:axis], self._spreads(axis, split), *spreads[axis + 1 :]]
                used = [*chosen[:axis], split, *chosen[axis + 1 :]]
                error = sum(
                    math.sqrt(math.prod(used[i].largest for i in subset) * value)
                    for subset, value in self._values(tried).items()
                )
                if error < least:
                    least, best = error, (split, tried[axis])
            chosen[axis], spreads[axis] = best
        return chosen

    def _squares_along(self, axis: int) -> Reals | None:
        """What all tables together ask for along an axis, where that is more than its values."""
        size, whole, is_plain = self.sizes[axis], np.zeros((self.sizes[axis],) * 2), True
        if size < 2:
            return None
        for table, asked in zip(self._tables, self._asked, strict=True):
            if axis in table.axes:
                place = table.axes.index(axis)
                others = [1.0 if one is None else float(np.trace(one)) / len(one) for one in asked]
                own, is_plain = asked[place], is_plain and asked[place] is None
                weight = table.weight * math.prod(others) / others[place]
                whole += weight * (np.eye(size) if own is None else own)
        return None if is_plain else whole

    def _spreads(self, axis: int, split: AxisSplit) -> list[tuple[float, float]]:
        """For each table what noise in the sum along an axis adds to its queries, and noise in the measurements."""
        return [
            split.spread(asked[table.axes.index(axis)]) if axis in table.axes else (1.0, 0.0)
            for table, asked in zip(self._tables, self._asked, strict=True)
        ]

    def _values(self, spreads: Sequence[Sequence[tuple[float, float]]]) -> dict[Axes, float]:
        """For each set of axes the weighted sum of the errors that noise of variance 1 in its product leads to."""
        values: dict[Axes, float] = {}
        for place, table in enumerate(self._tables):
            for subset in table.subsets(self.sizes):
                own = math.prod(spreads[axis][place][axis in subset] for axis in table.axes)
                values[subset] = values.get(subset, 0.0) + table.weight * own
        return {subset: value for subset, value in values.items() if value > 0}

    def _moved(self, subset: Axes) -> int:
        return math.prod(self._splits[axis].largest for axis in subset)

    @cached_property
    def parts(self) -> tuple[MeasuredPart, ...]:
        """One for each product."""
        return tuple(self._part(subset, share) for subset, share in self._shares.items())

    def _part(self, subset: Axes, share: Fraction) -> MeasuredPart:
        own = [self._splits[axis] for axis in subset]
        ends = [(int(split.gram.min()), int(split.gram.max())) for split in own]
        least = min((math.prod(one) for one in itertools.product(*ends)), default=1)
        return MeasuredPart(
            share=share,
            absolute=math.prod(split.absolute for split in own),
            squared=partial(_squared, tuple(own), others_of(self.sizes, subset)),
            apart=2 * self._moved(subset) + 2 * max(0, -least) if own else 2,
            rows=math.prod(len(split.matrix) for split in own),
        )

    def measure(self, cells: Cells) -> list[NDArray[Any]]:
        """The products of exact cells."""
        growth = max(math.prod(self._splits[axis].growth for axis in subset) for subset in self._shares)
        exact, found = exact_cells(cells, growth), []
        for subset in self._shares:
            part = over(exact, subset)
            for place, axis in enumerate(subset):
                part = along(self._splits[axis].matrix.astype(part.dtype), part, place)
            found.append(part.reshape(-1, cells.shape[-1]))
        return found

    def tables(self, noisy: Sequence[Reals]) -> list[Reals]:
        """The tables, each from the products of its subsets."""
        components, parts = noisy[0].shape[-1], {}
        for subset, part in zip(self._shares, noisy, strict=True):
            own = part.reshape(*(len(self._splits[axis].matrix) for axis in subset), components)
            for place, axis in enumerate(subset):
                own = along(self._splits[axis].inverse, own, place)
            parts[subset] = own
        return [table.of(self._sum(table, parts)).reshape(-1, components) for table in self._tables]

    def _sum(self, table: CellTable, parts: dict[Axes, Reals]) -> Reals:
        """The marginal over the axes of a table."""
        whole: Reals = np.zeros(())
        for subset in self._subsets(table):
            own = parts[subset]
            for place, axis in enumerate(table.axes):
                if axis not in subset:
                    shape = [1] * (own.ndim + 1)
                    shape[place] = self.sizes[axis]
                    own = np.expand_dims(own, place) * self._splits[axis].division.reshape(shape)
            whole = whole + own
        return whole

    def _subsets(self, table: CellTable) -> Iterator[Axes]:
        return (subset for subset in table.subsets(self.sizes) if subset in self._shares)

    def form(self, table: int, weights: Reals) -> list[Reals]:
        """The coefficients of each product."""
        own = self._tables[table]
        back, found = own.back(weights.reshape(own.shape(self.sizes))), []
        for subset in self._shares:
            rows = math.prod(len(self._splits[axis].matrix) for axis in subset)
            if not set(subset) <= set(own.axes):
                found.append(np.zeros(rows))
                continue
            part = back
            for place, axis in enumerate(own.axes):
                split = self._splits[axis]
                part = along(split.inverse.T if axis in subset else split.division[None, :], part, place)
            found.append(part.reshape(-1))
        return found

    def _products(self, table: int, *, squares: bool) -> Iterator[tuple[Axes, Reals]]:
        """For each product the squares of its coefficients in each cell of a table, added up, or their sizes."""
        own, factors = self._tables[table], []
        for axis, rows in zip(own.axes, own.maps, strict=True):
            split = self._splits[axis]
            within = split.inverse if rows is None else rows @ split.inverse
            beside = split.division if rows is None else rows @ split.division
            size = np.square if squares else np.abs
            factors.append((size(within).sum(axis=1), size(beside)))
        for subset in self._subsets(own):
            whole = np.ones(())
            for axis, (within, beside) in zip(own.axes, factors, strict=True):
                whole = np.multiply.outer(whole, within if axis in subset else beside)
            yield subset, whole.reshape(-1)

    def roundings(self, table: int) -> Reals:
        """Of the form of each cell of a table the sum of absolute coefficients."""
        return np.asarray(sum(one for _, one in self._products(table, squares=False)))

    def variances(self, table: int, noise: Sequence[float]) -> Reals:
        """The variance of each cell of a table."""
        own = dict(zip(self._shares, noise, strict=True))
        return np.asarray(sum(own[subset] * one for subset, one in self._products(table, squares=True)))

    @property
    def error(self) -> float:
        """The weighted sum of the squared errors of what is asked, at rho = 1/2, for units that add 1 to one cell."""
        values = self._values([self._spreads(axis, split) for axis, split in enumerate(self._splits)])
        return sum(value * self._moved(subset) / float(self._shares[subset]) for subset, value in values.items())

    @property
    def facts(self) -> list[Any]:
        """Which products are measured, at which shares; the matrices as digests."""
        import hashlib

        digests = [hashlib.sha256(split.matrix.tobytes()).hexdigest() for split in self._splits]
        return [self.family, digests, [[subset, str(share)] for subset, share in self._shares.items()]]


def squares_of(table: CellTable) -> Squares:
    """Along each axis of a table the sums of products of its map."""
    maps = [None if own is None else own.astype(np.float64) for own in table.maps]
    return tuple(None if own is None else own.T @ own for own in maps)


def _squared(splits: tuple[AxisSplit, ...], others: int, most: int) -> int:
    """K times a bound of the sum of K entries of a row of |A^T A|."""
    largest = math.prod(split.largest for split in splits)
    together = math.prod(int(split.together[min(most, len(split.together)) - 1]) for split in splits)
    return most * min(most * largest, together * min(most, others))
