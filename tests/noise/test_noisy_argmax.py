"""The winner of a race has exactly its law: by closed forms, by scripted words that no float tells apart, by speed."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import permutations

import numpy as np
import pytest
from flint import ctx
from numpy.typing import NDArray

from discreet.errors import InvalidParameter
from discreet.noise import noisy_argmax
from discreet.noise.entropy import fresh_words
from discreet.noise.noisy_argmax import ScoreNoise, Scores, winners
from discreet.testing.scripted_words import scripted, splitmix
from discreet.testing.statistics import _pearson

RUNS = 6000
FALSE_ALARM = 1e-9
SCORES = [0, 1, 1, 3]


def gumbel_law(scores: list[int], rate: float) -> np.ndarray:
    weights = np.exp(rate * (np.array(scores) - max(scores)))
    return np.asarray(weights / weights.sum())


def permute_and_flip_law(scores: list[int], rate: float) -> np.ndarray:
    """By all orders: each candidate in turn is accepted with probability exp(rate (score - largest))."""
    heads = np.exp(rate * (np.array(scores) - max(scores)))
    law = np.zeros(len(scores))
    for order in permutations(range(len(scores))):
        left = 1.0
        for i in order:
            law[i] += left * heads[i]
            left *= 1 - heads[i]
    return law / math.factorial(len(scores))


def laplace_law(scores: list[int], rate: float) -> np.ndarray:
    """By quadrature over the winner's total."""
    x = np.linspace(-60, 60, 400_001)
    density = [np.exp(-np.abs(x - rate * s)) / 2 for s in scores]
    below = [np.where(x < rate * s, np.exp(x - rate * s) / 2, 1 - np.exp(rate * s - x) / 2) for s in scores]
    others = [np.prod([b for j, b in enumerate(below) if j != i], axis=0) for i in range(len(scores))]
    return np.array([float(np.trapezoid(d * o, x)) for d, o in zip(density, others, strict=True)])


LAWS = {ScoreNoise.GUMBEL: gumbel_law, ScoreNoise.EXPONENTIAL: permute_and_flip_law, ScoreNoise.LAPLACE: laplace_law}


def drawn(scores: Scores, rate: Fraction, noise: ScoreNoise, seed: int) -> np.ndarray:
    words = splitmix(seed)
    return np.bincount([int(winners(scores, rate, words, noise=noise)[0]) for _ in range(RUNS)], minlength=4)


@pytest.mark.long
@pytest.mark.parametrize("noise", ScoreNoise)
def test_the_winner_has_the_law(noise: ScoreNoise) -> None:
    """6,000 races against the closed form; against the law at another rate, the same counts must fail."""
    counts = drawn(SCORES, Fraction(1, 2), noise, 1)
    assert _pearson(counts, LAWS[noise](SCORES, 0.5) * RUNS) > FALSE_ALARM
    assert _pearson(counts, LAWS[noise](SCORES, 0.7) * RUNS) < FALSE_ALARM


@pytest.mark.parametrize("noise", ScoreNoise)
def test_a_common_offset_changes_nothing(noise: ScoreNoise) -> None:
    """With the same words the same candidate wins, at any offset and in any type of number."""
    words = [splitmix(seed)(64) for seed in range(50)]
    others: list[Scores] = [
        [s + 10**9 for s in SCORES],
        [s - 10**30 for s in SCORES],
        [float(s + 2**40) for s in SCORES],
        [Fraction(s) + Fraction(1, 3) for s in SCORES],
        np.array(SCORES, dtype=np.uint8),
        np.array([2**64 - 4 + s for s in SCORES], dtype=np.uint64),
    ]
    for word in words:
        script = [int(w) for w in word]
        plain = winners(SCORES, Fraction(1, 2), scripted(*script), noise=noise, k=4).tolist()
        for moved in others:
            assert winners(moved, Fraction(1, 2), scripted(*script), noise=noise, k=4).tolist() == plain


def test_the_scale_of_integers_and_rate_trade() -> None:
    script = [int(w) for w in splitmix(3)(64)]
    thirds = [s * 10**40 for s in SCORES]
    plain = winners(SCORES, Fraction(1, 3), scripted(*script), k=4)
    assert winners(thirds, Fraction(1, 3 * 10**40), scripted(*script), k=4).tolist() == plain.tolist()


@pytest.mark.parametrize("noise", [ScoreNoise.GUMBEL, ScoreNoise.EXPONENTIAL])
def test_meeting_totals_are_told_apart_by_more_bits(noise: ScoreNoise) -> None:
    """Equal scores and equal first 64 bits: the next word decides, either way."""
    same = 0x3123_4567_89AB_CDEF
    more, less = 2**63 + 5, 2**63 - 5
    first_is_small = int(winners([7, 7], Fraction(1), scripted(same, same, less, more), noise=noise)[0])
    second_is_small = int(winners([7, 7], Fraction(1), scripted(same, same, more, less), noise=noise)[0])
    assert {first_is_small, second_is_small} == {0, 1}
    assert first_is_small == 0  # both noises fall as their uniform grows


def test_words_that_tell_nothing_are_read_on() -> None:
    """The word 0 leaves an exponential unbounded; the next word bounds it."""
    assert winners([0, 10], Fraction(1), scripted(0, 2**63, 5, 5, 5, 5), noise=ScoreNoise.EXPONENTIAL).tolist() == [0]
    assert winners([0, 0], Fraction(1), scripted(0, 2**64 - 1, 9, 9, 9, 9), noise=ScoreNoise.GUMBEL).tolist() == [0]
    half = 2**63
    laplace = scripted(0, half, half, half, 9, 9, 9, 9)
    assert winners([0, 0], Fraction(1), laplace, noise=ScoreNoise.LAPLACE).tolist() == [0]


