"""What depends on order: quantiles, a minimum, a maximum, as cuts through the values of a column.

Claim
    `of_quantiles` and `of_end` lay out cuts that meet the conditions of `selection.quantiles.Cuts`, and whose epsilons
    add up to the one given.
Requires
    Distinct ascending shares strictly between 0 and 1.
Relies on
    `selection.quantiles` for what the cuts cost and how far they may be off.
Proof
    `levels` halves: each level's cuts lie in stretches that do not overlap. Then come the rungs: one above each wanted
    cut, between it and the next one, in one stage; one below each, between the rung of the one before and itself, in
    another (for a single wanted cut both in one: they lie on its two sides); at last, in one stage, one beyond the
    lowest rung and one beyond the highest. Each stretch holds one cut a stage. The parts of epsilon are fractions of
    the whole that add up to 1. The wanted cuts are uncounted where there are rungs: an interval ends at these, and one
    mass less in each sum is less noise.
    *End.* The cut for a maximum leaves a mass of t above it, t = log(N / MISS) 2 mass / epsilon, rounded up, with N
    cells and the part of epsilon that is not spent on counting. All cells above every value miss that by t, and one at
    least does not miss it, if there is so much mass; so one of those above is drawn with probability at most `MISS`.
    With less mass nothing is said: the interval rests on the rows that are counted beyond the cut (`rank_estimates`).
    t is at least half the mass of one row. All below this is won by no row: it would leave the chance at `MISS` however
    large epsilon is. At half a row, cells above every value and those between the two largest ones miss by half a row
    each, and the chance of either falls to 0 as epsilon grows.
Rounding
    Parts of epsilon are exact fractions.
Source
    Kaplan, Schnapp, Stemmer, Differentially private approximate quantiles (ICML 2022): levels. The rungs, and counting
    again what lies between the cuts, are our own.
Mutant
    wanted-cuts-are-counted: the masses begin and end at the wanted cuts too; killed by
    test_masses_lie_between_rungs.
    units-with-rows-as-rows: the error bars of units that may have several rows get as little as those of rows; killed
    by test_intervals_of_persons_are_not_far_wider_than_their_noise.
    outer-rungs-beside-the-inner: the outermost rungs lie where the inner ones do; killed by
    test_an_interval_seldom_ends_with_the_range.
    ends-aim-at-nothing: the mass beyond an end may be any part of a row; killed by
    test_an_end_is_exact_where_epsilon_is_large.
    counting-is-free: the masses are counted at the epsilon of all cuts; killed by test_parts_add_up_to_epsilon.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from discreet.language.checked_expressions import Value
from discreet.planning.column_lattice import ColumnLattice
from discreet.selection.quantiles import WORTH, Cut, QuantileCuts, Stage, levels
from discreet.selection.rank_exponential import PARTS

MANY = 16
"""From so many quantiles on, more is gained by counting again between cuts than by better cuts."""

RUNGS = {False: Fraction(1, 50), True: Fraction(1, 4)}
"""What the cuts beside the wanted ones may cost, for their error bars: of rows that are units, and of units that may
have several rows. The noise of the latter is so many times as wide, and so would be intervals; at a quarter they are
more than ten times as narrow, and the quantiles themselves still far better than they say.
"""

NEAR, SURE, FAR = Fraction(8, 5), 1.6, 3
"""How far from a wanted cut its rungs are aimed: so many scales of where they are drawn, as the exponent falls, and so
many times what one noisy mass is off by, times the root of their number. Of those tried, what made intervals narrowest
on average (`benchmarks/quantile_intervals.py`).
"""

OUTER = Fraction(1, 4)
"""What the two outermost rungs may cost, as a part of all: where the noise leaves it open on which side of a quantile
its own rung lies, once in ten times or so, the interval ends at the next one, and not at the end of the range.
"""

COUNTED = RUNGS
"""What the masses between the cuts may cost, for the same purpose."""

RECOUNTED = Fraction(3, 5)
"""What they may cost where they make the quantiles themselves better."""

END_COUNTED = 5
"""The cut for an end leaves a mass of so much / epsilon beyond it as is seen to be there, 19 times of 20, when counted
at that epsilon: half of it is the doubt of an interval of 95 %, the other half the noise.
"""

MISS = 0.05
"""How often the cut for a maximum may lie above all values, where there are enough of them."""

RANK_BITS = 32
END_BITS = 20
"""A finer lattice would leave more rows beyond the cut for an end."""
PLACE_BITS = 62
"""Positions of all groups together are numbered by so many bits."""


@dataclass(frozen=True, kw_only=True, eq=False)
class RankBlock:
    """Cuts through one value over the same rows: at shares of its rows, or near one end."""

    value: Value
    where: Value | None
    shares: tuple[Fraction, ...] = ()
    top: bool = False
    """Without shares: whether the end is the maximum."""


@dataclass(frozen=True, kw_only=True, eq=False)
class PricedRanks:
    """A block with its lattice, the weight of a row, and the mechanism."""

    block: RankBlock
    lattice: ColumnLattice
    steps: int
    """The mass of one row."""
    cuts: QuantileCuts
    places: tuple[int, ...]
    """Which of the cuts are the wanted ones, in ascending order."""
    share: Fraction
    """Its part of the call's epsilon."""

    @property
    def is_recounted(self) -> bool:
        """Whether the masses between the cuts make the quantiles better."""
        return len(self.places) >= MANY


