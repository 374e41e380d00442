"""The lattice: reals as integers, so fine that rounding drowns in the noise, so coarse that nothing overflows.

Claim
    For every x in the declared interval, `lattice_step`, clipped, is an integer q in [low, high] with
    |x - value(q)| <= step/2 (0 for integers kept as they are), and the components made from q are integers whose
    absolute values sum to at most `steps` for one row.
Requires
    An interval with finite ends.
Relies on
    IEEE doubles for floor((x - origin) * 2**exponent + 1/2): multiplication by a power of two is exact.
Proof
    (x - origin) 2^e lies in [0, high] up to half a step, and the integer clip removes what rounding may add at the
    ends. Rounding to the nearest integer is off by at most 1/2. `steps` = max(|low|, |high|) * fine by definition.
Rounding
    The difference and the sum in doubles add less than 2^-11 of a step, at 40 bits, where x itself is a double. Of
    integers, whose origin is one, the difference is exact; where it may not fit in 64 bits, they are first rounded to
    doubles, by 2^-11 of a step or less. The lattice is chosen from public numbers alone (the bounds, the
    limits, epsilon), never from rows or their number.
Source
    Mironov, "On significance of the least significant bits for differential privacy" (2012); Casacuberta et al.,
    "Widespread underestimation of sensitivity in differentially private libraries" (2022), section 6.
Mutant
    integers-as-doubles: an integer is rounded to a double before the origin is taken; killed by
    test_ranks_of_large_integers_are_held.
    truncated-lattice: the top of the interval lies a step too low; killed by test_lattice_rounds_to_nearest.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from discreet.errors import InvalidParameter
from discreet.language.checked_expressions import Kind, Value, cast
from discreet.language.exact_arithmetic import double, integer, rounded_half_up
from discreet.sensitivity.intervals import Interval, outward

if TYPE_CHECKING:
    import ibis.expr.types as ir

MOST_BITS = 40
"""One row's range is cut into at most 2**40 steps."""
FEWEST_BITS = 20
MOST_PRODUCT_BITS = 50
"""The polynomials of several columns divide a row's steps among them, and have more of them to divide."""
PRODUCT_BITS = 52
"""A unit's whole contribution stays below 2**52, where a quotient of doubles has the floor of the true one."""
SCALE_BITS = 56
"""Noise scales stay below 2**56, so that a draw beyond 62 bits has probability below e**-64."""
LARGEST_EXPONENT = 850
"""Ranges beyond 2**850, or below 2**-850, would leave the doubles on the way to the lattice."""
ROW_CAP = 2**48
"""The public row cap: totals of fewer rows stay below 2**(48 + 50), far inside 127 bits."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ColumnLattice:
    """q = floor((x - origin) * 2**exponent + 1/2), clipped to [low, high]; 1 in q weighs `fine` steps of noise."""

    origin: Fraction
    exponent: int
    low: int
    high: int
    fine: int
    exact: bool
    """Integers kept as they are: exponent 0, no rounding at all."""

    @property
    def steps(self) -> int:
        """What one row can weigh: the largest |q|, in steps of noise."""
        return max(abs(self.low), abs(self.high)) * self.fine

    @property
    def ends(self) -> tuple[int, int]:
        """What one row can add, at least and at most, in steps of noise; 0 if it does not count."""
        return min(self.low, 0) * self.fine, max(self.high, 0) * self.fine

    @property
    def back(self) -> int:
        """What one row can add in the direction in which it can add less."""
        return min(map(abs, self.ends))

    @property
    def step(self) -> Fraction:
        """The distance between neighboring values of q, in the column's own units."""
        return Fraction(2) ** -self.exponent

    def value(self, q: Fraction) -> Fraction:
        """The real value that stands at q."""
        return self.origin + q * self.step


