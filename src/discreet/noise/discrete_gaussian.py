"""Exact discrete Gaussian noise.

Claim
    ``DiscreteGaussianLaw.of_parameter(sigma2).sample(n, words)`` returns n independent integers Z where, exactly,
    P(Z = z) is proportional to exp(-z^2 / (2 sigma2)) over all integers; for every rational sigma2 above zero. `tail`,
    `quantile` and `variance` speak of Z.
Requires
    ``words(n)`` returns n independent uniform 64-bit words (`entropy` owes it).
Relies on
    `half_gaussian.Strips`: exact draws of a magnitude G with P(G = g) proportional to exp(-g^2 / (2 sigma2)) on 0, 1,
    2, ....
Proof
    `symmetric` gives the magnitude a sign.
    *Tail.* With T_t = g_t + g_(t+1) + ..., P(|Z| >= t) = 2 T_t / (1 + 2 T_1) = 2 T_t / (2 T_0 - 1). Up to sigma2 = 2^16
    the sums are added up. Beyond, by Euler and Maclaurin, T_t = I + g_t / 2 - g'_t / 12 + R, with I the integral from t
    on and |R| at most 0.0098 times the integral of |g'''| from t on, as 2 zeta(3) / (2 pi)^3 < 0.0098; that integral
    is the total variation of g'' = (x^2 - 1) exp(-x^2 / 2) / sigma2 in x = t / sigma: at most 1.9 / sigma2, and
    (x^2 - 1) g_t / sigma2 for x >= sqrt 3, where g'' falls.
    *Variance.* At most sigma2 (Canonne, Kamath, Steinke, corollary 9); up to sigma2 = 2^8 its series is added up.
    *Quantile.* The tail falls with t: bisection, with the tail's upper end.
Rounding
    Draws: none. `tail` and `variance`: up to a float. `quantile`: exact, or up, where the tail's enclosure does not
    tell (relative width below 1e-6).
Source
    Canonne, Kamath, Steinke, The Discrete Gaussian for Differential Privacy (NeurIPS 2020).
Mutant
    half-of-the-law: the draws have no sign; killed by test_narrow_laws.
    tail-above-t: the tail leaves out t itself; killed by test_tails_and_variances.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
from flint import arb, ctx
from numpy.typing import NDArray

from discreet.errors import InvalidParameter, expected
from discreet.noise.certified_comparison import float_above, real
from discreet.noise.entropy import RandomWords
from discreet.noise.gaussian import CHUNK
from discreet.noise.half_gaussian import ONE_WORD, Strips, bell_sums
from discreet.noise.symmetric_law import PRECISION, SymmetricLaw, in_chunks, symmetric

SUMMED = 1 << 16
"""Up to this sigma2, tails are sums."""

STRIP_LIMIT = 1 << 10


@dataclass(frozen=True, slots=True)
class DiscreteGaussianLaw(SymmetricLaw):
    """Exact draws of P(Z = z) proportional to exp(-z**2 / (2 sigma2)); `DiscreteGaussianLaw.of_parameter` makes one.

    >>> from discreet.noise.entropy import fresh_words
    >>> law = DiscreteGaussianLaw.of_parameter(Fraction(100))
    >>> law.sample(4, fresh_words()).dtype
    dtype('int64')
    >>> law.quantile(0.95)
    20
    """

    parameter: Fraction
    """sigma2, which is not quite the variance."""
    source: Strips = field(repr=False, compare=False)

    @classmethod
    def of_parameter(cls, sigma2: Fraction) -> DiscreteGaussianLaw:
        """The law with this sigma2; its tables are made once (some milliseconds) and kept.

        Raises:
            InvalidParameter: sigma2 is not a `Fraction` above zero.
        """
        if not isinstance(sigma2, Fraction) or sigma2 <= 0:
            cure = "give sigma2 as fractions.Fraction(numerator, denominator), above 0."
            raise InvalidParameter(expected("an exact sigma2 above 0", "sigma2", sigma2, cure))
        return cls(sigma2, Strips.of(sigma2, whole=True))

    def sample(self, n: int, words: RandomWords) -> NDArray[Any]:
        """n independent draws, shape (n,): int64, or Python integers where a draw does not fit.

        Raises:
            InvalidParameter: n is not a count.
            DiscreetError: `words` failed.
        """
        return in_chunks(partial(symmetric, self._magnitudes), n, words, CHUNK)

    def _magnitudes(self, n: int, words: RandomWords) -> NDArray[Any]:
        strip, place = self.source.sample(n, words)
        k = self.source.bits
        if k == 0:
            return strip
        if k <= ONE_WORD and int(strip.max(initial=0)) < STRIP_LIMIT:
            fine: NDArray[np.int64] = (place[0] >> np.uint64(64 - k)).astype(np.int64)
            return (strip << k) + fine
        exact = np.empty(n, dtype=object)
        for i, (j, *rest) in enumerate(zip(strip.tolist(), *place.tolist(), strict=True)):
            bits = 0
            for word in rest:
                bits = (bits << 64) | word
            exact[i] = (j << k) + (bits >> (64 * len(rest) - k))
        return exact

    def folded_tail(self, t: int) -> arb:
        """P(|Z| >= t) for t >= 1, at the working precision.

        >>> DiscreteGaussianLaw.of_parameter(Fraction(1)).folded_tail(1) < arb(0.60106)
        True
        """
        c = 1 / self.parameter
        if self.parameter > SUMMED:
            return 2 * _wide_sum(self.parameter, t) / (2 * _wide_sum(self.parameter, 0) - 1)
        sums = bell_sums(c, ctx.prec)
        return 2 * (sums[t] if t < len(sums) else sums[-1].union(arb(0))) / (2 * sums[0] - 1)

    @property
    def variance(self) -> float:
        """E Z**2, or sigma2, which is no smaller; rounded up to a float.

        >>> round(DiscreteGaussianLaw.of_parameter(Fraction(1, 4)).variance, 12)
        0.215012675088
        """
        with ctx.workprec(PRECISION):
            bound = real(self.parameter)
            if self.parameter > 1 << 8:
                return float_above(bound)
            sums = bell_sums(1 / self.parameter, ctx.prec)
            squares = sum(((2 * j - 1) * sums[j] for j in range(1, len(sums))), arb(0))
            # What is left out is below the last sum times a polynomial: far below the precision asked for.
            rest = sums[-1] * len(sums) ** 3 * 4
            exact = 2 * (squares + rest.union(arb(0))) / (2 * sums[0] - 1)
            return min(float_above(exact), float_above(bound))


def _wide_sum(sigma2: Fraction, t: int) -> arb:
    """g_t + g_(t+1) + ... for a large sigma2, enclosed by Euler and Maclaurin."""
    square = real(sigma2)
    sigma = square.sqrt()
    x = arb(t) / sigma
    here = (-x * x / 2).exp()
    integral = sigma * (arb.pi() / 2).sqrt() * (x / arb(2).sqrt()).erfc()
    variation = (x * x - 1) * here / square if x * x >= 3 else arb(1.9) / square
    rest = arb("0.0098") * variation
    return integral + here / 2 + x * here / (12 * sigma) + rest.union(-rest)
