"""Triangulated boundaries: known bodies, and every random one holds its points and tiles space once."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import pytest
from flint import fmpq, fmpq_mat
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from discreet.errors import InvalidParameter
from discreet.mechanisms import polytopes
from discreet.mechanisms.polytopes import Point, boundary, from_facets

POINTS = (
    st.integers(1, 4)
    .flatmap(lambda d: st.lists(st.tuples(*[st.integers(-3, 3).map(Fraction)] * d), min_size=1, max_size=7))
    .filter(lambda points: any(any(p) for p in points))
)


def cube(d: int) -> list[Point]:
    return [tuple(Fraction(x) for x in p) for p in product((-1, 1), repeat=d)]


@pytest.mark.parametrize("d", [1, 2, 3, 4, 5])
def test_cubes(d: int) -> None:
    """2d facets, whose cones have the cube's volume; its polar is the cross-polytope, and back."""
    body = boundary(cube(d))
    frame = abs(polytopes._determinant(body.basis))
    assert len(body.facets) == 2 * d
    assert sum(body.volumes) * frame == math.factorial(d) * 2**d
    corners = from_facets([tuple(Fraction(int(i == j)) for j in range(d)) for i in range(d)])
    assert sorted(corners) == sorted(cube(d))


@given(POINTS)
@settings(max_examples=60)
def test_every_point_is_inside(points: list[Point]) -> None:
    """All points and negatives meet every facet's inequality; every corner lies on its simplex's facet."""
    body = boundary(points)
    inner = polytopes._coordinates(points, body.basis)
    for normal in body.facets:
        assert all(abs(polytopes._dot(normal, p)) <= 1 for p in inner)
    found = {corner for simplex in body.simplices for corner in simplex}
    assert found <= {*points, *(tuple(-x for x in p) for p in points)}
    assert {tuple(-x for x in corner) for corner in found} == found


@given(POINTS, st.lists(st.integers(-(10**9), 10**9), min_size=4, max_size=4))
@settings(max_examples=30)
def test_cones_tile_space(points: list[Point], direction: list[int]) -> None:
    """A generic direction is in one cone exactly, and no ridge has but one simplex."""
    body = boundary(points)
    d = len(body.basis)
    holding = 0
    for simplex in body.simplices:
        rows = polytopes._coordinates(simplex, body.basis)
        matrix = fmpq_mat(d, d, [fmpq(x.numerator, x.denominator) for row in zip(*rows, strict=True) for x in row])
        lengths = matrix.solve(fmpq_mat(d, 1, direction[:d])).entries()
        assume(all(lengths))  # a direction between two cones is in both or in neither
        holding += all(x > 0 for x in lengths)
    assert holding == 1
    assert all(volume > 0 for volume in body.volumes)


def test_flat_bodies_stay_in_their_span() -> None:
    body = boundary([(Fraction(1), Fraction(2)), (Fraction(2), Fraction(4))])
    assert len(body.basis) == 1
    assert sorted(body.simplices) == [((Fraction(-2), Fraction(-4)),), ((Fraction(2), Fraction(4)),)]


def test_bodies_that_cannot_be_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    zero, one = Fraction(0), Fraction(1)
    with pytest.raises(InvalidParameter, match="some extent"):
        boundary([(zero, zero)])
    with pytest.raises(InvalidParameter, match="at most 8 dimensions"):
        boundary([tuple(Fraction(int(i == j)) for j in range(9)) for i in range(9)])
    with pytest.raises(InvalidParameter, match="bound a body"):
        from_facets([(one, zero)])
    monkeypatch.setattr(polytopes, "MOST_SIMPLICES", 10)
    with pytest.raises(InvalidParameter, match="at most 10 simplices"):
        boundary(cube(3))
