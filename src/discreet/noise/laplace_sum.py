"""The law of a weighted sum of Laplace variables: its tail and its quantiles, never on the optimistic side.

Claim
    Let S = sum_j c_j Z_j with Z_j independent of density exp(-|z|)/2 and 1 to 16 real coefficients, the last axis of
    the array. ``tail(c, t)`` is P(|S| >= t) up to a relative error of 1e-10 or an absolute one of 1e-280.
    ``quantile(c, confidence)`` is at least the smallest t with P(|S| <= t) >= confidence: it has P(|S| > t) at least
    exp(-4e-10) (1 - confidence), and exceeds that t by less than 1e-8 of it for a confidence of 0.1 or more. With
    ``step=g`` both are for *discrete* Laplace variables of scale 1 on the multiples of g: upper bounds.
Requires
    The Z_j of scale 1: a caller multiplies c, or divides t and g, by the scale.
Relies on
    IEEE doubles; NumPy's exp, expm1 and log to within four units in the last place.
Proof
    *Race.* Only a_j = |c_j| matters. a Z has the law of a(E - E'), E and E' standard exponentials; so S is H - H', two
    independent walks through the same phases 1..d, phase j lasting a_j E. Let the walks run together. When one ends,
    the other is in some phase i, and by the lack of memory has phases i..d ahead of it, afresh. So P(|S| >= t) is
    sum_i w_i P(a_i E_i + ... + a_d E_d >= t), w_i the chance of phase i. From phases (i, j) the first walk moves on
    with probability r_i/(r_i + r_j), r = 1/a: `_handicaps` adds products of these. P(walk from i >= t) is the sum over
    k of p_ik(t), the chance to be in phase k then. All terms are positive.
    *Phases.* Sort r downward. p_ik(t) = r_i...r_(k-1) t^(k-i) f[-t r_i, ..., -t r_k], a divided difference of exp.
    Let y = t(r_i - r_k), l = k - i. If y < 4l, f is exp(-t r_i) sum_n h_n/(n+l)!, h_n the complete homogeneous
    polynomial of the gaps to -t r_i: positive terms, at most y^n/n! of the first one. Otherwise p_ik =
    (r_i p_(i+1)k - r_(k-1) p_i(k-1))/(r_i - r_k), where the first product is at least 1 + y/l >= 5 times the second:
    f over l+1 nodes is E/l! with E a mean of exp over their simplex, which grows with the largest node, so
    f[x_0..x_l] >= f[x_0..x_(l-1)]/l, and f[x_1..x_l] = f[x_0..x_(l-1)] + y f[x_0..x_l].
    *Monotone.* Z is symmetric and unimodal, and so is any such sum; hence P(|S| >= t) grows with each a_j (Birnbaum).
    So a coefficient below 1e-30 of the largest may be raised to that.
    *Norm.* For a fixed confidence the quantile is a norm of c. It is symmetric and homogeneous. For the triangle
    inequality: n times a uniform point of the cross-polytope of R^n has coordinates whose law tends to that of Z; and
    for a uniform point X of a symmetric convex body the quantile of c.X is the support function of a convex body, its
    floating body (Meyer and Reisner). `inference.moments` relies on this; a test compares.
    *Quantile.* S is symmetric with a log-concave density, so h = -log P(|S| >= t) is convex, and increases. Newton's
    step from a point below the root of a convex function leads above it, and from above stays above, quadratically.
    *Discrete.* With E, E' of mean b, floor(E) - floor(E') is the discrete Laplace law of scale b on the integers, and
    differs from E - E' by less than 1. On the lattice of step g, S changes by less than g sum_j |c_j|.
Rounding
    u = 2^-53. The w_i and the first two levels of p err by at most 1700u: their exponents are below 800, or the value
    is nil. A level-l series errs by at most 60 l u. A subtraction multiplies errors by at most 6/4 and adds 5u, so p
    errs by at most 1.5^14 1700u + 1.5^13 240u < 7e-11 at 16 coefficients and by 1e-12 at 4; the tests find 1e-13. All
    else is positive. `quantile` takes exp(-2e-10) times the miss probability, and stops within 1e-10 of that.
Source
    Neuts, Matrix-Geometric Solutions (1981), ch. 2: phase-type laws. McCurdy, Ng, Parlett, Accurate computation of
    divided differences of the exponential function (1984): recurrence where nodes are apart, series where they are
    close. Birnbaum, On random variables with comparable peakedness (1948). Meyer, Reisner, A geometric property of the
    boundary of symmetric convex bodies and convexity of flotation surfaces (1991).
Mutant
    walks-without-handicap: the slower walk has all phases ahead of it; killed by test_one_and_two_terms.
    recurrence-everywhere: close coefficients are subtracted too; killed by test_nearly_equal_coefficients.
    optimistic-quantile: the quantile errs on the other side; killed by test_never_below_and_hardly_above.
    forgotten-steps: the lattice adds nothing to a quantile; killed by test_discrete_noise_stays_within.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.errors import InvalidParameter, expected
from discreet.exact.amounts import fraction

Reals = NDArray[np.float64]

MOST_TERMS = 16
"""The rounding errors are bounded up to here."""

MARGIN = 2e-10
"""By how much, in the logarithm of the tail, a quantile keeps away from the stated confidence."""

WINDOW = 1e-10
"""Width of the band beyond the margin in which Newton's iteration stops."""

