"""Bodies that K-norm noise can have: any symmetric polytope of few dimensions; boxes and cross-polytopes of any.

Claim
    Each body states, for Z of density proportional to exp(-||z||): how Z is drawn; its covariance; the largest |z_i|
    and the largest L1 norm on the body; the largest norm of a corner of [-1, 1]^d; and quantiles of each |Z_i|, at
    most a hundredth of the reach too high, or, for a polytope and a chance below 1e-9, those of the norm times the
    reach. `structured(points)` returns the hull of the points and their negatives if that is a box or a cross-polytope
    with a full number of dimensions, and None otherwise.
Requires
    Exact points; for `Polytope`, a boundary of `polytopes`.
Relies on
    `noise.cone_norm_noise` and `noise.box_norm_noise`: exact draws.
Proof
    *Polytope.* Given its cone, Z = sum L_i v_i with independent standard exponentials: E L_i L_k = 1 + [i=k].
    *Box.* Z = R w U, with R a Gamma(d + 1) variable and U_i uniform on [-1, 1]: E R^2 = (d + 1)(d + 2), E U_i^2 = 1/3,
    E U_i U_k = 0, and P(|Z_i| > w_i t) = E max(0, 1 - t/R) = Q(d + 1, t) - (t/d) Q(d, t), with Q the regularized upper
    gamma function, as E[1/R; R > t] = Q(d, t) / d. The norm is max |z_i| / w_i.
    *Cross-polytope.* Independent Laplace variables of scales w_i, and the norm is sum |z_i| / w_i.
    *Recognition.* All points lie in the box of their largest coordinates w; the hull is that box iff it has all 2^d
    corners, which differ. A hull that holds the points w_i on each axis holds their cross-polytope, and is it iff all
    points have sum |z_i| / w_i <= 1.
Rounding
    Norms are exact; covariances and quantiles are floats. A chance below `LEAST_OF_SERIES` is lost in the rounding of a
    polytope's cosine series; |Z_i| is at most the reach times the norm, whose law is Gamma(d).
Source
    Hardt, Talwar, On the geometry of differential privacy (STOC 2010).
Mutant
    any-box: points are taken for a box without all of its corners; killed by
    test_only_what_is_structured_is_taken_for_it.
    series-to-the-end: the cosine series is asked for any chance; killed by
    test_far_quantiles_of_a_polytope_are_not_below_the_law.
    outside-the-cross: points beyond the cross-polytope of the axes are not looked at; killed by
    test_only_what_is_structured_is_taken_for_it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from discreet.exact.bisection import first_power, least
from discreet.exact.cached_property import cached_property
from discreet.mechanisms.polytopes import Boundary, Point, from_facets
from discreet.noise.box_norm_noise import Box, Cross
from discreet.noise.cone_norm_noise import Cones
from discreet.noise.entropy import RandomWords

LEAST_OF_SERIES = 1e-9
"""A chance below this is lost in the rounding of a cosine series: the law of the norm bounds it."""

Reals: TypeAlias = NDArray[np.float64]


class BodyNoise(Protocol):
    """What draws vectors."""

    def sample(self, rate: Fraction, n: int, words: RandomWords) -> NDArray[Any]:
        """n vectors of density proportional to exp(-rate ||z||), rounded."""


class Body(Protocol):
    """What K-norm noise asks of its body."""

    @property
    def dimension(self) -> int:
        """How many answers there are."""

    @property
    def rank(self) -> int:
        """The dimension of the span: less where the body is flat."""

    @property
    def noise(self) -> BodyNoise:
        """What draws the noise."""

    def covariance(self) -> Reals:
        """Of the noise at epsilon 1."""

    def reach(self) -> Reals:
        """The largest |z_i| for each coordinate."""

    def width(self) -> Fraction:
        """The largest L1 norm."""

    def cube(self) -> Fraction:
        """The largest norm of a corner of [-1, 1]^d."""

    def quantiles(self, miss: float) -> Reals:
        """What each coordinate's |Z_i| at epsilon 1 passes with that probability."""


