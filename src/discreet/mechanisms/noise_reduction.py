"""Noise reduction: the same totals released again with less Laplace noise; only the last release is paid for.

Claim
    Of `refined(x, scales, words)`, for scales b_1 > ... > b_k: each Y_j is x with independent discrete Laplace noise of
    scale b_j in each entry, and (Y_1, ..., Y_j) depends on x through Y_j alone. So whoever sees the first j of them,
    and decides after each whether to see the next, has a privacy loss of at most D/b_j for the j at which he stopped,
    where D bounds the L1 distance of neighbors; and all k together are D/b_k-differentially private.
Requires
    Independent uniform 64-bit words.
Relies on
    The exact law of `mechanisms.laplace.noisy`; `noise.bernoulli` for coins of a certified probability.
Proof
    With q = exp(-1/b), discrete Laplace noise has the characteristic function f_q(t) = (1-q)^2 / (1 - 2q cos t + q^2).
    For r > q let W be 0 with probability a = (q/r) (1-r)^2 / (1-q)^2, and discrete Laplace of r otherwise; a lies in
    (0, 1), since q / (1-q)^2 grows with q. Then E exp(itW) = a + (1-a) f_r(t) = f_r(t) / f_q(t): times
    1 - 2r cos t + r^2 both sides are linear in cos t, with the coefficient -2ar on it, and both are
    (1-r)^2 at t = 0. So noise of q plus an independent W is noise of r.
    `refined` draws Y_k and then Y_j = Y_(j+1) + W_j, so given Y_j the noisier ones are made of W_1..W_(j-1) alone,
    which do not depend on x. For outputs y_1..y_j the ratio of the probabilities under neighbors is therefore that of
    P(Y_j = y_j), at most exp(D/b_j). Whether the next is seen follows from y_1..y_j, so the transcripts that stop at j
    are a set of such outputs.
Rounding
    None: the coin is settled to as many bits as it takes.
Source
    Koufogiannis, Han and Pappas, "Gradual release of sensitive data under differential privacy" (2016); Ligett, Neel,
    Roth, Waggoner and Wu, "Accuracy first" (2017); Whitehouse et al., "Brownian noise reduction" (2022).
Mutant
    rounds-always-move: the coin never leaves a value as it was; killed by test_each_round_has_its_law.
    rounds-of-their-own: the noisier values are drawn from the exact ones; killed by test_rounds_share_their_noise.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
from flint import arb
from numpy.typing import NDArray

from discreet.errors import InvalidParameter, expected
from discreet.mechanisms.laplace import noisy
from discreet.noise.bernoulli import Bernoulli
from discreet.noise.certified_comparison import real
from discreet.noise.entropy import RandomWords
from discreet.privacy.events import PureEvent


@dataclass(frozen=True, kw_only=True)
class Refinement:
    """The rounds of one block of totals, as one mechanism: what all of them together cost.

    >>> from discreet.noise.entropy import fresh_words
    >>> rounds = Refinement(sensitivity=Fraction(1), scales=(Fraction(8), Fraction(4)))
    >>> rounds.epsilon, rounds.add_noise(np.array([7, 8, 9]), fresh_words()).shape
    (Fraction(1, 4), (2, 3))
    """

    sensitivity: Fraction
    """In L1 norm."""
    scales: tuple[Fraction, ...]
    """Of the noise in each round, the widest first."""

    @property
    def epsilon(self) -> Fraction:
        """What the last round costs, and so all."""
        return self.sensitivity / self.scales[-1]

    @property
    def event(self) -> PureEvent:
        """What all rounds write into the record, together."""
        return PureEvent(epsilon=self.epsilon)

    def add_noise(self, totals: NDArray[Any], words: RandomWords) -> NDArray[Any]:
        """The totals in each round, along a new first axis; only the rounds that are paid for may be looked at."""
        return np.stack(refined(totals, self.scales, words))


def refined(totals: NDArray[Any], scales: Sequence[Fraction], words: RandomWords) -> list[NDArray[Any]]:
    """Integers of any shape with noise of each scale, the widest first.

    Raises:
        InvalidParameter: the scales do not fall from one to the next.

    >>> from discreet.noise.entropy import fresh_words
    >>> [len(one) for one in refined(np.array([7, 8]), [Fraction(20), Fraction(10)], fresh_words())]
    [2, 2]
    """
    if any(wide <= narrow for wide, narrow in pairwise(scales)):
        raise InvalidParameter(expected("scales that fall", "scales", list(scales), "put the widest first."))
    found = [noisy(totals.reshape(-1), scales[-1], words)]
    for wide, narrow in zip(scales[-2::-1], scales[:0:-1], strict=True):
        found.append(found[-1] + widening(found[-1].size, narrow, wide, words))
    return [one.reshape(totals.shape) for one in reversed(found)]


def widening(n: int, narrow: Fraction, wide: Fraction, words: RandomWords) -> NDArray[Any]:
    """n independent integers that make noise of one scale into noise of a wider one."""
    added = noisy(np.zeros(n, dtype=np.int64), wide, words).astype(object)
    added[Bernoulli.certified(lambda: _stays(narrow, wide)).sample(n, words)] = 0
    return added


def _stays(narrow: Fraction, wide: Fraction) -> arb:
    """The probability of adding nothing: (q/r) (1-r)^2 / (1-q)^2 for q = exp(-1/narrow) and r = exp(-1/wide)."""
    ratio = (-real(1 / wide)).expm1() / (-real(1 / narrow)).expm1()
    return (real(1 / wide) - real(1 / narrow)).exp() * ratio**2
