"""Discrete Gaussian noise has its law: by reference values, by enclosure, by sampling with planted faults."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from flint import arb, ctx
from numpy.typing import NDArray

from discreet.errors import InvalidParameter
from discreet.noise import discrete_gaussian
from discreet.noise.discrete_gaussian import DiscreteGaussianLaw
from discreet.noise.entropy import fresh_words
from discreet.noise.gaussian import RoundedNormal
from discreet.noise.half_gaussian import bell_sums
from discreet.testing.scripted_words import splitmix
from discreet.testing.statistics import Survival, chi_square_p, vectors_p

SAMPLES = 1_000_000
FALSE_ALARM = 1e-9
REFERENCE = {  # sigma2: variance, P(0), P(1), P(2), P(|Z| > 3 sigma)
    "0.25": (0.2150126750881385, 0.7865707070419479, 0.1064507694231447, 0.0002638650764154286, 0.000527754111763),
    "0.5": (0.4989791308328205, 0.5641312262188421, 0.2075322802487481, 0.01033242382528312, 0.000139365633095),
    "1": (0.9999997887677281, 0.3989422782668617, 0.2419707232244606, 0.05399096622430528, 0.000270646059156),
    "2": (1.999999999999998, 0.2820947917738781, 0.2196956447338612, 0.1037768743551487, 0.00116153275924),
    "4": (4.0, 0.1994711402007163, 0.1760326633821497, 0.1209853622595717, 0.00102409743125),
    "9": (9.0, 0.1329807601338109, 0.1257944092309977, 0.1064826685074507, 0.00146599903561),
    "100": (100.0, 0.03989422804014327, 0.03969525474770118, 0.03910426939754559, 0.00227874831019),
}


def survival(sigma2: float) -> Survival:
    """P(Z >= k), by sums of the weights within 12 sigma."""
    reach = int(12 * math.sqrt(sigma2)) + 12
    weights = np.exp(-(np.arange(-reach, reach + 2, dtype=float) ** 2) / (2 * sigma2))
    weights[-1] = 0
    above = np.cumsum(weights[::-1])[::-1] / weights.sum()
    return lambda k: above[np.clip(k + reach, 0, 2 * reach + 1)]


def check(sigma2: Fraction) -> None:
    sample = DiscreteGaussianLaw.of_parameter(sigma2).sample(SAMPLES, fresh_words())
    assert sample.dtype == np.int64
    assert vectors_p(sample.reshape(-1, 2), survival(float(sigma2))) > FALSE_ALARM
    if sigma2 > 1:
        assert chi_square_p(sample, survival(float(sigma2) * 1.02**2)) < FALSE_ALARM


@pytest.mark.cases
@pytest.mark.parametrize("sigma2", [Fraction(1, 4), Fraction(2), Fraction(2500)], ids=str)
def test_narrow_laws(sigma2: Fraction) -> None:
    check(sigma2)


@pytest.mark.parametrize("sigma2", [Fraction(64**2), Fraction(10**10, 3)], ids=str)
def test_wide_laws(sigma2: Fraction) -> None:
    check(sigma2)


def test_planted_samplers_are_caught() -> None:
    """The rounded normal is another law at small sigma, and noise left out of one number in fifty is seen."""
    rounded = RoundedNormal.of_variance(Fraction(1, 2)).sample(SAMPLES, splitmix(1))
    assert chi_square_p(rounded, survival(0.5)) < FALSE_ALARM
    drawn: NDArray[np.int64] = DiscreteGaussianLaw.of_parameter(Fraction(2500)).sample(SAMPLES, splitmix(2))
    drawn[::50] = 0
    assert chi_square_p(drawn, survival(2500.0)) < FALSE_ALARM


@pytest.mark.parametrize("sigma2", REFERENCE)
def test_tails_and_variances(sigma2: str) -> None:
    variance, zero, one, two, far = REFERENCE[sigma2]
    law = DiscreteGaussianLaw.of_parameter(Fraction(sigma2))
    assert math.isclose(law.variance, variance, rel_tol=1e-14)
    for t, mass in enumerate((zero, 2 * one, 2 * two)):
        assert math.isclose(law.tail(t) - law.tail(t + 1), mass, rel_tol=1e-10)
    beyond = math.floor(3 * math.sqrt(Fraction(sigma2))) + 1
    assert math.isclose(law.tail(beyond), far, rel_tol=1e-10)


@pytest.mark.parametrize("t", [0, 1, 100, 443, 444, 1000, 5000])
def test_wide_tails_enclose_the_sum(t: int) -> None:
    """Euler and Maclaurin against the sum, at sigma 256 and either side of sqrt 3 sigma."""
    with ctx.workprec(256):
        exact = bell_sums(Fraction(1, 2**16), 256)[t]
        wide = discrete_gaussian._wide_sum(Fraction(2**16), t)
        assert wide.lower() <= exact.lower()
        assert exact.upper() <= wide.upper()
        assert (wide.upper() - wide.lower()) / exact < arb("1e-3")


@pytest.mark.parametrize("dimension", [1, 100])
@pytest.mark.parametrize("sigma2", [Fraction(1, 10), Fraction(4), Fraction(10**4)], ids=str)
def test_quantiles_are_the_smallest(sigma2: Fraction, dimension: int) -> None:
    law = DiscreteGaussianLaw.of_parameter(sigma2)
    t = law.quantile(0.95, dimension=dimension)
    assert (1 - law.tail(t + 1)) ** dimension >= 0.95
    assert t == 0 or (1 - law.tail(t)) ** dimension < 0.95
    wide = DiscreteGaussianLaw.of_parameter(Fraction(10**12)).quantile(0.95)
    assert abs(wide - 1_959_964) <= 1


def test_numbers_that_do_not_fit_are_python_integers() -> None:
    drawn = DiscreteGaussianLaw.of_parameter(Fraction(10**60)).sample(500, splitmix(4))
    assert drawn.dtype == object
    assert 0.7 < float(np.mean([(int(y) / 1e30) ** 2 for y in drawn])) < 1.3
    assert len({int(y) % 1024 for y in drawn}) > 300


@pytest.mark.parametrize("sigma2", [Fraction(0), Fraction(-1), 4, 4.0, True, float("nan"), None], ids=repr)
def test_parameters_that_are_not_exact_are_refused(sigma2: Fraction) -> None:
    with pytest.raises(InvalidParameter, match=r"Expected an exact sigma2 above 0, got sigma2="):
        DiscreteGaussianLaw.of_parameter(sigma2)


@pytest.mark.parametrize(("confidence", "dimension"), [(0, 1), (1, 1), (float("nan"), 1), (0.9, 0), (0.9, 1.5)])
def test_quantiles_that_cannot_be_are_refused(confidence: float, dimension: int) -> None:
    with pytest.raises(InvalidParameter, match="Hint"):
        DiscreteGaussianLaw.of_parameter(Fraction(1)).quantile(confidence, dimension=dimension)
