"""Means and variances with their error bars, from noisy Bernstein components.

Claim
    A group has n rows, each with a value u in [0, 1]. Given are noisy sums, each with its own independent noise of one
    `law` (Laplace, or rounded normal) and scale b (sigma), on the multiples of `step`, or continuous. A *pair* holds
    the sums of u and 1-u, a *triple* those of (1-u)^2, 2u(1-u) and u^2, all in rows. Then the intervals hold the true
    mean m, or the true variance v (standard deviation), with at least the stated probability, for all values and every
    n > 0; for ``sample=True``, every n >= 2. The half-widths bound the distance from the estimate to the truth with at
    least that probability, whatever m and v. No result is infinite or NaN.
Requires
    Components as released, neither rounded nor made non-negative. The truth is that of the bounded, weighted rows.
Relies on
    `noise.weighted_sums`: tails to 1e-10, monotone; the quantile Q(c) of |sum c_j Z_j| is a norm of c.
Proof
    *Pivot.* Let N be the sum of the components and A that of u; A = X2 + X1/2 for a triple. Without noise A - mN = 0,
    so with noise it is a combination of the noises, with coefficients w(m) = (1-m, -m) or (-m, 1/2-m, 1-m). It exceeds
    b Q(w(m)) in absolute value with probability at most alpha; the interval is the hull of all m where it does not.
    *Ends.* The low end is the first m with min(A, N) - mN <= b Q(w(m)): the minimum only admits more. The left side is
    linear in m and Q(w(m)) is convex, so the refused m form an interval; at m = 1 none is refused. So either 0 is
    admitted, or the end of the refused interval that holds 0 is found from its refused side. The high end is the low
    end of the mirrored group. Where N <= 0 nothing is refused: the answer is [0, 1].
    *Variance.* Around m, u has the second moment M(m) = N m^2 - 2Am + X2, with coefficients c(m) = (m^2, -m(1-m),
    (1-m)^2); so without noise M(m) - vN = 0 at the true m, and with noise the coefficients are c(m) - v. Of the miss
    probability, 9/10 go to this pivot and 1/10 to the interval of m. That interval is cut into cells of half-width h
    around z: there c(m) = c(z) + (m-z) c'(z) + (m-z)^2, so Q(c(m) - v) <= Q(|c(z) - v| + h|c'(z)| + h^2) by
    *Monotone*; and M is convex. So no m of the cell admits v if vN - max(M, 0) > b Q(...), with the largest M of the
    cell, or if min(M, N/4) - vN > b Q(...), with the smallest; each refuses an interval of v, the first never 0, the
    second never 1/4. The hull over all cells is the answer.
    *Sample.* s = v n/(n-1) solves M(m) - s(N-1) = 0 without noise: the same with N-1 for N, and with 1/2 (two rows, at
    0 and 1) for 1/4. So n needs no share of the miss probability.
    *Forecast.* A/N - m = R/N, R the noise of the pivot. |R| < hN unless one of two combinations with coefficients
    w(m) -+ h leaves hn on its side: at most alpha in all if hn >= b(Q(w(m)) + h Q(1,..,1)), and Q(w(m)) is largest at
    m = 0 and 1. The variance's estimate is M(m)/N - (A/N - m)^2; and the |c_j(m) - v| sum up to at most 1, since
    0 <= v <= m(1-m), so Q(c(m) - v) <= Q(1). For a sample, |R| < h(N-2) makes N > 2 and N/(N-1) < 2, and
    Q(c - s) <= Q(1) + (s-v) Q(1,1,1). On a lattice, b Q(c) + step sum|c_j| takes the place of b Q(c): a norm too.
Rounding
    Every pivot is made smaller by 2^-46 of the components' absolute sum, far above the rounding of its terms; a point
    is refused only if its tail is below alpha (1 - 1e-9).
Source
    Fieller, Some problems in interval estimation (1954): the pivot of a ratio. Lorentz, Bernstein Polynomials (1953).
Mutant
    slope-of-one-component: the pivot forgets the noise of the second sum; killed by test_mean_coverage.
    triple-as-pair: the triple's mean is given the noise of a pair; killed by test_triple_mean_coverage.
    cells-without-drift: a cell's coefficients are those of its middle; killed by test_cells_bound_what_they_hold.
    sample-counts-all-rows: the sample variance is sought with N for N-1; killed by test_sample_variance_coverage.
    forecast-without-count: the forecast leaves out the noise of the count; killed by test_forecasts_are_kept.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Required, TypedDict, Unpack

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.exact.amounts import fraction
from discreet.inference.ratio_intervals import PivotNoise
from discreet.noise.laplace_sum import Reals, miss
from discreet.noise.weighted_sums import LAPLACE, WeightedSums

Interval = tuple[Reals, Reals]
Chosen = NDArray[np.intp] | slice

CELLS = 8
"""The mean's interval is cut into so many for the variance's, which widens by 3 % at 50 rows, 0.2 % at 1,000."""

NARROWINGS = 20
"""An end is sought to 2**-20 of a bracket a few times as wide as the interval."""

MOST_TURNS = 40
"""Of that search; about eight suffice, and after any number its answer is on the safe side."""

MEAN_SHARE = Fraction(1, 10)
"""The part of the miss probability of a variance that goes to its mean; it enters by its square only."""

TINY = 2.0**-100
"""A noisy count up to here is none. The lattice's step is far above it, and squares stay finite."""

