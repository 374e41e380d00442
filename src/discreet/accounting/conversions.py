"""From zCDP, Rényi and Gaussian differential privacy to (epsilon, delta).

Claim
    A rho-zCDP mechanism is (epsilon, `zcdp_delta(rho, epsilon)`)- and (`zcdp_epsilon(rho, delta)`, delta)-DP, and
    `zcdp_rho(epsilon, delta)` is a rho that suffices for both; `renyi_epsilon` converts one Rényi bound, and
    `gdp_delta` and `gdp_epsilon` mu-GDP. The textbook conversions are no smaller.
Requires
    rho, epsilon, mu above 0 and alpha above 1; delta in (0, 1).
Relies on
    `gaussian_profile` for GDP; floats to within `ROUNDING` of the exponents; `exact.bisection` for the side of the
    inverses.
Proof
    With Rényi divergence r at order alpha, (1 - e^(epsilon - l))+ <= c e^((alpha-1)(l - epsilon)) with c the largest
    value of (1 - e^-x) e^(-(alpha-1)x), (1 - 1/alpha)^alpha/(alpha - 1); so delta <= c e^((alpha-1)(r - epsilon)):
    every alpha gives a bound, and the search over alpha can lose tightness, not truth. For zCDP r = alpha rho.
Rounding
    delta and epsilon up, rho down.
Source
    Canonne, Kamath and Steinke, The Discrete Gaussian for Differential Privacy (2020), Proposition 12; Bun and Steinke
    (2016), Proposition 1.3; Mironov (2017), Proposition 3; Dong, Roth and Su (2022), Corollary 2.13.
Mutant
    no-constant: the constant c is taken for 1/(alpha - 1)^2; killed by test_zcdp_conversions_are_the_references.
    exponent-to-nearest: the exponential is taken for exact; killed by test_no_delta_is_below_its_conversion.
    rho-up: the calibrated rho is rounded up; killed by test_rho_is_on_the_private_side.
"""

from __future__ import annotations

import math
from fractions import Fraction

from discreet.accounting import gaussian_profile
from discreet.errors import InvalidParameter, expected
from discreet.exact.amounts import LEAST_FLOAT, above_zero, checked_amount, fraction, positive, proper_delta
from discreet.exact.bisection import first_power, float_down, float_up, greatest, least

Amount = float | Fraction

ROUNDING = 2.0**-46
EXPONENTIAL = 2.0**-50
"""How far an exponential and a product may be off, as a part of it; an exponent near 0 has no error that covers it."""
LARGEST_ORDER = 1e300
FARTHEST = 1e100
"""Of a larger epsilon the delta of this one is returned, which is no smaller."""


def zcdp_delta(rho: Amount, epsilon: Amount) -> float:
    """The delta of a rho-zCDP mechanism at `epsilon`, by the tight conversion.

    >>> 1.98e-6 < zcdp_delta(0.01, 0.6) < 1.99e-6
    True
    """
    return delta_of(float_up(positive("rho", rho)), float_down(above_zero("epsilon", epsilon)))


def zcdp_epsilon(rho: Amount, delta: Amount, *, textbook: bool = False) -> float:
    """The epsilon of a rho-zCDP mechanism at `delta`; ``textbook=True`` gives rho + 2 sqrt(rho log 1/delta).

    >>> 4.7 < zcdp_epsilon(0.5, 1e-5) < zcdp_epsilon(0.5, 1e-5, textbook=True) < 5.4
    True
    """
    return epsilon_of(float_up(positive("rho", rho)), float_down(proper_delta(delta)), textbook=textbook)


def delta_of(loss: float, place: float) -> float:
    """The delta of a rho of `loss` at the epsilon `place`, unchecked; rounded up."""
    place = min(place, FARTHEST)  # delta falls
    if not place > 0.0 < loss:
        return 1.0
    return min(math.exp(_best_log_delta(loss, place)) * (1.0 + EXPONENTIAL) + LEAST_FLOAT, 1.0)


