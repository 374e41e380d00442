"""Several totals of each group with one K-norm mechanism: noise of the shape of what a unit adds to all of them.

Claim
    `JointTotals(contributions=..., epsilon=...).add_noise(totals)` is epsilon-differentially private for integer
    totals, a row for each group, where the differences of two neighbors in each group have K-norms that sum to 1 at
    most, K being the hull of the contributions and their negatives: what is added in one group is in K, or what is
    added in several is in parts of it that sum to 1.
    `JointPart.quantile` is one that the noise of one total stays within with the stated confidence, and `variance` is
    its variance.
Requires
    Contributions of which this is true.
Relies on
    `mechanisms.knorm_bodies` for the shape and exact draws.
Proof
    Groups have independent noise of density proportional to exp(-epsilon ||z||_K), K the hull, all together
    exp(-epsilon sum of ||z_g||_K). Where two neighbors differ by d_g in group g, the densities do by a factor of
    exp(epsilon sum of ||d_g||_K) at most, by the triangle inequality, which is exp(epsilon) at most. Totals are
    integers, so rounding the noise is post-processing.
    *Figures.* Of the noise before it is rounded, as `knorm_bodies` states them; rounding moves it by a half at most,
    and its variance is taken to be 1/12.
Rounding
    Figures are floats.
Source
    Hardt and Talwar, "On the geometry of differential privacy" (2010); Awan and Slavkovic, "Structure and sensitivity
    in differential privacy" (2021).
Mutant
    joint-noise-of-half: the noise is drawn at twice epsilon; killed by test_joint_noise_has_its_variance.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.accounting.event_losses import HasLoss
from discreet.errors import InvalidParameter, expected
from discreet.exact.amounts import confidence_level
from discreet.exact.bisection import float_down
from discreet.mechanisms.knorm import KNorm
from discreet.mechanisms.knorm_bodies import Body
from discreet.mechanisms.vector_lattice import summed
from discreet.noise.entropy import RandomWords
from discreet.privacy.events import PureEvent

Contribution = tuple[int, ...]

KEPT = 256


@dataclass(frozen=True, kw_only=True, slots=True)
class JointTotals(HasLoss):
    """Adds K-norm noise to the totals of each group together.

    >>> from discreet.noise.entropy import fresh_words
    >>> noise = JointTotals(contributions=((1, 0), (1, 1)), epsilon=Fraction(1))
    >>> noise.add_noise(np.array([[120, 40], [7, 7]]), fresh_words()).shape
    (2, 2)
    """

    contributions: tuple[Contribution, ...]
    """Corners of what a unit can add to the totals, all groups together."""
    epsilon: Fraction

    @property
    def event(self) -> PureEvent:
        """What a release writes into the record."""
        return PureEvent(epsilon=self.epsilon)

    @property
    def body(self) -> Body:
        """The hull of the contributions and their negatives."""
        return _body(self.contributions)

    def add_noise(self, totals: NDArray[Any], words: RandomWords) -> NDArray[Any]:
        """The totals, one row for each group, with noise.

        Raises:
            InvalidParameter: there is not one column for each total.
        """
        if totals.ndim != 2 or totals.shape[1] != self.body.dimension:
            what = f"{self.body.dimension} totals of each group"
            raise InvalidParameter(expected(what, "totals", totals.shape, "give one row for each group."))
        noise = self.body.noise.sample(self.epsilon, len(totals), words)
        found: NDArray[Any] = summed(totals.reshape(-1), noise.reshape(-1)).reshape(totals.shape)
        return found

    def parts(self) -> tuple[JointPart, ...]:
        """The noise of each total by itself."""
        return tuple(JointPart(self, place) for place in range(self.body.dimension))


@dataclass(frozen=True, slots=True)
class JointPart:
    """The noise of one total, as it is seen by itself; it is never drawn alone."""

    joint: JointTotals
    place: int

    @property
    def epsilon(self) -> Fraction:
        """An even part of what all totals cost together."""
        return self.joint.epsilon / self.joint.body.dimension

    @property
    def sensitivity(self) -> Fraction:
        """By how much a unit moves this total, all groups together."""
        return Fraction(max(abs(one[self.place]) for one in self.joint.contributions))

    @property
    def variance(self) -> float:
        """Of the noise in this total."""
        return _variances(self.joint.contributions)[self.place] / float(self.joint.epsilon) ** 2 + 1 / 12

    @property
    def scale(self) -> Fraction:
        """That of Laplace noise of the same variance, as a figure to compare with."""
        return Fraction(max((self.variance / 2) ** 0.5, 1e-300))

    def quantile(self, confidence: object) -> float:
        """What the noise in this total stays within, with this confidence."""
        miss = float_down(1 - confidence_level(confidence))
        return _quantiles(self.joint.contributions, miss)[self.place] / float(self.joint.epsilon) + 0.5


@lru_cache(maxsize=KEPT)
def _body(contributions: Sequence[Contribution]) -> Body:
    return KNorm.of_contributions(contributions, epsilon=1).body


@lru_cache(maxsize=KEPT)
def _variances(contributions: Sequence[Contribution]) -> tuple[float, ...]:
    return tuple(np.diag(_body(contributions).covariance()).tolist())


@lru_cache(maxsize=KEPT)
def _quantiles(contributions: Sequence[Contribution], miss: float) -> tuple[float, ...]:
    return tuple(_body(contributions).quantiles(miss).tolist())
