"""How far one unit can move the totals, when every unit is weighted down to its limits.

Claim
    Let every row be split into components that are integers >= 0 with sum T (`steps`). Build the totals per group as
    `engines` does: a unit's rows in one group are scaled by min(1, max_rows/m), m being their number, its groups by
    min(1, max_groups/g), g being their number, with components rounded down and the last one completed so that the
    components of one (unit, group) still sum to floor(min(m, max_rows) * T * min(1, max_groups/g)). Then adding or
    removing one unit moves the totals, over all groups and components, by at most max_groups * max_rows * T in L1 norm;
    replacing one by another by at most twice that. In L2 norm, adding moves them by at most max_rows * T *
    sqrt(max_groups), replacing by at most sqrt 2 times that (twice where entries have both signs).
Requires
    Scaling that is a function of the unit's own rows and of public numbers alone; a limit that is None is enforced
    elsewhere or bounds nothing (unit = row: m = g = 1).
Relies on
    `engines.totals` for the construction; integer sums.
Proof
    Totals are sums over units, so adding a unit moves them by its own contribution, whose entries are >= 0: its L1 norm
    is their sum. In one group that is floor(min(m, k) T min(1, K/g)) <= k T min(1, K/g); over g groups at most g k T
    min(1, K/g) <= K k T. Replacing is one removal and one addition. A single total with components in [0, k T] moves by
    at most k T under replacement, since both contributions lie in that interval; a signed one, in [-k T, k T], by at
    most 2 k T.
Rounding
    None: integers.
Source
    Dwork and Roth, Algorithmic Foundations (2014), section 3.3; weighting in place of truncation: Proserpio, Goldberg
    and McSherry, "Calibrating data to sensitivity in private data analysis" (2014), section 2.
Mutant
    groups-forgotten: the number of groups of a unit does not enter the sensitivity; killed by
    test_sensitivity_counts_every_group.
    replaced-once: replacing moves squares no further than adding; killed by test_squares_bound_every_replacement.
"""

from __future__ import annotations

from dataclasses import dataclass

from discreet.privacy.definitions import Neighbors


@dataclass(frozen=True, kw_only=True, slots=True)
class Limits:
    """What one unit may contribute: groups it counts in, and rows it counts in each of them."""

    max_groups: int = 1
    max_rows: int = 1


def sensitivity(steps: int, limits: Limits, neighbors: Neighbors, *, lone: bool, signed: bool = False) -> int:
    """Largest L1 change of integer totals between neighbors, in lattice steps.

    Parameters: `steps`, the sum of one row's components; `lone`, whether the block is one single total (one group, one
    component); `signed`, whether that total may be moved down as well as up.

    >>> sensitivity(1, Limits(max_groups=2, max_rows=5), Neighbors.ADD_REMOVE, lone=False)
    10
    """
    one_unit = limits.max_groups * limits.max_rows * steps
    if neighbors is Neighbors.ADD_REMOVE or (lone and not signed):
        return one_unit
    return 2 * one_unit


def squared_sensitivity(steps: int, limits: Limits, neighbors: Neighbors, *, lone: bool, signed: bool = False) -> int:
    """The square of the largest L2 change of integer totals between neighbors, in lattice steps.

    >>> squared_sensitivity(1, Limits(max_groups=100), Neighbors.ADD_REMOVE, lone=False)
    100
    """
    one_unit = limits.max_groups * (limits.max_rows * steps) ** 2
    if neighbors is Neighbors.ADD_REMOVE or (lone and not signed):
        return one_unit
    return (4 if signed else 2) * one_unit
