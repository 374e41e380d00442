"""Gaussian noise: normal noise rounded with certainty on whole numbers, the same on a fine lattice for reals.

Claim
    For vectors f(D) with L2 distance at most `sensitivity` between neighbors, `Gaussian(...).release(f(D))` is a
    function of f(D) + N(0, sigma^2 I), sigma = `scale`: mu-Gaussian-differentially private with mu = sensitivity/sigma,
    and rho-zCDP with rho = mu^2/2. With calibration "exact", and with the others where they are accepted, it is
    (epsilon, delta)-differentially private.
Requires
    The true L2 sensitivity of the whole array.
Relies on
    `noise.gaussian.RoundedNormal`: x + draw is the rounding of N(x, sigma^2) for integers x.
    `vector_lattice.VectorLattice`. The largest private mu of `accounting.gaussian_profile.mu_below`.
Proof
    Rounding each coordinate is post-processing of the continuous mechanism on the integer vector (theory of Dong, Roth
    and Su). Reals become integers at most (sensitivity + r step)/step apart, for which sigma is raised in proportion.
    *Calibrations.* Each sigma below is rounded up. "classical", sensitivity sqrt(2 log(1.25/delta))/epsilon: Dwork and
    Roth's theorem A.1, for 0 < epsilon < 1 (its proof needs c >= 3/2, hence delta <= 2/5). "lecture_notes", sqrt(2
    log(2/delta)) sensitivity/epsilon: the tail of the loss, mu^2/2 + mu g > epsilon, for 0 < epsilon <= 1, delta <=
    1/2. "logarithmic", sensitivity log(1/delta)/epsilon: no smaller than "lecture_notes" where log(1/delta)^2 >= 2
    log(2/delta), that is, for delta <= 0.078. Each result is compared with the exact calibration, and refused if it
    were below.
    *Largest.* |round(X)| <= |X| + 1/2 and P(|X| > sigma t) <= 2 exp(-t^2/2), so the largest of d is at most
    sigma sqrt(2 log(2d/beta)) + 1/2 but with probability beta, and sigma sqrt(2 log(2d)) + 1/2 on average.
Rounding
    sigma up; figures up.
Source
    Balle and Wang, Improving the Gaussian Mechanism for Differential Privacy (ICML 2018). Dwork and Roth (2014), A.1.
    Dong, Roth and Su, Gaussian Differential Privacy (2022). Bun and Steinke (2016).
Mutant
    classical-anywhere: the classical formula is taken at any epsilon; killed by test_formulas_are_refused_outside.
    one-coordinate-spared: the last number gets no noise; killed by test_the_last_number_is_blurred.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from flint import arb, ctx
from numpy.typing import ArrayLike, NDArray

from discreet.accounting.event_losses import HasLoss
from discreet.accounting.gaussian_profile import mu_below
from discreet.errors import InvalidParameter, expected, nearest_name
from discreet.exact.amounts import (
    at_least_one,
    checked_amount,
    confidence_level,
    decimal_text,
    positive,
    proper_delta,
    root_above,
)
from discreet.guesses.misfit_calls import with_usage_hint
from discreet.mechanisms.calibrate_epsilon import smallest_epsilon
from discreet.mechanisms.largest_error import Reals, expected_largest
from discreet.mechanisms.vector_lattice import VectorLattice, lattice_sensitivity, step_for, summed
from discreet.noise.certified_comparison import float_above, real
from discreet.noise.entropy import RandomWords, fresh_words
from discreet.noise.gaussian import RoundedNormal
from discreet.noise.symmetric_law import PRECISION
from discreet.privacy.events import GaussianEvent

CALIBRATIONS = {
    "exact": "any epsilon above 0",
    "classical": "0 < epsilon < 1 and delta <= 2/5",
    "lecture_notes": "0 < epsilon <= 1 and delta <= 1/2",
    "logarithmic": "0 < epsilon <= 1 and delta <= 0.078",
}
"""Where each formula is a theorem."""

NEEDED = "write a delta far below one over the number of people, as delta=1e-6; without delta use Laplace noise."

FORGOTTEN = 13.0
"""Beyond so many sigma after the largest, tails are below 1e-37."""


@dataclass(frozen=True, kw_only=True, slots=True, init=False)
class Gaussian(HasLoss):
    """Adds normal noise to a number or an array of any shape: rounded with certainty on integers, which stay integers,
    and on a lattice of a millionth of the sensitivity on floats.

    Args:
        sensitivity: how far one unit moves the whole array, in L2 norm.
        epsilon: what a release costs, together with
        delta: which is the second of the two; or instead
        rho: of zero-concentrated differential privacy; or instead
        scale: sigma, the standard deviation.
        calibration: "exact" (Balle, Wang 2018), or, to see what the textbooks give, "classical", "lecture_notes" or
            "logarithmic", which are refused where they are no theorems.

    Raises:
        InvalidParameter: an amount is outside its range, or too many or too few are stated.

    >>> g = Gaussian(sensitivity=1, epsilon=1, delta=1e-6)
    >>> round(float(g.scale), 4)
    4.2247
    >>> round(float(Gaussian(sensitivity=1, epsilon=0.5, delta=1e-6, calibration="classical").scale), 4)
    10.5976
    >>> type(g.release(42)), g.error(confidence=0.95, dimension=100)
    (<class 'int'>, 15)
    """

    sensitivity: Fraction
    scale: Fraction
    """sigma, exactly."""

    @with_usage_hint("dp.Gaussian(sensitivity={}, epsilon={}, delta=1e-6)")
    def __init__(
        self,
        *,
        sensitivity: object,
        epsilon: object = None,
        delta: object = None,
        rho: object = None,
        scale: object = None,
        calibration: str = "exact",
    ) -> None:
        exact = positive("sensitivity", sensitivity)
        stated = (epsilon is not None or delta is not None, rho is not None, scale is not None)
        if sum(stated) != 1 or (epsilon is None) != (delta is None):
            cure = "state epsilon and delta, or rho, or scale."
            given = [
                name for name, is_given in zip(("epsilon, delta", "rho", "scale"), stated, strict=True) if is_given
            ]
            raise InvalidParameter(expected("one price of the noise", "stated", given, cure))
        if scale is not None:
            sigma = positive("scale", scale)
        elif rho is not None:
            sigma = root_above(exact**2 / (2 * positive("rho", rho)))
        else:
            sigma = exact * _sigma(positive("epsilon", epsilon), proper_delta(delta, NEEDED), calibration)
        checked_amount("mu**2", (exact / sigma) ** 2)
        object.__setattr__(self, "sensitivity", exact)
        object.__setattr__(self, "scale", checked_amount("scale", sigma))

    def __repr__(self) -> str:
        return f"Gaussian(sensitivity={decimal_text(self.sensitivity)}, scale={decimal_text(self.scale)})"

    @property
    def mu(self) -> Fraction:
        """sensitivity / scale, exactly: the mu of Gaussian differential privacy."""
        return self.sensitivity / self.scale

    @property
    def rho(self) -> Fraction:
        """mu**2 / 2, exactly: the rho of zero-concentrated differential privacy."""
        return self.mu**2 / 2

    def real_scale(self, dimension: int = 1) -> Fraction:
        """The sigma of the noise on an array of so many floats: rounding is paid for by at most one part in 2**20."""
        step = step_for(self.sensitivity, at_least_one("dimension", dimension))
        return lattice_sensitivity(self.sensitivity, step, dimension, norm=2) * step / self.mu

    @property
    def event(self) -> GaussianEvent:
        """What a release writes into the record."""
        return GaussianEvent(mu2=self.mu**2)

    @with_usage_hint(".release(42)")
    def release(self, values: ArrayLike) -> Any:
        """`values` with independent noise in each entry: the same shape; ints stay ints, floats stay floats.

        Raises:
            InvalidParameter: a value is missing, infinite or NaN, or no number.

        >>> Gaussian(sensitivity=1, rho=0.1).release(np.arange(6).reshape(2, 3)).shape
        (2, 3)
        """
        grid = VectorLattice.of(values, self.sensitivity)
        sigma = grid.sensitivity(self.sensitivity, norm=2) / self.mu
        noise = RoundedNormal.of_variance(sigma**2).sample(grid.integers.size, fresh_words())
        return grid.shaped(summed(grid.integers, noise))

    def add_noise(self, totals: NDArray[Any], words: RandomWords) -> NDArray[Any]:
        """Integer totals, of any size and shape, with noise made of `words`: what the curator calls."""
        flat = totals.reshape(-1)
        noise = RoundedNormal.of_variance(self.scale**2).sample(flat.size, words)
        return summed(flat, noise).reshape(totals.shape)

    @property
    def variance(self) -> float:
        """The variance of the noise on an integer, sigma**2 + 1/12 but for tiny sigma, rounded up."""
        return RoundedNormal.of_variance(self.scale**2).variance

    @with_usage_hint(".error(confidence={})")
    def error(self, *, confidence: object = 0.95, dimension: int = 1, reals: bool = False) -> int | float:
        """By how much the worst of `dimension` answers is off at most, with this confidence: the exact quantile.

        Args:
            confidence: strictly between 0 and 1.
            dimension: how many numbers are released.
            reals: whether they are floats, whose lattice adds a little.

        Raises:
            InvalidParameter: the confidence or the dimension is outside its range.
        """
        if not reals:
            return RoundedNormal.of_variance(self.scale**2).quantile(confidence, dimension=dimension)
        step = step_for(self.sensitivity, at_least_one("dimension", dimension))
        law = RoundedNormal.of_variance((self.real_scale(dimension) / step) ** 2)
        return float(law.quantile(confidence, dimension=dimension) * step + step / 2)

    def expected_error(self, dimension: int = 1) -> float:
        """How far off the worst of `dimension` integers is on average, rounded up (by less than 1 in 10^4).

        >>> round(Gaussian(sensitivity=1, scale=100).expected_error(1), 1)
        79.8
        """
        reach = float(self.scale) * (math.sqrt(2 * math.log(at_least_one("dimension", dimension))) + FORGOTTEN) + 1
        return expected_largest(self._tail, reach, dimension)

    def bound(self, *, dimension: int = 1, confidence: object = None) -> float:
        """What the textbook bound says of the worst of `dimension` integers: of its mean, or of its quantile.

        sigma sqrt(2 log(2 dimension / (1 - confidence))) + 1/2; without a confidence, sigma sqrt(2 log(2 dimension)) +
        1/2.

        >>> g = Gaussian(sensitivity=1, scale=10)
        >>> round(g.bound(dimension=100, confidence=0.95), 1) >= g.error(confidence=0.95, dimension=100)
        True
        """
        miss = Fraction(1) if confidence is None else 1 - confidence_level(confidence)
        many = Fraction(2 * at_least_one("dimension", dimension)) / miss
        with ctx.workprec(PRECISION):
            return float_above((2 * real(many).log()).sqrt() * real(self.scale) + arb(0.5))

    @classmethod
    def epsilon_for(
        cls,
        *,
        within: object,
        delta: object,
        sensitivity: object = 1,
        dimension: int = 1,
        confidence: object = 0.95,
    ) -> Fraction:
        """The smallest epsilon, to four digits, at which all of `dimension` integers are off by at most `within`.

        >>> float(Gaussian.epsilon_for(within=10, delta=1e-6))
        0.7745
        """
        allowed = positive("within", within)

        def meets(epsilon: Fraction) -> bool:
            tried = cls(sensitivity=sensitivity, epsilon=epsilon, delta=delta)
            return tried.error(confidence=confidence, dimension=dimension) <= allowed

        return smallest_epsilon(meets, within)

    def _tail(self, t: Reals) -> Reals:
        """P(|Y| >= t) for t >= 1."""
        from scipy import special  # slow to import

        return np.asarray(special.erfc((t - 0.5) / (float(self.scale) * math.sqrt(2))))


def _sigma(epsilon: Fraction, delta: Fraction, calibration: str) -> Fraction:
    """sigma for sensitivity 1, rounded up."""
    if calibration not in CALIBRATIONS:
        raise InvalidParameter(
            expected("a known calibration", "calibration", calibration, nearest_name(calibration, CALIBRATIONS))
        )
    least = 1 / Fraction(mu_below(epsilon, delta))
    if calibration == "exact":
        return least
    with ctx.workprec(PRECISION):
        root = {
            "classical": (2 * real(Fraction(5, 4) / delta).log()).sqrt(),
            "lecture_notes": (2 * real(2 / delta).log()).sqrt(),
            "logarithmic": real(1 / delta).log(),
        }[calibration]
        sigma = Fraction(float_above(root / real(epsilon)))
    valid = {
        "classical": epsilon < 1 and delta <= Fraction(2, 5),
        "lecture_notes": epsilon <= 1 and delta <= Fraction(1, 2),
        "logarithmic": epsilon <= 1 and delta <= Fraction(78, 1000),
    }[calibration]
    if not valid or sigma < least:
        cure = f"this formula is a theorem for {CALIBRATIONS[calibration]} only; leave calibration at 'exact'."
        got = f"{decimal_text(epsilon)}, delta={decimal_text(delta)}"
        raise InvalidParameter(expected(f"what {calibration!r} is proved for", "epsilon", got, cure))
    return sigma