@dataclass(frozen=True)
class Polytope:
    """A body by the simplices of its boundary."""

    boundary: Boundary

    @cached_property
    def noise(self) -> Cones:
        """What draws the noise."""
        return Cones.of(self.boundary.volumes, self.boundary.simplices)

    @property
    def dimension(self) -> int:
        """How many answers there are."""
        return len(self.boundary.basis[0])

    @property
    def rank(self) -> int:
        """The dimension of the span."""
        return len(self.boundary.basis)

    def corners(self) -> list[Point]:
        """The points between which the boundary is spanned."""
        return list(dict.fromkeys(corner for simplex in self.boundary.simplices for corner in simplex))

    def planes(self) -> list[Point]:
        """The facets in coordinates of the answers, for a body that is not flat."""
        return from_facets(self.corners()) if self.rank == self.dimension else []

    def cube(self) -> Fraction:
        """The largest norm of a corner of [-1, 1]^d."""
        return max(sum((abs(x) for x in plane), Fraction(0)) for plane in self.planes())

    def width(self) -> Fraction:
        """The largest L1 norm."""
        return max(sum((abs(x) for x in corner), Fraction(0)) for corner in self.corners())

    def reach(self) -> Reals:
        """The largest |z_i| for each coordinate."""
        return np.array([max(abs(float(corner[j])) for corner in self.corners()) for j in range(self.dimension)])

    def covariance(self) -> Reals:
        """Of the noise at epsilon 1."""
        corners = self.noise.floats
        whole = corners.sum(axis=1)
        both = np.einsum("sik,sil->skl", corners, corners) + whole[:, :, None] * whole[:, None, :]
        return np.asarray(np.tensordot(self._shares(), both, axes=1))

    def quantiles(self, miss: float) -> Reals:
        """What each coordinate's |Z_i| at epsilon 1 passes with that probability."""
        shares, corners = self._shares(), self.noise.floats
        if miss < LEAST_OF_SERIES:
            return self.reach() * norm_quantile(self.rank, miss)
        return np.array([_quantile(shares, corners[:, :, j], 1 - miss) for j in range(self.dimension)])

    def _shares(self) -> Reals:
        total = sum(self.boundary.volumes, Fraction(0))
        return np.array([float(volume / total) for volume in self.boundary.volumes])


@dataclass(frozen=True)
class _Structured:
    """A body that its reach along each axis describes."""

    reaches: Point

    @property
    def dimension(self) -> int:
        """How many answers there are."""
        return len(self.reaches)

    rank = dimension

    def reach(self) -> Reals:
        """The largest |z_i| for each coordinate."""
        return np.array([float(reach) for reach in self.reaches])


@dataclass(frozen=True)
class BoxBody(_Structured):
    """Each answer moves within an interval of its own: the noise depends on the largest."""

    @cached_property
    def noise(self) -> Box:
        """What draws the noise."""
        return Box(self.reaches)

    def covariance(self) -> Reals:
        """Of the noise at epsilon 1."""
        return np.diag(self.reach() ** 2) * ((self.dimension + 1) * (self.dimension + 2) / 3)

    def width(self) -> Fraction:
        """The largest L1 norm."""
        return sum(self.reaches, Fraction(0))

    def cube(self) -> Fraction:
        """The largest norm of a corner of [-1, 1]^d."""
        return 1 / min(self.reaches)

    def quantiles(self, miss: float) -> Reals:
        """What each coordinate's |Z_i| at epsilon 1 passes with that probability."""
        from scipy import special  # slow to import

        def enough(t: float) -> bool:
            return _beyond(special.gammaincc, self.dimension, t) <= miss

        least_enough = least(enough, 0.0, first_power(enough, self.dimension + 2.0, 2.0), relative=1e-9)
        return self.reach() * least_enough * (1 + 1e-9)