def rank_bits(groups: int) -> int:
    """How fine the lattice of a ranked value may be."""
    return min(RANK_BITS, PLACE_BITS - (PARTS - 1).bit_length() - groups.bit_length())


def of_quantiles(
    shares: Sequence[Fraction], like: QuantileCuts, epsilon: Fraction
) -> tuple[QuantileCuts, tuple[int, ...]]:
    """The cuts for quantiles at these shares, on a line like the given one, and which of them are the wanted ones."""
    rows = levels(shares)
    many, several = len(shares) >= MANY, like.mass > 1
    counting = epsilon * (RECOUNTED if many else COUNTED[several])
    rungs = Fraction(0) if many else epsilon * RUNGS[several]
    worth = [Fraction(1) if len(row) == 2**i else WORTH for i, row in enumerate(rows)]
    each = (epsilon - counting - rungs) / sum(worth)
    wanted = [Stage(cuts=tuple(row), epsilon=each * part) for row, part in zip(rows, worth, strict=True)]
    if many:
        return replace(like, stages=tuple(wanted), counting=counting), tuple(range(len(shares)))
    wide = [replace(stage, cuts=tuple(_spaced(cut) for cut in stage.cuts)) for stage in wanted]
    places = tuple(range(2, 3 * len(shares) + 2, 3))
    found = replace(like, counting=counting, uncounted=places)
    return replace(found, stages=(*wide, *_rungs(len(shares), found, rungs))), places


def _spaced(cut: Cut) -> Cut:
    """A cut at its place among all, each wanted one between two rungs."""
    low, high = (None if end is None else 3 * end + 2 for end in (cut.low, cut.high))
    return replace(cut, place=3 * cut.place + 2, low=low, high=high)


def _rungs(wanted: int, cuts: QuantileCuts, epsilon: Fraction) -> list[Stage]:
    """Two more cuts beside each wanted one, so far off that the counted masses will most likely tell them apart, and
    two beyond all of these.
    """
    stages, outer = 1 if wanted == 1 else 2, epsilon * OUTER
    inner = (epsilon - outer) / stages
    moved = 2 * cuts.mass * (2 if cuts.replaced else 1)
    counted = 0 if cuts.noise is None else float(cuts.noise.scale) * (2 * wanted + 3) ** 0.5 * SURE / PARTS
    off, further = math.ceil(NEAR * moved / inner + math.ceil(counted)), math.ceil(FAR * moved / outer)
    last = 3 * wanted - 1
    above = [Cut(place=i + 1, low=i, high=None if i == last else i + 3, mass=off) for i in range(2, last + 1, 3)]
    below = [Cut(place=i - 1, low=None if i == 2 else i - 2, high=i, mass=-off) for i in range(2, last + 1, 3)]
    both = [(*below, *above)] if stages == 1 else [tuple(above), tuple(below)]
    ends = (Cut(place=0, high=1, mass=-further), Cut(place=last + 2, low=last + 1, mass=further))
    return [*(Stage(cuts=cuts, epsilon=inner) for cuts in both), Stage(cuts=ends, epsilon=outer)]


def of_end(like: QuantileCuts, epsilon: Fraction, groups: int, *, top: bool, row: int) -> QuantileCuts:
    """The cut for a minimum or a maximum, on a line like the given one on which a row has this mass."""
    counting = epsilon * end_counting(like.cells)
    stage = Stage(cuts=(Cut(place=0, mass=1),), epsilon=epsilon - counting)
    like = replace(like, tied=True, counting=counting)
    likely = like.farthest(stage, stage.cuts[0], groups, MISS)
    within_a_row = max(Fraction(row, 2), Fraction(math.ceil(likely * PARTS), PARTS))
    mass = math.ceil(likely) if likely > row else within_a_row
    return replace(like, stages=(replace(stage, cuts=(Cut(place=0, mass=-mass if top else mass),)),))


def end_counting(cells: int) -> Fraction:
    """The part of epsilon that counts the rows beyond the cut for an end: they are then as many as both parts need."""
    needed = 2 * math.log(cells / MISS)
    return Fraction(round(1000 * END_COUNTED / (END_COUNTED + needed)), 1000)


def rank_error(priced: PricedRanks, groups: int, confidence: float) -> tuple[float, float]:
    """By how many rows of rank a quantile is off, with this confidence.

    First what is likely: what its cuts miss, level by level, if the values lie as close together near a quantile as
    elsewhere; where the rows between cuts are counted again, what that noise adds up to. Then what holds for all rows.
    """
    wanted = set(priced.places)
    stages = [stage for stage in priced.cuts.stages if stage.cuts[0].place in wanted]
    miss = (1 - confidence) / len(stages)
    most = sum(max(priced.cuts.farthest(s, cut, groups, miss) for cut in s.cuts) for s in stages) / priced.steps
    rates = [max(1 / float(priced.cuts.rate(s, cut, groups)) for cut in s.cuts) / priced.steps for s in stages]
    likely = -math.log(1 - confidence) * math.hypot(*rates)
    noise = priced.cuts.noise
    if priced.is_recounted and noise is not None:
        likely = float(noise.scale) / PARTS / priced.steps * (len(wanted) / 2) ** 0.5 * 2
    return min(likely, most), most


def rows_beyond(one: PricedRanks) -> float:
    """How many rows it takes for a released end to show where they are; half of them lie beyond it."""
    return float(2 * abs(Fraction(one.cuts.stages[0].cuts[0].mass)) / one.steps)
