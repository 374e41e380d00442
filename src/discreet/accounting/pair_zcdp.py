"""The zCDP parameter of a pair, found by branch and bound.

Claim
    `rho_of(pair)` is at least D_alpha/alpha for every alpha > 1, D_alpha the Rényi divergence of the pair, and above
    the supremum by at most `TIGHT` of itself, or by what the rounding of the moments leaves open where losses are tiny.
Requires
    What `dominating_pairs` requires.
Relies on
    `dominating_pairs.log_moments` at real points, wrong by at most the pair's `rounding` units and 32 of theta `reach`:
    12 of its exponents, 8 of a logarithm of at most 2 theta `reach`, 3 of the top.
Proof
    With theta = alpha - 1, D_alpha = K(theta)/theta, K the logarithm of the moment: convex, K(0) = 0. So D_alpha does
    not fall as alpha grows, and on [0, b] D_alpha/alpha <= K(b)/b; on [a, b] it is at most c(theta)/(theta (theta +
    1)), c the chord of K. With c = p + q theta the derivative has the sign of -(q theta^2 + 2 p theta + p), which for
    p < 0 changes once, from above to below 0, at (-p + sqrt(p^2 - p q))/q, and for p >= 0 is never above 0: the largest
    value is at that place, moved into [a, b]. Cells whose bound is more than `TIGHT` above the best value seen are
    halved, all of them at once. D_alpha <= D_infinity = `reach`, so no alpha above reach/best matters.
Rounding
    Up: the error of each moment is added to it.
Source
    Bun and Steinke, Concentrated Differential Privacy (2016), Definition 1.1 and Proposition 3.3 (rho <= reach^2/2);
    van Erven and Harremoes (2014): order.
Mutant
    ends-bound: a cell's bound is the larger value at its ends; killed by test_chords_are_above_what_they_span.
"""

from __future__ import annotations

import math

import numpy as np

from discreet.accounting.dominating_pairs import DominatingPair, GaussianPair, Reals
from discreet.accounting.pairwise_summation import UNIT
from discreet.exact.amounts import LEAST_FLOAT

TIGHT = 1e-5
FIRST = 2.0**-7
"""The least theta of the first cells."""
CELLS, MOST_CELLS = 32, 1 << 13
ROUNDS = 60


def rho_of(pair: DominatingPair) -> float:
    """The least rho for which the pair is rho-zCDP, rounded up; infinite where there is none."""
    if isinstance(pair, GaussianPair):
        return float(pair.mu2) / 2.0
    if pair.infinite or not math.isfinite(pair.reach):
        return math.inf
    # For alpha -> 1, D_alpha -> the mean; and `reach` ** 2 / 2 holds for every pure pair. A mean that rounding took for
    # 0 would ask for orders beyond every float.
    if not pair.reach:
        return 0.0
    ceiling = pair.reach**2 / 2.0 * (1.0 + 4.0 * UNIT) + LEAST_FLOAT  # whose square may be below every float
    best = mean = max(pair.mean, ceiling * 2.0**-60)
    if ceiling <= mean * (1.0 + TIGHT):
        return ceiling
    places = np.geomspace(FIRST, max(pair.reach / max(mean, 1e-300), 2.0), CELLS)
    heights = cumulants(pair, places)
    for _ in range(ROUNDS):
        bounds = largest(places, heights)
        best = max(best, float(np.max(heights / (places * (places + 1.0)))))
        wide = bounds > best * (1.0 + TIGHT)
        wide[0] &= heights[0] > places[0] * mean + 64.0 * UNIT  # nothing but rounding is left in the first cell
        if not wide.any() or places.size > MOST_CELLS:
            break
        middles = np.sqrt(np.append(places[0] / 64.0, places[:-1]) * places)[wide]
        places, heights = np.append(places, middles), np.append(heights, cumulants(pair, middles))
        order = np.argsort(places)
        places, heights = places[order], heights[order]
    return min(max(float(np.max(bounds)), mean) * (1.0 + 1e-9), ceiling)


def renyi_of(pair: DominatingPair, alpha: float) -> float:
    """The Rényi divergence of order `alpha` > 1, rounded up; infinite where there is none.

    A table that was cut off has no moments of its law: what was cut may weigh more than all that is left.
    """
    if pair.infinite > 0:
        return math.inf
    pure = pair.reach * min(1.0, alpha * pair.reach / 2.0)
    return min(float(cumulants(pair, np.array([alpha - 1.0]))[0]) / (alpha - 1.0), pure)


def largest(places: Reals, heights: Reals) -> Reals:
    """Bounds on K(theta)/(theta (theta + 1)) on [0, places[0]] and between neighboring places, from K there."""
    low, high = places[:-1], places[1:]
    slope = np.diff(heights) / (high - low)
    start = np.minimum(heights[:-1] - slope * low, 0.0)
    with np.errstate(over="ignore"):  # a flat piece has its top at its end
        top = np.clip((np.sqrt(start**2 - start * slope) - start) / np.maximum(slope, LEAST_FLOAT), low, high)
    inner = (heights[:-1] + slope * (top - low)) / (top * (top + 1.0))
    return np.append(heights[0] / places[0], inner)


def cumulants(pair: DominatingPair, theta: Reals) -> Reals:
    """K, rounded up."""
    found = type(pair).log_moments([pair], np.ones(1), theta.astype(np.complex128)).real
    raised: Reals = found + UNIT * (pair.rounding + 32.0 * theta * pair.reach)
    return raised
