"""Covariances and correlations with their error bars, from noisy products of Bernstein polynomials.

Claim
    A group has n rows, each with values u and v in [0, 1]. Given are noisy sums of all products of the Bernstein
    polynomials of u and of v, in rows, each with its own independent noise of one `law` and scale b (sigma), on the
    multiples of `step`, or continuous. Then the intervals hold the true covariance c (s for a sample) or correlation r
    with at least the stated probability, for all values and every n > 0; for ``sample=True``, every n >= 2; for a
    correlation, wherever there is one. No result is infinite or NaN.
Requires
    Components as released, neither rounded nor made non-negative. The truth is that of the bounded, weighted rows.
Relies on
    `planning.bernstein_polynomials` for the coefficients; `noise.weighted_sums`: the quantile Q is monotone in every
    |coefficient|.
Proof
    Let N, A, B be the noisy sums of 1, u, v, and a = A/N, b = B/N; let a', b' be the true means, x = a' - a, y = b' -
    b, and write F(p, q) for the noisy sum of (u-p)(v-q), and G(p), H(q) for those of (u-p)², (v-q)². Then F(a', b') =
    F(a, b) + xyN, G(a') = G(a) + x²N and H(b') = H(b) + y²N: the linear terms vanish at a and b.
    *Means.* The noise in A - a'N has the coefficients of u - a', which are at most |u_i - a| + |x|. So |x| <= Q/N with
    any earlier bound on |x| in these coefficients; the first one is that a' is in [0, 1]. The same for y.
    *Covariance.* F(a', b') - cN is noise with the coefficients of (u-a')(v-b') - c. What they differ from those at (a,
    b, F/N) is at most what x, y and an earlier bound on c allow. So |F(a, b) - cN| <= |xy|N + Q. For a sample, nc =
    (n-1)s gives the same with N-1 for N and s for c.
    *Correlation.* Let t be the true ratio of the standard deviations of v and u. Then c - r(t var u + var v / t)/2 = 0,
    so F(a', b') - r (t G(a') + H(b')/t)/2 is noise with the coefficients of (u-a')(v-b') - r (t (u-a')² + (v-b')²/t)/2.
    Hence |F - r (tG + H/t)/2| <= |xy|N + (tx² + y²/t)N/2 + Q. Here t lies between the roots of the ratios of the ends
    of n var u and n var v, from G and H as above; (tG + H/t)/2 is smallest, sqrt(GH), at sqrt(H/G), and largest at an
    end. Where one of these ends is not above 0, nothing is refused.
    All coefficients are those of the truth, which is fixed, so that each bound misses once with its own part of the
    probability: 9/10 for the last one, 1/10 for the means and spreads together; x, y and t enter by their squares only.
Rounding
    Bounds are widened by 2^-40 of the components' absolute sum, far above the rounding of their terms. A noisy count
    up to 1/2 is taken for none, which refuses nothing.
Source
    Fieller, Some problems in interval estimation (1954): the pivot of a ratio.
Mutant
    count-is-known: the pivot of a covariance forgets the noise of the count; killed by test_covariance_coverage.
    sample-of-all-rows: the covariance of a sample is sought with N for N-1; killed by
    test_a_sample_of_few_rows_is_told_from_a_population.
    spreads-are-known: the pivot of a correlation forgets the noise of the spreads; killed by test_correlation_coverage.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.exact.amounts import fraction
from discreet.inference.moments import around
from discreet.inference.ratio_intervals import PivotNoise
from discreet.planning.bernstein_polynomials import Basis, Reals

Interval = tuple[Reals, Reals]
Known = NDArray[np.bool_]

KNOWN = 0.5
"""A noisy count up to here is none."""
TURNS = 3
"""Bounds on what is unknown are drawn tighter so often; each holds."""
UNKNOWN_SHARE = Fraction(1, 10)
"""The part of the miss probability that goes to means and spreads, which enter by their squares only."""
LARGEST = {False: 0.25, True: 0.5}
"""The size of a covariance of values in [0, 1], for the population and for a sample of two rows or more."""


@dataclass(frozen=True, slots=True)
class ColumnPairs:
    """Noisy sums over the rows of each cell: of 1, and about their own noisy means of (u-a)(v-b), (u-a)², (v-b)²."""

    basis: Basis
    count: Reals
    """At least `KNOWN`; `known` says where it is more."""
    known: Known
    means: tuple[Reals, Reals]
    crossed: Reals
    squares: tuple[Reals, Reals] | None
    """Where the degrees are 2."""
    slack: Reals

    @classmethod
    def of(cls, parts: Reals, degrees: tuple[int, ...]) -> ColumnPairs:
        """From components of shape (cells, components), the second column's degree running fastest."""
        basis = Basis(degrees)
        ones = basis.single(0, 0), basis.single(1, 0)
        noisy = parts.sum(axis=-1)
        known = noisy > KNOWN
        count = np.where(known, noisy, 1.0)
        a = np.where(known, parts @ basis.product(basis.single(0, 1), ones[1]) / count, 0.5)
        b = np.where(known, parts @ basis.product(ones[0], basis.single(1, 1)) / count, 0.5)
        squares = None
        if degrees == (2, 2):
            squares = (
                (parts * basis.product(basis.single(0, 2, a), ones[1])).sum(axis=-1),
                (parts * basis.product(ones[0], basis.single(1, 2, b))).sum(axis=-1),
            )
        slack = 2.0**-40 * np.abs(parts).sum(axis=-1) * (1.0 + np.abs(a)) * (1.0 + np.abs(b))
        return cls(basis, count, known, (a, b), (parts * basis.crossed((a, b))).sum(axis=-1), squares, slack)

    def drift(self, column: int, noise: PivotNoise, confidence: Fraction) -> Reals:
        """How far at most the true mean of a column is from the noisy one."""
        mean = self.means[column]
        sizes = np.abs(self.basis.single(column, 1, mean))
        other = self.basis.single(1 - column, 0)
        far = np.maximum(np.abs(mean), np.abs(1.0 - mean))
        for _ in range(TURNS):
            own = sizes + far[:, None]
            coefficients = self.basis.product(own, other) if column == 0 else self.basis.product(other, own)
            far = np.minimum(far, (noise.noise_quantile(coefficients, confidence) + self.slack) / self.count)
        return far

    def crossed_within(self, drifts: tuple[Reals, Reals]) -> Interval:
        """The coefficients of (u-a')(v-b') at the noisy means, and how far from them they are at the true ones."""
        u, v = (self.basis.single(k, 1, self.means[k]) for k in (0, 1))
        x, y = (drift[:, None] for drift in drifts)
        wide = self.basis.product(np.abs(u) + x, np.abs(v) + y)
        return self.basis.product(u, v), wide - self.basis.product(np.abs(u), np.abs(v))

    def square_within(self, column: int, drift: Reals) -> Interval:
        """The same for the square of one column about its mean."""
        mean, x = self.means[column], drift[:, None]
        slopes = np.stack([2.0 * mean, 2.0 * mean - 1.0, 2.0 * mean - 2.0], axis=-1)
        other = self.basis.single(1 - column, 0)
        parts = self.basis.single(column, 2, mean), np.abs(slopes) * x + x**2
        at, off = (self.basis.product(p, other) if column == 0 else self.basis.product(other, p) for p in parts)
        return at, off


