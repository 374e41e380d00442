"""Normal noise, rounded to whole numbers with certainty.

Claim
    ``RoundedNormal.of_variance(variance).sample(n, words)`` returns n independent integers Y, each the nearest integer
    to a real X of the normal law with mean 0 and exactly this variance; for every rational variance above zero. For an
    integer x, x + Y is therefore the rounding of a draw of N(x, variance): a function of what the continuous Gaussian
    mechanism would have said. `tail`, `quantile` and `variance` speak of Y.
Requires
    ``words(n)`` returns n independent uniform 64-bit words (`entropy` owes it).
Relies on
    `inverse_transform.Inversion`, `half_gaussian.Strips`, the bits of words: exact draws. Arb's enclosures of erf and
    exp.
Proof
    Let s = sqrt(variance). *Narrow* (s < 64): |Y| >= j when |X| >= j - 1/2, up to a set of measure zero, so
    P(|Y| >= j) = erfc((j - 1/2) / (s sqrt 2)) for j >= 1, which is tabulated; the sign is a fair bit, independent by
    symmetry.
    *Wide*: |X| = 2^k (J + U) by `Strips`. The integer nearest to it is 2^k J + floor((floor(2^(k+1) U) + 1) / 2), for
    which the first k+1 bits of U suffice.
    *Rounding an integer's normal.* round(x + X) = x + round(X) for integers x.
    *Variance.* With Y = X + e, e = sum_k (-1)^k sin(2 pi k X) / (pi k), E X sin(2 pi k X) = 2 pi k s^2 r^(k^2) and
    E cos(2 pi k X) = r^(k^2), r = exp(-2 pi^2 s^2): E Y^2 = s^2 + 1/12 + sum_k (-1)^k r^(k^2) (4 s^2 + 1/(pi k)^2). An
    alternating series whose terms fall once s >= 1/2. Below that, E Y^2 = sum_j (2j-1) P(|Y| >= j), where each term
    is below a 1/e of the one before.
    *Quantile.* P(max of d draws of |Y| <= t) = erf((t + 1/2) / (s sqrt 2))^d >= c exactly when t + 1/2 >= x = s sqrt 2
    erfinv(c^(1/d)), so the smallest such t is the ceiling of x - 1/2. Should no precision up to 4,096 bits part
    x - 1/2 from an integer, the integer above is returned.
Rounding
    Draws: none. `quantile`: none, or up. `tail` and `variance`: up to a float.
Source
    Dwork, Roth (2014), A.1; Balle, Wang (ICML 2018): the continuous mechanism whose guarantee is inherited. Devroye
    (1986), III.2.4.
Mutant
    rounded-down: the magnitude is the floor of the real, not the nearest integer; killed by
    test_the_nearest_integer.
    variance-of-the-real: the twelfth that rounding adds is left out; killed by test_variances.
    one-sided: the sign is always plus; killed by test_narrow_laws.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache, partial
from typing import Any

import numpy as np
from flint import arb, ctx
from numpy.typing import NDArray

from discreet.errors import InvalidParameter, expected
from discreet.noise.certified_comparison import decided, float_above, floors, real
from discreet.noise.entropy import RandomWords
from discreet.noise.half_gaussian import KEPT, WIDEST, Integers, Strips
from discreet.noise.inverse_transform import Inversion
from discreet.noise.noise_quantiles import checked_level
from discreet.noise.symmetric_law import PRECISION, SymmetricLaw, coins, in_chunks

CHUNK = 1 << 15
"""Draws are made in chunks whose arrays stay in a core's own cache."""

CAP = 1 << 62
STRIP_LIMIT = 1 << 10
"""Fewer strips than this, of at most 2**52, leave the magnitude below CAP."""

LAST_PRECISION = 4096


