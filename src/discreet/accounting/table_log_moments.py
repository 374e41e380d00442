"""Log-moments of tables, many at a time.

Claim
    `tabulated(losses, first, counts, z)` is the sum over rows of counts times the logarithm of sum_j first_j e^(z
    losses_j): of each row, a moment wrong by at most 15 rounding units and `additions` of its length, of its value at
    the real part of z; the angles apart, which are those of losses below the last.
Requires
    Two arrays of the same shape, (tables, outputs); losses ascending in each row.
Relies on
    NumPy's complex exp and log to within 8 units; `pairwise_summation`.
Proof
    The last loss of a row is its top: with it taken out, no exponential is above 1. Masses are wrong by 6 units, the
    exponential by 8, the product by 1. Up to `SHORT` terms are added in a row, longer ones by halves.
Rounding
    To nearest; the bound is for the caller to add. A moment that cancels to 0 becomes the least float, within it.
Source
    Higham, Accuracy and Stability of Numerical Algorithms (2002), section 4.2.
Mutant
    long-tables-in-a-row: a long table is summed by einsum; killed by test_moments_of_long_tables_are_exact.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from discreet.accounting.pairwise_summation import halved, total
from discreet.exact.amounts import LEAST_FLOAT

Reals = NDArray[np.float64]
Complexes = NDArray[np.complex128]

SHORT = 8
"""Tables of so many outputs are added up in a row."""


def rows_at_once(size: int, z: Complexes) -> int:
    """How many tables of that size fit into memory beside all frequencies."""
    return max(1, 4_000_000 // (size * z.size))


def tabulated(losses: Reals, first: Reals, counts: Reals, z: Complexes) -> Complexes:
    """Log-moments of tables of one size, a row for each."""
    top = losses[:, -1]
    if losses.shape[1] <= SHORT:
        moments = np.repeat(first[:, -1:].astype(np.complex128), z.size, axis=1)  # the top itself: e^0
        for column in range(losses.shape[1] - 1):
            moments += first[:, column, None] * np.exp(np.multiply.outer(losses[:, column] - top, z))
    else:
        moments = np.stack([_long_table(row - row[-1], masses, z) for row, masses in zip(losses, first, strict=True)])
    moments[moments == 0.0] = LEAST_FLOAT  # laws that cancel at a frequency: their rounding is wider than that
    return halved(counts[:, None] * np.log(moments)) + z * total(top * counts)


def _long_table(losses: Reals, first: Reals, z: Complexes) -> Complexes:
    """E[e^(zL)] of one long table, in pieces that fit into a cache."""
    step = max(1, 1_000_000 // losses.size)
    result = np.empty_like(z)
    for i in range(0, z.size, step):
        terms = np.exp(np.multiply.outer(losses, z[i : i + step]))
        terms *= first[:, None]
        result[i : i + step] = halved(terms)
    return result
