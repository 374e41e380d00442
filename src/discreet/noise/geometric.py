"""Exact geometric integers, a million at a time.

Claim
    ``Geometric.of_scale(scale).sample(n, words)`` returns n independent integers min(G, 2**62) where, exactly,
    P(G >= k) = exp(-k / scale) for k = 0, 1, 2, ...; for every rational scale above zero.
Requires
    ``words(n)`` returns n independent uniform 64-bit words (`entropy` owes it).
Relies on
    `certified_comparison.whole_part` and `certified_comparison.decided`: a floor, once answered, is the floor. NumPy's
    `searchsorted` and `take`.
Proof
    *Digits.* Let q = exp(-rate), rate = 1/scale, m = 256, and write G = D_0 + m D_1 + ... + m^r T in base m. P(G = g)
    is proportional to q^g, and g is a sum over its digits, so the digits are independent: P(D_i = d) is proportional
    to (q^(m^i))^d on 0..m-1, and T is geometric with ratio q^(m^r). With q for the ratio at a digit's own place, its
    survival function is S_j = P(D >= j) = (q^j - q^m) / (1 - q^m) for j = 1..m-1; that of min(T, m) is q^j for j =
    1..m.
    *Inversion.* For U uniform on [0, 1), D = #{j : U < S_j} has the law, as P(D >= j) = P(U < S_j) by monotonicity.
    *Bits.* U is read as 16 bits, then 48, then 64 at a time, each read independent and uniform. With w the first 64
    bits and s_j = floor(2^64 S_j): w < s_j gives U < S_j, and w > s_j gives U > S_j. The guide holds the answer for
    those first 16 bits under which no w meets any s_j; otherwise w is read; if w = s_j, more bits are read, and s_j
    is taken to as many. A guide entry of 255 stands for "read on", and so a digit of 255 reads on too, which changes
    no answer.
    *Top.* By memorylessness, T given T >= m is m plus a new T; so m is added and T is drawn again, until T is settled
    or reaches 2^62 / m^r. T >= 2^62 / m^r is the same as G >= 2^62, whatever the lower digits; those draws become
    2^62.
    *Termination.* Every floor is found. Where S_j is below 1 and not rational (q is transcendental, Lindemann 1882),
    the precision grows until no integer lies in the ball.
Rounding
    None: the cap is part of the claim.
Source
    Devroye, Non-Uniform Random Variate Generation (1986), III.2.4: inversion with a guide table.
Mutant
    tie-is-below: a word that equals a threshold's first 64 bits counts as below it; killed by test_ties_are_refined.
    top-is-cut: a top digit of 256 or above is kept instead of drawn again; killed by test_the_top_digit_is_drawn_again.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np
from flint import arb
from numpy.typing import NDArray

from discreet.errors import InvalidParameter, expected
from discreet.noise.certified_comparison import decided, real, whole_part
from discreet.noise.entropy import RandomWords, draw
from discreet.noise.symmetric_law import in_chunks

CAP = 1 << 62
"""Draws at or above this are returned as this."""

BASE = 256
GUIDE_BITS = 16
READ_ON = 255
"""The guide entry that asks for more bits."""

TOP_RATE = 16
"""The top digit is where the law of one digit leaves less than exp(-TOP_RATE) at BASE or above."""

TOP_PLACE = 7
"""Places 0..7 of base 256 reach beyond CAP."""

CHUNK = 1 << 16
"""Draws are made in chunks whose arrays (a few times 8 bytes each) stay in a core's own cache."""

KEPT_SCALES = 64
"""Tables of so many scales are kept, at 70 kB a digit."""

REST_BITS = 64 - GUIDE_BITS


