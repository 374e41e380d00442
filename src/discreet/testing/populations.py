"""Made-up populations of counties, as many in each state as in the United States."""

from __future__ import annotations

from itertools import chain
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

STATES = {
    "AL": 67,
    "AK": 30,
    "AZ": 15,
    "AR": 75,
    "CA": 58,
    "CO": 64,
    "CT": 8,
    "DE": 3,
    "DC": 1,
    "FL": 67,
    "GA": 159,
    "HI": 5,
    "ID": 44,
    "IL": 102,
    "IN": 92,
    "IA": 99,
    "KS": 105,
    "KY": 120,
    "LA": 64,
    "ME": 16,
    "MD": 24,
    "MA": 14,
    "MI": 83,
    "MN": 87,
    "MS": 82,
    "MO": 115,
    "MT": 56,
    "NE": 93,
    "NV": 17,
    "NH": 10,
    "NJ": 21,
    "NM": 33,
    "NY": 62,
    "NC": 100,
    "ND": 53,
    "OH": 88,
    "OK": 77,
    "OR": 36,
    "PA": 67,
    "RI": 5,
    "SC": 46,
    "SD": 66,
    "TN": 95,
    "TX": 254,
    "UT": 29,
    "VT": 14,
    "VA": 133,
    "WA": 39,
    "WV": 55,
    "WI": 72,
    "WY": 23,
}
"""How many counties each state has."""

MEDIAN = 26_000
SPREAD = 1.5
"""Populations are those of a log-normal law with this standard deviation: about as uneven as real ones."""
STRIDE = 1237
"""Has no divisor in common with the number of counties, so that it shuffles them."""


class Counties(NamedTuple):
    """Names such as TX-007, the number of the state of each, the names of the states, and populations."""

    names: tuple[str, ...]
    state_of: NDArray[np.int64]
    states: tuple[str, ...]
    population: NDArray[np.int64]


def counties() -> Counties:
    """3,143 made-up counties in 51 states; the same each time.

    >>> found = counties()
    >>> len(found.names), found.names[-1], int(found.population.min()), int(found.population.max())
    (3143, 'WY-023', 117, 5756918)
    """
    sizes = list(STATES.values())
    number = sum(sizes)
    normal = NormalDist(0.0, SPREAD)
    ranked = [round(MEDIAN * float(np.exp(normal.inv_cdf((i + 0.5) / number)))) for i in range(number)]
    return Counties(
        names=tuple(chain.from_iterable(_names(state, size) for state, size in STATES.items())),
        state_of=np.repeat(np.arange(len(sizes)), sizes),
        states=tuple(STATES),
        population=np.array([ranked[i * STRIDE % number] for i in range(number)]),
    )


def _names(state: str, size: int) -> list[str]:
    return [f"{state}-{i:03}" for i in range(1, size + 1)]
