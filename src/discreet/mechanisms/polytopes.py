"""The boundary of a symmetric convex polytope, cut into simplices; all in exact fractions.

Not left to pycddlib, which finds corners and facets in fractions, but no simplices, from which the noise is drawn.

Claim
    ``boundary(points)`` returns, for the hull K of the points and their negatives in the span of the points: a basis of
    the span, and simplices on the boundary of K whose cones tile the span, each with |det| of its corners in
    coordinates of the basis, and the facets a with K = {z : a.z <= 1}, in the same coordinates. ``from_facets`` returns
    the corners of {z : |a.z| <= 1 for all rows a}.
Requires
    At least one point that is not 0; no more than `MOST_SIMPLICES` simplices.
Relies on
    python-flint's exact rational matrices.
Proof
    Begin with linearly independent points p_1..p_d: the facets of the hull of +-p_i are the 2^d simplices of signed
    points; 0 is inside, and stays inside, so every facet is {a.z = 1} for one a. Add points one by one. A point with
    a.p <= 1 for all facets is in the hull already. Otherwise the facets with a.p > 1 are seen from p; the ridges
    between a seen and an unseen facet, joined with p, take their place (beneath and beyond). The point is not in the
    affine hull of such a ridge, since it is strictly beyond one of the facets there, so the new simplex is one; it may
    continue the plane of the unseen facet, which is no harm. Each step keeps a triangulation of the whole boundary. By
    symmetry points are added with their negatives.
    *Polar.* {z : |a.z| <= 1} has as corners the facets of the hull of +-a.
Rounding
    None: fractions.
Source
    Edelsbrunner, Algorithms in Combinatorial Geometry (1987), 8.4: the beneath-beyond method.
Mutant
    every-ridge: ridges between two seen facets are joined with the point as well; killed by test_cubes.
    half-a-body: the negatives are left out; killed by test_every_point_is_inside.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import NamedTuple, TypeAlias

from flint import fmpq, fmpq_mat

from discreet.errors import InvalidParameter, expected

Point: TypeAlias = tuple[Fraction, ...]

MOST_SIMPLICES = 50_000
MOST_DIMENSIONS = 8


class Boundary(NamedTuple):
    """A triangulated boundary: coordinates are with respect to `basis`, corners are points of the surrounding space."""

    basis: tuple[Point, ...]
    simplices: tuple[tuple[Point, ...], ...]
    volumes: tuple[Fraction, ...]
    facets: tuple[Point, ...]


def boundary(points: Iterable[Point]) -> Boundary:
    """The boundary of the hull of the points and their negatives.

    Raises:
        InvalidParameter: all points are 0, or the body is too complicated.

    >>> one, two = (Fraction(1), Fraction(0)), (Fraction(0), Fraction(1))
    >>> len(boundary([one, two]).simplices)
    4
    """
    distinct = list(dict.fromkeys(tuple(point) for point in points))
    basis = _independent(distinct)
    if not basis:
        cure = "give points or differences that are not all 0."
        raise InvalidParameter(expected("a body of some extent", "dimension", 0, cure))
    if len(basis) > MOST_DIMENSIONS:
        cure = "split the answers into blocks, or use Laplace or Gaussian noise."
        raise InvalidParameter(expected(f"at most {MOST_DIMENSIONS} dimensions", "dimension", len(basis), cure))
    inner = _coordinates(distinct, basis)
    hull = _Hull([p for point in inner for p in (point, tuple(-x for x in point))], len(basis))
    simplices = [simplex for simplex, _ in hull.facets.values()]
    volumes = tuple(abs(_determinant([hull.points[i] for i in simplex])) for simplex in simplices)
    outer = [_combined(p, basis) for p in hull.points]
    planes = dict.fromkeys(normal for _, normal in hull.facets.values())
    return Boundary(tuple(basis), tuple(tuple(outer[i] for i in s) for s in simplices), volumes, tuple(planes))


def from_facets(rows: Sequence[Point]) -> list[Point]:
    """The corners of {z : |a.z| <= 1 for all rows a}.

    Raises:
        InvalidParameter: the set is unbounded.

    >>> sorted(from_facets([(Fraction(2),)]))
    [(Fraction(-1, 2),), (Fraction(1, 2),)]
    """
    if len(_independent(rows)) < len(rows[0]):
        cure = "add the inequalities that bound the other directions."
        raise InvalidParameter(expected("facets that bound a body", "rank", len(_independent(rows)), cure))
    polar = boundary(rows)
    # A facet c of the hull, in coordinates of the basis, is the z with z.(basis row) = c: solve for it.
    matrix = _matrix(polar.basis)
    return [tuple(_fractions(matrix.solve(_matrix([[x] for x in c])))) for c in polar.facets]


class _Hull:
    """Simplices of the boundary, by the sorted numbers of their corners."""

    def __init__(self, points: list[Point], dimension: int) -> None:
        self.points = points
        self.facets: dict[frozenset[int], tuple[tuple[int, ...], Point]] = {}
        start = _first_independent(points[::2], dimension)
        for signs in range(1 << dimension):
            self._add(tuple(2 * start[i] + (signs >> i & 1) for i in range(dimension)))
        used = {2 * i + side for i in start for side in (0, 1)}
        for number in range(len(points)):
            if number not in used:
                self._insert(number)

    def _add(self, simplex: tuple[int, ...]) -> None:
        ones = _matrix([[Fraction(1)]] * len(simplex))
        normal = tuple(_fractions(_matrix([self.points[i] for i in simplex]).solve(ones)))
        self.facets[frozenset(simplex)] = simplex, normal
        if len(self.facets) > MOST_SIMPLICES:
            cure = "use fewer corners or dimensions: an outer hull with fewer corners is as private."
            raise InvalidParameter(expected(f"at most {MOST_SIMPLICES} simplices", "simplices", "more", cure))

    def _insert(self, number: int) -> None:
        point = self.points[number]
        seen = [key for key, (_, normal) in self.facets.items() if _dot(normal, point) > 1]
        if not seen:
            return
        ridges = Counter(key - {corner} for key in seen for corner in key)
        for key in seen:
            del self.facets[key]
        for ridge, times in ridges.items():
            if times == 1:
                self._add((*sorted(ridge), number))


def _dot(one: Point, other: Point) -> Fraction:
    return sum((x * y for x, y in zip(one, other, strict=True)), Fraction(0))


def _matrix(rows: Sequence[Sequence[Fraction]]) -> fmpq_mat:
    entries = [fmpq(x.numerator, x.denominator) for row in rows for x in row]
    return fmpq_mat(len(rows), len(rows[0]), entries)


def _fractions(matrix: fmpq_mat) -> list[Fraction]:
    return [Fraction(int(x.p), int(x.q)) for x in matrix.entries()]


def _determinant(rows: Sequence[Point]) -> Fraction:
    found = _matrix(rows).det()
    return Fraction(int(found.p), int(found.q))


def _independent(points: Sequence[Point]) -> list[Point]:
    """A basis of the span, of the points themselves."""
    basis: list[Point] = []
    for point in points:
        if len(basis) < len(point) and _matrix([*basis, point]).rref()[1] > len(basis):
            basis.append(point)
    return basis


def _first_independent(points: Sequence[Point], dimension: int) -> list[int]:
    basis = _independent(points)
    return [points.index(point) for point in basis][:dimension]


def _coordinates(points: Sequence[Point], basis: Sequence[Point]) -> list[Point]:
    """Each point as a combination of the basis."""
    rows = _matrix(basis)
    gram = rows * rows.transpose()
    right = rows * _matrix(points).transpose()
    solved = gram.solve(right)
    columns = [[solved[i, j] for i in range(len(basis))] for j in range(len(points))]
    return [tuple(Fraction(int(x.p), int(x.q)) for x in column) for column in columns]


def _combined(coordinates: Point, basis: Sequence[Point]) -> Point:
    """The point with these coordinates."""
    terms = [[c * x for x in point] for c, point in zip(coordinates, basis, strict=True)]
    return tuple(sum(column, Fraction(0)) for column in zip(*terms, strict=True))
