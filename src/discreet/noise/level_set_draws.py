"""One of very many outcomes, with a weight that falls with its loss: drawn from level sets of the loss, exactly.

Claim
    ``choose(outcomes, words)`` returns an outcome S with probability exactly proportional to exp(-loss(S)), S over all
    outcomes of all kinds.
Requires
    ``outcomes`` keeps the promises of `Outcomes`; there is one or more. ``words``: independent uniform 64-bit words
    (`noise.entropy` owes it).
Relies on
    `noisy_argmax.winners`: exact draws in proportion to the exponentials of floats. `Bernoulli.certified`. Arb's
    enclosures. NumPy's log and expm1 to within four units in the last place.
Proof
    exp(-x) is the integral of exp(-u) over u > x. Cut the line at 0 = l_0 < ... < l_m < l_(m+1) = infinity. For a kind
    and an interval i, let A be a set of outcomes of that kind that holds at least all those with a loss below l_(i+1),
    N its size, q = exp(-l_i) - exp(-l_(i+1)), and g(S) = max(0, exp(-max(loss(S), l_i)) - exp(-l_(i+1))) <= q. Then
    exp(-loss(S)) is the sum of g(S) over i, and where S is not in A, g(S) is 0. In one try, a kind and an interval are
    drawn in proportion to a W >= N q, then a member S of A uniformly, which is kept with probability g(S) N/W <= 1. So
    a try ends with S with probability W (1/N) g(S) N/W, summed over intervals and divided by the sum of all W: in
    proportion to exp(-loss(S)). Neither where the line is cut, nor how large W is, nor which outcomes A holds beyond
    what it must, enters the law: floats may decide all three.
    *Tries.* With cuts one apart, the sum of N q over i, with A the set of losses below l_(i+1), is at most e times the
    sum of all weights, since q falls by e from one interval to the next; `_cuts` splits intervals until upper and lower
    sums are that close, and only where they are not. What lies beyond l_m has less than exp(-`BEYOND`) of the weight.
Rounding
    None in the law. W is the exponential of a float at or above log N q: `log_sizes` are at or above log N, and the
    float operations that add log q err by far less than `SLACK` (1 + the size of their terms).
Source
    von Neumann (1951): rejection. Neal, Slice sampling (Annals of Statistics, 2003): the uniform law under the graph.
    Gillenwater, Joseph, Munoz, Ribero, A Joint Exponential Mechanism for Differentially Private Top-k (ICML 2022):
    outcomes in order of their loss.
Mutant
    level-is-kept: an outcome of a level set is kept whatever its loss; killed by
    test_each_outcome_has_its_weight.
    last-interval-ends: what is beyond the last cut is never drawn; killed by test_cuts_do_not_change_the_law.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from functools import partial

import numpy as np
from flint import arb
from numpy.typing import NDArray

from discreet.noise.bernoulli import Bernoulli
from discreet.noise.certified_comparison import real
from discreet.noise.entropy import RandomWords
from discreet.noise.noisy_argmax import winners

SLACK = 2.0**-40
BEYOND = 30.0
"""So far beyond the logarithm of the number of outcomes is the last cut."""
FIRST = 16
"""Intervals to begin with."""
NARROW = 2.0**-6
"""Intervals this narrow are not split: one apart would do."""
ENOUGH = 1.0
"""Upper and lower sums of the weights differ by a factor of the exponential of this at most."""

Places = NDArray[np.int64]
Reals = NDArray[np.float64]


class Outcomes(ABC):
    """What may be drawn, in one kind or several; an outcome is an array of places."""

    @property
    @abstractmethod
    def log_number(self) -> float:
        """About the logarithm of the number of all outcomes; it decides where the last cut is, and nothing else."""

    @abstractmethod
    def log_sizes(self, level: float) -> Reals:
        """For each kind a float at or above log N, minus infinity for N = 0, with N the size of its level set: a set of
        outcomes that holds at least all those of its kind with a loss below `level`, which may be infinite.
        """

    @abstractmethod
    def log_size(self, kind: int, level: float) -> arb:
        """log N, enclosed at the working precision."""

    @abstractmethod
    def member(self, kind: int, level: float, words: RandomWords) -> Places:
        """A member of that set, all of them equally likely."""

    @abstractmethod
    def loss(self, outcome: Places) -> Fraction:
        """The loss of an outcome, 0 or more, exactly."""


@dataclass(frozen=True, slots=True, eq=False)
class LevelSets:
    """Which of the level sets to draw from: those that have a member, one for each kind and interval."""

    kind: Places
    low: Reals
    high: Reals
    """The ends of their intervals; infinity for the last."""
    log_weight: Reals
    """log W: at or above log N q."""

    @classmethod
    def of(cls, outcomes: Outcomes, cuts: Reals | None = None) -> LevelSets:
        """All level sets between these cuts, 0 first; between cuts that make few tries, where they are left out."""
        at, sizes = _cuts(outcomes) if cuts is None else (cuts, _columns(outcomes, cuts))
        kind, place = np.nonzero(np.isfinite(sizes[:, 1:]))
        size, width, low = sizes[kind, place + 1], _log_widths(at)[place], at[place]
        log_weight = size + width + SLACK * (1.0 + size + np.abs(width) + low)
        return cls(kind, low, np.append(at, np.inf)[place + 1], log_weight)

    def kept(self, i: int, loss: Fraction, outcomes: Outcomes) -> arb:
        """The probability to keep a member of level set i that has this loss, below its upper end, enclosed."""
        over, high = max(loss, Fraction(self.low[i])), float(self.high[i])
        share = (-real(over)).exp()
        if math.isfinite(high):  # as a product, so that few digits are lost where both ends are small
            share *= -real(over - Fraction(high)).expm1()
        return share * (outcomes.log_size(int(self.kind[i]), high) - real(Fraction(self.log_weight[i]))).exp()


def choose(outcomes: Outcomes, words: RandomWords, *, cuts: Reals | None = None) -> Places:
    """An outcome, with probability proportional to exp(-loss).

    Args:
        outcomes: what may be drawn.
        words: the source of chance.
        cuts: where the line of losses is cut, 0 first; found where they are left out. They change the time, not the
            law.
    """
    sets = LevelSets.of(outcomes, cuts)
    while True:
        i = int(winners(sets.log_weight, Fraction(1), words)[0])
        found = outcomes.member(int(sets.kind[i]), float(sets.high[i]), words)
        loss = outcomes.loss(found)
        if loss < sets.high[i]:
            kept = Bernoulli.certified(partial(sets.kept, i, loss, outcomes))
            if bool(kept.sample(1, words)[0]):
                return found


def _columns(outcomes: Outcomes, at: Reals) -> Reals:
    """The logarithms of sizes below each cut, and of all: shape (kinds, cuts + 1)."""
    return np.stack([outcomes.log_sizes(float(level)) for level in (*at, math.inf)], axis=1)


def _log_widths(at: Reals) -> Reals:
    """log(exp(-low) - exp(-high)) of each interval between cuts, the last of which is infinite."""
    inner: Reals = np.log(-np.expm1(-np.diff(at)))
    widths: Reals = np.append(inner, 0.0) - at
    return widths


def _cuts(outcomes: Outcomes) -> tuple[Reals, Reals]:
    """Cuts with which few draws are rejected, and the logarithms of the sizes below them."""
    at: Reals = np.linspace(0.0, outcomes.log_number + BEYOND, FIRST + 1)
    sizes = _columns(outcomes, at)
    while True:
        widths, sums = _log_widths(at), np.logaddexp.reduce(sizes, axis=0)
        upper, lower = sums[1:] + widths, sums[:-1] + widths
        most, least = np.exp(upper - upper.max()), np.exp(lower - upper.max())
        excess = (most - least)[:-1]
        wide = (np.diff(at) > NARROW) & (excess > excess.sum() / (4 * at.size))
        split = np.flatnonzero(wide)
        if most.sum() <= math.exp(ENOUGH) * least.sum() or not split.size:
            return at, sizes
        middle = (at[split] + at[split + 1]) / 2
        columns = np.stack([outcomes.log_sizes(float(level)) for level in middle], axis=1)
        at, sizes = np.insert(at, split + 1, middle), np.insert(sizes, split + 1, columns, axis=1)
