"""The families of strategies that apply to some tables and some noise, from which a batch takes the best."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from discreet.workloads.cell_tables import MOST_CELLS, CellStrategy, CellTable
from discreet.workloads.matrix_strategy import MatrixStrategy
from discreet.workloads.residual_strategy import ResidualStrategy
from discreet.workloads.separate_tables import SeparateTables
from discreet.workloads.split_products import SplitProducts
from discreet.workloads.weighted_marginals import WeightedMarginals

MOST_ASKED = 128
"""Sets whose shares are looked for by descent."""
MOST_LAPLACE_RANGES = 256
"""Cells for whose ranges a matrix is looked for at a pure epsilon: three seconds of a processor."""


def strategies_for(
    sizes: tuple[int, ...], tables: Sequence[CellTable], *, gaussian: bool, ranges: bool = False
) -> Iterator[CellStrategy]:
    """All families that apply to some tables over attributes of these sizes, with Gaussian or Laplace noise; with
    `ranges`, to all sums of neighboring cells as well.
    """
    power, every = (1 if gaussian else 2), tuple(range(len(sizes)))
    if ranges and (gaussian or sizes[0] <= MOST_LAPLACE_RANGES):
        yield MatrixStrategy.for_ranges(tables[0], sizes[0], gaussian=gaussian)
        return
    written_out = math.prod(sizes) <= MOST_CELLS
    if written_out:
        yield WeightedMarginals(sizes, tables, [every], power=power)
    if len(tables) > 1:
        yield SeparateTables(sizes, tables, power=power)
    if gaussian:
        yield ResidualStrategy(sizes, tables)
        if all(own is None for table in tables for own in table.maps):
            return  # than which nothing is better
    yield from _for_sums(sizes, tables, gaussian=gaussian, written_out=written_out)


def _for_sums(
    sizes: tuple[int, ...], tables: Sequence[CellTable], *, gaussian: bool, written_out: bool
) -> Iterator[CellStrategy]:
    """Families for sums along the attributes, or for Laplace noise."""
    power, every = (1 if gaussian else 2), tuple(range(len(sizes)))
    if gaussian and SplitProducts.applies(sizes, tables):
        yield SplitProducts(sizes, tables)
    asked = list(dict.fromkeys(table.axes for table in tables))
    if asked != [every]:
        if len(asked) <= MOST_ASKED:
            yield WeightedMarginals(sizes, tables, asked, power=power)
        if written_out and every not in asked and len(asked) <= MOST_ASKED:
            yield WeightedMarginals(sizes, tables, power=power)
    if MatrixStrategy.applies(sizes, tables, gaussian=gaussian):
        yield MatrixStrategy(sizes, tables, gaussian=gaussian)
