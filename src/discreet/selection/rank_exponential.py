"""The exponential mechanism on ranks: a position in each of many lines of values, chosen by the mass below it.

Claim
    ``choose(line, questions, words)`` draws, independently for each question j, a position p of low_j..high_j with
    probability proportional to exp(-rate_j |C(p) - T_j|), exactly; C(p) is the mass of the line below p. Where
    `tied`, with the least of |C - T_j| over the cell of p in its place, from below its mass to above it.
Requires
    A line made by `CandidateLine.of`; low_j <= high_j; rates above 0; targets of 64 bits.
Relies on
    `batched_categorical.run`: exact draws of a run and of a member; `Bernoulli.of_exp`. NumPy's `searchsorted`.
Proof
    A line has cells; each has `PARTS` positions f = 0..PARTS-1, and spreads its mass E evenly over them: f lies above
    the share f / (PARTS-1) of it. So along a cell C rises by equal steps, and between cells that hold something it is
    constant: positions fall into runs in which |C - T| rises by equal steps, up or down, once the cell in which C meets
    T is cut there. `batched_categorical.run` draws a run and a member.
    *Targets.* A target beyond the masses that positions from low to high can have is moved to the nearest one of these:
    that takes the same from |C - T| at every position, and so leaves the law as it is.
    *Far away.* Where |C - T| exceeds a window, all cells on that side are one run with the |C - T| of its nearest
    position throughout: an upper bound of each weight. If it is drawn, a uniform member of it is kept with probability
    exp(-rate (|C(p) - T| - bound)), the ratio of its weight to the bound; otherwise the question is drawn anew. That is
    rejection from a majorant, so the law is the stated one. Some position has no |C - T| above what one cell's mass
    makes, so that a run beyond the window is drawn seldom.
    All arithmetic is in integers: masses in units of 1 / (PARTS-1), the target as a whole number and a fraction; in 64
    bits where masses, targets and the window around these add up to less than 2**62, and in Python's otherwise.
Rounding
    None.
Source
    Smith, Privacy-preserving statistical estimation with optimal convergence rates (STOC 2011), algorithm 2: the
    exponential mechanism on ranks. von Neumann (1951): rejection.
Mutant
    far-is-kept: what lies beyond the window is kept without a second look; killed by test_far_cells_have_their_law.
    atoms-lie-below: a cell's mass lies below all of its positions; killed by test_positions_have_their_law.
    targets-out-of-reach: a target stays beyond all masses, and what is drawn is kept once in all positions; killed by
    test_targets_beyond_all_mass_take_one_draw.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.noise.batched_categorical import Integers, Trials, run
from discreet.noise.bernoulli import Bernoulli
from discreet.noise.entropy import RandomWords

PARTS = 4096
"""Positions of one cell, so that a cell that holds many rows can be divided between its two sides."""

UNIT = PARTS - 1
"""In so many units a mass of 1 is counted."""

WINDOW = 80
"""Beyond an exponent of so many the rest of a line is treated as one run: it is drawn once in e**40 times or less."""

SAFE = 1 << 62
"""Integers below this add up within 64 bits."""

FARTHEST = 1 << 60
"""A window reaches so far at most, and a target lies no farther from both ends of a line than twice this
(`planning.quantile_planner`)."""

Places = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Histogram:
    """Masses of the cells that hold something: of groups 0, 1, 2, ... in turn, and of each in ascending order."""

    group: Places
    cell: Places
    mass: Integers


@dataclass(frozen=True, slots=True, eq=False)
class CandidateLine:
    """All groups one behind the other, each `cells` long; a position is `PARTS` times a place of a cell, and more."""

    cells: int
    groups: int
    start: Places
    """The first position of each cell that holds something."""
    mass: Integers
    below: Integers
    """The mass before each of them, in units; one entry more for the end."""

    @classmethod
    def of(cls, histogram: Histogram, *, cells: int, groups: int) -> CandidateLine:
        """The line of a histogram.

        >>> one = np.array([0])
        >>> line = CandidateLine.of(Histogram(one, one, np.array([3])), cells=2, groups=1)
        >>> line.mass_below(np.array([0, 4095, 4096])) / UNIT
        array([0., 3., 3.])
        """
        mass = histogram.mass
        if mass.dtype == object or (mass.size and float(mass.astype(np.float64).sum()) * UNIT > SAFE / 4):
            mass = mass.astype(object)
        below = np.concatenate([np.zeros(1, dtype=mass.dtype), np.cumsum(mass, dtype=mass.dtype) * UNIT])
        start = (histogram.group * cells + histogram.cell) * PARTS
        return cls(cells, groups, start, mass, below)

    @property
    def length(self) -> int:
        """Positions of one group."""
        return self.cells * PARTS

    def mass_below(self, position: Places) -> Integers:
        """The mass below each position, in units of 1 / UNIT, counted over all groups before it, too."""
        after = np.searchsorted(self.start, position, side="right")
        if not self.start.size:
            return np.zeros(position.shape, dtype=np.int64)
        last = np.maximum(after - 1, 0)
        into = np.where(after > 0, np.minimum(position - self.start[last], UNIT), 0)
        result: Integers = self.below[last] + self.mass[last] * into
        return result


@dataclass(frozen=True, slots=True, eq=False)
class Questions:
    """Between which positions, and with which mass below it, a position is wanted."""

    low: Places
    high: Places
    whole: Integers
    """The mass wanted below, in units, rounded down ..."""
    rest: Places
    """... and what was rounded away, times the parts of its kind."""
    kind: Places
    """Which of these kinds each question is of."""
    parts: tuple[int, ...]
    rates: tuple[Fraction, ...]
    """How fast the weight falls, by mass in units."""
    tied: bool = False
    """Whether all positions of a cell are alike: as good as the best of them."""

    @property
    def part(self) -> Places:
        """The parts of each question."""
        return np.array(self.parts, dtype=np.int64)[self.kind]

    def only(self, chosen: Places) -> Questions:
        """Some of the questions."""
        low, high, whole, rest, kind = (x[chosen] for x in (self.low, self.high, self.whole, self.rest, self.kind))
        return Questions(low, high, whole, rest, kind, self.parts, self.rates, self.tied)


def choose(line: CandidateLine, questions: Questions, words: RandomWords, *, window: int = WINDOW) -> Places:
    """A position for each question."""
    questions = _within_reach(line, questions)
    masses = 2 * int(line.below[-1])
    # Where masses and targets, or the window around these, may not fit in 64 bits, all of them are Python's integers.
    if max(masses + FARTHEST, masses * max(questions.parts)) >= SAFE:
        line = replace(line, mass=line.mass.astype(object), below=line.below.astype(object))
        questions = replace(questions, whole=questions.whole.astype(object))
    result = np.zeros(questions.low.size, dtype=np.int64)
    left = np.arange(result.size)
    while left.size:
        asked = questions.only(left)
        position, unsure = _drawn(line, asked, words, window)
        kept = np.ones(left.size, dtype=bool)
        for i in np.flatnonzero(unsure >= 0):
            away = _away(line, asked.only(np.array([i])), position[i : i + 1])[0] - unsure[i]
            rate = asked.rates[int(asked.kind[i])] / asked.parts[int(asked.kind[i])]
            kept[i] = bool(Bernoulli.of_exp(rate * int(away)).sample(1, words)[0])
        result[left[kept]] = position[kept]
        left = left[~kept]
    return result


def _within_reach(line: CandidateLine, questions: Questions) -> Questions:
    """The same with each target moved to the nearest of the masses that its positions can have."""
    low, high = questions.low, questions.high
    if questions.tied:
        low, high = low - low % PARTS, high - high % PARTS + UNIT
    least, most = line.mass_below(low), line.mass_below(high)
    over = questions.whole >= most
    rest = np.where(over | (questions.whole < least), 0, questions.rest)
    return replace(questions, whole=np.where(over, most, np.maximum(questions.whole, least)), rest=rest)


def _away(line: CandidateLine, asked: Questions, position: Places) -> Integers:
    """|C - T| at positions, times the parts."""
    question = np.arange(position.size)
    if not asked.tied:
        return np.abs(_exact(asked, question, line.mass_below(position)))
    start = position - position % PARTS
    ends = (_exact(asked, question, line.mass_below(end)) for end in (start, start + UNIT))
    first, last = ends
    nearest: Integers = np.maximum(np.maximum(first, -last), 0)
    return nearest


@dataclass(frozen=True, slots=True, eq=False)
class _Runs:
    """Runs of positions: of which question, from where, in which direction, and their exponents."""

    question: Places
    first: Places
    step: Places
    base: Any
    slope: Any
    size: Places
    far: NDArray[np.bool_]


def _drawn(line: CandidateLine, asked: Questions, words: RandomWords, window: int) -> tuple[Places, Any]:
    """A position for each question, and the base of its run where that was only a bound (-1 elsewhere)."""
    parts = [*_near(line, asked, window)]
    runs = _Runs(*(np.concatenate([part[i] for part in parts]) for i in range(7)))
    order = np.flatnonzero(runs.size > 0)
    order = order[np.argsort(runs.question[order], kind="stable")]
    base, slope = (_narrow(part[order]) for part in (runs.base, runs.slope))
    rates = tuple(rate / parts for rate, parts in zip(asked.rates, asked.parts, strict=True))
    trials = Trials(runs.question[order], base, slope, runs.size[order], rates, asked.kind)
    chosen, member = run(trials, words)
    place = order[chosen]
    unsure = np.where(runs.far[place], runs.base[place], -1)
    return runs.first[place] + runs.step[place] * member, unsure


def _narrow(values: Integers) -> Integers:
    """int64 where that holds them: much faster."""
    is_wide = values.dtype == object and bool(values.size) and int(values.max()) >= SAFE
    return values if is_wide else values.astype(np.int64)


Part = tuple[Any, ...]


def _near(line: CandidateLine, asked: Questions, window: int) -> tuple[Part, ...]:
    """All runs of all questions, those of size 0 among them."""
    start, end = line.start, line.start + UNIT
    fast = np.array([float(rate) for rate in asked.rates])[asked.kind]
    reach = np.minimum(window / fast, float(FARTHEST)).astype(np.int64) + 1
    whole = asked.whole
    lo, hi = np.searchsorted(end, asked.low, side="left"), np.searchsorted(start, asked.high, side="right")
    a = np.clip(np.searchsorted(line.below[1:], whole - reach, side="left"), lo, hi)
    b = np.clip(np.searchsorted(line.below[:-1], whole + reach, side="right"), a, hi)
    many = b - a
    question = np.repeat(np.arange(lo.size), many)
    cell = np.arange(many.sum()) - np.repeat(np.cumsum(many) - many - a, many)
    return (
        *_cells(line, asked, question, cell),
        _gaps(line, asked, (a, b), (lo, hi)),
        *_tails(line, asked, (a, b), (lo, hi)),
    )


def _exact(asked: Questions, question: Places, mass: Integers) -> Integers:
    """(C - T) times the parts where the mass below is known."""
    result: Integers = (mass - asked.whole[question]) * asked.part[question] - asked.rest[question]
    return result


def _cells(line: CandidateLine, asked: Questions, question: Places, cell: Places) -> tuple[Part, Part]:
    """The cells that hold something, each cut where the mass below meets the target."""
    slope = line.mass[cell] * asked.part[question]
    f0 = np.maximum(asked.low[question] - line.start[cell], 0)
    f1 = np.minimum(asked.high[question] - line.start[cell], UNIT)
    origin = _exact(asked, question, line.below[cell])
    if asked.tied:
        alike, none = np.ones(cell.size, dtype=np.int64), np.zeros(cell.size, dtype=np.int64)
        off = np.maximum(np.maximum(origin, -(origin + slope * UNIT)), 0)
        far = np.zeros(cell.size, dtype=bool)
        whole = (question, line.start[cell] + f0, alike, off, none, f1 - f0 + 1, far)
        return whole, (question, none, none, none, none, none, far)
    under = np.clip(-origin // slope + 1 - f0, 0, f1 - f0 + 1).astype(np.int64) if cell.size else f0
    top, far = f0 + under - 1, np.zeros(cell.size, dtype=bool)
    back, forth = np.full(cell.size, -1), np.ones(cell.size, dtype=np.int64)
    low = (question, line.start[cell] + top, back, np.abs(origin + slope * top), slope, under, far)
    rest = f1 - f0 + 1 - under
    high = (question, line.start[cell] + f0 + under, forth, np.abs(origin + slope * (top + 1)), slope, rest, far)
    return low, high


def _gaps(line: CandidateLine, asked: Questions, near: tuple[Places, Places], all_: tuple[Places, Places]) -> Part:
    """The stretches before, between and after those cells, in which the mass below is constant."""
    (a, b), (lo, hi) = near, all_
    many = b - a + 1
    question = np.repeat(np.arange(lo.size), many)
    cell = np.arange(many.sum()) - np.repeat(np.cumsum(many) - many - a, many)  # the cell that follows
    if line.start.size:
        before, after = line.start[np.maximum(cell - 1, 0)] + PARTS, line.start[np.minimum(cell, line.start.size - 1)]
    else:
        before, after = asked.low[question], asked.high[question]
    first = np.where(cell > lo[question], before, asked.low[question])
    last = np.where(cell < hi[question], after - 1, asked.high[question])
    size = np.maximum(last - first + 1, 0)
    base = np.abs(_exact(asked, question, line.below[cell]))
    none = np.zeros(question.size, dtype=np.int64)
    return question, first, none + 1, base, none, size, none.astype(bool)


def _tails(
    line: CandidateLine, asked: Questions, near: tuple[Places, Places], all_: tuple[Places, Places]
) -> tuple[Part, Part]:
    """What lies beyond the window on either side, from the first to the last of its cells."""
    (a, b), (lo, hi) = near, all_
    question = np.arange(lo.size)
    none, far = np.zeros(lo.size, dtype=np.int64), np.ones(lo.size, dtype=bool)
    if not line.start.size:
        empty = (question, none, none, none, none, none, far)
        return empty, empty
    last = np.minimum(line.start[np.maximum(a - 1, 0)] + UNIT, asked.high)
    size = np.where(a > lo, last - asked.low + 1, 0)
    left = (question, asked.low, none + 1, np.abs(_exact(asked, question, line.below[a])), none, size, far)
    first = np.maximum(line.start[np.minimum(b, line.start.size - 1)], asked.low)
    size = np.where(b < hi, asked.high - first + 1, 0)
    right = (question, first, none + 1, np.abs(_exact(asked, question, line.below[b])), none, size, far)
    return left, right
