"""How far noise moves a column that is linear in the noisy totals: its exact quantile, rounded up."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from discreet.mechanisms.gaussian import Gaussian
from discreet.mechanisms.staircase import Staircase
from discreet.noise.gaussian import RoundedNormal
from discreet.noise.laplace import DiscreteLaplace
from discreet.noise.weighted_sums import KEPT, LAPLACE, NORMAL, cached_quantile
from discreet.planning.noise_laws import Law, Noise
from discreet.planning.plan import Column, Plan


def half_width(plan: Plan, column: Column, confidence: float) -> float:
    """How far a linear column may be off with this confidence: the exact quantile of its noise, rounded up."""
    blocks = [plan.blocks[i] for i in column.blocks]
    if len(blocks) == 1 and blocks[0].part is not None:
        return blocks[0].part.quantile(confidence) / blocks[0].steps * abs(column.coefficients[0][0])
    if len(blocks) == 1 and blocks[0].block.components == 1 and blocks[0].estimate is None:
        return _quantile(blocks[0].noise, confidence) / blocks[0].steps * abs(column.coefficients[0][0])
    scaled = np.concatenate(
        [c * block.terms for block, own in zip(blocks, column.coefficients, strict=True) for c in own]
    )
    step = max(block.step for block in blocks)
    return cached_quantile(NORMAL if plan.law is Law.GAUSSIAN else LAPLACE, tuple(scaled.tolist()), confidence, step)


@lru_cache(maxsize=KEPT)
def _quantile(noise: Noise, confidence: float) -> int:
    """What the noise in one integer stays within, with this confidence."""
    if isinstance(noise, Staircase):
        return noise.law(reals=False).quantile(confidence)
    if isinstance(noise, Gaussian):
        return RoundedNormal.of_variance(noise.scale**2).quantile(confidence)
    return DiscreteLaplace.of_scale(noise.scale).quantile(confidence)