NEGLIGIBLE = 1e-30
"""A coefficient below this fraction of the largest counts as this fraction."""

BEYOND = 2e3
"""At this many times the largest coefficient the tail is below the smallest double."""

BLOCK = 1 << 13
"""Sums treated at a time: their arrays stay in the processor's cache."""


@np.errstate(under="ignore")  # as NumPy does by itself; the program around may not
def tail(coefficients: ArrayLike, t: ArrayLike, *, step: float = 0.0) -> Reals:
    """P(|S| >= t) for S = sum_j c_j Z_j over the last axis; an upper bound if the Z_j live on a lattice of `step`.

    `t` broadcasts against the other axes. The Z_j have scale 1, so divide t and the lattice's step by the scale.

    >>> float(tail([3.0], 3.0).round(6)), float(tail([3.0, 1.0, 0.5], 3.0).round(6))
    (0.367879, 0.417415)
    """
    sizes, times = _sizes(coefficients), np.asarray(t, dtype=np.float64)
    shape = np.broadcast_shapes(times.shape, sizes.shape[:-1])
    rows = np.broadcast_to(sizes, (*shape, sizes.shape[-1])).reshape(-1, sizes.shape[-1])
    distances = np.broadcast_to(times, shape).reshape(-1)
    found = np.empty(len(rows))
    for first in range(0, len(rows), BLOCK):
        columns = np.ascontiguousarray(rows[first : first + BLOCK].T)
        race, left = _Race.of(columns), distances[first : first + BLOCK] - step * columns.sum(axis=0)
        at = np.clip(left / race.unit, 0.0, BEYOND)
        reached = np.where(columns.any(axis=0), np.exp(-at) * race.after(at)[0], 0.0)
        found[first : first + BLOCK] = np.where(left <= 0.0, 1.0, reached)
    return found.reshape(shape)[()]


@np.errstate(under="ignore")
def quantile(coefficients: ArrayLike, confidence: object, *, step: float = 0.0) -> Reals:
    """A t with P(|S| <= t) >= confidence for S = sum_j c_j Z_j over the last axis, as small as rounding lets it be.

    The Z_j have scale 1; with `step` they live on that lattice, and step * sum_j |c_j| is added.

    >>> quantile([[1.0, 0.0], [0.5, 0.5]], 0.95).round(6)
    array([2.995732, 2.056502])
    """
    sizes = _sizes(coefficients)
    target = MARGIN - np.log(miss(confidence))
    rows = sizes.reshape(-1, sizes.shape[-1])
    found = np.empty(len(rows))
    for first in range(0, len(rows), BLOCK):
        columns = np.ascontiguousarray(rows[first : first + BLOCK].T)
        race = _Race.of(columns)
        within = np.where(columns.any(axis=0), race.unit * race.time_left(target) * (1 + 2.0**-50), 0.0)
        found[first : first + BLOCK] = within + step * columns.sum(axis=0) * (1 + 2.0**-48)
    return found.reshape(sizes.shape[:-1])[()]


def miss(confidence: object) -> float:
    """The probability 1 - confidence of a miss; refuses a confidence outside (0, 1)."""
    stated = fraction("confidence", confidence)
    rest = float(1 - stated)
    if stated <= 0 or rest <= 0.0:
        cure = "a confidence is a probability, for example confidence=0.95."
        raise InvalidParameter(expected("a number between 0 and 1", "confidence", confidence, cure))
    return rest


def _sizes(coefficients: ArrayLike) -> Reals:
    sizes: Reals = np.abs(np.atleast_1d(np.asarray(coefficients, dtype=np.float64)))
    if not 1 <= sizes.shape[-1] <= MOST_TERMS:
        cure = "the last axis of `coefficients` holds the terms of one sum."
        raise InvalidParameter(expected(f"1 to {MOST_TERMS} coefficients", "coefficients.shape", sizes.shape, cure))
    if not np.isfinite(sizes).all():
        cure = "a sum with an infinite term has no quantile."
        raise InvalidParameter(expected("finite coefficients", "finite", value=False, cure=cure))
    return sizes


