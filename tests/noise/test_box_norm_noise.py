"""Noise of boxes and cross-polytopes: its law in one, few and many dimensions, and its roundings at the edge.

Samples of 100,000; false alarms below 10**-9 a test.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import special

from discreet.errors import InvalidParameter
from discreet.noise.box_norm_noise import Box, Cross
from discreet.noise.entropy import fresh_words
from discreet.testing.scripted_words import splitmix
from discreet.testing.statistics import Survival, binomial_p, chi_square_p, vectors_p

SAMPLES = 100_000
FALSE_ALARM = 1e-10
FINE = Fraction(1, 10**8)
"""A rate at which rounding does not show."""


def reaches(*given: int) -> tuple[Fraction, ...]:
    return tuple(Fraction(reach) for reach in given)


def rounded_laplace(scale: float) -> Survival:
    def survival(k: NDArray[np.int64]) -> NDArray[np.float64]:
        far = np.exp(-np.abs(k - 0.5) / scale) / 2
        return np.asarray(np.where(k > 0, far, 1 - far))

    return survival


def gamma(shape: int) -> Survival:
    """P(floor(20 R) >= k)."""
    return lambda k: np.asarray(special.gammaincc(shape, np.maximum(k, 0) / 20), dtype=np.float64)


def box_p(drawn: NDArray[np.int64], widths: tuple[Fraction, ...], rate: Fraction) -> float:
    """The smallest p-value of: the norm is Gamma(d); the largest coordinate is any, with either sign; the next one is
    uniform below the norm; times their number.
    """
    d = len(widths)
    scaled = drawn / np.array([float(w) for w in widths]) * float(rate)
    norms = np.abs(scaled).max(axis=1)
    found = [chi_square_p(np.floor(20 * norms).astype(np.int64), gamma(d))]
    largest = np.abs(scaled).argmax(axis=1)
    for i in range(d):
        found.append(binomial_p(int((largest == i).sum()), len(drawn), 1 / d))
        found.append(binomial_p(int(((largest == i) & (scaled[:, i] > 0)).sum()), len(drawn), 0.5 / d))
    for i, j in pairwise(range(d)):
        beside = (scaled[:, j] / norms)[largest == i]
        cells = np.bincount(np.floor((beside + 1) * 10).clip(0, 19).astype(int), minlength=20)
        found.append(float(special.gammaincc(19 / 2, float(((cells - cells.mean()) ** 2 / cells.mean()).sum()) / 2)))
    return min(found) * len(found)


@pytest.mark.parametrize("widths", [reaches(1), reaches(2, 7, 3), reaches(*range(1, 13))], ids=len)
def test_boxes_have_the_law(widths: tuple[Fraction, ...]) -> None:
    """And a scale off by 2 %, an exponential too few, and a coordinate left out do not."""
    d, law = len(widths), Box(widths)
    drawn = law.sample(FINE, SAMPLES, splitmix(d))
    assert box_p(drawn, widths, FINE) > FALSE_ALARM
    assert box_p(drawn, widths, FINE * Fraction(104, 100)) < FALSE_ALARM
    fewer = np.random.default_rng(1).gamma(d, 1, SAMPLES)[:, None] * np.random.default_rng(2).uniform(
        -1, 1, (SAMPLES, d)
    )
    scale = np.array([float(w / FINE) for w in widths])
    assert box_p(np.rint(fewer * scale).astype(np.int64), widths, FINE) < FALSE_ALARM
    drawn[:, -1] = 0
    assert box_p(drawn, widths, FINE) < FALSE_ALARM


def test_a_box_in_one_dimension_is_laplace() -> None:
    """Rounded to nearest, at a scale where that shows; rounded down it is another law."""
    drawn = Box(reaches(1)).sample(Fraction(1, 2), SAMPLES, splitmix(5))
    assert chi_square_p(drawn[:, 0], rounded_laplace(2.0)) > FALSE_ALARM
    assert chi_square_p(drawn[:, 0] - 1, rounded_laplace(2.0)) < FALSE_ALARM


def test_cross_polytopes_are_laplace() -> None:
    """Each coordinate of its own scale, all independent; in forty dimensions."""
    widths = reaches(*[1, 3] * 20)
    drawn = Cross(widths).sample(Fraction(1, 2), 20_000, splitmix(6))
    assert vectors_p(drawn[:, ::2], rounded_laplace(2.0)) > FALSE_ALARM
    assert vectors_p(drawn[:, 1::2], rounded_laplace(6.0)) > FALSE_ALARM
    assert vectors_p(drawn[:, 1::2], rounded_laplace(6.4)) < FALSE_ALARM
    assert abs(np.corrcoef(drawn[:, 0], drawn[:, 1])[0, 1]) < 0.05
    again = drawn.copy()
    again[:, 2] = again[:, 0]
    assert vectors_p(again[:, ::2], rounded_laplace(2.0)) < FALSE_ALARM


def test_floats_and_arb_agree() -> None:
    law, words = Box(reaches(1, 5)), splitmix(7)(5 * 2000)
    drawn = law.sample(Fraction(1, 1000), 2000, lambda n: words[:n])
    for row, word in zip(drawn, words.reshape(2000, 5), strict=True):
        assert row.tolist() == law._decided([0, 1], [int(w) for w in word], Fraction(1, 1000), fresh_words())


def test_halves_are_decided_by_more_bits() -> None:
    """A side in the first word's middle is 0 within an interval around it; a length of which nothing is known is read
    on; both tell their numbers in the end, the same for the same words.
    """
    law = Box(reaches(1))
    zeros = [0, 0, 0]
    assert law._decided([0], zeros, Fraction(1), splitmix(1)) == law._decided([0], zeros, Fraction(1), splitmix(1))
    assert abs(law._decided([0], [2**63, 0, 1], FINE, splitmix(2))[0]) <= 1


def test_large_coordinates_are_python_integers() -> None:
    for law in (Box(reaches(1, 1)), Cross(reaches(1, 1))):
        drawn = law.sample(Fraction(1, 10**30), 100, splitmix(8))
        assert drawn.dtype == object
        assert 0.5 < float(np.mean([abs(int(z)) / 1e30 for z in drawn.reshape(-1)])) < 3


@pytest.mark.parametrize("law", [Box, Cross])
def test_what_cannot_be_is_refused(law: type[Box | Cross]) -> None:
    wrong: list[Any] = [(), (Fraction(0),), (1,), (Fraction(1), Fraction(-1))]
    for widths in wrong:
        with pytest.raises(InvalidParameter, match="exact reaches"):
            law(widths)
    for rate in (Fraction(0), 1.0, None):
        with pytest.raises(InvalidParameter, match="rate"):
            law(reaches(1)).sample(rate, 1, fresh_words())  # type: ignore[arg-type]  # what is tried
