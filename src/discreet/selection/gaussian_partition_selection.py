"""Partition selection where a person has many keys: Gaussian noise on sums of weights, and a threshold.

Claim
    Let a unit with t keys, 1 <= t <= `max_groups`, add w_t steps to the total of each of them: w_t = `STEPS` with
    ``weighted=False``, and w_t <= STEPS / sqrt(t) with ``weighted=True``. Show the keys whose total is above zero and,
    with Gaussian noise of this `variance` rounded to whole steps, at or above `threshold`. What is shown, with or
    without the noisy totals of what is shown, is (epsilon, delta)-differentially private under add-remove.
Requires
    Totals of such weights. ``words``: independent uniform 64-bit words (`noise.entropy` owes it).
Relies on
    `RoundedNormal`: rounding of a continuous normal. `accounting.gaussian_profile.delta_above`. Arb's enclosure of
    erfinv.
Proof
    Let D have one unit more than D', with t keys, of which j are its own alone; x = j/t (x = j/max_groups where nothing
    is weighted). Its other keys move by at most sqrt(1-x) R in L2 norm, R = STEPS or STEPS sqrt(max_groups), so for
    them noise of sd s R has the profile G(x) = delta(epsilon; sqrt(1-x)/s), which falls as x grows. Let E be that one
    of the j keys is shown under D, and p its probability. A single one is shown with probability P(Y >= threshold -
    w_t) <= C/t, and so p <= x C (C/max_groups and j in place of t where nothing is weighted). For a set S of outcomes
    write a for the probability that the other keys alone give S from D, b from D'.
    *From D to D'.* P(S) <= p + a <= p + e^epsilon b + G(x). *Back.* b - e^epsilon (1-p) a: if e^epsilon a <= 1 it is at
    most G(x) + p e^epsilon a <= G(x) + p; otherwise at most 1 - (1-p) = p.
    So delta = max over x of x C + G(x) suffices. The interval [0, 1] is cut at `CUTS`; on a piece [u, v] it is at most
    v C + G(u), and C is the largest number with which no piece exceeds delta. Note that C and G(0) are close to delta
    both: halving delta between noise and threshold is not needed.
    *Threshold.* P(Y >= z) = erfc((z - 1/2) / (sd sqrt 2)) / 2 <= C/t holds from z = 1/2 + sd sqrt 2 erfinv(1 - 2C/t)
    on. For t in a piece [u, v], w_t <= w_u and C/t >= C/v.
Rounding
    Variance and threshold up; C down.
Source
    Korolova et al. (WWW 2009); Gopi, Gulhane, Kulkarni, Shen, Shokouhi, Yekhanin, Differentially Private Set Union
    (ICML 2020), for weights 1/sqrt(t); Balle, Wang (ICML 2018), theorem 8. The sum over x in place of two halves of
    delta is our own.
Mutant
    half-a-step-forgotten: the threshold is taken for noise that is not rounded; killed by test_the_threshold_is_tight.
    one-key-alone: the threshold is that of a unit with one key; killed by test_delta_is_kept_for_every_number_of_keys.
    shared-for-free: the part of delta that the shared keys cost is left out; killed by
    test_delta_is_kept_for_every_number_of_keys.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from statistics import NormalDist

import numpy as np
from flint import arb, ctx
from numpy.typing import NDArray

from discreet.accounting.gaussian_profile import delta_above, mu_below
from discreet.exact.bisection import float_down
from discreet.noise.certified_comparison import decided, floors, real
from discreet.noise.entropy import RandomWords
from discreet.noise.gaussian import RoundedNormal

STEPS = 1 << 20
"""The weight of a unit with one key."""
PARTS = tuple(2.0**-i for i in range(1, 10))
"""Of delta, not spent on a unit all of whose keys are shared: the candidates."""
CUTS = (0.0, *(2.0 ** (i / 4) for i in range(-36, -4)), *(i / 64 for i in range(32, 65)))
SINGLE = 64
"""Up to so many keys each number is a piece of its own; then pieces grow by a 32nd."""
PRECISION = 128
LAST_PRECISION = 4096
ALMOST = 1 - 2.0**-40


@dataclass(frozen=True, slots=True)
class GaussianKeys:
    """Noise and threshold, in steps; make one with `GaussianKeys.of`.

    >>> law = GaussianKeys.of(Fraction(1), Fraction(1, 10**5), 10, weighted=True)
    >>> law.users(0.5, 10), law.users(0.5, 1)
    (58, 19)
    """

    variance: Fraction
    threshold: int
    weighted: bool

    @classmethod
    def of(cls, epsilon: Fraction, delta: Fraction, max_groups: int, *, weighted: bool) -> GaussianKeys:
        """The law with the lowest threshold that was found for an epsilon and a delta; computed once and kept."""
        return _calibrated(epsilon, delta, max_groups, weighted)

    def weight(self, keys: int) -> int:
        """What a unit with so many keys adds to each of them."""
        return math.isqrt(STEPS**2 // keys) if self.weighted else STEPS

    def probability(self, units: int, keys: int) -> float:
        """The probability that a key is shown that so many units have, each with so many keys."""
        if not units:
            return 0.0
        short = (self.threshold - 0.5 - units * self.weight(keys)) / math.sqrt(float(self.variance))
        return NormalDist().cdf(-short)

    def users(self, chance: float, keys: int) -> int:
        """How many units, each with so many keys, it takes for at least this chance."""
        needed = self.threshold - 0.5 + NormalDist().inv_cdf(chance) * math.sqrt(float(self.variance))
        units = max(1, math.ceil(needed / self.weight(keys)) - 1)
        while self.probability(units, keys) < chance:  # the quotient may be off by rounding
            units += 1
        return units

    def release(self, totals: NDArray[np.int64], words: RandomWords) -> NDArray[np.bool_]:
        """Which keys are shown, from their totals in steps."""
        present = np.flatnonzero(totals > 0)
        noisy = totals[present] + RoundedNormal.of_variance(self.variance).sample(present.size, words)
        shown: NDArray[np.bool_] = np.zeros(totals.size, dtype=np.bool_)
        shown[present] = noisy >= self.threshold
        return shown


@lru_cache(maxsize=32)
def _calibrated(epsilon: Fraction, delta: Fraction, max_groups: int, weighted: bool) -> GaussianKeys:  # noqa: FBT001 (positional so that the cache sees one form)
    radius = 1.0 if weighted else math.sqrt(max_groups)
    found = []
    for part in PARTS:
        mu = mu_below(epsilon, delta * Fraction(1 - part))
        chance = own_chance(epsilon, delta, Fraction(mu))
        if chance > 0:
            found.append((_approximate(radius / mu, chance, max_groups, weighted=weighted), mu, chance))
    _, mu, chance = min(found)
    squared = STEPS**2 * (1 if weighted else max_groups) / Fraction(mu) ** 2
    variance = Fraction(math.ceil(squared))
    return GaussianKeys(variance, _threshold(variance, chance, max_groups, weighted=weighted), weighted)


def own_chance(epsilon: Fraction, delta: Fraction, mu: Fraction) -> float:
    """C: how likely a unit's own keys may be shown, all of them together, beside noise with this mu; rounded down."""
    total = float_down(delta)
    return min(
        (total - delta_above(_shared(mu, low), epsilon)) / high * ALMOST if low < 1 else total
        for low, high in itertools.pairwise(CUTS)
    )


