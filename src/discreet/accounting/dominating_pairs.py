"""Dominating pairs: two laws that are as hard to tell apart as any two outputs of a mechanism on neighbors.

Claim
    For a mechanism with this pair (P, Q), every event S and every epsilon, Pr[M(D) in S] - e^epsilon Pr[M(D') in S] is
    at most `infinite` + `delta_bounds(epsilon)[1]`, in the direction of the pair; and that bound is reached by the pair
    itself up to `infinite` + `delta_bounds(epsilon)[0]`, but for `cut`. `log_moments` are logarithms of E_P[e^(zL); L
    finite], L = log dP/dQ, and `infinite` is P(L = infinity), exactly.
Requires
    Checked parameters (`privacy_loss` does it): positive, finite; masses that add up to one.
Relies on
    scipy's and NumPy's exp, expm1 and log to within 8 rounding units; `gaussian_profile` for certified Gaussian
    profiles; `table_log_moments` and `pairwise_summation` for sums over tables and over pairs, however long.
Proof
    delta(t) = P(L > t) - e^t Q(L > t) by definition of the hockey-stick divergence; Q(L = infinity) = 0. *Laplace*,
    epsilon = sensitivity/b: L = epsilon (1 - 2u) for an output at u in [0, 1] between the two centers, +-epsilon
    outside, which gives delta(t) = 1 - e^((t - epsilon)/2) and M(z) = e^(z epsilon) [1 + r + (1 - r)/(1 + 2z)]/2, r =
    e^(-(1 + 2z) epsilon). A smaller shift is a post-processing of a larger one for log-concave noise, so the largest
    shift dominates.
    *BoundedRange*: log-ratios of neighbors lie in an interval of length epsilon, [t - epsilon, t] for some t, so the
    worst profile is the maximum over t of two-point pairs, (e^epsilon - e^t)(1 - e^(x - t))/(e^epsilon - 1); it is
    largest at t = (epsilon + x)/2, which gives (e^(epsilon/2) - e^(x/2))^2/(e^epsilon - 1): convex in e^x, hence the
    profile of a pair, whose density is e^((x + epsilon)/2)/(2 (e^epsilon - 1)) on [-epsilon, epsilon].
Rounding
    Upper ends are raised, lower ends lowered, by `ROUNDING` and one unit for each addition that a term passes, of the
    probabilities that were subtracted. *Moments* of long tables are sums of masses (6 units) times exp (8) times (1),
    so within 15 units and the additions; short ones add up to 8 terms in a row; in closed form it is at most 32.
    `rounding` is above all of them. The exponents, z times a loss from the top down, are wrong by 8 units of |z| reach
    for the loss itself, where it is `off`, and 2 each for difference and product. A logarithm is wrong by 8 units.
Source
    Zhu, Dong and Wang, Optimal Accounting of Differential Privacy via Characteristic Function (2022): dominating
    pairs; Dong, Durfee and Rogers (2020): bounded range; Dong, Roth and Su (2022): Gaussian.
Mutant
    least-floats-are-certain: a mass below all floats is taken for the float that stands for it; killed by
        test_what_is_below_all_floats_is_not_certain.
    losses-as-they-are-rounded: an atom just above epsilon is left out; killed by test_a_loss_above_its_float_counts.
    laplace-without-atom: the outputs beyond the far center are left out; killed by test_moments_are_those_of_the_law.
    one-sided-range: bounded range takes epsilon for 2 epsilon; killed by test_bounded_range_dominates_two_point_pairs.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from operator import attrgetter

import numpy as np
from numpy.typing import NDArray

from discreet.accounting import gaussian_profile
from discreet.accounting.pairwise_summation import UNIT, additions, gathered, halved, total
from discreet.accounting.table_log_moments import rows_at_once, tabulated
from discreet.exact.amounts import LEAST_FLOAT, root_above

Reals = NDArray[np.float64]
Complexes = NDArray[np.complex128]

FARTHEST = Fraction(60)
"""Standard deviations beyond which no float holds the mass."""
ROUNDING = 2.0**-48
"""Relative error allowed to a probability that was computed in floats: sixteen times the rounding unit."""


class DominatingPair(ABC):
    """Two laws, and the loss L = log dP/dQ under the first."""

    exact: bool
    """Whether the pair is reached by the mechanism, or only dominates it."""
    infinite: Fraction = Fraction(0)
    """P(L = infinity), exactly: outputs that one side never gives. All else here speaks of finite losses."""
    reach: float = math.inf
    """The largest finite |L|."""

    @property
    def top(self) -> float:
        """The largest finite L."""
        return self.reach

    size: int = 2
    """About how many exponentials its moment takes."""

    @property
    def rounding(self) -> float:
        """Rounding units of E_P[e^(theta L)] by which each moment may be wrong, beside what its angle costs."""
        return 32.0 + additions(self.size)

    cut: Fraction = Fraction(0)
    """How much of the infinite mass may be mass that was only cut off."""

    @abstractmethod
    def reversed(self) -> DominatingPair:
        """The pair (Q, P)."""

    @abstractmethod
    def tails(self, t: float) -> tuple[float, float]:
        """P(t < L < infinity) and Q(L > t)."""

    @abstractmethod
    def quantile(self, u: Reals) -> Reals:
        """The losses at which the law of L under P has passed the probabilities u in (0, 1)."""

    @classmethod
    @abstractmethod
    def log_moments(cls, pairs: Sequence[DominatingPair], counts: Reals, z: Complexes) -> Complexes:
        """Sum of counts times log E_P[e^(zL); L finite], at each z of positive real part."""

    @abstractmethod
    def delta_bounds(self, epsilon: float) -> tuple[float, float]:
        """Floats on both sides of delta(epsilon), of finite losses."""

    @property
    def mean(self) -> float:
        """E_P[L], the Kullback-Leibler divergence; infinite where L can be."""
        if self.infinite > self.cut:
            return math.inf
        step = 1e-30
        z = np.array([complex(0.0, step)])
        return float(type(self).log_moments([self], np.ones(1), z)[0].imag / step)


@dataclass(frozen=True, slots=True)
class GaussianPair(DominatingPair):
    """N(mu, 1) against N(0, 1): L is normal with mean mu^2/2 and variance mu^2."""

    mu2: Fraction
    exact: bool = True

    @property
    def mu(self) -> Fraction:
        """mu, rounded up to a float's precision."""
        return root_above(self.mu2)

    def reversed(self) -> DominatingPair:
        """The pair (Q, P)."""
        return self

    def tails(self, t: float) -> tuple[float, float]:
        """As promised by `DominatingPair`."""
        if math.isinf(t):
            return (0.0, 0.0) if t > 0 else (1.0, 1.0)
        half, place = self.mu / 2, Fraction(t) / self.mu  # exact, since they cancel where mu is large
        forward, backward = (float(min(max(end - place, -FARTHEST), FARTHEST)) for end in (half, -half))
        return _normal(forward), _normal(backward)

    def delta_bounds(self, epsilon: float) -> tuple[float, float]:
        """As promised by `DominatingPair`."""
        above = gaussian_profile.delta_above(self.mu, Fraction(epsilon))
        return max(above * (1.0 - 2.0**-44) - 1e-323, 0.0), above

    def quantile(self, u: Reals) -> Reals:
        """The losses at these probabilities."""
        from scipy.special import ndtri

        mu = float(self.mu)
        drawn: Reals = mu * mu / 2.0 + mu * ndtri(u)
        return drawn

    @classmethod
    def log_moments(cls, pairs: Sequence[DominatingPair], counts: Reals, z: Complexes) -> Complexes:
        """As promised by `DominatingPair`."""
        half = sum(float(pair.mu2) * count for pair, count in zip(pairs, counts, strict=True) if isinstance(pair, cls))
        moments: Complexes = (half / 2.0) * (z * z + z)
        return moments