def lattice_step(value: Value, lattice: ColumnLattice) -> ir.Value:
    """The lattice's integer for the value of each row, before it is clipped."""
    is_real = value.kind is Kind.REAL
    if lattice.exact and not is_real:
        return value.expr if not lattice.origin else value.expr - integer(int(lattice.origin))
    x: Any = value.expr
    if not is_real and lattice.origin and value.interval is not None and value.interval.width < 2**62:
        return rounded_half_up(cast(x - integer(int(lattice.origin)), Kind.REAL) * double(2.0**lattice.exponent))
    x = x if is_real else cast(x, Kind.REAL)
    if lattice.origin:
        x = x - double(float(lattice.origin))
    return rounded_half_up(x * double(2.0**lattice.exponent))


def bits_for(limits_product: int, rows_per_epsilon: Fraction, *, most: int = MOST_BITS) -> int:
    """How many bits one row may have: `rows_per_epsilon` is the sensitivity in rows over the block's epsilon."""
    contribution = (limits_product - 1).bit_length()
    noise = max(0, math.ceil(rows_per_epsilon) - 1).bit_length()
    bits = min(most, PRODUCT_BITS - contribution, SCALE_BITS - noise)
    if bits < FEWEST_BITS:
        raise InvalidParameter(
            f"Expected limits and an epsilon that leave {FEWEST_BITS} bits to each row, got {bits}.\n"
            "Hint: lower max_groups and max_rows, or spend more epsilon."
        )
    return bits


def counting(bits: int, *, weighted: bool) -> ColumnLattice:
    """The lattice of a count: one step a row, or fine ones where rows are weighted."""
    return ColumnLattice(origin=Fraction(0), exponent=0, low=0, high=1, fine=2**bits if weighted else 1, exact=True)


def spanning(interval: Interval, bits: int) -> ColumnLattice:
    """The lattice of y - low for moments: q runs from 0 to the top of the interval."""
    high = interval.high if interval.width else interval.low + 1
    if interval.integer and high - interval.low < 2**bits:
        width = int(high - interval.low)
        return ColumnLattice(origin=interval.low, exponent=0, low=0, high=width, fine=2**bits // width, exact=True)
    origin = outward(interval.low, interval.low).low  # a double, so that x - origin is rounded once
    exponent = _exponent(high - origin, bits)
    top = math.floor((high - origin) * Fraction(2) ** exponent + Fraction(1, 2))
    return ColumnLattice(origin=origin, exponent=exponent, low=0, high=max(top, 1), fine=1, exact=False)


def centered(interval: Interval, bits: int, *, weighted: bool) -> ColumnLattice:
    """The lattice of a lone sum: q keeps the sign of y, and zero stays zero."""
    largest = max(abs(interval.low), abs(interval.high)) or Fraction(1)
    if interval.integer and largest < 2**bits:
        fine = 2**bits // int(largest) if weighted else 1
        low, high = int(interval.low), int(interval.high)
        return ColumnLattice(
            origin=Fraction(0), exponent=0, low=low, high=high if (low or high) else 1, fine=fine, exact=True
        )
    exponent = _exponent(largest, bits)
    low, high = (math.floor(end * Fraction(2) ** exponent + Fraction(1, 2)) for end in (interval.low, interval.high))
    high = high if (low or high) else 1  # a sum of zeros has noise too
    return ColumnLattice(origin=Fraction(0), exponent=exponent, low=low, high=high, fine=1, exact=False)


def _exponent(size: Fraction, bits: int) -> int:
    """The largest e with size * 2**e <= 2**bits - 1, so that rounding up stays within the bits."""
    if not Fraction(2) ** -LARGEST_EXPONENT < size < Fraction(2) ** LARGEST_EXPONENT:
        raise InvalidParameter(
            f"Expected a range between 2**-{LARGEST_EXPONENT} and 2**{LARGEST_EXPONENT}, got one that is not.\n"
            "Hint: state the bounds in a unit that people use."
        )
    exponent = bits - math.frexp(float(size))[1]
    while size * Fraction(2) ** exponent > 2**bits - 1:
        exponent -= 1
    return exponent
