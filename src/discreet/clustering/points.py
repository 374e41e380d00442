"""An array of points as exact integers, and the noisy totals that clustering may see.

Claim
    Whatever is asked of a `Points`, in whatever order and depending on whatever earlier answers: all answers together
    are `allowance`-differentially private for rows that are added or removed, or replaced where `replaces` says so.
Requires
    Bounds, weights, centers and grids that do not depend on the rows except through earlier answers. NumPy's errors
    ignored (`np.errstate`): a row next to zero underflows, which a program may have made an error.
Relies on
    `mechanisms.laplace` for the noise. IEEE doubles: each operation on arrays gives the same for an entry wherever in
    the array it stands (NumPy's elementwise operations do; a matrix product need not, so there is none here).
Proof
    A row becomes integers q on a public lattice, clipped to the bounds: a function of that row alone. Where it counts
    (the nearest center, the cell of a grid, the bin of its distance) is one of that row and of public numbers too. So
    one row moves a vector of counts by 1 in one entry, and sums of z = q - c, cut down to an L1 norm of R by integer
    division toward zero, by at most R in L1 norm, all clusters together; replacing a row does twice that. Sums are of
    integers below 2**53, hence exact. Each answer has Laplace noise for that sensitivity at its own epsilon, `_noisy`
    refuses what would bring their sum above the allowance, and epsilons of adaptive answers add up.
Rounding
    Coordinates to the lattice, before they are clipped; it has 2**20 steps to the widest half of the bounds.
Source
    Blum, Dwork, McSherry and Nissim, "Practical privacy: the SuLQ framework" (2005); theory, section 7.
Mutant
    far-points-uncut: points beyond the radius count with all of their distance; killed by
    test_one_row_moves_sums_by_the_radius.
    allowance-unwatched: the allowance is not looked at; killed by test_more_than_the_allowance_is_refused.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.clustering.point_oracle import ClusterSums, PointGrid, Reals, RecordedStep
from discreet.errors import BudgetExceeded
from discreet.exact.amounts import decimal_text
from discreet.mechanisms.laplace import Laplace
from discreet.noise.entropy import RandomWords

BITS = 20
"""The number of bits that the widest half of the bounds is divided into."""

BLOCK = 1 << 16
"""The number of distances that are computed at once, so that they stay in the cache."""

Integers = NDArray[np.int64]


SUMS = "sums"
"""What the step is called whose noise is in steps of the lattice."""


@dataclass(kw_only=True, eq=False, repr=False)
class Points:
    """Rows in centered coordinates (the middle of the bounds is zero), behind noise."""

    half: Reals
    """Half of the width of each column's bounds."""
    weights: Reals
    """What a step of the lattice is worth in each column, up to a common factor."""
    allowance: Fraction
    replaces: bool
    size: int | None
    """The number of rows, where it is public."""
    words: RandomWords
    _columns: list[Integers]
    """The lattice's integers of each column."""
    _step: float
    recorded: list[RecordedStep] = field(default_factory=list)
    _seen: tuple[Reals, Integers] | None = None
    """The centers that were asked about last, and the nearest of them to each row."""

    @classmethod
    def of(cls, rows: Reals, low: Reals, high: Reals, *, weighted: bool, **rest: Any) -> Points:
        """Points between `low` and `high`: beyond counts as the nearer bound; rows with a NaN are left out.

        `weighted` gives wide columns more noise than narrow ones, such that their variances add up to the least;
        otherwise all have the same.
        """
        half = (high - low) / 2
        weights = np.cbrt(half / half.max()) if weighted else np.ones_like(half)
        step = math.ldexp(1.0, math.frexp(float((half / weights).max()))[1] - BITS)
        kept = rows[~np.isnan(rows).any(axis=1)]
        tops = np.maximum(np.floor(half / weights / step + 0.5), 1.0)
        columns = []
        for j in range(len(half)):
            middle = low[j] + half[j]
            inside = np.clip(kept[:, j], low[j], high[j])
            steps = np.clip(np.rint((inside - middle) / (weights[j] * step)), -tops[j], tops[j])
            columns.append(steps.astype(np.int64))
        return cls(half=half, weights=weights, _columns=columns, _step=step, **rest)

    @property
    def largest_norm(self) -> float:
        """The largest L1 norm of a row, in weighted coordinates."""
        return float((self._tops() * self._step).sum())

    @property
    def count_sensitivity(self) -> int:
        """The sensitivity of counts to one row."""
        return 2 if self.replaces else 1

    @property
    def most_centers(self) -> int:
        """How many centers may be asked about at once: any number that fits into memory."""
        return 1 << 20

    def _tops(self) -> Integers:
        tops = np.maximum(np.floor(self.half / self.weights / self._step + 0.5), 1.0)
        return tops.astype(np.int64)

    # -- what may be asked ------------------------------------------------------------------------------------------

    def count(self, epsilon: Fraction) -> float:
        """How many rows there are."""
        found = self._noisy("size", np.array([len(self._columns[0])]), 1, epsilon)
        return float(found[0])

    def cells(self, grid: PointGrid, epsilon: Fraction) -> Reals:
        """How many rows are in each cell of a grid."""
        counts = np.bincount(self._cell(grid), minlength=grid.cells)
        return self._noisy("cells", counts, 1, epsilon).astype(np.float64)

    def distances(self, center: Reals, edges: Reals, epsilon: Fraction) -> Reals:
        """How many rows have a weighted L1 distance from `center` between each two edges; the last bin is open."""
        far = self._norms(self._offsets(center[None, :], np.zeros(len(self._columns[0]), dtype=np.int64)))
        bins = np.clip(np.searchsorted(edges, far * self._step, side="right") - 1, 0, len(edges) - 2)
        counts = np.bincount(bins, minlength=len(edges) - 1)
        return self._noisy("distances", counts, 1, epsilon).astype(np.float64)

    def sizes(self, centers: Reals, epsilon: Fraction) -> Reals:
        """How many rows are nearest to each center."""
        counts = np.bincount(self._nearest(centers), minlength=len(centers))
        return self._noisy("sizes", counts, 1, epsilon).astype(np.float64)

    def sums(self, centers: Reals, epsilon: Fraction, *, radius: float | None) -> ClusterSums:
        """For each center the sum of (row - center) over the rows nearest to it, each cut to a weighted L1 norm of
        `radius`; without one, the sum of the rows themselves.
        """
        nearest = self._nearest(centers)
        limit = int(self._tops().sum()) if radius is None else max(1, math.floor(radius / self._step))
        origin = np.zeros_like(centers) if radius is None else centers
        parts = self._cut(self._offsets(origin, nearest), limit)
        totals = [np.bincount(nearest, weights=part.astype(np.float64), minlength=len(centers)) for part in parts]
        exact = np.rint(np.stack(totals, axis=1)).astype(np.int64)
        noisy = self._noisy(SUMS, exact, limit, epsilon)
        worth = self._worths
        scale = float(limit * self.count_sensitivity / epsilon)
        return ClusterSums(noisy.astype(np.float64) * worth, 2 * (scale * worth) ** 2)

    # -- rows, never shown -------------------------------------------------------------------------------------------

    def _values(self, j: int) -> Reals:
        values: Reals = self._columns[j] * (self.weights[j] * self._step)
        return values

    def _nearest(self, centers: Reals) -> Integers:
        """The nearest center of each row, the first of several; entry by entry, so that rows stay on their own."""
        if self._seen is not None and np.array_equal(self._seen[0], centers):
            return self._seen[1]
        nearest = np.zeros(len(self._columns[0]), dtype=np.int64)
        values = [self._values(j) for j in range(len(self._columns))]
        factors, constants = -2 * centers, np.sum(centers**2, axis=1)[:, None]
        block = max(256, BLOCK // len(centers))
        for start in range(0, len(nearest), block):
            parts = [column[start : start + block] for column in values]
            far = np.repeat(constants, len(parts[0]), axis=1)
            step = np.empty_like(far)
            for j, part in enumerate(parts):
                far += np.multiply(factors[:, j, None], part[None, :], out=step)
            nearest[start : start + block] = far.argmin(axis=0)
        self._seen = centers.copy(), nearest
        return nearest

    def _cell(self, grid: PointGrid) -> Integers:
        """The cell of each row."""
        cell = np.zeros(len(self._columns[0]), dtype=np.int64)
        for direction, origin, width, number in zip(*grid.axes, strict=True):
            place = np.full(len(cell), -origin)
            for j in np.flatnonzero(direction):
                place += self._values(int(j)) * direction[j]
            cell = cell * number + np.clip(np.floor(place / width), 0, number - 1).astype(np.int64)
        return cell

    def _offsets(self, origins: Reals, nearest: Integers) -> list[Integers]:
        """Each row less its origin, in steps."""
        tops = self._tops()
        steps = np.clip(np.rint(origins / (self.weights * self._step)), -tops, tops).astype(np.int64)
        return [column - steps[nearest, j] for j, column in enumerate(self._columns)]

    @staticmethod
    def _norms(parts: list[Integers]) -> Integers:
        total = np.zeros_like(parts[0])
        for part in parts:
            total += np.abs(part)
        return total

    def _cut(self, parts: list[Integers], limit: int) -> list[Integers]:
        """The rows, in place, with their L1 norms cut to `limit`; products stay below 2**62 for up to 2**20 columns."""
        norms = self._norms(parts)
        far = np.flatnonzero(norms > limit)
        divisor = norms[far]
        for part in parts:
            whole = part[far]
            part[far] = np.sign(whole) * (np.abs(whole) * limit // divisor)
        return parts

    @property
    def worth(self) -> float:
        """What a step of the lattice is worth, in the units of the column where it is worth most."""
        return float(self._worths.max())

    @property
    def _worths(self) -> Reals:
        return self.weights * self._step

    # -- noise ------------------------------------------------------------------------------------------------------

    def _noisy(self, what: str, exact: NDArray[Any], sensitivity: int, epsilon: Fraction) -> NDArray[Any]:
        """Exact integer totals with noise, booked."""
        mechanism = Laplace(sensitivity=sensitivity * self.count_sensitivity, epsilon=epsilon)
        if sum((step.epsilon for step in self.recorded), epsilon) > self.allowance:
            raise BudgetExceeded(
                f"Expected steps within epsilon={decimal_text(self.allowance)}, got one more.\n"
                "Hint: this is a fault of discreet, not of your data: please report it."
            )
        self.recorded.append(RecordedStep(what=what, epsilon=epsilon, scale=float(mechanism.scale), answers=exact.size))
        return mechanism.add_noise(exact, self.words)
