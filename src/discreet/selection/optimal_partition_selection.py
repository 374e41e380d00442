"""Partition selection where a person changes each count by one: the law that shows most keys.

Claim
    Let a unit be counted once in at most `max_groups` keys. ``OptimalKeys.of(e, d, max_groups)`` shows each key with
    probability `chances[n] / 2**BITS`, n being its count, independently of the others; a key that nobody has is never
    shown. The set of shown keys is (e, d)-differentially private under add-remove. For one key per unit no
    (e, d)-private rule shows any key more often, but for less than 2**-200.
Requires
    Counts of units, not of rows. ``words``: independent uniform 64-bit words (`noise.entropy` owes it).
Relies on
    Arb's enclosures of exp and log; exact integers for the rest.
Proof
    Let p_n be the n-th chance, a the epsilon and b the delta of one key. A coin with p_n and one with p_(n+1) are (a,
    b)-indistinguishable if p_(n+1) <= e^a p_n + b and 1 - p_n <= e^a (1 - p_(n+1)) + b; the other two inequalities hold
    since p_n <= p_(n+1). Each chance is the largest multiple of 2**-BITS at most one that meets both for the one before
    it, e^a and e^-a being replaced by bounds on the safe side; p_0 = 0. A larger chance would break one of the two, so
    by induction no rule has larger ones, up to what rounding took.
    One unit moves at most K counts by one, and the coins are independent: K such pairs together are (K a, 1 - (1-b)^K)-
    indistinguishable, which with a = e/K and b = 1 - (1-d)^(1/K) is (e, d).
    *The draw.* U uniform on [0, 1) is below p_n with that probability. It is read 64 bits at a time; p_n has BITS bits,
    so after BITS of them it is settled.
Rounding
    Chances down, and b down: by less than 2**(60-BITS) each as long as the table is no longer than `LONGEST`.
Source
    Desfontaines, Voss, Gipson, Mandayam, Differentially Private Partition Selection (PETS 2022), theorem 2; Kairouz,
    Oh, Viswanath, The Composition Theorem for Differential Privacy (ICML 2015), theorem 3.3, for several keys.
Mutant
    one-inequality: the second of the two conditions is forgotten; killed by test_both_conditions_hold_everywhere.
    tie-is-shown: a word that equals the first bits of a chance counts as below it; killed by test_ties_are_read_on.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache

import numpy as np
from flint import arb, ctx
from numpy.typing import NDArray

from discreet.errors import InvalidParameter, expected
from discreet.noise.certified_comparison import floors, real
from discreet.noise.entropy import RandomWords, draw

BITS = 320
ONE = 1 << BITS
GUARD = 64
LONGEST = 1 << 19
"""A table has at most so many chances; by then rounding has taken less than 2**-200 from any of them."""
LEAST_DELTA = Fraction(1, 2**120)


@dataclass(frozen=True, eq=False)
class OptimalKeys:
    """The optimal table of chances; make one with `OptimalKeys.of`.

    >>> law = OptimalKeys.of(Fraction(1), Fraction(1, 10**5), 1)
    >>> law.users(0.5), law.certain
    (12, 23)
    """

    chances: tuple[int, ...] = field(repr=False)
    """chances[n]: with which probability, times 2**BITS, a key with n units is shown. The last one stands for more."""
    leading: NDArray[np.uint64] = field(repr=False)
    """Their first 64 bits; all ones for what is certain."""

    @classmethod
    def of(cls, epsilon: Fraction, delta: Fraction, max_groups: int) -> OptimalKeys:
        """The table of an epsilon and a delta, made once and kept.

        Raises:
            InvalidParameter: the table would be too long, or delta is too small for it.
        """
        return _table(epsilon, delta, max_groups)

    @property
    def certain(self) -> int:
        """The number of units from which on a key is always shown."""
        return len(self.chances) - 1

    def probability(self, units: int) -> float:
        """The probability that a key which so many units have is shown."""
        return self.chances[min(units, self.certain)] / ONE

    def users(self, chance: float) -> int:
        """How many units it takes to be shown with a probability of at least `chance`."""
        return bisect_left(self.chances, int(Fraction(chance) * ONE))

    def release(self, counts: NDArray[np.int64], words: RandomWords) -> NDArray[np.bool_]:
        """Which keys are shown, from the number of units that have each of them."""
        places = np.clip(counts, 0, self.certain)
        word = draw(words, places.size)
        shown: NDArray[np.bool_] = (word < self.leading[places]) | (places == self.certain)
        for i in np.flatnonzero((word == self.leading[places]) & (places > 0) & (places < self.certain)):
            shown[i] = self._below(int(word[i]), self.chances[int(places[i])], words)  # about one in 2**64
        return shown

    @staticmethod
    def _below(first: int, chance: int, words: RandomWords) -> bool:
        """Whether a number that begins with these 64 bits is below a chance."""
        number = first
        for word in draw(words, BITS // 64 - 1).tolist():
            number = (number << 64) | word
        return number < chance


@lru_cache(maxsize=32)
def _table(epsilon: Fraction, delta: Fraction, max_groups: int) -> OptimalKeys:
    if delta < LEAST_DELTA * max_groups:
        raise InvalidParameter(expected("a delta of at least 2**-120 a key", "delta", float(delta), "write 1e-10."))
    with ctx.workprec(BITS + GUARD):
        each = real(epsilon) / max_groups
        root = -((1 - real(delta)).log() / max_groups).expm1() if max_groups > 1 else real(delta)
        part, grown, shrunk = (arb(2) ** BITS * ball for ball in (root, each.exp(), (-each).exp()))
        least, growth, decay = floors(part)[0], floors(grown)[0], floors(shrunk)[1] + 1
    chances = [0]
    while chances[-1] < ONE:
        if len(chances) > LONGEST:
            cure = 'a table for so little epsilon a key would be too long: spend more, or write method="weighted".'
            raise InvalidParameter(expected("more epsilon a key", "epsilon", float(epsilon / max_groups), cure))
        chances.append(_next(chances[-1], least, growth, decay))
    leading = np.array([min(chance >> (BITS - 64), 2**64 - 1) for chance in chances], dtype=np.uint64)
    leading.setflags(write=False)  # the table is shared by all who draw from it
    return OptimalKeys(tuple(chances), leading)


def _next(before: int, part: int, growth: int, decay: int) -> int:
    """The largest chance that a key with one more unit may have."""
    first = ((before * growth) >> BITS) + part
    hidden = max(0, ONE - before - part)
    second = ONE - -(-hidden * decay >> BITS)
    return min(first, second, ONE)