@pytest.mark.parametrize("noise", ScoreNoise)
def test_floats_enclose_what_arb_computes(noise: ScoreNoise) -> None:
    """4,000 totals, some from extreme words: the float enclosure holds the 300-bit one."""
    words = splitmix(5)(8000).reshape(2, -1)[: 2 if noise is ScoreNoise.LAPLACE else 1].copy()
    words[0, :200] >>= np.uint64(30)
    words[0, 200:400] |= np.uint64((2**40 - 1) << 24)
    behind = -np.arange(words.shape[1], dtype=np.float64)
    low, high = noisy_argmax._enclosures(behind, words, noise)
    with ctx.workprec(300):
        for i in range(0, words.shape[1], 1):
            ball = noisy_argmax.noise_ball([int(w) for w in words[:, i]], 64, noise) + behind[i]
            assert low[i] <= ball.lower()
            assert ball.upper() <= high[i]


def test_the_best_k_are_in_order() -> None:
    """Without noise to speak of, they are the scores sorted; all of them if k is their number."""
    scores: NDArray[np.int64] = splitmix(9)(300).astype(np.int64) >> 20
    assert winners(scores, Fraction(1), fresh_words(), k=300).tolist() == np.argsort(-scores).tolist()
    assert winners(scores, Fraction(1), fresh_words(), k=7).tolist() == np.argsort(-scores)[:7].tolist()


def test_peeling_and_one_shot_agree() -> None:
    """The two best of one shot have the law of drawing one, taking it out, and drawing again."""
    law, words = gumbel_law(SCORES, 0.5), splitmix(11)
    pairs = np.zeros((4, 4))
    for _ in range(RUNS):
        pairs[tuple(winners(SCORES, Fraction(1, 2), words, k=2))] += 1
    wanted = np.outer(law, law) / (1 - law)[:, None] * RUNS
    off = ~np.eye(4, dtype=bool)
    assert pairs[~off].sum() == 0
    assert _pearson(pairs[off].astype(np.intp), wanted[off]) > FALSE_ALARM


def test_scores_beyond_floats() -> None:
    huge = [10**400, 10**400 - 1, -(10**500), -(10**600)]
    assert winners(huge, Fraction(50), fresh_words(), k=4).tolist()[2:] == [2, 3]
    assert winners([1e308, -1e308], Fraction(1), fresh_words()).tolist() == [0]
    assert winners([Fraction(1, 10**400), Fraction(0)], Fraction(10**402), fresh_words()).tolist() == [0]


def test_a_rate_of_zero_is_a_fair_draw() -> None:
    counts = drawn([0, 10**9, 5, 7], Fraction(0), ScoreNoise.GUMBEL, 4)
    assert _pearson(counts, np.full(4, RUNS / 4)) > FALSE_ALARM


@pytest.mark.parametrize(
    "scores",
    [[], [float("nan")], [1.0, float("inf")], [[1, 2]], ["a"], [True, False], 3, [None], np.array([1j])],
    ids=repr,
)
def test_scores_that_are_no_finite_numbers_are_refused(scores: object) -> None:
    with pytest.raises(InvalidParameter, match="scores"):
        winners(scores, Fraction(1), fresh_words())  # type: ignore[arg-type]  # the refusal is the test


@pytest.mark.parametrize("rate", [Fraction(-1), 1.0, 1, None], ids=repr)
def test_rates_that_are_not_exact_are_refused(rate: Fraction) -> None:
    with pytest.raises(InvalidParameter, match="rate"):
        winners([1], rate, fresh_words())


@pytest.mark.parametrize("k", [0, 3, -1, 1.0, True], ids=repr)
def test_numbers_of_winners_that_cannot_be_are_refused(k: int) -> None:
    with pytest.raises(InvalidParameter, match=r"\bk\b"):
        winners([1, 2], Fraction(1), fresh_words(), k=k)


def blocks(scores: NDArray[np.int64], races_run: int, k: int) -> list[int]:
    """How often an index among the first, the last and the middle 1,000 is among the k winners of a race."""
    words, places = splitmix(31), np.zeros(scores.size, dtype=np.int64)
    for _ in range(races_run):
        places[winners(scores, Fraction(1, 2), words, k=k)] += 1
    middle = scores.size // 2
    return [int(places[start : start + 1000].sum()) for start in (0, scores.size - 1000, middle)]


@pytest.mark.long
def test_a_million_equals_win_wherever_they_stand() -> None:
    """200,000 winners, the 20,000 first of each of 10 races among 10**6 equal candidates: 200 of them are expected in
    each 1,000 indices, and 6 standard deviations are 85. The winners of a race are a random subset, so their number
    obeys Bernstein's bound: false alarms 2 exp(-85**2 / (2 (200 + 85 / 3))) < 3 * 10**-7 a block, 10**-6 in all. Last
    candidates that are behind, with a weight of 1/e, are found out.
    """
    scores = np.full(1_000_000, 10**9)
    assert all(abs(hits - 200) < 85 for hits in blocks(scores, 10, 20_000))
    scores[-1000:] -= 2
    first, last, middle = blocks(scores, 10, 20_000)
    assert last < 115
    assert max(abs(first - 200), abs(middle - 200)) < 85
