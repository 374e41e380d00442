"""Scripted words come as written, counted words as published, and neither passes for private."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.errors import InvalidParameter
from discreet.noise.entropy import is_private
from discreet.testing.scripted_words import scripted, splitmix
from discreet.testing.statistics import binomial_p

FALSE_ALARM = 1e-9


def test_scripted_words_come_in_order() -> None:
    words = scripted(3, 1, 4, 2**64 - 1)
    assert words(0).tolist() == []
    assert words(1).tolist() == [3]
    assert words(3).tolist() == [1, 4, 2**64 - 1]
    assert words(0).dtype == np.uint64


def test_a_script_that_is_over_is_an_error() -> None:
    words = scripted(3)
    with pytest.raises(InvalidParameter, match="Expected 2 more scripted words, got left=1"):
        words(2)


@pytest.mark.parametrize("word", [-1, 2**64])
def test_what_is_no_word_is_refused(word: int) -> None:
    with pytest.raises(InvalidParameter, match="64 bits"):
        scripted(1, word)


def test_splitmix_is_the_published_one() -> None:
    """The first outputs for seed 1234567, as the authors' C code prints them."""
    assert splitmix(1234567)(3).tolist() == [6457827717110365317, 3203168211198807973, 9817491932198370423]


def test_splitmix_goes_on_where_it_stopped() -> None:
    words = splitmix(2**64 - 1)
    pieces = [words(n) for n in (1, 0, 1000, 7)]
    np.testing.assert_array_equal(np.concatenate(pieces), splitmix(2**64 - 1)(1008))
    assert not np.array_equal(splitmix(1)(4), splitmix(2)(4))


def test_splitmix_looks_like_chance() -> None:
    """In 100,000 words each bit is fair; a counter without the mixing is not."""

    def worst(words: np.ndarray[tuple[int, ...], np.dtype[np.uint64]]) -> float:
        ones = [int(np.sum((words >> np.uint64(bit)) & np.uint64(1))) for bit in range(64)]
        return min(binomial_p(k, words.size, 0.5) for k in ones) * 64

    assert worst(splitmix(5)(100_000)) > FALSE_ALARM
    assert worst(np.arange(100_000, dtype=np.uint64)) < FALSE_ALARM


@pytest.mark.parametrize("seed", [-1, 2**64, 1.0, True, None], ids=repr)
def test_what_is_no_seed_is_refused(seed: int) -> None:
    with pytest.raises(InvalidParameter, match=r"got seed=.*\nHint: "):
        splitmix(seed)


def test_foreseen_words_are_not_private() -> None:
    assert not is_private(scripted(1))
    assert not is_private(splitmix(1))