LARGEST_VARIANCE = {False: 0.25, True: 0.5}
"""Of values in [0, 1], for the population and for a sample of two rows or more."""


class Noise(TypedDict, total=False):
    """What an interval has to know of the noise in each sum, and how often it may miss."""

    scale: Required[float]
    confidence: Required[object]
    step: float
    """Of its lattice; 0 for continuous noise."""
    law: WeightedSums


def _pivot(noise: Noise) -> PivotNoise:
    return PivotNoise.of(noise["scale"], noise.get("step", 0.0), noise["confidence"], noise.get("law", LAPLACE))


@dataclass(frozen=True, slots=True)
class _Group:
    """Noisy sums of every group: of u, of 1, and of the absolute values of the components."""

    total: Reals
    count: Reals
    size: Reals

    @classmethod
    def of_triple(cls, triple: Sequence[ArrayLike]) -> _Group:
        x0, x1, x2 = np.broadcast_arrays(*map(_reals, triple))
        return cls(x2 + x1 / 2.0, x0 + x1 + x2, np.abs(x0) + np.abs(x1) + np.abs(x2))

    @property
    def and_mirrored(self) -> _Group:
        """The groups along a new first axis, and behind them those of 1-u."""
        total = np.stack([self.total, self.count - self.total])
        return _Group(total, *(np.broadcast_to(one, total.shape) for one in (self.count, self.size)))

    @property
    def slack(self) -> Reals:
        """More than the rounding of any pivot."""
        return 2.0**-46 * self.size


def mean(a: ArrayLike, b: ArrayLike) -> Reals:
    """The mean in [0, 1] from noisy sums a of u and b of 1-u; 1/2 where neither is positive.

    >>> mean([30.0, -2.0], [10.0, -1.0])
    array([0.75, 0.5 ])
    """
    above, below = np.maximum(_reals(a), 0.0), np.maximum(_reals(b), 0.0)
    return _ratio(above, above + below, otherwise=0.5)


def mean_interval(a: ArrayLike, b: ArrayLike, **noise: Unpack[Noise]) -> Interval:
    """An interval that holds the true mean with at least this confidence, from a pair with noise of this scale.

    >>> low, high = mean_interval([500.0], [500.0], scale=1.0, confidence=0.95)
    >>> low.round(4), high.round(4)
    (array([0.4979]), array([0.5021]))
    """
    above, below = np.broadcast_arrays(_reals(a), _reals(b))
    group = _Group(above, above + below, np.abs(above) + np.abs(below))
    low, high = _mean_ends(group, _pair_weights, _pivot(noise))
    return around(mean(above, below), low, high)


