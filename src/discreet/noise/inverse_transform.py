"""Draws from any law on 0, 1, 2, ... whose tail can be enclosed: one table look-up each, and certain.

Claim
    ``Inversion.tabulate(survival, ...).sample(n, words)`` returns n independent integers D >= 0 where, exactly,
    P(D >= j) is the number that ``survival(j)`` encloses, for j = 1, 2, ...
Requires
    ``survival(j)`` returns, at any working precision of Arb, a ball that holds S_j; the balls shrink to a point as
    the precision grows; S_j falls with j, to zero (a law that ends at m - 1 has S_j = 0 from j = m on: ``size=m``).
    ``words(n)`` returns n independent uniform 64-bit words (`entropy` owes it).
Relies on
    Arb's enclosures. NumPy's `searchsorted` and `take`.
Proof
    For U uniform on [0, 1), D = #{j : U < S_j} has the law, as P(D >= j) = P(U < S_j). U is read as 16 bits, then 48,
    then 64 at a time, each independent and uniform. Let w be the first b bits, and [l, h] the floors of the ends of
    the ball of 2^b S_j. w < l gives U < S_j; w > h gives U > S_j; otherwise more bits are read and the ball is asked
    for at a higher precision. For b = 64 all l and h are tabulated for which h is above 0; beyond, the word 0 alone
    is unsettled. The guide holds the answer for those first 16 bits under which no w lies in any [l, h].
    *Termination.* With b bits the undecided words lie within about 2^-b of some S_j, so their probability tends to
    zero. No number need be shown to be irrational.
Rounding
    None.
Source
    Devroye, Non-Uniform Random Variate Generation (1986), III.2.4: inversion with a guide table.
Mutant
    undecided-is-above: a word that meets a threshold counts as above it; killed by test_ties_are_refined_both_ways.
    table-end-is-the-end: a draw beyond the table is cut to its last entry; killed by test_draws_beyond_the_table.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from flint import arb, ctx
from numpy.typing import NDArray

from discreet.errors import InvalidParameter, expected
from discreet.exact.amounts import count
from discreet.noise.certified_comparison import floors
from discreet.noise.entropy import RandomWords, draw

Survival = Callable[[int], arb]
"""A ball, at the working precision, around P(D >= j) for j >= 1."""

GUIDE_BITS = 16
REST_BITS = 64 - GUIDE_BITS
READ_ON = 0xFFFF
"""The guide entry that asks for more bits."""

LONGEST = READ_ON - 1
"""More thresholds than this do not fit the guide."""

GUARD_BITS = 96
"""How many bits more than asked for the balls are computed with."""


@dataclass(frozen=True, slots=True, eq=False)
class Inversion:
    """A tabulated law on 0, 1, 2, ...; make one with `Inversion.tabulate`.

    >>> from discreet.noise.entropy import fresh_words
    >>> coin = Inversion.tabulate(lambda j: arb(1) / 3, size=2)  # 1 with probability 1/3
    >>> bool(coin.sample(5, fresh_words()).max() <= 1)
    True
    """

    survival: Survival = field(repr=False)
    size: int | None  # D < size, if the law ends
    low: NDArray[np.uint64] = field(repr=False)  # floors of the lower ends of 2**64 S_j, ascending: j falls
    high: NDArray[np.uint64] = field(repr=False)  # the same of the upper ends
    guide: NDArray[np.uint16] = field(repr=False)

    @classmethod
    def tabulate(cls, survival: Survival, *, size: int | None = None) -> Inversion:
        """The table of a law, from the tail to the first 64 bits.

        Raises:
            InvalidParameter: the law has more than 65,534 values of which 64 bits tell.
        """
        bounds = list[tuple[int, int]]()
        while size is None or len(bounds) < size - 1:
            bound = _floors(survival, len(bounds) + 1, 64)
            if bound[1] == 0 and size is None:
                break
            if len(bounds) == LONGEST:
                cure = "draw a coarse part by a table, and the rest by rejection."
                raise InvalidParameter(expected(f"at most {LONGEST} values", "values", "more", cure))
            bounds.append(bound)
        low, high = (np.array([min(b[end], 2**64 - 1) for b in bounds[::-1]], dtype=np.uint64) for end in (0, 1))
        # A threshold of exactly 1 has no 64-bit floor; the word 2**64 - 1 then reads on, and is settled by more bits.
        low = np.maximum.accumulate(low)  # S_j falls, so a bound of one threshold holds for those on its safe side
        high = np.minimum.accumulate(high[::-1])[::-1]
        table = cls(survival, size, low, high, np.empty(0, dtype=np.uint16))
        guide = table._guide()
        for array in (low, high, guide):
            array.setflags(write=False)  # the tables are shared by all who draw from this law
        return cls(survival, size, low, high, guide)

    def _guide(self) -> NDArray[np.uint16]:
        first = np.arange(1 << GUIDE_BITS, dtype=np.uint64) << np.uint64(REST_BITS)
        last = first | np.uint64((1 << REST_BITS) - 1)
        most, least = self._between(first)[0], self._between(last)[1]
        if self.size is None:
            least[0] = -1  # the word 0 may lie beyond the table
        return np.where(most == least, most, READ_ON).astype(np.uint16)

    def _between(self, words: NDArray[np.uint64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """How many thresholds may be above each word, and how many are above it for certain."""
        most = self.high.size - np.searchsorted(self.high, words, side="left")
        least = self.low.size - np.searchsorted(self.low, words, side="right")
        return most.astype(np.int64), least.astype(np.int64)

    def sample(self, n: int, words: RandomWords) -> NDArray[np.int64]:
        """n independent draws, shape (n,), int64.

        Raises:
            InvalidParameter: n is not a count.
        """
        n = count("n", n)
        first = draw(words, -(-n * GUIDE_BITS // 64)).view(np.uint16)[:n]
        found = self.guide.take(first)
        drawn = found.astype(np.int64)
        unsettled = np.flatnonzero(found == READ_ON)
        if unsettled.size:
            drawn[unsettled] = self._settle(first[unsettled], words)
        return drawn

    def _settle(self, first: NDArray[np.uint16], words: RandomWords) -> NDArray[np.int64]:
        rest = draw(words, first.size) >> np.uint64(GUIDE_BITS)
        whole = (first.astype(np.uint64) << np.uint64(REST_BITS)) | rest
        most, least = self._between(whole)
        undecided = most != least
        if self.size is None:
            undecided |= whole == 0
        for i in np.flatnonzero(undecided):  # about one word in 2**50
            least[i] = self._refine(int(whole[i]), int(least[i]), words)
        return least

    def _refine(self, word: int, least: int, words: RandomWords) -> int:
        """The draw of a real whose first 64 bits are `word`, and which is below S_j for j = 1..least."""
        bits = 64
        while True:
            word, bits = (word << 64) | int(draw(words, 1)[0]), bits + 64
            while self.size is None or least < self.size - 1:
                low, high = _floors(self.survival, least + 1, bits)
                if word > high:
                    return least
                if word >= low:
                    break
                least += 1
            else:
                return least


def _floors(survival: Survival, j: int, bits: int) -> tuple[int, int]:
    """Floors of the ends of the ball of 2**bits S_j."""
    with ctx.workprec(bits + GUARD_BITS):
        return floors(survival(j) * arb(2) ** bits)
