"""The price of cuts, by their law on all small tables and neighbors; and how good they are."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray

from discreet.noise.entropy import fresh_words
from discreet.selection import quantiles, rank_exponential
from discreet.selection.quantiles import Cut, QuantileCuts, Stage, levels
from discreet.selection.rank_exponential import CandidateLine, Histogram

HALF = Fraction(1, 2)
Masses = tuple[tuple[int, ...], ...]
"""Of each group the mass of each cell."""


@pytest.fixture
def few_positions(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (rank_exponential, quantiles):
        monkeypatch.setattr(module, "PARTS", 2)
        monkeypatch.setattr(module, "UNIT", 1)


def histogram(masses: Masses) -> Histogram:
    rows = [(g, c, m) for g, group in enumerate(masses) for c, m in enumerate(group) if m]
    return Histogram(*(np.array([row[i] for row in rows], dtype=np.int64) for i in range(3)))


def law(mechanism: QuantileCuts, masses: Masses) -> dict[tuple[int, ...], float]:
    """The logarithm of the probability of all cuts, by writing out every stage."""
    line = CandidateLine.of(histogram(masses), cells=mechanism.cells, groups=len(masses))
    found: dict[tuple[int, ...], float] = {}

    def go_on(stages: tuple[Stage, ...], cuts: NDArray[np.int64], before: float) -> None:
        if not stages:
            found[tuple(cuts.ravel().tolist())] = before
            return
        asked = mechanism.questions(line, stages[0], cuts)
        chances = []
        for j in range(asked.low.size):
            positions = np.arange(asked.low[j], asked.high[j] + 1)
            kind = int(asked.kind[j])
            target = int(asked.whole[j]) + Fraction(int(asked.rest[j]), asked.parts[kind])
            away = np.abs(line.mass_below(positions) - float(target))
            if mechanism.tied:
                ends = [line.mass_below(positions - positions % 2 + i) - float(target) for i in (0, 1)]
                away = np.maximum(np.maximum(ends[0], -ends[1]), 0)
            exponent = -float(asked.rates[kind]) * away
            chances.append((positions, exponent - np.log(np.exp(exponent).sum())))
        places = [cut.place for cut in stages[0].cuts]
        for chosen in itertools.product(*(range(positions.size) for positions, _ in chances)):
            picked = [int(positions[i]) for i, (positions, _) in zip(chosen, chances, strict=True)]
            further = cuts.copy()
            further[places] = np.array(picked).reshape(len(places), -1)
            chance = sum(float(logs[i]) for i, (_, logs) in zip(chosen, chances, strict=True))
            go_on(stages[1:], further, before + chance)

    go_on(mechanism.stages, np.zeros((mechanism.size, len(masses)), dtype=np.int64), 0.0)
    return found


def loss(mechanism: QuantileCuts, one: Masses, other: Masses) -> float:
    first, second = law(mechanism, one), law(mechanism, other)
    assert sum(np.exp(list(first.values()))) == pytest.approx(1)
    return max(abs(first[cuts] - second[cuts]) for cuts in first)


def tables(cells: int, most: int) -> Iterator[tuple[int, ...]]:
    return (t for t in itertools.product(range(most + 1), repeat=cells))


def added(one: tuple[int, ...], more: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(a + b for a, b in zip(one, more, strict=True))


def stages(shares: list[Fraction], epsilon: Fraction) -> tuple[Stage, ...]:
    found = levels(shares)
    return tuple(Stage(cuts=tuple(level), epsilon=epsilon / len(found)) for level in found)


def made(shares: list[Fraction], cells: int, mass: int = 1, *, replaced: bool = False) -> QuantileCuts:
    return QuantileCuts(stages=stages(shares, Fraction(1)), cells=cells, mass=mass, replaced=replaced)


ONE = {
    "median": made([HALF], 3),
    "a ninth of ten": made([Fraction(9, 10)], 3),
    "three at once": made([Fraction(1, 4), HALF, Fraction(4, 5)], 2),
    "weights": made([Fraction(1, 3)], 2, mass=2),
    "from the top": QuantileCuts(stages=(Stage(cuts=(Cut(place=0, mass=-2),), epsilon=Fraction(1)),), cells=3, mass=1),
    "from below": QuantileCuts(stages=(Stage(cuts=(Cut(place=0, mass=1),), epsilon=Fraction(1)),), cells=3, mass=1),
    "from the top, tied": QuantileCuts(
        stages=(Stage(cuts=(Cut(place=0, mass=-2),), epsilon=Fraction(1)),), cells=3, mass=1, tied=True
    ),
    "a third, tied": QuantileCuts(
        stages=(Stage(cuts=(Cut(place=0, share=Fraction(1, 3)),), epsilon=Fraction(1)),), cells=3, mass=1, tied=True
    ),
    "replaced median": made([HALF], 3, replaced=True),
    "replaced, three at once": made([Fraction(1, 5), HALF, Fraction(4, 5)], 2, replaced=True),
    "replaced tail": made([Fraction(9, 10)], 3, replaced=True),
}


@pytest.mark.usefixtures("few_positions")
@pytest.mark.parametrize("mechanism", ONE.values(), ids=ONE)
def test_neighbors_are_within_epsilon(mechanism: QuantileCuts) -> None:
    """Every table of few rows, tables with many rows in a cell, and every unit that could be added or replaced."""
    units = [u for u in tables(mechanism.cells, mechanism.mass) if 0 < sum(u) <= mechanism.mass]
    worst = 0.0
    for table in (*tables(mechanism.cells, 1), *heaps(mechanism.cells)):
        others = [added(table, unit) for unit in units]
        pairs = itertools.combinations(others, 2) if mechanism.replaced else ((table, other) for other in others)
        worst = max(worst, *(loss(mechanism, (one,), (other,)) for one, other in pairs))
    assert worst <= 1 + 1e-9
    assert worst > (0.6 if len(mechanism.stages) == 1 or not mechanism.replaced else 0.3)


def heaps(cells: int) -> Iterator[tuple[int, ...]]:
    """Tables in which a mechanism comes near its price: much in most cells, other numbers in one."""
    return (
        tuple(one if i == k else rest for i in range(cells))
        for k in range(cells)
        for one in (0, 4, 16)
        for rest in (0, 16)
    )


@pytest.mark.usefixtures("few_positions")
@pytest.mark.parametrize("replaced", [False, True])
def test_groups_share_one_epsilon(*, replaced: bool) -> None:
    """A unit with rows in two groups, or one that moves from one group to the other."""
    mechanism = made([HALF], 3, mass=2, replaced=replaced)
    base: Masses = ((40, 38, 0), (40, 40, 0))  # balanced with the unit, and without it
    nobody = (0, 0, 0)
    units: list[Masses] = [((0, 0, 2), nobody), (nobody, (0, 0, 2)), ((0, 0, 1), (0, 0, 1)), ((1, 0, 0), (0, 0, 1))]
    others = [tuple(added(a, b) for a, b in zip(base, unit, strict=True)) for unit in units]
    pairs = itertools.combinations(others, 2) if replaced else ((base, other) for other in others)
    assert 0.85 < max(loss(mechanism, one, other) for one, other in pairs) <= 1 + 1e-9


@pytest.mark.usefixtures("few_positions")
def test_a_false_price_is_seen() -> None:
    cheap = made([HALF], 3, mass=1)
    table, other = (0, 3, 0), (0, 3, 2)
    assert loss(cheap, (table,), (other,)) > 1


def test_masses_get_noise_of_their_sensitivity() -> None:
    for replaced, times in ((False, 1), (True, 2)):
        cuts = QuantileCuts(
            stages=stages([HALF], Fraction(1)), cells=4, mass=5, replaced=replaced, counting=Fraction(1, 4)
        )
        assert cuts.noise is not None
        assert cuts.noise.scale == 4 * times * 5 * rank_exponential.UNIT
        assert cuts.epsilon == Fraction(5, 4)


def test_masses_lie_between_the_cuts() -> None:
    """With hardly any noise the masses add up to the rows, and tell them apart."""
    cuts = QuantileCuts(stages=stages([HALF], Fraction(2000)), cells=10, mass=1, counting=Fraction(10**9))
    found = cuts.made(histogram(((0, 4, 0, 0, 0, 0, 0, 0, 4, 0), (0,) * 10)), 2, fresh_words())
    assert found.shape == (2, 3)
    assert (found[:, 1:] // rank_exponential.UNIT).tolist() == [[4, 4], [0, 0]]
    assert 1 <= found[0, 0] // rank_exponential.PARTS <= 8
    assert 0 <= found[1, 0] // rank_exponential.PARTS < 10


def test_masses_pass_over_uncounted_cuts() -> None:
    """They are those between the counted cuts, of all rows together; and so one unit moves them by no more."""
    cuts = QuantileCuts(
        stages=stages([Fraction(1, 4), HALF, Fraction(3, 4)], Fraction(2000)),
        cells=10,
        mass=1,
        counting=Fraction(10**9),
        uncounted=(1,),
    )
    assert (cuts.counted, cuts.masses) == ([0, 2], 3)
    table = (0, 4, 0, 4, 0, 0, 4, 0, 4, 0)
    found = cuts.made(histogram((table,)), 1, fresh_words())
    assert found.shape == (1, 6)
    assert (found[:, 3:] // rank_exponential.UNIT).sum() == 16
    assert (found[0, 3:] // rank_exponential.UNIT).tolist() == [4, 8, 4]


def test_levels_halve_what_is_left() -> None:
    found = levels([Fraction(i, 10) for i in range(1, 10)])
    assert [len(level) for level in found] == [1, 2, 4, 2]
    assert [cut.place for cut in found[0]] == [4]
    assert [(cut.place, cut.low, cut.high, cut.share) for cut in found[1]] == [
        (1, None, 4, Fraction(2, 5)),
        (6, 4, None, Fraction(2, 5)),
    ]


@pytest.mark.long
def test_a_miss_beyond_the_bound_is_rare() -> None:
    """Rows spread evenly: 2,000 medians, of which a hundredth may miss by more than the bound for a hundredth."""
    cuts = QuantileCuts(stages=stages([HALF], Fraction(1)), cells=1000, mass=1)
    found = cuts.made(histogram(((1,) * 1000,) * 2000), 2000, fresh_words())
    missed = np.abs(found[:, 0].astype(np.float64) / rank_exponential.PARTS - 500)
    bound = cuts.farthest(cuts.stages[0], cuts.stages[0].cuts[0], 2000, 0.01)
    assert (missed > bound).mean() <= 0.01
    assert missed.mean() < 1.2
