"""A contour integral as a finite sum, with a lower and an upper bound.

Claim
    For independent losses of which `values` holds M(z) = prod E[e^(z L_i)] on the frequencies of one contour, `delta`
    and `tail` enclose E[(1 - e^(epsilon - L))+; L finite] and P(t < L < infinity).
Requires
    `values` within its `errors`, and `missing` at least what was left out; theta > 0; a mollifier of at most 1/2.
Relies on
    NumPy's complex exp, cos and sin to within 8 rounding units; `pairwise_summation`.
Proof
    *Integral.* (1 - e^(epsilon - l))+ has the transform e^(-z epsilon)/(z (z+1)), so with M(z) = prod E[e^(z L_i)], for
    any theta > 0: delta(epsilon) = 1/(2 pi) int M(z) e^(-z epsilon)/(z(z+1)) d omega, z = theta + i omega. Infinite
    losses have no part in M, and add 1 - prod(1 - infinite_i).
    *Sum.* The trapezoid rule with step w gives, by Poisson's formula, sum over n of delta(epsilon + nT) e^(n T theta),
    T = 2 pi/w: too much, never too little. The terms with n < 0 are at most e^(-|n| T theta); those with n > 0 are at
    most c M(2 theta) e^(-2 theta epsilon - n T theta), by Chernoff, c = the maximum of (1 - e^-x) e^(-2 theta x) < 1.
    *Mollifier.* Where no Gaussian is among the pairs, M need not decay. Composing with one more Gaussian mechanism of a
    tiny mu only raises delta, so the upper end may use it. It raises it by E[g(epsilon - L)], g(s) = delta_mu(s) -
    (1 - e^s)+. By symmetry g(s) <= delta_mu(|s|), and with x = |s|/mu - mu/2 and Mills' ratio R (falling, convex,
    R' = xR - 1), delta_mu(|s|) = phi(x)(R(x) - R(x + mu)) <= mu phi(x)(1 - x R(x)), which for mu <= 1/2 is at most
    1.5 mu/sqrt(2 pi) exp(-s^2/(2 (1.25 mu)^2)). The expectation of that bump is the integral of M(z) e^(-z epsilon)
    1.5 mu 1.25 mu e^((1.25 mu z)^2/2), which the same sum bounds from above; the lower end is lowered by it. For the
    tail the jump is smoothed by a normal of mean 0: |1(s > 0) - Phi(s/mu)| <= exp(-s^2/(2 mu^2))/2.
Rounding
    The errors of `values`, of the angles and of the sums are added to the upper end and taken from the lower. Sizes are
    exponentials of differences of at most three terms, each rounded twice: 8 units of all terms and of 1. What is not a
    number becomes 0 below and 1 above.
Source
    Zhu, Dong and Wang (2022): characteristic functions; Alghamdi et al., The Saddle-Point Method in Differential
    Privacy (2023): the contour through the saddle point. Mollifier and certificate are our own.
Mutant
    mollifier-is-free: the lower end forgets what the mollifier adds; killed by test_bounds_hold_at_an_atom.
    size-off-by-a-part: a size is taken to be off by a part of itself, be that above 1; killed by
        test_a_steep_line_knows_nothing.
    not-a-number-is-below: an upper end that is not a number is passed on; killed by test_not_a_number_is_no_bound.
    exponents-off-by-a-part: the error of an exponent is taken for that of a moment, be it above 1; killed by
        test_the_error_of_an_exponent_may_be_a_factor.
    below-floats-is-none: an upper end below every float is 0; killed by
        test_what_no_float_can_compose_is_not_called_small.
    aliases-are-free: the lower end forgets the neighbors of the trapezoid sum; killed by
        test_coarse_sums_stay_certified.
    aliases-below-floats: an exponent is cut to what a float holds before others are added to it; killed by
        test_a_line_far_from_its_place_says_less_not_wrong.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from discreet.accounting.dominating_pairs import Complexes, Reals
from discreet.accounting.pairwise_summation import UNIT, additions, total

HEIGHT, WIDTH = 1.5, 1.25
"""Of the bump that bounds what the mollifier adds, in units of mu/sqrt(2 pi) and of mu: the proof has them."""

TERM = 48.0
"""Rounding units of one term: exp twice 8, its argument 4, a quotient and products 16, cos and sin 4, what turns 8."""
LEAST = 2.0**-1072
"""What a product may lose below the smallest float of full precision."""


class Bounds(NamedTuple):
    """A number that is known to lie between two floats."""

    lower: float
    upper: float


@dataclass(frozen=True, slots=True)
class Sum:
    """A trapezoid sum over one contour, as a function of the place; all in parts of M(theta) e^(-theta place)."""

    omega: Reals
    terms: Complexes
    still: float
    """Bound on its error at place 0."""
    turning: float
    """Bound on what the error grows by for each unit of |place|."""

    @classmethod
    def of(cls, values: Values, kernel: Complexes) -> Sum:
        """The sum of M times `kernel`."""
        sizes = np.abs(kernel) * values.weights
        present = sizes * np.abs(values.moments)
        missing = values.missing * float(np.max(np.abs(kernel)))
        each = (TERM + additions(present.size)) * UNIT
        still = float((sizes * values.errors).sum()) + each * float(present.sum()) + missing
        omega = values.z.imag
        return cls(omega, values.moments * kernel * values.weights, still, 2.0 * UNIT * float((present * omega).sum()))

    def at(self, place: float) -> tuple[float, float]:
        """The sum and a bound on its error."""
        # Not by `@`: for these few numbers the threads of a BLAS take longer to meet than to add.
        angles = self.omega * place
        turned = total(np.cos(angles) * self.terms.real + np.sin(angles) * self.terms.imag)
        return turned, self.still + self.turning * abs(place)


class Values(NamedTuple):
    """M on the frequencies of one contour."""

    z: Complexes
    weights: Reals
    """Step over pi; half of that at frequency zero."""
    moments: Complexes
    """M(z)/M(theta), Gaussian pairs included, mollifier left out."""
    errors: Reals
    """Bound on the error of the logarithm of each of them."""
    missing: float
    """Bound on the weighted sum of all that was left out."""


def finite_or_widest(ends: Callable[[], Bounds], widest: Bounds) -> Bounds:
    """These ends; the widest where no float holds what they are made of."""
    try:
        with np.errstate(all="ignore"):  # what is no number bounds nothing
            return ends()
    except OverflowError:
        return widest


class ContourIntegral:
    """One contour, ready for any place."""

    def __init__(self, values: Values, logs: tuple[float, float], *, mollifier: float, period: float) -> None:
        with np.errstate(over="ignore"):  # of exponents, which need not be small; no moment is above the first
            values = values._replace(errors=np.expm1(values.errors) * np.exp(values.errors[0]))
        self._z, self._values = values.z, values
        self.theta = float(values.z[0].real)
        # The aliases of the smoothed loss are larger by the mollifier's own moment at 2 theta.
        self._log_real, self._log_alias = logs[0], logs[1] + mollifier**2 * (2.0 * self.theta**2 + self.theta)
        self._mollifier = mollifier
        self._period = period
        square = mollifier**2
        kernel: Complexes = np.exp(square / 2.0 * (self._z**2 + self._z)) / (self._z * (self._z + 1.0))
        self._delta = Sum.of(values, kernel)
        bump = (HEIGHT * WIDTH * square * np.exp(WIDTH**2 / 2.0 * square * self._z**2)).astype(np.complex128)
        self._bump = Sum.of(values, bump) if square else None

    def delta(self, epsilon: float) -> Bounds:
        """Both ends for the finite losses."""
        return self._ends(epsilon, self._delta, self._bump)

    def tail(self, t: float) -> Bounds:
        """Both ends of P(t < L < infinity)."""
        square = self._mollifier**2
        normal = np.exp(square / 2.0 * self._z**2).astype(np.complex128)
        bump = Sum.of(self._values, 0.5 * math.sqrt(2.0 * math.pi) * self._mollifier * normal) if square else None
        lower, upper = self._ends(t, Sum.of(self._values, normal / self._z), bump)
        # Unlike delta, a smoothed tail may also be too small by the bump.
        return Bounds(lower, min(2.0 * upper - lower, 1.0))

    def _ends(self, place: float, total: Sum, bump: Sum | None) -> Bounds:
        value, error = total.at(place)
        log_size = self._log_real - self.theta * place
        span = self.theta * self._period
        # Far out the exponents below are wrong by more than 1, so that it takes a factor, not a part to be subtracted.
        exponents = abs(self._log_real) + abs(self._log_alias) + self.theta * (abs(place) + self._period)
        off = _exp(8.0 * UNIT * (1.0 + exponents))
        # Not in parts of the size, which no float may hold: a product is an exponential of a sum, taken last.
        aliases = (_exp(-span) + _exp(self._log_alias - 2.0 * self.theta * place - span)) / -math.expm1(-span) * off
        raised = sum(bump.at(place)) if bump else 0.0
        root = _exp(log_size / 2.0)  # its square may be no float, or one of few digits
        lower = (value - error - raised) * root * root / off - aliases - LEAST
        upper = (value + error) * root * root * off + LEAST
        # What is not a number (infinity times nothing, far out) says nothing: no comparison with it is true.
        return Bounds(min(lower, 1.0) if lower > 0.0 else 0.0, max(upper, 0.0) if upper < 1.0 else 1.0)


def _exp(exponent: float) -> float:
    """e to it; infinite where that is above all floats."""
    return math.exp(exponent) if exponent < 709.0 else math.inf
