"""Records as codes of their values: a row for each, a column for each attribute.

Claim
    `clipped_codes` gives each record the codes of one cell of the domain, by itself alone; what is refused depends on
    the shape and the type of the array, not on its entries.
Requires
    A public number of values for each attribute.
Relies on
    Nothing further.
Proof
    Codes outside of their range count as the nearest; unsigned ones above 2**62 are set to that before they are taken
    for signed ones, so that none changes its sign.
Rounding
    None: integers.
Source
    Clipping, as of the columns of tables.
Mutant
    wild-codes-wrap: a code outside of its range is another cell's; killed by test_codes_outside_count_as_the_nearest.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from discreet.errors import InvalidParameter, expected
from discreet.exact.given_values import array_of

LARGEST = 2**62


def clipped_codes(records: object, sizes: Sequence[int]) -> NDArray[np.int64]:
    """The records as codes inside of their ranges; what is refused does not depend on what they are.

    >>> clipped_codes(np.array([[0, 9], [-1, 1]]), (2, 3)).tolist()
    [[0, 2], [0, 1]]
    """
    array = array_of("records", records)
    if array.ndim != 2 or array.shape[1] != len(sizes) or array.dtype.kind not in "iu":
        what, got = f"an array of whole numbers with {len(sizes)} columns", f"{array.dtype} of {array.ndim} dimensions"
        raise InvalidParameter(expected(what, "records", got, "number the values of each attribute from 0 on."))
    signed = np.minimum(array, np.uint64(LARGEST)) if array.dtype == np.uint64 else array
    last = np.array([size - 1 for size in sizes])
    return np.clip(signed.astype(np.int64), 0, last)
