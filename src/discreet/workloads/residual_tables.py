"""Residual tables: what each set of attributes adds to the marginals of its subsets, as exact integers.

Claim
    `residual(marginal)` is an integer table in which one record changes the square of the L2 norm by `moved(sizes)`,
    whatever record it is. The marginal of a set S is the sum over its subsets A of `spread` of their residual tables,
    over the product of the sizes of S; `centered` leaves residual tables as they are, and takes of independent noise of
    variance 1 in each cell all but the part `kept(sizes)`.
Requires
    Sizes of 2 or more. Of `residual`: records times the product of twice the sizes below 2**63, so that no integer
    wraps.
Relies on
    Integer sums.
Proof
    Along an attribute of d values let J be the matrix of ones. The residual table of A is the full table under d I - J
    along each attribute of A, and under sums along all others. A record is one unit vector e along each: (d I - J) e
    has an entry d - 1 and d - 1 entries of -1, so its square is (d - 1)^2 + (d - 1) = d (d - 1); norms of products
    multiply. I = (d I - J) / d + J / d along each attribute of S gives the sum over its subsets. Rows of d I - J
    sum to 0, so subtracting means along each attribute changes nothing of a residual table; it is the projection
    I - J / d on noise, whose diagonal is 1 - 1/d.
Rounding
    None in integers; `centered` and `spread` are post-processing.
Source
    Residual bases: Xiao, He, Zhang and Kifer, "An optimal and scalable matrix mechanism for noisy marginals under
    convex loss functions" (2023), with integer rows and independent noise here.
Mutant
    residuals-of-one-value: a record is taken to move a residual table in its own cell alone; killed by
    test_every_record_moves_a_residual_table_by_the_same.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Reals = NDArray[np.float64]


def squared_sensitivity(sizes: Sequence[int]) -> int:
    """The square of the L2 norm by which one record changes a residual table of these sizes.

    >>> squared_sensitivity([2, 3]), squared_sensitivity([])
    (12, 1)
    """
    return math.prod(size * (size - 1) for size in sizes)


def centered_variance(sizes: Sequence[int]) -> float:
    """The variance that noise of variance 1 in each cell has after `centered`."""
    return math.prod(1 - 1 / size for size in sizes)


def residual(marginal: NDArray[Any], *, axes: int | None = None) -> NDArray[Any]:
    """The residual table of a marginal, one axis for each attribute; or along its first `axes`.

    >>> residual(np.array([5, 1]))
    array([ 4, -4])
    """
    for axis, size in enumerate(marginal.shape[:axes]):
        marginal = size * marginal - marginal.sum(axis=axis, keepdims=True)
    return marginal


def centered(noisy: NDArray[Any], *, axes: int | None = None) -> Reals:
    """A noisy residual table without what no residual table has: means along an attribute."""
    table: Reals = np.asarray(noisy, dtype=np.float64)
    for axis in range(table.ndim if axes is None else axes):
        table = table - table.mean(axis=axis, keepdims=True)
    return table


def spread(table: Reals, axes: Sequence[int], shape: Sequence[int]) -> Reals:
    """A table over some axes of a shape, repeated along the others.

    >>> spread(np.array([1.0, 2.0]), [1], (2, 2))
    array([[1., 2.],
           [1., 2.]])
    """
    own = [size if axis in axes else 1 for axis, size in enumerate(shape)]
    return np.broadcast_to(table.reshape(own), tuple(shape))
