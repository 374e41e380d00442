"""Weighted sums of the noise in several totals: its tail and its quantiles, for Laplace and for rounded normal noise.

Claim
    For S = sum_j c_j Y_j, Y_j independent with the law's noise of scale 1 (sigma 1 for normal noise) on the multiples
    of `step` (0: continuous), ``law.tail(c, t, step=)`` is at least P(|S| >= t), up to a relative 1e-10, and P(|S| > t)
    is at most 1 - confidence at ``t = law.quantile(c, confidence, step=)``, up to the same. Both are monotone in every
    |c_j|, and the quantile is a norm of c. Of more than 16 Laplace terms it is an upper bound of such a norm, which
    holds for all sums with smaller |c_j|.
Requires
    Normal noise was rounded to the nearest multiple of `step`. Tails of Laplace noise have 16 terms at most.
Relies on
    `noise.laplace_sum` for Laplace noise, `noise.laplace_sum_fourier` for many terms of it. SciPy's erfc and ndtri,
    good to 1e-13.
Proof
    Rounding moves each normal variable by at most step/2, so S differs from a normal variable of sd |c|_2 by at most
    step/2 |c|_1. Hence P(|S| >= t) <= erfc((t - step/2 |c|_1) / (sqrt 2 |c|_2)), and the quantile is at most z |c|_2 +
    step/2 |c|_1, z the normal quantile: a sum of two norms, and monotone.
    *Many terms.* E exp(h Z) = 1/(1 - h^2) for continuous Laplace Z, so P(|S| >= t) <= 2 exp(-ht) prod 1/(1 - h^2 c_j^2)
    for every h < 1/max |c_j| (Chernoff); the quantile is the smallest t of a list of such h, or what
    `noise.laplace_sum_fourier` finds below. It holds for all smaller |c_j| too, as probabilities do
    (`noise.laplace_sum`), and a lattice adds at most step |c|_1, as there. The true quantile is a norm for any number
    of terms, as there.
Rounding
    Probabilities are raised by one part in 10^10, quantiles by one in 10^12.
Source
    Textbook.
Mutant
    one-tail-of-many: the bound for many terms is that of one side; killed by
    test_the_bound_for_many_terms_is_that_of_both_sides.
    rounding-forgotten: the normal law leaves out what its rounding adds; killed by test_rounded_noise_stays_within.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.noise import laplace_sum, laplace_sum_fourier
from discreet.noise.laplace_sum import Reals, miss

RAISED = 1 + 1e-10
"""Probabilities are raised by so much, far above the error of erfc."""
WIDENED = 1 + 1e-12
KEPT = 1024
"""Quantiles that are remembered."""
HEIGHTS = tuple(i / 64 for i in range(1, 64))
"""Of Chernoff bounds, over the largest that is allowed."""


class _Sum(Protocol):
    def __call__(self, coefficients: ArrayLike, at: ArrayLike, *, step: float = 0.0) -> Reals: ...


class WeightedSums(NamedTuple):
    """What a weighted sum of independent noises is like, at scale 1."""

    tail: _Sum
    """P(|S| >= t), from the coefficients (last axis) and t."""
    quantile: _Sum
    """What |S| stays within, from the coefficients and a confidence."""


def _laplace_tail(coefficients: ArrayLike, at: ArrayLike, *, step: float = 0.0) -> Reals:
    return laplace_sum.tail(coefficients, at, step=step)


def _laplace_quantile(coefficients: ArrayLike, at: ArrayLike, *, step: float = 0.0) -> Reals:
    sizes = np.abs(np.asarray(coefficients, dtype=np.float64))
    few = laplace_sum.MOST_TERMS
    if sizes.ndim == 0 or sizes.shape[-1] <= few:
        return laplace_sum.quantile(sizes, at, step=step)
    rows = sizes.reshape(-1, sizes.shape[-1])
    is_many = np.count_nonzero(rows, axis=-1) > few
    found = np.empty(len(rows))
    found[~is_many] = laplace_sum.quantile(-np.sort(-rows[~is_many], axis=-1)[:, :few], at)
    found[is_many] = _of_many(rows[is_many], miss(at))
    within: Reals = np.asarray(found.reshape(sizes.shape[:-1]) + WIDENED * step * sizes.sum(axis=-1))
    return within


def _of_many(rows: Reals, rest: float) -> Reals:
    """Sharp where the series of `noise.laplace_sum_fourier` is good enough, and within a bound where it is not."""
    if len(rows) == 1:  # often of very many terms, few of which differ
        own, often = np.unique(rows[0], return_counts=True)
        plain = _chernoff(own[None, :], rest, often)
        lifted, often = np.unique(laplace_sum_fourier.raised(rows)[0], return_counts=True)
        ratios = lifted[None, :]
    else:
        plain, ratios, often = _chernoff(rows, rest), laplace_sum_fourier.raised(rows), None
    first, far = _chernoff(ratios, rest, often), _chernoff(ratios, laplace_sum_fourier.FARTHEST, often)
    sharp = rows.max(axis=-1) * WIDENED * laplace_sum_fourier.sharper(ratios, first, far, rest, often)
    within: Reals = np.minimum(plain, sharp)
    return within


def _chernoff(sizes: Reals, rest: float, often: NDArray[np.int64] | None = None) -> Reals:
    """The bound for each row; `often` says how many terms of each size there are, where not one."""
    largest = sizes.max(axis=-1)
    ratios = sizes / np.where(largest > 0.0, largest, 1.0)[..., None]
    least, counts = np.full(largest.shape, np.inf), 1 if often is None else often
    for height in HEIGHTS:
        growth = -(counts * np.log1p(-((height * ratios) ** 2))).sum(axis=-1)
        least = np.minimum(least, (growth + np.log(2.0 / rest)) / height)
    within: Reals = np.asarray(RAISED * largest * least)
    return within


def _normal_tail(coefficients: ArrayLike, at: ArrayLike, *, step: float = 0.0) -> Reals:
    from scipy import special  # slow to import

    spread, slack = _norms(coefficients, step)
    beyond = np.maximum(np.asarray(at, dtype=np.float64) - slack, 0.0)
    ratio = np.divide(beyond, spread, out=np.where(beyond > 0.0, np.inf, 0.0), where=spread > 0.0)
    reached: Reals = np.minimum(RAISED * special.erfc(ratio / np.sqrt(2.0)), 1.0)
    return reached


def _normal_quantile(coefficients: ArrayLike, at: ArrayLike, *, step: float = 0.0) -> Reals:
    from scipy import special  # slow to import

    spread, slack = _norms(coefficients, step)
    within: Reals = np.asarray(WIDENED * (-special.ndtri(miss(at) / 2.0) * spread + slack))
    return within


def _norms(coefficients: ArrayLike, step: float) -> tuple[Reals, Reals]:
    """The standard deviation of the sum before rounding, and how far rounding moves it."""
    sizes = np.abs(np.asarray(coefficients, dtype=np.float64))
    return np.sqrt((sizes**2).sum(axis=-1)), step / 2.0 * sizes.sum(axis=-1)


@lru_cache(maxsize=KEPT, typed=True)
def cached_quantile(law: WeightedSums, coefficients: tuple[float, ...], confidence: Any, step: float) -> float:
    """The quantile of one sum, remembered: that of a plan's noise is asked for at every release and every account."""
    return float(law.quantile(coefficients, confidence, step=step))


LAPLACE = WeightedSums(_laplace_tail, _laplace_quantile)
NORMAL = WeightedSums(_normal_tail, _normal_quantile)
