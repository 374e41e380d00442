"""The discrete Laplace law is exact, signs and cap included, and its error bars are on the safe side."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from flint import arb, ctx
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from discreet.errors import DiscreetError, InvalidParameter
from discreet.noise import laplace
from discreet.noise.certified_comparison import real
from discreet.noise.entropy import fresh_words
from discreet.noise.geometric import CAP
from discreet.noise.laplace import DiscreteLaplace
from discreet.testing.scripted_words import scripted, splitmix
from discreet.testing.statistics import binomial_p, chi_square_p, laplace_survival, planted, vectors_p

SAMPLES = 1_000_000
FALSE_ALARM = 1e-9
SCALES = [
    Fraction(1, 10**6),
    Fraction(1, 3),
    Fraction(7, 5),
    Fraction(2),
    Fraction(10),
    Fraction(10**6),
    Fraction(10**9, 3),
    Fraction(123_456_789_012_345_678_901, 10**13 + 7),
    Fraction(2**56),
    Fraction(10**30),
]
REFERENCE = {  # scale: P(0), P(1), P(5), P(Z >= 5), variance
    "0.5": (0.7615941559557649, 0.1030705608076224, 3.457632118791066e-5, 3.998812547519776e-5, 0.3620308304831552),
    "1": (0.4621171572600098, 0.1700034015685479, 0.00311372091298599, 0.004925833956035728, 1.841347188415585),
    "10": (0.04995837495787997, 0.04520420700616045, 0.03030128612137404, 0.3184159729170037, 199.8334166336095),
    "100": (0.004999958333749996, 0.004950207917081951, 0.004756107488340557, 0.4779927659945273, 19999.83333416666),
}
NEGATIVE = 0x80
"""A word whose first sign is minus; the first sign of the word 0 is plus."""


def magnitude_word(law: DiscreteLaplace, g: int) -> int:
    """A word that makes a law of one digit draw the magnitude g."""
    (digit,) = law.magnitude.digits
    return int(np.flatnonzero(digit.guide == g)[0])


def test_negative_zero_is_drawn_again() -> None:
    """(0, minus) takes new words for both magnitude and sign; (0, plus), (3, plus) and (3, minus) stand."""
    law = DiscreteLaplace.of_scale(Fraction(10))
    zero, three = magnitude_word(law, 0), magnitude_word(law, 3)
    assert law.sample(1, scripted(zero, NEGATIVE, three, NEGATIVE)) == [-3]
    assert law.sample(1, scripted(zero, NEGATIVE, zero, NEGATIVE, three, 0)) == [3]
    assert law.sample(1, scripted(zero, 0)) == [0]
    assert law.sample(1, scripted(three, 0)) == [3]


def test_each_draw_has_its_own_sign() -> None:
    """64 draws take 64 signs from one word, each bit once."""
    law = DiscreteLaplace.of_scale(Fraction(10))
    threes = sum(magnitude_word(law, 3) << 16 * i for i in range(4))
    for bit in range(64):
        drawn = law.sample(64, scripted(*[threes] * 16, 1 << bit))
        assert np.count_nonzero(drawn == -3) == 1
        assert np.count_nonzero(drawn == 3) == 63
    assert law.sample(65, scripted(*[threes] * 17, 2**64 - 1, 0)).tolist() == [-3] * 64 + [3]


@pytest.mark.parametrize("scale", [scale for scale in SCALES if Fraction(1, 10) < scale < 2**60], ids=str)
def test_law(scale: Fraction) -> None:
    """A million draws agree with the law, and neighbors are independent."""
    sample = DiscreteLaplace.of_scale(scale).sample(SAMPLES, fresh_words())
    assert sample.dtype == np.int64
    assert vectors_p(sample.reshape(-1, 2), laplace_survival(float(scale))) > FALSE_ALARM


@pytest.mark.cases
@pytest.mark.parametrize("fault", sorted(planted(Fraction(2))))
def test_planted_faults_are_caught(fault: str) -> None:
    """The test that the law passes is failed by a million draws of each planted sampler, or 2,000 of its vectors."""
    wrong, words = planted(Fraction(2))[fault], fresh_words()
    if fault in ("one-draw-for-all", "last-left-at-zero"):
        vectors = np.stack([wrong(4, words) for _ in range(2000)])
    else:
        vectors = wrong(SAMPLES, words).reshape(-1, 4)
    assert vectors_p(vectors, laplace_survival(2.0)) < FALSE_ALARM


def test_vectors_have_independent_coordinates() -> None:
    """What catches the two faults of vectors passes 2,000 right vectors of 4 coordinates."""
    law, words = DiscreteLaplace.of_scale(Fraction(2)), fresh_words()
    vectors = np.stack([law.sample(4, words) for _ in range(2000)])
    assert vectors_p(vectors, laplace_survival(2.0)) > FALSE_ALARM


def test_narrow_law() -> None:
    """At scale 1/10, a million draws are zero but for 2 q / (1+q) = 9.08e-5 of them; at scale 10**-6 all are zero."""
    drawn = DiscreteLaplace.of_scale(Fraction(1, 10)).sample(SAMPLES, fresh_words())
    q = math.exp(-10)
    assert binomial_p(int(np.count_nonzero(drawn)), SAMPLES, 2 * q / (1 + q)) > FALSE_ALARM
    assert not DiscreteLaplace.of_scale(Fraction(1, 10**6)).sample(100_000, fresh_words()).any()


def test_ends_of_the_law() -> None:
    """At scale 10**30 all but one draw in 10**11 are the cap, of either sign."""
    drawn = DiscreteLaplace.of_scale(Fraction(10**30)).sample(10_000, fresh_words())
    assert set(drawn.tolist()) == {CAP, -CAP}
    assert binomial_p(int(np.count_nonzero(drawn > 0)), drawn.size, 0.5) > FALSE_ALARM


@given(
    st.integers(-(2**61), 2**61),
    st.one_of(st.integers(CAP - 2, CAP + 2), st.integers(CAP, 2**200)),
    st.sampled_from([-1, 1]),
)
def test_the_cap_cannot_be_seen_in_a_clamped_sum(total: int, size: int, sign: int) -> None:
    def clamp(number: int) -> int:
        return max(-(2**61), min(2**61, number))

    capped = max(-CAP, min(CAP, sign * size))
    assert -(2**63) <= total + capped < 2**63
    assert clamp(total + capped) == clamp(total + sign * size)


@pytest.mark.parametrize("scale", REFERENCE)
def test_reference_values(scale: str) -> None:
    """The two-sided geometric law of Ghosh, Roughgarden and Sundararajan, from an independent computation."""
    law, (zero, one, five, tail, variance) = DiscreteLaplace.of_scale(Fraction(scale)), REFERENCE[scale]
    assert law.tail(5) / 2 == pytest.approx(tail, rel=1e-14, abs=0)
    assert law.variance == pytest.approx(variance, rel=1e-14)
    assert 1 - law.tail(1) == pytest.approx(zero, rel=1e-12)
    assert (law.tail(1) - law.tail(2)) / 2 == pytest.approx(one, rel=1e-11)
    assert (law.tail(5) - law.tail(6)) / 2 == pytest.approx(five, rel=1e-11)


@pytest.mark.parametrize("scale", SCALES, ids=str)
def test_tail_and_variance_are_never_below(scale: Fraction) -> None:
    law = DiscreteLaplace.of_scale(scale)
    with ctx.workprec(2000):
        q = (-real(1 / scale)).exp()
        figures = [(law.tail(t), 2 * q**t / (1 + q)) for t in (1, 2, 77, 10**12, 10**31)]
        figures.append((law.variance, 2 * q / (1 - q) ** 2))
        for shown, exact in figures:
            assert arb(shown) > exact
            assert arb(math.nextafter(math.nextafter(math.nextafter(shown, 0), 0), 0)) <= exact


def test_tail_of_all() -> None:
    assert [DiscreteLaplace.of_scale(Fraction(10)).tail(t) for t in (0, -1, -(10**30))] == [1.0, 1.0, 1.0]


def miss(scale: Fraction, t: int, dimension: int) -> arb:
    """P(some |Z_i| > t) at the working precision."""
    q = (-real(1 / scale)).exp()
    return 1 - (1 - 2 * q ** (t + 1) / (1 + q)) ** dimension


@pytest.mark.parametrize("scale", SCALES, ids=str)
@pytest.mark.parametrize("dimension", [1, 2, 3143, 10**9])
@pytest.mark.parametrize("confidence", [Fraction(1, 10**6), Fraction(1, 2), Fraction(19, 20), 1 - Fraction(1, 10**20)])
def test_the_quantile_is_the_smallest(scale: Fraction, dimension: int, confidence: Fraction) -> None:
    """It reaches the confidence, and the integer below does not."""
    t = DiscreteLaplace.of_scale(scale).quantile(confidence, dimension=dimension)
    with ctx.workprec(3000):
        allowed = real(1 - confidence)
        assert miss(scale, t, dimension) <= allowed
        assert t == 0 or miss(scale, t - 1, dimension) > allowed


@settings(max_examples=50)
@given(st.fractions(Fraction(1, 100), 100), st.integers(1, 999), st.integers(1, 50))
def test_quantiles_of_any_scale(scale: Fraction, thousandths: int, dimension: int) -> None:
    if not scale:
        return
    t = DiscreteLaplace.of_scale(scale).quantile(Fraction(thousandths, 1000), dimension=dimension)
    with ctx.workprec(500):
        allowed = 1 - real(Fraction(thousandths, 1000))
        assert miss(scale, t, dimension) <= allowed
        assert t == 0 or miss(scale, t - 1, dimension) > allowed


def test_the_quantile_is_reached() -> None:
    """In 20,000 runs of 50 draws at scale 10, the largest is within the 95 % quantile as often as the law says."""
    law, runs, dimension = DiscreteLaplace.of_scale(Fraction(10)), 20_000, 50
    t = law.quantile(0.95, dimension=dimension)
    largest = np.abs(law.sample(runs * dimension, fresh_words()).reshape(runs, dimension)).max(axis=1)
    assert binomial_p(int(np.sum(largest <= t)), runs, (1 - law.tail(t + 1)) ** dimension) > FALSE_ALARM
    assert binomial_p(int(np.sum(largest <= t - 5)), runs, (1 - law.tail(t + 1)) ** dimension) < FALSE_ALARM


def test_the_counties() -> None:
    """3,143 counts at epsilon 0.1: the largest error is 110.2 in the continuous law, 110 in ours."""
    assert DiscreteLaplace.of_scale(Fraction(10)).quantile(0.95, dimension=3143) == 110


def test_chunks_are_joined_without_repeating(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(laplace, "CHUNK", 1000)
    sample = DiscreteLaplace.of_scale(Fraction(10**12)).sample(3500, fresh_words())
    assert np.unique(sample).size == sample.size == 3500  # two agree with probability 1e-5, a repeated chunk always


def test_the_same_words_give_the_same_draws() -> None:
    law = DiscreteLaplace.of_scale(Fraction(10**9, 3))
    np.testing.assert_array_equal(law.sample(1000, splitmix(7)), law.sample(1000, splitmix(7)))
    assert not np.array_equal(law.sample(1000, splitmix(7)), law.sample(1000, splitmix(8)))


@pytest.mark.parametrize("n", [0, 1, 5, np.int64(7)])
def test_sizes(n: int) -> None:
    assert DiscreteLaplace.of_scale(Fraction(10)).sample(n, fresh_words()).shape == (n,)


def test_laws_are_equal_when_their_scales_are() -> None:
    assert DiscreteLaplace.of_scale(Fraction(4, 2)) == DiscreteLaplace.of_scale(Fraction(2))
    assert DiscreteLaplace.of_scale(Fraction(3)) != DiscreteLaplace.of_scale(Fraction(2))
    assert repr(DiscreteLaplace.of_scale(Fraction(2))) == "DiscreteLaplace(scale=Fraction(2, 1))"


def test_a_variance_above_all_floats() -> None:
    assert DiscreteLaplace.of_scale(Fraction(10**200)).variance == math.inf


@pytest.mark.parametrize(
    "scale", [Fraction(0), Fraction(-1, 3), 10, 0.5, True, float("nan"), math.inf, "10", None], ids=repr
)
def test_scales_that_are_not_exact_or_not_above_zero_are_refused(scale: Fraction) -> None:
    with pytest.raises(InvalidParameter, match=r"Expected an exact scale above 0, got scale=.*\nHint: .*Fraction"):
        DiscreteLaplace.of_scale(scale)


@pytest.mark.parametrize("n", [-1, True, 2.0], ids=repr)
def test_sizes_that_are_no_counts_are_refused(n: int) -> None:
    with pytest.raises(InvalidParameter, match="Hint"):
        DiscreteLaplace.of_scale(Fraction(10)).sample(n, fresh_words())


@pytest.mark.parametrize("confidence", [0, 1, -0.5, 95, True, "0.95", float("nan"), None], ids=repr)
def test_confidences_out_of_range_are_refused(confidence: object) -> None:
    with pytest.raises(InvalidParameter, match=r"got confidence=.*\nHint: "):
        DiscreteLaplace.of_scale(Fraction(10)).quantile(confidence)


@pytest.mark.parametrize("dimension", [0, -1, 1.0, True], ids=repr)
def test_dimensions_out_of_range_are_refused(dimension: int) -> None:
    with pytest.raises(InvalidParameter, match=r"got dimension=.*\nHint: "):
        DiscreteLaplace.of_scale(Fraction(10)).quantile(0.95, dimension=dimension)


@pytest.mark.parametrize("t", [2.5, True, "3", None], ids=repr)
def test_tails_of_what_is_no_integer_are_refused(t: int) -> None:
    with pytest.raises(InvalidParameter, match="Expected a whole number, got t="):
        DiscreteLaplace.of_scale(Fraction(10)).tail(t)


def test_a_source_that_falls_short_is_refused() -> None:
    """Not even when only its signs fall short."""
    law = DiscreteLaplace.of_scale(Fraction(10))

    def short(n: int) -> NDArray[np.uint64]:
        return np.full(25 if n == 25 else 1, 0x1234_1234_1234_1234, dtype=np.uint64)

    with pytest.raises(DiscreetError, match="2 words of 64 bits"):
        law.sample(100, short)


def test_wrong_scales_are_caught() -> None:
    """A law 2 % wider fails the chi-square test of a million draws."""
    drawn = DiscreteLaplace.of_scale(Fraction(51, 5)).sample(SAMPLES, fresh_words())
    assert chi_square_p(drawn, laplace_survival(10.0)) < FALSE_ALARM
