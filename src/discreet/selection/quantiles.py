"""Quantiles of many groups at once: cuts chosen stage by stage, and the noisy masses between them.

Claim
    ``QuantileCuts(...).made(histogram, groups, words)`` is (sum of its stages' epsilons + `counting`)-differentially
    private if adding or removing one unit adds or removes masses of at most `mass` in all, over all groups and cells;
    where `replaced`, if replacing a unit does one of each.
Requires
    What is claimed of the masses. A stage's cuts lie between cuts of earlier stages, no two of them between the same.
    Where `tied`, there is one cut.
Relies on
    `rank_exponential.choose`: exact draws. `mechanisms.laplace`: exact noise on integers. Sequential composition.
Proof
    *One cut.* Let C be the mass below a position, and C1, C2 that at the ends low, high, which are public by then. The
    weight of p is exp(-r |s|), s = C(p) - C1 - a (C2 - C1) for a share a; s = C(p) - C1 - t, or C2 - C(p) - t, for a
    mass t from one end. A unit that adds d between low and high, x of it below p, adds x - a d to s, or x, or d - x. So
    |s| moves by at most w d, w = max(a, 1 - a), or 1; the log-probability by at most 2 r w d (exponential mechanism).
    *One stage.* Its cuts lie in stretches that do not overlap, in groups that do not either, and C grows along a cell
    in proportion to its mass; so the d's add up to at most `mass`. With r = epsilon / (2 w mass) the losses add up to
    at most epsilon; their draws are independent. The losses of each cut span no more than 2 r w d (`Exponential`), so
    those of the stage no more than epsilon: a bounded range. A replacement is a removal and an addition: r is halved.
    For a single cut it need not be: then d, d' <= mass, and s moves by x' - x - a (d' - d), which is at most the larger
    of d and d' in size: r = epsilon / (2 mass).
    *Masses.* Those between neighboring `counted` cuts add up to that of the group; a unit moves them by at most `mass`
    in L1 norm, by twice that if replaced. In units of 1 / UNIT they are integers, and get discrete Laplace noise. That
    holds for any places that are public by then, such as the outer side of the cell in which a tied cut lies.
    *Tied.* The least |s| over a cell is the distance of 0 from [s at its start, s at its end]. Both ends move as
    above, with the unit's mass in the cell counted above the one and below the other: by w d at most.
    *Bound.* With N positions, the |s| of the one that is drawn is within log(N / miss) / r of the best, but for a
    probability of miss: those that are worse weigh at most N exp(-r (|s| - best)) of the best. Tied, N counts cells,
    and the best is 0 if there is enough mass.
Rounding
    None in the law. `farthest` is rounded up.
Source
    Smith (STOC 2011); Kaplan, Schnapp, Stemmer, Differentially private approximate quantiles (ICML 2022): one level
    of cuts costs as much as one cut.
Mutant
    shares-move-half: every cut is taken for a median; killed by test_neighbors_are_within_epsilon.
    replaced-moves-once: replacing a unit counts as adding one; killed by test_groups_share_one_epsilon.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from discreet.mechanisms.laplace import Laplace
from discreet.noise.entropy import RandomWords
from discreet.privacy.events import BoundedRangeEvent, Event, composed
from discreet.selection.rank_exponential import PARTS, UNIT, CandidateLine, Histogram, Places, Questions, choose


@dataclass(frozen=True, kw_only=True, slots=True)
class Cut:
    """Where one cut is wanted: at a share of the mass between two earlier cuts, or at a mass from one end."""

    place: int
    """Its place among all cuts, in ascending order."""
    low: int | None = None
    """The place of the cut below it that was made before; none for the start of the line."""
    high: int | None = None
    share: Fraction | None = None
    mass: int | Fraction = 0
    """Without a share: how much mass is wanted below it, or, if negative, above it; cut to 1 / UNIT."""

    @property
    def reach(self) -> Fraction:
        """The most by which a mass of 1 moves the target of the cut."""
        return Fraction(1) if self.share is None else max(self.share, 1 - self.share)


@dataclass(frozen=True, kw_only=True, slots=True)
class Stage:
    """Cuts that are made at once, and what they cost together."""

    cuts: tuple[Cut, ...]
    epsilon: Fraction


@dataclass(frozen=True, kw_only=True, slots=True)
class QuantileCuts:
    """Cuts of several groups, and what lies between them.

    >>> from discreet.noise.entropy import fresh_words
    >>> median = Stage(cuts=(Cut(place=0, share=Fraction(1, 2)),), epsilon=Fraction(1))
    >>> cells, rows = np.array([3, 5, 9]), np.array([400, 500, 400])
    >>> cuts = QuantileCuts(stages=(median,), cells=10, mass=1)
    >>> (cuts.made(Histogram(cells * 0, cells, rows), 1, fresh_words()) // PARTS).tolist()
    [[5]]
    """

    stages: tuple[Stage, ...]
    cells: int
    """How many cells a group has."""
    mass: int
    """The most mass that one unit has in all groups together."""
    replaced: bool = False
    counting: Fraction | None = None
    """The epsilon of the masses between the cuts; none if they are not wanted."""
    uncounted: tuple[int, ...] = ()
    """The places of cuts that no mass begins or ends with: it reaches to the next one."""
    tied: bool = False
    """Whether a cell is as good as the best way to divide it, which says most where no cut is made within a cut."""

    @property
    def size(self) -> int:
        """How many cuts there are."""
        return sum(len(stage.cuts) for stage in self.stages)

    @property
    def counted(self) -> list[int]:
        """The places of the cuts between which masses are counted, ascending."""
        return [place for place in range(self.size) if place not in self.uncounted]

    @property
    def masses(self) -> int:
        """How many masses of a group are counted."""
        return 0 if self.counting is None else len(self.counted) + 1

    @property
    def epsilon(self) -> Fraction:
        """What it costs."""
        return sum((stage.epsilon for stage in self.stages), start=self.counting or Fraction(0))

    @property
    def event(self) -> Event:
        """What a ledger records of it: the losses of a stage span no more than its epsilon."""
        drawn = [BoundedRangeEvent(epsilon=stage.epsilon) for stage in self.stages]
        return composed(*drawn, *(() if self.noise is None else (self.noise.event,)))

    @property
    def noise(self) -> Laplace | None:
        """The noise of the masses, in units."""
        if self.counting is None:
            return None
        return Laplace(sensitivity=(2 if self.replaced else 1) * self.mass * UNIT, epsilon=self.counting)

    def rate(self, stage: Stage, cut: Cut, groups: int) -> Fraction:
        """How fast the weight of a position falls with the mass between it and the target."""
        reach = cut.reach
        if self.replaced:
            reach = Fraction(1) if len(stage.cuts) == 1 == groups else 2 * reach
        return stage.epsilon / (2 * reach * self.mass)

    def farthest(self, stage: Stage, cut: Cut, groups: int, miss: float) -> float:
        """By how much mass a cut misses what it aims at, but for a probability of `miss` in one group."""
        return (
            math.log(self.cells * (1 if self.tied else PARTS) / miss)
            / float(self.rate(stage, cut, groups))
            * (1 + 2.0**-40)
        )

    def made(self, histogram: Histogram, groups: int, words: RandomWords) -> NDArray[np.object_]:
        """For each group the positions of its cuts, in ascending order, and the noisy masses around them, in units.

        Shape (groups, size), or (groups, size + `masses`); Python integers. A position is PARTS times a cell, and less
        than PARTS more.
        """
        line = CandidateLine.of(histogram, cells=self.cells, groups=groups)
        origin = np.arange(groups) * line.length
        cuts = np.zeros((self.size, groups), dtype=np.int64)
        for stage in self.stages:
            asked = self.questions(line, stage, cuts)
            position = choose(line, asked, words)
            cuts[[cut.place for cut in stage.cuts]] = position.reshape(len(stage.cuts), groups)
        result = (cuts - origin).T.astype(object)
        noise = self.noise
        if noise is None:
            return result
        sides = self._outer(cuts) if self.tied else cuts[self.counted]
        ends = np.vstack([origin, sides, origin + line.length - 1])
        between = np.diff(line.mass_below(ends), axis=0).T
        return np.hstack([result, noise.add_noise(np.ascontiguousarray(between), words).astype(object)])

    def _outer(self, cuts: NDArray[np.int64]) -> NDArray[np.int64]:
        """The side of each cut's cell that is farther from its end, so that the cell counts as beyond the cut."""
        [[cut]] = [stage.cuts for stage in self.stages]
        return cuts - cuts % PARTS + (0 if cut.mass < 0 else UNIT)

    def questions(self, line: CandidateLine, stage: Stage, cuts: NDArray[np.int64]) -> Questions:
        """What is asked of a line in one stage, cut by cut and group by group; `cuts` holds the earlier ones."""
        start = np.arange(line.groups) * line.length
        low, high, whole, rest = list[Places](), list[Places](), list[NDArray[np.int64]](), list[Places]()
        for cut in stage.cuts:
            low.append(start if cut.low is None else cuts[cut.low])
            high.append(start + line.length - 1 if cut.high is None else cuts[cut.high])
            first, last = line.mass_below(low[-1]), line.mass_below(high[-1])
            if cut.share is None:
                whole.append((first if cut.mass >= 0 else last) + int(cut.mass * UNIT))
                rest.append(np.zeros(line.groups, dtype=np.int64))
                continue
            above, below = cut.share.numerator, cut.share.denominator
            full, part = (last - first) // below, (last - first) % below
            whole.append(first + full * above + part * above // below)
            rest.append((part * above % below).astype(np.int64))
        return Questions(
            np.concatenate(low),
            np.concatenate(high),
            np.concatenate(whole),
            np.concatenate(rest),
            np.repeat(np.arange(len(stage.cuts)), line.groups),
            tuple(1 if cut.share is None else cut.share.denominator for cut in stage.cuts),
            tuple(self.rate(stage, cut, line.groups) / UNIT for cut in stage.cuts),
            self.tied,
        )


WORTH = Fraction(7, 10)
"""What a last level of fewer cuts than it could have is given, beside the others."""

PLACES = 10**6
"""Shares are multiples of one part in so many."""


def levels(shares: Sequence[Fraction]) -> list[list[Cut]]:
    """Cuts at ascending shares of a line, in levels: each halves the cuts that are left on its sides.

    >>> [[(cut.place, cut.share) for cut in level] for level in levels([Fraction(1, 4), Fraction(1, 2)])]
    [[(0, Fraction(1, 4))], [(1, Fraction(1, 3))]]
    """
    result: list[list[Cut]] = []
    stretches: list[tuple[int, int]] = [(-1, len(shares))]
    ends = [Fraction(0), *shares, Fraction(1)]
    while any(high - low > 1 for low, high in stretches):
        level, next_ = list[Cut](), list[tuple[int, int]]()
        for low, high in stretches:
            if high - low < 2:
                continue
            middle = (low + high) // 2
            part = (ends[middle + 1] - ends[low + 1]) / (ends[high + 1] - ends[low + 1])
            lower, upper = (None if low < 0 else low), (None if high == len(shares) else high)
            level.append(Cut(place=middle, low=lower, high=upper, share=part))
            next_ += [(low, middle), (middle, high)]
        result.append(level)
        stretches = next_
    return result
