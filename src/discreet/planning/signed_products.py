"""Lines over many predictors from signed products of columns, two in each block: as their sum and their difference.

Claim
    Let w_k = 2 u_k - 1 in [-1, 1] for the columns u_1, ..., u_p and v of a line. A block has the totals of a + b and of
    a - b for two of the products 1, w_k, w_k w_l and 2 w_k² - 1, over 2. One row moves a block's totals by at most 1 in
    L1 norm, and in L2 norm. `forms_of_line` has the sums of f f' and of f v, that `inference.regressions` needs, as
    linear forms of all blocks' totals.
Requires
    Totals as `plan.PricedBlock` describes them: in rows, of rows where all columns have a value.
Relies on
    `engines.signed_product_columns` for the integers.
Proof
    Each product is in [-1, 1], and (|a + b| + |a - b|) / 2 = max(|a|, |b|) <= 1; in L2 norm it is ((a² + b²) / 2)^(1/2)
    <= 1. Sums of a and b alone would move by 2 in L1 norm: each is known from such a pair with half of their
    variance, since a is the sum of two totals with noise of half the scale. With u - 1/2 = w/2 and v = (1 + w_v)/2: (u
    - 1/2)² = (1 + (2w² - 1))/8, (u_k - 1/2)(u_l - 1/2) = w_k w_l / 4, and (u - 1/2) v = (w + w w_v)/4. The products
    that matter alike are paired. How much each matters, `error_weight` takes from a line that explains half of what
    v varies by, over predictors that are spread evenly, have nothing to do with each other and share it alike: with r_l
    the error of the sum of f_l (v - f'B), a slope is off by 12 r_l, and the height at the middle by r_0. The height
    there is spread evenly, and r_0 enters slopes by the means of the predictors, which are not at 1/2. All of it
    divides a cost; no proof of privacy or of an interval rests on it.
Rounding
    Doubles, which multiply noisy totals alone.
Source
    Barak et al., "Privacy, accuracy, and consistency too" (2007): products of signs as the basis of marginals. The
    rotation by 45 degrees is from the cross-polytope to the square.
Mutant
    difference-as-sum: the second total of a block is read as another sum; killed by test_totals_give_the_exact_moments.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from discreet.planning.bernstein_polynomials import Reals

Product = tuple[int, ...]
"""Places of columns, the outcome last: none for 1, one for w, two for a product; twice the same for 2 w² - 1."""

EXPLAINED = 1 / 2
"""The part of what the outcome varies by that a line is foreseen to explain."""
EVEN = 1 / 12
"""The variance of what is spread evenly over a range of 1."""


def products(predictors: int) -> list[Product]:
    """All that a line is computed from."""
    columns = range(predictors + 1)
    squares = [(k, k) for k in columns[:-1]]
    return [(), *((k,) for k in columns), *itertools.combinations(columns, 2), *squares]


@lru_cache
def product_pairs(predictors: int) -> tuple[tuple[Product, ...], ...]:
    """The blocks of a line, two products in each but for the last one, where their number is odd.

    >>> product_pairs(1)
    (((0, 1), (0,)), ((1,), ()), ((0, 0),))
    """
    places = range(-1, predictors)

    def weight(one: Product) -> float:
        return sum(error_weight(one, place, predictors) for place in places)

    ordered = sorted(products(predictors), key=weight, reverse=True)
    return tuple(tuple(ordered[i : i + 2]) for i in range(0, len(ordered), 2))


def error_weight(one: Product, place: int, predictors: int) -> float:
    """The square of what the noise in a product counts for in a slope, or, at place -1, in the height at 0."""
    off = _residual(one, -1, predictors)
    if place >= 0:
        return (_residual(one, place, predictors) + EVEN * off) / EVEN**2
    return off + sum(error_weight(one, k, predictors) for k in range(predictors)) / 4


def twins_matter(predictors: int, place: int, block: int) -> float:
    """The same of all totals of one block of a line."""
    own = product_pairs(predictors)[block]
    return len(own) * sum(error_weight(one, place, predictors) for one in own)


def _residual(one: Product, place: int, predictors: int) -> float:
    """The square of what the noise in a product counts for in r, for a predictor or, at -1, for f = 1."""
    slope = EXPLAINED / predictors  # squared; the height at the middle is 1/2, but for a variance of EVEN
    if place < 0:
        return {0: EVEN, 1: 1 / 4 if one == (predictors,) else slope / 4}.get(len(one), 0.0)
    if not one or one == (place, place):
        return slope / 64
    if place not in one:
        return 0.0
    return EVEN / 4 if len(one) == 1 else 1 / 16 if predictors in one else slope / 16


def forms_of_line(parts: Sequence[Reals], scales: Sequence[float], predictors: int) -> tuple[Reals, Reals, Reals]:
    """What `RegressionLine.of_forms` takes: the totals of all blocks, of shape (cells, components), in units of its
    noise; and the forms in them, whose coefficients are those of noise of scale 1.
    """
    blocks = product_pairs(predictors)
    widths = np.repeat(scales, [len(block) for block in blocks])
    rows = np.diag(widths)
    at: dict[Product, Reals] = {}
    for block in blocks:
        first, *second = rows[: len(block)]
        rows = rows[len(block) :]
        at |= {block[0]: first + second[0], block[1]: first - second[0]} if second else {block[0]: first}
    last = predictors
    squares = np.empty((1 + last, 1 + last, len(widths)))
    crossed = np.empty((1 + last, len(widths)))
    squares[0, 0], crossed[0] = at[()], (at[()] + at[last,]) / 2
    for k in range(last):
        squares[0, 1 + k] = squares[1 + k, 0] = at[k,] / 2
        squares[1 + k, 1 + k] = (at[()] + at[k, k]) / 8
        crossed[1 + k] = (at[k,] + at[k, last]) / 4
        for other in range(k):
            squares[1 + k, 1 + other] = squares[1 + other, 1 + k] = at[other, k] / 4
    return np.concatenate(parts, axis=-1) / widths, squares, crossed


def evenly_spread_totals(rows: float, predictors: int) -> list[Reals]:
    """The totals of values spread evenly over their ranges, which have nothing to do with each other."""
    means: dict[Product, float] = {(): rows, **{(k, k): -rows / 3 for k in range(predictors)}}
    found = []
    for block in product_pairs(predictors):
        first, *second = (means.get(one, 0.0) for one in block)
        found.append(np.array([[(first + second[0]) / 2, (first - second[0]) / 2] if second else [first]]))
    return found
