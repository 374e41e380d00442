"""Totals of amounts that belong to two units each: against the linear program, and how far one unit moves them."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from functools import cache

import numpy as np
import pytest
from scipy.optimize import linprog

from discreet.sensitivity import shared_totals
from discreet.sensitivity.shared_totals import LARGEST, totals_under_limits

Pair = tuple[int, int, int]
"""Two units and the amount that belongs to both."""
Totals = Callable[[Sequence[Pair], Sequence[int]], list[int]]
LIMITS = (1, 2, 3, 5, 8)


def found(pairs: Sequence[Pair], limits: Sequence[int] = LIMITS) -> list[int]:
    return list(_found(tuple(pairs), tuple(limits)))


@cache
def _found(pairs: tuple[Pair, ...], limits: tuple[int, ...]) -> list[int]:
    columns = np.array(pairs, dtype=np.int64).reshape(-1, 3).T
    return totals_under_limits(columns[0], columns[1], columns[2], limits)


def limits_by_column(pairs: Sequence[Pair], limits: Sequence[int] = LIMITS) -> list[int]:
    """A wrong one: who is in both columns has the limit in each."""
    return found([(one, other + 100, amount) for one, other, amount in pairs], limits)


def by_linear_program(pairs: Sequence[Pair], limit: int) -> int:
    """The whole part of the best; twice it is an integer."""
    units = sorted({unit for one, other, _ in pairs for unit in (one, other)})
    names = [[unit in pair[:2] for pair in pairs] for unit in units]
    amounts = [(0, amount) for _, _, amount in pairs]
    best = linprog(-np.ones(len(pairs)), A_ub=np.array(names, dtype=float), b_ub=[limit] * len(units), bounds=amounts)
    twice: int = round(-2 * best.fun)
    return twice // 2


def random_pairs(rng: np.random.Generator) -> list[Pair]:
    units, number = rng.integers(1, 8), rng.integers(1, 14)
    drawn = rng.integers(0, units, (number, 2)), rng.integers(0, 7, number)
    return [(int(one), int(other), int(amount)) for (one, other), amount in zip(*drawn, strict=True)]


@pytest.mark.parametrize("trials", [25, pytest.param(300, marks=pytest.mark.long)])
def test_it_is_the_linear_program(trials: int) -> None:
    """Of random graphs, with pairs of a unit and itself, pairs that are there twice, and amounts of 0."""
    rng = np.random.default_rng(trials)
    for _trial in range(trials):
        pairs = random_pairs(rng)
        totals = found(pairs)
        assert totals == [by_linear_program(pairs, limit) for limit in LIMITS]
        assert totals == sorted(totals)
    assert found([(0, 1, 1), (1, 2, 1), (0, 2, 1)], [1]) == [1]  # each half of a pair of a triangle: 3/2


@pytest.mark.parametrize("trials", [40, pytest.param(400, marks=pytest.mark.long)])
def test_covers_are_the_linear_program(trials: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of graphs in which a few units have most, with pairs among these: with a flow, and without one."""
    flows: list[int] = []
    flow = shared_totals._largest_flow

    def counted(pairs: shared_totals.Pairs, left: shared_totals.Narrow) -> int:
        flows.append(pairs.first.size)
        return flow(pairs, left)

    monkeypatch.setattr(shared_totals, "_largest_flow", counted)
    rng = np.random.default_rng(trials)
    for _trial in range(trials):
        few, many = rng.integers(1, 4), rng.integers(4, 9)
        ends = (
            rng.integers(0, few, 20),
            np.where(rng.random(20) < 0.2, rng.integers(0, few, 20), 3 + rng.integers(0, many, 20)),
        )
        pairs = [(int(a), int(b), int(n)) for a, b, n in zip(*ends, rng.integers(0, 6, 20), strict=True)]
        assert found(pairs) == [by_linear_program(pairs, limit) for limit in LIMITS]
    assert 0 < len(flows) < trials


