"""How far one unit can move the totals, when every unit is weighted down to its limits.

Claim
    Let every row be split into components that are integers >= 0 with sum T (`steps`), or be one integer from -`back`
    to T, or the other way round, where 0 <= back <= T. Build the totals per group as `engines` does: a unit's rows in
    one group are scaled by min(1, max_rows/m), m being their number, its groups by min(1, max_groups/g), g being their
    number, with components rounded down (a single one toward zero) and the last one completed so that the components of
    one (unit, group) still sum to floor(min(m, max_rows) * T * min(1, max_groups/g)). Let K = max_groups, k = max_rows,
    C the number of totals where each group has one, and c = min(C, 2K); c = 2K where a group has several.
    Adding or removing one unit moves the totals, over all groups and components, by at most K k T in L1 norm and by at
    most sqrt(K) k T in L2 norm. Replacing one by another moves them by at most k (c T + (2K - c) back) in L1 norm, and
    the square of the L2 norm by at most k^2 times the larger of K (T + back)^2 and (2K - c) (T + back)^2 + 2 (c - K)
    T^2.
Requires
    Scaling that is a function of the unit's own rows and of public numbers alone; a limit that is None is enforced
    elsewhere or bounds nothing. Where rows are units of which one has m, in whatever groups: K = 1, k = m.
Relies on
    `engines.exact_totals` and `engines.contribution_weights` for the construction; integer sums.
Proof
    Totals are sums over units, so adding a unit moves them by its own contribution. In one group the absolute values of
    its entries sum to at most floor(min(m, k) T min(1, K/g)) <= k T min(1, K/g); over g groups to at most g k T min(1,
    K/g) <= K k T. Replacing is one removal and one addition: at most 2K k T.
    *One total a group.* A unit's entry in group i is from -w_i k back to w_i k T, with weights 0 <= w_i <= 1 that sum
    to K at most; 0, from rows that do not count, is among these. So the entries v, v' of two units are at most k (T w_i
    + back w'_i) apart, or k (T w'_i + back w_i). Let x be the sum of the weights, w_i or w'_i, that come with T in the
    larger of the two: one of each i, so that x <= C, and x <= 2K. The rest, 2K - x at most, come with back <= T. So the
    L1 norm is at most k (x T + (2K - x) back) <= k (c T + (2K - c) back).
    The square of the L2 norm is at most k^2 times the sum of the squares of these maxima, a convex function of all w_i
    and w'_i. It is largest at a corner, where K of the w_i are 1, K of the w'_i, and all others 0. With o groups in
    common it is o (T + back)^2 + 2 (K - o) T^2 there, linear in o, and o lies between 2K - c and K.
    *Several totals a group* in the same group or in others: two vectors of entries >= 0, of L1 norm at most K k T and
    squared L2 norm at most K (k T)^2, are at most as far apart as stated with back = 0. If entries have both signs,
    back = T: the square of the distance is at most 4 K (k T)^2.
    *Rows that are units.* m rows add m entries of either kind, to one group each. Weights n_i, the rows in group i, sum
    to m: the same with k = 1 and K = m, but without w_i <= 1. Then c = min(C, 2) groups of weight m are the worst, for
    both norms as above: corners have all m rows in one group.
Rounding
    None: integers.
Source
    Dwork and Roth, Algorithmic Foundations (2014), section 3.3; weighting in place of truncation: Proserpio, Goldberg
    and McSherry, "Calibrating data to sensitivity in private data analysis" (2014), section 2.
Mutant
    groups-forgotten: the number of groups of a unit does not enter the sensitivity; killed by
    test_sensitivity_counts_every_group.
    replaced-once: replacing moves squares no further than adding; killed by test_squares_bound_every_replacement.
    one-way-alone: a replaced row is taken to have moved its total one way; killed by
    test_one_total_of_fixed_size.
    old-and-new-group-as-one: a unit is replaced in the groups that it was in; killed by
    test_replacing_in_few_groups.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from discreet.privacy.definitions import Neighbors


@dataclass(frozen=True, kw_only=True, slots=True)
class Limits:
    """What one unit may contribute: groups it counts in, and rows it counts in each of them."""

    max_groups: int = 1
    max_rows: int = 1


Size = int | Fraction
"""Of totals: whole steps, or parts of a row."""


def sensitivity(
    steps: Size, limits: Limits, neighbors: Neighbors, *, back: Size = 0, totals: int | None = None
) -> Size:
    """Largest L1 change of integer totals between neighbors, in lattice steps.

    Parameters: `steps`, the sum of one row's components, or the size of its one component; `back`, how far that one may
    move its total the other way; `totals`, how many there are where each group has one.

    >>> sensitivity(1, Limits(max_groups=2, max_rows=5), Neighbors.ADD_REMOVE)
    10
    >>> sensitivity(5, Limits(), Neighbors.REPLACE_ONE, back=3, totals=1)
    8
    """
    if neighbors is Neighbors.ADD_REMOVE:
        return limits.max_groups * limits.max_rows * steps
    apart, both = _apart(limits, totals)
    return limits.max_rows * (apart * steps + both * back)


def squared_sensitivity(
    steps: Size, limits: Limits, neighbors: Neighbors, *, back: Size = 0, totals: int | None = None
) -> Size:
    """The square of the largest L2 change of integer totals between neighbors, in lattice steps.

    >>> squared_sensitivity(1, Limits(max_groups=100), Neighbors.ADD_REMOVE)
    100
    """
    own = limits.max_rows**2
    if neighbors is Neighbors.ADD_REMOVE:
        return limits.max_groups * own * steps**2
    apart, both = _apart(limits, totals)
    far = (steps + back) ** 2
    return own * max(limits.max_groups * far, both * far + 2 * (apart - limits.max_groups) * steps**2)


def _apart(limits: Limits, totals: int | None) -> tuple[int, int]:
    """In how many groups two units may be, each of them counted once, and how many of these they must share."""
    twice = 2 * limits.max_groups
    apart = twice if totals is None else max(limits.max_groups, min(totals, twice))
    return apart, twice - apart
