"""Many choices at once, each among runs of candidates whose exponents rise by equal steps: decided exactly.

Claim
    ``run(trials, words)`` draws for each trial, independently, one of its runs and one member of it: member t of run i
    with probability proportional to exp(-rate * (base_i + slope_i * t)), t = 0..size_i - 1, exactly.
Requires
    Each trial has a run. Bases and slopes are integers of 0 or more, sizes integers of 1 or more, rates fractions above
    2^-600. ``words(n)`` returns n independent uniform 64-bit words (`entropy` owes it).
Relies on
    `noisy_argmax.noise_floats` and `noisy_argmax.noise_ball`: enclosures of Gumbel noise. `uniform.below_each`. Arb's
    enclosures. NumPy's log and expm1 to within four units in the last place.
Proof
    *Run.* The largest of log W_i + G_i, G_i independent Gumbel noise, is at i with probability W_i / sum W (a race of
    exponentials with rates W_i). W_i, the sum of run i's weights, is size_i exp(-rate base_i) for slope 0, and
    exp(-rate base_i) (1 - exp(-k size_i)) / (1 - exp(-k)), k = rate slope_i, otherwise: a geometric sum. Floats enclose
    each total; a run whose upper end is below the largest lower end of its trial does not win. Where more than one is
    left, Arb computes theirs from more bits of their uniforms, until one is above the others.
    *Member.* Of a run with slope 0 all members are equally likely. Otherwise t on 0..2^b - 1 with weight exp(-k t) has
    independent bits, since exp(-k t) is the product of exp(-k 2^j) over its bits j; bit j is a race of two runs of one
    member, with exponents 0 and slope 2^j. With b the length of size - 1 in bits, a t of size or more is drawn again.
Rounding
    None in the result. In floats an exponent errs by at most 4u of itself (u = 2^-53), and the logarithm of a geometric
    sum, whose condition number in k is below 1, by at most 40u (1 + its size): all far less than the margin of 2^-46.
Source
    Gumbel (1954); Maddison, Tarlow, Minka, A* sampling (NeurIPS 2014). Devroye, Non-Uniform Random Variate Generation
    (1986), III.3: bits of a geometric variate are independent.
Mutant
    run-counts-once: a run weighs as much as its first member; killed by test_members_have_their_law.
    too-far-is-folded: a member beyond the run is cut to its last; killed by test_members_have_their_law.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from flint import arb, ctx
from numpy.typing import NDArray

from discreet.noise.certified_comparison import real
from discreet.noise.entropy import RandomWords, draw
from discreet.noise.noisy_argmax import EDGE, MARGIN, Reals, ScoreNoise, float_below, noise_ball, noise_floats
from discreet.noise.uniform import below_each

Integers = NDArray[Any]
"""int64, or Python integers where those would not hold them."""


@dataclass(frozen=True, slots=True, eq=False)
class Trials:
    """Runs of candidates, trial by trial.

    >>> one = np.array([0])
    >>> Trials(np.array([0, 0]), np.array([0, 900]), np.array([0, 0]), np.array([1, 1]), (Fraction(1),), one).count
    1
    """

    trial: NDArray[np.int64]
    """The trial of each run: 0, 1, 2, ..., in ascending order."""
    base: Integers
    slope: Integers
    size: NDArray[np.int64]
    rates: tuple[Fraction, ...]
    rate: NDArray[np.int64]
    """Which of the rates each trial has."""

    @property
    def count(self) -> int:
        """How many trials there are."""
        return self.rate.size

    def rate_of(self, run: int) -> Fraction:
        """The rate of a run's trial."""
        return self.rates[int(self.rate[self.trial[run]])]


def run(trials: Trials, words: RandomWords) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """For each trial the run that was drawn, as its place among all runs, and the member of it.

    >>> from discreet.noise.entropy import fresh_words
    >>> one, runs = np.array([0]), np.array([0, 10**6])
    >>> chosen, member = run(
    ...     Trials(np.array([0, 0]), runs, np.array([0, 5]), np.array([1, 9]), (Fraction(1),), one), fresh_words()
    ... )
    >>> chosen.tolist(), member.tolist()
    ([0], [0])
    """
    chosen = _winners(trials, words)
    member = below_each(trials.size[chosen], words)
    steep = np.flatnonzero((trials.slope[chosen] != 0) & (trials.size[chosen] > 1))
    while steep.size:
        runs = chosen[steep]
        member[steep] = _bits(trials, runs, words)
        steep = steep[member[steep] >= trials.size[runs]]
    return chosen, member