def test_who_has_most_needs_no_flow(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three sellers and a thousand buyers, each of whom buys more than the limit of each."""
    monkeypatch.setattr(shared_totals, "_largest_flow", None)
    assert found([(i % 3, 3 + i // 3, 9) for i in range(3000)], [8, 20, 100]) == [24, 60, 300]


def moves_too_far(totals: Totals, pairs: Sequence[Pair], left: Sequence[Pair]) -> bool:
    """Whether a total rises by less than 0 or more than its limit where pairs come that one unit is in."""
    steps = zip(totals(pairs, LIMITS), totals(left, LIMITS), LIMITS, strict=True)
    return not all(0 <= more - fewer <= limit for more, fewer, limit in steps)


def test_one_unit_moves_it_by_its_limit_at_most() -> None:
    """Of graphs of three units and amounts of 0 to 3, and of one unit: with its pairs of both columns, as where columns
    share their names, and with those of one, as where they do not. A limit for each column is too much.
    """
    names = list(itertools.combinations_with_replacement(range(3), 2))
    caught, reached = False, set()
    for amounts in itertools.product((0, 2), (0, 1, 3), (0, 1, 3), (0, 1), (0, 1, 3), (0, 2)):
        pairs = [(one, other, amount) for (one, other), amount in zip(names, amounts, strict=True) if amount]
        without = [one for one in pairs if 1 not in one[:2]]
        assert not moves_too_far(found, pairs, without)
        assert not moves_too_far(found, pairs, [one for one in pairs if one[0] != 1])
        assert not moves_too_far(found, pairs, [one for one in pairs if one[1] != 1])
        caught = caught or moves_too_far(limits_by_column, pairs, without)
        reached |= {(limit, a - b) for limit, a, b in zip(LIMITS, found(pairs), found(without), strict=True)}
    assert caught
    assert {(limit, step) for limit in LIMITS[:3] for step in range(limit + 1)} <= reached


def test_another_unit_in_its_place_moves_it_by_its_limit_at_most() -> None:
    """Of random graphs, unit 0 with other pairs: either way, and as far as that."""
    rng = np.random.default_rng(7)
    reached = set()
    for _trial in range(150):
        others = [(a + 1, b + 1, n) for a, b, n in random_pairs(rng)[:6]]
        before, after = ([(0, int(b), int(n)) for b, n in rng.integers(0, 6, (4, 2))] for _table in range(2))
        moves = [b - a for a, b in zip(found(others + before), found(others + after), strict=True)]
        assert all(abs(move) <= limit for move, limit in zip(moves, LIMITS, strict=True))
        reached |= set(zip(LIMITS, moves, strict=True))
    assert {(limit, way * limit) for limit in LIMITS[:3] for way in (-1, 1)} <= reached


@pytest.mark.long
def test_units_of_large_graphs() -> None:
    """Of thousands of pairs, of which few units have most; amounts of up to a billion."""
    rng = np.random.default_rng(3)
    for most, limits in ((5, (1, 4, 16, 64, 2**12)), (10**9, (1, 2**10, 2**20, LARGEST))):
        ends = rng.zipf(1.3, (5000, 2)).clip(0, 3000)
        pairs = [(int(a), int(b), int(n)) for (a, b), n in zip(ends, rng.integers(0, most, 5000), strict=True)]
        whole = found(pairs, limits)
        every = [2**power for power in range(limits[-1].bit_length())]
        assert found(pairs, every) == [found(pairs, [one])[0] for one in every]
        for unit in (1, 2, 3, 50, 3000):
            both = found([one for one in pairs if unit not in one[:2]], limits)
            first = found([one for one in pairs if one[0] != unit], limits)
            assert all(0 <= a - b <= limit for a, b, limit in zip(whole, both, limits, strict=True))
            assert all(0 <= a - b <= limit for a, b, limit in zip(whole, first, limits, strict=True))


def test_all_of_it_where_no_unit_has_more_than_the_limit() -> None:
    pairs = [(0, 1, 4), (1, 2, 3), (2, 2, 5), (3, 0, 1)]
    assert found(pairs, [7, 8, 100]) == [12, 13, 13]
    assert found(pairs, [100, 7, 8]) == [13, 12, 13]
    assert found([(0, 0, 9)], [1, 4, 20]) == [1, 4, 9]
    triangle = [(0, 1, LARGEST + 5), (2, 1, LARGEST), (2, 0, LARGEST)]
    assert found([*triangle, *triangle, *triangle], [LARGEST]) == [LARGEST * 3 // 2]
    assert found([]) == [0] * len(LIMITS)
    assert found([(0, 1, 0)]) == [0] * len(LIMITS)


def test_large_amounts_are_added_exactly() -> None:
    """Sums beyond 32 and 53 bits, of flows and of what is taken before; amounts are cut at the largest limit."""
    ring = [(i, (i + 1) % 7, LARGEST) for i in range(7)]
    assert found(ring, [LARGEST, LARGEST - 1]) == [7 * LARGEST // 2, math.floor(7 * (LARGEST - 1) / 2)]
    assert found([(2 * i, 2 * i + 1, 2**40) for i in range(50)], [LARGEST, 3]) == [50 * LARGEST, 150]
    star = [(0, i, LARGEST - 1) for i in range(1, 40)]
    assert found(star, [LARGEST, 7]) == [LARGEST, 7]


def test_pairs_in_any_order_and_number() -> None:
    pairs = [(3, 5, 2), (5, 3, 4), (0, 5, 1), (3, 3, 2), (3, 5, 0)]
    for order in itertools.permutations(pairs):
        assert found(order) == found([(3, 5, 6), (0, 5, 1), (3, 3, 2)])