def triple_mean(triple: Sequence[ArrayLike]) -> Reals:
    """The mean in [0, 1] from a noisy triple (X0, X1, X2); 1/2 where the noisy count is not positive."""
    group = _Group.of_triple(triple)
    return np.clip(_ratio(group.total, group.count, otherwise=0.5), 0.0, 1.0)


def triple_mean_interval(triple: Sequence[ArrayLike], **noise: Unpack[Noise]) -> Interval:
    """An interval that holds the true mean with at least this confidence, from a triple with noise of this scale."""
    low, high = _mean_ends(_Group.of_triple(triple), _triple_weights, _pivot(noise))
    return around(triple_mean(triple), low, high)


def variance(triple: Sequence[ArrayLike], *, sample: bool = False) -> Reals:
    """The population variance from a noisy triple, or the sample variance: times N/(N-1), with N taken as at least 2.

    It is X2/N - (A/N)^2 = (X0 X2 - X1^2/4)/N^2, held in [0, 1/4] (in [0, 1/2] for a sample); 0 where N <= 0.

    >>> variance([[25.0, -1.0], [50.0, 0.0], [25.0, -1.0]])
    array([0., 0.])
    >>> variance([[50.0], [0.0], [50.0]])
    array([0.25])
    """
    group = _Group.of_triple(triple)
    count = np.where(group.count > TINY, group.count, 0.0)
    raw = _ratio(_reals(triple[2]), count, otherwise=0.0) - _ratio(group.total, count, otherwise=0.0) ** 2
    if sample:
        raw = raw * (1.0 + 1.0 / (np.maximum(count, 2.0) - 1.0))
    return np.clip(raw, 0.0, LARGEST_VARIANCE[sample])


def variance_interval(triple: Sequence[ArrayLike], *, sample: bool = False, **noise: Unpack[Noise]) -> Interval:
    """An interval that holds the true variance with at least this confidence, from a triple."""
    group = _Group.of_triple(triple)
    at_pivot, at_mean = _shares(noise["confidence"])
    pivot = replace(_pivot(noise), alpha=miss(at_pivot))
    means = _mean_ends(group, _triple_weights, replace(pivot, alpha=miss(at_mean)))
    low, high = _variance_ends(triple, means, pivot, sample=sample)
    return around(variance(triple, sample=sample), low, high)


def std(triple: Sequence[ArrayLike], *, sample: bool = False) -> Reals:
    """The square root of `variance`."""
    root: Reals = np.sqrt(variance(triple, sample=sample))
    return root


def std_interval(triple: Sequence[ArrayLike], *, sample: bool = False, **noise: Unpack[Noise]) -> Interval:
    """The square roots of `variance_interval`: they hold the true standard deviation with the same confidence."""
    low, high = variance_interval(triple, sample=sample, **noise)
    return np.sqrt(low), np.sqrt(high)


def mean_half_width(rows: ArrayLike, *, of_triple: bool = False, **noise: Unpack[Noise]) -> Reals:
    """How far at most, with this confidence, the private mean of so many rows is from the true one.

    >>> float(mean_half_width(1000, scale=1.0, confidence=0.95).round(5))
    0.00301
    """
    pivot, confidence = _pivot(noise), noise["confidence"]
    worst = pivot.one_noise_quantile((1.0, 0.5) if of_triple else (1.0,), confidence)
    count = pivot.one_noise_quantile((1.0, 1.0, 1.0) if of_triple else (1.0, 1.0), confidence)
    width = _ratio(worst, _reals(rows) - count, otherwise=1.0)
    return np.minimum(width, 1.0)