def _bits(trials: Trials, runs: NDArray[np.int64], words: RandomWords) -> NDArray[np.int64]:
    """For each run an integer t of as many bits as its size needs, with weight exp(-rate * slope * t)."""
    result = np.zeros(runs.size, dtype=np.int64)
    last = trials.size[runs] - 1
    for j in range(int(last.max()).bit_length()):
        reached = np.flatnonzero(last >> j)
        two = np.repeat(np.arange(reached.size), 2)
        base = np.repeat(trials.slope[runs[reached]].astype(object) << j, 2)
        base[::2] = 0
        flat, single = np.zeros(two.size, dtype=np.int64), np.ones(two.size, dtype=np.int64)
        coins = Trials(two, base, flat, single, trials.rates, trials.rate[trials.trial[runs[reached]]])
        result[reached] |= (_winners(coins, words) & 1) << j
    return result


def _winners(trials: Trials, words: RandomWords) -> NDArray[np.int64]:
    """The run with the largest total in each trial."""
    drawn = draw(words, trials.trial.size)
    low, high = _enclosures(trials, drawn)
    starts = np.searchsorted(trials.trial, np.arange(trials.count))
    bar = np.maximum.reduceat(low, starts)
    contenders = np.flatnonzero(high >= bar[trials.trial])
    places, first, many = np.unique(trials.trial[contenders], return_index=True, return_counts=True)
    winner = contenders[first]
    for i in np.flatnonzero(many > 1):  # about one trial in 2**40
        among = contenders[first[i] : first[i] + many[i]].tolist()
        winner[i] = _settled(trials, among, [int(drawn[one]) for one in among], words)
    if places.size != trials.count:
        raise ValueError("a trial without runs")
    return winner


def _settled(trials: Trials, among: list[int], uniforms: list[int], words: RandomWords) -> int:
    """The winner of those whose enclosures meet, by as many bits as it takes."""
    bits = 64
    while True:
        more = draw(words, len(among))
        uniforms = [(word << 64) | int(new) for word, new in zip(uniforms, more, strict=True)]
        bits += 64
        with ctx.workprec(2 * bits + 128):
            totals = [
                noise_ball([word], bits, ScoreNoise.GUMBEL) + log_weight(trials, one)
                for one, word in zip(among, uniforms, strict=True)
            ]
            for i, total in enumerate(totals):
                others = totals[:i] + totals[i + 1 :]
                if total.is_finite() and all(other.is_finite() and total > other for other in others):
                    return among[i]


def log_weight(trials: Trials, i: int) -> arb:
    """The logarithm of the weight of run i, enclosed at the working precision."""
    rate, slope, size = trials.rate_of(i), int(trials.slope[i]), int(trials.size[i])
    start = -real(rate * int(trials.base[i]))
    if not slope:
        return start + arb(size).log()
    step = real(rate * slope)
    return start + ((-step * size).expm1() / (-step).expm1()).log()


def _enclosures(trials: Trials, drawn: NDArray[np.uint64]) -> tuple[Reals, Reals]:
    """Lower and upper ends of all totals, from the first 64 bits of their uniforms."""
    rate = np.array([float(rate) for rate in trials.rates])[trials.rate][trials.trial]
    size, step = trials.size.astype(np.float64), rate * trials.slope.astype(np.float64)
    is_flat = step == 0.0
    at = np.where(is_flat, 1.0, step)
    lump = np.log(np.where(is_flat, size, np.expm1(-at * size) / np.expm1(-at)))
    behind = -rate * trials.base.astype(np.float64)
    value, margin = noise_floats(drawn.reshape(1, -1), ScoreNoise.GUMBEL)
    margin = margin + MARGIN * (1.0 + np.abs(behind) + np.abs(lump) + np.abs(value))
    value = value + behind + lump
    low, high = value - margin, value + margin
    edge = (drawn < EDGE) | (drawn >= np.uint64(2**64 - EDGE))
    for i in np.flatnonzero(edge):  # about one in 2**43
        with ctx.workprec(128):
            ball = noise_ball([int(drawn[i])], 64, ScoreNoise.GUMBEL)
            slack = MARGIN * (1.0 + abs(behind[i]) + abs(lump[i]))
            rest = behind[i] + lump[i]
            low[i], high[i] = float_below(ball + rest - slack), -float_below(-(ball + rest + slack))
    return low, high
