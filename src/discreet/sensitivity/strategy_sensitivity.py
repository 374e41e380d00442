"""How far one unit can move integer sums of cells, where every unit is weighted down to its limits.

Claim
    Let cells have components as `sensitivity.contributions` describes them: in one cell the absolute values of what a
    unit adds sum to k T w at most, with weights w from 0 to 1 that sum to K over all cells. Let sums be made of each
    component by one integer matrix A. Adding or removing a unit moves all sums together by at most `part_sensitivity`
    in L1 norm, and by at most the root of `squared_part_sensitivity` in L2 norm; so does replacing one, with the
    factors for that.
Requires
    `absolute`, `squared` and `apart` of A as `workloads.cell_tables.MeasuredPart` states them.
Relies on
    `sensitivity.contributions` for what a unit adds to the cells.
Proof
    Let v_c be the components that a unit adds to cell c, a vector of L1 norm k T w_c at most, and a_c the columns of A.
    *L1.* The sums move by at most the sum over cells and components of |a_c| |v_cj|: at most K k T times the largest
    |a_c|.
    *L2.* The square is the sum over pairs of cells of (a_c a_d) (v_c v_d), at most (k T)^2 times w |A^T A| w, which
    `squared` bounds for K.
    *Replaced.* A unit is removed and one added: twice the norm. Where K = 1 and components are 0 or more, the squares
    of weighted unit vectors are convex in the weights of either, so largest where each unit is in one cell, c and d:
    G_cc |v|^2 + G_dd |v'|^2 - 2 G_cd (v v'), with v v' from 0 to (k T)^2, at most (k T)^2 times `apart`.
    *Rows that are units,* m of one: K = 1 and k = m, since m rows in whatever cells have weights n_c / m that sum to 1.
Rounding
    None: integers.
Source
    Li, Hay, Miklau and others: the matrix mechanism (2010), for A; the weights are our own.
Mutant
    strategies-of-one-group: a unit is taken to count in one cell; killed by
    test_units_move_sums_of_cells_no_further_than_claimed.
    sums-replaced-once: a replaced unit moves sums no further than an added one; killed by
    test_units_move_sums_of_cells_no_further_than_claimed.
"""

from __future__ import annotations

from collections.abc import Callable

from discreet.privacy.definitions import Neighbors
from discreet.sensitivity.contributions import Limits


def part_sensitivity(absolute: int, amount: int, limits: Limits, neighbors: Neighbors) -> int:
    """The L1 norm by which one unit moves sums of cells at most, for so many steps a row.

    >>> part_sensitivity(3, 1, Limits(max_groups=2, max_rows=5), Neighbors.ADD_REMOVE)
    30
    """
    once = limits.max_groups * limits.max_rows * amount * absolute
    return once if neighbors is Neighbors.ADD_REMOVE else 2 * once


def squared_part_sensitivity(
    squared: Callable[[int], int], amount: int, limits: Limits, neighbors: Neighbors, *, apart: int | None
) -> int:
    """The square of the L2 norm of the same; `apart` is None where components have both signs.

    >>> squared_part_sensitivity(lambda most: most**2, 1, Limits(max_groups=2), Neighbors.REPLACE_ONE, apart=2)
    16
    """
    whole = (limits.max_rows * amount) ** 2
    if neighbors is Neighbors.ADD_REMOVE:
        return whole * squared(limits.max_groups)
    if limits.max_groups == 1 and apart is not None:
        return whole * apart
    return 4 * whole * squared(limits.max_groups)