def covariance(parts: Reals, degrees: tuple[int, ...], *, sample: bool = False) -> Reals:
    """The covariance in units of the two ranges, held where covariances are; 0 where the noisy count is none.

    >>> parts = np.array([[30.0, 10.0, 10.0, 50.0]])
    >>> covariance(parts, (1, 1))
    array([0.14])
    """
    pairs = ColumnPairs.of(parts, degrees)
    rows = pairs.count - sample
    enough = pairs.known & (rows > KNOWN)
    raw = np.where(enough, pairs.crossed / np.where(enough, rows, 1.0), 0.0)
    return np.clip(raw, -LARGEST[sample], LARGEST[sample])


def covariance_interval(
    parts: Reals, degrees: tuple[int, ...], noise: PivotNoise, *, confidence: Any, sample: bool = False
) -> Interval:
    """An interval that holds the true covariance with at least this confidence."""
    pairs, cap = ColumnPairs.of(parts, degrees), LARGEST[sample]
    main, unknown = shares(confidence, 2)
    x, y = (pairs.drift(column, noise, unknown) for column in (0, 1))
    rows = np.maximum(pairs.count - sample, KNOWN)
    at, off = pairs.crossed_within((x, y))
    middle = pairs.crossed / rows
    inside = np.clip(middle, -cap, cap)
    reached, far = np.full_like(middle, np.inf), cap + np.abs(inside)
    for _ in range(TURNS):
        coefficients = np.abs(at - inside[:, None]) + off + far[:, None]
        reached = (x * y * pairs.count + noise.noise_quantile(coefficients, main) + pairs.slack) / rows
        far = np.minimum(far, reached + np.abs(middle - inside))
    enough = pairs.known & (pairs.count - sample > KNOWN)
    low = np.where(enough, np.clip(middle - reached, -cap, cap), -cap)
    high = np.where(enough, np.clip(middle + reached, -cap, cap), cap)
    return around(covariance(parts, degrees, sample=sample), low, high)


