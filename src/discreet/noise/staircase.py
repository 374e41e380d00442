"""Exact staircase noise on the integers.

Claim
    ``StaircaseLaw.of(epsilon, width, high).sample(n, words)`` returns n independent integers Z with P(Z = z)
    proportional to q^k for |z| = k width + i, 0 <= i < high, and to q^(k+1) for high <= i < width, q = exp(-epsilon);
    exactly, for every rational epsilon of 2^-50 or more. `tail`, `quantile` and `variance` speak of Z.
Requires
    ``words(n)`` returns n independent uniform 64-bit words (`entropy` owes it).
Relies on
    `Geometric`, `Bernoulli.certified`, `uniform.below`: exact draws. `wide_laplace` is not needed: the number of steps
    is geometric of scale 1/epsilon, drawn up to 2**62, which such epsilons pass with probability e^-4096.
Proof
    Let m = high + (width - high) q. The magnitude k width + i is drawn as k geometric with ratio q, and i below `high`
    with probability high / m, uniform there, and otherwise uniform from `high` to width - 1: P = (1-q) q^k / m times 1,
    or times q. By `symmetric`, each z has a weight proportional to its magnitude's. With S = m / (1-q) the sum of
    weights over magnitudes, P(|Z| >= t) = 2 W_t / (2S - 1) for t >= 1, where W_t = q^k ((high - i)+ + (width -
    max(i, high)) q + q S) for t = k width + i.
    *Variance.* E Z^2 = sum (2t-1) P(|Z| >= t), which is the second moment of the magnitude, times 2S/(2S-1).
    *Quantile.* The tail falls: bisection on its upper end.
Rounding
    Draws: none but that. `tail`, `variance`: up. `quantile`: exact, or up where balls meet.
Source
    Geng, Viswanath, The optimal noise-adding mechanism in differential privacy (IEEE Trans. Inf. Theory 2016), the
    discrete case.
Mutant
    capped-steps-are-steps: an epsilon at which steps pass their cap is taken; killed by
        test_tiny_epsilons_are_left_to_laplace_noise.
    edge-in-the-low-part: i = high counts as high; killed by test_the_law_by_enumeration.
    steps-on-one-side: the draws have no sign; killed by test_samples_follow_the_law.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from flint import arb, ctx
from numpy.typing import NDArray

from discreet.errors import InvalidParameter, expected
from discreet.exact.amounts import count, whole_number
from discreet.noise.bernoulli import Bernoulli
from discreet.noise.certified_comparison import float_above, real
from discreet.noise.entropy import RandomWords
from discreet.noise.geometric import Geometric
from discreet.noise.symmetric_law import PRECISION, SymmetricLaw, symmetric
from discreet.noise.uniform import below

LEAST_EPSILON = Fraction(1, 1 << 50)
"""Below, a draw would be at the cap too often, and the cap tells where the total is."""
SAFE = 1 << 62


@dataclass(frozen=True, slots=True)
class StaircaseLaw(SymmetricLaw):
    """Exact draws of staircase noise; make one with `StaircaseLaw.of`.

    >>> from discreet.noise.entropy import fresh_words
    >>> law = StaircaseLaw.of(Fraction(3), 100, 18)
    >>> law.sample(4, fresh_words()).dtype, law.quantile(0.95)
    (dtype('int64'), 100)
    """

    epsilon: Fraction
    width: int
    high: int
    inner: Bernoulli = field(repr=False, compare=False)

    @classmethod
    def of(cls, epsilon: Fraction, width: int, high: int) -> StaircaseLaw:
        """The law whose weight falls by exp(-epsilon) within each `width`, after the first `high` of it.

        Raises:
            InvalidParameter: epsilon is not a `Fraction` above 0, or not 1 <= high <= width.
        """
        if not isinstance(epsilon, Fraction) or epsilon <= 0:
            cure = "give epsilon as fractions.Fraction(numerator, denominator), above 0."
            raise InvalidParameter(expected("an exact epsilon above 0", "epsilon", epsilon, cure))
        if epsilon < LEAST_EPSILON:
            cure = "use Laplace noise, which is as good where epsilon is small."
            raise InvalidParameter(expected("an epsilon of 2**-50 or more", "epsilon", epsilon, cure))
        if not 1 <= whole_number("high", high) <= whole_number("width", width):
            raise InvalidParameter(expected(f"a high part from 1 to {width}", "high", high, "give it in whole steps."))

        def share() -> arb:
            return high / (high + (width - high) * (-real(epsilon)).exp())

        return cls(epsilon, width, high, Bernoulli.certified(share))

    @property
    def steps(self) -> Geometric:
        """How many widths a draw is away: its tables are made, and kept, for draws alone; a plan compares laws."""
        return Geometric.of_scale(1 / self.epsilon)

    def sample(self, n: int, words: RandomWords) -> NDArray[Any]:
        """n independent draws, shape (n,): int64, or Python integers where a draw may not fit.

        Raises:
            InvalidParameter: n is not a count.
        """
        return symmetric(self._magnitudes, count("n", n), words)

    def _magnitudes(self, n: int, words: RandomWords) -> NDArray[Any]:
        steps: NDArray[Any] = self.steps.sample(n, words)
        place = below(self.high, n, words)
        outer = np.flatnonzero(~self.inner.sample(n, words)) if self.high < self.width else np.arange(0)
        if outer.size:
            place[outer] = self.high + below(self.width - self.high, outer.size, words)
        if n and (int(steps.max()) + 1) * self.width >= SAFE:
            steps = steps.astype(object)
        magnitude: NDArray[Any] = steps * self.width + place
        return magnitude

    def folded_tail(self, t: int) -> arb:
        """P(|Z| >= t) for t >= 1, at the working precision.

        >>> StaircaseLaw.of(Fraction(1), 1, 1).folded_tail(1) < arb(0.53789)
        True
        """
        q = (-real(self.epsilon)).exp()
        total = (self.high + (self.width - self.high) * q) / (1 - q)
        k, i = divmod(t, self.width)
        left = max(0, self.high - i) + (self.width - max(i, self.high)) * q + q * total
        return 2 * (-real(self.epsilon) * k).exp() * left / (2 * total - 1)

    @property
    def variance(self) -> float:
        """E Z**2, rounded up to a float.

        >>> round(StaircaseLaw.of(Fraction(1), 1, 1).variance, 6)
        1.841347
        """
        with ctx.workprec(PRECISION):
            q, d, r = (-real(self.epsilon)).exp(), self.width, self.high
            inner, outer = arb(r), (d - r) * q
            first = (inner * (r - 1) + outer * (d + r - 1)) / 2 / (inner + outer)
            squares = arb(_squares(r)) + q * (_squares(d) - _squares(r))
            second = squares / (inner + outer)
            steps, steps2 = q / (1 - q), q * (1 + q) / (1 - q) ** 2
            total = (inner + outer) / (1 - q)
            moment = d * d * steps2 + 2 * d * steps * first + second
            return float_above(moment * 2 * total / (2 * total - 1))


def _squares(n: int) -> int:
    """0^2 + ... + (n-1)^2."""
    return (n - 1) * n * (2 * n - 1) // 6
