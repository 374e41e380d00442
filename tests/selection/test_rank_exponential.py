"""A position is drawn with its stated law: against the law written out, within and beyond the window."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray

from discreet.selection import rank_exponential
from discreet.selection.rank_exponential import CandidateLine, Histogram, Questions, choose
from discreet.testing.scripted_words import splitmix
from discreet.testing.statistics import _pearson

RUNS = 8000
FALSE_ALARM = 1e-9


@pytest.fixture(autouse=True)
def few_positions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rank_exponential, "PARTS", 4)
    monkeypatch.setattr(rank_exponential, "UNIT", 3)


def line_of(*rows: tuple[int, int, int], cells: int = 6, groups: int = 2) -> CandidateLine:
    parts = [np.array([row[i] for row in rows], dtype=np.int64) for i in range(3)]
    return CandidateLine.of(Histogram(*parts), cells=cells, groups=groups)


ROWS = [(0, 1, 3), (0, 2, 1), (1, 0, 2), (1, 3, 5), (1, 5, 1)]


def asked(line: CandidateLine, low: int, high: int, share: Fraction, rate: Fraction, *, times: int = RUNS) -> Questions:
    """The same question many times over: a share of the mass between two positions."""
    first, last = (int(line.mass_below(np.array([end]))[0]) for end in (low, high))
    target = first + share * (last - first)
    whole = math.floor(target)
    rest = int((target - whole) * share.denominator)
    low_, high_, whole_, rest_, kind = (np.full(times, number) for number in (low, high, whole, rest, 0))
    return Questions(low_, high_, whole_, rest_, kind, (share.denominator,), (rate,))


def law(line: CandidateLine, low: int, high: int, share: Fraction, rate: Fraction) -> NDArray[np.float64]:
    below = line.mass_below(np.arange(low, high + 1)).astype(np.float64)
    weights = np.exp(-float(rate) * np.abs(below - below[0] - float(share) * (below[-1] - below[0])))
    return np.asarray(weights / weights.sum())


CASES = {
    "all of a group": (0, 23, Fraction(1, 2), Fraction(1, 4)),
    "from inside a cell to inside another": (26, 38, Fraction(1, 3), Fraction(1, 4)),
    "inside one cell": (37, 39, Fraction(2, 3), Fraction(1, 9)),
    "a stretch that holds nothing": (12, 19, Fraction(1, 2), Fraction(1)),
    "one position": (25, 25, Fraction(1, 2), Fraction(1)),
    "steeply": (24, 47, Fraction(9, 10), Fraction(2)),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_positions_have_their_law(case: tuple[int, int, Fraction, Fraction]) -> None:
    line = line_of(*ROWS)
    low, high, share, rate = case
    found = choose(line, asked(line, low, high, share, rate), splitmix(5)) - low
    fits(found, law(line, low, high, share, rate))


def test_far_targets_fail_for_no_table() -> None:
    """Far beyond all mass the window around a target wrapped around in 64 bits, and whether the draw failed showed
    where the last value lies.
    """
    rate = Fraction(1, 2**62)
    for target in (2**60, 2**61, 2**62, 2**62 + 2**61, 2**63 - 2, -(2**62) - 2**61, 2 - 2**63):
        for line in (line_of(), line_of((0, 5, 1)), line_of(*ROWS)):
            none, last, wanted = (np.full(20, number) for number in (0, 23, target))
            found = choose(line, Questions(none, last, wanted, none, none, (1,), (rate,)), splitmix(3))
            assert found.min() >= 0
            assert found.max() <= 23


@pytest.mark.parametrize("tied", [False, True])
@pytest.mark.parametrize("beyond", [Fraction(-7), Fraction(-1, 2), Fraction(1, 2), Fraction(7)])
def test_targets_beyond_all_mass_take_one_draw(*, beyond: Fraction, tied: bool) -> None:
    """All positions were far from such a target: a uniform one of them was drawn, and kept once in all of them."""
    line = line_of((0, 0, 1), (0, 10**6, 1), cells=2 * 10**6, groups=1)
    whole = 6 if beyond > 0 else 0
    target = math.floor(whole + 3 * beyond)
    rest = int((whole + 3 * beyond - target) * 2)
    none, last, wanted, over = (np.full(50, number) for number in (0, 8 * 10**6 - 1, target, rest))
    source, asked_for = splitmix(8), list[int]()

    def words(n: int) -> NDArray[np.uint64]:
        asked_for.append(n)
        if sum(asked_for) > 20_000:
            pytest.fail("a draw that takes so many words does not end")
        return source(n)

    found = choose(line, Questions(none, last, wanted, over, none, (2,), (Fraction(1000),), tied), words)
    assert (found >= 4 * 10**6 + 3).all() if beyond > 0 and not tied else (found <= 8 * 10**6 - 1).all()
    if tied:  # the mass reaches as far in the cell that holds something
        assert (found >= 4 * 10**6).all() if beyond > 0 else (found <= 3).all()


@pytest.mark.long
@pytest.mark.parametrize("window", [0, 3, 80])
@pytest.mark.parametrize("tied", [False, True])
@pytest.mark.parametrize("share", [Fraction(-3, 2), Fraction(5, 2)])
def test_the_law_of_a_target_beyond_all_mass(*, share: Fraction, tied: bool, window: int) -> None:
    line = line_of(*[(0, cell, 1 + cell % 3) for cell in range(3)], cells=5, groups=1)
    rate = Fraction(1, 3)
    one = replace(asked(line, 1, 17, share, rate), tied=tied)
    start = np.arange(1, 18)
    if tied:
        start = start - start % 4
    ends = [line.mass_below(start), line.mass_below(start + 3) if tied else line.mass_below(start)]
    first, last = (int(line.mass_below(np.array([end]))[0]) for end in (1, 17))
    target = float(first + share * (last - first))
    off = np.maximum(np.maximum(ends[0] - target, target - ends[1]), 0)
    weights = np.exp(-float(rate) * (off - off.min()))
    fits(choose(line, one, splitmix(9), window=window) - 1, weights / weights.sum())


def fits(found: NDArray[np.int64], expected: NDArray[np.float64]) -> None:
    """The found positions follow the expected law, cells of less than 10 left out but for their sum."""
    counts = np.bincount(found, minlength=expected.size)
    assert counts.size == expected.size
    heavy = expected * found.size >= 10
    if heavy.sum() > 1:
        assert _pearson(counts[heavy], expected[heavy] / expected[heavy].sum() * counts[heavy].sum()) > FALSE_ALARM
    assert counts[~heavy].sum() <= 10 + 12 * (expected[~heavy].sum() * found.size) ** 0.5 + 40


@pytest.mark.long
@pytest.mark.parametrize("window", [0, 1, 2])
def test_far_cells_have_their_law(window: int) -> None:
    line = line_of(*[(0, cell, 1 + cell % 3) for cell in range(12)], cells=14, groups=1)
    low, high, share, rate = 2, 53, Fraction(2, 5), Fraction(1, 12)
    found = choose(line, asked(line, low, high, share, rate), splitmix(6), window=window) - low
    fits(found, law(line, low, high, share, rate))


@pytest.mark.long
@pytest.mark.parametrize("window", [0, 1, 80])
def test_tied_cells_have_their_law(window: int) -> None:
    line = line_of(*[(0, cell, 1 + cell % 3) for cell in (0, 1, 3, 4, 5, 8, 9)], cells=11, groups=1)
    one = asked(line, 0, 43, Fraction(2, 5), Fraction(1, 9))
    tied = Questions(one.low, one.high, one.whole, one.rest, one.kind, one.parts, one.rates, tied=True)
    start = np.arange(0, 44, 4)
    first, last = (line.mass_below(start + i) - 0.4 * line.mass_below(np.array([44])) for i in (0, 3))
    weights = np.repeat(np.exp(-np.maximum(np.maximum(first, -last), 0) / 9), 4)
    fits(choose(line, tied, splitmix(9), window=window), weights / weights.sum())


def test_a_wrong_law_is_seen() -> None:
    line = line_of(*ROWS)
    low, high, share, rate = CASES["all of a group"]
    found = choose(line, asked(line, low, high, share, rate), splitmix(5)) - low
    wrong = law(line, low, high, share, rate * Fraction(5, 4))
    assert _pearson(np.bincount(found, minlength=24), wrong * RUNS) < FALSE_ALARM


def test_wide_integers_make_no_difference() -> None:
    """Masses beyond 64 bits, at a rate as much smaller, give the same draws."""
    line, wide = (line_of(*[(g, c, m * factor) for g, c, m in ROWS]) for factor in (1, 2**50))
    huge = CandidateLine(wide.cells, wide.groups, wide.start, wide.mass.astype(object), wide.below.astype(object))
    one = choose(line, asked(line, 24, 47, Fraction(1, 3), Fraction(1, 4), times=200), splitmix(1))
    for other in (wide, huge):
        question = asked(other, 24, 47, Fraction(1, 3), Fraction(1, 4 * 2**50), times=200)
        assert (choose(other, question, splitmix(1)) == one).all()


def test_an_empty_line_is_uniform() -> None:
    line = line_of(cells=3, groups=1)
    found = choose(line, asked(line, 0, 11, Fraction(1, 2), Fraction(1)), splitmix(2))
    fits(found, np.full(12, 1 / 12))


def test_mass_below_grows_along_a_cell() -> None:
    line = line_of((0, 1, 6), (1, 0, 3), cells=2, groups=2)
    assert (line.mass_below(np.arange(16)) / 3).tolist() == [0, 0, 0, 0, 0, 2, 4, 6, 6, 7, 8, 9, 9, 9, 9, 9]


def test_questions_of_several_kinds_and_groups() -> None:
    """Each question has its own stretch, target and rate."""
    line = line_of(*ROWS)
    first, second = CASES["all of a group"], CASES["steeply"]
    one, other = (asked(line, *case) for case in (first, second))
    pairs = ((one.low, other.low), (one.high, other.high), (one.whole, other.whole), (one.rest, other.rest))
    low, high, whole, rest = (np.stack(pair, axis=1).ravel() for pair in pairs)
    both = Questions(low, high, whole, rest, np.tile([0, 1], RUNS), (2, 10), (first[3], second[3]))
    found = choose(line, both, splitmix(8))
    fits(found[::2], law(line, *first))
    fits(found[1::2] - 24, law(line, *second))
