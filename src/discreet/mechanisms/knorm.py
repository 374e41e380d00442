"""K-norm noise: its shape is that of the changes that one person can make to the answers.

Claim
    For vectors f(D) whose differences between neighbors lie in K, `KNorm(...).release(f(D))` is
    epsilon-differentially private. `KNorm.of_contributions` makes a K that holds all differences: under add-remove of
    the given contributions and their negatives, under replace-one of the differences of any two.
Requires
    The true K, or all contributions that one unit can make to the vector of answers.
Relies on
    `knorm_bodies`: the body's figures, and exact draws, rounded with certainty. `polytopes.boundary`: exact cones.
Proof
    Z has density proportional to exp(-epsilon ||z||_K), so for d in K the densities of Z and Z + d differ by at most
    exp(epsilon ||d||_K) <= exp(epsilon). Rounding is post-processing; for integer answers round(x + Z) = x + round(Z).
    Where K is flat, differences stay in its span, and so does the noise: what is constant is released as it is.
    *Outer hull.* A body that contains K is as private. Of very many contributions some are taken, and their hull is
    blown up by the largest norm that any has in it; under replace-one, that any difference p - q has: its largest
    a.(p - q), over the facets a, is max a.p - min a.q.
    *Reals* are first rounded to a lattice of `step`, which moves differences by at most step in each coordinate: they
    lie in (1 + step h) K, with h = max over facets a of sum |a_i|, the largest norm of a corner of [-1, 1]^d; epsilon
    is divided by that factor.
    *Bound.* |Z_j| <= ||Z||_K max over K of |z_j|, and ||Z||_K is Gamma(d, 1/epsilon).
Rounding
    Covariances are exact before rounding to integers, which adds about 1/12; bounds up to a float.
Source
    Hardt, Talwar, On the geometry of differential privacy (STOC 2010); Awan, Slavkovic, Structure and sensitivity in
    differential privacy (JASA 2021).
Mutant
    only-what-is-added: replaced contributions are treated as added ones; killed by test_replacing_is_covered.
    differences-of-some: differences of contributions that were not chosen are not covered; killed by
    test_outer_hulls_hold_all_differences.
    blown-up-by-nothing: the chosen contributions stand for all; killed by test_outer_hulls_hold_all.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import product
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from discreet.accounting.event_losses import HasLoss
from discreet.errors import InvalidParameter, expected, nearest_name
from discreet.exact.amounts import confidence_level, decimal_text, fraction, positive
from discreet.exact.bisection import float_down
from discreet.exact.given_values import array_of, values
from discreet.guesses.misfit_calls import with_usage_hint
from discreet.mechanisms.knorm_bodies import (
    Body,
    BoxBody,
    CrossBody,
    Polytope,
    box_of_facets,
    norm_quantile,
    structured,
)
from discreet.mechanisms.laplace import Laplace
from discreet.mechanisms.polytopes import MOST_DIMENSIONS, Point, boundary, from_facets
from discreet.mechanisms.vector_lattice import FINENESS, VectorLattice, summed
from discreet.noise.entropy import fresh_words
from discreet.privacy.definitions import Neighbors
from discreet.privacy.events import PureEvent

Rows: TypeAlias = Sequence[Sequence[Any]] | NDArray[Any]

MOST_CORNERS = 64
"""Of more contributions than these an outer hull is taken."""


@dataclass(frozen=True, kw_only=True, slots=True, init=False)
class KNorm(HasLoss):
    """Adds noise of density exp(-epsilon ||z||_K) to one vector of answers: integers, which stay integers, or floats.

    Args:
        epsilon: what a release costs.
        vertices: the corners of K, which is convex and contains -z with each z; or instead
        facets: vectors a, where K is all z with a.z <= 1 for each, and -a is among them with a.

    `KNorm.of_contributions` makes K from what one unit can add to the answers; `KNorm.box` and `KNorm.cross_polytope`
    have any number of dimensions, and are recognized among vertices, facets and contributions.

    Raises:
        InvalidParameter: K is not symmetric, unbounded, or has more than 8 dimensions and is neither of those two.

    >>> m = KNorm.of_contributions([(1, y) for y in range(11)], epsilon=1)  # count and sum of y in 0..10
    >>> (m.variance / [1, 100]).round(6), round(m.laplace.variance, 2)
    (array([4., 2.]), 241.83)
    >>> m.release([120, 700]).dtype
    dtype('int64')
    """

    epsilon: Fraction
    body: Body = field(repr=False)

    @with_usage_hint("dp.KNorm(vertices=[[1, 0], [0, 1]], epsilon=1)")
    def __init__(self, *, epsilon: object, vertices: Rows | None = None, facets: Rows | None = None) -> None:
        if (vertices is None) == (facets is None):
            cure = "give the corners of K, or its facets; or use KNorm.of_contributions."
            stated = [name for name, rows in (("vertices", vertices), ("facets", facets)) if rows is not None]
            raise InvalidParameter(expected("one of vertices and facets", "stated", stated, cure))
        name, rows = ("vertices", vertices) if vertices is not None else ("facets", facets)
        points = _points(name, rows if rows is not None else [])
        known = set(points)
        lacking = next((p for p in points if tuple(-x for x in p) not in known), None)
        if lacking is not None:
            shown = tuple(decimal_text(x) for x in lacking)
            cure = f"neighbors go both ways: add the negative of every one of the {name}."
            raise InvalidParameter(expected("a symmetric body", name, shown, cure))
        body: Body | None = structured(points) if vertices is not None else box_of_facets(points)
        if body is None:
            body = Polytope(boundary(points if vertices is not None else from_facets(points)))
        object.__setattr__(self, "epsilon", positive("epsilon", epsilon))
        object.__setattr__(self, "body", body)

    @classmethod
    def _of_body(cls, body: Body, epsilon: object) -> KNorm:
        made = cls.__new__(cls)
        object.__setattr__(made, "epsilon", positive("epsilon", epsilon))
        object.__setattr__(made, "body", body)
        return made

    @classmethod
    def box(cls, reaches: Sequence[Any] | NDArray[Any], *, epsilon: object) -> KNorm:
        """The mechanism for any number of answers, of which one unit may move each by its reach, all at the same time.

        >>> m = KNorm.box([1, 1, 10], epsilon=1)
        >>> m.variance.round(2), round(m.laplace.variance, 1)
        (array([  6.67,   6.67, 666.67]), 287.8)
        """
        return cls._of_body(BoxBody(_reaches(reaches)), epsilon)

    @classmethod
    def cross_polytope(cls, reaches: Sequence[Any] | NDArray[Any], *, epsilon: object) -> KNorm:
        """The mechanism for any number of answers, of which one unit may move one by its reach, or several by shares
        of theirs that add up to 1: independent Laplace noise.

        >>> KNorm.cross_polytope([1, 1, 10], epsilon=1).variance
        array([  2.,   2., 200.])
        """
        return cls._of_body(CrossBody(_reaches(reaches)), epsilon)

    @classmethod
    def of_contributions(cls, contributions: Rows, *, epsilon: object, neighbors: str = "add-remove") -> KNorm:
        """The mechanism for sums over units, of each of which `contributions` lists all that it can add to the answers.

        Args:
            contributions: vectors of integers or exact numbers, one for each way in which a unit may count.
            epsilon: what a release costs.
            neighbors: "add-remove", or "replace-one", under which all differences of two contributions may occur.

        >>> both = [(1, 0), (0, 1), (1, 1)]  # two overlapping predicates
        >>> KNorm.of_contributions(both, epsilon=1).variance.round(6)
        array([3.333333, 3.333333])
        """
        kinds = [kind.value for kind in Neighbors]
        if neighbors not in kinds:
            raise InvalidParameter(expected("neighbors", "neighbors", neighbors, nearest_name(neighbors, kinds)))
        points = _points("contributions", contributions)
        if neighbors == Neighbors.ADD_REMOVE.value:
            known = structured(points)
            body = points if known else outer(points)
        else:
            few = [_minus(p, q) for p, q in product(_thinned(points), repeat=2)]
            known = structured(few) if len(points) <= MOST_CORNERS else None
            body = few if known else outer(few, spread=points)
        if known is not None:
            return cls._of_body(known, epsilon)
        return cls(epsilon=epsilon, vertices=[*body, *(tuple(-x for x in p) for p in body)])

    def __repr__(self) -> str:
        shape = "box"
        if isinstance(self.body, Polytope):
            shape = f"{len(self.body.boundary.simplices)} simplices"
        elif isinstance(self.body, CrossBody):
            shape = "cross-polytope"
        return f"KNorm({shape}, dimension={self.body.rank}, epsilon={decimal_text(self.epsilon)})"

    @property
    def dimension(self) -> int:
        """How many answers there are."""
        return self.body.dimension

    @property
    def event(self) -> PureEvent:
        """What a release writes into the record."""
        return PureEvent(epsilon=self.epsilon)

    @with_usage_hint(".release([12, 30])")
    def release(self, values: Any) -> NDArray[Any]:
        """One vector of answers with exact noise: integers stay integers, floats stay floats.

        Raises:
            InvalidParameter: there are not as many finite numbers as dimensions, or they are floats and K is flat.
        """
        given = array_of("values", values)
        grid = VectorLattice.of(given, Fraction(1))
        if grid.shape != (self.dimension,):
            cure = "release one vector at a time; each costs epsilon."
            raise InvalidParameter(expected(f"a vector of {self.dimension}", "shape", given.shape, cure))
        if not grid.is_real:
            return self._shaped(grid, self.body.noise.sample(self.epsilon, 1, fresh_words())[0])
        if self.body.rank < self.dimension:
            cure = "round the answers to integers: where K is flat, rounding floats could leave it."
            raise InvalidParameter(expected("integers", "values", "floats", cure))
        step = self._step()
        grid = VectorLattice(_on(given, step), grid.shape, step, is_real=True)
        rate = self.epsilon * step / (1 + step * self.body.cube())
        return self._shaped(grid, self.body.noise.sample(rate, 1, fresh_words())[0])

    @staticmethod
    def _shaped(grid: VectorLattice, noise: NDArray[Any]) -> NDArray[Any]:
        shaped: NDArray[Any] = grid.shaped(summed(grid.integers, noise))
        return shaped

    def _step(self) -> Fraction:
        wanted = 1 / (self.body.cube() * FINENESS)
        return Fraction(2) ** (wanted.numerator.bit_length() - wanted.denominator.bit_length() - 1)

    @property
    def covariance(self) -> NDArray[np.float64]:
        """The covariance matrix of the noise, before rounding to integers, which adds about 1/12 to each variance."""
        return self.body.covariance() / float(self.epsilon) ** 2

    @property
    def variance(self) -> NDArray[np.float64]:
        """The variance of each answer's noise."""
        return np.diag(self.covariance).copy()

    @property
    def laplace(self) -> Laplace:
        """Laplace noise for the same answers at the same epsilon, to compare with: by the largest L1 norm in K."""
        return Laplace(sensitivity=self.body.width(), epsilon=self.epsilon)

    def bound(self, *, confidence: object = 0.95) -> NDArray[np.float64]:
        """By how much each answer is off at most, all of them at once with this confidence: from the norm's law, which
        is Gamma; rounding to integers is included.

        >>> m = KNorm.of_contributions([(1, 0), (0, 1)], epsilon=1)
        >>> [round(float(x), 2) for x in m.bound(confidence=0.95)]
        [5.24, 5.24]
        """
        miss = float_down(1 - confidence_level(confidence))
        return self.body.reach() * norm_quantile(self.body.rank, miss) / float(self.epsilon) + 0.5

    @with_usage_hint(".error(confidence={})")
    def error(self, *, confidence: object = 0.95) -> NDArray[np.float64]:
        """By how much each answer by itself is off with this confidence: the quantile, too high by at most a
        hundredth of reach / epsilon, or, beyond 1 - 1e-9, `bound`; rounding to integers is included.

        >>> m = KNorm.of_contributions([(1, 0), (0, 1)], epsilon=1)  # two Laplace variables
        >>> bool((abs(m.error(confidence=0.95) - 0.5 - 2.9957) < 0.01).all())
        True
        """
        miss = float_down(1 - confidence_level(confidence))
        return self.body.quantiles(miss) / float(self.epsilon) + 0.5


