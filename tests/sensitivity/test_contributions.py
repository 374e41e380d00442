"""The claimed sensitivity, against every neighbor over a tiny domain."""

from __future__ import annotations

import itertools
from fractions import Fraction
from math import floor

import pytest

from discreet.privacy.definitions import Neighbors
from discreet.sensitivity.contributions import Limits, sensitivity, squared_sensitivity

Row = tuple[int, int]
"""A group, and the first of two components; the second completes it to the steps."""
Totals = tuple[tuple[int, int], ...]


def contribution(rows: tuple[Row, ...], groups: int, steps: int, limits: Limits) -> Totals:
    """What one unit adds, written down from the text of the theorem, in fractions."""
    held = {group: [part for at, part in rows if at == group] for group in range(groups)}
    present = [group for group, parts in held.items() if parts]
    totals = [(0, 0)] * groups
    for group in present:
        parts = held[group]
        share = min(Fraction(1), Fraction(limits.max_rows, len(parts)))
        entry, whole = floor(sum(parts) * share), min(len(parts), limits.max_rows) * steps
        few = min(Fraction(1), Fraction(limits.max_groups, len(present)))
        totals[group] = (floor(entry * few), floor(whole * few) - floor(entry * few))
    return tuple(totals)


def distance(one: Totals, other: Totals) -> int:
    return sum(abs(a - b) for x, y in zip(one, other, strict=True) for a, b in zip(x, y, strict=True))


def units(groups: int, steps: int, most: int) -> list[tuple[Row, ...]]:
    rows = list(itertools.product(range(groups), range(steps + 1)))
    return [found for n in range(most + 1) for found in itertools.combinations_with_replacement(rows, n)]


@pytest.mark.long
@pytest.mark.parametrize(("max_groups", "max_rows"), [(1, 1), (1, 2), (2, 1), (2, 2), (3, 2)])
@pytest.mark.parametrize("steps", [1, 3])
def test_sensitivity_counts_every_group(max_groups: int, max_rows: int, steps: int) -> None:
    limits = Limits(max_groups=max_groups, max_rows=max_rows)
    groups, most = 3, max_groups * max_rows if steps == 1 else 4
    moved = [contribution(rows, groups, steps, limits) for rows in units(groups, steps, most)]
    nothing = contribution((), groups, steps, limits)
    claimed = sensitivity(steps, limits, Neighbors.ADD_REMOVE)
    reached = max(distance(one, nothing) for one in moved)
    assert reached <= claimed
    if most >= max_groups * max_rows:
        assert reached == claimed
    replaced = max(distance(one, other) for one, other in itertools.combinations(set(moved), 2))
    assert replaced <= sensitivity(steps, limits, Neighbors.REPLACE_ONE) == 2 * claimed
    if most >= max_groups * max_rows:
        assert replaced == 2 * claimed


@pytest.mark.parametrize("max_rows", [1, 2, 3])
@pytest.mark.parametrize(("low", "high"), [(0, 4), (-3, 0), (-2, 4), (-4, 4)])
def test_one_total_of_fixed_size(low: int, high: int, max_rows: int) -> None:
    """A unit's part of a lone total lies between k times the ends, 0 included, and one takes another's place there."""
    steps, limits = max(abs(low), abs(high)), Limits(max_rows=max_rows)
    sums = {
        int(sum(values) * min(Fraction(1), Fraction(max_rows, max(1, len(values)))))
        for n in range(max_rows + 2)
        for values in itertools.product(range(low, high + 1), repeat=n)
    }
    back = min(max(0, -low), max(0, high))
    claimed = sensitivity(steps, limits, Neighbors.REPLACE_ONE, back=back, totals=1)
    assert max(sums) - min(sums) == claimed == max_rows * (max(0, high) - min(0, low))
    assert squared_sensitivity(steps, limits, Neighbors.REPLACE_ONE, back=back, totals=1) == claimed**2
    assert max(map(abs, sums)) == sensitivity(steps, limits, Neighbors.ADD_REMOVE, back=back, totals=1)


def square(one: Totals, other: Totals) -> int:
    return sum((a - b) ** 2 for x, y in zip(one, other, strict=True) for a, b in zip(x, y, strict=True))


