"""Sums of rounded noise, enumerated: none passes its half width more often than stated, and few bounds are far."""

from __future__ import annotations

import functools
import math

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import special

from discreet.noise.weighted_sum_bounds import SummedNoise, log_concave_quantile
from discreet.noise.weighted_sums import LAPLACE

Reals = NDArray[np.float64]

WEIGHTS = [[1], [1, 1], [1, 2, 5], [1] * 12, [3] + [1] * 40, [1, 2] * 50]
SCALES = [0.3, 0.7, 2.0, 9.0]
CONFIDENCES = [0.5, 0.9, 0.95, 0.999]


def chances(scale: float, *, gaussian: bool) -> Reals:
    """Of the whole numbers from -n to n, all but nothing."""
    most = math.ceil(40 * scale + 2)
    at = np.arange(-most, most + 1)
    if not gaussian:
        return np.asarray(math.tanh(0.5 / scale) * np.exp(-np.abs(at) / scale), dtype=np.float64)
    ends = special.ndtr((np.abs(at)[:, None] + [-0.5, 0.5]) / -scale)
    return np.asarray(ends[:, 0] - ends[:, 1], dtype=np.float64)


def summed(weights: list[int], one: Reals) -> Reals:
    """The law of a weighted sum of independent draws."""

    def spread(weight: int) -> Reals:
        wide = np.zeros((len(one) - 1) * weight + 1)
        wide[::weight] = one
        return wide

    return functools.reduce(np.convolve, map(spread, weights))


def known(weights: list[int], scale: float, *, gaussian: bool) -> SummedNoise:
    sizes, spread = np.array(weights, dtype=np.float64), scale if gaussian else math.sqrt(2) * scale
    squares = float(sizes @ sizes)
    return SummedNoise(squares * spread**2, float(sizes.max()) * spread, squares, float(sizes.sum()))


@pytest.mark.cases
@pytest.mark.parametrize("gaussian", [True, False])
@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("weights", WEIGHTS)
def test_no_sum_passes_more_often(weights: list[int], scale: float, *, gaussian: bool) -> None:
    """The law of the sum, enumerated."""
    law = summed(weights, chances(scale, gaussian=gaussian))
    at = np.abs(np.arange(len(law)) - len(law) // 2)
    for confidence in CONFIDENCES:
        half = known(weights, scale, gaussian=gaussian).half_width(confidence, gaussian=gaussian)
        assert law[at > half].sum() <= 1 - confidence + 1e-12


@pytest.mark.parametrize("often", [1, 2, 4, 16, 50, 1000])
def test_laplace_sums_are_hardly_wider_than_need_be(often: int) -> None:
    """Beside the law of all terms: a fifth at most, a hundredth where there are 50 of them, and never less."""
    one = SummedNoise(2.0 * often, math.sqrt(2), 0.0, 0.0)
    for confidence in (0.9, 0.95, 0.999, 1 - 1e-9):
        ratio = one.half_width(confidence, gaussian=False) / float(LAPLACE.quantile([1.0] * often, confidence))
        assert 1 <= ratio < (1.01 if often >= 50 else 1.23)


def test_rounding_adds_by_its_spread() -> None:
    """Of 10,000 terms not half of each, but one part in ten."""
    one = known([1] * 10_000, 5.0, gaussian=True)
    exact = -float(special.ndtri(0.025)) * math.sqrt(one.variance)
    assert exact < one.half_width(0.95, gaussian=True) < 1.12 * exact


def test_quantiles_are_beyond_those_of_known_laws() -> None:
    """Of Laplace, normal and uniform variables of variance 1."""
    for miss in (1.0, 1 - 1e-12, 1 - 1e-9, 0.995, 0.5, 0.1, 0.05, 1e-3, 1e-9):  # of a float near 1, rounding left 0
        found = log_concave_quantile(miss)
        assert found >= -math.log(miss) / math.sqrt(2)
        assert found >= math.sqrt(3) * (1 - miss)
    assert log_concave_quantile(0.05) >= 1.96
    assert log_concave_quantile(0.5) >= 0.6745