def outer(points: Iterable[Point], *, spread: Sequence[Point] = ()) -> list[Point]:
    """Corners of a body that holds all the points and their negatives, and all differences of two of `spread`: of their
    hull, or, if they are many, of a hull of some, blown up until it holds the others.

    >>> len(outer([(Fraction(1), Fraction(y)) for y in range(1000)])) <= MOST_CORNERS
    True
    """
    every = list(dict.fromkeys(points))
    some = _thinned(every)
    if len(some) == len(every) and len(spread) <= MOST_CORNERS:
        return every
    if len(every[0]) > MOST_DIMENSIONS:
        boundary(some)  # says so, where the span has too many dimensions
    planes = from_facets(some)  # raises where the chosen ones are flat
    farthest = max(abs(_along(plane, p)) for plane in planes for p in every)
    for plane in planes if spread else []:
        heights = [_along(plane, p) for p in spread]
        farthest = max(farthest, max(heights) - min(heights))
    return [tuple(x * max(farthest, Fraction(1)) for x in p) for p in some]


def _along(plane: Point, point: Point) -> Fraction:
    return sum((a * x for a, x in zip(plane, point, strict=True)), Fraction(0))


def _minus(one: Point, other: Point) -> Point:
    return tuple(x - y for x, y in zip(one, other, strict=True))


