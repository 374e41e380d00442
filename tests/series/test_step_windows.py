"""Windows: which steps each sum holds, and how many sums hold two steps."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from discreet.errors import InvalidParameter
from discreet.series.step_windows import StepWindows

WEEKS = {"week": [0, 0, 0, 3, 3, 3, 3, 3, 3, 3]}
"""Of ten days from a Friday on, the Monday before."""


def matrix_of(windows: StepWindows) -> np.ndarray[Any, np.dtype[np.float64]]:
    """The queries one by one."""
    rows = [
        [float(first <= place <= step) for place in range(windows.steps)]
        for own in windows.first.values()
        for step, first in enumerate(own.tolist())
        if first >= 0
    ]
    return np.array(rows)


@pytest.mark.parametrize("names", [(1,), (3, "all"), (1, 7, "all", "week"), ("week", 10)])
def test_sums_are_their_queries(names: tuple[int | str, ...]) -> None:
    windows = StepWindows.of(10, names, WEEKS)
    dense, queries = matrix_of(windows), windows.queries()
    assert windows.number == queries.number == len(dense)
    assert np.array_equal(queries.squares, dense.T @ dense)
    values = np.arange(20).reshape(10, 2) ** 2
    assert np.array_equal(np.concatenate([windows.sums(values, name) for name in windows.first]), dense @ values)


def test_only_full_windows_are_shown() -> None:
    windows = StepWindows.of(10, (1, 7, "all"))
    assert [windows.full(name, 8).tolist() for name in windows.first] == [list(range(8)), [6, 7], list(range(8))]
    assert windows.sums(np.ones((8, 1)), 7).tolist() == [[7.0], [7.0]]


def test_a_year_of_a_dashboard() -> None:
    assert StepWindows.of(365, (1, 7, 28, "all")).number == 1427


@pytest.mark.parametrize(
    ("steps", "windows"),
    [(0, (1,)), (4097, (1,)), (5, ()), (5, (6,)), (5, (0,)), (5, (1, 1)), (5, "all"), (5, (True,)), (5, ("week",))],
)
def test_what_is_no_window_is_refused(steps: int, windows: Any) -> None:
    with pytest.raises(InvalidParameter):
        StepWindows.of(steps, windows)
