"""The largest assignment of values to units: against brute force, and how far one unit moves it."""

from __future__ import annotations

import itertools
from functools import cache

import numpy as np
import pytest

from discreet.sensitivity.capped_matching import assigned

Table = tuple[frozenset[int], ...]
"""The values of each unit."""

LIMITS = (1, 2, 3)
SUBSETS = [frozenset(one) for n in range(4) for one in itertools.combinations(range(3), n)]


def counted(table: Table, limits: tuple[int, ...] = LIMITS) -> list[int]:
    pairs = [(unit, value) for unit, held in enumerate(table) for value in held]
    units, values = (np.array([pair[i] for pair in pairs], dtype=np.int64) for i in range(2))
    return assigned(units, values, limits)


@cache
def by_hand(table: Table, limit: int) -> int:
    """The largest number of values with an owner, over all ways to give each an owner or none."""
    owners = [[None, *(unit for unit, held in enumerate(table) if value in held)] for value in range(3)]
    best = 0
    for given in itertools.product(*owners):
        taken = [owner for owner in given if owner is not None]
        if all(taken.count(owner) <= limit for owner in taken):
            best = max(best, len(taken))
    return best


def by_augmenting(table: Table, limit: int) -> int:
    """The same by augmenting paths, one value at a time."""
    held: dict[int, int] = {}
    room = [limit] * len(table)

    def found(value: int, seen: set[int]) -> bool:
        for unit, own in enumerate(table):
            if value not in own or unit in seen:
                continue
            seen.add(unit)
            if room[unit]:
                room[unit] -= 1
                held[value] = unit
                return True
            for other in [one for one, owner in held.items() if owner == unit]:
                if found(other, seen):
                    held[value] = unit
                    return True
        return False

    return sum(found(value, set()) for value in sorted(set().union(*table)))


@pytest.mark.parametrize("units", [1, 2, 3])
def test_it_is_the_largest_assignment(units: int) -> None:
    """Of every table of up to three units, each with any of three values."""
    for table in itertools.combinations_with_replacement(SUBSETS, units):
        assert counted(table) == [by_hand(table, limit) for limit in LIMITS]


def test_every_unit_of_every_small_table() -> None:
    """Adding one raises each number by 0 to its limit; both ends are reached. Replacing moves it by the limit."""
    reached = set()
    for table in itertools.combinations_with_replacement(SUBSETS, 2):
        before, after = counted(table), [counted((*table, own)) for own in SUBSETS]
        for numbers in after:
            steps = [after - was for after, was in zip(numbers, before, strict=True)]
            assert all(0 <= step <= limit for step, limit in zip(steps, LIMITS, strict=True))
            reached |= set(zip(LIMITS, steps, strict=True))
        for one, other in itertools.combinations(after, 2):
            assert all(abs(a - b) <= limit for a, b, limit in zip(one, other, LIMITS, strict=True))
    assert reached == {(limit, step) for limit in LIMITS for step in range(limit + 1)}


def test_larger_tables() -> None:
    """Against augmenting paths; and one unit of many moves each number as little."""
    rng = np.random.default_rng(1)
    limits = (1, 2, 5, 12, 40)
    for _trial in range(40):
        sizes = rng.geometric(0.15, size=rng.integers(1, 25))
        table = tuple(frozenset(rng.zipf(1.4, size=size).clip(0, 60).tolist()) for size in sizes)
        found = counted(table, limits)
        assert found == [by_augmenting(table, limit) for limit in limits]
        assert found == sorted(found)
        assert found[-1] == len(set().union(*table))
        fewer = counted(table[1:], limits)
        assert all(0 <= a - b <= limit for a, b, limit in zip(found, fewer, limits, strict=True))


def test_pairs_in_any_order_and_number() -> None:
    units, values = np.array([3, 3, 0, 7, 7, 7]), np.array([9, 2, 2, 2, 5, 0])
    order = np.array([5, 3, 1, 0, 4, 2, 2, 0, 5])
    assert assigned(units, values, [1, 2]) == assigned(units[order], values[order], [1, 2]) == [3, 4]
    none = np.zeros(0, dtype=np.int64)
    assert assigned(none, none, [1, 2]) == [0, 0]
