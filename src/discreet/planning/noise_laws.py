"""The laws of noise that totals can have, and what the planner has to know of each.

Claim
    Noise of law `k` with shares that sum to at most 1 makes the blocks together private: LAPLACE and STAIRCASE at
    `epsilon`, GAUSSIAN at (`epsilon`, `delta`) and, with it, at rho = mu^2/2 of zero-concentrated differential privacy.
    At a price in `rho`, the blocks together are rho-zCDP, and so say their events, with either law.
Requires
    Sensitivities of each block over all its groups and components: L1 for Laplace and staircase, squared L2 for
    Gaussian noise. For `alone`, that one unit changes one total of the block at most.
Relies on
    `mechanisms.laplace`, `mechanisms.staircase`, `mechanisms.gaussian`; `accounting.gaussian_profile.mu_below`.
Proof
    Laplace and staircase: block i costs epsilon s_i, with noise of either law. Gaussian: sigma_i^2 >= D_i^2 /
    (s_i mu^2), so its rounding costs no more than mu_i^2 = s_i mu^2; independent Gaussian mechanisms compose to
    mu^2 = sum of mu_i^2 (Dong, Roth and Su, corollary 3.3), and mu is at most what (epsilon, delta) allows.
    *rho.* Gaussian noise has sigma_i^2 >= B_i^2 / (2 rho s_i) for the bound B_i >= D_i that its event states, so
    rho_i = B_i^2 / (2 sigma_i^2) <= rho s_i. Laplace noise has epsilon <= sqrt(2 rho), and what is epsilon-private is
    epsilon^2/2-zCDP (Bun and Steinke, proposition 1.4).
Rounding
    mu down, sigma up; an epsilon for rho down.
Source
    Balle and Wang (2018); Dong, Roth and Su, "Gaussian differential privacy" (2022); Geng and Viswanath (2016); Bun and
    Steinke, "Concentrated differential privacy" (2016).
Mutant
    full-mu-for-each: a block's share does not enter its sigma; killed by test_gaussian_shares_compose_to_the_price.
    rho-is-mu2: rho is taken for mu^2, not for half of it; killed by test_noise_at_a_rho_has_exactly_its_variance.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum
from fractions import Fraction
from functools import lru_cache

from discreet.accounting.event_costs import cost_of
from discreet.accounting.gaussian_profile import mu_below
from discreet.exact.amounts import root_above, root_below
from discreet.mechanisms.gaussian import Gaussian
from discreet.mechanisms.laplace import Laplace
from discreet.mechanisms.staircase import Staircase
from discreet.privacy.definitions import UNBOUNDED, Guarantee, Neighbors
from discreet.privacy.events import Event
from discreet.sensitivity.contributions import Limits, Size, sensitivity, squared_sensitivity

Noise = Laplace | Gaussian | Staircase

LEAST_GAIN = 0.8
"""Staircase noise is taken from this part of Laplace's variance on: at 2.5 in epsilon or so."""
LEAST_RATIO = 1e-30
"""Of variances; smaller ones, and variances on integers, would leave the doubles."""
CONFIDENCE = Fraction(19, 20)
"""And only if the usual intervals are no wider than Laplace's."""


class Law(Enum):
    """The law of the noise in the totals of a plan; with STAIRCASE, of those where it is better than Laplace noise.
    JOINT is one law for all totals of a group.
    """

    LAPLACE = "discrete Laplace"
    STAIRCASE = "discrete staircase"
    GAUSSIAN = "rounded Gaussian"
    JOINT = "K-norm, all totals together"

    @property
    def norm(self) -> str:
        """The norm that sensitivities are measured in."""
        return {Law.GAUSSIAN: "L2", Law.JOINT: "K"}.get(self, "L1")

    @property
    def spread(self) -> float:
        """The variance of noise over the square of its scale."""
        return 1.0 if self is Law.GAUSSIAN else 2.0

    @property
    def power(self) -> int:
        """The variance of a total goes with its share to the minus this."""
        return 1 if self is Law.GAUSSIAN else 2

    def sensitivity_of(
        self, steps: Size, limits: Limits, neighbors: Neighbors, *, back: Size, totals: int | None
    ) -> tuple[Fraction, Size]:
        """The sensitivity of totals, in the law's norm, rounded up; and exactly, for the L2 norm its square."""
        if self is not Law.GAUSSIAN:
            found = sensitivity(steps, limits, neighbors, back=back, totals=totals)
            return Fraction(found), found
        square = squared_sensitivity(steps, limits, neighbors, back=back, totals=totals)
        return root_above(Fraction(square)), square


