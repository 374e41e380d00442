"""Predictable sources of random words: a script, and a counter. NOT PRIVATE: who knows the test knows the noise.

They take the place of `discreet.noise.entropy.fresh_words`; `discreet.noise.entropy.is_private` tells them apart, so
that nothing blurred with them is ever called private.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from discreet.errors import InvalidParameter, expected
from discreet.exact.amounts import count
from discreet.noise.entropy import RandomWords

WORD = (1 << 64) - 1
GOLDEN = 0x9E3779B97F4A7C15
"""2**64 over the golden ratio: odd, so that the counter meets every word once."""


def scripted(*words: int) -> RandomWords:
    """A source that hands out the given words in order, as many as each call asks for. Not private.

    Args:
        words: integers in 0..2**64-1.

    Raises:
        InvalidParameter: a word is no 64-bit word; or, later, a call asks for more words than are left.

    >>> source = scripted(3, 1, 4, 1, 5)
    >>> source(2), source(3)
    (array([3, 1], dtype=uint64), array([4, 1, 5], dtype=uint64))
    """
    for word in words:
        if not 0 <= word <= WORD:
            raise InvalidParameter(expected("words of 64 bits", "word", word, "give integers in 0..2**64-1."))
    rest: Iterator[int] = iter(words)

    def source(n: int) -> NDArray[np.uint64]:
        handed = list(islice(rest, n))
        if len(handed) < n:
            raise InvalidParameter(expected(f"{n} more scripted words", "left", len(handed), "script more words."))
        return np.array(handed, dtype=np.uint64)

    return source


def splitmix(seed: int) -> RandomWords:
    """A source whose words are determined by `seed`, for tests that need the same result each time. Not private.

    SplitMix64 (Steele, Lea, Flood 2014): word i is a fixed mixing of seed + (i+1) GOLDEN. It passes statistical tests
    and is trivial to predict.

    Raises:
        InvalidParameter: the seed is not in 0..2**64-1.

    >>> [hex(word) for word in splitmix(0)(2)]
    ['0xe220a8397b1dcdaf', '0x6e789e6aa1b965f4']
    """
    state = count("seed", seed)
    if state > WORD:
        raise InvalidParameter(expected("a seed of 64 bits", "seed", seed, "give an integer in 0..2**64-1."))

    def source(n: int) -> NDArray[np.uint64]:
        nonlocal state
        mixed = np.arange(1, n + 1, dtype=np.uint64) * np.uint64(GOLDEN) + np.uint64(state)
        state = (state + n * GOLDEN) & WORD
        mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return mixed ^ (mixed >> np.uint64(31))

    return source
