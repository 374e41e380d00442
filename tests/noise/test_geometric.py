"""The geometric law is exact: by enclosure, by enumeration, by its ties, and by statistical tests that can fail."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import count, pairwise

import numpy as np
import pytest
from flint import arb, ctx
from numpy.typing import NDArray

from discreet.errors import DiscreetError, InvalidParameter
from discreet.noise import geometric
from discreet.noise.certified_comparison import decided, real
from discreet.noise.entropy import RandomWords, fresh_words
from discreet.noise.geometric import BASE, CAP, READ_ON, Digit, Geometric, survival_floor, survival_floors
from discreet.testing.scripted_words import scripted
from discreet.testing.statistics import chi_square_p, geometric_survival, vectors_p

SAMPLES = 1_000_000
FALSE_ALARM = 1e-9
SCALES = [
    Fraction(1, 10**6),
    Fraction(1, 3),
    Fraction(7, 5),
    Fraction(2),
    Fraction(10),
    Fraction(1000),
    Fraction(10**6),
    Fraction(10**9, 3),
    Fraction(123_456_789_012_345_678_901, 10**13 + 7),
    Fraction(2**56),
    Fraction(10**30),
]
ALL_ONES = 2**64 - 1


def survival_by_summing(digit: Digit, j: int) -> arb:
    """P(D >= j) as a sum of probabilities: another road than the one under test."""
    q = (-real(digit.rate)).exp()
    if digit.is_top:
        return q**j
    weights = [q**d for d in range(BASE)]
    return sum(weights[j:], arb(0)) / sum(weights, arb(0))


def zeros(n: int) -> NDArray[np.uint64]:
    return np.zeros(n, dtype=np.uint64)


@pytest.mark.parametrize("scale", SCALES, ids=str)
def test_thresholds_enclose_the_law(scale: Fraction) -> None:
    """Each entry is the floor of the true survival probability times 2**64, by sums of 1,000 bits."""
    for digit in Geometric.of_scale(scale).digits:
        size = BASE if digit.is_top else BASE - 1
        assert digit.floors.size == size
        with ctx.workprec(1000):
            for j in (1, 2, 3, BASE // 2, BASE - 2, BASE - 1, size):
                floor, exact = int(digit.floors[size - j]), survival_by_summing(digit, j) * arb(2) ** 64
                assert floor <= exact
                assert exact < floor + 1


@pytest.mark.parametrize("scale", [Fraction(7, 5), Fraction(1000), Fraction(10**9, 3)], ids=str)
def test_digits_are_independent(scale: Fraction) -> None:
    """The probabilities of its digits multiply to (1-q) q^g, for g of every size."""
    digits = Geometric.of_scale(scale).digits
    with ctx.workprec(500):
        q = (-real(1 / scale)).exp()
        for g in (0, 1, 255, 256, 257, 1999, int(scale), int(3 * scale)):
            product, rest = arb(1), g
            for place, digit in enumerate(digits):
                d, rest = (rest % BASE, rest // BASE) if place < len(digits) - 1 else (rest, 0)
                above = arb(0) if d == BASE - 1 and not digit.is_top else survival_by_summing(digit, d + 1)
                product *= survival_by_summing(digit, d) - above
            assert (product / ((1 - q) * q**g) - 1).contains(0)


@pytest.mark.parametrize("rest", [0, 0x0123_4567_89AB_CDEF, ALL_ONES], ids=hex)
@pytest.mark.parametrize("scale", SCALES, ids=str)
def test_every_guide_entry_leads_to_the_right_digit(scale: Fraction, rest: int) -> None:
    """All 65,536 beginnings of a word, with one rest: the digit is the number of thresholds above the word."""
    first = np.arange(1 << 16, dtype=np.uint16)
    for digit in Geometric.of_scale(scale).digits[-2:]:
        words = (first.astype(np.uint64) << np.uint64(48)) | np.uint64(rest >> 16)
        above = sum((words < floor).astype(np.int64) for floor in digit.floors)
        calls = count()

        def source(n: int, calls: Iterator[int] = calls) -> NDArray[np.uint64]:
            call = next(calls)  # the beginnings, then the rests, then what settles ties
            return first.view(np.uint64) if call == 0 else np.full(n, rest if call == 1 else 12345, dtype=np.uint64)

        drawn = digit.sample(first.size, source)
        np.testing.assert_array_equal(drawn[~np.isin(words, digit.floors)], above[~np.isin(words, digit.floors)])


def test_the_guide_is_used() -> None:
    """It settles all but one word in a hundred without a search; no answer of its own is READ_ON."""
    digit = Geometric.of_scale(Fraction(10**9)).digits[0]
    assert 0 < np.mean(digit.guide == READ_ON) < 0.01


@pytest.mark.parametrize("scale", [Fraction(1), Fraction(1000), Fraction(10**6)], ids=str)
@pytest.mark.parametrize("words_tied", [1, 2, 3])
def test_ties_are_refined(scale: Fraction, words_tied: int) -> None:
    """A real with the first 64, 128 or 192 bits of a threshold is settled by the bits that follow, both ways."""
    digit, j = Geometric.of_scale(scale).digits[0], 3
    bits = survival_floor(digit.rate, j, 64 * (words_tied + 1), is_top=digit.is_top)
    *tied, following = [(bits >> 64 * i) & ALL_ONES for i in reversed(range(words_tied + 1))]
    start = tied[0] >> 48, (tied[0] << 16) & ALL_ONES
    assert digit.sample(1, scripted(*start, *tied[1:], following - 1)) == [j]
    assert digit.sample(1, scripted(*start, *tied[1:], following + 1)) == [j - 1]


def test_a_word_that_meets_all_thresholds_is_refined() -> None:
    """At scale 10**-6 every threshold is far below 2**-64, yet above zero: no draw is decided by the word 0 alone."""
    digit = Geometric.of_scale(Fraction(1, 10**6)).digits[0]
    assert not digit.floors.any()
    assert digit.sample(1, scripted(0, 0, 1)) == [0]
    assert digit.refine(0, 0, BASE, scripted(0, 0, 5)) == 0


def test_thresholds_next_to_a_multiple_are_refined() -> None:
    """At scale 10**30 the thresholds are multiples of 1/256 less about 10**-30, which 64 bits do not show."""
    digit = Geometric.of_scale(Fraction(10**30)).digits[0]
    assert int(digit.floors[BASE - 1 - 128]) == 2**63 - 1
    start = (2**63 - 1) >> 48, ALL_ONES
    assert digit.sample(1, scripted(*start, ALL_ONES - 2**40)) == [128]
    assert digit.sample(1, scripted(*start, ALL_ONES)) == [127]


@pytest.mark.parametrize("scale", [Fraction(1, 3), Fraction(10), Fraction(10**9, 3)], ids=str)
def test_thresholds_do_not_depend_on_the_first_precision(scale: Fraction, monkeypatch: pytest.MonkeyPatch) -> None:
    """Asked at 2 bits first, all are undecided, and each is then settled by itself."""
    fine = survival_floors(1 / scale, is_top=False), survival_floors(1 / scale, is_top=True)
    monkeypatch.setattr(geometric, "decided", lambda question, precision: decided(question, 2 + 0 * precision))
    assert (survival_floors(1 / scale, is_top=False), survival_floors(1 / scale, is_top=True)) == fine


def test_the_top_digit_is_drawn_again() -> None:
    """BASE or above: BASE is added and the digit drawn again, once for each time it is met."""
    (top,) = Geometric.of_scale(Fraction(10)).digits
    five = int(np.flatnonzero(top.guide == 5)[0])
    law = Geometric.of_scale(Fraction(10))
    assert law.sample(1, scripted(0, 0, five)) == [BASE + 5]
    assert law.sample(1, scripted(0, 0, 0, 0, five)) == [2 * BASE + 5]


def test_digits_are_put_together_top_first() -> None:
    law = Geometric.of_scale(Fraction(1000))
    lower, top = law.digits
    words = [int(np.flatnonzero(digit.guide == d)[0]) for digit, d in ((top, 3), (lower, 7))]
    assert law.sample(1, scripted(*words)) == [3 * BASE + 7]


@pytest.mark.parametrize("scale", [Fraction(2**50), Fraction(2**60), Fraction(10**30)], ids=str)
def test_draws_beyond_the_cap_become_the_cap(scale: Fraction) -> None:
    """A source of zeros makes every digit as large as it can be, and the top one larger without end."""
    np.testing.assert_array_equal(Geometric.of_scale(scale).sample(3, zeros), [CAP] * 3)


def test_the_cap_is_exact() -> None:
    """At places 0..7 with 64 on top, the draw is the cap whatever the lower digits; with 63 it is below."""
    law = Geometric.of_scale(Fraction(2**62))
    *lower, top = law.digits
    assert len(lower) == 7

    def word(digit: Digit, d: int) -> int:
        return int(np.flatnonzero(digit.guide == d)[0])

    low = [word(digit, 9) for digit in reversed(lower)]
    assert law.sample(1, scripted(word(top, 64), *low)) == [CAP]
    assert law.sample(1, scripted(word(top, 200), *low)) == [CAP]
    assert law.sample(1, scripted(word(top, 63), *low)) == [63 * BASE**7 + sum(9 * BASE**i for i in range(7))]


@pytest.mark.parametrize("scale", [scale for scale in SCALES if Fraction(1, 4) < scale < 2**60], ids=str)
def test_law(scale: Fraction) -> None:
    """A million draws agree with the law, and neighbors are independent; at a scale 2 % off they do not agree."""
    survival = geometric_survival(float(scale))
    sample = Geometric.of_scale(scale).sample(SAMPLES, fresh_words())
    assert vectors_p(sample.reshape(-1, 2), survival) > FALSE_ALARM
    wrong = Geometric.of_scale(scale * Fraction(51, 50)).sample(SAMPLES, fresh_words())
    assert chi_square_p(wrong, survival) < FALSE_ALARM


def test_law_of_each_byte() -> None:
    """Each digit of a wide law agrees with its own table; a digit taken from the place above does not."""
    law = Geometric.of_scale(Fraction(10**6))
    sample = law.sample(SAMPLES, fresh_words())

    def survival(digit: Digit) -> Callable[[NDArray[np.int64]], NDArray[np.float64]]:
        table = np.concatenate([[1.0], digit.floors[::-1] / 2.0**64, [0.0]])
        return lambda k: table[np.clip(k, 0, BASE)]

    low, middle = (law.digits[0], sample & 255), (law.digits[1], (sample >> 8) & 255)
    for digit, values in (low, middle):
        assert chi_square_p(values, survival(digit)) > FALSE_ALARM
    assert chi_square_p(middle[1], survival(low[0])) < FALSE_ALARM


def test_chunks_are_joined_without_repeating(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(geometric, "CHUNK", 1000)
    sample = Geometric.of_scale(Fraction(10**12)).sample(3500, fresh_words())
    assert sample.shape == (3500,)
    assert sample.dtype == np.int64
    assert np.unique(sample).size == 3500  # two agree with probability 1e-5, a repeated chunk always


@pytest.mark.parametrize("n", [0, 1, 3, np.int64(5)])
def test_sizes(n: int) -> None:
    assert Geometric.of_scale(Fraction(10)).sample(n, fresh_words()).shape == (n,)


def test_tables_are_shared_and_cannot_be_changed() -> None:
    law = Geometric.of_scale(Fraction(10))
    assert Geometric.of_scale(Fraction(20, 2)) is law
    for table in (law.digits[0].floors, law.digits[0].guide):
        with pytest.raises(ValueError, match="read-only"):
            table[0] = 0


@pytest.mark.parametrize(
    "scale", [Fraction(0), Fraction(-1), 10, 10.0, True, float("nan"), "10", None, np.float64(3)], ids=repr
)
def test_scales_that_are_not_exact_or_not_above_zero_are_refused(scale: Fraction) -> None:
    with pytest.raises(InvalidParameter, match=r"Expected an exact scale above 0, got scale=.*\nHint: .*Fraction"):
        Geometric.of_scale(scale)


@pytest.mark.parametrize("n", [-1, True, 2.0, "3"], ids=repr)
def test_sizes_that_are_no_counts_are_refused(n: int) -> None:
    with pytest.raises(InvalidParameter, match="Hint"):
        Geometric.of_scale(Fraction(10)).sample(n, fresh_words())


@pytest.mark.parametrize("short", [lambda _: zeros(1), lambda _: zeros(0)], ids=["one word", "none"])
def test_a_source_that_falls_short_is_refused(short: RandomWords) -> None:
    with pytest.raises(DiscreetError, match="words of 64 bits"):
        Geometric.of_scale(Fraction(10)).sample(1000, short)


def test_thresholds_fall() -> None:
    for scale in SCALES:
        for digit in Geometric.of_scale(scale).digits:
            assert all(a <= b for a, b in pairwise(digit.floors.tolist()))