@dataclass(frozen=True, kw_only=True, slots=True)
class Price:
    """What a call may cost: epsilon, and with it delta where the noise is Gaussian; or rho."""

    law: Law
    epsilon: Fraction
    """That of Laplace noise, where rho is stated."""
    delta: Fraction = Fraction(0)
    rho: Fraction | None = None

    @classmethod
    def concentrated(cls, law: Law, rho: Fraction) -> Price:
        """A price in rho."""
        return cls(law=law, epsilon=root_below(2 * rho), rho=rho)

    def part(self, share: Fraction) -> Price:
        """A share of it."""
        if self.rho is not None:
            return Price.concentrated(self.law, self.rho * share)
        return replace(self, epsilon=self.epsilon * share)

    def charge(self, event: Event) -> Guarantee:
        """What is booked for an event that it pays for: Laplace noise leaves delta alone."""
        if self.rho is not None:
            return Guarantee(epsilon=cost_of(event).epsilon or UNBOUNDED, rho=self.rho)
        return Guarantee(epsilon=self.epsilon, delta=self.delta if self.law is Law.GAUSSIAN else Fraction(0))

    @property
    def strength(self) -> Fraction:
        """What shares are taken of: epsilon, or mu**2."""
        if self.law is not Law.GAUSSIAN:
            return self.epsilon
        return Fraction(mu_below(self.epsilon, self.delta)) ** 2 if self.rho is None else 2 * self.rho

    def noise(self, sensitivity: tuple[Fraction, Size], share: Fraction, *, alone: bool = False) -> Noise:
        """The mechanism that spends a share on totals of this sensitivity."""
        bound, exact = sensitivity
        if self.law is Law.STAIRCASE and alone:
            return staircase_if_better(bound, self.epsilon * share) or Laplace(
                sensitivity=bound, epsilon=self.epsilon * share
            )
        if self.law is not Law.GAUSSIAN:
            return Laplace(sensitivity=bound, epsilon=self.epsilon * share)
        square = exact if self.rho is None else bound**2  # its own event is to cost no more than its share of rho
        return Gaussian(sensitivity=bound, scale=root_above(square / (self.strength * share)))

    def scale_of(self, bound: Fraction, share: Fraction) -> Fraction:
        """The noise scale (sigma) that a share gives totals of this sensitivity; rounded up."""
        if self.law is not Law.GAUSSIAN:
            return bound / (self.epsilon * share)
        return root_above(bound**2 / (self.strength * share))

    def variance(self, sensitivity: float, share: float) -> float:
        """The variance of the noise, to plan with."""
        if self.law is not Law.GAUSSIAN:
            return 2 * (sensitivity / (float(self.epsilon) * share)) ** 2
        return sensitivity**2 / (float(self.strength) * share)


@lru_cache(maxsize=256)
def staircase_if_better(bound: Fraction, epsilon: Fraction) -> Staircase | None:
    """Staircase noise for lone integers that move by `bound`, where it is clearly better than Laplace noise.

    >>> (
    ...     staircase_if_better(Fraction(1000), Fraction(1)) is None,
    ...     staircase_if_better(Fraction(1000), Fraction(5)) is None,
    ... )
    (True, False)
    """
    other = Laplace(sensitivity=bound, epsilon=epsilon)
    found = Staircase(sensitivity=bound, epsilon=epsilon, minimize="variance")
    law = found.law(reals=False)
    if law.variance > LEAST_GAIN * other.variance or law.quantile(CONFIDENCE) > other.error(confidence=CONFIDENCE):
        return None
    return found


def gain(noise: Noise) -> float:
    """The variance of a mechanism over that which Laplace noise would have in its place; 1 for the other laws."""
    if not isinstance(noise, Staircase):
        return 1.0
    usual = Laplace(sensitivity=noise.sensitivity, epsilon=noise.epsilon).variance
    return max(noise.law(reals=False).variance / usual, LEAST_RATIO)


def noise_event(noise: Noise) -> Event:
    """What a mechanism writes into the record when it adds noise to integers."""
    return noise.integer_event if isinstance(noise, Staircase) else noise.event


def width_of(noise: Noise) -> Fraction:
    """The scale of the noise (sigma where it is Gaussian); of staircase noise, that of Laplace noise as spread out."""
    if isinstance(noise, Staircase):
        return root_above(Fraction(max(noise.law(reals=False).variance, LEAST_RATIO)) / 2)
    return noise.scale
