"""Coins have exactly their probability: at their ties, and in number."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from flint import arb

from discreet.errors import InvalidParameter
from discreet.noise.bernoulli import Bernoulli
from discreet.noise.entropy import fresh_words
from discreet.testing.scripted_words import scripted, splitmix
from discreet.testing.statistics import binomial_p

SAMPLES = 200_000
FALSE_ALARM = 1e-9


@pytest.mark.parametrize("p", [Fraction(1, 2), Fraction(1, 3), Fraction(999, 1000), Fraction(1, 10**4)], ids=str)
def test_fractions_have_their_probability(p: Fraction) -> None:
    """200,000 coins; the same number is no sample of a probability 5 % away."""
    heads = int(Bernoulli.of(p).sample(SAMPLES, splitmix(1)).sum())
    assert binomial_p(heads, SAMPLES, float(p)) > FALSE_ALARM
    if Fraction(1, 10) < p:
        assert binomial_p(heads, SAMPLES, float(p) * 0.95) < FALSE_ALARM


@pytest.mark.parametrize("x", [Fraction(1, 1000), Fraction(1, 2), Fraction(7, 3)], ids=str)
def test_exponentials_have_their_probability(x: Fraction) -> None:
    heads = int(Bernoulli.of_exp(x).sample(SAMPLES, splitmix(2)).sum())
    assert binomial_p(heads, SAMPLES, math.exp(-x)) > FALSE_ALARM


def test_ties_are_refined() -> None:
    """1/3 is 0101... in binary: a word of that is decided by the next."""
    third = 0x5555_5555_5555_5555
    coin = Bernoulli.of(Fraction(1, 3))
    assert coin.sample(2, scripted(third - 1, third + 1)).tolist() == [True, False]
    assert coin.sample(1, scripted(third, third - 1)).tolist() == [True]
    assert coin.sample(1, scripted(third, third + 1)).tolist() == [False]
    assert coin.sample(1, scripted(third, third, third, 0)).tolist() == [True]


def test_a_half_ends_at_the_half() -> None:
    half = 2**63
    coin = Bernoulli.of(Fraction(1, 2))
    assert coin.sample(2, scripted(half - 1, half + 1)).tolist() == [True, False]
    assert coin.sample(1, scripted(half, 1)).tolist() == [False]


def test_probabilities_below_a_word_are_above_zero() -> None:
    coin = Bernoulli.of(Fraction(3, 2**128))
    assert coin.sample(2, scripted(1, 0, 2)).tolist() == [False, True]
    assert coin.sample(1, scripted(0, 3, 1)).tolist() == [False]
    rare = Bernoulli.of_exp(Fraction(50))
    assert rare.sample(1, scripted(0, 1)).tolist() == [True]


@pytest.mark.parametrize("p", [0, 1])
def test_the_ends_are_certain(p: int) -> None:
    for words in (scripted(0, 0, 1), scripted(2**64 - 1, 2**64 - 1, 2**64 - 1)):
        assert Bernoulli.of(Fraction(p)).sample(1, words).tolist() == [bool(p)]
    assert Bernoulli.of_exp(Fraction(0)).sample(1, scripted(2**64 - 1)).tolist() == [True]


def test_a_ball_that_does_not_tell_is_asked_again() -> None:
    """A probability known to 60 bits only, at first: words near it wait for more."""
    asked = []

    def ball() -> arb:
        asked.append(1)
        return arb(1) / 3 + (arb(0, arb(2) ** -60) if len(asked) == 1 else arb(0))

    assert Bernoulli.certified(ball).sample(1, scripted(0x5555_5555_5555_5550, 7)).tolist() == [True]
    assert len(asked) == 2


@pytest.mark.parametrize("p", [Fraction(-1, 2), Fraction(3, 2), 0.5, None], ids=repr)
def test_probabilities_that_cannot_be_are_refused(p: Fraction) -> None:
    with pytest.raises(InvalidParameter, match="probability"):
        Bernoulli.of(p)


@pytest.mark.parametrize("x", [Fraction(-1), 1.0, None], ids=repr)
def test_exponents_that_cannot_be_are_refused(x: Fraction) -> None:
    with pytest.raises(InvalidParameter, match="exponent"):
        Bernoulli.of_exp(x)


@pytest.mark.parametrize("n", [-1, 1.0, True], ids=repr)
def test_sizes_that_are_no_counts_are_refused(n: int) -> None:
    with pytest.raises(InvalidParameter, match="n="):
        Bernoulli.of(Fraction(1, 2)).sample(n, fresh_words())
