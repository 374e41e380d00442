"""Real numbers on a lattice, so that they get integer noise; whole numbers as they are.

Claim
    `VectorLattice.of(values, sensitivity)` holds integers z with z * step within step/2 of each value, for a step that
    is a power of two at most sensitivity / (2^20 d), d the number of values; integers stay as they are, with step 1.
    For real vectors that differ by at most D in L1 norm the integers differ by at most (D + d step) / step; in L2 norm
    by at most (D + r step) / step, r the square root of d, rounded up. `VectorLattice.shaped` gives noisy integers back
    in the values' own shape and kind.
Requires
    The values are all of the answer: the sensitivity speaks of the whole vector.
Relies on
    IEEE doubles: scaling by a power of two is exact, short of overflow and underflow; NumPy's `rint` is exact.
Proof
    Each coordinate moves by at most step/2 in rounding, so the difference of two by at most step; over d coordinates
    that adds at most d step to an L1 norm and sqrt(d) step to an L2 norm. Dividing a double by the step changes its
    exponent only; where the quotient would underflow, its rounding is 0, as it should be, and where it would overflow
    the quotient is formed from the double's integer ratio.
Rounding
    The shape given back is the double nearest to the exact multiple: post-processing.
Source
    Mironov, On significance of the least significant bits for differential privacy (CCS 2012), for why; Theory 3.
Mutant
    lattice-is-free: rounding adds nothing to the sensitivity; killed by test_rounding_is_paid_for.
    objects-add-as-they-like: whole numbers of other classes are not made plain ones; killed by
    test_whole_numbers_of_other_classes_are_added_as_plain_ones.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.errors import InvalidParameter, expected
from discreet.exact.amounts import is_whole
from discreet.exact.given_values import array_of

Values: TypeAlias = ArrayLike

FINENESS = 1 << 20
"""Rounding raises the sensitivity, and with it the noise, by at most one part in so many."""

FITS = 1 << 62
"""Integers below this add up within 64 bits."""

SAFE = 2.0**62
"""Floats below this become int64."""


def step_for(sensitivity: Fraction, dimension: int) -> Fraction:
    """The largest power of two that is at most sensitivity / (2**20 * dimension).

    >>> step_for(Fraction(1), 3)
    Fraction(1, 4194304)
    """
    wanted = sensitivity / (FINENESS * dimension)
    exponent = wanted.numerator.bit_length() - wanted.denominator.bit_length()
    step = Fraction(2) ** exponent
    return step if step <= wanted else step / 2


@dataclass(frozen=True, slots=True, eq=False)
class VectorLattice:
    """Values as integers, and what one step of them is worth."""

    integers: NDArray[Any]  # flat
    shape: tuple[int, ...] | None  # None: a bare number
    step: Fraction
    is_real: bool

    @classmethod
    def of(cls, values: Values, sensitivity: Fraction) -> VectorLattice:
        """The values on their lattice.

        Raises:
            InvalidParameter: a value is not a finite number.

        >>> VectorLattice.of(0.5, Fraction(1)).integers * 2.0**-20
        array([0.5])
        """
        array = array_of("values", values)
        shape = None if np.ndim(values) == 0 and not isinstance(values, np.ndarray) else array.shape
        flat = array.reshape(-1)
        if flat.dtype.kind == "f" and flat.dtype.itemsize <= 8 and np.isfinite(flat).all():
            step = step_for(sensitivity, max(1, flat.size))
            return cls(_nearest(flat.astype(np.float64), step), shape, step, is_real=True)
        if flat.dtype.kind == "i":
            return cls(flat.astype(np.int64), shape, Fraction(1), is_real=False)
        if flat.dtype.kind == "u" or (flat.dtype == object and all(map(is_whole, flat))):
            # int(): whole numbers of other classes wrap, fail, or add in a way of their own.
            return cls(np.array([*map(int, flat), None], dtype=object)[:-1], shape, Fraction(1), is_real=False)
        cure = "give integers or floats, none of them missing, infinite or NaN."
        raise InvalidParameter(expected("finite numbers", "values", f"<{array.dtype} of shape {array.shape}>", cure))

    def sensitivity(self, sensitivity: Fraction, *, norm: int) -> Fraction:
        """The sensitivity of the integers, in steps, given that of the values in L1 (norm=1) or L2 norm (norm=2)."""
        if not self.is_real:
            return sensitivity
        return lattice_sensitivity(sensitivity, self.step, self.integers.size, norm=norm)

    def shaped(self, noisy: NDArray[Any]) -> Any:
        """Noisy integers in the shape and kind of the values: ints stay ints."""
        given: NDArray[Any] = noisy
        if self.is_real:
            if noisy.dtype == object:
                given = np.array([_product(z, self.step) for z in noisy.tolist()], dtype=np.float64)
            else:
                given = np.ldexp(noisy.astype(np.float64), _exponent(self.step))
        if self.shape is None:
            return given[0].item() if hasattr(given[0], "item") else given[0]
        return given.reshape(self.shape)


def lattice_sensitivity(sensitivity: Fraction, step: Fraction, dimension: int, *, norm: int) -> Fraction:
    """What `sensitivity` of `dimension` reals becomes on the lattice, in steps.

    >>> (
    ...     lattice_sensitivity(Fraction(1), Fraction(1, 8), 4, norm=1),
    ...     lattice_sensitivity(Fraction(1), Fraction(1, 8), 4, norm=2),
    ... )
    (Fraction(12, 1), Fraction(10, 1))
    """
    extra = dimension if norm == 1 else math.isqrt(max(0, dimension - 1)) + 1
    return sensitivity / step + extra


def summed(flat: NDArray[Any], noise: NDArray[Any]) -> NDArray[Any]:
    """Integers and their noise, added exactly: int64 where all fits, Python integers otherwise.

    >>> summed(np.array([1, 2]), np.array([3, -4]))
    array([ 4, -2])
    """
    both = (flat, noise)
    if any(
        part.dtype == object or (part.size and max(abs(int(part.min())), abs(int(part.max()))) >= FITS) for part in both
    ):
        flat, noise = flat.astype(object), noise.astype(object)
    total: NDArray[Any] = flat + noise
    return total


def _nearest(values: NDArray[np.float64], step: Fraction) -> NDArray[Any]:
    with np.errstate(over="ignore", under="ignore"):
        scaled = np.rint(np.ldexp(values, -_exponent(step)))
    if (np.abs(scaled) < SAFE).all():
        return scaled.astype(np.int64)
    return np.array([round(Fraction(value) / step) for value in values.tolist()], dtype=object)


def _exponent(step: Fraction) -> int:
    return step.numerator.bit_length() - step.denominator.bit_length()


def _product(steps: int, step: Fraction) -> float:
    try:
        return float(steps * step)
    except OverflowError:
        return math.inf if steps > 0 else -math.inf
