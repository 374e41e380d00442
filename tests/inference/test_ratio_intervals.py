"""Pivots refuse what noise reaches too rarely, and only that."""

from __future__ import annotations

import numpy as np
import pytest

import discreet as dp
from discreet.inference.ratio_intervals import PivotNoise
from discreet.noise.weighted_sums import LAPLACE, NORMAL, WeightedSums


@pytest.mark.parametrize("law", [LAPLACE, NORMAL])
def test_a_pivot_refuses_beyond_its_reach(law: WeightedSums) -> None:
    noise = PivotNoise.of(2.0, 0.5, 0.9, law)
    reach = noise.noise_quantile((1.0, -0.5), 0.9)
    beyond, within = noise.margin(np.array([[1.0, -0.5]] * 2), np.array([reach * 1.05, reach * 0.9]))
    assert beyond < 0 < within


@pytest.mark.parametrize("law", [LAPLACE, NORMAL])
@pytest.mark.parametrize("confidence", [0.01, 0.5, 0.95, 1 - 1e-12])
def test_nothing_reaches_the_bracket(law: WeightedSums, confidence: float) -> None:
    noise = PivotNoise.of(1.0, 0.25, confidence, law)
    for coefficients in ((3.0,), (1.0, 1.0, 1.0), (2.5, 0.5)):
        assert noise.margin(np.array([coefficients]), np.array([noise.bracket]))[0] < 0


def test_scales_that_no_total_has_are_refused() -> None:
    for scale, step in ((0.0, 0.1), (-1.0, 0.1), (1.0, -0.1), (float("nan"), 0.1), (1.0, float("inf"))):
        with pytest.raises(dp.InvalidParameter, match="a scale above 0 and a step of 0 or more"):
            PivotNoise.of(scale, step, 0.9, LAPLACE)