def variance_half_width(rows: ArrayLike, *, sample: bool = False, **noise: Unpack[Noise]) -> Reals:
    """How far at most, with this confidence, the private variance of so many rows is from the true one.

    >>> float(variance_half_width(1000, scale=1.0, confidence=0.95).round(5))
    0.00315
    """
    at_pivot, at_mean = _shares(noise["confidence"])
    n, cap, pivot = _reals(rows), LARGEST_VARIANCE[sample], _pivot(noise)
    own, count = pivot.one_noise_quantile((1.0,), at_pivot), pivot.one_noise_quantile((1.0, 1.0, 1.0), at_pivot)
    of_mean = mean_half_width(n, of_triple=True, **(noise | {"confidence": at_mean}))
    if not sample:
        return np.minimum(_ratio(own, n - count, otherwise=cap) + of_mean**2, cap)
    more = own + count / (4.0 * np.maximum(n - 1.0, 1.0))
    return np.minimum(_ratio(more, n - 2.0 - count, otherwise=cap) + 2.0 * of_mean**2, cap)


def _mean_ends(group: _Group, weights: Callable[[Reals], Reals], noise: PivotNoise) -> Interval:
    """The hull of the means that the pivot admits. `weights` must have the same absolute values at m and 1-m."""
    low, high = _lowest_mean(group.and_mirrored, weights, noise)
    return low, 1.0 - high


def _lowest_mean(group: _Group, weights: Callable[[Reals], Reals], noise: PivotNoise) -> Reals:
    rows, held = np.where(group.count > 0.0, group.count, 1.0), np.minimum(group.total, group.count)
    over, count = (held - group.slack).ravel(), group.count.ravel()

    def margin(m: Reals, chosen: Chosen) -> Reals:
        return noise.margin(weights(m), over[chosen] - m * count[chosen])

    inside = np.clip(held / rows, 0.0, 1.0)
    outside = np.maximum(inside - (noise.bracket + group.slack) / rows, 0.0)
    return _edge(margin, inside, outside, 0.0, highest=noise.highest)


def _variance_ends(triple: Sequence[ArrayLike], means: Interval, noise: PivotNoise, *, sample: bool) -> Interval:
    """The hull of the variances that the pivot admits for some mean of the interval."""
    group, cap = _Group.of_triple(triple), LARGEST_VARIANCE[sample]
    known = group.count > float(sample)
    cells = _Cells.between(*means)
    highest, lowest = cells.moments(group, _reals(triple[2]))
    rows = np.broadcast_to(np.where(known, group.count - float(sample), 1.0), highest.shape)
    highest, lowest = np.maximum(highest, 0.0), np.minimum(lowest, rows * cap)
    count, over, under = rows.ravel(), (highest + group.slack).ravel(), (lowest - group.slack).ravel()

    def too_high(v: Reals, chosen: Chosen) -> Reals:
        return noise.margin(cells.largest(v, chosen), v * count[chosen] - over[chosen])

    def too_low(v: Reals, chosen: Chosen) -> Reals:
        return noise.margin(cells.largest(v, chosen), under[chosen] - v * count[chosen])

    reach = (noise.bracket + group.slack) / rows
    top, bottom = np.clip(highest / rows, 0.0, cap), np.clip(lowest / rows, 0.0, cap)
    high = _edge(too_high, top, np.minimum(top + reach, cap), cap, highest=noise.highest).max(axis=0)
    low = _edge(too_low, bottom, np.maximum(bottom - reach, 0.0), 0.0, highest=noise.highest).min(axis=0)
    return np.where(known, low, 0.0), np.where(known, high, cap)


