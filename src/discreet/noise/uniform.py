"""Whole numbers drawn without bias, and permutations.

Claim
    ``below(bound, n, words)`` returns n independent integers, each uniform on 0..bound-1, for every bound of 1 or more;
    ``below_each(bounds, words)`` one for each bound, for bounds up to 2**63. ``permutation(n, words)`` returns each of
    the n! orders of 0..n-1 equally often.
Requires
    ``words(n)`` returns n independent uniform 64-bit words (`entropy` owes it).
Relies on
    NumPy's stable `argsort`.
Proof
    *below.* With k the length of bound-1 in bits, k fair bits are uniform on 0..2^k - 1; given that they are below the
    bound, they are uniform below it. Draws that are not are made again from new bits: more than half are accepted. A
    32-bit half of a word serves one draw when k is at most 32, a whole word when k is at most 64, and several words
    beyond. `below_each` masks each word to its own k.
    *permutation.* Independent continuous keys, all different, are equally likely to be in each order. Keys are read 64
    bits at a time; keys that agree so far stand side by side after sorting, and are sorted among themselves by their
    next 64 bits, until no two agree. The order is then that of the full keys.
Rounding
    None.
Source
    Lumbroso, Optimal discrete uniform generation from coin flips (2013), for rejection beside its rivals. Knuth, The
    Art of Computer Programming 2, 3.4.2: random sorting.
Mutant
    bound-is-drawn: the bound itself is accepted; killed by test_the_bound_is_never_drawn.
    folded-not-rejected: what is too large is taken modulo the bound; killed by test_no_value_is_favored.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import InvalidParameter, expected
from discreet.exact.amounts import count, whole_number
from discreet.noise.entropy import RandomWords, draw

LONGEST = 1 << 63
"""Integers below this fit into int64."""


def below(bound: int, n: int, words: RandomWords) -> NDArray[Any]:
    """n independent integers, uniform on 0..bound-1: shape (n,), int64, or Python integers if the bound exceeds 2**63.

    Raises:
        InvalidParameter: the bound is not a whole number above 0, or n is not a count.

    >>> from discreet.noise.entropy import fresh_words
    >>> set(below(6, 1000, fresh_words()).tolist()) == {0, 1, 2, 3, 4, 5}
    True
    """
    limit, n = whole_number("bound", bound), count("n", n)
    if limit < 1:
        raise InvalidParameter(expected("a bound of 1 or more", "bound", bound, "count what may be drawn."))
    if limit > LONGEST:
        return _long_below(limit, n, words)
    bits = (limit - 1).bit_length()
    if bits == 0:
        return np.zeros(n, dtype=np.int64)
    drawn = _bits(bits, n, words)
    again = np.flatnonzero(drawn >= limit)
    while again.size:
        more = _bits(bits, again.size, words)
        drawn[again] = more
        again = again[more >= limit]
    return drawn


def below_each(bounds: NDArray[np.int64], words: RandomWords) -> NDArray[np.int64]:
    """One independent integer for each bound, uniform below it: the shape of `bounds`, int64.

    Raises:
        InvalidParameter: a bound is not a whole number from 1 to 2**63 - 1.

    >>> from discreet.noise.entropy import fresh_words
    >>> below_each(np.array([1, 1]), fresh_words())
    array([0, 0])
    """
    flat = np.ascontiguousarray(bounds).reshape(-1)
    if flat.dtype.kind not in "iu" or (flat.size and (int(flat.min()) < 1 or int(flat.max()) >= LONGEST)):
        cure = "each bound counts what may be drawn: int64, 1 or more."
        raise InvalidParameter(expected("bounds from 1 to 2**63 - 1", "bounds", bounds, cure))
    limits = flat.astype(np.uint64)
    masks = limits - np.uint64(1)
    for shift in (1, 2, 4, 8, 16, 32):
        masks |= masks >> np.uint64(shift)
    drawn = draw(words, flat.size) & masks
    again = np.flatnonzero(drawn >= limits)
    while again.size:
        more = draw(words, again.size) & masks[again]
        drawn[again] = more
        again = again[more >= limits[again]]
    return drawn.astype(np.int64).reshape(np.shape(bounds))


def permutation(n: int, words: RandomWords) -> NDArray[np.int64]:
    """0..n-1 in an order drawn uniformly from all n! of them.

    Raises:
        InvalidParameter: n is not a count.

    >>> from discreet.noise.entropy import fresh_words
    >>> sorted(permutation(4, fresh_words()).tolist())
    [0, 1, 2, 3]
    """
    n = count("n", n)
    keys = draw(words, n)
    order = np.argsort(keys, kind="stable").astype(np.int64)
    ranked = keys[order]
    starts = np.flatnonzero(np.concatenate([[True], ranked[1:] != ranked[:-1]])) if n else np.arange(0)
    sizes = np.diff(starts, append=n)
    for start, size in zip(starts[sizes > 1].tolist(), sizes[sizes > 1].tolist(), strict=True):
        order[start : start + size] = order[start : start + size][permutation(size, words)]
    return order


def _bits(bits: int, n: int, words: RandomWords) -> NDArray[np.int64]:
    """n integers of so many fair bits, at most 63."""
    if bits <= 32:
        halves = draw(words, -(-n // 2)).view(np.uint32)[:n]
        return (halves >> np.uint32(32 - bits)).astype(np.int64)
    return (draw(words, n) >> np.uint64(64 - bits)).astype(np.int64)


def _long_below(limit: int, n: int, words: RandomWords) -> NDArray[Any]:
    """The same for integers that need more than 63 bits."""
    bits = (limit - 1).bit_length()
    pieces = -(-bits // 64)
    drawn = np.empty(n, dtype=object)
    for i in range(n):
        value = limit
        while value >= limit:
            value = int.from_bytes(draw(words, pieces).tobytes(), "little") >> (64 * pieces - bits)
        drawn[i] = value
    return drawn
