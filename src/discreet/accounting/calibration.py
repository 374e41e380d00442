"""The smallest noise for a wanted guarantee.

Claim
    Gaussian noise of deviation `gaussian_sigma(sensitivity, epsilon, delta)`, drawn anew for each of `uses` answers,
    makes all of them together (epsilon, delta)-DP; no deviation smaller by more than 1e-9 of itself does.
    `gaussian_variance` does so for rho-zCDP, exactly, `laplace_scale_for_rho` with Laplace noise; `laplace_scale` for
    epsilon, exactly, and with a delta for `uses` answers together.
Requires
    `sensitivity`: L2 for Gaussian noise, L1 for Laplace noise. Noise continuous, or a certified rounding of it.
Relies on
    `gaussian_profile.mu_below`; `privacy_loss` for composed Laplace noise.
Proof
    `uses` answers with mu each are one with mu sqrt(uses) (Dong, Roth and Su, Corollary 3.3), so sigma^2 = uses
    sensitivity^2/mu^2, with mu rounded down and the root rounded up. Pure epsilon is min(epsilon^2/2, epsilon)-zCDP
    (Bun and Steinke 2016, Proposition 3.3; no divergence is above epsilon), and rho adds up. The classical formulas are
    the theorems named at them, and are refused where those do not hold.
Rounding
    Up, at the 16th decimal digit.
Source
    Balle and Wang (2018), Theorem 8. Dwork and Roth (2014), Theorem A.1.
Mutant
    uses-as-sigma: sigma is multiplied by the number of uses below its root; killed by test_uses_share_the_guarantee.
    sigma-down: the last digit is cut off; killed by test_last_digit_is_rounded_up.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction
from typing import Literal

from discreet.accounting import gaussian_profile
from discreet.accounting.conversions import Amount
from discreet.accounting.event_losses import laplace_loss
from discreet.errors import InvalidParameter, expected
from discreet.exact.amounts import at_least_one, confidence_level, delta_or_zero, positive, proper_delta, root_above
from discreet.exact.bisection import float_down, float_up, greatest, least

DIGITS = 16
ERROR = 2.0**-48
"""Of erf, erfc and logarithms, relative."""
Calibration = Literal["exact", "classical", "lecture_notes", "note"]


def gaussian_sigma(
    sensitivity: Amount, epsilon: Amount, delta: Amount, *, uses: int = 1, calibration: Calibration = "exact"
) -> Fraction:
    """The standard deviation that gives (epsilon, delta)-DP, rounded up.

    ``calibration="classical"`` is sqrt(2 log(1.25/delta))/epsilon, proved for epsilon < 1; ``"lecture_notes"`` is
    sqrt(2 log(2/delta))/epsilon, for epsilon <= 1 and delta <= 1/2; ``"note"`` is log(1/delta)/epsilon, refused where
    it is below the exact one.

    >>> float(gaussian_sigma(1, 1, 1e-6))
    4.22467888932...
    """
    reach, place, small = positive("sensitivity", sensitivity), positive("epsilon", epsilon), proper_delta(delta)
    number = at_least_one("uses", uses)
    if calibration == "exact":
        return rounded_up(root_above(number * (reach / Fraction(gaussian_profile.mu_below(place, small))) ** 2))
    if calibration not in _FORMULAS:
        cure = f"the known ones are {', '.join(map(repr, ['exact', *_FORMULAS]))}."
        raise InvalidParameter(expected("a calibration", "calibration", calibration, cure))
    if number != 1:
        cure = "leave calibration at 'exact' for several uses."
        raise InvalidParameter(expected("one use for a textbook formula", "uses", uses, cure))
    ratio, valid, domain = _FORMULAS[calibration]
    wanted = Fraction(ratio(float_down(small)) * (1.0 + 2.0**-48)) / place
    enough = calibration != "note" or wanted >= 1 / Fraction(gaussian_profile.mu_below(place, small))
    if not (valid(place, small) and enough):
        cure = f"this formula is proved for {domain}; leave calibration at 'exact', which needs less noise anyway."
        raise InvalidParameter(expected(f"{domain}", "epsilon", epsilon, cure))
    return rounded_up(reach * wanted)


_FORMULAS: dict[str, tuple[Callable[[float], float], Callable[[Fraction, Fraction], bool], str]] = {
    "classical": (lambda d: math.sqrt(2.0 * math.log(1.25 / d)), lambda e, _: e < 1, "epsilon below 1"),
    "lecture_notes": (
        lambda d: math.sqrt(2.0 * math.log(2.0 / d)),
        lambda e, d: e <= 1 and d <= Fraction(1, 2),
        "epsilon up to 1 and delta up to 1/2",
    ),
    "note": (lambda d: math.log(1.0 / d), lambda e, _: e <= 1, "epsilon up to 1 and a delta small enough"),
}


def gaussian_variance(sensitivity: Amount, rho: Amount, *, uses: int = 1) -> Fraction:
    """The variance that gives rho-zCDP, exactly: uses sensitivity^2/(2 rho).

    >>> gaussian_variance(2, 0.5, uses=3)
    Fraction(12, 1)
    """
    return at_least_one("uses", uses) * positive("sensitivity", sensitivity) ** 2 / (2 * positive("rho", rho))


def laplace_scale(sensitivity: Amount, epsilon: Amount, delta: Amount = 0, *, uses: int = 1) -> Fraction:
    """The scale of Laplace noise for `uses` answers that are (epsilon, delta)-DP together.

    >>> laplace_scale(1, 0.1), laplace_scale(1, 1, 1e-6, uses=100) < 42
    (Fraction(10, 1), True)
    """
    reach, place, number = (
        positive("sensitivity", sensitivity),
        positive("epsilon", epsilon),
        at_least_one("uses", uses),
    )
    basic = number * reach / place
    if not delta_or_zero(delta):
        return basic
    small, limit = proper_delta(delta), float_up(place)

    def private(each: float) -> bool:
        return (number * laplace_loss(Fraction(each))).delta(place) <= float_down(small)

    low = float_down(place / number) * (1.0 - 2.0**-30)
    each = greatest(private, low, limit * 2.0 + 1.0, relative=1e-6)
    return min(rounded_up(reach / Fraction(each)), basic)


def laplace_scale_for_rho(sensitivity: Amount, rho: Amount, *, uses: int = 1) -> Fraction:
    """The scale of Laplace noise for `uses` answers that are rho-zCDP together.

    Less than epsilon = sqrt(2 rho) asks for, since Laplace noise has a smaller rho than epsilon^2/2.

    >>> laplace_scale_for_rho(1, 0.5) < 1, laplace_scale_for_rho(1, 2) < 0.34
    (True, True)
    """
    reach, each = positive("sensitivity", sensitivity), positive("rho", rho) / at_least_one("uses", uses)
    sure = float_down(max(1 / root_above(1 / (2 * each)), each))

    def private(epsilon: float) -> bool:
        return epsilon <= sure or Fraction(laplace_loss(Fraction(epsilon)).rho) <= each

    return rounded_up(reach / Fraction(greatest(private, sure, 1.5 * sure + 2.0, relative=1e-6)))


def gaussian_sigma_for_error(within: Amount, confidence: Amount) -> Fraction:
    """The largest deviation whose noise stays `within` with at least that probability, rounded down.

    >>> round(float(gaussian_sigma_for_error(10, 0.95)), 3)
    5.102
    """
    reach, sure = positive("within", within), confidence_level(confidence)
    hit, miss = float_up(sure) * (1.0 + ERROR), float_down(1 - sure) * (1.0 - ERROR)

    def inside(times: float) -> bool:
        x = times / math.sqrt(2.0)
        return math.erf(x) >= hit if sure < Fraction(1, 2) else math.erfc(x) <= miss

    return reach / Fraction(least(inside, 0.0, 40.0))


def laplace_scale_for_error(within: Amount, confidence: Amount) -> Fraction:
    """The largest scale whose noise stays `within` with at least that probability, rounded down.

    >>> round(float(laplace_scale_for_error(10, 0.95)), 3)
    3.338
    """
    reach, sure = positive("within", within), confidence_level(confidence)
    small = sure < Fraction(1, 2)
    times = -math.log1p(-float_up(sure)) if small else -math.log(float_down(1 - sure))
    return reach / Fraction(times * (1.0 + ERROR))


def rounded_up(amount: Fraction) -> Fraction:
    """`amount` with `DIGITS` significant decimal digits, rounded up.

    >>> rounded_up(Fraction(2, 3)) - Fraction(2, 3) < Fraction(1, 10**15)
    True
    """
    rounding = Context(prec=DIGITS, rounding=ROUND_CEILING)
    return Fraction(rounding.divide(Decimal(amount.numerator), Decimal(amount.denominator)))
