"""Finite fields small enough to write their tables down, for hash functions with exactly fair collisions.

Not left to python-flint, which computes one element at a time: a hash looks up whole arrays.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

LARGEST = 1024
"""The largest field that is tabulated."""


@dataclass(frozen=True, slots=True, eq=False)
class Field:
    """The field with `order` elements, numbered 0..order-1, by its tables of sums and products.

    >>> Field.of_order(4).product[2]
    array([0, 2, 3, 1])
    """

    order: int
    total: NDArray[np.int64]
    product: NDArray[np.int64]

    @classmethod
    def of_order(cls, order: int) -> Field:
        """The field with a prime power of elements; its tables are made once and kept."""
        return _field(order)


@cache
def prime_powers(largest: int = LARGEST) -> tuple[int, ...]:
    """The orders of all fields up to a size.

    >>> prime_powers(13)
    (2, 3, 4, 5, 7, 8, 9, 11, 13)
    """
    primes = [p for p in range(2, largest + 1) if all(p % d for d in range(2, int(p**0.5) + 1))]
    powers = {p**k for p in primes for k in range(1, largest.bit_length()) if p**k <= largest}
    return tuple(sorted(powers))


@cache
def _field(order: int) -> Field:
    prime = next(p for p in range(2, order + 1) if order % p == 0)
    degree = round(np.log(order) / np.log(prime))
    digits = np.stack([np.arange(order) // prime**i % prime for i in range(degree)], axis=1)
    place = prime ** np.arange(degree)
    total = ((digits[:, None] + digits[None]) % prime) @ place
    for tail in range(order):  # x^degree = -(tail), for each polynomial until one is irreducible
        product = _products(digits, digits[tail], prime, place)
        if np.array_equal(np.sort(product[1:, 1:], axis=1), np.tile(np.arange(1, order), (order - 1, 1))):
            break
    for table in (total, product):
        table.setflags(write=False)  # shared by all who use the field
    return Field(order, total, product)


def _products(
    digits: NDArray[np.int64], tail: NDArray[np.int64], prime: int, place: NDArray[np.int64]
) -> NDArray[np.int64]:
    """The products of all polynomials below x^degree, reduced by x^degree + tail."""
    order, degree = digits.shape
    products, shifted = np.zeros((order, order, degree), dtype=np.int64), digits
    for i in range(degree):
        products += digits[:, None, i, None] * shifted[None]
        top = shifted[:, -1:]
        shifted = (np.concatenate([np.zeros((order, 1), dtype=np.int64), shifted[:, :-1]], axis=1) - top * tail) % prime
    return (products % prime) @ place
