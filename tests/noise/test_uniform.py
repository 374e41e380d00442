"""Integers below a bound, and orders, are drawn without favor."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest

from discreet.errors import InvalidParameter
from discreet.noise.entropy import fresh_words
from discreet.noise.uniform import below, below_each, permutation
from discreet.testing.scripted_words import scripted, splitmix
from discreet.testing.statistics import _pearson

SAMPLES = 60_000
FALSE_ALARM = 1e-9
TOP = 2**64 - 1


@pytest.mark.parametrize("bound", [2, 3, 6, 200, 300])
def test_no_value_is_favored(bound: int) -> None:
    """60,000 draws, each value counted; the largest power of two modulo the bound must not do."""
    words = splitmix(bound)
    counts = np.bincount(below(bound, SAMPLES, words), minlength=bound)
    assert _pearson(counts, np.full(bound, SAMPLES / bound)) > FALSE_ALARM
    if bound & (bound - 1):
        size = 1 << (bound - 1).bit_length()
        folded = np.bincount(below(size, SAMPLES, words) % bound, minlength=bound)
        assert _pearson(folded, np.full(bound, SAMPLES / bound)) < FALSE_ALARM


def test_the_bound_is_never_drawn() -> None:
    """The first bits say 5 = the bound, then 4."""
    five, four = 5 << 29, 4 << 29
    assert below(5, 1, scripted(five, four)).tolist() == [4]
    assert below_each(np.array([5]), scripted(5, 4)).tolist() == [4]


def test_long_bounds() -> None:
    bound = 10**30
    drawn = below(bound, 300, splitmix(1))
    assert drawn.dtype == object
    assert all(0 <= int(value) < bound for value in drawn)
    assert len(set(drawn.tolist())) == 300
    assert below(2**63, 3, fresh_words()).dtype == np.int64
    assert below(1, 3, fresh_words()).tolist() == [0, 0, 0]
    assert 2**61 < float(np.mean(below(2**63, 2000, splitmix(2)))) < 3 * 2**61


def test_one_bound_for_each() -> None:
    bounds = np.array([[1, 2], [3, 2**63 - 1]])
    drawn = below_each(bounds, splitmix(3))
    assert drawn.shape == bounds.shape
    assert (drawn < bounds).all()
    counts = np.bincount(below_each(np.full(SAMPLES, 6), splitmix(4)), minlength=6)
    assert _pearson(counts, np.full(6, SAMPLES / 6)) > FALSE_ALARM


def test_every_order_is_equally_likely() -> None:
    words, orders = splitmix(5), {order: i for i, order in enumerate(permutations(range(4)))}
    counts = np.bincount([orders[tuple(permutation(4, words).tolist())] for _ in range(4000)], minlength=24)
    assert _pearson(counts, np.full(24, 4000 / 24)) > FALSE_ALARM


def test_equal_keys_are_sorted_by_their_next_bits() -> None:
    """Keys 5, 1, 5, 5: places 1..3 are decided by the second words 9, 2, 7."""
    assert permutation(4, scripted(5, 1, 5, 5, 9, 2, 7)).tolist() == [1, 2, 3, 0]
    assert permutation(2, scripted(5, 5, 3, 3, 2, 1)).tolist() == [1, 0]
    assert permutation(0, fresh_words()).tolist() == []


@pytest.mark.parametrize("bound", [0, -1, 2.0, True, None], ids=repr)
def test_bounds_that_cannot_be_are_refused(bound: int) -> None:
    with pytest.raises(InvalidParameter, match="bound"):
        below(bound, 1, fresh_words())


@pytest.mark.parametrize("bounds", [np.array([0]), np.array([1.5]), np.array([2**63], dtype=np.uint64)], ids=repr)
def test_lists_of_bounds_that_cannot_be_are_refused(bounds: np.ndarray) -> None:
    with pytest.raises(InvalidParameter, match="bounds"):
        below_each(bounds, fresh_words())


@pytest.mark.parametrize("n", [-1, 1.0, True], ids=repr)
def test_sizes_that_are_no_counts_are_refused(n: int) -> None:
    with pytest.raises(InvalidParameter, match="n="):
        below(3, n, fresh_words())
    with pytest.raises(InvalidParameter, match="n="):
        permutation(n, fresh_words())
