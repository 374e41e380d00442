"""A tabulated choice has its weights."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from discreet.errors import InvalidParameter
from discreet.noise.entropy import fresh_words
from discreet.noise.weighted_choice import WeightedChoice
from discreet.testing.scripted_words import scripted, splitmix
from discreet.testing.statistics import _pearson

SAMPLES = 200_000
FALSE_ALARM = 1e-9


def test_exponents() -> None:
    """Against exp(-x), with a common offset no float could bear; 2 % of one weight off must fail."""
    x = [Fraction(0), Fraction(1, 2), Fraction(2), Fraction(1)]
    wanted = np.exp([-float(one) for one in x])
    for offset in (0, 10**6, -(10**6)):
        counts = np.bincount(
            WeightedChoice.of_exponents([one + offset for one in x]).sample(SAMPLES, splitmix(1)), minlength=4
        )
        assert _pearson(counts, wanted / wanted.sum() * SAMPLES) > FALSE_ALARM
    wrong = np.array([1, math.exp(-0.5) * 1.05, math.exp(-2), math.exp(-1)])
    assert _pearson(counts, wrong / wrong.sum() * SAMPLES) < FALSE_ALARM


def test_weights() -> None:
    """Zeros are never drawn; ties at a threshold are settled by the next word."""
    law = WeightedChoice.of_weights([Fraction(1), Fraction(0), Fraction(2), Fraction(0)])
    counts = np.bincount(law.sample(SAMPLES, splitmix(2)), minlength=4)
    assert counts[1] == counts[3] == 0
    assert _pearson(counts[[0, 2]], np.array([1 / 3, 2 / 3]) * SAMPLES) > FALSE_ALARM
    two_thirds = 0xAAAA_AAAA_AAAA_AAAA
    first = two_thirds >> 48, (two_thirds << 16) & (2**64 - 1)
    assert law.sample(1, scripted(*first, two_thirds - 1)).tolist() == [2]
    assert law.sample(1, scripted(*first, two_thirds + 1)).tolist() == [0]


def test_one_and_many() -> None:
    assert WeightedChoice.of_weights([Fraction(5)]).sample(3, fresh_words()).tolist() == [0, 0, 0]
    far = WeightedChoice.of_exponents([Fraction(10**9), Fraction(0)])
    assert far.sample(1000, fresh_words()).min() == 1
    many = WeightedChoice.of_weights([Fraction(1)] * 5000).sample(SAMPLES, splitmix(3))
    assert _pearson(np.bincount(many, minlength=5000), np.full(5000, SAMPLES / 5000)) > FALSE_ALARM


@pytest.mark.parametrize("weights", [[], [Fraction(0)], [Fraction(-1), Fraction(2)], [1.0], [1]], ids=repr)
def test_weights_that_cannot_be_are_refused(weights: list[Fraction]) -> None:
    with pytest.raises(InvalidParameter, match="weight"):
        WeightedChoice.of_weights(weights)


@pytest.mark.parametrize("exponents", [[], [0.5], [None]], ids=repr)
def test_exponents_that_cannot_be_are_refused(exponents: list[Fraction]) -> None:
    with pytest.raises(InvalidParameter, match="exponents"):
        WeightedChoice.of_exponents(exponents)
