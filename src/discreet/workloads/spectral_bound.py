"""How far the error of a strategy is above what no Gaussian mechanism on linear queries is below.

Claim
    For units that add 1 to one cell: `least_total` is a lower bound of the weighted sum of the variances of all cells
    of some tables, for any Gaussian mechanism at rho = 1/2 that measures linear sums of cells; for marginals as they
    are, the least there is. `over_bound` is the root of what a strategy has over it.
Requires
    Nothing: where there are too many cells and rows to find it, there is none.
Relies on
    `workloads.product_bound` where a table has maps and there are more than `MOST_CELLS` cells; floating-point linear
    algebra: a figure to show, on which no proof of privacy rests.
Proof
    With W the rows of all tables, each times the root of its weight, the bound is (sum of the roots of the eigenvalues
    of W^T W)^2 over the number of cells (Li and Miklau). Of marginals, a subset A of attributes has product of (d - 1)
    eigenvectors, whose eigenvalue is the sum over the tables S that contain it of weight times the cells that agree on
    S; `workloads.marginals` shows that it is attained.
Rounding
    Floats.
Source
    Li and Miklau, "Optimal error of query sets under the differentially-private matrix mechanism" (2013).
Mutant
    roots-forgotten: eigenvalues are added up in place of their roots; killed by
    test_no_strategy_is_below_the_spectral_bound.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from discreet.workloads.cell_tables import Axes, CellStrategy, CellTable, others_of
from discreet.workloads.matrix_strategy import MOST_CELLS, MOST_ENTRIES, cell_rows
from discreet.workloads.product_bound import least_of_products
from discreet.workloads.split_products import squares_of

WORK = 2.0**30
"""Of a bound from fewer rows: a second, as it is found whenever a batch is planned."""


def least_total(sizes: Sequence[int], tables: Sequence[CellTable]) -> float | None:
    """The bound; None where it would have to be found from too many cells.

    >>> least_total((4,), [CellTable((0,), (None,))])
    4.0
    """
    cells = math.prod(sizes)
    if all(own is None for table in tables for own in table.maps):
        values: dict[Axes, float] = {}
        for table in tables:
            for subset in table.subsets(sizes):
                values[subset] = values.get(subset, 0.0) + table.weight * others_of(sizes, table.axes)
        spaces = {subset: math.prod(sizes[axis] - 1 for axis in subset) for subset in values}
        return sum(spaces[subset] * math.sqrt(value) for subset, value in values.items()) ** 2 / cells
    queries = sum(math.prod(table.shape(sizes)) for table in tables)
    if cells > MOST_CELLS or cells * queries > MOST_ENTRIES:
        return least_of_products(sizes, tables, [squares_of(table) for table in tables], work=WORK)
    rows = np.concatenate([math.sqrt(table.weight) * cell_rows(sizes, table) for table in tables])
    roots = np.sqrt(np.maximum(np.linalg.eigvalsh(rows.T @ rows), 0.0))
    return float(roots.sum()) ** 2 / cells


def over_bound(strategy: CellStrategy, sizes: Sequence[int], tables: Sequence[CellTable]) -> float | None:
    """The error of a strategy with Gaussian noise over the bound, as roots of mean squares; None without a bound.

    >>> from discreet.workloads.residual_strategy import ResidualStrategy
    >>> sizes, tables = (5, 2), [CellTable(axes, (None,) * len(axes)) for axes in ((0,), (1,))]
    >>> round(over_bound(ResidualStrategy(sizes, tables), sizes, tables), 6)
    1.0
    """
    least = least_total(sizes, tables)
    if least is None:
        return None
    noise = [part.squared(1) / float(part.share) for part in strategy.parts]
    own = sum(table.weight * float(strategy.variances(i, noise).sum()) for i, table in enumerate(tables))
    return math.sqrt(own / least)
