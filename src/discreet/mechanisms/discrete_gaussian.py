"""Discrete Gaussian noise, with its exact delta.

Claim
    For integer vectors f(D) of `dimension` numbers with L2 distance at most `sensitivity` between neighbors,
    `DiscreteGaussian(...).release(f(D))` is rho-zCDP with rho = sensitivity^2 / (2 sigma2); for one number it is
    (epsilon, `delta(epsilon)`)-differentially private, and no smaller delta would do. It is not mu-GDP for mu =
    sensitivity/sigma, and nothing here says so.
Requires
    The true L2 sensitivity of the whole array. With delta, one number and a whole sensitivity.
Relies on
    `noise.discrete_gaussian.DiscreteGaussian`: the exact law and its tails.
Proof
    rho: Canonne, Kamath, Steinke, theorem 4, coordinate by coordinate. *delta.* For a shift D the loss at z is (D^2 +
    2 D z)/(2 sigma2) up to sign, which exceeds epsilon for z > epsilon sigma2/D - D/2; hence their theorem 7: delta =
    P(Z > epsilon sigma2/D - D/2) - e^epsilon P(Z > epsilon sigma2/D + D/2). It is not smaller for a larger shift
    (log-concave), so the largest dominates. *Calibration.* sigma2 is searched upward in steps of one part in 2^12 from
    that of the continuous law, until its own delta is small enough, and where `NEAR` steps do not reach it, between
    there and the sigma2 whose rho suffices for any law; the result is tested, so no monotonicity is needed.
Rounding
    delta up; sigma2 up.
Source
    Canonne, Kamath, Steinke, The Discrete Gaussian for Differential Privacy (NeurIPS 2020), theorems 4 and 7.
Mutant
    continuous-price: the delta of the continuous law is taken; killed by test_delta_is_its_own.
    strict-for-weak: the first z beyond the threshold is left out; killed by test_delta_is_the_definition.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from flint import arb
from numpy.typing import ArrayLike

from discreet.accounting.calibration import rounded_up
from discreet.accounting.conversions import zcdp_rho
from discreet.accounting.event_losses import loss_of
from discreet.accounting.gaussian_profile import mu_below
from discreet.accounting.privacy_loss import Loss
from discreet.errors import InvalidParameter, expected
from discreet.exact.amounts import (
    at_least_one,
    checked_amount,
    confidence_level,
    decimal_text,
    fraction,
    positive,
    proper_delta,
)
from discreet.exact.bisection import first_power, float_down, float_up, least
from discreet.guesses.misfit_calls import with_usage_hint
from discreet.mechanisms.gaussian import FORGOTTEN, NEEDED
from discreet.mechanisms.largest_error import Reals, expected_largest
from discreet.mechanisms.vector_lattice import VectorLattice, summed
from discreet.noise import discrete_gaussian as noise
from discreet.noise.certified_comparison import decided, float_above, real
from discreet.noise.entropy import fresh_words
from discreet.privacy.events import ConcentratedEvent, DiscreteGaussianEvent, Event

PRECISION = 256
FAR, LEAST_FLOAT = 1600, 5e-324
"""delta is at most P(Z >= t) <= exp(-t**2 / (2 sigma2)), as for a Gaussian (Canonne, Kamath, Steinke 2020): where t**2
is more than so many sigma2, that is below every float, and it is above 0.
"""
NARROW = 2.0**-45
FINER = Fraction(2**12 + 1, 2**12)
"""By how much sigma2 grows at a time when it is searched."""
NEAR = 80
"""How often, from a little below the continuous law's."""