def _shared(mu: Fraction, own: float) -> Fraction:
    """mu for what is left of a unit's norm, rounded up."""
    return mu * Fraction(math.nextafter(math.sqrt(1.0 - own), 2.0))


def _approximate(sd: float, chance: float, max_groups: int, *, weighted: bool) -> float:
    """The threshold in floating point, over the weight of a unit with the most keys: for choosing only."""
    return sd * -NormalDist().inv_cdf(chance / max_groups) + (1 / math.sqrt(max_groups) if weighted else 1.0)


def _threshold(variance: Fraction, chance: float, max_groups: int, *, weighted: bool) -> int:
    """The smallest number of steps that the proof allows, or one more."""

    def least(low: int, high: int) -> int:
        weight = (math.isqrt(STEPS**2 // low)) if weighted else STEPS
        most = Fraction(chance) / high

        def reached() -> int | None:
            reach = (1 - 2 * real(most)).erfinv() * (real(variance) * 2).sqrt() + arb(weight) + arb(0.5)
            if not reach.is_finite():
                return None
            under, over = floors(reach)
            return over + 1 if under == over or ctx.prec >= LAST_PRECISION else None

        return decided(reached, PRECISION)

    return max(1, *(least(low, high) for low, high in _pieces(max_groups, weighted=weighted)))


def _pieces(max_groups: int, *, weighted: bool) -> list[tuple[int, int]]:
    """Ranges of numbers of keys, from 1 to the most; where nothing is weighted the most is the worst."""
    if not weighted:
        return [(max_groups, max_groups)]
    pieces, low = list[tuple[int, int]](), 1
    while low <= max_groups:
        high = low if low < SINGLE else min(max_groups, low + low // 32)
        pieces.append((low, high))
        low = high + 1
    return pieces