@dataclass(frozen=True, slots=True)
class RoundedNormal(SymmetricLaw):
    """Exact draws of round(X), X normal with mean 0 and an exact variance; make one with `RoundedNormal.of_variance`.

    Added to an integer, it is the rounding of continuous Gaussian noise, so that every theorem on that noise holds.

    >>> from discreet.noise.entropy import fresh_words
    >>> law = RoundedNormal.of_variance(Fraction(100))
    >>> law.sample(4, fresh_words()).dtype
    dtype('int64')
    >>> law.quantile(0.95), law.quantile(0.95, dimension=3143)
    (20, 43)
    """

    parameter: Fraction
    """The variance of the normal law before rounding."""
    source: Inversion | Strips = field(repr=False, compare=False)

    @classmethod
    def of_variance(cls, variance: Fraction) -> RoundedNormal:
        """The law with this variance before rounding; its tables are made once (some milliseconds) and kept.

        Raises:
            InvalidParameter: the variance is not a `Fraction` above zero.
        """
        if not isinstance(variance, Fraction) or variance <= 0:
            cure = "give the variance as fractions.Fraction(numerator, denominator), above 0."
            raise InvalidParameter(expected("an exact variance above 0", "variance", variance, cure))
        if variance < WIDEST**2:
            return cls(variance, _tabulated(variance))
        return cls(variance, Strips.of(variance, whole=False))

    def sample(self, n: int, words: RandomWords) -> NDArray[Any]:
        """n independent draws, shape (n,): int64, or Python integers where a draw does not fit.

        Raises:
            InvalidParameter: n is not a count.
            DiscreetError: `words` failed.
        """
        return in_chunks(self._chunk, n, words, CHUNK)

    def _chunk(self, n: int, words: RandomWords) -> NDArray[Any]:
        if isinstance(self.source, Inversion):
            magnitude: NDArray[Any] = self.source.sample(n, words)
        else:
            magnitude = nearest_integers(self.source, *self.source.sample(n, words))
        turned: NDArray[Any] = magnitude * (1 - 2 * coins(n, words).astype(np.int64))
        return turned

    def folded_tail(self, t: int) -> arb:
        """P(|Y| >= t) for t >= 1, at the working precision."""
        return folded_tail(self.parameter, t)

    def quantile(self, confidence: object, *, dimension: int = 1) -> int:
        """As promised by `SymmetricLaw`, without a search."""
        level, draws = checked_level(confidence, dimension)

        def least() -> int | None:
            # 1 - c**(1/d) is computed without loss, and erfinv(1 - miss) loses its logarithm only.
            reach = (real(level).log() / draws).exp().erfinv() * (real(self.parameter) * 2).sqrt()
            if not reach.is_finite():
                return None
            low, high = floors(reach + arb(0.5))
            return high if low == high or ctx.prec >= LAST_PRECISION else None

        return decided(least, PRECISION)

    @property
    def variance(self) -> float:
        """E Y**2, rounded up to a float.

        >>> round(RoundedNormal.of_variance(Fraction(100)).variance, 6)
        100.083333
        """
        with ctx.workprec(PRECISION):
            square = real(self.parameter)
            if self.parameter >= Fraction(1, 4):
                ratio, pi = (-2 * arb.pi() ** 2 * square).exp(), arb.pi()
                terms = [(-1) ** k * ratio ** (k * k) * (4 * square + 1 / (pi * k) ** 2) for k in range(1, 9)]
                return float_above(square + arb(1) / 12 + sum(terms[:-1], arb(0)) + terms[-1].union(arb(0)))
            odd = [(2 * j - 1) * folded_tail(self.parameter, j) for j in range(1, 12)]
            return float_above(sum(odd, arb(0)) + odd[-1])


def folded_tail(variance: Fraction, j: int) -> arb:
    """P(|Y| >= j) for j >= 1, at the working precision.

    >>> folded_tail(Fraction(1), 1) < arb(0.6171)
    True
    """
    return (real(Fraction(2 * j - 1, 2)) / (real(variance) * 2).sqrt()).erfc()


@lru_cache(maxsize=KEPT)
def _tabulated(variance: Fraction) -> Inversion:
    return Inversion.tabulate(partial(folded_tail, variance))


def nearest_integers(strips: Strips, strip: Integers, place: NDArray[np.uint64]) -> NDArray[Any]:
    """The integers nearest to 2**k (strip + place), k the bits of the strips.

    >>> source = Strips.of(Fraction(10**6), whole=False)
    >>> nearest_integers(
    ...     source, np.array([3]), np.array([[2**63]], dtype=np.uint64)
    ... ) == 3 * 2**source.bits + 2**source.bits // 2
    array([ True])
    """
    k, known = strips.bits, 64 * strips.places
    if strips.places == 1 and int(strip.max(initial=0)) < STRIP_LIMIT:
        inside: NDArray[np.int64] = ((place[0] >> np.uint64(63 - k)).astype(np.int64) + 1) >> 1
        return (strip << k) + inside
    exact = np.empty(strip.size, dtype=object)
    for i, (j, *rest) in enumerate(zip(strip.tolist(), *place.tolist(), strict=True)):
        bits = 0
        for word in rest:
            bits = (bits << 64) | word
        exact[i] = (j << k) + (((bits >> (known - k - 1)) + 1) >> 1)
    return exact
