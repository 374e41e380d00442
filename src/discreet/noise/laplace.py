"""Exact discrete Laplace noise, a million draws at a time.

Claim
    ``DiscreteLaplace.of_scale(scale).sample(n, words)`` returns n independent draws of the *capped law*: Z where,
    exactly, P(Z = z) = (1-q)/(1+q) q^|z| over all integers z, with q = exp(-1/scale); but -2**62 and 2**62 stand for
    all that lies at or beyond them. It holds for every rational scale above zero. `tail`, `quantile` and `variance`
    speak of Z.
Requires
    ``words(n)`` returns n independent uniform 64-bit words (`entropy` owes it). For the cap to be invisible, a caller
    adds the draw to a total within -2**61..2**61 and then clamps the sum to that range.
Relies on
    `Geometric.sample`: exact draws of min(G, 2**62), P(G >= k) = q^k. `symmetric`: signs. `certified_comparison`:
    floors and upper ends of Arb balls.
Proof
    By `symmetric`, P(Z = z) is proportional to P(G = |z|), that is, to q^|z|.
    *Cap.* min(G, 2^62) is zero when G is, so the rejection is the same, and the result is Z held in -2^62..2^62. Let
    the caller's total be |x| <= 2^61: if |Z| >= 2^62 then |x + Z| >= 2^61, with Z's sign, capped or not. So the
    clamped sum is the same function of x + Z as without the cap: post-processing of the uncapped mechanism.
    *Quantile.* P(|Z| > t) = 2 q^(t+1)/(1+q). P(max of d draws of |Z| <= t) >= c when P(|Z| > t) <= b = 1 - c^(1/d),
    when t + 1 >= x = scale log(2 / ((1+q) b)). x is above 0, and is never an integer: otherwise q would be a root of
    a polynomial with rational coefficients, and it is transcendental (Lindemann 1882). So the smallest t is floor(x).
Rounding
    Draws: none. `quantile`: none. `tail` and `variance`: up to a float, by less than three units in the last place.
    For the capped law all three are upper bounds.
Source
    Ghosh, Roughgarden, Sundararajan, Universally utility-maximizing privacy mechanisms (STOC 2009): the law. Canonne,
    Kamath, Steinke, The Discrete Gaussian for Differential Privacy (NeurIPS 2020), algorithm 2: sign and rejection.
Mutant
    magnitudes-alone: the draws have no sign; killed by test_negative_zero_is_drawn_again.
    quantile-one-short: the quantile is an integer lower; killed by test_the_quantile_is_the_smallest.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import partial

import numpy as np
from numpy.typing import NDArray

from discreet.exact.amounts import whole_number
from discreet.exact.cached_property import cached_property
from discreet.noise.certified_comparison import decided, float_above, real, whole_part
from discreet.noise.entropy import RandomWords
from discreet.noise.geometric import CAP, CHUNK, Geometric, exact_scale
from discreet.noise.noise_quantiles import checked_level, miss_probability
from discreet.noise.symmetric_law import in_chunks, symmetric

__all__ = ["CAP", "DiscreteLaplace"]

PRECISION = 128
"""Bits at which the law's figures are first asked for."""


@dataclass(frozen=True)
class DiscreteLaplace:
    """Exact draws of P(Z = z) = (1-q)/(1+q) q^|z|, q = exp(-1/scale), over the integers, held in -2**62..2**62.

    Make one with `DiscreteLaplace.of_scale`. The scale has the unit of the draws. Added to an integer total that one
    person moves by at most D, it gives epsilon = D/scale (Ghosh, Roughgarden, Sundararajan 2009).

    >>> from discreet.noise.entropy import fresh_words
    >>> law = DiscreteLaplace.of_scale(Fraction(10))
    >>> law.sample(4, fresh_words()).dtype
    dtype('int64')
    >>> law.quantile(0.95), law.quantile(0.95, dimension=3143)
    (30, 110)
    """

    scale: Fraction

    @classmethod
    def of_scale(cls, scale: Fraction) -> DiscreteLaplace:
        """The law with this scale; its tables are made by the first draw: error bars need none.

        Raises:
            InvalidParameter: the scale is not a `Fraction` above zero.
        """
        return cls(exact_scale(scale))

    @cached_property
    def magnitude(self) -> Geometric:
        """A draw without its sign; the tables take some milliseconds, and are kept for recent scales."""
        return Geometric.of_scale(self.scale)

    def sample(self, n: int, words: RandomWords) -> NDArray[np.int64]:
        """n independent draws, shape (n,), dtype int64, in -2**62..2**62 where the ends stand for all beyond.

        Clamp what you add a draw to, and the sum, to -2**61..2**61: then the cap cannot be seen (the module's proof).

        Raises:
            InvalidParameter: n is not a count.
            DiscreetError: `words` failed.
        """
        return in_chunks(partial(symmetric, self.magnitude.chunk), n, words, CHUNK)

    def tail(self, t: int) -> float:
        """P(|Z| >= t), rounded up: 2 q^t / (1+q) for t >= 1, and 1 for t <= 0.

        Raises:
            InvalidParameter: t is not an integer.

        >>> round(DiscreteLaplace.of_scale(Fraction(10)).tail(30), 4)
        0.0523
        """
        steps = whole_number("t", t)
        if steps <= 0:
            return 1.0
        rate = 1 / self.scale
        return decided(lambda: float_above(2 * (-real(rate * steps)).exp() / (1 + (-real(rate)).exp())), PRECISION)

    def quantile(self, confidence: object, *, dimension: int = 1) -> int:
        """The smallest t with P(|Z_i| <= t for all i of `dimension` independent draws) >= confidence, exactly.

        Args:
            confidence: strictly between 0 and 1; a float means its printed decimal.
            dimension: how many draws must all be within t.

        Raises:
            InvalidParameter: the confidence or the dimension is outside its range.

        >>> DiscreteLaplace.of_scale(Fraction(1)).quantile(0.9)
        2
        """
        level, draws = checked_level(confidence, dimension)

        def least() -> int | None:
            q = (-real(1 / self.scale)).exp()
            return whole_part(real(self.scale) * (2 / ((1 + q) * miss_probability(level, draws))).log())

        return decided(least, PRECISION)

    @property
    def variance(self) -> float:
        """E Z**2 = 2 q / (1-q)**2, rounded up to a float (infinity when above all floats).

        >>> round(DiscreteLaplace.of_scale(Fraction(10)).variance, 3)
        199.833
        """
        rate = 1 / self.scale
        return decided(lambda: float_above(2 * (-real(rate)).exp() / (-real(rate)).expm1() ** 2), PRECISION)
