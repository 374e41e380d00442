"""Staircase noise has its law: by enumeration, by reference values, by sampling with a planted fault."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray

from discreet.errors import InvalidParameter
from discreet.noise.entropy import fresh_words
from discreet.noise.laplace import DiscreteLaplace
from discreet.noise.staircase import StaircaseLaw
from discreet.testing.scripted_words import splitmix
from discreet.testing.statistics import Survival, chi_square_p

SAMPLES = 400_000
FALSE_ALARM = 1e-9
LAWS = [(Fraction(1), 1, 1), (Fraction(2), 7, 2), (Fraction(1, 3), 10, 10), (Fraction(5), 64, 5)]


def masses(epsilon: float, width: int, high: int) -> NDArray[np.float64]:
    """P(Z = z) for z = 0, 1, ..., by adding up weights."""
    magnitudes = np.arange(int(width * (60 / epsilon + 2)))
    steps = magnitudes // width + (magnitudes % width >= high)
    weights = np.exp(-epsilon * steps)
    return np.asarray(weights / (2 * weights.sum() - 1))


def survival(law: tuple[Fraction, int, int]) -> Survival:
    mass = masses(float(law[0]), *law[1:])
    above = np.append(np.cumsum(mass[::-1])[::-1], 0.0)  # P(Z >= k) for k >= 0

    def at_least(k: NDArray[np.int64]) -> NDArray[np.float64]:
        far = above[np.minimum(np.abs(np.where(k >= 1, k, 1 - k)), mass.size)]
        return np.where(k >= 1, far, 1 - far)

    return at_least


@pytest.mark.parametrize("law", LAWS, ids=str)
def test_the_law_by_enumeration(law: tuple[Fraction, int, int]) -> None:
    """Tails and variances against sums of the weights themselves."""
    mass, noise = masses(float(law[0]), *law[1:]), StaircaseLaw.of(*law)
    for t in (1, 2, law[2], law[2] + 1, law[1], law[1] + 1, 3 * law[1] + law[2]):
        assert noise.tail(t) == pytest.approx(2 * mass[t:].sum(), rel=1e-9)
    assert noise.variance == pytest.approx(2 * (np.arange(mass.size) ** 2 * mass).sum(), rel=1e-9)
    assert noise.tail(0) == noise.tail(-1) == 1


@pytest.mark.parametrize("law", LAWS, ids=str)
def test_samples_follow_the_law(law: tuple[Fraction, int, int]) -> None:
    """400,000 draws, and the same from a law of epsilon 3 % off, which must fail where it shows."""
    drawn = StaircaseLaw.of(*law).sample(SAMPLES, splitmix(1))
    assert drawn.dtype == np.int64
    assert chi_square_p(drawn, survival(law)) > FALSE_ALARM
    wrong = StaircaseLaw.of(law[0] * Fraction(106, 100), *law[1:]).sample(SAMPLES, splitmix(2))
    assert chi_square_p(wrong, survival(law)) < FALSE_ALARM


def test_one_step_is_discrete_laplace() -> None:
    for epsilon in (Fraction(1, 10), Fraction(2)):
        laplace, stairs = DiscreteLaplace.of_scale(1 / epsilon), StaircaseLaw.of(epsilon, 1, 1)
        assert stairs.variance == pytest.approx(laplace.variance, rel=1e-14)
        for confidence in (0.5, 0.95, 0.999):
            assert stairs.quantile(confidence, dimension=7) == laplace.quantile(confidence, dimension=7)


@pytest.mark.parametrize("dimension", [1, 50])
def test_quantiles_are_the_smallest(dimension: int) -> None:
    law = StaircaseLaw.of(Fraction(2), 100, 27)
    t = law.quantile(0.95, dimension=dimension)
    assert (1 - law.tail(t + 1)) ** dimension >= 0.95
    assert (1 - law.tail(t)) ** dimension < 0.95


def test_wide_steps_are_python_integers() -> None:
    drawn = StaircaseLaw.of(Fraction(1), 2**61, 2**60).sample(200, splitmix(3))
    assert drawn.dtype == object
    assert 0.3 < float(np.mean([abs(int(z)) for z in drawn])) / 2**61 < 3
    assert math.isclose(StaircaseLaw.of(Fraction(1), 2**61, 2**60).tail(2**61), 0.4518, rel_tol=0.2)


@pytest.mark.parametrize(
    ("epsilon", "width", "high"),
    [(Fraction(0), 1, 1), (1.0, 1, 1), (Fraction(1), 3, 0), (Fraction(1), 3, 4), (Fraction(1), 0, 0)],
    ids=repr,
)
def test_shapes_that_cannot_be_are_refused(epsilon: Fraction, width: int, high: int) -> None:
    with pytest.raises(InvalidParameter, match="Hint"):
        StaircaseLaw.of(epsilon, width, high)
    with pytest.raises(InvalidParameter, match="n="):
        StaircaseLaw.of(Fraction(1), 1, 1).sample(-1, fresh_words())
