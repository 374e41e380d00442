"""Makes rows for released totals: a log of the same columns with synthetic users."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

Integers = NDArray[np.int64]


def rows(users: Integers, counts: Integers | None, people: int) -> tuple[Integers, Integers, Integers | None]:
    """Places of users and items, and counts, for each row of a log in which item i has ``users[i]`` users and
    ``counts[i]`` counts.

    The users of an item are dealt from 0..people-1 in turn, going on where the last item stopped, so no pair occurs
    twice, and all users have nearly as many items. Which items a user has says nothing: nobody asked the log for it.

    Args:
        users: how many users each item has, 1 or more.
        counts: the sum of the counts of each item, no less than its users; None for a log without counts.
        people: how many users there are in all; more, where one item has more.

    >>> rows(np.array([2, 1]), np.array([5, 1]), 2)
    (array([0, 1, 0]), array([0, 0, 1]), array([3, 2, 1]))
    """
    total = int(users.sum())
    size = max(people, int(users.max(initial=1)))
    items = np.repeat(np.arange(users.size), users)
    who = np.arange(total) % size
    if counts is None:
        return who, items, None
    starts = np.cumsum(users) - users
    place = np.arange(total) - starts[items]
    each, rest = np.divmod(counts, users)
    return who, items, each[items] + (place < rest[items])


def user_names(places: Integers, kind: pa.DataType) -> pa.Array:
    """Users as numbers from 1, or as text where the log's users are text.

    >>> user_names(np.array([0, 1]), pa.string()).to_pylist()
    ['user 1', 'user 2']
    """
    numbers = pa.array(places + 1)
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        import pyarrow.compute as pc

        return pc.binary_join_element_wise("user", numbers.cast(pa.string()), " ")
    return numbers
