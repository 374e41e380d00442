"""Which families there are for some tables, and that each is made for the law of its noise."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from discreet.planning.strategy_families import strategies_for
from discreet.workloads.cell_tables import CellStrategy, CellTable
from discreet.workloads.separate_tables import SeparateTables
from discreet.workloads.weighted_marginals import WeightedMarginals

SIZES = (4, 3, 2)
PLAIN = [CellTable(axes, (None,) * len(axes)) for axes in ((0,), (1, 2), (0, 1))]
NESTED = CellTable((0,), (np.tri(4, dtype=np.int64),))


def families(tables: Sequence[CellTable], *, gaussian: bool, sizes: tuple[int, ...] = SIZES) -> list[str]:
    return [one.family for one in strategies_for(sizes, tables, gaussian=gaussian)]


def test_marginals_with_gaussian_noise_have_residual_tables_last() -> None:
    assert families(PLAIN, gaussian=True)[-1] == "residual tables"
    assert "residual tables" not in families(PLAIN, gaussian=False)


def test_sums_along_attributes_have_products_of_splits() -> None:
    assert "products of splits" in families([*PLAIN, NESTED], gaussian=True)
    assert "products of splits" not in families([*PLAIN, NESTED], gaussian=False)
    assert "a matrix for these questions" in families([NESTED], gaussian=False, sizes=(4,))


def error(strategy: CellStrategy, tables: Sequence[CellTable], *, gaussian: bool) -> float:
    """The sum of all variances at a price of 1."""
    noise = [
        part.squared(1) / float(part.share) if gaussian else 2 * (part.absolute / float(part.share)) ** 2
        for part in strategy.parts
    ]
    return sum(float(strategy.variances(i, noise).sum()) for i in range(len(tables)))


@pytest.mark.parametrize("gaussian", [True, False])
def test_shares_are_made_for_the_law(*, gaussian: bool) -> None:
    """Of Gaussian noise the variance goes with the share, of Laplace noise with its square."""
    made = {one.family: one for one in strategies_for(SIZES, PLAIN, gaussian=gaussian)}
    for power in (1, 2):
        others = (SeparateTables(SIZES, PLAIN, power=power), WeightedMarginals(SIZES, PLAIN, power=power))
        for other in (one for one in others if one.family in made):
            own = error(made[other.family], PLAIN, gaussian=gaussian)
            assert own <= error(other, PLAIN, gaussian=gaussian) * (1 + 1e-6), (other.family, power)
