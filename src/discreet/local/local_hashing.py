"""Optimal local hashing, with hash functions that collide exactly as often as chance would.

Claim
    A report is a pair: a hash function, drawn uniformly from a public list, and the person's hash, or by a lie another
    one, as in k-ary randomized response over g hashes. It is epsilon-differentially private for its sender, and
    supports (is the hash of) each other category with probability 1/g exactly, independently between people.
Requires
    ``words``: independent uniform 64-bit words (`noise.entropy` owes it).
Relies on
    `RandomizedResponse.release` over g categories; `below`; the field axioms of `Field`, which the tests check.
Proof
    The function does not depend on the value, and given it the pair is randomized response of the hash: privacy. Let
    F be the field of g elements. Category v is a vector a_v in F^m whose first entry that is not 0 is 1, and function r
    in F^m hashes v to a_v . r. For two categories the vectors are not multiples of each other, so (a_u . r, a_v . r) is
    uniform on F x F for uniform r: the hashes of two categories are independent and uniform. So a report from u
    supports v with probability 1/g, whatever the lie. As everyone draws r alone, the supports of one category are
    independent between people, which is all that `Channel` asks. *Order of the field.* Any prime power g is right;
    of those whose tally is small enough, the one with the smallest variance at share 0 is taken.
    *Support.* S_v = sum over r of t(r, a_v . r), t the histogram of pairs, is found for all vectors together, by
    summing over one entry of r after another, for each value of that entry of a.
Rounding
    Reports: none; sums are of integers. Figures: floating point.
Source
    Wang, Blocki, Li, Jha (USENIX Security 2017), section 4.4: local hashing and g = e^epsilon + 1. Rao (1947): linear
    orthogonal arrays of strength 2. Feldman, Nelson, Nguyen, Talwar, Private Frequency Estimation via Projective
    Geometry (ICML 2022): the same geometry.
Mutant
    multiples-collide: category vectors may be multiples of each other; killed by test_collisions_are_exactly_fair.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import InvalidParameter, expected
from discreet.local.finite_fields import Field, prime_powers
from discreet.local.frequency_oracle import FrequencyOracle, whole_reports
from discreet.mechanisms.frequencies import Channel, Codes, Reals, certain_float
from discreet.mechanisms.randomized_response import RandomizedResponse
from discreet.noise.entropy import RandomWords
from discreet.noise.uniform import below

MOST_PAIRS = 1 << 24
"""A tally of more pairs than this is refused: it would take more than 128 MB."""


@dataclass(frozen=True, kw_only=True, init=False)
class LocalHashing(FrequencyOracle):
    """One short number for each person; the smallest error for many categories, at any epsilon.

    Args:
        epsilon: what one report may cost.
        categories: the possible values, or their number.
        hashes: how many hashes there are, a prime power; the best for this epsilon, if you do not choose.

    >>> oracle = LocalHashing(epsilon=1, categories=1000)
    >>> oracle.hashes, oracle.functions, float(oracle.variance(people=1).round(4))
    (4, 4096, 3.6917)
    """

    hashes: int
    functions: int = field(init=False)
    vectors: NDArray[np.int64] = field(init=False, repr=False, compare=False)

    def __init__(self, *, epsilon: object, categories: object, hashes: int | None = None) -> None:
        object.__setattr__(self, "hashes", hashes)
        super().__init__(epsilon=epsilon, categories=categories)

    def _prepare(self) -> Channel:
        orders, size = prime_powers(), self.categories.size
        small = [g for g in orders if g ** (_length(g, size) + 1) <= MOST_PAIRS]
        if self.hashes is None and small:
            best = min(small, key=lambda g: float(self._of_hashes(g).variance(people=1)))
            object.__setattr__(self, "hashes", best)
        if self.hashes not in small:
            cure = (
                f"choose a prime power up to {small[-1]}." if small else "use HadamardResponse for so many categories."
            )
            raise InvalidParameter(expected("a number of hashes that a tally can hold", "hashes", self.hashes, cure))
        length = _length(self.hashes, size)
        object.__setattr__(self, "functions", self.hashes**length)
        object.__setattr__(self, "vectors", vectors(self.hashes, length, size))
        return self._of_hashes(self.hashes)

    def _of_hashes(self, g: int) -> Channel:
        return Channel(certain_float(self.epsilon, g - 1), 1 / g)

    def hash(self, codes: Codes, functions: NDArray[np.int64]) -> NDArray[np.int64]:
        """The hash of each category by each function, broadcast against each other."""
        tables, g = Field.of_order(self.hashes), self.hashes
        hashed = np.zeros(np.broadcast_shapes(codes.shape, functions.shape), dtype=np.int64)
        for place in range(self.vectors.shape[1]):
            digit = functions // g**place % g
            hashed = tables.total[hashed, tables.product[self.vectors[codes, place], digit]]
        return hashed

    def _randomize(self, codes: Codes, words: RandomWords) -> NDArray[Any]:
        functions = below(self.functions, codes.size, words)
        response = RandomizedResponse(epsilon=self.epsilon, categories=self.hashes)
        said = response.release(self.hash(codes, functions), words=words)
        reports: NDArray[Any] = functions * self.hashes + said
        return reports

    def tally(self, reports: NDArray[Any]) -> NDArray[np.int64]:
        """How many people reported each pair of function and hash: shape (functions * hashes,)."""
        pairs = self.functions * self.hashes
        return np.bincount(whole_reports(reports, pairs), minlength=pairs)

    def supports(self, tally: NDArray[np.int64]) -> Reals:
        """How many reports name the hash of each category."""
        unsummed, found = tally.reshape(-1, self.hashes), list[NDArray[np.int64]]()
        for _ in range(self.vectors.shape[1]):  # vectors that begin here; then those that have a 0 here
            found.append(self._ended(self._summed(unsummed[:, None], (1,))))
            unsummed = self._summed(unsummed[:, None], (0,))[:, 0]
        return np.concatenate(found)[: self.categories.size].astype(np.float64)

    def _ended(self, counts: NDArray[np.int64]) -> NDArray[np.int64]:
        """The sums over all functions, for all vectors of the entries that are left."""
        while counts.shape[0] > 1:
            counts = self._summed(counts, range(self.hashes))
        return counts[0, :, 0]

    def _summed(self, counts: NDArray[np.int64], entries: Iterable[int]) -> NDArray[np.int64]:
        """Sums over one entry r of the functions, for each of these entries a of the vectors.

        `counts` has the axes: functions of the entries left, vectors of the entries summed, and the hash that the
        entries left have to make up.
        """
        tables, g = Field.of_order(self.hashes), self.hashes
        by_entry = counts.reshape(-1, g, counts.shape[1], g)
        summed = [sum(by_entry[:, r][..., tables.total[tables.product[a, r]]] for r in range(g)) for a in entries]
        return np.concatenate(summed, axis=1)


def vectors(g: int, length: int, size: int) -> NDArray[np.int64]:
    """`size` vectors of `length` entries in 0..g-1, of which the first that is not 0 is 1: shape (size, length)."""
    found, lead = list[NDArray[np.int64]](), 0
    while size > 0:
        after = length - lead - 1
        many = min(size, g**after)
        rest = np.arange(many)[:, None] // g ** np.arange(after) % g
        block = np.concatenate([np.zeros((many, lead)), np.ones((many, 1)), rest], axis=1)
        found.append(block.astype(np.int64))
        size, lead = size - many, lead + 1
    return np.concatenate(found)


def _length(g: int, size: int) -> int:
    """How many entries the vectors need."""
    length = 1
    while (g**length - 1) // (g - 1) < size:
        length += 1
    return length
