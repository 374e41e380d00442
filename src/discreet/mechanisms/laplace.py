"""Integers with exact discrete Laplace noise.

Claim
    For integer vectors f(D) with L1 distance at most `sensitivity` between neighbors, `Laplace(...).release(f(D),
    words)` is epsilon-differentially private.
Requires
    `words`: independent uniform 64-bit words (`noise.entropy` owes it).
Relies on
    The exact law of `noise.laplace.DiscreteLaplace` below its cap, and of `noise.geometric.Geometric` for what is
    beyond it.
Proof
    Each entry gets independent noise with P(Z = z) proportional to exp(-|z|/b), b = sensitivity/epsilon, so for each
    output the ratio of the probabilities under neighbors is at most exp(sum |f_i - f'_i| / b) <= exp(epsilon). A draw
    at the cap stands for "the cap or more": by memorylessness the excess is geometric with the same scale, so it is
    drawn and added in unbounded integers.
Rounding
    None: the scale is an exact fraction, the sums are exact.
Source
    Ghosh, Roughgarden and Sundararajan, "Universally utility-maximizing privacy mechanisms" (2009); Dwork et al.
    (2006).
Mutant
    one-draw-for-all: the first cell's noise is added to every cell; killed by test_cells_have_noise_of_their_own.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.noise.entropy import Words
from discreet.noise.geometric import Geometric
from discreet.noise.laplace import CAP, DiscreteLaplace

SMALL = 2**61
"""Totals below this and noise below the cap add up within 64 bits."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Laplace:
    """Adds discrete Laplace noise of scale `sensitivity / epsilon` to integers.

    >>> Laplace(sensitivity=1, epsilon=Fraction(1, 10)).scale
    Fraction(10, 1)
    """

    sensitivity: int
    epsilon: Fraction

    @property
    def scale(self) -> Fraction:
        """b = sensitivity / epsilon, exactly."""
        return Fraction(self.sensitivity) / self.epsilon

    def release(self, totals: NDArray[Any], words: Words) -> NDArray[Any]:
        """`totals` (integers of any size, any shape) with noise of its own in each entry: int64 where that holds them,
        Python integers otherwise.
        """
        flat = totals.reshape(-1)
        noise: NDArray[Any] = DiscreteLaplace.of_scale(self.scale).sample(flat.size, words)
        capped = np.flatnonzero(np.abs(noise) >= CAP)
        small = flat.dtype != object and (flat.size == 0 or (int(flat.min()) > -SMALL and int(flat.max()) < SMALL))
        if capped.size or not small:
            flat, noise = flat.astype(object), noise.astype(object)
        for i in capped:
            noise[i] += (1 if noise[i] > 0 else -1) * _excess(self.scale, words)
        released: NDArray[Any] = (flat + noise).reshape(totals.shape)
        return released


def _excess(scale: Fraction, words: Words) -> int:
    """What a draw at the cap lies beyond it."""
    geometric, total = Geometric.of_scale(scale), 0
    while (more := int(geometric.sample(1, words)[0])) >= CAP:
        total += CAP
    return total + more