@dataclass(frozen=True, slots=True)
class LaplacePair(DominatingPair):
    """Laplace noise, continuous: the sensitivity is epsilon times the scale."""

    epsilon: float
    exact: bool = True

    @property
    def reach(self) -> float:  # type: ignore[override]  # a property here, a constant elsewhere
        """The largest |L|."""
        return self.epsilon

    def reversed(self) -> DominatingPair:
        """The pair (Q, P)."""
        return self

    def tails(self, t: float) -> tuple[float, float]:
        """As promised by `DominatingPair`."""
        if t >= self.epsilon:
            return 0.0, 0.0
        if t < -self.epsilon:
            return 1.0, 1.0
        return 1.0 - math.exp((t - self.epsilon) / 2.0) / 2.0, math.exp(-(t + self.epsilon) / 2.0) / 2.0

    def delta_bounds(self, epsilon: float) -> tuple[float, float]:
        """As promised by `DominatingPair`."""
        if epsilon >= self.epsilon:
            return 0.0, 0.0
        first = math.nextafter(self.epsilon, 0.0)  # of a mechanism whose epsilon was rounded up
        less, delta = (-math.expm1(min((epsilon - own) / 2.0, epsilon)) for own in (first, self.epsilon))
        return max(less * (1.0 - ROUNDING), 0.0), min(delta * (1.0 + ROUNDING), 1.0)

    def quantile(self, u: Reals) -> Reals:
        """The losses at these probabilities."""
        # 1 - u is P(output below the point where the loss is that): half the mass lies before the first center.
        inner = self.epsilon + 2.0 * np.log(np.clip(2.0 * u, 1e-300, 1.0))
        return np.where(u >= 0.5, self.epsilon, np.maximum(inner, -self.epsilon))

    @classmethod
    def log_moments(cls, pairs: Sequence[DominatingPair], counts: Reals, z: Complexes) -> Complexes:
        """As promised by `DominatingPair`."""
        slope = 1.0 + 2.0 * z

        def logs(some: Reals) -> Complexes:
            decay = np.exp(-slope * some)
            found: Complexes = np.log(0.5 * (1.0 + decay + (1.0 - decay) / slope))
            return found

        return _untabulated(pairs, counts, z, logs)


