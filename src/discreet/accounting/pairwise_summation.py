"""Pairwise summation: sums of many floats with small rounding errors.

Claim
    `halved(terms)` and `gathered(arrays)` are the sum of n terms, in each place wrong by at most `additions(n)`
    rounding units (to first order) of the sum of their absolute values; real and complex alike.
Requires
    No overflow. `halved` may overwrite its argument.
Relies on
    NumPy's addition of two arrays, rounded to nearest. Not on the order in which NumPy's own sums, products of matrices
    and `einsum` add: that is nowhere promised, and one after the other costs up to n units.
Proof
    A term that passes d additions is multiplied by d factors of at most 1 + 2^-53 each; a complex sum is two real ones,
    and the norm of the sum of (|re|, |im|) is at most the sum of the norms. *halved*: a step leaves ceil(n/2) terms, so
    there are ceil(log2 n). *gathered*: only sums of equally many arrays, 2^a of them, are added up, each after a
    additions. Those that are left have different a, of which the largest is at most log2 n; they are added from the
    smallest on, so that one passes at most one more addition for itself and one for each larger: floor(log2 n) + 1.
Rounding
    To nearest; the bound is for the caller to add.
Source
    Higham, Accuracy and Stability of Numerical Algorithms (2002), section 4.2: pairwise summation.
Mutant
    one-after-the-other: the terms are added in a row; killed by test_each_term_passes_few_additions.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

Number = TypeVar("Number", np.float64, np.complex128)

UNIT = 2.0**-53
"""The rounding unit: how far one operation may be from its result, as a part of it."""


def additions(number: int) -> int:
    """The most additions that one of so many terms takes part in."""
    return number.bit_length()


def halved(terms: NDArray[Number]) -> NDArray[Number]:
    """The sum over the first axis, 0 of no terms."""
    if not len(terms):
        return np.zeros(terms.shape[1:], dtype=terms.dtype)
    while (number := len(terms)) > 1:
        half = number // 2
        terms[:half] += terms[number - half :]
        terms = terms[: number - half]
    return np.array(terms[0])


def total(terms: NDArray[np.float64]) -> float:
    """The same of a list of numbers, which stays as it is."""
    return float(halved(terms.copy()))


def gathered(arrays: Iterable[NDArray[Number]], start: NDArray[Number]) -> NDArray[Number]:
    """The sum of arrays that are made one by one, of which few are kept; `start` where there are none."""
    waiting: list[tuple[int, NDArray[Number]]] = []
    for found in arrays:
        number, whole = 1, found
        while waiting and waiting[-1][0] == number:
            number, whole = 2 * number, waiting.pop()[1] + whole
        waiting.append((number, whole))
    while len(waiting) > 1:
        (_, small), (number, large) = waiting.pop(), waiting.pop()
        waiting.append((number, large + small))
    return waiting[0][1] if waiting else start
