"""How many values can be counted if each is counted by one unit that has it, and no unit counts more than a limit.

Claim
    ``assigned(units, values, limits)`` gives for each limit l the largest number D_l of values that can be assigned to
    units, each to one that has it, so that no unit gets more than l. Adding a unit raises D_l by 0 to l; replacing one
    moves it by at most l either way. D_l is at most the number of values, and equal to it where no unit has more than
    l. Whatever order the pairs come in, it is the same.
Requires
    Pairs of numbers from 0 on, fewer than 2**30 of them.
Relies on
    `scipy.sparse.csgraph.maximum_flow`: a flow of the largest value, in integers.
Proof
    *Movement.* What is assigned without the unit can be with it: D_l does not fall. Of what is assigned with it, the
    unit has at most l values; without these it is an assignment of the others: D_l has risen by at most l. A
    replacement: both numbers lie between that of the units that stay and l above it.
    *Number.* An assignment is a flow of integers from a source to the units, each of capacity l, on to their values,
    and from each to a sink, each of capacity 1; and the largest flow has integers (Ford and Fulkerson 1956).
    *Few values.* Let C be the values that some unit with l or fewer has. D_l is the size of C, and the most that units
    with more can get of the others: no assignment has more of either, and both can be had at once, since units with l
    or fewer can get all that they have.
Rounding
    None.
Source
    Knop and Steinke, "Counting distinct elements under person-level differential privacy" (NeurIPS 2023), section 3.
Mutant
    units-without-a-limit: units get all of their values; killed by test_every_unit_of_every_small_table.
    few-values-twice: values that units with few have are given to others again; killed by
    test_it_is_the_largest_assignment.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Codes = NDArray[np.int64]


def assigned(units: Codes, values: Codes, limits: Sequence[int]) -> list[int]:
    """The number of values that can be counted under each limit; pairs may be there more than once.

    >>> assigned(np.array([0, 0, 0, 1, 1]), np.array([0, 1, 2, 0, 3]), [1, 2, 3])
    [2, 4, 4]
    """
    if not units.size:
        return [0 for _ in limits]
    width = int(values.max()) + 1
    pairs = np.unique(units * width + values)
    holders, held = pairs // width, pairs % width
    number = np.bincount(holders)[holders]
    return [_assigned(holders, held, number, limit) for limit in limits]


def _assigned(holders: Codes, held: Codes, number: Codes, limit: int) -> int:
    few = number <= limit
    free = np.zeros(int(held.max()) + 1, dtype=bool)
    free[held[few]] = True
    left = ~free[held]
    return int(np.count_nonzero(free)) + _largest_flow(holders[left], held[left], limit)


def _largest_flow(holders: Codes, held: Codes, limit: int) -> int:
    """The largest assignment of some pairs, each there once."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import maximum_flow

    if not holders.size:
        return 0
    units, rows = np.unique(holders, return_inverse=True)
    values, columns = np.unique(held, return_inverse=True)
    source, sink = units.size + values.size, units.size + values.size + 1
    tails = np.concatenate([np.full(units.size, source), rows, units.size + np.arange(values.size)])
    heads = np.concatenate([np.arange(units.size), units.size + columns, np.full(values.size, sink)])
    room = np.ones(tails.size, dtype=np.int32)
    room[: units.size] = np.minimum(np.bincount(rows), limit)
    places = (tails.astype(np.int32), heads.astype(np.int32))
    network = csr_array((room, places), shape=(sink + 1, sink + 1))
    return int(maximum_flow(network, source, sink).flow_value)
