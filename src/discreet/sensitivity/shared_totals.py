"""The largest total of amounts that belong to two units each, where no unit has more than a limit.

Claim
    For each limit l, ``totals_under_limits(first, second, amounts, limits)`` is the whole part of f(l): the maximum of
    the sum of x_e over all pairs e, with 0 <= x_e <= w_e, the amount of the pair, and for each unit the sum of x_e over
    the pairs that it is in no more than l. Adding a unit, with any pairs that it is in, raises that whole part by 0 to
    l; so one with other pairs in its place moves it by l at most, either way. It does not fall as l rises, is at most
    the total of all amounts, and is that total where no unit has more than l. Whatever order pairs come in, it is the
    same.
Requires
    Units as numbers from 0 on; whole amounts of 0 or more; limits of 1 to 2**30; fewer than 2**28 pairs.
Relies on
    `scipy.sparse.csgraph.maximum_flow`: a flow of the largest value, in integers of 32 bits.
Proof
    *Movement.* What is feasible without the unit is so with it, at 0 for its pairs: f does not fall. Of the best with
    it, its pairs have at most l in all; without these it is feasible for the others: f has risen by l at most. The
    floor of y + d is above that of y by 0 to l where d is between 0 and the whole number l. Two tables that differ in
    the pairs of one unit are both above the table without them by 0 to l: they are l apart at most, not 2 l.
    *One name space.* Nothing in this needs that a unit is in one column: its pairs are those that name it in either. If
    keys of both columns are of different kinds, a unit v of the first has the pairs of the first column alone; of these
    the best has no more than l either, since it has no more of all pairs that name v. So f moves by 0 to l for both
    readings. With a limit for each column apart, one who is in both would move it by 2 l.
    *Peeling.* Let r_v be what is left of the limit of v, and s_v the amounts of its pairs. (a) Where s_v <= r_v, the
    limit of v follows from the amounts: v is free, and a pair of v and u counts for u alone, or, if u is free as well,
    in full. (b) Of what counts for v alone, as much as r_v holds is taken: whoever has a best x with less there and
    some of another pair of v can trade, for the same sum, and the other unit has more left. A pair of a unit with
    itself counts for it alone. So f(l) is what is taken and f of the other pairs with what is left, by which their
    amounts may be cut. Both steps are repeated until nobody is free. A pair that is there twice is as one with both
    amounts.
    *Lines.* f is concave, as the mean of two feasible x is feasible for the mean of their limits, does not fall, and is
    0 at 0. So where it has the same value at two limits it has it between them, and where it is on one line at three it
    is on that line between the outer ones: twice its value is a whole number there, too.
    *Covers.* Of pairs that are left, let A have an end of each. Then f is at most the sum of r_a over A: each pair
    counts at one of A or both. It is that sum if for each a its pairs with others, who are not in A, add up to some s_a
    of r_a or more, and if no other v has more than r_v where each such pair counts for r_a / s_a of its amount, and
    those within A for nothing: each a has r_a then. No flow has to be found where this holds of those who have more of
    their limits than the other end of some pair.
    *Double cover.* Let each remaining v be there twice, v' and v'', and each pair of u and v two arcs, u' -> v'' and
    v' -> u'', of capacity w_e; a source leads to each v', and each v'' to a sink, with capacity r_v. From x, the flow
    x_e on both arcs has the value 2 sum of x_e. From any flow, x_e = half of what is on both arcs has x_e <= w_e, at v
    half of what leaves v' and what enters v'', which is r_v at most, and as sum half of the flow. So f is half of the
    largest flow, and that is an integer, since the capacities are (Ford and Fulkerson 1956).
    *Thirty-two bits.* Capacities are at most l <= 2**30, and no arc has a reverse, so what can be pushed back is at
    most that, too. The value is the sum of what leaves the source, of 64 bits. There are 2 arcs for each pair and 4
    for each unit, and as many backwards, fewer than 2**31.
Rounding
    A half down. Shares of fewer than 2**28 amounts are added up as doubles, which are off by less than 2**-24 of the
    sum; it counts as 2**-20 more.
Source
    Kasiviswanathan, Nissim, Raskhodnikova, Smith, "Analyzing graphs with node differential privacy" (TCC 2013), section
    3: the flow; Dong, Fang, Yi, Tao, Machanavajjhala, "R2T" (SIGMOD 2022), section 6: the linear program. The double
    cover: Nemhauser and Trotter (1975).
Mutant
    both-copies-count: the flow through both copies is taken for the total; killed by
    test_one_unit_moves_it_by_its_limit_at_most.
    loops-on-both-sides: a pair of a unit with itself is an arc like others; killed by test_it_is_the_linear_program.
    lines-through-two-points: f is taken for a line between any two limits; killed by test_it_is_the_linear_program.
    covers-overfill-others: nobody asks whether the others have room; killed by test_it_is_the_linear_program.
    covers-of-pairs-within: pairs within a cover count for one of its two; killed by
    test_covers_are_the_linear_program.
    free-without-what-is-left: who is free is told from the limit, not from what is left of it; killed by
    test_it_is_the_linear_program.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Whole = NDArray[np.int64]
Narrow = NDArray[np.int32]

LARGEST = 2**30
"""Of a limit."""
AT_ONCE = 2**23
"""Pairs whose amounts are added up at once: sums of so many of them are exact as doubles."""
OVER = 1 + 2**-20
"""As what sums of shares count, which rounding makes smaller by less."""


class Pairs(NamedTuple):
    """Amounts of two units each, by their numbers."""

    first: Narrow
    second: Narrow
    amounts: Narrow

    def take(self, which: NDArray[np.bool_]) -> Pairs:
        """Some of them."""
        return self if which.all() else Pairs(self.first[which], self.second[which], self.amounts[which])


def totals_under_limits(
    first: Whole | Narrow, second: Whole | Narrow, amounts: Whole | Narrow, limits: Sequence[int]
) -> list[int]:
    """The largest total under each limit, rounded down; a pair may be there more than once, in either order.

    >>> both = np.array([0, 0, 1]), np.array([1, 2, 2])
    >>> totals_under_limits(*both, np.array([5, 5, 5]), [1, 2, 8, 10])
    [1, 3, 12, 15]
    """
    cut = amounts if amounts.dtype == np.int32 and amounts.max(initial=0) <= LARGEST else np.minimum(amounts, LARGEST)
    pairs = Pairs(*(one.astype(np.int32, copy=False) for one in (first, second, cut)))
    number = int(max(first.max(initial=-1), second.max(initial=-1))) + 1
    points = [0, *sorted(set(limits))]
    twice = {0: 0, points[-1]: _twice(pairs, number, points[-1])}

    def fill(low: int, high: int) -> None:
        """Finds what is between two points."""
        middle, (a, c) = (low + high) // 2, (points[low], points[high])
        if middle == low:
            return
        b = points[middle]
        twice[b] = twice[c] if twice[a] == twice[c] else _twice(pairs, number, b)
        if (twice[b] - twice[a]) * (c - b) == (twice[c] - twice[b]) * (b - a):
            between = points[low + 1 : high]
            twice.update({one: twice[a] + (twice[c] - twice[a]) * (one - a) // (c - a) for one in between})
        else:
            fill(low, middle)
            fill(middle, high)

    fill(0, len(points) - 1)
    return [twice[limit] // 2 for limit in limits]


def _merged(pairs: Pairs) -> Pairs:
    """Each pair once, with what it has in all, cut at the largest limit."""
    first, second = np.minimum(pairs.first, pairs.second), np.maximum(pairs.first, pairs.second)
    order = np.lexsort((second, first))
    first, second = first[order], second[order]
    starts = np.flatnonzero(np.diff(first, prepend=-1) | np.diff(second, prepend=-1))
    added = np.add.reduceat(pairs.amounts[order], starts, dtype=np.int64)
    return Pairs(first[starts], second[starts], np.minimum(added, LARGEST).astype(np.int32))


def _twice(pairs: Pairs, number: int, limit: int) -> int:
    """Two times the largest total under a limit."""
    left = np.full(number, limit, dtype=np.int32)
    loops = pairs.first == pairs.second
    alone = _added(pairs.first[loops], pairs.amounts[loops], number)
    pairs, taken = pairs.take(~loops), 0
    while True:
        now = np.minimum(alone, left)
        left -= now.astype(np.int32)
        taken += int(now.sum())
        cut = np.minimum(pairs.amounts, left[pairs.first])
        pairs = pairs._replace(amounts=np.minimum(cut, left[pairs.second], out=cut))
        pairs = pairs.take(pairs.amounts > 0)
        has = _added(pairs.first, pairs.amounts, number) + _added(pairs.second, pairs.amounts, number)
        free = has <= left
        one, other = free[pairs.first], free[pairs.second]
        if not (one | other).any():
            rest = _covered(pairs, left, has)
            return 2 * taken + (_largest_flow(_merged(pairs), left) if rest is None else 2 * rest)
        taken += int(pairs.amounts[one & other].sum(dtype=np.int64))
        alone = _added(pairs.first[other & ~one], pairs.amounts[other & ~one], number)
        alone += _added(pairs.second[one & ~other], pairs.amounts[one & ~other], number)
        pairs = pairs.take(~(one | other))


def _added(units: Narrow, amounts: Narrow, number: int) -> Whole:
    """What each unit has, exactly: each sum is a whole number that doubles hold."""
    added = np.zeros(number, dtype=np.int64)
    for these in _parts(units.size):
        added += np.bincount(units[these], amounts[these], number).astype(np.int64)
    return added


def _parts(size: int) -> Iterator[slice]:
    return (slice(start, start + AT_ONCE) for start in range(0, size, AT_ONCE))


def _covered(pairs: Pairs, left: Narrow, has: Whole) -> int | None:
    """The largest total of pairs, if those who have most beside what is left of their limits have that much of it from
    the others; none, where that is not so.
    """
    times = has / np.maximum(left, 1)
    more = times[pairs.first] >= times[pairs.second]
    cover = np.zeros(left.size, dtype=bool)
    cover[pairs.first[more]] = cover[pairs.second[~more]] = True
    within, by_first = cover[pairs.first] & cover[pairs.second], cover[pairs.first]
    ends = np.where(by_first, pairs.first, pairs.second), np.where(by_first, pairs.second, pairs.first)
    by, of, amounts = Pairs(*ends, pairs.amounts).take(~within)
    own = _added(by, amounts, left.size)
    if (own[cover] < left[cover]).any():
        return None
    share, load = left / np.maximum(own, 1), np.zeros(left.size)
    for these in _parts(by.size):
        load += np.bincount(of[these], amounts[these] * share[by[these]], left.size)
    return int(left[cover].sum(dtype=np.int64)) if (load * OVER <= left).all() else None


def _largest_flow(pairs: Pairs, left: Narrow) -> int:
    """The largest flow through the double cover."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import maximum_flow

    is_there = np.zeros(left.size, dtype=bool)
    is_there[pairs.first] = is_there[pairs.second] = True
    renumbered, rooms = np.cumsum(is_there, dtype=np.int32) - np.int32(1), left[is_there]
    here, there = renumbered[pairs.first], renumbered[pairs.second]
    number, places = rooms.size, np.arange(rooms.size, dtype=np.int32)
    source, sink = 2 * number, 2 * number + 1
    tails = np.concatenate([here, there, np.full(number, source, np.int32), number + places])
    heads = np.concatenate([number + there, number + here, places, np.full(number, sink, np.int32)])
    room = np.concatenate([pairs.amounts, pairs.amounts, rooms, rooms])
    network = csr_array((room, (tails, heads)), shape=(sink + 1, sink + 1))
    return int(maximum_flow(network, source, sink, method="dinic").flow_value)