def correlation(parts: Reals) -> Reals:
    """The correlation, from products of degree 2 in each column; 0 where the noise leaves no spread to divide by.

    >>> correlation(np.array([[50.0, 0, 0, 0, 0, 0, 0, 0, 50.0]]))
    array([1.])
    """
    pairs = ColumnPairs.of(parts, (2, 2))
    u, v = _squares(pairs)
    spread = (u > 0.0) & (v > 0.0) & pairs.known
    root = np.sqrt(np.where(spread, u, 1.0)) * np.sqrt(np.where(spread, v, 1.0))
    return np.clip(np.where(spread, pairs.crossed / root, 0.0), -1.0, 1.0)


def correlation_interval(parts: Reals, noise: PivotNoise, *, confidence: Any) -> Interval:
    """An interval that holds the true correlation with at least this confidence."""
    pairs = ColumnPairs.of(parts, (2, 2))
    main, unknown = shares(confidence, 4)
    drifts = pairs.drift(0, noise, unknown), pairs.drift(1, noise, unknown)
    spreads = _Spreads.of(pairs, drifts, noise, unknown)
    x, y = drifts
    second_order = (x * y + (spreads.ratio[1] * x**2 + y**2 / spreads.ratio[0]) / 2.0) * pairs.count
    low, high = np.full_like(x, -1.0), np.full_like(x, 1.0)
    for _ in range(TURNS):
        coefficients = spreads.coefficients(pairs, drifts, (low, high))
        reached = second_order + noise.noise_quantile(coefficients, main) + pairs.slack
        bottom, top = pairs.crossed - reached, pairs.crossed + reached
        smallest, largest = spreads.both
        low = np.clip(bottom / np.where(bottom > 0.0, largest, smallest), low, 1.0)
        high = np.clip(top / np.where(top > 0.0, smallest, largest), -1.0, high)
    low, high = np.where(spreads.known, low, -1.0), np.where(spreads.known, high, 1.0)
    return around(correlation(parts), low, high)


@dataclass(frozen=True, slots=True)
class _Spreads:
    """What is known of the ratio t of the two standard deviations, and of (tG + H/t)/2 with it."""

    known: Known
    middle: Reals
    """The noisy ratio."""
    ratio: Interval
    both: Interval

    @classmethod
    def of(cls, pairs: ColumnPairs, drifts: tuple[Reals, Reals], noise: PivotNoise, confidence: Fraction) -> _Spreads:
        ends, known, found = [], pairs.known, _squares(pairs)
        for column, square in enumerate(found):
            at, off = pairs.square_within(column, drifts[column])
            reached = (
                drifts[column] ** 2 * pairs.count + noise.noise_quantile(np.abs(at) + off, confidence) + pairs.slack
            )
            known = known & (square > reached)
            ends.append((square - reached, square + reached))
        u, v = (np.where(known, square, 1.0) for square in found)
        (low_u, high_u), (low_v, high_v) = ((np.where(known, end, 1.0) for end in pair) for pair in ends)
        ratio = np.sqrt(low_v / high_u), np.sqrt(high_v / low_u)
        largest = np.maximum(*((t * u + v / t) / 2.0 for t in ratio))
        return cls(known, np.sqrt(v / u), ratio, (np.sqrt(u * v), largest))

    def coefficients(self, pairs: ColumnPairs, drifts: tuple[Reals, Reals], correlations: Interval) -> Reals:
        """Bounds on the coefficients of (u-a')(v-b') - r (t (u-a')² + (v-b')²/t)/2, for all that r and t can be."""
        low, high = correlations
        cross, most = pairs.crossed_within(drifts)
        for column, power in ((0, 1.0), (1, -1.0)):
            at, off = pairs.square_within(column, drifts[column])
            middle = (low + high) / 4.0 * self.middle**power
            moved = np.maximum.reduce([np.abs(r / 2.0 * t**power - middle) for r in (low, high) for t in self.ratio])
            cross = cross - middle[:, None] * at
            most = most + np.abs(middle)[:, None] * off + moved[:, None] * (np.abs(at) + off)
        return np.abs(cross) + most


def _squares(pairs: ColumnPairs) -> tuple[Reals, Reals]:
    if pairs.squares is None:
        raise TypeError(pairs.basis)
    return pairs.squares


def shares(confidence: Any, unknowns: int) -> tuple[Fraction, Fraction]:
    """The confidences of the last bound, and of each of so many before it."""
    rest = 1 - fraction("confidence", confidence)
    return 1 - (1 - UNKNOWN_SHARE) * rest, 1 - UNKNOWN_SHARE * rest / unknowns
