"""The statistical kit says yes to what is right and no to what is wrong, at the rates it states."""

from __future__ import annotations

from fractions import Fraction
from math import comb

import numpy as np
import pytest
from numpy.typing import NDArray

from discreet.errors import InvalidParameter
from discreet.noise.geometric import Geometric
from discreet.noise.laplace import DiscreteLaplace
from discreet.testing.scripted_words import splitmix
from discreet.testing.statistics import (
    binomial_p,
    chi_square_p,
    clopper_pearson,
    geometric_survival,
    joint_p,
    laplace_survival,
    planted,
    vectors_p,
)

FALSE_ALARM = 1e-9


def coin(k: NDArray[np.int64]) -> NDArray[np.float64]:
    """P(Z >= k) of a fair coin, 0 or 1."""
    return np.where(k <= 0, 1.0, np.where(k <= 1, 0.5, 0.0))


@pytest.mark.parametrize("scale", [Fraction(1, 5), Fraction(2), Fraction(1000), Fraction(2**45)], ids=str)
def test_survivals_are_those_of_the_samplers(scale: Fraction) -> None:
    law = DiscreteLaplace.of_scale(scale)
    k = np.array([1, 2, 3, int(scale) + 1, int(2 * scale) + 1])
    by_law = np.array([law.tail(int(t)) / 2 for t in k])
    survival = laplace_survival(float(scale))
    np.testing.assert_allclose(survival(k), by_law, rtol=1e-12)
    np.testing.assert_allclose(survival(1 - k), 1 - by_law, rtol=1e-12)
    np.testing.assert_allclose(geometric_survival(float(scale))(k), np.exp(-k / float(scale)), rtol=1e-15)
    assert geometric_survival(float(scale))(np.array([0, -1])).tolist() == [1, 1]


@pytest.mark.long
@pytest.mark.parametrize("scale", [Fraction(1, 5), Fraction(2), Fraction(1000), Fraction(2**45)], ids=str)
def test_p_values_are_even(scale: Fraction) -> None:
    """Of 400 samples that follow the law, about half are below 0.5 and a tenth below 0.1: checked at 1e-9 each."""
    law, words, survival = DiscreteLaplace.of_scale(scale), splitmix(1), laplace_survival(float(scale))
    values = np.array([chi_square_p(law.sample(2000, words), survival, cells=20) for _ in range(400)])
    for level in (0.1, 0.5, 0.9):
        assert binomial_p(int(np.sum(values <= level)), values.size, level) > FALSE_ALARM


@pytest.mark.parametrize("fault", ["scale-2%-off", "rounded-continuous", "never-negative", "negative-zero-kept"])
def test_wrong_laws_are_caught(fault: str) -> None:
    """A million draws at scale 2."""
    drawn = planted(Fraction(2))[fault](1_000_000, splitmix(3))
    assert chi_square_p(drawn, laplace_survival(2.0)) < FALSE_ALARM


@pytest.mark.parametrize("fault", ["one-draw-for-all", "last-left-at-zero"])
def test_wrong_vectors_are_caught(fault: str) -> None:
    """Two thousand vectors of 5 coordinates; a single coordinate of the first fault by itself is right."""
    wrong, words = planted(Fraction(2))[fault], splitmix(3)
    vectors = np.stack([wrong(5, words) for _ in range(2000)])
    assert vectors.shape == (2000, 5)
    assert vectors_p(vectors, laplace_survival(2.0)) < FALSE_ALARM
    assert chi_square_p(vectors[:, 0], laplace_survival(2.0)) > FALSE_ALARM


def test_planted_samplers_keep_the_form_of_right_ones() -> None:
    for sampler in planted(Fraction(2)).values():
        for n in (0, 1, 7):
            drawn = sampler(n, splitmix(n))
            assert drawn.shape == (n,)
            assert drawn.dtype == np.int64


def test_right_vectors_pass() -> None:
    vectors = DiscreteLaplace.of_scale(Fraction(2)).sample(10_000, splitmix(3)).reshape(2000, 5)
    assert vectors_p(vectors, laplace_survival(2.0)) > FALSE_ALARM


def test_dependence_without_a_wrong_law_is_caught() -> None:
    """Each of x and y follows the law; y is x with its sign turned."""
    drawn = DiscreteLaplace.of_scale(Fraction(50)).sample(5000, splitmix(4))
    assert chi_square_p(-drawn, laplace_survival(50.0)) > FALSE_ALARM
    assert joint_p(drawn, -drawn, laplace_survival(50.0)) < FALSE_ALARM
    assert joint_p(drawn[::2], drawn[1::2], laplace_survival(50.0)) > FALSE_ALARM


