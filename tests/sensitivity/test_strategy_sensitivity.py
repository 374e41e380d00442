"""What one unit moves sums of cells by, against units at the edge of their limits and beyond."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np
import pytest
from numpy.typing import NDArray

from discreet.privacy.definitions import Neighbors
from discreet.sensitivity.contributions import Limits
from discreet.sensitivity.strategy_sensitivity import part_sensitivity, squared_part_sensitivity
from discreet.workloads.cell_tables import CellTable, MeasuredPart
from discreet.workloads.residual_strategy import ResidualStrategy
from discreet.workloads.weighted_marginals import WeightedMarginals

Integers = NDArray[np.int64]

SIZES, STEPS = (2, 2), 3
TABLES = [CellTable((), ()), CellTable((0, 1), (None, None))]
LIMITS = [Limits(), Limits(max_rows=2), Limits(max_groups=2), Limits(max_groups=3, max_rows=2)]


def units(limits: Limits, *, signed: bool) -> Iterator[Integers]:
    """What one unit can add to the cells, at its limits: two components, of which one row has `STEPS` in all."""
    amount = limits.max_rows * STEPS
    halves = [(amount, 0), (0, amount), (amount - 1, 1)] + ([(-amount, 0), (0, -amount)] if signed else [])
    for chosen in itertools.combinations(range(4), limits.max_groups):
        for entries in itertools.product(halves, repeat=limits.max_groups):
            cells = np.zeros((4, 2), dtype=np.int64)
            cells[list(chosen)] = entries
            yield cells


def parts(*, squared: bool) -> list[tuple[MeasuredPart, Integers]]:
    """Each part, and its matrix."""
    strategy = ResidualStrategy(SIZES, TABLES) if squared else WeightedMarginals(SIZES, TABLES, power=2)
    measured = [strategy.measure(one.reshape(*SIZES, 1)) for one in np.eye(4, dtype=np.int64)]
    found = []
    for place, part in enumerate(strategy.parts):
        found.append((part, np.stack([one[place][:, 0] for one in measured], axis=1)))
    return found


@pytest.mark.parametrize("neighbors", Neighbors)
@pytest.mark.parametrize("limits", LIMITS)
@pytest.mark.parametrize("signed", [False, True])
def test_units_move_sums_of_cells_no_further_than_claimed(
    limits: Limits, neighbors: Neighbors, *, signed: bool
) -> None:
    """One unit that comes, or that another one takes the place of; and the claim is reached where it should be."""
    random = np.random.default_rng(4)
    every = list(units(limits, signed=signed))
    others = [np.zeros((4, 2), dtype=np.int64)] if neighbors is Neighbors.ADD_REMOVE else every
    pairs = list(itertools.product(every, others))
    if len(pairs) > 4000:
        pairs = [pairs[i] for i in random.choice(len(pairs), 4000, replace=False)]
    for squared in (True, False):
        for part, matrix in parts(squared=squared):
            moved = [matrix @ (one - other) for one, other in pairs]
            if squared:
                apart = None if signed else part.apart
                claimed = squared_part_sensitivity(part.squared, STEPS, limits, neighbors, apart=apart)
                found = max(int((one**2).sum()) for one in moved)
            else:
                claimed = part_sensitivity(part.absolute, STEPS, limits, neighbors)
                found = max(int(np.abs(one).sum()) for one in moved)
            assert found <= claimed
            if limits.max_groups == 1 and not (signed and squared):
                assert found == claimed
