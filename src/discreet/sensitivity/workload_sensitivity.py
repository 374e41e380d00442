"""How far one unit can move the answers to many questions at once: exactly, where the kinds of units can be listed.

Claim
    Column j of a `Workload`'s matrix is what a unit of kind j adds to the k answers. ``sensitivity`` returns the
    largest distance between the answers on neighbors, for the L1, L2 or largest-coordinate norm: under add-remove the
    largest norm of a column, under replace-one the largest distance between two columns. The L2 value is rounded up
    where it is no rational number. `counts_sensitivity`, `sum_sensitivity`, `mean_sensitivity` and
    `histogram_sensitivity` return upper bounds that some pair of tables attains.
Requires
    Every unit is of one of the listed kinds, and its columns are what the answers add up.
Relies on
    Sums of float64 products are exact while every partial sum is an integer below 2**53; larger entries are added as
    Python integers.
Proof
    An answer is a sum over units, so adding a unit of kind j moves the answers by column j, and replacing kind i by
    kind j moves them by the difference of the columns; both are attained by a table of one unit. The entries are put on
    one denominator, so distances are integers. *Signs.* |d|_1 = max over s in {-1,1}^k of s.d, so the L1 diameter is
    the largest range of s.x; s and -s agree, so half of the signs do. *Products.* |a-b|_2^2 = |a|^2 + |b|^2 - 2 a.b,
    and for entries 0 and 1 it is |a-b|_1 too. *Pruning.* By the triangle inequality d(a, b) <= r(a) + r(b), r the
    distance to any fixed point; with the columns in falling order of r, no later pair can beat the best once
    r_i + r_(i+1) does not.
Rounding
    None for L1 and largest-coordinate; L2 up, by less than one part in 2**60.
Source
    Dwork, McSherry, Nissim, Smith, Calibrating Noise to Sensitivity (TCC 2006); columns of a workload: Li, Hay,
    Rastogi, Miklau, McGregor, Optimizing Linear Counting Queries Under Differential Privacy (PODS 2010), section 2.
Mutant
    replaced-as-added: replace-one takes the largest column too; killed by test_a_histogram_moves_by_two.
    pruned-too-soon: the search for the farthest two stops one pair early; killed by test_every_way_agrees.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.errors import InvalidParameter, expected
from discreet.exact.amounts import at_least_one, fraction, root_above
from discreet.privacy.definitions import Neighbors

Norm = Literal[1, 2, "inf"]
NORMS: tuple[Norm, ...] = (1, 2, "inf")

EXACT_FLOATS = 2**53
SIGNS = 8
"""Up to so many questions the L1 diameter is found by all ways of signing them."""

BLOCK = 1024
"""Columns compared with all others at one time."""


def neighbors_of(relation: Neighbors | str) -> Neighbors:
    """The relation with this name.

    Raises:
        InvalidParameter: there is none.

    >>> neighbors_of("replace-one")
    <Neighbors.REPLACE_ONE: 'replace-one'>
    """
    try:
        return Neighbors(relation)
    except ValueError as failure:
        cure = 'write neighbors="add-remove" or neighbors="replace-one".'
        raise InvalidParameter(expected("a relation between tables", "neighbors", relation, cure)) from failure


def norm_of(norm: object) -> Norm:
    """1, 2 or "inf".

    Raises:
        InvalidParameter: it is no such norm.
    """
    if norm in (math.inf, "inf"):
        return "inf"
    if isinstance(norm, bool) or norm not in NORMS:
        raise InvalidParameter(expected("a norm", "norm", norm, 'write norm=1, norm=2 or norm="inf".'))
    return 1 if norm == 1 else 2


@dataclass(frozen=True, slots=True, eq=False)
class Workload:
    """k questions that each add up over units, and what a unit of each of m kinds adds to each of them.

    Make one from a matrix of numbers (shape (k, m), a float meaning the decimal that it prints), or with
    `Workload.of_predicates` from yes-or-no questions about listed values.

    >>> smokers_over_50 = Workload.of_predicates(
    ...     [lambda person: person[0] > 50, lambda person: person[1], lambda person: person[0] > 50 and person[1]],
    ...     domain=[(age, smokes) for age in range(111) for smokes in (False, True)],
    ... )
    >>> smokers_over_50.sensitivity(norm=1), smokers_over_50.sensitivity(norm="inf")
    (Fraction(3, 1), Fraction(1, 1))
    """

    matrix: ArrayLike = field(repr=False)
    scaled: NDArray[Any] = field(init=False, repr=False)
    """The matrix times `denominator`: integers, each distinct column once."""
    denominator: int = field(init=False)

    def __post_init__(self) -> None:
        scaled, denominator = _integers(np.asarray(self.matrix))
        object.__setattr__(self, "scaled", scaled)
        object.__setattr__(self, "denominator", denominator)

    @classmethod
    def of_predicates(cls, predicates: Sequence[Callable[[Any], object]], *, domain: Iterable[Any]) -> Workload:
        """Counting queries: how many units satisfy each predicate, for units that have one of the listed values.

        Raises:
            InvalidParameter: no predicate or no value is given, or a predicate answers something else than yes or no.
        """
        kinds = list(domain)
        answers = [[predicate(kind) for kind in kinds] for predicate in predicates]
        if any(answer not in (0, 1) for row in answers for answer in row):
            cure = "a predicate answers True or False; for other numbers give Workload the matrix itself."
            raise InvalidParameter(expected("yes-or-no answers", "predicates", "something else", cure))
        return cls(np.array(answers, dtype=np.int8).reshape(len(answers), len(kinds)))

    @classmethod
    def histogram(cls, bins: int) -> Workload:
        """How many units fall in each of `bins` bins that do not overlap.

        >>> Workload.histogram(100).sensitivity(neighbors="replace-one")
        Fraction(2, 1)
        """
        return cls(np.eye(bins, dtype=np.int8))

    @property
    def is_partition(self) -> bool:
        """Whether each unit counts in at most one question: such questions cost together what one costs.

        >>> Workload.histogram(3).is_partition, Workload([[1, 1], [1, 0]]).is_partition
        (True, False)
        """
        return bool(np.all(np.count_nonzero(self.scaled, axis=0) <= 1))

    def sensitivity(self, norm: object = 1, *, neighbors: Neighbors | str = Neighbors.ADD_REMOVE) -> Fraction:
        """The largest distance between the answers on two neighbors.

        Args:
            norm: 1 (for Laplace noise), 2 (for Gaussian noise) or "inf" (for the worst of the answers).
            neighbors: add-remove, or replace-one.

        Returns:
            Exactly that distance; for norm 2, where it is no fraction, a fraction just above it.
        """
        kind, columns = norm_of(norm), self.scaled
        if neighbors_of(neighbors) is Neighbors.REPLACE_ONE:
            farthest = diameter(columns, kind)
        else:
            farthest = max(_lengths(columns, kind).tolist())
        if kind == 2:
            return root_above(Fraction(int(farthest), self.denominator**2))
        return Fraction(int(farthest), self.denominator)


def counts_sensitivity(questions: int, norm: object = 1, *, low: object = 0, high: object = 1) -> Fraction:
    """What `questions` sums can move by when each unit adds a number in [low, high] to each: an upper bound under both
    relations, whatever the questions ask.

    >>> counts_sensitivity(5), counts_sensitivity(4, norm=2), counts_sensitivity(5, norm="inf")
    (Fraction(5, 1), Fraction(2, 1), Fraction(1, 1))
    """
    count, (least, most) = at_least_one("questions", questions), _range(low, high)
    width = max(most - least, abs(least), abs(most))
    factor = {1: Fraction(count), 2: root_above(Fraction(count)), "inf": Fraction(1)}[norm_of(norm)]
    return width * factor


def sum_sensitivity(low: object, high: object, *, neighbors: Neighbors | str = Neighbors.ADD_REMOVE) -> Fraction:
    """What the sum of numbers in [low, high], one for each unit, can move by.

    >>> sum_sensitivity(20, 110), sum_sensitivity(20, 110, neighbors="replace-one")
    (Fraction(110, 1), Fraction(90, 1))
    """
    least, most = _range(low, high)
    if neighbors_of(neighbors) is Neighbors.REPLACE_ONE:
        return most - least
    return max(abs(least), abs(most))


def mean_sensitivity(
    low: object, high: object, *, units: int, neighbors: Neighbors | str = Neighbors.REPLACE_ONE
) -> Fraction:
    """What the mean of `units` numbers in [low, high] can move by, the number of units being public.

    Raises:
        InvalidParameter: the relation is add-remove, under which that number is not public.

    >>> mean_sensitivity(0, 50, units=1000)
    Fraction(1, 20)
    """
    if neighbors_of(neighbors) is not Neighbors.REPLACE_ONE:
        cure = 'release the sum and the count, and divide: under "add-remove" the number of units is private.'
        raise InvalidParameter(expected('neighbors="replace-one"', "neighbors", neighbors, cure))
    least, most = _range(low, high)
    return (most - least) / at_least_one("units", units)


def histogram_sensitivity(
    bins: int, norm: object = 1, *, neighbors: Neighbors | str = Neighbors.ADD_REMOVE
) -> Fraction:
    """What a histogram can move by: 1, and under replace-one 2 (in L1) whatever the number of bins.

    A unit may lie outside of all bins; so one bin moves by 1.

    >>> histogram_sensitivity(3143), histogram_sensitivity(3143, neighbors="replace-one")
    (Fraction(1, 1), Fraction(2, 1))
    """
    several = at_least_one("bins", bins) > 1 and neighbors_of(neighbors) is Neighbors.REPLACE_ONE
    kind = norm_of(norm)
    if not several or kind == "inf":
        return Fraction(1)
    return Fraction(2) if kind == 1 else root_above(Fraction(2))


def diameter(columns: NDArray[Any], norm: Norm) -> int:
    """The largest distance between two of the columns, which are integers; squared for norm 2."""
    if norm == "inf":
        return int(np.max(columns.max(axis=1) - columns.min(axis=1)))
    small = columns.dtype != object
    if norm == 1 and small and columns.shape[0] <= SIGNS:
        return _by_signs(columns)
    if small and (norm == 2 or bool(np.all((columns == 0) | (columns == 1)))):
        return _by_products(columns)
    return _by_pruning(columns, norm)


def _by_signs(columns: NDArray[Any]) -> int:
    k = columns.shape[0]
    # The first sign is +, which halves the work and changes no range.
    signs = 1 - 2 * ((np.arange(1 << (k - 1))[:, None] >> np.arange(k)) & 1)
    signed = signs.astype(np.float64) @ columns.astype(np.float64)
    return int(np.max(signed.max(axis=1) - signed.min(axis=1)))


def _by_products(columns: NDArray[Any]) -> int:
    reals = columns.astype(np.float64)
    squares, best = np.sum(reals**2, axis=0), 0.0
    for start in range(0, reals.shape[1], BLOCK):
        some = slice(start, start + BLOCK)
        apart = squares[some, None] + squares[start:] - 2.0 * (reals[:, some].T @ reals[:, start:])
        best = max(best, float(apart.max()))
    return int(best)


def _by_pruning(columns: NDArray[Any], norm: Norm) -> int:
    center = (columns.max(axis=1) + columns.min(axis=1)) // 2
    power = 2 if norm == 2 else 1
    radii = _lengths(columns - center[:, None], norm)
    order = np.argsort(-radii, kind="stable")
    columns, radii, best = columns[:, order], radii[order], 0
    reach = [math.isqrt(int(radius)) + 1 for radius in radii] if norm == 2 else [int(radius) for radius in radii]
    for i in range(columns.shape[1] - 1):
        if (reach[i] + reach[i + 1]) ** power <= best:
            break
        apart = columns[:, i + 1 :] - columns[:, i : i + 1]
        best = max(best, int(max(_lengths(apart, norm).tolist())))
    return best


def _lengths(columns: NDArray[Any], norm: Norm) -> NDArray[Any]:
    """The norm of each column; squared for norm 2."""
    sizes: NDArray[Any] = np.abs(columns)
    if norm == "inf":
        return np.asarray(sizes.max(axis=0))
    return np.asarray(np.sum(sizes**2 if norm == 2 else sizes, axis=0))


def _integers(matrix: NDArray[Any]) -> tuple[NDArray[Any], int]:
    """The distinct columns as integers over one denominator: int64 where all sums of squares stay below 2**53."""
    if matrix.ndim != 2 or 0 in matrix.shape:
        cure = "give one row for each question and one column for each kind of unit."
        raise InvalidParameter(expected("a matrix with rows and columns", "shape", matrix.shape, cure))
    if matrix.dtype.kind in "bu" or (matrix.dtype.kind == "i" and matrix.dtype != object):
        values, places = np.unique(matrix.astype(object) if matrix.dtype == np.uint64 else matrix, return_inverse=True)
        exact = [Fraction(int(value)) for value in values]
    else:
        known: dict[object, int] = {}
        places = np.array([known.setdefault(value, len(known)) for value in matrix.ravel().tolist()])
        exact = [fraction("matrix", value) for value in known]
    denominator = math.lcm(*(value.denominator for value in exact))
    whole = [int(value * denominator) for value in exact]
    largest = max(abs(value) for value in whole)
    fits = 8 * matrix.shape[0] * largest**2 < EXACT_FLOATS
    table = np.array(whole, dtype=np.int64 if fits else object)
    scaled = table[places.reshape(matrix.shape)]
    return (np.unique(scaled, axis=1) if fits else scaled), denominator


def _range(low: object, high: object) -> tuple[Fraction, Fraction]:
    least, most = fraction("low", low), fraction("high", high)
    if least > most:
        raise InvalidParameter(expected("low <= high", "low", low, "write the smaller end first."))
    return least, most
