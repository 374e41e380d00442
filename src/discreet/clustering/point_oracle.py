"""The noisy questions that an algorithm may ask about points, the same for arrays and protected tables."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

Reals = NDArray[np.float64]


class ClusterSums(NamedTuple):
    """Noisy sums of shape (clusters, columns), and the variance of the noise in each column, of shape (columns,)."""

    values: Reals
    variance: Reals


@dataclass(frozen=True, kw_only=True, slots=True)
class RecordedStep:
    """One step of an algorithm, for the receipt."""

    what: str
    epsilon: Fraction
    scale: float
    """Of its Laplace noise: in rows, or in steps of the lattice."""
    answers: int


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class PointGrid:
    """Boxes of one size along some directions; points outside count in the outermost boxes."""

    directions: Reals
    """Of length 1 and at right angles, shape (axes, columns)."""
    origins: Reals
    """Where the boxes begin along each, shape (axes,)."""
    widths: Reals
    shape: tuple[int, ...]

    @property
    def cells(self) -> int:
        """The number of boxes."""
        return math.prod(self.shape)

    @property
    def axes(self) -> tuple[Sequence[Reals], list[float], list[float], tuple[int, ...]]:
        """Direction, origin, width and number of boxes of each axis."""
        return list(self.directions), self.origins.tolist(), self.widths.tolist(), self.shape

    def middles(self) -> Reals:
        """The middle of each box along the axes, shape (cells, axes), in the order of the cells."""
        places = np.stack(np.unravel_index(np.arange(self.cells), self.shape), axis=1)
        middles: Reals = self.origins + (places + 0.5) * self.widths
        return middles


class PointOracle(Protocol):
    """Points in centered coordinates that answer with noise and record its cost."""

    half: Reals
    weights: Reals
    size: int | None
    recorded: list[RecordedStep]

    @property
    def count_sensitivity(self) -> int:
        """The sensitivity of counts, to which their noise is proportional."""

    @property
    def largest_norm(self) -> float:
        """The largest L1 norm of a row, in weighted coordinates."""

    @property
    def most_centers(self) -> int:
        """How many centers may be asked about at once."""

    def count(self, epsilon: Fraction) -> float:
        """How many rows there are."""

    def cells(self, grid: PointGrid, epsilon: Fraction) -> Reals:
        """How many rows are in each cell of a grid."""

    def distances(self, center: Reals, edges: Reals, epsilon: Fraction) -> Reals:
        """How many rows have a weighted L1 distance from `center` between each two edges."""

    def sizes(self, centers: Reals, epsilon: Fraction) -> Reals:
        """How many rows are nearest to each center."""

    def sums(self, centers: Reals, epsilon: Fraction, *, radius: float | None) -> ClusterSums:
        """For each center the sum of (row - center) over the rows nearest to it, cut to `radius`."""