def _thinned(points: list[Point]) -> list[Point]:
    if len(points) <= MOST_CORNERS:
        return points
    step = (len(points) - 1) / (MOST_CORNERS - 1)
    return [points[round(i * step)] for i in range(MOST_CORNERS)]


def _points(name: str, rows: Rows) -> list[Point]:
    cure = "give one row of numbers for each."
    given = rows if isinstance(rows, np.ndarray) else values(name, rows, cure)
    listed = [list(row) if isinstance(row, list | tuple) or np.ndim(row) else [row] for row in given]
    if not listed or len({len(row) for row in listed}) != 1 or not listed[0]:
        cure = "give one row of numbers for each, all of one length."
        raise InvalidParameter(expected("rows of one length", name, sorted({len(row) for row in listed}), cure))
    return [tuple(fraction(name, x) for x in row) for row in listed]


def _reaches(given: Sequence[Any] | NDArray[Any]) -> Point:
    cure = "give one number above 0 for each answer."
    listed = values("reaches", given, cure)
    if not listed:
        raise InvalidParameter(expected("a reach for each answer", "reaches", listed, cure))
    return tuple(positive("reaches", reach) for reach in listed)


def _on(values: NDArray[Any], step: Fraction) -> NDArray[Any]:
    """Floats as the nearest multiples of the step."""
    return np.array([round(Fraction(float(x)) / step) for x in values.reshape(-1)], dtype=object)