@dataclass(frozen=True)
class CrossBody(_Structured):
    """One person has a share of each answer's reach, and the shares add up to at most 1: independent Laplace noise."""

    @cached_property
    def noise(self) -> Cross:
        """What draws the noise."""
        return Cross(self.reaches)

    def covariance(self) -> Reals:
        """Of the noise at epsilon 1."""
        return np.diag(2 * self.reach() ** 2)

    def width(self) -> Fraction:
        """The largest L1 norm."""
        return max(self.reaches)

    def cube(self) -> Fraction:
        """The largest norm of a corner of [-1, 1]^d."""
        return sum((1 / reach for reach in self.reaches), Fraction(0))

    def quantiles(self, miss: float) -> Reals:
        """What each coordinate's |Z_i| at epsilon 1 passes with that probability."""
        return self.reach() * -math.log(miss) * (1 + 1e-9)


def structured(points: Sequence[Point]) -> BoxBody | CrossBody | None:
    """The hull of the points and their negatives, if it is a box or a cross-polytope.

    >>> structured([(Fraction(2), Fraction(0)), (Fraction(0), Fraction(3))])
    CrossBody(reaches=(Fraction(2, 1), Fraction(3, 1)))
    >>> structured([(Fraction(2), Fraction(1)), (Fraction(0), Fraction(3))]) is None
    True
    """
    size = len(points[0])
    largest = [max(abs(point[i]) for point in points) for i in range(size)]
    if min(largest) == 0:
        return None
    corners = {p for p in points if all(abs(x) == w for x, w in zip(p, largest, strict=True))}
    corners |= {tuple(-x for x in corner) for corner in corners}
    if len(corners) == 1 << size:
        return BoxBody(tuple(largest))
    axes = [Fraction(0)] * size
    for point in points:
        places = [i for i, x in enumerate(point) if x]
        if len(places) == 1:
            axes[places[0]] = max(axes[places[0]], abs(point[places[0]]))
    if all(axes) and all(sum(abs(x) / w for x, w in zip(p, axes, strict=True) if x) <= 1 for p in points):
        return CrossBody(tuple(axes))
    return None


def box_of_facets(rows: Sequence[Point]) -> BoxBody | None:
    """{z : |a.z| <= 1 for all rows a}, if each row is about one coordinate and each coordinate is bounded.

    >>> box_of_facets([(Fraction(2), Fraction(0)), (Fraction(0), Fraction(1))])
    BoxBody(reaches=(Fraction(1, 2), Fraction(1, 1)))
    """
    steepest = [max(abs(row[i]) for row in rows) for i in range(len(rows[0]))]
    if all(steepest) and all(sum(1 for x in row if x) <= 1 for row in rows):
        return BoxBody(tuple(1 / steep for steep in steepest))
    return None


def norm_quantile(rank: int, miss: float) -> float:
    """What the norm of the noise passes at epsilon 1 with at most that probability: its law is Gamma."""
    from scipy import special  # slow to import

    small = special.gammaincinv(rank, 1 - miss) if miss > 0.5 else special.gammainccinv(rank, miss)
    return float(small) * (1 + 1e-12)


def _beyond(upper: Any, d: int, t: float) -> float:
    """P(|Z_i| > w_i t) of a box."""
    return float(upper(d + 1, t) - t / d * upper(d, t))


def _quantile(weights: NDArray[np.float64], scales: NDArray[np.float64], level: float) -> float:
    """The t with P(|sum_i L_i c_i| <= t) = level, by the cosine series of a density on [-A, A]; slightly up."""
    reach = float(np.abs(scales).max()) * (60.0 + 4 * scales.shape[1])
    if not reach:
        return 0.0
    k = np.arange(1, 1 << 13)
    frequency = k * (math.pi / reach)
    wave = np.zeros(k.size, dtype=np.complex128)
    for weight, row in zip(weights, scales, strict=True):
        wave += weight / np.prod(1 - 1j * frequency[:, None] * row[None, :], axis=1)
    coefficients = 2 * wave.real / (k * math.pi)

    def inside(t: float) -> bool:
        return bool(t >= reach or t / reach + np.dot(coefficients, np.sin(frequency * t)) >= level)

    return float(least(inside, 0.0, reach, relative=1e-7) + reach / k.size / 2)
