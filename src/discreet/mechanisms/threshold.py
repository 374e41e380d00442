"""Noisy counts of keys that nobody listed: only those that reach a threshold are shown.

Claim
    Let a unit be counted in at most `max_groups` keys, with at most `max_rows` in each. ``Threshold(epsilon=e, delta=d,
    max_groups=l, max_rows=r).release(counts)`` shows the keys whose count, with discrete Laplace noise of scale lr/e,
    is at or above ``threshold``, and that noisy count; it is (e, d)-differentially private under add-remove. Keys that
    no unit has are never shown. ``interval(noisy, c)`` holds the count of a key that is shown with probability c or
    more, given that it is shown, whatever the count.
Requires
    Counts of units, or of rows of which each unit has no more than that. ``words``: independent uniform 64-bit words
    (`noise.entropy` owes it).
Relies on
    `DiscreteLaplace.sample`: an exact law. Arb's enclosures for the threshold.
Proof
    Let D have one unit more than D'. Let it be the only one in j of its keys, so that D' lacks them; it moves at most
    l - j other counts, by r at most. Let E be that some of the j keys is shown. Their counts are r at most, and the
    threshold t is the smallest with P(r + Z >= t) <= d1 = 1 - (1-d)^(1/l), and it is what is *at* t that is shown too;
    so P(E) <= 1 - (1-d1)^j <= d. For a set S of
    outcomes without the j keys let x be the probability of S among D's other keys, and f = e (l-j)/l: D' gives S with
    e^-f x to e^f x. From D to D': P(D in S or E) <= d + x <= d + e^e P(D' in S). From D' to D, where D gives S with
    (1 - P(E)) x: if e^f x <= 1, P(D' in S) - e^e (1-P(E)) x <= e^f x P(E) <= d; otherwise it is at most 1 - (1-P(E)).
    P(Z >= z) = q^z/(1+q) for z >= 1, q = exp(-e/lr); so t - r is the number log((1+q) d1) / log q rounded up, or 1. It
    is never an integer, so its floor is found: q is transcendental, and d1 algebraic.
    *Interval.* Let x be the count and N the noisy one, given N >= t; a = (1-c)/2. Above: P(N < x - h | N >= t) <=
    P(Z < -h) <= a, since what is left out was on that side. Below: x is left out at N = n if r(x) = P(N >= n | N >= t)
    = P(Z >= n-x) / P(Z >= t-x) <= a; so it is with probability a at most. r grows with x, as the law of Z is log-
    concave. For x <= t it is q^(n-t), whatever x is: if that is above a, nothing is left out, and the lower end is 1.
    Otherwise let x = t + m, m >= 0: P(Z >= -m) = 1 - q^(m+1)/(1+q), and with y = q^m, what leaves x out is
    a q y^2 - a (1+q) y + q^(n-t) <= 0: m up to log(y1)/log(q), y1 the smaller root.
Rounding
    Of the threshold, none; the lower end down, by one where doubles cannot tell.
Source
    Korolova, Kenthapadi, Mishra, Ntoulas, Releasing Search Queries and Clicks Privately (WWW 2009); Wilson et al.,
    Differentially Private SQL with Bounded User Contribution (PETS 2020), for the root over keys.
Mutant
    ties-shown-for-free: the threshold is right for "above" and used for "at or above"; killed by
    test_a_lone_key_is_shown_with_delta_at_most.
    rows-of-a-lone-key: the threshold is that of units with one row in each key; killed by
    test_a_key_of_several_rows_is_shown_with_delta_at_most.
    rows-without-noise: the noise is that of units with one row in each key; killed by
    test_counts_of_rows_keep_their_promise.
    shown-by-chance-forgotten: intervals are those of counts that are always shown; killed by
    test_intervals_hold_for_keys_that_are_shown.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.accounting.event_losses import HasLoss
from discreet.errors import InvalidParameter, expected
from discreet.exact.amounts import at_least_one, confidence_level, positive, proper_delta
from discreet.exact.given_values import array_of
from discreet.guesses.misfit_calls import with_usage_hint
from discreet.mechanisms.selection_probabilities import exact_counts, exact_scores
from discreet.noise.certified_comparison import decided, real, whole_part
from discreet.noise.entropy import RandomWords, fresh_words
from discreet.noise.laplace import CAP, DiscreteLaplace
from discreet.privacy.events import ApproximateEvent, Event

PRECISION = 128
SLACK = 1e-12
LARGEST = 2**62
"""What doubles may be off by in an interval, and more."""
UNLISTED = "keys that were not listed need a delta, as delta=1e-8; list the keys to do without."


class ShownKeys(NamedTuple):
    """The keys that reached the threshold."""

    places: NDArray[np.int64]
    """Where they stand among the counts."""
    noisy: NDArray[np.int64]
    """Their noisy counts, none below the threshold."""


@dataclass(frozen=True, kw_only=True)
class Threshold(HasLoss):
    """Shows the keys that many people have, with noisy counts, and hides those that few have.

    Args:
        epsilon: the price.
        delta: the probability with which a key that one person has may be shown, over all keys of that person.
        max_groups: in how many keys one person is counted at most; you must see to it before you count.
        max_rows: with how many rows in each of them, if rows are counted.

    >>> pages = Threshold(epsilon=1, delta=1e-5)
    >>> pages.threshold, round(pages.keep(30), 6)
    (13, 1.0)
    >>> pages.release([1, 2, 1000]).places
    array([2])
    """

    epsilon: Fraction
    delta: Fraction
    max_groups: int = 1
    max_rows: int = 1

    @with_usage_hint("dp.Threshold(epsilon={}, delta={})")
    def __init__(self, *, epsilon: object, delta: object, max_groups: int = 1, max_rows: int = 1) -> None:
        object.__setattr__(self, "epsilon", positive("epsilon", epsilon))
        object.__setattr__(self, "max_groups", at_least_one("max_groups", max_groups))
        object.__setattr__(self, "max_rows", at_least_one("max_rows", max_rows))
        object.__setattr__(self, "delta", proper_delta(delta, UNLISTED))

    @property
    def scale(self) -> Fraction:
        """max_groups * max_rows / epsilon."""
        return self.max_groups * self.max_rows / self.epsilon

    @property
    def threshold(self) -> int:
        """The smallest noisy count that is shown."""

        def above_its_own() -> int | None:
            each = -(((1 - real(self.delta)).log() / self.max_groups).expm1())
            excess = real(self.scale) * (1 / ((1 + (-1 / real(self.scale)).exp()) * each)).log()
            # A law so narrow, or a delta so large, that any excess of 1 or more is rare enough.
            return 0 if excess.upper() < 0 else None if excess.lower() < 0 else whole_part(excess)

        return decided(above_its_own, PRECISION) + 1 + self.max_rows

    @property
    def event(self) -> Event:
        """What a ledger records."""
        return ApproximateEvent(epsilon=self.epsilon, delta=self.delta)

    def keep(self, count: object) -> float:
        """The probability that a key is shown which so many units have, or so many rows."""
        units = at_least_one("count", count)
        needed, rate = self.threshold - units, -1.0 / float(self.scale)
        if needed >= 1:
            return float(np.exp(needed * rate) / (1 + np.exp(rate)))
        return float(1 - np.exp((1 - needed) * rate) / (1 + np.exp(rate)))

    def interval(self, noisy: ArrayLike, confidence: object = 0.95) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Ends that hold the count of each key that was shown, with this confidence given that it was.

        A noisy count near the threshold says little: most keys that reach it by chance have far fewer units.

        >>> [end.tolist() for end in Threshold(epsilon=1, delta=1e-5).interval([13, 16, 17, 30])]
        [[1, 1, 14, 27], [16, 19, 20, 33]]
        """
        given = array_of("noisy", noisy)  # of which int64 would write out all digits of Decimal("1e99999999")
        exact = exact_scores(given.reshape(-1)).reshape(given.shape) if given.dtype == object else given
        if exact.dtype.kind not in "iuf" or (exact.size and not np.abs(exact).max() < LARGEST):
            cure = "give what .release returned."
            raise InvalidParameter(expected("noisy counts", "noisy", f"<{exact.dtype}>", cure))
        wanted, shown = confidence_level(confidence), exact.astype(np.int64)
        half = min(DiscreteLaplace.of_scale(self.scale).quantile(wanted), LARGEST)  # no count is larger
        missed, scale = float(1 - wanted) / 2, float(self.scale)
        odds, q = np.exp((min(self.threshold, LARGEST) - shown) / scale), math.exp(-1 / scale)
        root = np.sqrt(np.maximum((1 + q) ** 2 - 4 * q * odds / missed, 0))
        below = scale * np.log(2 / (missed * (1 + q + root)))
        low = shown + 1 - np.ceil(np.minimum(below * (1 + SLACK) + SLACK, LARGEST)).astype(np.int64)
        return np.where(odds * (1 + SLACK) > missed, 1, np.maximum(low, 1)), shown + half

    @with_usage_hint(".release([120, 3])")
    def release(self, counts: ArrayLike, *, words: RandomWords | None = None) -> ShownKeys:
        """The keys that reach the threshold, and their noisy counts.

        Args:
            counts: the number of units or rows that have each key: whole numbers. A key with 0 is never shown.
            words: where chance comes from; the operating system, if you do not test.

        Raises:
            InvalidParameter: the counts are no whole numbers of 0 or more.
        """
        exact = exact_counts(counts, CAP // 2)
        if exact is None:
            cure = "count the units that have each key: one whole number a key."
            raise InvalidParameter(expected("counts of units", "counts", "other numbers", cure))
        present = np.flatnonzero(exact)
        noise = DiscreteLaplace.of_scale(self.scale).sample(present.size, words or fresh_words())
        noisy: NDArray[Any] = np.clip(exact[present] + noise, -CAP // 2, CAP // 2)  # so that the cap is not seen
        shown = noisy >= self.threshold
        return ShownKeys(present[shown].astype(np.int64), noisy[shown])
