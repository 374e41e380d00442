"""Quantiles of the sum of many Laplace variables, by the Fourier series of a square wave.

Claim
    Let S = sum_j c_j Z_j, the Z_j independent of density exp(-|z|)/2. From any t with P(|S| >= t) <= rest, and a t with
    P(|S| >= far) <= 1e-14, `sharper` gives a t of which the same is true as of the first; it is no larger, and mostly
    within one part in a thousand of the smallest. It is true of all sums with smaller |c_j|, too.
Requires
    17 coefficients or more.
Relies on
    Sines and cosines of doubles below 2000 within 2^-40.
Proof
    *Series.* Let L = t + far, for the first t, and x_k = (2k + 1) pi / L. The square wave of period 2L that is 1 on (0,
    L) and -1 on (-L, 0) is 4/pi sum_k sin(x_k s) / (2k + 1). S is symmetric, with the characteristic function f(x) =
    prod 1/(1 + x² c_j²); so the mean of the wave at t - S is 4/pi sum_k sin(x_k t) f(x_k) / (2k + 1). Where |t - S| < L
    the wave is the sign of t - S, whose mean is P(|S| < t). They differ by 2 at most, so the means differ by at most 2
    P(|S| >= L - t) <= 2e-14 for all t up to the first.
    *Terms left out.* With 1 the largest c and X = x_K >= 1, f(x) <= 2 f(X) (X/x)² from X on. The sum of (2K + 1)² / (2k
    + 1)³ over k >= K is at most 1/(2K + 1) + 1/4 <= 1/2, so what is left out is at most 4/pi f(X) < 2 f(X).
    *Search.* -log P(|S| >= t) is convex and increases (`noise.laplace_sum`), so Newton's steps from above stay above
    the root. Whatever they find is taken only if the series' own bound there is at most `rest`.
    *Smaller coefficients* make P(|S| >= t) smaller (Birnbaum, as there): so coefficients may be raised first.
Rounding
    `ERROR` is added to each probability: 192 terms below 4/pi, each off by less than 2^-40 over 2k + 1, or not added up
    where f(x_k) is below 1e-18.
Source
    Abate and Whitt, The Fourier-series method for inverting transforms of probability distributions (1992).
Mutant
    wave-cut-short: what is left out of the series is forgotten; killed by test_what_is_left_out_is_counted.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Reals = NDArray[np.float64]

TERMS = 192
RAISED, LEAST = 24, 1 / 12
"""So many of the largest coefficients count as this part of the largest, at least: or the series would be too long."""
TURNS = 6
"""Of Newton's search; each doubles the digits."""
ERROR = 1e-11
FARTHEST = 1e-14
UNSEEN = 1e-18
"""Terms of the series below this are not added up."""
BLOCK = 1 << 12
"""Sums treated at a time."""


def raised(sizes: Reals) -> Reals:
    """Coefficients over their largest, along the last axis and downward, the first of them raised."""
    ordered = -np.sort(-sizes, axis=-1)
    largest = ordered[..., :1]
    ratios = ordered / np.where(largest > 0.0, largest, 1.0)
    ratios[..., :RAISED] = np.maximum(ratios[..., :RAISED], LEAST)
    return ratios


def sharper(ratios: Reals, first: Reals, far: Reals, rest: float, often: NDArray[np.int64] | None = None) -> Reals:
    """Quantiles that are no larger than the first, for ratios as `raised` gives them, all in units of the largest;
    `often` says how many terms of each size there are, where not one.
    """
    result = np.empty_like(first)
    for start in range(0, len(ratios), BLOCK):
        part = slice(start, start + BLOCK)
        result[part] = _sharper(ratios[part], first[part], far[part], rest, often)
    return result


def _sharper(ratios: Reals, first: Reals, far: Reals, rest: float, often: NDArray[np.int64] | None) -> Reals:
    odd = 2.0 * np.arange(TERMS + 1) + 1.0
    places = odd * (np.pi / (first + far))[:, None]
    heights = _characteristic(ratios, places, often)
    left = np.where(places[:, -1] >= 1.0, 2.0 * heights[:, -1], 1.0) + ERROR + 2 * FARTHEST
    kept = min(TERMS, 1 + int(np.count_nonzero((heights > UNSEEN).any(axis=0))))
    places, heights = places[:, :kept], 4.0 / np.pi * heights[:, :kept] / odd[:kept]
    t = first
    for _ in range(TURNS):
        beyond = np.maximum(1.0 - (heights * np.sin(places * t[:, None])).sum(axis=-1) + left, FARTHEST)
        density = (heights * places * np.cos(places * t[:, None])).sum(axis=-1)
        step = np.log(beyond / rest) * beyond / np.where(density > 0.0, density, np.inf)
        t = np.clip(t + step, 0.0, first)
    t = t * (1.0 + 1e-6)
    beyond = 1.0 - (heights * np.sin(places * t[:, None])).sum(axis=-1) + left
    return np.where(beyond <= rest, np.minimum(t, first), first)


def _characteristic(ratios: Reals, places: Reals, often: NDArray[np.int64] | None) -> Reals:
    """The product of 1/(1 + x² c²) over the terms of each row, at its places x."""
    squares = places**2
    if often is not None:
        logs = np.zeros_like(places)
        for column, count in zip(ratios.T, often.tolist(), strict=True):
            logs += count * np.log1p(squares * (column**2)[:, None])
        return np.exp(-logs)
    product = np.ones_like(places)
    with np.errstate(over="ignore"):  # beyond the doubles a term is 0
        for column in ratios.T:
            product *= 1.0 + squares * (column**2)[:, None]
    return 1.0 / product