def test_one_heavy_value_stands_alone() -> None:
    """At scale 1/5 zero has mass 0.987: a sampler that is right on both sides of it in sum, but lopsided, is caught."""
    law = DiscreteLaplace.of_scale(Fraction(1, 5))
    drawn = law.sample(100_000, splitmix(5))
    assert chi_square_p(drawn, laplace_survival(0.2)) > FALSE_ALARM
    assert chi_square_p(-np.abs(drawn), laplace_survival(0.2)) < FALSE_ALARM
    assert chi_square_p(np.zeros(100_000, dtype=np.int64), laplace_survival(0.2)) < FALSE_ALARM


def test_chi_square_is_the_textbooks() -> None:
    """60 heads in 100 tosses: the statistic is 4, with one degree of freedom."""
    tosses = np.repeat([0, 1], [60, 40])
    assert chi_square_p(tosses, coin) == pytest.approx(0.04550026389635842)


def test_geometric_law_passes() -> None:
    drawn = Geometric.of_scale(Fraction(30)).sample(100_000, splitmix(6))
    assert chi_square_p(drawn, geometric_survival(30.0)) > FALSE_ALARM
    assert chi_square_p(drawn + 1, geometric_survival(30.0)) < FALSE_ALARM


@pytest.mark.parametrize(
    ("successes", "trials", "probability"), [(3, 10, 0.5), (0, 7, 0.1), (9, 9, 0.7), (20, 31, 0.5)]
)
def test_binomial_p_is_twice_the_smaller_tail(successes: int, trials: int, probability: float) -> None:
    masses = [comb(trials, k) * probability**k * (1 - probability) ** (trials - k) for k in range(trials + 1)]
    tails = sum(masses[: successes + 1]), sum(masses[successes:])
    assert binomial_p(successes, trials, probability) == pytest.approx(min(1, 2 * min(tails)))


def test_certain_outcomes() -> None:
    assert binomial_p(0, 5, 0) == binomial_p(5, 5, 1) == 1
    assert binomial_p(1, 5, 0) == binomial_p(4, 5, 1) == 0


@pytest.mark.parametrize(("successes", "trials"), [(0, 10), (3, 10), (10, 10), (500, 1000)])
def test_clopper_pearson_holds_what_the_binomial_test_does_not_reject(successes: int, trials: int) -> None:
    low, high = clopper_pearson(successes, trials, confidence=0.99)
    assert 0 <= low < successes / trials + 1e-9
    assert successes / trials - 1e-9 < high <= 1
    for bound, outside in ((low, low * 0.99), (high, high + (1 - high) * 0.01)):
        if 0 < bound < 1:
            assert binomial_p(successes, trials, bound) == pytest.approx(0.01)
            assert binomial_p(successes, trials, outside) < 0.01


def test_clopper_pearson_is_the_published_one() -> None:
    """10 of 100 at 95 %: 4.90 % to 17.62 %."""
    assert clopper_pearson(10, 100) == pytest.approx((0.04900469, 0.17622260), abs=1e-7)


@pytest.mark.parametrize(("successes", "trials"), [(-1, 10), (11, 10), (0, 0), (1.5, 10), (True, 10)])
def test_impossible_counts_are_refused(successes: int, trials: int) -> None:
    with pytest.raises(InvalidParameter, match="Hint"):
        binomial_p(successes, trials, 0.5)
    with pytest.raises(InvalidParameter, match="Hint"):
        clopper_pearson(successes, trials)


@pytest.mark.parametrize("probability", [-0.1, 1.1, float("nan")])
def test_impossible_probabilities_are_refused(probability: float) -> None:
    with pytest.raises(InvalidParameter, match="got probability="):
        binomial_p(1, 2, probability)


@pytest.mark.parametrize("confidence", [0.0, 1.0, float("nan")])
def test_impossible_confidences_are_refused(confidence: float) -> None:
    with pytest.raises(InvalidParameter, match="got confidence="):
        clopper_pearson(1, 2, confidence=confidence)


@pytest.mark.parametrize("sample", [np.array([], dtype=np.int64), np.zeros(19, dtype=np.int64)], ids=len)
def test_samples_too_small_to_say_no_are_refused(sample: NDArray[np.int64]) -> None:
    with pytest.raises(InvalidParameter, match="two cells with 10 draws each"):
        chi_square_p(sample, coin)


def test_samples_of_floats_are_refused() -> None:
    with pytest.raises(InvalidParameter, match="Expected integers, got dtype='float64'"):
        chi_square_p(np.zeros(100), coin)


def test_unpaired_samples_are_refused() -> None:
    with pytest.raises(InvalidParameter, match="Expected pairs for 100 numbers, got second=99"):
        joint_p(np.zeros(100, dtype=int), np.zeros(99, dtype=int), coin)


@pytest.mark.parametrize("shape", [(100,), (0, 3), (3, 0), (2, 2, 2)])
def test_vectors_of_another_shape_are_refused(shape: tuple[int, ...]) -> None:
    with pytest.raises(InvalidParameter, match=r"Expected shape \(runs, coordinates\)"):
        vectors_p(np.zeros(shape, dtype=int), coin)