@dataclass(frozen=True, slots=True)
class BoundedRange(DominatingPair):
    """What dominates every mechanism whose log-ratios between neighbors span at most epsilon."""

    epsilon: float
    exact: bool = False

    @property
    def reach(self) -> float:  # type: ignore[override]  # a property here, a constant elsewhere
        """The largest |L|."""
        return self.epsilon

    def reversed(self) -> DominatingPair:
        """The pair (Q, P)."""
        return self

    def tails(self, t: float) -> tuple[float, float]:
        """As promised by `DominatingPair`."""
        x = min(max(t, -self.epsilon), self.epsilon)
        whole = -math.expm1(-self.epsilon)
        first = -math.expm1((x - self.epsilon) / 2.0) / whole
        second = math.exp(-(self.epsilon + x) / 2.0) * -math.expm1((x - self.epsilon) / 2.0) / whole
        return first, second

    def delta_bounds(self, epsilon: float) -> tuple[float, float]:
        """As promised by `DominatingPair`."""
        if epsilon >= self.epsilon:
            return 0.0, 0.0
        if epsilon < -self.epsilon:
            delta = -math.expm1(epsilon)
        else:
            delta = math.expm1((epsilon - self.epsilon) / 2.0) ** 2 / -math.expm1(-self.epsilon)
        return delta * (1.0 - ROUNDING), min(delta * (1.0 + ROUNDING), 1.0)

    def quantile(self, u: Reals) -> Reals:
        """The losses at these probabilities."""
        drawn: Reals = self.epsilon + 2.0 * np.log1p((1.0 - u) * math.expm1(-self.epsilon))
        return drawn

    @classmethod
    def log_moments(cls, pairs: Sequence[DominatingPair], counts: Reals, z: Complexes) -> Complexes:
        """As promised by `DominatingPair`."""
        slope = 1.0 + 2.0 * z

        def logs(some: Reals) -> Complexes:
            found: Complexes = np.log(-np.expm1(-slope * some) / slope / -np.expm1(-some))
            return found

        return _untabulated(pairs, counts, z, logs)


