"""Polynomials of several columns in products of their Bernstein polynomials: which coefficients give which moment.

Claim
    Let each row have values u_k in [0, 1], and let a component hold the sum over the rows of one product of Bernstein
    polynomials, of degree d_k in u_k, for each choice of one from each column. With the coefficients that `Basis` gives
    the components add up to the sum of the polynomial that is asked for.
Requires
    Degrees 1 and 2.
Relies on
    Nothing.
Proof
    For degree 1 the polynomials are 1-u and u, for degree 2 they are (1-u)², 2u(1-u) and u²; both add up to 1. So 1 has
    the coefficients (1, ..., 1), and u has i/d: 0(1-u) + 1u, and u(1-u) + u². With u - a = (1-a)u - a(1-u), the square
    of u - a has a², -a(1-a) and (1-a)². A product of polynomials of single columns has the products of their
    coefficients.
Rounding
    Doubles, which multiply noisy totals alone.
Source
    Lorentz, Bernstein Polynomials (1953).
Mutant
    middle-of-a-square: the middle coefficient of a square has the wrong sign; killed by
    test_coefficients_give_the_moment.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

Reals = NDArray[np.float64]


class Basis(NamedTuple):
    """The products of the Bernstein polynomials of some columns."""

    degrees: tuple[int, ...]
    """One for each column."""

    def single(self, column: int, power: int, about: ArrayLike = 0.0) -> Reals:
        """The coefficients of (u - about)**power in the polynomials of one column: an axis behind those of `about`."""
        a, degree = np.asarray(about, dtype=np.float64)[..., None], self.degrees[column]
        if power == 2:
            return np.concatenate([a**2, -a * (1.0 - a), (1.0 - a) ** 2], axis=-1)
        linear: Reals = np.arange(degree + 1) / degree - a
        return linear if power else np.ones_like(linear)

    def product(self, *factors: Reals) -> Reals:
        """The coefficients of a product, from those of one factor in each column; the components on the last axis."""
        made = np.ones(1)
        for factor in factors:
            outer = made[..., :, None] * factor[..., None, :]
            made = outer.reshape(*outer.shape[:-2], outer.shape[-2] * outer.shape[-1])
        return made

    def crossed(self, about: Sequence[ArrayLike]) -> Reals:
        """The coefficients of the product of all u_k - about_k."""
        return self.product(*(self.single(k, 1, a) for k, a in enumerate(about)))
