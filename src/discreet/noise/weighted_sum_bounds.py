"""What a weighted sum of many rounded noises stays within, from a few sums over its terms instead of all of them.

Claim
    S = sum_j w_j Y_j, Y_j independent: normal variables of any standard deviations, rounded to the nearest integers, or
    discrete Laplace variables of any scales. X_j are the normal or Laplace variables that they come from. With a
    `SummedNoise` of the variance of sum_j w_j X_j, the largest standard deviation of a w_j X_j, the sum of w_j^2 and
    that of |w_j|, each or more, P(|S| > half_width(confidence)) is at most 1 - confidence. So it is for -t < S < t with
    t = log_concave_quantile(miss) standard deviations of any even S with a log-concave density.
Requires
    Confidences above 0 and below 1.
Relies on
    SciPy's normal distribution.
Proof
    *Log-concave.* P(|S| > t) is log-concave in t, from 1 at 0 on (Prékopa). Where it is p, it is p^(u/t) at least at
    u < t, so the variance, the integral of 2 u P(|S| > u), is at least t^2 times that of 2 v p^v from 0 to 1, which is
    2 (1 - p (1 + L)) / L^2 with L = log(1/p).
    *Laplace* variables, and their sums, are normal ones of random variance: X_j of scale b_j has variance 2 b_j^2 E_j,
    E_j standard exponential. So P(|S_X| > t) = E f(W), with W = sum_j 2 b_j^2 E_j (weights in the scales) of mean V and
    f(w) the chance that a normal variable of variance w passes t. At x = t / sqrt(w), (log f)' = h(x) x^3 / (2 t^2), h
    the normal hazard; both factors rise with x, so log f is concave, and below its tangent at any w. With the slope r
    there, E f(W) <= f(w) exp(-r w) E exp(r W), and log E exp(r W) = -sum_j log(1 - 2 r b_j^2), at most a times -log(1 -
    r V / a), a = V / (2 max b_j^2), since -log(1 - u) / u rises. With r w = h x / 2 and r V = h x^3 / (2 T^2), T = t /
    sqrt(V), this is `miss` where T^2 = h x^3 / (2 a (1 - e)), e = (2 Phi(-x) exp(-h x / 2) / miss)^(1/a) < 1. Each x
    gives such a T.
    *Rounding.* Always |S - S_X| <= sum |w_j| / 2 for normal variables. Beside that, S - S_X is a sum of independent
    even variables, w_j times one whose density falls from 0 to 1/2; so even moments are no larger than those of a
    uniform one, and P(|S - S_X| >= r) <= 2 exp(-6 r^2 / sum w_j^2). For Laplace variables, X_j is E - E' with
    exponentials of one mean, Y_j the difference of their floors, and X_j - Y_j that of their fractional parts: less
    than 1, even, and independent of Y_j, for exponentials are without memory. So P(|S_X| >= t - r) is at least P(|S|
    >= t) times P(S_X - S >= -r), which is 1/2 at r = 0, and 1 - exp(-3 r^2 / sum w_j^2) at least: for the logarithm of
    E exp(u F), F a fractional part, has as its second derivative the variance of an exponential law on [0, 1], which is
    1/12 at most.
Rounding
    Floats, raised by one part in 10^9.
Source
    Prékopa, "On logarithmic concave measures and functions" (1973). Hoeffding, "Probability inequalities for sums of
    bounded random variables" (1963), for the method. Andrews and Mallows, "Scale mixtures of normal distributions"
    (1974).
Mutant
    many-normal-terms: a sum of Laplace noise is taken for a normal one, however few its terms; killed by
    test_no_sum_passes_more_often.
    whole-noise-for-free: rounding to whole numbers adds nothing; killed by test_no_sum_passes_more_often.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

PARTS = (1 / 4, 1 / 8, 1 / 16, 1 / 64)
"""Of the probability of a miss, given to rounding."""
PLACES = np.geomspace(0.05, 40.0, 400)
"""Where tangents are drawn."""
RAISED = 1 + 1e-9


class SummedNoise(NamedTuple):
    """A sum of noises, as far as is known.

    >>> one = SummedNoise(variance=200.0, largest=200.0**0.5, squares=1.0, sizes=1.0)
    >>> round(one.half_width(0.95, gaussian=False), 1), round(one.half_width(0.95, gaussian=True), 1)
    (34.5, 28.2)
    """

    variance: float
    largest: float
    """The largest standard deviation of a term."""
    squares: float
    """The sum of the squares of the weights; where weights are of totals in steps, in rows."""
    sizes: float
    """The sum of the weights without their signs."""

    def half_width(self, confidence: float, *, gaussian: bool) -> float:
        """What the sum stays within with this confidence."""
        miss = 1 - confidence
        if gaussian:
            found = [self._before_rounding(miss, gaussian=True) + self.sizes / 2]
        else:
            found = [self._before_rounding(miss, gaussian=False) + self.sizes]
            found.append(self._before_rounding(miss / 2, gaussian=False))
        for part in PARTS:
            root = math.log(2 / (miss * part)) / 6 if gaussian else -math.log(part) / 3
            near = self._before_rounding(miss * (1 - part), gaussian=gaussian)
            found.append(near + math.sqrt(self.squares * root))
        return RAISED * min(found)

    def _before_rounding(self, miss: float, *, gaussian: bool) -> float:
        from scipy import special  # slow to import

        if gaussian:
            return -float(special.ndtri(miss / 2)) * math.sqrt(self.variance)
        few = log_concave_quantile(miss)
        if not 0.0 < self.largest < math.inf:
            return few * math.sqrt(self.variance)
        terms = max(self.variance / self.largest**2, 1.0)
        tail = special.log_ndtr(-PLACES)
        hazard = np.exp(-(PLACES**2) / 2 - math.log(2 * math.pi) / 2 - tail)
        above = -np.expm1(np.minimum((tail + math.log(2 / miss) - hazard * PLACES / 2) / terms, 0.0))
        squares = np.where(above > 0.0, hazard * PLACES**3 / (2 * terms * np.maximum(above, 1e-300)), np.inf)
        return min(few, math.sqrt(float(squares.min()))) * math.sqrt(self.variance)


def log_concave_quantile(miss: float) -> float:
    """What |X| passes with this probability at most, of standard deviations, X even and log-concave.

    >>> round(log_concave_quantile(0.05), 3)
    2.368
    """
    miss = min(miss, 0.99)  # beyond, the difference of what is nearly equal is lost in rounding
    depth = -math.log(miss)
    return depth / math.sqrt(2 * (1 - miss * (1 + depth)))
