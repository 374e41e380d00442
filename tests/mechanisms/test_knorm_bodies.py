"""Boxes and cross-polytopes: recognized, and with the figures that their triangulations have."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from discreet.mechanisms.knorm_bodies import BoxBody, CrossBody, Polytope, box_of_facets, structured
from discreet.mechanisms.polytopes import Point, boundary
from discreet.noise.entropy import fresh_words

REACHES = (Fraction(1), Fraction(2), Fraction(1, 3))


def axes(reaches: Point) -> list[Point]:
    return [tuple(w if i == j else Fraction(0) for j in range(len(reaches))) for i, w in enumerate(reaches)]


def corners(reaches: Point) -> list[Point]:
    return list(product(*[(-w, w) for w in reaches]))


@pytest.mark.parametrize("level", [0.5, 0.95, 0.999])
def test_figures_are_those_of_the_triangulation(level: float) -> None:
    for body, points in ((BoxBody(REACHES), corners(REACHES)), (CrossBody(REACHES), axes(REACHES))):
        other = Polytope(boundary(points))
        assert body.covariance() == pytest.approx(other.covariance(), abs=1e-12)
        above = other.quantiles(1 - level) - body.quantiles(1 - level)
        assert ((above > 0) & (above < 0.01 * body.reach())).all()
        assert body.reach().tolist() == other.reach().tolist()
        assert (body.width(), body.cube(), body.rank, body.dimension) == (other.width(), other.cube(), 3, 3)


def test_structured_bodies_are_recognized() -> None:
    inner = [tuple(x / 3 for x in p) for p in axes(REACHES)]
    assert structured([*inner, *corners(REACHES)]) == BoxBody(REACHES)
    half = [p for p in corners(REACHES) if p[0] > 0]
    assert structured(half) == BoxBody(REACHES)
    assert structured([*axes(REACHES), *inner]) == CrossBody(REACHES)
    many = tuple(Fraction(1) for _ in range(30))
    assert structured(axes(many)) == CrossBody(many)
    assert box_of_facets([*axes(many), *axes(tuple(-w / 2 for w in many))]) == BoxBody(many)


def test_only_what_is_structured_is_taken_for_it() -> None:
    """A box without two of its corners; a cross-polytope with a point beyond it, or with an axis missing."""
    two = [p for p in corners(REACHES) if len({x > 0 for x in p}) == 2]
    assert structured(two) is None
    assert structured([*axes(REACHES), (Fraction(1), Fraction(1, 100), Fraction(0))]) is None
    assert structured(axes(REACHES)[:2]) is None
    assert structured([*axes(REACHES)[:2], REACHES]) is None
    assert box_of_facets([*axes(REACHES), REACHES]) is None
    assert box_of_facets(axes(REACHES)[:2]) is None


@pytest.mark.parametrize("body", [BoxBody((Fraction(2),) * 20), CrossBody((Fraction(2),) * 20)])
def test_quantiles_and_covariances_hold_in_many_dimensions(body: BoxBody | CrossBody) -> None:
    """Of 40,000 draws: false alarms below 10**-8, by 6 standard deviations."""
    drawn = body.noise.sample(Fraction(1, 1000), 40_000, fresh_words())
    within = np.abs(drawn / 1000) <= body.quantiles(0.1)
    assert (np.abs(within.mean(axis=0) - 0.9) < 6 * np.sqrt(0.09 / 40_000)).all()
    assert np.var(drawn[:, 0] / 1000) == pytest.approx(body.covariance()[0, 0], rel=0.1)


@pytest.mark.parametrize("power", [12, 20, 50])
def test_far_quantiles_of_a_polytope_are_not_below_the_law(power: int) -> None:
    """A box and a cross-polytope by their triangulations, whose marginals have closed forms."""
    miss = 10.0**-power
    for body, points in ((BoxBody(REACHES), corners(REACHES)), (CrossBody(REACHES), axes(REACHES))):
        found = Polytope(boundary(points)).quantiles(miss)
        assert (body.quantiles(miss) <= found).all()
        assert (found <= 1.3 * body.quantiles(miss)).all()
