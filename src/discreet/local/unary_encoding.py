"""One coin for each category: unary encoding, symmetric (basic RAPPOR) and optimized.

Claim
    A report is a vector of bits, one for each category, independent given the value: the bit of the own category is 1
    with probability p, each other with probability q, exactly. It is epsilon-differentially private for its sender.
    Symmetric: p = e^(epsilon/2) / (e^(epsilon/2) + 1), q = 1 - p. Optimized: p = 1/2, q = 1 / (e^epsilon + 1).
Requires
    ``words``: independent uniform 64-bit words (`noise.entropy` owes it).
Relies on
    `Bernoulli.certified`: an exact coin.
Proof
    The vectors of two values differ in the law of two bits, so the ratio of the probabilities of a report is at most
    p(1-q) / (q(1-p)). Symmetric: (p/q)^2 = e^epsilon. Optimized: (1-q)/q = e^epsilon. One coin of probability q or 1-q
    serves for all others' bits, drawn apart for each. The estimates follow from `Channel`, whose variance at share 0
    the second choice makes smallest among all p, q of this kind.
    *Tally.* Of three bits x, y, z the sum is (x ^ y ^ z) + 2 ((x & y) | ((x ^ y) & z)). So three rows of weight w make
    one of weight w and one of weight 2w with the same columns' sums, eight columns to a byte, until two rows are left.
Rounding
    Reports and tallies: none. Figures: floating point.
Source
    Erlingsson, Pihur, Korolova, RAPPOR (CCS 2014); Wang, Blocki, Li, Jha (USENIX Security 2017), section 4.
Mutant
    last-bit-in-the-clear: the last category's bit is reported as it is; killed by test_every_bit_follows_the_law.
    carry-of-two: a carry leaves out the third row; killed by test_columns_are_counted.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from flint import arb
from numpy.typing import NDArray

from discreet.errors import InvalidParameter, expected
from discreet.local.frequency_oracle import FrequencyOracle
from discreet.mechanisms.frequencies import Channel, Codes, Reals, certain_float, honest_report_probability
from discreet.noise.bernoulli import Bernoulli
from discreet.noise.entropy import RandomWords

COINS_AT_ONCE = 1 << 22
"""Reports are made in pieces of about so many bits, so that memory stays small."""

BYTES_AT_ONCE = 1 << 20
"""Reports are counted in pieces of about so many bytes: longer ones need fewer unpacked rows, but leave the cache."""


@dataclass(frozen=True, kw_only=True, init=False)
class UnaryResponse(FrequencyOracle):
    """A coin for each category; packed eight to a byte. Use `LocalHashing` where reports must be short.

    Args:
        epsilon: what one report may cost.
        categories: the possible values, or their number.
        optimized: own bit a fair coin and others rarely 1 (the smaller error); otherwise both alike.

    >>> oracle = UnaryResponse(epsilon=1, categories=100)
    >>> oracle.report([3, 99]).shape, float(oracle.variance(people=1).round(4))
    ((2, 13), 3.6827)
    """

    optimized: bool

    def __init__(self, *, epsilon: object, categories: object, optimized: bool = True) -> None:
        object.__setattr__(self, "optimized", bool(optimized))
        super().__init__(epsilon=epsilon, categories=categories)

    def _prepare(self) -> Channel:
        if self.optimized:
            return Channel(0.5, 1 - certain_float(self.epsilon, 1))
        p = certain_float(self.epsilon / 2, 1)
        return Channel(p, 1 - p)

    def _coin_of_others(self) -> arb:
        return 1 - honest_report_probability(self.epsilon if self.optimized else self.epsilon / 2, 1)

    def _randomize(self, codes: Codes, words: RandomWords) -> NDArray[Any]:
        size, half = self.categories.size, arb(1) / 2
        others = Bernoulli.certified(self._coin_of_others)
        own = Bernoulli.certified(lambda: half if self.optimized else honest_report_probability(self.epsilon / 2, 1))
        reports = np.empty((codes.size, -(-size // 8)), dtype=np.uint8)
        step = max(1, COINS_AT_ONCE // size)
        for start in range(0, codes.size, step):
            some = codes[start : start + step]
            bits = others.sample(some.size * size, words).reshape(some.size, size)
            bits[np.arange(some.size), some] = own.sample(some.size, words)
            reports[start : start + step] = np.packbits(bits, axis=1)
        return reports

    def tally(self, reports: NDArray[Any]) -> NDArray[np.int64]:
        """How many reports have each category's bit."""
        size = self.categories.size
        if reports.dtype != np.uint8 or reports.ndim != 2 or reports.shape[1] != -(-size // 8):
            cure = "pass what `report` returned, under the same categories."
            raise InvalidParameter(expected(f"packed reports of {size} bits", "shape", reports.shape, cure))
        counts, step = np.zeros(size, dtype=np.int64), max(1, BYTES_AT_ONCE // reports.shape[1])
        for start in range(0, reports.shape[0], step):
            counts += columns(reports[start : start + step])[:size]
        return counts

    def supports(self, tally: NDArray[np.int64]) -> Reals:
        """The tally itself."""
        return tally.astype(np.float64)


def columns(packed: NDArray[np.uint8]) -> NDArray[np.int64]:
    """The sums of the columns of packed bits, shape (8 * bytes in a row,).

    >>> columns(np.array([[0b10000000], [0b10000001]], dtype=np.uint8)).tolist()
    [2, 0, 0, 0, 0, 0, 0, 1]
    """
    sums, weight, rows = np.zeros(8 * packed.shape[1], dtype=np.int64), 1, packed
    while rows.shape[0]:
        carries = []
        while rows.shape[0] > 2:
            third = rows.shape[0] // 3
            x, y, z = rows[:third], rows[third : 2 * third], rows[2 * third : 3 * third]
            differ = x ^ y
            carries.append((x & y) | (differ & z))
            rows = np.concatenate([differ ^ z, rows[3 * third :]])
        sums += weight * np.unpackbits(rows, axis=1).sum(axis=0, dtype=np.int64)
        rows = np.concatenate(carries) if carries else rows[:0]
        weight *= 2
    return sums