@dataclass(frozen=True, kw_only=True, slots=True, init=False)
class DiscreteGaussian:
    """Adds discrete Gaussian noise, P(z) proportional to exp(-z**2 / (2 sigma2)), to an integer or integers.

    Args:
        sensitivity: how far one unit moves the whole array, in L2 norm.
        rho: what a release costs in zero-concentrated differential privacy; or instead
        epsilon: the same for one number, by the law's own exact delta, together with
        delta: which is the second of the two; or instead
        scale: the square root of sigma2.

    Unlike `Gaussian` it has no mu: at sigma 4.2247 its delta at epsilon 1 is 1.0197e-6, above the 1e-6 of the
    continuous law.

    Raises:
        InvalidParameter: an amount is outside its range, or too many or too few are stated.

    >>> d = DiscreteGaussian(sensitivity=1, rho=0.5)
    >>> d.sigma2, d.error(confidence=0.95), type(d.release(7))
    (Fraction(1, 1), 2, <class 'int'>)
    >>> f"{DiscreteGaussian(sensitivity=1, scale=4.22468).delta(1):.5g}"
    '1.0197e-06'
    """

    sensitivity: Fraction
    sigma2: Fraction
    """The parameter, which is not quite the variance."""
    alone: bool
    """Whether its price, in epsilon and delta, holds for one number only."""

    @with_usage_hint("dp.DiscreteGaussian(sensitivity={}, epsilon={}, delta=1e-6)")
    def __init__(
        self,
        *,
        sensitivity: object,
        rho: object = None,
        epsilon: object = None,
        delta: object = None,
        scale: object = None,
    ) -> None:
        exact = positive("sensitivity", sensitivity)
        stated = (epsilon is not None or delta is not None, rho is not None, scale is not None)
        if sum(stated) != 1 or (epsilon is None) != (delta is None):
            cure = "state rho, or epsilon and delta, or scale."
            given = [
                name for name, is_given in zip(("epsilon, delta", "rho", "scale"), stated, strict=True) if is_given
            ]
            raise InvalidParameter(expected("one price of the noise", "stated", given, cure))
        if scale is not None:
            sigma2 = positive("scale", scale) ** 2
        elif rho is not None:
            sigma2 = exact**2 / (2 * positive("rho", rho))
        else:
            sigma2 = _calibrated(_whole(exact), positive("epsilon", epsilon), proper_delta(delta, NEEDED))
        checked_amount("rho", exact**2 / (2 * sigma2))
        object.__setattr__(self, "sensitivity", exact)
        object.__setattr__(self, "sigma2", checked_amount("sigma2", sigma2))
        object.__setattr__(self, "alone", stated[0])

    def __repr__(self) -> str:
        return f"DiscreteGaussian(sensitivity={decimal_text(self.sensitivity)}, sigma2={decimal_text(self.sigma2)})"

    @property
    def scale(self) -> float:
        """The square root of sigma2, rounded up."""
        return decided(lambda: float_above(real(self.sigma2).sqrt()), PRECISION)

    @property
    def rho(self) -> Fraction:
        """sensitivity**2 / (2 sigma2), exactly: the rho of zero-concentrated differential privacy."""
        return self.sensitivity**2 / (2 * self.sigma2)

    def delta(self, epsilon: object) -> float:
        """The exact delta of one number at this epsilon, rounded up to a float.

        Raises:
            InvalidParameter: epsilon is negative, or the sensitivity is not a whole number.
        """
        stated = fraction("epsilon", epsilon)
        if stated < 0:
            raise InvalidParameter(expected("an epsilon of 0 or more", "epsilon", epsilon, "write epsilon=1."))
        return exact_delta(self.sigma2, _whole(self.sensitivity), stated)

    @property
    def loss(self) -> Loss:
        """The privacy-loss random variable of one number; for several, only `rho` is known.

        Raises:
            InvalidParameter: the sensitivity is not whole, or sigma2 too large for a table.
        """
        return loss_of(self._event_of_one)

    @property
    def event(self) -> Event:
        """What a release writes into the record: its own law for one number, its rho where it may be several."""
        return self._event_of_one if self.alone else ConcentratedEvent(rho=self.rho)

    @property
    def _event_of_one(self) -> Event:
        return DiscreteGaussianEvent(sensitivity=self.sensitivity, sigma2=self.sigma2)

    @with_usage_hint(".release(42)")
    def release(self, values: ArrayLike) -> Any:
        """Integers with independent exact noise in each: the same shape, integers.

        Raises:
            InvalidParameter: a value is no integer.
        """
        grid = VectorLattice.of(values, self.sensitivity)
        if grid.is_real:
            cure = "use Gaussian for floats, or round them and count what rounding adds to the sensitivity."
            raise InvalidParameter(expected("integers", "values", "floats", cure))
        if self.alone and grid.integers.size > 1:
            cure = "its exact delta is known for one number; state rho=, or use Gaussian."
            raise InvalidParameter(expected("one number", "shape", np.shape(values), cure))
        drawn = self._law.sample(grid.integers.size, fresh_words())
        return grid.shaped(summed(grid.integers, drawn))

    @property
    def _law(self) -> noise.DiscreteGaussianLaw:
        return noise.DiscreteGaussianLaw.of_parameter(self.sigma2)

    @property
    def variance(self) -> float:
        """The variance of the noise, never above sigma2, rounded up."""
        return self._law.variance

    @with_usage_hint(".error(confidence={})")
    def error(self, *, confidence: object = 0.95, dimension: int = 1) -> int:
        """By how much the worst of `dimension` answers is off at most, with this confidence: the quantile.

        Raises:
            InvalidParameter: the confidence or the dimension is outside its range.
        """
        return self._law.quantile(confidence, dimension=dimension)

    def expected_error(self, dimension: int = 1) -> float:
        """How far off the worst of `dimension` integers is on average, rounded up (by less than 1 in 10^4)."""
        reach = self.scale * (math.sqrt(2 * math.log(at_least_one("dimension", dimension))) + FORGOTTEN) + 1
        return expected_largest(self._tails, reach, dimension)

    def bound(self, *, dimension: int = 1, confidence: object = None) -> float:
        """What the sub-Gaussian bound says of the worst of `dimension` integers: of its mean, or of its quantile.

        sigma sqrt(2 log(2 dimension / (1 - confidence))), as the noise is sub-Gaussian with sigma2 (Canonne, Kamath,
        Steinke); without a confidence, sigma sqrt(2 log(2 dimension)).
        """
        miss = Fraction(1) if confidence is None else 1 - confidence_level(confidence)
        many = Fraction(2 * at_least_one("dimension", dimension)) / miss
        return decided(lambda: float_above((2 * real(many).log() * real(self.sigma2)).sqrt()), PRECISION)

    def _tails(self, t: Reals) -> Reals:
        """P(|Z| >= t) for t >= 1, from above by less than 1 in 10^5."""
        from scipy import special  # slow to import

        sigma = math.sqrt(self.sigma2)
        if self.sigma2 > noise.SUMMED:
            return np.asarray(special.erfc((t - 0.5) / (sigma * math.sqrt(2))) * (1 + 1e-5))
        reach = int(sigma * 40) + 2
        g = np.exp(-(np.arange(reach, dtype=np.float64) ** 2) / (2 * float(self.sigma2)))
        sums = np.cumsum(g[::-1])[::-1]
        return np.asarray(2 * sums[np.minimum(t.astype(np.int64), reach - 1)] / (2 * sums[0] - 1))