@dataclass(frozen=True, slots=True)
class _Cells:
    """The interval of the mean, cut into cells along a new first axis; and bounds on the variance's pivot in each."""

    first: Reals
    last: Reals
    about: Reals  # coefficients of the second moment around the middle, cells and groups in one axis
    drift: Reals  # how much more they are, at most, anywhere in the cell

    @classmethod
    def between(cls, low: Reals, high: Reals) -> _Cells:
        edges = low + (high - low) * np.linspace(0.0, 1.0, CELLS + 1).reshape(-1, *[1] * low.ndim)
        first, last = edges[:-1], edges[1:]
        z, h = ((first + last) / 2.0).reshape(-1, 1), ((last - first) / 2.0).reshape(-1, 1)
        about = np.hstack([z**2, -z * (1.0 - z), (1.0 - z) ** 2])
        slopes = np.hstack([2.0 * z, 2.0 * z - 1.0, 2.0 * z - 2.0])
        return cls(first, last, about, h * np.abs(slopes) + h**2)

    def largest(self, v: Reals, chosen: Chosen) -> Reals:
        """Bounds on the absolute coefficients of the pivot at v."""
        return np.abs(self.about[chosen] - v[:, None]) + self.drift[chosen]

    def moments(self, group: _Group, top: Reals) -> Interval:
        """The largest and the smallest second moment around any mean of the cell (where the count is positive)."""

        def moment(m: Reals) -> Reals:
            return group.count * m**2 - 2.0 * group.total * m + top

        vertex = _ratio(group.total, np.where(group.count > TINY, group.count, 0.0), otherwise=0.0)
        return np.maximum(moment(self.first), moment(self.last)), moment(np.clip(vertex, self.first, self.last))


def _edge(
    margin: Callable[[Reals, Chosen], Reals], inside: Reals, outside: Reals, limit: float, *, highest: float
) -> Reals:
    """A refused point (of negative margin) next to where refusal begins; or the limit, where that is admitted.

    The refused points must form an interval without `inside`. Then all between `outside` and `limit` are refused if
    both are; where they are not both, the limit is the answer on the safe side. The search is the Illinois form of
    regula falsi: where a side has stood for two turns its margin is halved. `margin` takes points and their places.
    """
    found = np.full(inside.size, limit)
    far = margin(outside.ravel(), slice(None))
    places = np.flatnonzero((far < 0.0) & (margin(found, slice(None)) < 0.0))
    a, b, far = inside.ravel()[places], outside.ravel()[places], far[places]
    near, was_out = np.full(places.shape, highest), np.full(places.shape, fill_value=True)
    enough = np.abs(b - a) * 2.0**-NARROWINGS
    for _ in range(MOST_TURNS):
        share = np.clip(near / (near - far), 2.0**-NARROWINGS, 1.0 - 2.0**-NARROWINGS)
        point = a + share * (b - a)
        value = margin(point, places)
        out = value < 0.0
        left = 1.0 - value / np.where(out, far, near)
        left = np.where(out != was_out, 1.0, np.where(left > 0.0, left, 0.5))
        near, far = np.where(out, left * near, value), np.where(out, value, left * far)
        a, b, was_out = np.where(out, a, point), np.where(out, point, b), out
        found[places] = b
        wide = np.abs(b - a) > enough
        a, b, near, far, enough = (x[wide] for x in (a, b, near, far, enough))
        was_out, places = was_out[wide], places[wide]
        if not places.size:
            break
    return found.reshape(inside.shape)


def around(estimate: Reals, low: Reals, high: Reals) -> Interval:
    """The interval, widened where the estimate, which is held in its range, lies outside."""
    return np.minimum(low, estimate), np.maximum(high, estimate)


def _ratio(above: ArrayLike, below: Reals, *, otherwise: float) -> Reals:
    """The quotient where the divisor is positive."""
    above, below = np.broadcast_arrays(_reals(above), below)
    quotient: Reals = np.divide(above, below, out=np.full(below.shape, otherwise), where=below > 0.0)
    return quotient


def _shares(confidence: object) -> tuple[Fraction, Fraction]:
    """The confidences of a variance's pivot and of its mean that together leave the stated miss probability."""
    miss(confidence)
    rest = 1 - fraction("confidence", confidence)
    return 1 - (1 - MEAN_SHARE) * rest, 1 - MEAN_SHARE * rest


def _pair_weights(m: Reals) -> Reals:
    return np.stack([1.0 - m, m], axis=-1)


def _triple_weights(m: Reals) -> Reals:
    return np.stack([m, 0.5 - m, 1.0 - m], axis=-1)


def _reals(values: ArrayLike) -> Reals:
    return np.asarray(values, dtype=np.float64)
