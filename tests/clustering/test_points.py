"""Whatever is asked of points, one row moves the exact totals by no more than the noise is made for."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from discreet.clustering.lloyd import lloyd
from discreet.clustering.point_oracle import PointGrid
from discreet.clustering.points import BITS, Points
from discreet.clustering.random_floats import RandomFloats
from discreet.clustering.synopsis import best, over_columns
from discreet.errors import BudgetExceeded
from discreet.testing.scripted_words import splitmix
from discreet.testing.statistics import chi_square_p, laplace_survival

LOW, HIGH = np.array([0.0, -3.0, 10.0]), np.array([8.0, 3.0, 11.0])
HOSTILE = (math.nan, math.inf, -math.inf, 0.0, -0.0, 1e300, -1e300, 5e-324, 2.5, 3.0, 8.0, 10.5, 11.0, -2.9)
ROWS = st.lists(st.tuples(*(st.sampled_from(HOSTILE),) * 3), min_size=1, max_size=8)
Query = tuple[str, NDArray[Any], int, Fraction]


class Recorder(Points):
    """Keeps the exact totals, and gives answers that were recorded elsewhere, or without noise."""

    asked: list[Query]
    method: list[NDArray[Any]]
    script: list[NDArray[Any]] | None = None

    def _noisy(self, what: str, exact: NDArray[Any], sensitivity: int, epsilon: Fraction) -> NDArray[Any]:
        noisy = super()._noisy(what, exact, sensitivity, epsilon)
        self.asked.append((what, exact, sensitivity * self.count_sensitivity, epsilon))
        answer = noisy if self.script is None else self.script[len(self.method)]
        self.method.append(answer)
        return answer


def recorded(rows: Any, *, replaces: bool = False, epsilon: int = 1000, size: int | None = None) -> Recorder:
    array = np.array(rows, dtype=float).reshape(-1, 3)
    rest: dict[str, Any] = {"allowance": Fraction(epsilon), "replaces": replaces, "size": size, "words": splitmix(1)}
    points = Recorder.of(array, LOW, HIGH, weighted=True, **rest)
    assert isinstance(points, Recorder)
    points.asked, points.method = [], []
    return points


CENTERS = np.array([[0.0, 0.0, 0.0], [3.0, -1.0, 0.2], [-4.0, 3.0, 0.5]])
DIAGONAL = PointGrid(
    directions=np.array([[0.6, 0.8, 0.0]]), origins=np.array([-2.0]), widths=np.array([0.7]), shape=(5,)
)


def everything(points: Points) -> None:
    one = Fraction(1)
    points.count(one)
    points.cells(over_columns(points.half, 200.0), one)
    points.cells(DIAGONAL, one)
    points.distances(CENTERS[1], np.linspace(0, points.largest_norm, 9), one)
    points.sizes(CENTERS, one)
    for radius in (None, 0.3, 2.0, 100.0):
        points.sums(CENTERS, one, radius=radius)


def apart(first: list[Query], second: list[Query]) -> list[tuple[float, int]]:
    """How far each total moved, and what its noise is made for."""
    assert [(what, moved, epsilon) for what, _, moved, epsilon in first] == [
        (what, moved, epsilon) for what, _, moved, epsilon in second
    ]
    return [
        (float(np.abs(one[1].astype(float) - two[1].astype(float)).sum()), one[2])
        for one, two in zip(first, second, strict=True)
    ]


@given(ROWS)
def test_one_row_moves_no_total_too_far(rows: list[Any]) -> None:
    whole, less = recorded(rows), recorded(rows[1:])
    everything(whole)
    everything(less)
    assert all(moved <= allowed for moved, allowed in apart(whole.asked, less.asked))


@given(ROWS, st.tuples(*(st.sampled_from(HOSTILE),) * 3))
def test_a_replaced_row_moves_none_further_than_twice_that(rows: list[Any], other: Any) -> None:
    here, there = recorded(rows, replaces=True), recorded([other, *rows[1:]], replaces=True)
    everything(here)
    everything(there)
    assert all(moved <= allowed for moved, allowed in apart(here.asked, there.asked))


def test_one_row_moves_sums_by_the_radius() -> None:
    """The far corner, cut to a radius: nearly all of it, and not more."""
    points, none = recorded([[8.0, 3.0, 11.0]]), recorded([[math.nan, 0.0, 0.0]])
    for each in (points, none):
        each.sums(np.zeros((1, 3)), Fraction(1), radius=1.0)
    [(moved, allowed)] = apart(points.asked, none.asked)
    assert allowed - 3 <= moved <= allowed
    assert allowed == pytest.approx(1.0 / points._step, abs=1)


@pytest.mark.parametrize("name", ["lloyd", "best"])
@pytest.mark.parametrize("replaces", [False, True])
def test_a_replay_on_neighbors_asks_the_same_and_moves_little(name: str, *, replaces: bool) -> None:
    """Record on one array, replay with the same answers on its neighbor: the same questions, totals nearly equal."""
    rows = np.stack([LOW + (HIGH - LOW) * u for u in RandomFloats(splitmix(3)).uniform(400, 3) ** 2])
    neighbor = np.vstack([[8.0, 3.0, 11.0], rows[1:]]) if replaces else rows[1:]
    runs: list[Recorder] = []
    for array in (rows, neighbor):
        points = recorded(array, replaces=replaces, epsilon=2, size=400 if replaces else None)
        points.script = runs[0].method if runs else None
        rng = RandomFloats(splitmix(5))
        if name == "lloyd":
            lloyd(points, 3, Fraction(2), rounds=4, rng=rng)
        else:
            best(points, 3, Fraction(2), rng=rng)
        assert sum(step.epsilon for step in points.recorded) == 2
        runs.append(points)
    distances = apart(runs[0].asked, runs[1].asked)
    assert all(moved <= allowed for moved, allowed in distances)
    assert any(moved > 0.2 * allowed for moved, allowed in distances), "the neighbor should be seen at all"


def test_totals_are_those_of_the_rows() -> None:
    points = recorded([[4, 0, 10.5], [8, 3, 11], [99, -99, 10.5], [math.nan, 0, 10]], epsilon=10**6)
    sums = points.sums(np.zeros((1, 3)), Fraction(10**5), radius=None)
    assert points.asked[0][0] == "sums"
    np.testing.assert_allclose(sums.values, [[8.0, 0.0, 0.5]], atol=0.01)
    assert points.sizes(np.zeros((1, 3)), Fraction(10**5)).tolist() == [3]
    assert points.cells(over_columns(points.half, 4.0), Fraction(10**5)).sum() == 3


def test_the_lattice_is_fine() -> None:
    points = recorded([[0.1, 0.1, 10.1]])
    assert points._step * points.weights.max() <= 2 * points.half.max() / 2**BITS
    np.testing.assert_allclose([points._values(j)[0] for j in range(3)], [-3.9, 0.1, -0.4], atol=1e-5)


def test_rows_stay_on_their_own() -> None:
    """What a row counts as does not depend on where in an array, or in how large a one, it stands."""
    rows = LOW + (HIGH - LOW) * RandomFloats(splitmix(7)).uniform(1000, 3)
    whole, last = recorded(rows), recorded(rows[-1:])
    assert whole._nearest(CENTERS)[-1] == last._nearest(CENTERS)[0]
    assert whole._cell(DIAGONAL)[-1] == last._cell(DIAGONAL)[0]


def test_counts_have_the_noise_that_is_booked() -> None:
    """20,000 draws, false alarms below 1e-9; noise of 9/8 of the scale is seen."""
    rest: dict[str, Any] = {"allowance": Fraction(10**6), "replaces": False, "size": None, "words": splitmix(11)}
    points = Points.of(np.zeros((5, 20_000)), np.full(20_000, -1.0), np.full(20_000, 1.0), weighted=False, **rest)
    grid = PointGrid(
        directions=np.eye(1, 20_000), origins=np.array([-1.0]), widths=np.array([2.0 / 20_000]), shape=(20_000,)
    )
    drawn = points.cells(grid, Fraction(1, 8)).astype(np.int64)
    drawn[drawn.size // 2] -= 5
    assert points.recorded[0].scale == 8
    assert chi_square_p(drawn, laplace_survival(8.0)) > 1e-9
    assert chi_square_p(drawn, laplace_survival(9.0)) < 1e-9


def test_more_than_the_allowance_is_refused() -> None:
    points = recorded([[1, 1, 10]], epsilon=1)
    points.count(Fraction(1, 2))
    points.count(Fraction(1, 2))
    with pytest.raises(BudgetExceeded, match="within epsilon=1"):
        points.count(Fraction(1, 10**9))
    assert len(points.recorded) == 2