@dataclass(frozen=True, slots=True)
class _Race:
    """|S| as the time that the slower of two equal walks still needs when the faster ends."""

    unit: Reals  # the largest coefficient of each sum: the unit of time (1 where all are zero)
    rates: Reals  # phases in rows, sums in columns: unit / coefficient, downward, the last one 1
    handicaps: Reals  # chance that the slower walk is in this phase when the faster ends

    @classmethod
    def of(cls, columns: Reals) -> _Race:
        sizes = _sorted(columns)
        unit = np.where(sizes[-1] > 0.0, sizes[-1], 1.0)
        ascending = sizes / unit
        ascending[-1] = 1.0
        rates = 1.0 / np.maximum(ascending, NEGLIGIBLE)
        return cls(unit, rates, _handicaps(rates))

    def after(self, t: Reals) -> tuple[Reals, Reals]:
        """exp(t) P(still walking at t), and exp(t) times the density of ending at t."""
        levels = _occupation(self.rates, t)
        walking, last = np.zeros_like(t), np.zeros_like(t)
        for k, level in enumerate(levels):
            weighted = self.handicaps[: len(level)] * level
            walking += weighted.sum(axis=0)
            last += weighted[len(self.rates) - 1 - k]
        return walking, last

    def time_left(self, target: float) -> Reals:
        """The t at which -log P(still walking) lies in target..target + WINDOW."""
        t = np.full(self.rates.shape[1:], target + WINDOW / 2)
        while True:
            walking, density = self.after(t)
            excess = t - np.log(walking) - target
            outside = (excess < 0.0) | (excess > WINDOW)
            if not outside.any():
                return t
            t = np.where(outside, t + (WINDOW / 2 - excess) * walking / density, t)


def _sorted(columns: Reals) -> Reals:
    """Each sum's coefficients, upward; by far most sums have two, which need no sorting."""
    if len(columns) == 2:
        return np.stack([columns.min(axis=0), columns.max(axis=0)])
    return np.sort(columns, axis=0)


def _handicaps(rates: Reals) -> Reals:
    """The chance that the slower walk is in phase j when the faster ends, for each j."""
    reached = np.zeros_like(rates)  # row j: chance that the first walk enters phase i while the second is in phase j
    reached[0] = 1.0
    for rate in rates:
        either = rate + rates
        for j in range(len(rates) - 1):
            reached[j + 1] += reached[j] * rates[j] / either[j]  # now: chance that the pair (i, j) is ever met
        reached *= rate / either
    return 2.0 * reached  # the first walk ended first; the other half has the walks exchanged


def _occupation(rates: Reals, t: Reals) -> list[Reals]:
    """exp(t) P(in phase i+k at time t, having begun in phase i): at place k an array with one row for each i."""
    phases, moves = len(rates), t * rates
    levels = [np.exp(t - moves)]
    if phases > 1:
        levels.append(moves[:-1] * levels[0][1:] * _mean_decay(t * (rates[:-1] - rates[1:])))
    gaps = [t * (rates[: phases - k] - rates[k:]) for k in range(phases)]
    close = [gap < 4.0 * k for k, gap in enumerate(gaps)]
    widest = max((float(gap.max(initial=0.0, where=near)) for gap, near in zip(gaps, close, strict=True)), default=0.0)
    series = _series(moves, [np.minimum(gap, widest) for gap in gaps], levels[0]) if phases > 2 else []
    for k in range(2, phases):
        ahead, behind = rates[:-k] * levels[k - 1][1:], rates[k - 1 : -1] * levels[k - 1][:-1]
        level = np.divide(ahead - behind, rates[:-k] - rates[k:], out=np.zeros_like(ahead), where=~close[k])
        levels.append(np.where(close[k], series[k], level))
    return levels


def _mean_decay(x: Reals) -> Reals:
    """(1 - exp(-x))/x for x >= 0, and 1 at 0."""
    return np.divide(-np.expm1(-x), x, out=np.ones_like(x), where=x > 0.0)


def _series(moves: Reals, gaps: list[Reals], first: Reals) -> list[Reals]:
    """What `_occupation` wants, for the phases i..i+k whose gap is not cut off; elsewhere anything finite."""
    widest = float(gaps[-1].max(initial=0.0))
    terms = [first]
    for k in range(1, len(gaps)):
        terms.append(terms[-1][:-1] * moves[k - 1 : -1] / k)
    sums, n, bound = terms.copy(), 0, 1.0
    terms[0] = np.zeros_like(first)
    while bound > 2.0**-60:
        n += 1
        bound *= widest / n
        for k in range(1, len(gaps)):
            terms[k] = (terms[k - 1][:-1] * moves[k - 1 : -1] + gaps[k] * terms[k]) / (n + k)
            sums[k] = sums[k] + terms[k]
    return sums
