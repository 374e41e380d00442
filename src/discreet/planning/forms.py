"""The forms of noisy totals that aggregates are computed from: one value for each, with all that a plan needs of it.

One more form is a value here, listed in `FORMS`, and where its parts are not the lattice's integers themselves, an
entry in `engines.exact_totals.PARTS`.

Claim
    In each row the components of a block that is not signed are at least 0 and add up to `steps`: over all rows, to
    their number in rows. `total` and `without_nulls` give the coefficients with which they add up to the sum of the
    values.
Requires
    Totals as `plan.PricedBlock` describes them.
Relies on
    `planning.bernstein_polynomials` for products; `planning.signed_products` for signed products.
Proof
    A pair holds u and 1-u; a triple the three Bernstein polynomials of degree 2 of u, which add up to 1 and whose forms
    (0, 1/2, 1) and (0, 0, 1) are u and u². So counts, sums and means are linear forms, or ratios of them, in either;
    variances in a triple. A product holds b_i(u) c_j(v), b and c the Bernstein polynomials of u and v, which add up to
    1: all moments of u and v up to their degrees are linear forms of it. Rows whose value is NULL have a component of
    their own, which counts 0 for values.
Rounding
    Floating-point coefficients touch noisy totals only: post-processing.
Source
    Bernstein basis for private moments: DPSQL+ (2026) with Gaussian noise; here with Laplace noise, at an L1
    sensitivity of exactly one row.
Mutant
    nulls-are-rows: a count of values that are not NULL includes the NULLs; killed by
    test_counts_of_values_leave_nulls_out.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from discreet.language.checked_expressions import Value
from discreet.planning.column_lattice import MOST_BITS, MOST_PRODUCT_BITS
from discreet.privacy.declaration import Key

Split = Callable[["Block", int], tuple[int, tuple[int, ...]]]


@dataclass(frozen=True, kw_only=True, eq=False)
class Form:
    """How the rows of a block are split into components, which add up to the steps of a row; u is (y - low) / (high -
    low).
    """

    name: str
    label: str
    """What `explain` calls it."""
    parts: Callable[[Block], int] = lambda _: 0
    """How many of its totals are sums of what the lattice makes of a value."""
    rows: Callable[[Block, int], int] = lambda _, limit: limit
    """With how many rows a unit counts in a group at most, where `max_rows` is the limit."""
    total: Callable[[Fraction, Fraction], tuple[Fraction, ...]] = lambda *_: ()
    """What each component but the NULLs counts for the sum of the values, from the values at u = 0 and u = 1."""
    split: Split | None = None
    """The steps of a row with so many bits, and of each column's polynomials; without it, those of the lattice."""
    rounding: Callable[[float, int, tuple[int, ...]], float] = lambda values, steps, _: 0.5 / steps if values else 0.0
    """How far the rounding of a row is off at most, in rows: from the sum over the columns of one step over the range,
    the steps, and those of the polynomials.
    """
    most_bits: int = MOST_BITS
    signed: bool = False
    """Whether its totals move down as well as up, each for itself, by at most the steps in all."""
    centered: bool = False
    """Whether its lattice keeps the sign of a value, and zero."""
    rotated: bool = False
    """Whether its totals are the sum and the difference of its parts."""

    def __reduce__(self) -> str:
        """The constant that it is here: an answer that was carried elsewhere is of the same forms."""
        return next(name for name, value in globals().items() if value is self)


