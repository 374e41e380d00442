"""Fieller's method for the interval of a ratio: when a value is refused, and how far noise reaches."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from discreet.errors import InvalidParameter, expected
from discreet.noise.laplace_sum import Reals, miss
from discreet.noise.weighted_sums import WeightedSums, cached_quantile


@dataclass(frozen=True, slots=True)
class PivotNoise:
    """The law of the noise in every component, and the miss probability that an interval may use."""

    scale: float
    step: float
    alpha: float
    law: WeightedSums

    @classmethod
    def of(cls, scale: float, step: float, confidence: object, law: WeightedSums) -> PivotNoise:
        """The noise of an interval with this confidence; refuses scales and steps that no total has."""
        for name, value, least in (("scale", scale, math.ulp(0.0)), ("step", step, 0.0)):
            if not least <= value < np.inf:
                cure = "both are in rows: scale/T and 1/T, for T lattice steps in a row."
                raise InvalidParameter(expected("a scale above 0 and a step of 0 or more", name, value, cure))
        return cls(float(scale), float(step), miss(confidence), law)

    def margin(self, coefficients: Reals, pivot: Reals) -> Reals:
        """Below 0 only if noise with these coefficients (last axis) reaches the pivot with probability below alpha."""
        reached = self.law.tail(coefficients, pivot / self.scale, step=self.step / self.scale)
        margin: Reals = np.log(np.maximum(reached, 1e-280) / (self.alpha * (1.0 - 1e-9)))
        return margin

    @property
    def highest(self) -> float:
        """The margin of a pivot of 0 or less, which no noise has to reach."""
        return -math.log(self.alpha * (1.0 - 1e-9))

    def noise_quantile(self, coefficients: ArrayLike, confidence: Any) -> Reals:
        """What noise with these coefficients (last axis) stays within, with this confidence."""
        reached: Reals = self.scale * self.law.quantile(coefficients, confidence, step=self.step / self.scale)
        return reached

    def one_noise_quantile(self, coefficients: tuple[float, ...], confidence: Any) -> float:
        """The same for one combination, remembered."""
        return self.scale * cached_quantile(self.law, coefficients, confidence, self.step / self.scale)

    @property
    def bracket(self) -> float:
        """More than alpha lets any combination reach whose coefficients sum up to 3 in absolute value.

        Laplace tails are exp(-t); normal ones are below exp(-t**2 / 2), which is smaller at t = 1 - log(alpha).
        """
        return 3.0 * (self.scale * (1.0 - math.log(self.alpha)) + self.step)
