"""What a protected table answers is what an array answers: same cells, same nearest centers, same sums."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import discreet as dp
from discreet.clustering.points import Points
from discreet.clustering.random_floats import RandomFloats
from discreet.clustering.synopsis import around, over_columns
from discreet.clustering.table_points import TablePoints
from discreet.testing.scripted_words import splitmix

LOW, HIGH = np.array([0.0, -3.0, 10.0]), np.array([8.0, 3.0, 11.0])
ROWS = LOW - 0.5 + (HIGH - LOW + 1) * RandomFloats(splitmix(1)).uniform(500, 3)
NAMES = ["a", "b", "c"]
NO_NOISE = Fraction(10**5)
CENTERS = np.array([[0.0, 0.0, 0.0], [3.0, -1.0, 0.2], [-4.0, 3.0, 0.5]])


def table(**stated: Any) -> dp.PrivateTable:
    columns = {name: [None, *ROWS[:, j].tolist()] for j, name in enumerate(NAMES)}
    columns["c"][0] = 10.5
    bounds = dict(zip(NAMES, zip(LOW.tolist(), HIGH.tolist(), strict=True), strict=True))
    people = [0, *(i // 5 for i in range(500))]
    given: dict[str, Any] = {
        "unit": dp.ROW,
        "budget": dp.Budget(epsilon=10**7),
        "bounds": bounds,
        "name": "rows",
    } | stated
    return dp.protect(pa.table({**columns, "person": people}), **given)


def asked(**limits: Any) -> TablePoints:
    stated = {"unit": "person"} if limits else {}
    return TablePoints(table(**stated), NAMES, (LOW, HIGH), limits)


@pytest.fixture(scope="module")
def points() -> Points:
    rest: dict[str, Any] = {"allowance": Fraction(10**7), "replaces": False, "size": None, "words": splitmix(2)}
    return Points.of(ROWS, LOW, HIGH, weighted=False, **rest)


def test_rows_with_nulls_are_left_out() -> None:
    assert asked().count(NO_NOISE) == 500


def test_a_stated_size_is_that_of_all_rows() -> None:
    """After a filter, and where a row may be left out for a NULL, it is not the number of points."""
    sized = table(neighbors="replace-one", rows=501)
    filled = sized.fill_null(dict.fromkeys(NAMES, 1))
    for one in (sized, filled.filter(lambda t: t.a > 1)):
        assert TablePoints(one, NAMES, (LOW, HIGH), {}).size is None


@pytest.mark.parametrize("centers", [CENTERS, CENTERS[:1]])
def test_sizes_and_sums_are_those_of_the_array(points: Points, centers: Any) -> None:
    found = asked()
    np.testing.assert_array_equal(found.sizes(centers, NO_NOISE), points.sizes(centers, NO_NOISE))
    for radius in (None, 1000.0):
        here, there = (each.sums(centers, NO_NOISE, radius=radius) for each in (found, points))
        np.testing.assert_allclose(here.values, there.values, atol=0.2)  # noise of scale 0.01 at that radius


def test_grids_are_those_of_the_array(points: Points) -> None:
    found = asked()
    directions = np.linalg.qr(RandomFloats(splitmix(3)).directions(2, 3).T)[0].T
    for grid in (over_columns(points.half, 300.0), around(directions, CENTERS[1], 2.0, 200.0)):
        np.testing.assert_array_equal(found.cells(grid, NO_NOISE), points.cells(grid, NO_NOISE))


def test_distances_are_those_of_the_array(points: Points) -> None:
    edges = np.linspace(0, points.largest_norm, 11)
    here, there = (each.distances(CENTERS[1], edges, NO_NOISE) for each in (asked(), points))
    np.testing.assert_array_equal(here, there)


def test_the_noise_of_sums_is_what_is_said() -> None:
    """At epsilon 1 all three have Laplace noise of scale |dom| = 4 + 3 + 1/2, so a variance of 2 * 7.5 ** 2."""
    found = asked().sums(CENTERS, Fraction(1), radius=None)
    np.testing.assert_allclose(found.variance, 2 * 7.5**2, rtol=1e-3)


def test_units_are_bounded() -> None:
    """Each of 100 persons has 5 rows; with 2 of them in 1 cluster each counts at most twice, all in all."""
    found = asked(max_groups=1, max_rows=2)
    assert found.count_sensitivity == 2
    assert found.count(NO_NOISE) == pytest.approx(200, abs=1)
    assert found.sizes(CENTERS, NO_NOISE).sum() <= 200


def test_a_public_size_is_known() -> None:
    filled = table(neighbors="replace-one", rows=501).fill_null(dict.fromkeys(NAMES, 1))
    points = TablePoints(filled, NAMES, (LOW, HIGH), {})
    assert (points.size, points.count_sensitivity) == (501, 2)


def test_a_crowd_can_be_asked_about() -> None:
    found = asked()
    centers = (HIGH - LOW) * (RandomFloats(splitmix(5)).uniform(found.most_centers, 3) - 0.5)
    assert 20 <= found.most_centers < 40
    assert found.sizes(centers, NO_NOISE).sum() == 500
