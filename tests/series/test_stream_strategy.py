"""Strategies of series: published figures, bounds, exact distances, and that nothing looks ahead."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from discreet.errors import InvalidParameter
from discreet.series.participation import Participation
from discreet.series.step_windows import StepWindows
from discreet.series.stream_strategy import StreamStrategy

UNIT = Fraction(1, 2)
DASHBOARD = (1, 7, 28, "all")


@pytest.fixture(scope="module")
def year() -> StreamStrategy:
    return StreamStrategy.best(StepWindows.of(365, DASHBOARD))


def test_a_dashboard_of_a_year(year: StreamStrategy) -> None:
    """2.33 where the bound is 2.315, the square root 2.67 and days that are added up 7.45."""
    assert 2.31 < year.bound(rho=UNIT) <= year.rmse(rho=UNIT) < 2.335
    assert year.rmse(rho=UNIT) < 1.01 * year.bound(rho=UNIT)
    assert StreamStrategy.square_root(year.windows).rmse(rho=UNIT) == pytest.approx(2.67, abs=0.01)
    assert StreamStrategy.days(year.windows).rmse(rho=UNIT) == pytest.approx(7.45, abs=0.01)


def test_running_totals_of_a_year() -> None:
    windows = StepWindows.of(365, ("all",))
    best, root = StreamStrategy.best(windows), StreamStrategy.square_root(windows)
    assert 2.58 < best.bound(rho=UNIT) <= best.rmse(rho=UNIT) < 2.645
    assert root.rmse(rho=UNIT) == pytest.approx(2.78, abs=0.01)
    assert root.largest(rho=UNIT) == pytest.approx(2.94, abs=0.01)


def test_nothing_looks_ahead(year: StreamStrategy) -> None:
    for matrix in (year.matrix, StreamStrategy.best(StepWindows.of(20, (1, "all")), Participation(4)).matrix):
        assert not np.triu(matrix, 1).any()
        assert np.diag(matrix).min() > 0
        assert matrix.dtype == np.int64


def test_all_is_computed_from_the_integers(year: StreamStrategy) -> None:
    assert year.moved == max(sum(entry**2 for entry in column) for column in year.matrix.T.tolist())
    assert np.array_equal(year.gram[:5, :5], (year.matrix.T @ year.matrix)[:5, :5])
    inverse = np.linalg.inv(year.matrix.astype(np.float64))
    assert year.deviations[7][3] == pytest.approx(np.linalg.norm(inverse[3:10].sum(axis=0)))
    assert year.roundings["all"][9] == pytest.approx(np.abs(inverse[:10].sum(axis=0)).sum())


@pytest.mark.parametrize(("steps", "apart"), [(3, 1), (10, 1), (60, 1), (6, 7)])
def test_noise_is_that_of_all_steps(steps: int, apart: int) -> None:
    """More steps cost more than one, less than so many of them, and no more than any other strategy's."""
    windows, taken = StepWindows.of(60, (1, 7, "all")), Participation(steps, apart)
    best, once = StreamStrategy.best(windows, taken), StreamStrategy.best(windows)
    assert best.moved > best.gram.diagonal().max() or best.family == "each step for itself"
    assert once.rmse(rho=UNIT) < best.rmse(rho=UNIT) < steps * once.rmse(rho=UNIT)
    for other in (StreamStrategy.days(windows, taken), StreamStrategy.square_root(windows, taken)):
        assert best.rmse(rho=UNIT) <= other.rmse(rho=UNIT) * (1 + 1e-9)
    assert best.bound(rho=UNIT) <= best.rmse(rho=UNIT) < 1.35 * best.bound(rho=UNIT)


@pytest.mark.parametrize("matrix", [[[1.0]], [[2**40]], [[0]], [[-1]], [[1, 0], [0, 1]], [1], [[-(2**63)]]], ids=str)
def test_what_could_not_be_measured_is_refused(matrix: list[Any]) -> None:
    for taken in (Participation(), Participation(steps=3)):
        with pytest.raises(InvalidParameter, match="a lower triangular matrix"):
            StreamStrategy(StepWindows.of(1, (1,)), np.array(matrix), taken, "strange")
    with pytest.raises(InvalidParameter, match="a lower triangular matrix"):
        StreamStrategy(StepWindows.of(2, (1,)), np.array([[1, 1], [0, 1]]), Participation(), "strange")


@pytest.mark.parametrize("seed", range(4))
def test_no_strategy_is_below_the_bound(seed: int) -> None:
    """Random ones for one step and for several."""
    windows = StepWindows.of(12, (1, 4, "all"))
    for taken in (Participation(), Participation(3), Participation(3, 4)):
        bound = StreamStrategy.best(windows, taken).bound(rho=UNIT)
        strange = np.tril(np.random.default_rng(seed).integers(1, 99, size=(12, 12)))
        assert StreamStrategy(windows, strange, taken, "strange").rmse(rho=UNIT) >= bound
    # Of nine steps eight apart only the first and the last are twice in a unit; so they had better count for less.
    ends, taken = np.diag([7, *[10] * 7, 7]), Participation(2, 8)
    bound = StreamStrategy.best(StepWindows.of(9), taken).bound(rho=UNIT)
    assert StreamStrategy(StepWindows.of(9), ends, taken, "ends").rmse(rho=UNIT) >= bound


def test_the_price_scales_the_error(year: StreamStrategy) -> None:
    assert year.rmse(rho=2) == pytest.approx(year.rmse(rho=UNIT) / 2)
    with pytest.raises(InvalidParameter, match="with a bound"):
        StreamStrategy.days(year.windows).bound(rho=1)


@pytest.mark.parametrize("branches", [2, 3, 8])
def test_trees_are_sums_of_their_nodes(branches: int) -> None:
    """Each step is in a node of each level at most, each total so far in as many as its digits say."""
    windows = StepWindows.of(30, (1, "all"))
    tree = StreamStrategy.tree(windows, Participation(), branches)
    assert not np.triu(tree.matrix, 1).any()
    assert tree.absolute == max(sum(column) for column in tree.matrix.T.tolist())
    assert tree.absolute <= 1 + np.floor(np.log(30) / np.log(branches))
    assert StreamStrategy.tree(windows, Participation(3), branches).absolute <= 3 * tree.absolute
    for length in range(1, 31):
        digits, rest = 0, length
        while rest:
            digits, rest = digits + rest % branches, rest // branches
        assert tree.roundings["all"][length - 1] == pytest.approx(digits)
        assert tree.deviations["all"][length - 1] == pytest.approx(digits**0.5)


def test_a_year_at_a_pure_epsilon() -> None:
    """The best tree for running totals has several branches, and beats two of them and each day for itself."""
    windows = StepWindows.of(365, ("all",))
    best = StreamStrategy.best_tree(windows)
    two, days = StreamStrategy.tree(windows), StreamStrategy.days(windows)
    assert best.laplace_rmse(epsilon=1) < 0.9 * min(two.laplace_rmse(epsilon=1), days.laplace_rmse(epsilon=1))
    assert days.laplace_rmse(epsilon=1) == pytest.approx(19.13, abs=0.01)
    with pytest.raises(InvalidParameter):
        StreamStrategy.tree(windows, Participation(), 1)