@dataclass(frozen=True, slots=True, eq=False)
class Digit:
    """One digit of a geometric integer: its law is cut at BASE, or, at the top, BASE stands for "BASE or above"."""

    rate: Fraction  # minus the logarithm of the ratio, at this digit's place
    is_top: bool
    floors: NDArray[np.uint64]  # first 64 bits of S_j, ascending, so j falls from `size` to 1
    guide: NDArray[np.uint8]  # answer for each value of the first GUIDE_BITS bits, or READ_ON

    @classmethod
    def tabulate(cls, rate: Fraction, *, is_top: bool) -> Digit:
        """The table of one digit, each threshold certified."""
        floors = np.array(survival_floors(rate, is_top=is_top)[::-1], dtype=np.uint64)
        first = np.arange(1 << GUIDE_BITS, dtype=np.uint64) << np.uint64(REST_BITS)
        last = first | np.uint64((1 << REST_BITS) - 1)
        below, up_to = np.searchsorted(floors, first, side="left"), np.searchsorted(floors, last, side="right")
        guide = np.where(below == up_to, np.minimum(floors.size - below, READ_ON), READ_ON).astype(np.uint8)
        for table in (floors, guide):
            table.setflags(write=False)  # the tables are shared by all who draw at this scale
        return cls(rate, is_top, floors, guide)

    def sample(self, n: int, words: RandomWords) -> NDArray[np.int64]:
        """n independent digits, 0..255, and at the top 0..256."""
        first = draw(words, -(-n * GUIDE_BITS // 64)).view(np.uint16)[:n]
        found = self.guide.take(first)
        digits = found.astype(np.int64)
        unsettled = np.flatnonzero(found == READ_ON)
        if unsettled.size:
            digits[unsettled] = self.settle(first[unsettled], words)
        return digits

    def settle(self, first: NDArray[np.uint16], words: RandomWords) -> NDArray[np.int64]:
        """The digits of reals whose first 16 bits are given and whose further bits are read now."""
        rest = draw(words, first.size) >> np.uint64(GUIDE_BITS)
        whole = (first.astype(np.uint64) << np.uint64(REST_BITS)) | rest
        below = np.searchsorted(self.floors, whole, side="left")
        up_to = np.searchsorted(self.floors, whole, side="right")
        digits = self.floors.size - below
        for i in np.flatnonzero(below != up_to):  # one word in 2**56, unless the scale is far from 1
            digits[i] = self.refine(int(whole[i]), int(self.floors.size - up_to[i]), int(digits[i]), words)
        return digits

    def refine(self, word: int, least: int, most: int, words: RandomWords) -> int:
        """Settles a real with the first 64 bits of S_j for j = least+1..most, by as many more bits as it takes."""
        bits = 64
        while least < most:
            word, bits = (word << 64) | int(draw(words, 1)[0]), bits + 64
            thresholds = [survival_floor(self.rate, j, bits, is_top=self.is_top) for j in range(least + 1, most + 1)]
            least, most = least + sum(word < t for t in thresholds), least + sum(word <= t for t in thresholds)
        return least


@dataclass(frozen=True, slots=True)
class Geometric:
    """Exact draws of min(G, 2**62), where P(G >= k) = exp(-k / scale) for k = 0, 1, 2, ...

    Make one with `Geometric.of_scale`; the scale has the unit of the draws.

    >>> from discreet.noise.entropy import fresh_words
    >>> Geometric.of_scale(Fraction(10)).sample(4, fresh_words()).shape
    (4,)
    """

    scale: Fraction
    digits: tuple[Digit, ...]  # lowest first; the last is the top

    @classmethod
    def of_scale(cls, scale: Fraction) -> Geometric:
        """The law with this scale; its tables are made once (some milliseconds) and kept.

        Raises:
            InvalidParameter: the scale is not a `Fraction` above zero.
        """
        return _tabulated(exact_scale(scale))

    def sample(self, n: int, words: RandomWords) -> NDArray[np.int64]:
        """n independent draws, shape (n,), dtype int64, in 0..2**62.

        Raises:
            InvalidParameter: n is not a count.
            DiscreetError: `words` failed.
        """
        return in_chunks(self.chunk, n, words, CHUNK)

    def chunk(self, n: int, words: RandomWords) -> NDArray[np.int64]:
        """n independent draws, made in one piece: for n of at most about CHUNK."""
        *lower, top = self.digits
        limit = CAP // BASE ** len(lower)
        value = top.sample(n, words)
        again = np.flatnonzero(value == BASE)
        while again.size and limit > BASE:
            more = top.sample(again.size, words)
            value[again] += more
            again = again[(more == BASE) & (value[again] < limit)]
        np.minimum(value, limit, out=value)
        for digit in reversed(lower):
            value <<= 8
            value |= digit.sample(n, words)
        return np.minimum(value, CAP, out=value)


def exact_scale(scale: object) -> Fraction:
    """A scale that is a `Fraction` above zero; anything else is refused."""
    cure = "give the scale as fractions.Fraction(numerator, denominator), above 0."
    if not isinstance(scale, Fraction) or scale <= 0:
        raise InvalidParameter(expected("an exact scale above 0", "scale", scale, cure))
    return scale


@lru_cache(maxsize=KEPT_SCALES)
def _tabulated(scale: Fraction) -> Geometric:
    rate, digits = 1 / scale, list[Digit]()
    while rate * BASE < TOP_RATE and len(digits) < TOP_PLACE:
        digits.append(Digit.tabulate(rate, is_top=False))
        rate *= BASE
    digits.append(Digit.tabulate(rate, is_top=True))
    return Geometric(scale, tuple(digits))


def survival_floors(rate: Fraction, *, is_top: bool) -> list[int]:
    """floor(2**64 S_j) for j = 1, 2, ..., all at one precision and, where that does not tell, one by one."""
    smallness = max(0, rate.denominator.bit_length() - rate.numerator.bit_length())

    def powers() -> list[int | None]:
        ratio = (-real(rate)).exp()
        offset = arb(0) if is_top else (-real(rate) * BASE).exp()
        factor = arb(2) ** 64 / (1 - offset)
        floors, power = list[int | None](), arb(1)
        for _ in range(BASE if is_top else BASE - 1):
            power *= ratio
            floors.append(whole_part((power - offset) * factor))
        return floors

    # The difference loses as many bits as the rate is small, and lies as near to a multiple of 1/256.
    found = decided(powers, precision=128 + 2 * smallness)
    return [survival_floor(rate, j, 64, is_top=is_top) if f is None else f for j, f in enumerate(found, start=1)]


def survival_floor(rate: Fraction, j: int, bits: int, *, is_top: bool) -> int:
    """floor(2**bits S_j): the first `bits` bits of one threshold."""

    def floor() -> int | None:
        step = -real(rate)
        survival = (step * j).exp()
        if not is_top:
            survival *= (step * (BASE - j)).expm1() / (step * BASE).expm1()
        return whole_part(survival * arb(2) ** bits)

    return decided(floor, precision=bits + 64)
