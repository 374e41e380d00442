"""Magnitudes get fair signs, and zero keeps the weight of one side."""

from __future__ import annotations

from typing import Any

import numpy as np
from flint import arb
from numpy.typing import NDArray

from discreet.noise.entropy import RandomWords, draw, fresh_words
from discreet.noise.symmetric_law import SymmetricLaw, coins, in_chunks, symmetric
from discreet.testing.scripted_words import splitmix
from discreet.testing.statistics import _pearson

SAMPLES = 200_000
FALSE_ALARM = 1e-9


class Triangle(SymmetricLaw):
    """-1, 0 and 1, as likely as each other."""

    def folded_tail(self, t: int) -> arb:
        return arb(2) / 3 if t == 1 else arb(0)


def bits(n: int, words: RandomWords) -> NDArray[Any]:
    return (draw(words, n) >> np.uint64(63)).astype(np.int64)


def test_all_integers_have_the_weight_of_their_magnitude() -> None:
    counts = np.bincount(symmetric(bits, SAMPLES, splitmix(1)) + 1, minlength=3)
    assert _pearson(counts, np.full(3, SAMPLES / 3)) > FALSE_ALARM
    assert _pearson(counts, np.array([0.25, 0.5, 0.25]) * SAMPLES) < FALSE_ALARM


def test_python_integers_are_made_where_needed() -> None:
    """Of the draws again only: a first draw of zeros, then numbers beyond 64 bits."""
    sizes: list[int] = []

    def growing(n: int, _: RandomWords) -> NDArray[Any]:
        sizes.append(n)
        return np.full(n, 2**80, dtype=object) if len(sizes) > 1 else np.zeros(n, dtype=np.int64)

    drawn = symmetric(growing, 100, splitmix(2))
    assert sizes[0] == 100
    assert set(np.abs(drawn).tolist()) == {0, 2**80}
    assert {type(one) for one in drawn.tolist()} == {int}
    joined = in_chunks(growing, 5, fresh_words(), 2)
    assert joined.tolist() == [2**80] * 5
    sizes.clear()
    assert in_chunks(growing, 3, fresh_words(), 2).tolist() == [0, 0, 2**80]
    assert in_chunks(growing, 0, fresh_words(), 2).dtype == np.int64


def test_coins_are_fair() -> None:
    heads = int(coins(SAMPLES, splitmix(3)).sum())
    assert _pearson(np.array([heads, SAMPLES - heads]), np.full(2, SAMPLES / 2)) > FALSE_ALARM


def test_figures_follow_from_the_tail() -> None:
    law = Triangle()
    assert 2 / 3 <= law.tail(1) <= 2 / 3 * (1 + 1e-15)
    assert (law.tail(0), law.tail(2)) == (1.0, 0.0)
    assert (law.quantile(0.3), law.quantile(0.4), law.quantile(0.3, dimension=2)) == (0, 1, 1)
