"""The lecture notes' algorithm exactly: its rounds, its halves, its scales, its rule for empty clusters."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from discreet.clustering.lloyd import lloyd
from discreet.clustering.points import Points
from discreet.clustering.random_floats import RandomFloats
from discreet.testing.scripted_words import splitmix

LOW, HIGH = np.array([-1.0, 0.0]), np.array([1.0, 6.0])


def points_of(rows: Any, epsilon: Fraction, *, replaces: bool = False) -> Points:
    size = len(rows) if replaces else None
    rest: dict[str, Any] = {"allowance": epsilon, "replaces": replaces, "size": size, "words": splitmix(1)}
    return Points.of(np.array(rows, dtype=float), LOW, HIGH, weighted=False, **rest)


@pytest.mark.parametrize(("replaces", "factor"), [(False, 1), (True, 2)])
def test_noise_has_the_scales_of_the_lecture_notes(*, replaces: bool, factor: int) -> None:
    """Sizes 2T/epsilon; sums 2T|dom|/epsilon with |dom| = 1 + 3 about the middle; both twice when rows are replaced."""
    rounds, epsilon = 4, Fraction(1, 2)
    points = points_of([[0, 0]] * 10, epsilon, replaces=replaces)
    found = lloyd(points, 2, epsilon, rounds=rounds, rng=RandomFloats(splitmix(2)))
    assert [step.what for step in points.recorded] == ["sizes", "sums"] * rounds
    assert all(step.epsilon == epsilon / rounds / 2 for step in points.recorded)
    sizes, sums = points.recorded[0].scale, points.recorded[1].scale * points._step
    assert sizes == factor * 2 * rounds / epsilon
    assert sums == pytest.approx(float(factor * 2 * rounds * 4 / epsilon), rel=1e-5)
    assert len(found.history) == rounds + 1


def test_first_centers_do_not_come_from_the_rows() -> None:
    here, there = (
        lloyd(points_of(rows, Fraction(1)), 3, Fraction(1), rounds=1, rng=RandomFloats(splitmix(2)))
        for rows in ([[0, 0]] * 5, [[1, 6]] * 9)
    )
    np.testing.assert_array_equal(here.history[0], there.history[0])
    assert (np.abs(here.history[0]) <= [1, 3]).all()


def test_a_center_without_points_stays() -> None:
    epsilon = Fraction(10**6)
    found = lloyd(points_of([[-1, 0]] * 50, epsilon), 5, epsilon, rounds=3, rng=RandomFloats(splitmix(4)))
    moved = (found.history[0] != found.centers).any(axis=1)
    assert moved.sum() == 1
    np.testing.assert_allclose(found.centers[moved][0], [-1, -3], atol=0.01)


def test_centers_stay_between_the_bounds() -> None:
    epsilon = Fraction(1, 100)
    found = lloyd(points_of([[1, 6]] * 5, epsilon), 4, epsilon, rounds=5, rng=RandomFloats(splitmix(5)))
    assert all((np.abs(centers) <= [1, 3]).all() for centers in found.history)
