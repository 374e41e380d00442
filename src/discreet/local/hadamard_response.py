"""Hadamard response: a column of a matrix of signs, mostly one with a plus in the row of one's own category.

Claim
    A report is one of the K = 2^b column numbers of a Hadamard matrix of more than `categories` rows. A person of
    category x draws a column in which row x+1 has a plus with probability e^epsilon/(e^epsilon+1), and otherwise one in
    which it has a minus; uniformly among those. It is epsilon-differentially private for its sender, and each other
    category's row has a plus there with probability 1/2 exactly.
Requires
    ``words``: independent uniform 64-bit words (`noise.entropy` owes it).
Relies on
    `Bernoulli.certified` and `below`: exact laws.
Proof
    The sign at (row r, column c) is (-1)^(parity of r & c). A uniform column has either parity equally often for r > 0;
    if it has the wrong one, flipping the lowest bit of r in c repairs it, and this pairs the columns of the two
    parities one to one; so the result is uniform among the right ones. Each column has probability 2/K times e^epsilon
    /(e^epsilon+1) or 1/(e^epsilon+1). Two different rows r, s > 0: given the parity with r, that with s is even
    for half of the columns, as r and s are independent over GF(2). *Tally.* The number of plus signs of row r among
    the reports is (n + (H t)_r)/2, t the histogram of reported columns, and the fast Walsh transform gives all of H t.
Rounding
    Reports: none; the transform is exact in integers. Figures: floating point.
Source
    Acharya, Sun, Zhang, Hadamard Response: Estimating Distributions Privately, Efficiently, and with Little
    Communication (AISTATS 2019), section 4, the version for high privacy.
Mutant
    row-of-all-plus: category 0 gets the row that has only plus signs; killed by
    test_reports_follow_the_law.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.local.frequency_oracle import FrequencyOracle, whole_reports
from discreet.mechanisms.frequencies import Channel, Codes, Reals, certain_float, honest_report_probability
from discreet.noise.bernoulli import Bernoulli
from discreet.noise.entropy import RandomWords
from discreet.noise.uniform import below


@dataclass(frozen=True, kw_only=True, init=False)
class HadamardResponse(FrequencyOracle):
    """One short number for each person; best where epsilon is small and the categories are many.

    >>> oracle = HadamardResponse(epsilon=0.5, categories=1000)
    >>> oracle.columns, float(oracle.variance(people=1).round(3))
    (1024, 16.671)
    """

    columns: int

    def __init__(self, *, epsilon: object, categories: object) -> None:
        super().__init__(epsilon=epsilon, categories=categories)

    def _prepare(self) -> Channel:
        object.__setattr__(self, "columns", 1 << self.categories.size.bit_length())
        return Channel(certain_float(self.epsilon, 1), 0.5)

    def _randomize(self, codes: Codes, words: RandomWords) -> NDArray[Any]:
        rows = codes + 1
        minus = ~Bernoulli.certified(lambda: honest_report_probability(self.epsilon, 1)).sample(codes.size, words)
        columns = below(self.columns, codes.size, words)
        wrong = odd(rows & columns) != minus
        columns[wrong] ^= (rows & -rows)[wrong]
        return columns

    def tally(self, reports: NDArray[Any]) -> NDArray[np.int64]:
        """How many people reported each column."""
        return np.bincount(whole_reports(reports, self.columns), minlength=self.columns)

    def supports(self, tally: NDArray[np.int64]) -> Reals:
        """How many reports have a plus in each category's row."""
        signed = walsh(tally)[1 : self.categories.size + 1]
        return (int(tally.sum()) + signed) / 2.0


def odd(numbers: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Whether each number has an odd number of bits set."""
    return (np.bitwise_count(numbers) & 1).astype(np.bool_)


def walsh(counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """sum over c of counts[c] (-1)^(parity of r & c), for each r; the size is a power of two.

    >>> walsh(np.array([3, 1, 0, 0]))
    array([4, 2, 4, 2])
    """
    values, width = counts.astype(np.int64), 1
    while width < values.size:
        pairs = values.reshape(-1, 2, width)
        values = np.stack([pairs[:, 0] + pairs[:, 1], pairs[:, 0] - pairs[:, 1]], axis=1).reshape(-1)
        width *= 2
    return values
