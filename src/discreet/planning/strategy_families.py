"""The families of strategies that apply to some tables and some noise, from which a batch takes the best."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from discreet.workloads.cell_tables import MOST_CELLS, CellStrategy, CellTable
from discreet.workloads.grouped_matrix import GroupedMatrix
from discreet.workloads.matrix_strategy import MatrixStrategy
from discreet.workloads.ordered_queries import OrderedQueries
from discreet.workloads.residual_strategy import ResidualStrategy
from discreet.workloads.separate_tables import SeparateTables
from discreet.workloads.split_products import SplitProducts
from discreet.workloads.weighted_marginals import WeightedMarginals

MOST_ASKED = 128
"""Sets whose shares are looked for by descent."""
RANGES, PREFIXES = "ranges", "prefixes"
"""What may be asked of ordered cells: all sums of neighboring ones, or those from the first one on."""


def ordered_queries(ranges: str, cells: int) -> OrderedQueries:
    """What is asked of ordered cells: all "ranges", or "prefixes"."""
    return OrderedQueries.prefixes(cells) if ranges == PREFIXES else OrderedQueries.ranges(cells)


def strategies_for(
    sizes: tuple[int, ...], tables: Sequence[CellTable], *, gaussian: bool, ranges: str | None = None
) -> Iterator[CellStrategy]:
    """All families that apply to some tables over attributes of these sizes, with Gaussian or Laplace noise; or, where
    `ranges` says so, to "ranges" or "prefixes" of the last attribute in each combination of the others.
    """
    power, every = (1 if gaussian else 2), tuple(range(len(sizes)))
    if ranges:
        yield from _for_ranges(sizes, ranges, gaussian=gaussian)
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


def _for_ranges(sizes: tuple[int, ...], ranges: str, *, gaussian: bool) -> Iterator[CellStrategy]:
    """The matrix that is best for them, and bins by themselves: where a unit counts in many, these have less noise."""
    *groups, bins = sizes
    best = MatrixStrategy.for_sums(ordered_queries(ranges, bins), gaussian=gaussian)
    found = (best, MatrixStrategy.for_cells(bins))
    yield from (GroupedMatrix(groups, one) if groups else one for one in found)


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
