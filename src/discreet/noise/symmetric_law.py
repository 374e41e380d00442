"""Symmetric laws on the whole numbers: signs for magnitudes, and what follows from a tail.

Claim
    ``symmetric(magnitudes, n, words)`` returns n independent integers Z with P(Z = z) proportional to P(G = |z|) over
    all integers, where ``magnitudes(n, words)`` returns n independent draws of G on 0, 1, 2, ... `coins` returns
    independent fair bits.
Requires
    ``words(n)`` returns n independent uniform 64-bit words (`entropy` owes it), and the magnitudes are made of words
    alone.
Relies on
    NumPy's `unpackbits`. `noise_quantiles.least_step`.
Proof
    Let B be a fair bit, independent of G; draw (G, B) again and again until it is not (0, 1). Then Z = G if B = 0 and
    -G if B = 1 takes each z >= 0 through (z, 0) alone and each z < 0 through (-z, 1) alone. Rejection keeps the
    proportions of what it keeps, so P(Z = z) is proportional to P(G = |z|) / 2. The signs are the bits of words of
    which no other bit is used for anything else; a rejected draw takes new words for both G and B.
Rounding
    Draws: none. `tail`: up. `quantile`: up, where balls meet.
Source
    Canonne, Kamath, Steinke, The Discrete Gaussian for Differential Privacy (NeurIPS 2020), algorithm 2.
Mutant
    negative-zero-kept: (0, 1) counts as a zero, which doubles its weight; killed by test_negative_zero_is_drawn_again.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from flint import arb, ctx
from numpy.typing import NDArray

from discreet.exact.amounts import count, whole_number
from discreet.noise.certified_comparison import float_above
from discreet.noise.entropy import RandomWords, draw
from discreet.noise.noise_quantiles import least_step

Sampler: TypeAlias = Callable[[int, RandomWords], NDArray[Any]]
"""So many independent draws."""

PRECISION = 256


class SymmetricLaw(ABC):
    """A symmetric law on the whole numbers that knows its tail."""

    __slots__ = ()

    @abstractmethod
    def folded_tail(self, t: int) -> arb:
        """P(|Z| >= t) for t >= 1, at the working precision."""

    def tail(self, t: int) -> float:
        """P(|Z| >= t), rounded up.

        Raises:
            InvalidParameter: t is not an integer.
        """
        steps = whole_number("t", t)
        if steps <= 0:
            return 1.0
        with ctx.workprec(PRECISION):
            return min(1.0, float_above(self.folded_tail(steps)))

    def quantile(self, confidence: object, *, dimension: int = 1) -> int:
        """The smallest t with P(|Z_i| <= t for all i of `dimension` independent draws) >= confidence.

        Args:
            confidence: strictly between 0 and 1; a float means its printed decimal.
            dimension: how many draws must all be within t.

        Raises:
            InvalidParameter: the confidence or the dimension is outside its range.
        """
        return least_step(self.folded_tail, confidence, dimension, PRECISION)


def symmetric(magnitudes: Sampler, n: int, words: RandomWords) -> NDArray[Any]:
    """n magnitudes with fair signs; minus zero is drawn again.

    >>> from discreet.noise.entropy import fresh_words
    >>> abs(symmetric(lambda size, words: np.full(size, 3), 2, fresh_words()))
    array([3, 3])
    """
    drawn, minus = magnitudes(n, words), coins(n, words)
    again = np.flatnonzero(minus & (drawn == 0))
    while again.size:
        more, sign = magnitudes(again.size, words), coins(again.size, words)
        if more.dtype != drawn.dtype:
            drawn = drawn.astype(object)
        drawn[again], minus[again] = more, sign
        again = again[sign & (more == 0)]
    drawn *= 1 - 2 * minus.view(np.int8)
    return drawn


def coins(n: int, words: RandomWords) -> NDArray[np.bool_]:
    """n fair bits, 64 to a word.

    >>> from discreet.noise.entropy import fresh_words
    >>> coins(3, fresh_words()).shape
    (3,)
    """
    return np.unpackbits(draw(words, -(-n // 64)).view(np.uint8), count=n).view(np.bool_)


def in_chunks(sampler: Sampler, n: object, words: RandomWords, most: int) -> NDArray[Any]:
    """n draws, of which `sampler` makes at most so many at once: int64, or Python integers where one does not fit.

    >>> from discreet.noise.entropy import fresh_words
    >>> in_chunks(lambda size, words: np.arange(size), 3, fresh_words(), 2)
    array([0, 1, 0])
    """
    size = count("n", n)
    drawn: NDArray[Any] = np.empty(size, dtype=np.int64)
    for start in range(0, size, most):
        part = sampler(min(most, size - start), words)
        if part.dtype == object and drawn.dtype != object:
            drawn = drawn.astype(object)
        drawn[start : start + part.size] = part
    return drawn