def epsilon_of(loss: float, small: float, *, textbook: bool = False) -> float:
    """The epsilon of a rho of `loss` at the delta `small`, unchecked; rounded up."""
    simple = (loss + 2.0 * math.sqrt(loss * -math.log(small))) * (1.0 + ROUNDING)

    def private(place: float) -> bool:
        return place > 0 and _best_log_delta(loss, place) <= math.log(small)

    # Where no float is near enough to the best order, the textbook's theorem is all that there is.
    return simple if textbook or not private(simple) else least(private, 0.0, simple)


def zcdp_rho(epsilon: Amount, delta: Amount) -> float:
    """The largest rho whose tight conversion gives (epsilon, delta)-DP, rounded down.

    >>> 0.02435 < zcdp_rho(1, 1e-6) < 0.02436
    True
    """
    place, small = float_down(positive("epsilon", epsilon)), math.log(float_down(proper_delta(delta)))

    def private(rho: float) -> bool:
        return _best_log_delta(rho, place) <= small

    high = first_power(lambda rho: not private(rho), place + 1.0, 2.0)
    return greatest(private, first_power(private, place, 1.0 / 16.0), high)


def renyi_epsilon(alpha: Amount, divergence: Amount, delta: Amount, *, textbook: bool = False) -> float:
    """The epsilon at `delta` of a mechanism with that Rényi divergence of order `alpha`.

    >>> round(renyi_epsilon(2, 0.5, 1e-5), 4), round(renyi_epsilon(2, 0.5, 1e-5, textbook=True), 4)
    (10.6266, 12.0129)
    """
    order, small = fraction("alpha", alpha), float_down(proper_delta(delta))
    if order <= 1:
        raise InvalidParameter(expected("an order above 1", "alpha", alpha, "Rényi bounds convert for orders above 1."))
    # 1 + above would round it away.
    bound, above = float_up(positive("divergence", divergence)), float_down(checked_amount("alpha - 1", order - 1))
    price = -math.log(small) / above
    if textbook:
        return (bound + price) * (1.0 + ROUNDING)
    found = bound + price + math.log(above) - math.log1p(above) * (1.0 + 1.0 / above)
    return max(found + ROUNDING * (bound + price + abs(math.log(above)) + 1.0), 0.0)


def gdp_delta(mu: Amount, epsilon: Amount) -> float:
    """The delta of a mu-GDP mechanism at `epsilon`.

    >>> round(gdp_delta(1, 1), 4)
    0.1269
    """
    return gaussian_profile.delta_above(positive("mu", mu), fraction("epsilon", epsilon))


def gdp_epsilon(mu: Amount, delta: Amount) -> float:
    """The epsilon of a mu-GDP mechanism at `delta`.

    >>> round(gdp_epsilon(1, 1e-5), 3)
    4.377
    """
    return gaussian_profile.epsilon_above(positive("mu", mu), proper_delta(delta))


def _best_log_delta(rho: float, epsilon: float) -> float:
    """The smallest over alpha of log delta, rounded up; the exponent is convex in alpha."""

    def rises(over_one: float) -> bool:
        alpha = 1.0 + over_one  # the derivative grows with it, and its root is above 1 + 2^-40
        slope = (2.0 * alpha - 1.0) * rho - epsilon + math.log1p(-1.0 / alpha)
        return slope >= 0.0 or alpha >= LARGEST_ORDER

    high = first_power(rises, max((epsilon + 1.0) / rho + 1.0, 3.0), 2.0)
    alpha = 1.0 + least(rises, 2.0**-40, high)
    raised = (alpha - 1.0) * rho * alpha
    lowered = (alpha - 1.0) * epsilon
    # alpha log(1 - 1/alpha) - log(alpha - 1), written so that neither end of the orders cancels
    above = alpha - 1.0
    near = above * math.log(above) - alpha * math.log1p(above)
    constant = near if alpha < 2.0 else alpha * math.log1p(-1.0 / alpha) - math.log(above)
    found = raised - lowered + constant + ROUNDING * (raised + lowered + abs(constant))
    return 0.0 if math.isnan(found) else min(found, 0.0)  # delta is at most 1, also where no float holds the order
