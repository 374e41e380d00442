"""Half a bell curve of any width: a coarse table for the strip, a uniform number inside it, and a rejection.

Claim
    ``Strips.of(variance, whole=False).sample(n, words)`` returns (J, R) for n independent reals X = 2^k (J + U), where
    X has density proportional to exp(-x^2 / (2 variance)) on x >= 0 and R holds the first 64 bits of U, or more.
    With ``whole=True``, X is a whole number with P(X = x) proportional to exp(-x^2 / (2 variance)) on 0, 1, 2, ..., and
    U ends after k bits. Both exactly, for every rational variance above zero; k is `Strips.bits`.
Requires
    ``words(n)`` returns n independent uniform 64-bit words (`entropy` owes it).
Relies on
    `inverse_transform.Inversion`: exact draws from an enclosed tail. Arb's enclosures. NumPy's exp to within four units
    in the last place.
Proof
    With M = 2^k, c = M^2 / variance, g_j = exp(-c j^2 / 2): J is drawn with probability g_j / sum g, and U uniform, on
    [0, 1) or on its multiples of 1/M. At (j, u) the density wanted is exp(-c (j+u)^2 / 2) = g_j exp(-t), where t =
    c u (j + u/2) >= 0. So (J, U) is kept with probability exp(-t), that is, if V < exp(-t) for V uniform, and
    otherwise drawn again: rejection.
    V and U are read in pieces: V 16 bits, then 48, then 64 at a time, U 64 (or, if k > 52, k + 12 or more) bits, then
    64 at a time. (w+1)/2^16 <= 1 - t - margin gives V < exp(-t), as exp(-t) >= 1-t; then V to 64 bits is compared with
    exp(-t) in floats, up to the margin; what is still undecided is decided by Arb with ever more bits of both, which
    ends with probability one.
    *Tail.* S_j = (g_j + g_(j+1) + ...) / (g_0 + g_1 + ...). Beyond term m, the ratio of a term to the one before is at
    most r = exp(-c (2m+1) / 2), so what is left out lies between 0 and g_m / (1-r).
    *Width.* k is such that 1/c, the variance in strips, is in 32^2..64^2, or k = 0 if the variance is smaller.
Rounding
    None in the result. Floats: t is a product of four factors, with a relative error below 8u (u = 2**-53); what U
    lacks of a real number changes it by less than c (j+1) 2^-64. While t <= 1, both together, and the errors of 1 - t,
    exp and the comparison, are far below the margin of 2^-40. Where t > 1 Arb decides.
Source
    Karney, Sampling exactly from the normal distribution (2016); Canonne, Kamath, Steinke, The Discrete Gaussian for
    Differential Privacy (NeurIPS 2020). Devroye (1986), II.3: rejection.
Mutant
    strips-are-flat: nothing is rejected; killed by test_the_law_within_a_strip.
    too-steep: t = c u (j + 40 u); killed by test_strips_have_the_density.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache, partial
from typing import TypeAlias

import numpy as np
from flint import arb, ctx
from numpy.typing import NDArray

from discreet.errors import InvalidParameter, expected
from discreet.noise.certified_comparison import real
from discreet.noise.entropy import RandomWords, draw
from discreet.noise.inverse_transform import Inversion

Integers: TypeAlias = NDArray[np.int64]
Bits: TypeAlias = NDArray[np.uint64]

MARGIN = 2.0**-40
WIDEST = 64
"""The standard deviation, in strips, stays below this."""

ONE_WORD = 52
"""With more bits than these inside a strip, further words hold what 64 bits do not."""

KEPT = 64
"""Tables of so many variances are kept, at about 150 kB each."""


@dataclass(frozen=True, slots=True, eq=False)
class Strips:
    """Draws of half a bell curve, as strips and places within them; make one with `Strips.of`."""

    curvature: Fraction  # c: 1 / the variance in strips
    bits: int  # k
    whole: bool
    table: Inversion = field(repr=False)

    @classmethod
    def of(cls, variance: Fraction, *, whole: bool) -> Strips:
        """The law with this variance; its table is made once (some milliseconds) and kept.

        Raises:
            InvalidParameter: the variance is not a `Fraction` above zero.
        """
        if not isinstance(variance, Fraction) or variance <= 0:
            cure = "give the variance as fractions.Fraction(numerator, denominator), above 0."
            raise InvalidParameter(expected("an exact variance above 0", "variance", variance, cure))
        return _tabulated(variance, whole)

    @property
    def places(self) -> int:
        """How many words hold the place within a strip."""
        return 1 if self.bits <= ONE_WORD else -(-(self.bits + 12) // 64)

    def sample(self, n: int, words: RandomWords) -> tuple[Integers, Bits]:
        """n independent draws: strips, shape (n,), and places within them, shape (words, n), first word first."""
        strip, place = self._proposed(n, words)
        again = np.flatnonzero(~self._kept(strip, place, words))
        while again.size:
            strip[again], place[:, again] = more = self._proposed(again.size, words)
            again = again[~self._kept(*more, words)]
        return strip, place

    def _proposed(self, n: int, words: RandomWords) -> tuple[Integers, Bits]:
        strip = self.table.sample(n, words)
        if self.whole and self.bits == 0:
            return strip, np.zeros((1, n), dtype=np.uint64)
        place = draw(words, n * self.places).reshape(self.places, n)
        if self.whole:
            last = self.bits - 64 * (self.places - 1)  # what lies behind the last of k bits is zero
            cut = max(0, 64 - last)
            place[-1] = (place[-1] >> np.uint64(cut)) << np.uint64(cut) if cut < 64 else 0
            if last < 0:
                place[-2] &= np.uint64(2**64 - 2**-last)
        return strip, place

    def _kept(self, strip: Integers, place: Bits, words: RandomWords) -> NDArray[np.bool_]:
        """Which draws are kept: each with probability exp(-t)."""
        n = strip.size
        if self.whole and self.bits == 0:
            return np.ones(n, dtype=np.bool_)
        u = place[0] * 2.0**-64
        t = (u * 0.5 + strip) * u
        t *= float(self.curvature)
        first = draw(words, -(-n // 4)).view(np.uint16)[:n]
        kept: NDArray[np.bool_] = (first + 1.0) * 2.0**-16 <= (1.0 - MARGIN) - t
        unsure = np.flatnonzero(~kept)
        if unsure.size:
            v = (first[unsure].astype(np.uint64) << np.uint64(48)) | (draw(words, unsure.size) >> np.uint64(16))
            gap = np.exp(-t[unsure]) - v * 2.0**-64
            kept[unsure] = gap > 0
            for i in np.flatnonzero((np.abs(gap) <= MARGIN) | (t[unsure] > 1)):  # about one in 2**40
                one = unsure[i]
                kept[one] = self._decided(int(strip[one]), [int(word) for word in place[:, one]], int(v[i]), words)
        return kept

    def _decided(self, strip: int, places: list[int], v: int, words: RandomWords) -> bool:
        """Whether V < exp(-t), given the first 64 bits of V and those of U that are known."""
        u, known, bits = 0, 64 * len(places), 64
        for place in places:
            u = (u << 64) | place
        while True:
            with ctx.workprec(known + bits + 64):
                inside = arb(u) if self.whole else arb(u).union(arb(u + 1))
                inside *= arb(2) ** -known
                wanted = (-real(self.curvature) * inside * (strip + inside / 2)).exp() * arb(2) ** bits
                if arb(v + 1) <= wanted:
                    return True
                if arb(v) >= wanted:
                    return False
            v, bits = (v << 64) | int(draw(words, 1)[0]), bits + 64
            if not self.whole:
                u, known = (u << 64) | int(draw(words, 1)[0]), known + 64


@lru_cache(maxsize=KEPT)
def _tabulated(variance: Fraction, whole: bool) -> Strips:  # noqa: FBT001 - a key of the cache
    bits = 0
    while variance >= Fraction(WIDEST**2) * 4**bits:
        bits += 1
    curvature = Fraction(4**bits) / variance
    return Strips(curvature, bits, whole, Inversion.tabulate(partial(_survival, curvature)))


def _survival(curvature: Fraction, j: int) -> arb:
    """S_j, at the working precision."""
    sums = bell_sums(curvature, ctx.prec)
    return (sums[j] if j < len(sums) else sums[-1].union(arb(0))) / sums[0]


@lru_cache(maxsize=8)
def bell_sums(curvature: Fraction, precision: int) -> list[arb]:
    """Enclosures of g_j + g_(j+1) + ... for j = 0, 1, ..., with g_j = exp(-curvature j**2 / 2).

    The list ends where the sum is below 2**-(2 precision); each is certain up to about that.

    >>> bell_sums(Fraction(2), 64)[0] < arb(1.39)
    True
    """
    with ctx.workprec(2 * precision):
        c, tiny = real(curvature) / 2, arb(2) ** (-2 * precision)
        terms = [arb(1)]
        step, ratio = (-c).exp(), (-2 * c).exp()
        while not terms[-1] < tiny:
            terms.append(terms[-1] * step)
            step *= ratio
        rest = terms[-1] / (1 - step)
        sums = [arb(0).union(rest)]
        for term in terms[-2::-1]:
            sums.append(sums[-1] + term)
        return sums[::-1]
