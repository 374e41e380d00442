"""One of finitely many, with exactly the stated weights, many times over.

Claim
    ``WeightedChoice.of_exponents(x).sample(n, words)`` returns n independent indices, i with probability exp(-x_i) /
    sum_j exp(-x_j) exactly; ``WeightedChoice.of_weights(w)`` with probability w_i / sum_j w_j.
Requires
    Rational x of any sign; rational w of 0 or more that are not all 0. ``words(n)`` returns n independent uniform
    64-bit words (`entropy` owes it).
Relies on
    `inverse_transform.Inversion`: exact draws from an enclosed tail. Arb's enclosures.
Proof
    The tail S_j = (w_j + ... + w_(m-1)) / (w_0 + ... + w_(m-1)) falls from 1 to 0, and index i lies between S_i and
    S_(i+1), which are w_i / sum apart. For w_i = exp(-x_i) the sums are balls; the least x is subtracted first,
    exactly, so that weights do not overflow and the largest is 1.
Rounding
    None.
Source
    Devroye, Non-Uniform Random Variate Generation (1986), III.2: the inversion method for discrete laws.
Mutant
    weights-not-negated: exp(x) for exp(-x); killed by test_exponents.
    first-left-out: the first weight counts as zero; killed by test_weights.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import accumulate

import numpy as np
from flint import arb, ctx
from numpy.typing import NDArray

from discreet.errors import InvalidParameter, expected
from discreet.noise.certified_comparison import real
from discreet.noise.entropy import Words
from discreet.noise.inverse_transform import LONGEST, Inversion


@dataclass(frozen=True, slots=True, eq=False)
class WeightedChoice:
    """A tabulated choice; make one with `WeightedChoice.of_exponents` or `WeightedChoice.of_weights`.

    For one choice among very many use `noisy_argmax.winners`, which needs no table.

    >>> from discreet.noise.entropy import fresh_words
    >>> set(WeightedChoice.of_exponents([Fraction(0), Fraction(1)]).sample(500, fresh_words()).tolist()) == {0, 1}
    True
    """

    table: Inversion = field(repr=False)

    @classmethod
    def of_exponents(cls, exponents: Sequence[Fraction]) -> WeightedChoice:
        """Index i with a probability proportional to exp(-exponents[i]).

        Raises:
            InvalidParameter: there are none or more than 65,534, or one is not a `Fraction`.
        """
        _checked("exponents", exponents)
        least = min(exponents)
        return cls(_table(len(exponents), lambda: [(real(least - x)).exp() for x in exponents]))

    @classmethod
    def of_weights(cls, weights: Sequence[Fraction]) -> WeightedChoice:
        """Index i with a probability proportional to weights[i].

        Raises:
            InvalidParameter: there are none or more than 65,534, one is no `Fraction` of 0 or more, or all are 0.
        """
        _checked("weights", weights)
        if min(weights) < 0 or not any(weights):
            cure = "a weight says how often an index is drawn; one at least is above 0."
            raise InvalidParameter(expected("weights of 0 or more", "least weight", min(weights), cure))
        return cls(_table(len(weights), lambda: [real(w) for w in weights]))

    def sample(self, n: int, words: Words) -> NDArray[np.int64]:
        """n independent indices, shape (n,), int64.

        Raises:
            InvalidParameter: n is not a count.
        """
        return self.table.sample(n, words)


def _checked(name: str, numbers: Sequence[Fraction]) -> None:
    if not 1 <= len(numbers) <= LONGEST or not all(isinstance(x, Fraction) for x in numbers):
        cure = "give fractions.Fraction(numerator, denominator) for each; for more candidates use races.winners."
        raise InvalidParameter(expected(f"1 to {LONGEST} exact numbers", f"len({name})", len(numbers), cure))


def _table(size: int, weights: Callable[[], list[arb]]) -> Inversion:
    known = dict[int, list[arb]]()

    def survival(j: int) -> arb:
        if ctx.prec not in known:
            known[ctx.prec] = list(accumulate(weights()[::-1]))[::-1]
        sums = known[ctx.prec]
        return sums[j] / sums[0]

    return Inversion.tabulate(survival, size=size)