@pytest.mark.parametrize(("max_groups", "max_rows", "steps"), [(1, 1, 2), (2, 1, 2), (3, 1, 2), (1, 2, 1)])
def test_squares_bound_every_replacement(max_groups: int, max_rows: int, steps: int) -> None:
    limits = Limits(max_groups=max_groups, max_rows=max_rows)
    found = {contribution(unit, 3, steps, limits) for unit in units(3, steps, 3)}
    nothing = ((0, 0),) * 3
    added = squared_sensitivity(steps, limits, Neighbors.ADD_REMOVE)
    replaced = squared_sensitivity(steps, limits, Neighbors.REPLACE_ONE)
    assert max(square(one, nothing) for one in found) <= added
    reached = max(square(one, other) for one, other in itertools.combinations(found, 2))
    assert added < reached <= replaced
    if max_groups * max_rows == 1:
        assert reached == replaced


def test_squares_of_one_total() -> None:
    limits = Limits(max_rows=3)
    for neighbors in Neighbors:
        assert squared_sensitivity(2, limits, neighbors, totals=1) == 36
    assert squared_sensitivity(2, limits, Neighbors.REPLACE_ONE, back=2, totals=1) == 4 * 36


def lone_sums(held: tuple[tuple[int, ...], ...], limits: Limits) -> tuple[int, ...]:
    """What one unit adds to the one total of each group: its values there, weighted, in fractions, toward zero."""
    number = sum(bool(values) for values in held)
    few = min(Fraction(1), Fraction(limits.max_groups, max(1, number)))
    shares = (min(Fraction(1), Fraction(limits.max_rows, max(1, len(values)))) for values in held)
    return tuple(int(int(sum(values) * share) * few) for values, share in zip(held, shares, strict=True))


@pytest.mark.long
@pytest.mark.parametrize(("low", "high"), [(0, 6), (-6, 0), (-2, 6), (-6, 4), (-6, 6), (2, 6)])
@pytest.mark.parametrize(("max_groups", "max_rows"), [(1, 1), (1, 2), (2, 1), (3, 1)])
@pytest.mark.parametrize("totals", [1, 2, 3, 4])
def test_replacing_in_few_groups(low: int, high: int, max_groups: int, max_rows: int, totals: int) -> None:
    """Every unit with up to max_rows of the end values, or no value, in each group; the claims are reached."""
    limits = Limits(max_groups=min(max_groups, totals), max_rows=max_rows)
    rows = [(), *((end,) * n for end in (low, high) for n in range(1, max_rows + 1))]
    found = {lone_sums(held, limits) for held in itertools.product(rows, repeat=totals)}
    pairs = list(itertools.combinations(found, 2))
    steps, back = max(abs(low), abs(high)), min(max(0, -low), max(0, high))
    stated = {"back": back, "totals": totals}
    far = max(sum(abs(a - b) for a, b in zip(*two, strict=True)) for two in pairs)
    assert far == sensitivity(steps, limits, Neighbors.REPLACE_ONE, **stated)
    square = max(sum((a - b) ** 2 for a, b in zip(*two, strict=True)) for two in pairs)
    assert square == squared_sensitivity(steps, limits, Neighbors.REPLACE_ONE, **stated)
    most = max(sum(map(abs, one)) for one in found)
    assert most == sensitivity(steps, limits, Neighbors.ADD_REMOVE, **stated)


@pytest.mark.parametrize(("low", "high"), [(0, 3), (-1, 3), (-3, 3), (-3, -1)])
@pytest.mark.parametrize("rows", [1, 2, 3])
@pytest.mark.parametrize("totals", [1, 2, 3])
def test_rows_that_are_units(low: int, high: int, rows: int, totals: int) -> None:
    """Of m rows each is in a group of its own, or in one with others: K = 1, k = m is claimed, and reached."""
    places = [None, *itertools.product(range(totals), (low, high))]
    found = {
        tuple(sum(row[1] for row in held if row and row[0] == at) for at in range(totals))
        for held in itertools.combinations_with_replacement(places, rows)
    }
    pairs = list(itertools.combinations(found, 2))
    steps, back = max(abs(low), abs(high)), min(max(0, -low), max(0, high))
    limits, stated = Limits(max_rows=rows), {"back": back, "totals": totals}
    far = max(sum(abs(a - b) for a, b in zip(*two, strict=True)) for two in pairs)
    assert far == sensitivity(steps, limits, Neighbors.REPLACE_ONE, **stated)
    square = max(sum((a - b) ** 2 for a, b in zip(*two, strict=True)) for two in pairs)
    assert square == squared_sensitivity(steps, limits, Neighbors.REPLACE_ONE, **stated)
