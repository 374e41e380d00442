"""Rounded normal noise has its law: by enclosure, by enumeration, by sampling with planted faults."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from flint import arb, ctx
from numpy.typing import NDArray

from discreet.errors import DiscreetError, InvalidParameter
from discreet.noise.entropy import fresh_words
from discreet.noise.gaussian import RoundedNormal, folded_tail, nearest_integers
from discreet.noise.half_gaussian import Strips
from discreet.testing.scripted_words import scripted, splitmix
from discreet.testing.statistics import chi_square_p, vectors_p

SAMPLES = 1_000_000
FALSE_ALARM = 1e-9
NARROW = [Fraction(1, 9), Fraction(1), Fraction(2500), Fraction(64**2) - Fraction(1, 7)]
WIDE = [Fraction(64**2), Fraction(10**12), Fraction(2**90, 3)]
QUANTILES = {1: 1.959963984540054, 10: 2.799625219301096, 100: 3.473978869154048, 3143: 4.310077711328378}
"""95 % quantiles of the largest of d normal magnitudes."""


def survival(sigma: float) -> Callable[[NDArray[np.int64]], NDArray[np.float64]]:
    """P(round(X) >= k)."""
    from scipy import special

    return lambda k: np.asarray(special.erfc((k - 0.5) / sigma / math.sqrt(2)) / 2)


def check(variance: Fraction) -> None:
    """A million draws agree with the law, neighbors are independent, and 2 % of scale are seen."""
    sigma = math.sqrt(variance)
    sample = RoundedNormal.of_variance(variance).sample(SAMPLES, fresh_words())
    assert sample.dtype == np.int64
    assert vectors_p(sample.reshape(-1, 2), survival(sigma)) > FALSE_ALARM
    if sigma > 0.5:
        assert chi_square_p(sample, survival(sigma * 1.02)) < FALSE_ALARM


@pytest.mark.cases
@pytest.mark.parametrize("variance", NARROW, ids=str)
def test_narrow_laws(variance: Fraction) -> None:
    check(variance)


@pytest.mark.parametrize("variance", WIDE, ids=str)
def test_wide_laws(variance: Fraction) -> None:
    check(variance)


def test_planted_samplers_are_caught() -> None:
    """Noise left out of every 50th number; the floor of a normal instead of the nearest integer."""
    drawn = RoundedNormal.of_variance(Fraction(2500)).sample(SAMPLES, splitmix(1))
    drawn[::50] = 0
    assert chi_square_p(drawn, survival(50.0)) < FALSE_ALARM
    floors = np.floor(splitmix_normal(3.0)).astype(np.int64)
    assert chi_square_p(floors, survival(3.0)) < FALSE_ALARM


def splitmix_normal(sigma: float) -> NDArray[np.float64]:
    """Continuous normals, by Box and Muller."""
    one, two = ((splitmix(seed)(SAMPLES) >> np.uint64(11)) * 2.0**-53 for seed in (8, 9))
    return np.asarray(sigma * np.sqrt(-2 * np.log1p(-one)) * np.cos(2 * np.pi * two))


def test_wide_and_narrow_meet() -> None:
    """The same variance by its table and by strips: the enumeration of the first 2,000 integers agrees."""
    source = Strips.of(Fraction(100**2), whole=False)
    strip, place = source.sample(SAMPLES, splitmix(3))
    assert (
        chi_square_p(nearest_integers(source, strip, place), lambda k: np.where(k <= 0, 1.0, 2 * survival(100.0)(k)))
        > 1e-9
    )


@pytest.mark.parametrize(("place", "up"), [(0, 0), (2**63 - 1, 16), (2**59 - 1, 1), (2**59, 1), (2**64 - 1, 32)])
def test_the_nearest_integer(place: int, up: int) -> None:
    """A strip of 2**5: 2**59 is the place of 1; halves go up."""
    source = Strips.of(Fraction(1000**2 * 4), whole=False)
    assert source.bits == 5
    assert nearest_integers(source, np.array([7]), np.array([[place]], dtype=np.uint64)).tolist() == [7 * 32 + up]
    far = nearest_integers(source, np.array([2**40]), np.array([[place]], dtype=np.uint64))
    assert far.dtype == object
    assert far.tolist() == [2**45 + up]


def test_numbers_that_do_not_fit_are_python_integers() -> None:
    law = RoundedNormal.of_variance(Fraction(10**60))
    drawn = law.sample(500, splitmix(4))
    assert drawn.dtype == object
    scaled = np.array([int(y) / 1e30 for y in drawn])
    assert 0.7 < float(np.mean(scaled**2)) < 1.3
    assert len({int(y) % 1024 for y in drawn}) > 300


@pytest.mark.parametrize("variance", [Fraction(1, 100), Fraction(1, 4), Fraction(1), Fraction(30)], ids=str)
def test_variances(variance: Fraction) -> None:
    """Against the sum over all integers, of 500 bits: never below, and hardly above."""
    with ctx.workprec(500):
        exact = sum(((2 * j - 1) * folded_tail(variance, j) for j in range(1, 200)), arb(0))
        stated = arb(RoundedNormal.of_variance(variance).variance)
        assert stated >= exact
        assert stated <= exact * (1 + arb(2) ** -50)


@pytest.mark.parametrize(("dimension", "wanted"), QUANTILES.items())
def test_quantiles(dimension: int, wanted: float) -> None:
    law = RoundedNormal.of_variance(Fraction(10**16))
    assert law.quantile(0.95, dimension=dimension) == round(wanted * 10**8)
    for variance in (Fraction(1, 100), Fraction(3), Fraction(10**4)):
        small = RoundedNormal.of_variance(variance)
        t = small.quantile(0.95, dimension=dimension)
        assert (1 - small.tail(t + 1)) ** dimension >= 0.95
        assert t == 0 or (1 - small.tail(t)) ** dimension < 0.95


def test_tails() -> None:
    law = RoundedNormal.of_variance(Fraction(100))
    assert law.tail(0) == law.tail(-5) == 1.0
    assert math.isclose(law.tail(20), math.erfc(1.95 / math.sqrt(2)), rel_tol=1e-12)
    assert law.tail(10**9) > 0


def test_signs_are_bits_of_their_own() -> None:
    law = RoundedNormal.of_variance(Fraction(1, 10**6))  # magnitudes are zero, so nothing but signs is drawn
    assert law.sample(64, scripted(*[2**64 - 1] * 16, 5)).tolist() == [0] * 64
    wide = np.sign(RoundedNormal.of_variance(Fraction(10**6)).sample(100_000, fresh_words()))
    assert abs(float(wide.mean())) < 0.03


@pytest.mark.parametrize("variance", [Fraction(0), Fraction(-1), 4, 4.0, True, float("nan"), "4", None], ids=repr)
def test_variances_that_are_not_exact_are_refused(variance: Fraction) -> None:
    with pytest.raises(
        InvalidParameter, match=r"Expected an exact variance above 0, got variance=.*\nHint: .*Fraction"
    ):
        RoundedNormal.of_variance(variance)


@pytest.mark.parametrize(("confidence", "dimension"), [(0, 1), (1, 1), (float("nan"), 1), (0.9, 0), (0.9, 1.5)])
def test_quantiles_that_cannot_be_are_refused(confidence: float, dimension: int) -> None:
    with pytest.raises(InvalidParameter, match="Hint"):
        RoundedNormal.of_variance(Fraction(1)).quantile(confidence, dimension=dimension)


def test_sources_that_fall_short_are_refused() -> None:
    with pytest.raises(DiscreetError, match="words of 64 bits"):
        RoundedNormal.of_variance(Fraction(10**6)).sample(1000, lambda _: np.zeros(1, dtype=np.uint64))
    with pytest.raises(InvalidParameter, match="n="):
        RoundedNormal.of_variance(Fraction(1)).sample(-1, fresh_words())
    with pytest.raises(InvalidParameter, match="t="):
        RoundedNormal.of_variance(Fraction(1)).tail(0.5)  # type: ignore[arg-type]  # the refusal is the test
