"""The privacy profile of Gaussian noise, enclosed.

Claim
    `profile(mu, epsilon)` is a ball, as narrow as asked, that contains delta(epsilon) of the pair N(0, 1), N(mu, 1),
    the least delta for which a Gaussian mechanism with sensitivity/sigma = mu is (epsilon, delta)-differentially
    private; `delta_above` is a float above it, `epsilon_above` one above its inverse, and `mu_below` a mu that meets a
    given (epsilon, delta), at most 2**-44 of itself below the largest.
Requires
    mu > 0; any real epsilon; delta in (0, 1).
Relies on
    Arb's enclosures of erfc and exp; `exact.bisection` for the side on which it returns.
Proof
    delta(epsilon) = Phi(mu/2 - epsilon/mu) - e^epsilon Phi(-mu/2 - epsilon/mu): Theorem 8 of the source, with
    Phi(-x) = erfc(x / sqrt 2)/2. It grows with mu and falls with epsilon, so both inverses are thresholds of monotone
    conditions, each tested with the certified end of the ball. Far out, where Arb's erfc of a ball is wide, e^epsilon
    erfc(y) = e^(epsilon - y^2) U(1/2, 1/2, y^2)/sqrt(pi) (DLMF 7.11.5), and epsilon - y^2 is minus the square of the
    other argument.
Rounding
    By the name of each function.
Source
    Balle and Wang, Improving the Gaussian Mechanism for Differential Privacy (2018), Theorem 8.
Mutant
    half-mu-forgotten: the tail is taken at epsilon/mu; killed by test_profile_is_the_reference.
    lower-end-tested: calibration accepts a ball slightly above delta; killed by test_mu_is_on_the_private_side.
    compared-in-callers-bits: a ball is compared at the working precision of the program around; killed by
    test_calibrations_do_not_depend_on_the_working_precision.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

from flint import arb, ctx

from discreet.exact.amounts import LEAST_FLOAT
from discreet.exact.bisection import first_power, greatest, least
from discreet.noise.certified_comparison import decided, float_above, real

PRECISION = 128
NARROW = 2.0**-60
TINY = 2**-10000
"""A delta below this is as good as none: no float can tell it from zero."""

FAR = 1000
"""Standard deviations from which the confluent hypergeometric function stands for erfc."""


def profile(mu: Fraction, epsilon: Fraction) -> arb:
    """A ball around delta(epsilon), of relative radius `NARROW` or below `TINY`."""
    return decided(lambda: _profile(mu, epsilon), PRECISION)


def _profile(mu: Fraction, epsilon: Fraction) -> arb | None:
    root, near, far = arb(2).sqrt(), real(epsilon / mu - mu / 2), epsilon / mu + mu / 2
    first = (near / root).erfc()
    if far > FAR:
        second = (-(near**2) / 2).exp() * (real(far) ** 2 / 2).hypgeom_u(arb(0.5), arb(0.5)) / arb.pi().sqrt()
    else:
        second = real(epsilon).exp() * (real(far) / root).erfc()
    delta = (first - second) / 2
    if not delta.is_finite():
        return None
    narrow = bool(delta.rad() <= abs(delta.mid()) * NARROW)
    return delta if narrow or bool(abs(delta) < arb(2) ** -10000) else None


@lru_cache(maxsize=4096)
def delta_above(mu: Fraction, epsilon: Fraction) -> float:
    """The least delta, rounded up."""
    ball = profile(mu, epsilon)
    return min(float_above(ball), 1.0) if bool(ball > 0) else LEAST_FLOAT


@lru_cache(maxsize=4096)
def epsilon_above(mu: Fraction, delta: Fraction) -> float:
    """The least epsilon >= 0 for `delta`, rounded up."""
    if _meets(mu, Fraction(0), delta):
        return 0.0

    def private(epsilon: float) -> bool:
        return _meets(mu, Fraction(epsilon), delta)

    return least(private, 0.0, first_power(private, 1.0, 2.0))


@lru_cache(maxsize=4096)
def mu_below(epsilon: Fraction, delta: Fraction) -> float:
    """The largest mu that is (epsilon, delta)-differentially private, rounded down."""

    def private(mu: float) -> bool:
        return _meets(Fraction(mu), epsilon, delta)

    low = first_power(private, 1.0, 0.5)
    high = first_power(lambda mu: not private(mu), 2.0 * low, 2.0)
    return greatest(private, low, high, relative=2.0**-44)


def _meets(mu: Fraction, epsilon: Fraction, delta: Fraction) -> bool:
    """Whether the whole ball around delta(epsilon) is within `delta`."""
    ball = profile(mu, epsilon)
    with ctx.workprec(PRECISION):
        return bool(ball.upper() <= real(delta))
