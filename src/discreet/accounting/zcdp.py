"""The zCDP parameter of a pair, found by branch and bound.

Claim
    `rho_of(pair)` is at least D_alpha/alpha for every alpha > 1, D_alpha the Rényi divergence of the pair, and above
    the supremum by at most `TIGHT` of itself.
Requires
    What `pairs` requires.
Relies on
    `pairs.log_moments` at real points.
Proof
    D_alpha does not fall as alpha grows, so on [a, b] it is at most D_b/a. Cells are halved, the worst first, until the
    largest bound is within `TIGHT` of the largest D_a/a seen. D_alpha <= D_infinity = `reach`, so no alpha above
    reach/best matters.
Rounding
    Up, by `TIGHT`.
Source
    Bun and Steinke, Concentrated Differential Privacy (2016), Definition 1.1; van Erven and Harremoes (2014): order.
Mutant
    left-end-bounds: a cell's bound is taken at its left end; killed by test_rho_is_above_every_order.
"""

from __future__ import annotations

import heapq
import math

import numpy as np

from discreet.accounting.pairs import Gaussian, Pair

TIGHT = 1e-5
MOST_CELLS = 4000


def rho_of(pair: Pair) -> float:
    """The least rho for which the pair is rho-zCDP, rounded up; infinite where there is none."""
    if isinstance(pair, Gaussian):
        return float(pair.mu2) / 2.0
    if pair.infinite or not math.isfinite(pair.reach):
        return math.inf
    # For alpha -> 1, D_alpha -> the mean; and `reach` ** 2 / 2 holds for every pure pair.
    best = pair.mean
    ceiling = pair.reach**2 / 2.0
    farthest = max(pair.reach / max(best, 1e-300), 2.0)
    cells: list[tuple[float, float, float]] = []

    def push(a: float, b: float) -> None:
        nonlocal best
        value = _divergence(pair, b)
        best = max(best, value / b)
        heapq.heappush(cells, (-value / a, a, b))

    push(1.0, farthest)
    for _ in range(MOST_CELLS):
        worst, a, b = cells[0]
        if -worst <= best * (1.0 + TIGHT):
            break
        heapq.heappop(cells)
        middle = math.sqrt(a * b)
        push(a, middle)
        push(middle, b)
    return min(-cells[0][0] * (1.0 + 1e-9), ceiling)


def _divergence(pair: Pair, alpha: float) -> float:
    z = np.array([complex(alpha - 1.0)])
    return float(type(pair).log_moments([pair], np.ones(1), z)[0].real) / (alpha - 1.0)
