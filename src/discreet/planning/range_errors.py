"""How far sums of neighboring bins are off, in a plan that answers all of them, or all from the first bin on."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from discreet.planning.strategy_families import ordered_queries
from discreet.workloads.cell_tables import Reals
from discreet.workloads.grouped_matrix import GroupedMatrix
from discreet.workloads.matrix_strategy import MatrixStrategy, least_mean

if TYPE_CHECKING:
    from discreet.planning.batch_planner import BatchPlan


def bin_strategy(plan: BatchPlan) -> MatrixStrategy:
    """What is measured of the bins; with groups, of those of each of them."""
    found = plan.strategy.each if isinstance(plan.strategy, GroupedMatrix) else plan.strategy
    if not isinstance(found, MatrixStrategy):
        raise TypeError(found)
    return found


def bin_forms(plan: BatchPlan) -> Reals:
    """The bins, a row each, as linear forms of what is measured of them; of each group the same."""
    return bin_strategy(plan).forms[0]


def _total(plan: BatchPlan) -> float:
    """The sum of the variances of all sums that are asked for, of one group, for noise of variance 1."""
    forms = bin_forms(plan)
    squares = ordered_queries(plan.query.ranges or "", plan.query.sizes[-1]).squares
    return float(np.einsum("ij,ij->", squares @ forms, forms))


def cost_of_sums(plan: BatchPlan) -> float:
    """The sum of the variances of all that is asked for, in rows: what has the least noise on bins may add up to more.

    In each of some groups there is as much.
    """
    return _total(plan) * plan.part_variances[0][0] / plan.cells.blocks[0].steps ** 2


def sums_over_bound(plan: BatchPlan) -> float:
    """The error of all that is asked for over the least of any Gaussian mechanism, for units in one bin of one group:
    of groups as of one of them.
    """
    queries = ordered_queries(plan.query.ranges or "", plan.query.sizes[-1])
    (part,) = bin_strategy(plan).parts
    return math.sqrt(_total(plan) * part.squared(1) / queries.number / least_mean(queries))