@dataclass(frozen=True, kw_only=True, eq=False)
class Block:
    """Aggregates that are computed from the same noisy totals."""

    form: Form
    value: Value | None = None
    others: tuple[Value, ...] = ()
    """The further columns of a product."""
    degrees: tuple[int, ...] = ()
    """Of a product, the degree of its polynomials in each column."""
    powers: tuple[tuple[int, ...], ...] = ()
    """Of signed products, which of its columns each is the product of; twice the same for 2 w² - 1."""
    listed: tuple[Key, ...] = ()
    """The public values of which distinct ones are counted."""
    where: Value | None = None
    nulls: bool = False
    """Whether a further component counts the rows whose value (one of several) is NULL."""
    size: int = 0
    """The number of its rows, where that is public and it has their sum alone."""

    @property
    def components(self) -> int:
        """How many totals it has in each group."""
        return self.parts + self.nulls + (not self.signed)  # signed totals have no complement

    @property
    def values(self) -> tuple[Value, ...]:
        """All columns that it is of."""
        return () if self.value is None else (self.value, *self.others)

    @property
    def parts(self) -> int:
        """How many of its totals are sums of what the lattice makes of a value."""
        return self.form.parts(self)

    @property
    def signed(self) -> bool:
        """Whether its totals move down as well as up, each of them for itself."""
        return self.form.signed

    def without_nulls(self, coefficients: tuple[Fraction | int, ...]) -> tuple[float, ...]:
        """Coefficients of all components, from those of all but the NULLs, which come last but one and count 0."""
        *first, last = map(float, coefficients)
        nulls = (0.0,) if self.nulls else ()
        return (*first, *nulls, last)


def _split_product(block: Block, bits: int) -> tuple[int, tuple[int, ...]]:
    columns = len(block.degrees)
    return 2**bits, tuple(2 ** ((bits + i) // columns) for i in range(columns))


def _split_signed_products(block: Block, bits: int) -> tuple[int, tuple[int, ...]]:
    half = 2 ** ((bits - 1) // 2)
    return block.components * half**2, (half,) * len(block.values)


COUNT = Form(name="count", label="count of rows")
UNITS = Form(name="units", label="count of units", rows=lambda *_: 1)
DISTINCT = Form(
    name="distinct", label="distinct public values", rows=lambda block, limit: min(limit, len(block.listed))
)
SUM = Form(
    name="sum",
    label="sum",
    parts=lambda _: 1,
    total=lambda low, high: (max(-low, high),),
    signed=True,
    centered=True,
)
SUM_OF_ALL = Form(name="sum of all", label="sum", parts=lambda _: 1, total=lambda low, high: (high - low,), signed=True)
"""Of u, over a public number of rows."""
PAIR = Form(name="pair", label="count and sum together", parts=lambda _: 1, total=lambda low, high: (high, low))
"""The Bernstein polynomials of degree 1: u and 1 - u."""
TRIPLE = Form(
    name="triple",
    label="count, sum and squares together",
    parts=lambda _: 2,
    total=lambda low, high: (high, low, (low + high) / 2),
    split=lambda _, bits: (2**bits, ()),
    rounding=lambda values, steps, _: 0.5 / steps + values,
)
"""Those of degree 2: u², (1-u)² and 2u(1-u)."""
PRODUCT = Form(
    name="product",
    label="count, sums and products together",
    parts=lambda block: math.prod(d + 1 for d in block.degrees) - 1,
    split=_split_product,
    rounding=lambda values, _, factors: sum(1 / steps for steps in factors) + values,
    most_bits=MOST_PRODUCT_BITS,
)
"""All products of the polynomials of one column with those of others, each off by a step and twice its value's."""
SIGNED_PRODUCTS = Form(
    name="signed products",
    label="sums of products together",
    parts=lambda block: len(block.powers),
    split=_split_signed_products,
    rounding=lambda values, _, factors: 5 * (1 / (2 * factors[0]) + values),
    most_bits=MOST_PRODUCT_BITS,
    signed=True,
    rotated=True,
)
"""Two signed products of columns, as their sum and their difference (`planning.signed_products`). Each w is off by half
a step of its own and one of its value, and 2 w² - 1 by up to five times as much.
"""

FORMS = (COUNT, UNITS, DISTINCT, SUM, SUM_OF_ALL, PAIR, TRIPLE, PRODUCT, SIGNED_PRODUCTS)
