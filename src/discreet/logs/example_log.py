"""A synthetic log of page visits that resembles real ones, the same every time, for examples."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

MULTIPLIER = 0x9E3779B97F4A7C15
BEND = 2.7
STEEPNESS = 1.05
"""Item r is chosen in proportion to (r + BEND) ** -STEEPNESS: an assumed curve of Zipf and Mandelbrot."""

ACTIVITY = 1.6
"""A user has k items with a probability that falls about like k ** -ACTIVITY."""


def example_visits(*, users: int = 5_000, pages: int = 2_000, most: int = 40, seed: int = 1) -> pa.Table:
    """A synthetic log with the columns ``user``, ``page`` and ``visits``, each pair once.

    Few pages have most of the users, and few users most of the pages, as in logs of searches, purchases and edits.

    Args:
        users: how many users there are.
        pages: how many pages they choose from; some may have no visit.
        most: the most pages that a user has.
        seed: another number gives another log.

    >>> log = example_visits(users=100, pages=50)
    >>> log.column_names, log.num_rows == example_visits(users=100, pages=50).num_rows
    (['user', 'page', 'visits'], True)
    """
    numbers = np.arange(users)
    share = _uniform(numbers, seed)
    sizes = np.minimum((1 - share) ** (-1 / (ACTIVITY - 0.2)), min(most, pages)).astype(np.int64)
    who = np.repeat(numbers, sizes)
    weights = (np.arange(pages) + BEND) ** -STEEPNESS
    rank = np.searchsorted(np.cumsum(weights) / weights.sum(), _uniform(np.arange(who.size), seed + 1), side="right")
    pairs = np.unique(np.stack([who, np.minimum(rank, pages - 1)]), axis=1)
    often = np.minimum((1 - _uniform(np.arange(pairs.shape[1]), seed + 2)) ** -0.5, 30).astype(np.int64)
    names = np.array([f"/page/{rank + 1}" for rank in range(pages)])
    return pa.table({"user": pairs[0], "page": names[pairs[1]], "visits": often})


def _uniform(numbers: NDArray[np.int64], seed: int) -> NDArray[np.float64]:
    """Maps whole numbers to fixed, scattered points of [0, 1); synthetic data need no randomness."""
    mixed = (numbers.astype(np.uint64) + np.uint64(seed << 40) + np.uint64(1)) * np.uint64(MULTIPLIER)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray((mixed ^ (mixed >> np.uint64(31))).astype(np.float64) * 2.0**-64 * (1 - 2.0**-50))