@dataclass(frozen=True, slots=True, eq=False)
class Atoms(DominatingPair):
    """Countably many losses, tabulated; what is left out of the table counts as infinite loss."""

    losses: Reals
    """Ascending."""
    first: Reals
    """Their probabilities under P."""
    second: Reals
    """Their probabilities under Q."""
    infinite: Fraction = Fraction(0)
    """P-mass of outputs that Q never gives, and of the part of P that was cut off."""
    infinite_back: Fraction = Fraction(0)
    """Q-mass of outputs that P never gives, and of the part of Q that was cut off."""
    exact: bool = True
    cut: Fraction = Fraction(0)
    off: float = 0.0
    """How far a loss may be from what it stands for, as a part of it."""
    reach: float = field(init=False)
    size: int = field(init=False)

    def __post_init__(self) -> None:
        reach = float(np.max(np.abs(self.losses))) * (1.0 + self.off) if self.losses.size else 0.0
        object.__setattr__(self, "reach", reach)
        object.__setattr__(self, "size", self.losses.size)

    @property
    def top(self) -> float:
        """The largest finite L; none is as low as can be."""
        return float(self._raised[-1]) if self.losses.size else -math.inf

    def reversed(self) -> DominatingPair:
        """The pair (Q, P)."""
        mirrored = replace(
            self,
            losses=-self.losses[::-1],
            first=self.second[::-1],
            second=self.first[::-1],
            infinite=self.infinite_back,
            infinite_back=self.infinite,
        )
        same = np.array_equal(self.first, mirrored.first) and np.array_equal(self.losses, mirrored.losses)
        return self if same and self.infinite == self.infinite_back else mirrored

    @property
    def _raised(self) -> Reals:
        """Losses that are no smaller than those that they stand for."""
        raised: Reals = self.losses + self.off * np.abs(self.losses)
        return raised

    def tails(self, t: float) -> tuple[float, float]:
        """As promised by `DominatingPair`."""
        above = self._raised > t
        return total(self.first[above]), total(self.second[above])

    def delta_bounds(self, epsilon: float) -> tuple[float, float]:
        """As promised by `DominatingPair`."""
        above = self._raised > epsilon
        first, losses = self.first[above], self.losses[above]
        # The error of a loss, a few units of its last place, moves the term by as much of its probability.
        terms = first * -np.expm1(np.minimum(epsilon - losses, 0.0))
        error = ROUNDING + additions(terms.size) * UNIT
        slack = error * float((first * (1.0 + np.abs(losses) + abs(epsilon))).sum())
        slack += 4.0 * LEAST_FLOAT * terms.size  # a mass, its quotient and product where no float is so small
        delta = total(terms)
        return max(delta - slack, 0.0), min(delta + slack, 1.0)

    def quantile(self, u: Reals) -> Reals:
        """The losses at these probabilities."""
        steps = np.cumsum(self.first)
        place = np.searchsorted(steps, u, side="left")
        return np.append(self.losses, math.inf)[np.minimum(place, self.losses.size)]

    @classmethod
    def log_moments(cls, pairs: Sequence[DominatingPair], counts: Reals, z: Complexes) -> Complexes:
        """As promised by `DominatingPair`."""
        tables = [pair for pair in pairs if isinstance(pair, cls)]
        sizes = np.array([pair.losses.size for pair in tables])
        if not sizes.all():
            return np.full_like(z, -math.inf)
        return gathered(
            (
                tabulated(
                    np.stack([tables[i].losses for i in some]),
                    np.stack([tables[i].first for i in some]),
                    counts[some],
                    z,
                )
                for size in np.unique(sizes)
                for some in _blocks(np.flatnonzero(sizes == size), rows_at_once(int(size), z))
            ),
            np.zeros_like(z),
        )


def _blocks(places: NDArray[np.int64], length: int) -> list[NDArray[np.int64]]:
    """`places`, so many at a time."""
    return [places[start : start + length] for start in range(0, places.size, length)]


def _untabulated(
    pairs: Sequence[DominatingPair], counts: Reals, z: Complexes, logs: Callable[[Reals], Complexes]
) -> Complexes:
    """Sum of counts times z epsilon and what `logs` gives for a column of the pairs' epsilons."""
    epsilons = np.fromiter(map(attrgetter("epsilon"), pairs), float, len(pairs))
    blocks = _blocks(np.arange(epsilons.size), 4096)
    parts = (halved(counts[some, None] * logs(epsilons[some, None])) for some in blocks)
    return z * total(epsilons * counts) + gathered(parts, np.zeros_like(z))


def _normal(x: float) -> float:
    return math.erfc(-x / math.sqrt(2.0)) / 2.0