def _whole(sensitivity: Fraction) -> int:
    if sensitivity.denominator != 1:
        cure = "integers move by whole numbers; state the next one above."
        raise InvalidParameter(expected("a whole sensitivity", "sensitivity", sensitivity, cure))
    return sensitivity.numerator


def exact_delta(sigma2: Fraction, shift: int, epsilon: Fraction) -> float:
    """delta(epsilon) of the pair Z, Z + shift, rounded up.

    >>> round(exact_delta(Fraction(1), 1, Fraction(1)), 10)
    0.1413513394
    """
    middle, half = epsilon * sigma2 / shift, Fraction(shift, 2)
    near, far = math.floor(middle - half) + 1, math.floor(middle + half) + 1  # the first z beyond each threshold
    if near > 0 and near**2 > FAR * sigma2:
        return LEAST_FLOAT
    law = noise.DiscreteGaussianLaw.of_parameter(sigma2)

    def enclosed() -> arb | None:
        delta = _above(law, near) - real(epsilon).exp() * _above(law, far)
        clear = delta.rad() <= abs(delta.mid()) * NARROW or delta.upper() < arb(2) ** -1100
        return delta if clear or sigma2 > noise.SUMMED else None  # beyond, a tail's error is not one of precision

    delta = decided(enclosed, PRECISION)
    return max(0.0, min(1.0, float_above(delta))) if delta.upper() > 0 else 0.0


def _above(law: noise.DiscreteGaussianLaw, t: int) -> arb:
    """P(Z >= t)."""
    return law.folded_tail(t) / 2 if t >= 1 else 1 - law.folded_tail(1 - t) / 2


def _calibrated(shift: int, epsilon: Fraction, delta: Fraction) -> Fraction:
    """A sigma2 whose own delta is at most this, near the smallest."""

    def private(sigma2: Fraction | float) -> bool:
        return exact_delta(Fraction(sigma2), shift, epsilon) <= delta

    sigma2 = (shift / Fraction(mu_below(epsilon, delta))) ** 2 * (2 - FINER) ** (NEAR // 2)
    for _ in range(NEAR):
        sigma2 = rounded_up(sigma2 * FINER)
        if private(sigma2):
            return sigma2
    enough = float_up(shift**2 / (2 * Fraction(zcdp_rho(epsilon, delta))) * FINER)
    return Fraction(least(private, float_down(sigma2), first_power(private, enough, 2.0), relative=float(FINER - 1)))
