"""Coins that fall on True with exactly the stated probability.

Claim
    ``Bernoulli.of(p).sample(n, words)`` returns n independent booleans, True with probability p exactly, for every
    rational p in 0..1; ``Bernoulli.of_exp(x)`` with probability exp(-x), for every rational x of 0 or more;
    ``Bernoulli.certified(ball)`` with the probability that `ball()` encloses at every working precision of Arb.
Requires
    ``words(n)`` returns n independent uniform 64-bit words (`entropy` owes it). For `certified`: balls that shrink to a
    point as the precision grows, and a number in 0..1.
Relies on
    Arb's enclosures.
Proof
    For U uniform on [0, 1), U < p has probability p. U is read 64 bits at a time. With w the first b bits and [l, h]
    the floors of the ends of the ball of 2^b p, w < l gives U < p and w > h gives U > p; otherwise 64 more bits are
    read. Undecided words have a probability of about 2^-b, which tends to zero. For an exact p, l = h = floor(2^b p).
Rounding
    None.
Source
    Devroye, Non-Uniform Random Variate Generation (1986), XV.1; Canonne, Kamath, Steinke (NeurIPS 2020), algorithm 1,
    for what exp(-x) is needed for.
Mutant
    tie-is-true: a word that equals the first bits of p counts as below it; killed by test_ties_are_refined.
    exponent-without-sign: exp(x) instead of exp(-x), cut to 1; killed by test_exponentials_have_their_probability.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
from flint import arb, ctx
from numpy.typing import NDArray

from discreet.errors import InvalidParameter, expected
from discreet.exact.amounts import count
from discreet.noise.certified_comparison import floors, real
from discreet.noise.entropy import RandomWords, draw

GUARD_BITS = 96
"""How many bits more than asked for a ball is computed with."""

Ends = Callable[[int], tuple[int, int]]
"""For a number of bits b: integers l and h with l <= 2**b p < h + 1, that come together as b grows."""


@dataclass(frozen=True, slots=True, eq=False)
class Bernoulli:
    """Independent coins of one exact probability.

    >>> from discreet.noise.entropy import fresh_words
    >>> Bernoulli.of(Fraction(1)).sample(3, fresh_words())
    array([ True,  True,  True])
    """

    ends: Ends = field(repr=False)

    @classmethod
    def of(cls, probability: Fraction) -> Bernoulli:
        """True with an exact probability.

        Raises:
            InvalidParameter: it is not a `Fraction` from 0 to 1.
        """
        if not isinstance(probability, Fraction) or not 0 <= probability <= 1:
            cure = "give the probability as fractions.Fraction(numerator, denominator)."
            raise InvalidParameter(expected("an exact probability from 0 to 1", "probability", probability, cure))

        def ends(bits: int) -> tuple[int, int]:
            exact = (probability.numerator << bits) // probability.denominator
            return exact, exact

        return cls(ends)

    @classmethod
    def of_exp(cls, x: Fraction) -> Bernoulli:
        """True with probability exp(-x).

        Raises:
            InvalidParameter: x is not a `Fraction` of 0 or more.
        """
        if not isinstance(x, Fraction) or x < 0:
            cure = "give x as fractions.Fraction(numerator, denominator), 0 or more."
            raise InvalidParameter(expected("an exact exponent of 0 or more", "x", x, cure))
        return cls.of(Fraction(1)) if x == 0 else cls.certified(lambda: (-real(x)).exp())  # noqa: PLW0108 - real(x) must be made anew at each precision

    @classmethod
    def certified(cls, ball: Callable[[], arb]) -> Bernoulli:
        """True with the probability that lies in `ball()`, which is asked for at growing working precisions."""

        def ends(bits: int) -> tuple[int, int]:
            with ctx.workprec(bits + GUARD_BITS):
                low, high = floors(ball() * arb(2) ** bits)
            return low, min(1 << bits, high)

        return cls(ends)

    def sample(self, n: int, words: RandomWords) -> NDArray[np.bool_]:
        """n independent coins, shape (n,).

        Raises:
            InvalidParameter: n is not a count.
        """
        first = draw(words, count("n", n))
        low, high = self.ends(64)
        if low >> 64:  # probability 1
            return np.ones(first.size, dtype=np.bool_)
        heads: NDArray[np.bool_] = first < np.uint64(low)
        for i in np.flatnonzero(~heads & (first <= np.uint64(min(high, 2**64 - 1)))):  # about one in 2**64
            heads[i] = self._refined(int(first[i]), words)
        return heads

    def _refined(self, word: int, words: RandomWords) -> bool:
        """Whether a real that begins with `word` is below the probability."""
        bits = 64
        while True:
            word, bits = (word << 64) | int(draw(words, 1)[0]), bits + 64
            low, high = self.ends(bits)
            if word < low:
                return True
            if word > high:
                return False
