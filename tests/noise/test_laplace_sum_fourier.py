"""Quantiles of many terms: never below the truth, and hardly above."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import optimize, special

from discreet.noise import laplace_sum
from discreet.noise.laplace_sum_fourier import ERROR, raised, sharper
from discreet.noise.weighted_sums import LAPLACE

CONFIDENCES = (0.5, 0.9, 0.95, 0.999, 1 - 1e-6)


def equal(terms: int, confidence: float) -> float:
    """For equal coefficients, from the race of two walks in closed form: j phases left when the faster ends."""

    def beyond(t: float) -> float:
        chances = (2 * math.comb(2 * terms - 1 - j, terms - 1) / 2.0 ** (2 * terms - j) for j in range(1, terms + 1))
        return float(sum(chance * special.gammaincc(j, t) for j, chance in enumerate(chances, start=1)))

    return float(optimize.brentq(lambda t: beyond(t) - (1 - confidence), 0, 60 * terms, xtol=1e-12))


@pytest.mark.parametrize("confidence", CONFIDENCES)
@pytest.mark.parametrize("terms", [17, 40, 170])
def test_equal_terms(terms: int, confidence: float) -> None:
    truth, found = equal(terms, confidence), float(LAPLACE.quantile(np.ones(terms), confidence))
    assert truth <= found <= truth * 1.0001


@pytest.mark.parametrize("confidence", CONFIDENCES)
def test_few_of_many_terms(confidence: float) -> None:
    """Those that hardly count change hardly anything; zeros, nothing."""
    sizes = np.linspace(1, 0.1, 16)
    truth = float(laplace_sum.quantile(sizes, confidence))
    assert truth <= float(LAPLACE.quantile([*sizes, *[1e-9] * 40], confidence)) <= truth * 1.02
    assert float(LAPLACE.quantile([*[0.0] * 40, *sizes], confidence)) == truth
    both = LAPLACE.quantile([[*sizes, *[0.0] * 40], [*sizes, *[1.0] * 40]], confidence)
    assert both[0] == truth
    assert both[1] > truth


def test_coefficients_are_only_raised() -> None:
    sizes = np.random.default_rng(3).random((5, 30)) ** 4
    found = raised(sizes) * sizes.max(axis=-1, keepdims=True)
    assert (found >= -np.sort(-sizes, axis=-1) * (1 - 1e-15)).all()
    assert raised(np.zeros((1, 20))).max() == 1 / 12


def test_what_is_left_out_is_counted() -> None:
    """One term, as of no sum that is asked for: the series is so long then that nothing is gained, or it holds."""
    for rest in np.geomspace(1e-4, 0.3, 40):
        first, far = np.array([1.5 * -math.log(rest)]), np.array([-math.log(1e-14)])
        [found] = sharper(np.array([[1.0]]), first, far, float(rest))
        assert math.exp(-found) <= rest
    assert ERROR < 1e-10
