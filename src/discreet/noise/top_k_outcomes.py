"""Sequences and sets of k candidates, by how far they fall short of the k best: level sets of a given size.

Claim
    ``sequence(scores, k, rate, words)`` returns k different indices s_1..s_k with probability exactly proportional to
    exp(-rate max_i (x_(i) - x_(s_i))), x_(i) the i-th largest score; ``subset(scores, k, rate, words)`` a set S of k
    indices, in ascending order, with probability exactly proportional to exp(-rate L(S)), L(S) the larger of 0 and the
    largest score outside of S minus the smallest in S (0 if nothing is outside). Equal scores count one by one.
Requires
    Finite scores, as `winners` takes them, k of 1 to their number; a rate above 0. ``words``: independent uniform
    64-bit words (`noise.entropy` owes it).
Relies on
    `level_set_draws.choose`. `uniform.below_each`. NumPy's stable `argsort` and `searchsorted`. Arb's enclosures.
Proof
    Let places 0, 1, ... be the candidates in descending order of their scores, and n_i(l) the number of places whose
    score is at least x_(i+1) - l/rate: it grows with i and with l.
    *Sequences.* The loss is at most l if s_i is one of the first n_i(l) places for every i. As those are nested, i of
    the n_i places are taken when the place of number i is chosen, counted from 0, so the number of such sequences is
    prod (n_i - i). A Fisher-Yates shuffle gives each of them once: it swaps slot i with one of the slots i..n_i - 1,
    all equally likely; slots beyond n_i still hold their own places, so those before hold what is left of the first n_i
    places.
    *Sets.* Let t be the first place outside of S, t < k or S is the k best. Then S is 0..t-1 and k - t of the places
    after t, of which one is k or later; the largest score outside is x_(t+1), and the smallest inside is at the last
    place. So L(S) <= l if those k - t are among places t+1..n_t(l)-1, and there are binomial(n_t - t - 1, k - t) ways:
    kind t, and as kind k the one set of the k best, whose loss is 0.
    Any n that is not smaller will do for `level_set_draws`. *Integers*: a difference of scores is at most l/rate if it
    is at most its floor. *Floats*: with z a float at or above l/rate, and T = -x_(i) + z, every float at or below T is
    at or below T rounded to a float; so that one sum may be rounded. *Fractions* are compared as they are.
Rounding
    None in the law. `log_sizes`: n! lies between sqrt(2 pi n) (n/e)^n exp(1/(12n + 1)) and the same with exp(1/(12n));
    float errors of that, and of a sum of k logarithms, are less than `SLACK` and k 2^-46 times (1 + their terms).
Source
    Gillenwater, Joseph, Munoz, Ribero (ICML 2022), lemma 4: the number of sequences. Wu, Zhang, Faster Differentially
    Private Top-k Selection: A Joint Exponential Mechanism with Pruning (NeurIPS 2024): the same law in O(d + k^2).
    Shekelyan, Loukides, Differentially Private Top-k Selection via Canonical Lipschitz Mechanism (2022): the loss of a
    set. Robbins, A Remark on Stirling's Formula (1955). Knuth, The Art of Computer Programming 2, 3.4.2.
Mutant
    taken-places-count: a sequence may take a place twice; killed by test_sizes_are_counted.
    first-gap-is-free: the first place outside is one of those to choose from; killed by test_sizes_are_counted.
    floats-round-down: l/rate is rounded to the float below; killed by test_a_level_set_holds_all_below_it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from flint import arb
from numpy.typing import NDArray

from discreet.errors import InvalidParameter, expected
from discreet.exact.amounts import count
from discreet.noise.entropy import RandomWords
from discreet.noise.level_set_draws import SLACK, Outcomes, Places, Reals, choose
from discreet.noise.noisy_argmax import SAFE, Scores, exact_score, finite_scores
from discreet.noise.uniform import below_each


def sequence(scores: Scores, k: int, rate: Fraction, words: RandomWords) -> Places:
    """k different indices, by the largest of their shortfalls behind the best, the second best, and so on.

    Raises:
        InvalidParameter: there are no scores, one is not finite, the rate is not exact, or k is not in 1..m.

    >>> from discreet.noise.entropy import fresh_words
    >>> sequence([5000, 0, 9000, 1000], 2, Fraction(1), fresh_words()).tolist()
    [2, 0]
    """
    ranked = RankedScores.of(scores, k, rate)
    return ranked.order[choose(Sequences(ranked), words)]


def subset(scores: Scores, k: int, rate: Fraction, words: RandomWords) -> Places:
    """k different indices in ascending order, by how far the worst of them is behind the best of the others.

    Raises:
        InvalidParameter: as `sequence`.

    >>> from discreet.noise.entropy import fresh_words
    >>> subset([5000, 0, 9000, 1000], 2, Fraction(1), fresh_words()).tolist()
    [0, 2]
    """
    ranked = RankedScores.of(scores, k, rate)
    return np.sort(ranked.order[choose(Subsets(ranked), words)])


@dataclass(frozen=True, slots=True, eq=False)
class RankedScores:
    """Candidates in descending order of their scores."""

    order: Places
    """The index of the candidate at each place."""
    keys: NDArray[Any]
    """Minus their scores, up to a constant, so in ascending order: integers, floats or fractions, each exact."""
    k: int
    rate: Fraction

    @classmethod
    def of(cls, scores: Scores, k: int, rate: Fraction) -> RankedScores:
        """The order of scores.

        >>> RankedScores.of([3, 8, 5], 1, Fraction(1)).order.tolist()
        [1, 2, 0]
        """
        values = finite_scores(scores)
        if not isinstance(rate, Fraction) or rate <= 0:
            cure = "give the rate as fractions.Fraction(numerator, denominator)."
            raise InvalidParameter(expected("an exact rate above 0", "rate", rate, cure))
        if not 1 <= count("k", k) <= values.size:
            raise InvalidParameter(expected(f"a k from 1 to {values.size}", "k", k, "ask for no more than there are."))
        keys = _keys(values)
        order = np.argsort(keys, kind="stable").astype(np.int64)
        return cls(order, keys[order], k, rate)

    def within(self, level: float) -> Places:
        """For each of the first k places a number of places that is not smaller than n(level)."""
        size = self.keys.size
        if math.isinf(level):
            return np.full(self.k, size, dtype=np.int64)
        far, best = Fraction(level) / self.rate, self.keys[: self.k]
        if self.keys.dtype == np.float64:
            with np.errstate(over="ignore"):  # infinity is above all keys
                ends = best + _float_above(far)
        elif self.keys.dtype == np.int64:
            ends = best + min(math.floor(far), SAFE)
        else:
            ends = best + far
        return np.searchsorted(self.keys, ends, side="right").astype(np.int64)

    def behind(self, places: Places, best: Places) -> Fraction:
        """rate times the largest difference between the scores at `best` and at `places`, one by one."""
        pairs = zip(self.keys[places].tolist(), self.keys[best].tolist(), strict=True)
        return self.rate * max(exact_score(key) - exact_score(other) for key, other in pairs)


def _keys(values: NDArray[Any]) -> NDArray[Any]:
    if values.dtype == np.float64:
        return -values
    if values.dtype == np.int64:
        if int(values.max()) - int(values.min()) < SAFE:
            return np.asarray(values.max() - values)
        values = values.astype(object)
    if all(isinstance(value, int | np.integer) for value in values):
        largest = int(values.max())
        gaps = [largest - int(value) for value in values]
        return np.array(gaps, dtype=np.int64 if max(gaps) < SAFE else object)
    return np.array([-exact_score(value) for value in values], dtype=object)


def _float_above(value: Fraction) -> float:
    """A float at or above a number of 0 or more, infinity where there is none."""
    try:
        nearest = float(value)
    except OverflowError:
        return math.inf
    return nearest if math.isinf(nearest) or Fraction(nearest) >= value else math.nextafter(nearest, math.inf)


class Sequences(Outcomes):
    """Orders of k candidates, as places: one kind."""

    def __init__(self, ranked: RankedScores) -> None:
        self._ranked = ranked
        self._taken = np.arange(ranked.k)

    @property
    def log_number(self) -> float:
        """The logarithm of the number of all sequences."""
        return float(self.log_sizes(math.inf)[0])

    def log_sizes(self, level: float) -> Reals:
        """The sum of the logarithms of the places that each choice has left."""
        total = float(np.log(self._free(level).astype(np.float64)).sum())
        return np.array([total + (SLACK + self._ranked.k * 2.0**-46) * (1.0 + total)])

    def log_size(self, kind: int, level: float) -> arb:  # noqa: ARG002 - there is one kind
        """The same, enclosed."""
        return sum((arb(int(free)).log() for free in self._free(level)), arb(0))

    def member(self, kind: int, level: float, words: RandomWords) -> Places:  # noqa: ARG002 - there is one kind
        """A sequence of which every place is near enough."""
        return shuffled(self._ranked.within(level), words)

    def loss(self, outcome: Places) -> Fraction:
        """By how much a choice falls short of the one best of its number, at most."""
        return self._ranked.behind(outcome, self._taken)

    def _free(self, level: float) -> Places:
        """How many places each choice has left."""
        return self._ranked.within(level) - self._taken


class Subsets(Outcomes):
    """Sets of k candidates, as places, the last place last: a kind for each first place outside."""

    def __init__(self, ranked: RankedScores) -> None:
        self._ranked = ranked
        self._first = np.arange(ranked.k)

    @property
    def log_number(self) -> float:
        """The logarithm of the number of all sets."""
        return float(np.logaddexp.reduce(self.log_sizes(math.inf)))

    def log_sizes(self, level: float) -> Reals:
        """The logarithms of binomial coefficients; the last kind is the k best."""
        free, chosen = self._ranked.within(level) - self._first - 1, self._ranked.k - self._first
        return np.append(log_binomial_above(free, chosen), 0.0)

    def log_size(self, kind: int, level: float) -> arb:
        """The same of one kind, enclosed."""
        chosen = self._ranked.k - kind
        if not chosen:
            return arb(0)
        free = int(self._ranked.within(level)[kind]) - kind - 1
        return arb(free + 1).lgamma() - arb(chosen + 1).lgamma() - arb(free - chosen + 1).lgamma()

    def member(self, kind: int, level: float, words: RandomWords) -> Places:
        """The places before the first one outside, and others behind it that are near enough."""
        leading, chosen = np.arange(kind), self._ranked.k - kind
        if not chosen:
            return leading
        free = int(self._ranked.within(level)[kind]) - kind - 1
        others = shuffled(np.full(chosen, free, dtype=np.int64), words) + kind + 1
        return np.concatenate([leading, np.sort(others)])

    def loss(self, outcome: Places) -> Fraction:
        """By how much the last place is behind the first place outside."""
        first = int(np.searchsorted(outcome - np.arange(outcome.size), 1))
        if first == outcome.size:
            return Fraction(0)
        return self._ranked.behind(outcome[-1:], np.array([first]))


def shuffled(limits: Places, words: RandomWords) -> Places:
    """Different places, the i-th below the i-th limit, all such sequences equally likely; limits must not fall.

    >>> from discreet.noise.entropy import fresh_words
    >>> shuffled(np.array([1, 2, 3]), fresh_words())
    array([0, 1, 2])
    """
    slots = np.arange(limits.size)
    picked = (slots + below_each(limits - slots, words)).tolist()
    moved: dict[int, int] = {}
    result = np.empty(limits.size, dtype=np.int64)
    for i, pick in enumerate(picked):
        result[i] = moved.get(pick, pick)
        moved[pick] = moved.get(i, i)
    return result


def log_binomial_above(n: Places, m: Places) -> Reals:
    """A float above the logarithm of each binomial coefficient, minus infinity where m exceeds n.

    >>> log_binomial_above(np.array([4, 1]), np.array([2, 2])).round(3)
    array([1.794,  -inf])
    """
    rest = np.maximum(n - m, 0)
    (_, above), (below, _), (least, _) = _log_factorials(n), _log_factorials(m), _log_factorials(rest)
    result: Reals = above - below - least + SLACK * (1.0 + above)
    return np.where(n < m, -np.inf, result)


def _log_factorials(n: Places) -> tuple[Reals, Reals]:
    """Stirling's formula, from below and from above."""
    x = np.maximum(n, 1).astype(np.float64)
    formula = (x + 0.5) * np.log(x) - x + 0.5 * math.log(2.0 * math.pi)
    none = n < 1
    return np.where(none, 0.0, formula + 1.0 / (12.0 * x + 1.0)), np.where(none, 0.0, formula + 1.0 / (12.0 * x))
