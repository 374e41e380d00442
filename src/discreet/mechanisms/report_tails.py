"""How likely estimates from randomized reports are to miss, by the exact law of the reports.

Claim
    Let m of n people have a category, and `supports` be the reports that support it. `chance_to_miss` returns the
    probability that the estimate of m/n is off by more than `within`, for the m at which it is largest, and a whole
    number of reports stands just beyond the limit (`Rounding` says what of that is computed, and what is not).
Requires
    The chances p and q of a `Channel`, and p - q with all its digits.
Relies on
    Cauchy's formula for the coefficients of a product of polynomials; the normal law far from its ends.
Proof
    supports is Bin(m, p) + Bin(n-m, q), independent, and the estimate is off by (supports - E)/(n (p-q)), so it misses
    if |supports - E| exceeds t = n within (p-q). *Tail.* With the cumulants K(z) = m log(1+p(e^z-1)) +
    (n-m) log(1+q(e^z-1)), P(supports >= a) = 1/(2 pi) * integral over y in [-pi, pi] of exp(K(z) - az)/(1 - e^-z), z =
    x + iy, for each x > 0: the sum over k >= a of the coefficients of e^K. x is taken where K'(x) = a or nearly, which
    makes the integrand large near y = 0 alone; what the trapezoid rule leaves out is the probability of counts more
    than 100 standard deviations further on. The lower tail is the upper one of n - supports, with 1 - p and 1 - q.
    *Position.* E - m falls by 1 - (p-q) from m to m + 1. Where that adds up to `POSITIONS` or less over all m, the
    whole numbers next to E + t - m and E - t - m change at a few m only. Between two such m the law of supports - m
    falls (a report of probability q is replaced by one of probability p, less 1), so there the upper tail is largest at
    the first m and the lower one at the last. Elsewhere each position between two whole numbers comes up, and the tail
    is taken as if a whole number stood at E + t, by interpolating its logarithm.
    *Several.* Two shares of one question mirror each other. Of k categories, let g(f) be the chance at the share f;
    with c = max over f of (g(f) - g(0))/f, or 0, the chances add up to at most sum (g(0) + c f) = k g(0) + c.
    Reports on different questions are independent: all of them are met with the product of their chances.
Rounding
    To nearest. The largest m is sought among `SHARES` shares. Beyond `MANY` people whose reports have a variance of
    `ENOUGH` or more, the normal law with the exact variance stands for the reports; it is off by about one part in that
    variance. No privacy depends on the size of a plan.
Source
    Daniels, Saddlepoint approximations in statistics (1954): the contour, here integrated instead of expanded.
Mutant
    reports-of-holders-alone: only the reports of those who have the category vary; killed by
    test_the_chance_to_miss_is_that_of_all_shares.
    many-people-are-normal: many people have the normal law, however few of their reports are other than most; killed
    by test_few_odd_reports_of_many_people_are_not_normal.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.exact.bisection import least

SHARES = (0.0, 1 / 16, 1 / 8, 1 / 4, 1 / 2, 3 / 4, 1.0)
"""Where the worst share is looked for; the chance changes little and slowly with it."""

POSITIONS = 8
"""Where the mean passes more whole numbers than this from no holder to all, each position between two comes up."""

PARTS = 16
"""Into so many parts are the numbers of holders cut where they are gone through."""

MANY = 10**10
"""From so many people on a normal law is as good as the sum, if their reports vary enough."""

ENOUGH = 10.0**7
"""The variance of so many reports that is enough for it."""

DIGITS = 2.0**53
"""Up to so many people a float counts each of them."""

NODES = 400
"""Of the trapezoid rule, on one side of the real axis."""

REACH = 16.0
"""Standard deviations of the tilted law within which the integrand is not nothing."""

TIE = 1.0 - 2.0**-40
"""What is so near to the limit may be at it, and counts as beyond."""

FARTHEST = 50.0
"""The largest tilt; only counts next to the last possible one ask for more."""

Complexes = NDArray[Any]


@dataclass(frozen=True, slots=True)
class ReportLaw:
    """n people; each report supports the sender's category with probability p, another with probability q."""

    p: float
    q: float
    apart: float
    """p - q, with all its digits."""
    people: int

    @property
    def many(self) -> float:
        """Beyond so many people a normal law stands for their reports."""
        least_of_one = min(self.p * (1.0 - self.p), self.q * (1.0 - self.q))
        return max(MANY, ENOUGH / least_of_one) if least_of_one else math.inf

    def chance_to_miss(self, within: float) -> float:
        """The largest probability, over the shares, that an estimated share is off by more than `within`.

        >>> round(ReportLaw(0.75, 0.25, 0.5, 100).chance_to_miss(0.2), 4)
        0.0278
        """
        if self.people * (1.0 - self.apart) <= POSITIONS:
            return self._chance_by_position(self.people * within * self.apart)
        return max(self._chance_at_share(share, within) for share in SHARES)

    def chance_that_one_misses(self, within: float, categories: int) -> float:
        """A bound on the probability that one of the estimated shares of so many categories is off by more."""
        if categories == 2:
            return self.chance_to_miss(within)
        if self.people * (1.0 - self.apart) <= POSITIONS:
            return min(1.0, categories * self.chance_to_miss(within))
        none, *others = (self._chance_at_share(share, within) for share in SHARES)
        slopes = ((one - none) / share for one, share in zip(others, SHARES[1:], strict=True))
        return min(1.0, categories * none + max(0.0, *slopes))

    def _chance_at_share(self, share: float, within: float) -> float:
        """The probability of an error above `within` where this share of the people have the category."""
        limit = self.people * within * self.apart
        if self.people > self.many:
            variance = self.people * (share * self.p * (1.0 - self.p) + (1.0 - share) * self.q * (1.0 - self.q))
            return 2.0 * normal_tail(limit / math.sqrt(variance))
        above, below = self._sums(round(share * self.people))
        return min(1.0, above.beyond(limit) + below.beyond(limit))

    def _chance_by_position(self, limit: float) -> float:
        """The probability of an error beyond `limit` reports, at the worst of all m, from those where floors change."""
        drop, most = max(1.0 - self.apart, 0.5 / (1.0 + self.people) ** 2), self.people
        ends = [self.people * self.q + sign * limit for sign in (1.0, -1.0)]
        crossings = ((end - whole) / drop for end in ends for whole in _wholes(end - most * drop, end))
        changes = (min(max(math.floor(c) + i, 0), most) for c in crossings for i in (0, 1))
        places = sorted({*changes, *(most * i // PARTS for i in range(PARTS + 1))})
        tails = []
        for having in places:
            above, below = self._sums(having)
            tails.append((above.tail(above.first_above(limit)), below.tail(below.first_above(limit))))
        between = [
            first[0] + second[1] for i, (first, second) in enumerate(pairwise(tails)) if places[i + 1] > places[i] + 1
        ]
        return min(1.0, max([*(sum(both) for both in tails), *between]))

    def _sums(self, having: int) -> tuple[BinomialSum, BinomialSum]:
        """The supports, and the people without them."""
        others = self.people - having
        return BinomialSum(having, others, self.p, self.q), BinomialSum(having, others, 1.0 - self.p, 1.0 - self.q)


def _wholes(low: float, high: float) -> range:
    return range(math.floor(low), math.ceil(high) + 1)


@dataclass(frozen=True, slots=True)
class BinomialSum:
    """Bin(first, p) + Bin(second, q), independent."""

    first: int
    second: int
    p: float
    q: float

    @property
    def mean(self) -> float:
        """What it is on average."""
        return self.first * self.p + self.second * self.q

    def first_above(self, limit: float) -> int:
        """The least whole number that is above the mean by more than `limit`."""
        return math.floor(self.mean + limit * TIE) + 1

    def beyond(self, limit: float) -> float:
        """P(this - its mean >= limit), as if a whole number stood there."""
        place = self.mean + limit
        low = math.floor(place)
        if place > self.first + self.second:
            return 0.0
        nearer, further = self.tail(low), self.tail(low + 1)
        if not nearer or not further:
            return nearer
        return math.exp(math.log(nearer) + (place - low) * (math.log(further) - math.log(nearer)))

    def tail(self, count: int) -> float:
        """P(this >= count)."""
        if count <= 0:
            return 1.0
        if count > self.first + self.second:
            return 0.0
        past = count - self.mean
        spread = math.sqrt(self._curvature(0.0))
        tilt = least(lambda x: x >= FARTHEST or self._slope(x) >= past, 0.3 / (1.0 + spread), FARTHEST, relative=1e-2)
        y = np.linspace(0.0, min(math.pi, REACH / math.sqrt(self._curvature(tilt) + 1e-300)), NODES)
        z = tilt + 1j * y
        exponents = self._cumulants(z) - z * past - np.log(-np.expm1(-z))
        size = float(exponents[0].real)
        heights = np.exp(exponents - size).real
        area = float(y[1] * (heights.sum() - (heights[0] + heights[-1]) / 2.0))
        return min(1.0, max(0.0, math.exp(size) * area / math.pi))

    def _cumulants(self, z: Complexes) -> Complexes:
        """K(z) less its mean, from parts that are small where z is."""
        parts = ((self.first, self.p), (self.second, self.q))
        return sum((n * (_log1p(p * np.expm1(z)) - p * z) for n, p in parts), start=np.zeros_like(z))

    def _slope(self, x: float) -> float:
        parts = ((self.first, self.p), (self.second, self.q))
        return sum(n * p * (1.0 - p) * math.expm1(x) / (1.0 + p * math.expm1(x)) for n, p in parts)

    def _curvature(self, x: float) -> float:
        parts = ((self.first, self.p), (self.second, self.q))
        return sum(n * p * (1.0 - p) * math.exp(x) / (1.0 + p * math.expm1(x)) ** 2 for n, p in parts)


def _log1p(w: Complexes) -> Complexes:
    """log(1 + w) with all digits where w is small, which NumPy's has not for complex numbers."""
    logarithm: Complexes = 0.5 * np.log1p(w.real * (2.0 + w.real) + w.imag**2) + 1j * np.arctan2(w.imag, 1.0 + w.real)
    return logarithm


def normal_tail(x: float) -> float:
    """P(Z >= x) of a standard normal Z."""
    return math.erfc(x / math.sqrt(2.0)) / 2.0


def any_of(chance: float, times: int) -> float:
    """The probability that one of so many independent events of this chance happens.

    >>> any_of(0.5, 2)
    0.75
    """
    return -math.expm1(times * math.log1p(-chance)) if chance < 1.0 else 1.0
