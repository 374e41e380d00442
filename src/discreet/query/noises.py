"""The two laws of noise that totals can have, and what the planner has to know of each.

Claim
    Noise of law `k` with shares that sum to at most 1 makes the blocks together private: LAPLACE at `epsilon`, GAUSSIAN
    at (`epsilon`, `delta`) and, with it, at rho = mu^2/2 of zero-concentrated differential privacy.
Requires
    Sensitivities of each block over all its groups and components: L1 for Laplace, squared L2 for Gaussian noise.
Relies on
    `mechanisms.laplace`, `mechanisms.gaussian`; `accounting.gaussian.mu_below`.
Proof
    Laplace: block i costs epsilon s_i. Gaussian: sigma_i^2 >= D_i^2 / (s_i mu^2), so its rounding costs no more than
    mu_i^2 = s_i mu^2; independent Gaussian mechanisms compose to mu^2 = sum of mu_i^2 (Dong, Roth and Su, corollary
    3.3), and mu is at most what (epsilon, delta) allows.
Rounding
    mu down, sigma up.
Source
    Balle and Wang (2018); Dong, Roth and Su, "Gaussian differential privacy" (2022).
Mutant
    full-mu-for-each: a block's share does not enter its sigma; killed by test_gaussian_shares_compose_to_the_price.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from fractions import Fraction

from discreet.accounting.gaussian import mu_below
from discreet.exact.amounts import root_above
from discreet.mechanisms.gaussian import Gaussian
from discreet.mechanisms.laplace import Laplace
from discreet.privacy.definitions import Guarantee, Neighbors
from discreet.sensitivity.contributions import Limits, sensitivity, squared_sensitivity


class Law(Enum):
    """The law of the noise in the totals of a plan."""

    LAPLACE = "discrete Laplace"
    GAUSSIAN = "rounded Gaussian"

    @property
    def norm(self) -> str:
        """The norm that sensitivities are measured in."""
        return "L1" if self is Law.LAPLACE else "L2"

    @property
    def power(self) -> int:
        """The variance of a total goes with its share to the minus this."""
        return 2 if self is Law.LAPLACE else 1

    def moved(
        self, steps: int, limits: Limits, neighbors: Neighbors, *, lone: bool, signed: bool
    ) -> tuple[Fraction, int]:
        """The sensitivity of totals, in the law's norm, rounded up; and exactly, for the L2 norm its square."""
        if self is Law.LAPLACE:
            found = sensitivity(steps, limits, neighbors, lone=lone, signed=signed)
            return Fraction(found), found
        square = squared_sensitivity(steps, limits, neighbors, lone=lone, signed=signed)
        return root_above(Fraction(square)), square


@dataclass(frozen=True, kw_only=True, slots=True)
class Price:
    """What a call may cost: epsilon, and with it delta where the noise is Gaussian."""

    law: Law
    epsilon: Fraction
    delta: Fraction = Fraction(0)

    @property
    def charge(self) -> Guarantee:
        """What is booked: Laplace noise leaves delta alone."""
        return Guarantee(epsilon=self.epsilon, delta=self.delta if self.law is Law.GAUSSIAN else Fraction(0))

    @property
    def strength(self) -> Fraction:
        """What shares are taken of: epsilon, or mu**2."""
        return self.epsilon if self.law is Law.LAPLACE else Fraction(mu_below(self.epsilon, self.delta)) ** 2

    def noise(self, moved: tuple[Fraction, int], share: Fraction) -> Laplace | Gaussian:
        """The mechanism that spends a share on totals of this sensitivity."""
        bound, exact = moved
        if self.law is Law.LAPLACE:
            return Laplace(sensitivity=bound, epsilon=self.epsilon * share)
        return Gaussian(sensitivity=bound, scale=root_above(exact / (self.strength * share)))

    def scale_of(self, bound: Fraction, share: Fraction) -> Fraction:
        """The noise scale (sigma) that a share gives totals of this sensitivity; rounded up."""
        if self.law is Law.LAPLACE:
            return bound / (self.epsilon * share)
        return root_above(bound**2 / (self.strength * share))

    def variance(self, moved: float, share: float) -> float:
        """The variance of the noise, to plan with."""
        if self.law is Law.LAPLACE:
            return 2 * (moved / (float(self.epsilon) * share)) ** 2
        return moved**2 / (float(self.strength) * share)
