"""The largest comes first, in the order of the truth where there is one."""

from __future__ import annotations

import numpy as np

from discreet.plots.rank_plot import order_figure

VALUES = np.array([3.0, 300.0, 31.0])
ENDS = VALUES - 10, VALUES + 10


def lines(**rest: np.ndarray) -> list[list[float]]:
    figure = order_figure(VALUES, ENDS, **rest)  # type: ignore[arg-type]  # rest is the truth, or nothing
    return [np.asarray(line.get_ydata()).tolist() for line in figure.axes[0].lines]


def test_by_value() -> None:
    assert lines() == [[300.0, 31.0, 3.0]]


def test_by_truth() -> None:
    assert lines(truth=np.array([50.0, 20.0, 10.0])) == [[3.0, 300.0, 31.0], [50.0, 20.0, 10.0]]


def test_intervals_stay_on_the_paper() -> None:
    figure = order_figure(VALUES, ENDS)
    ends = np.stack([part[:, 1] for part in figure.axes[0].collections[0].get_segments()])  # type: ignore[attr-defined]  # lines have them
    np.testing.assert_array_equal(ends, [[290, 310], [21, 41], [1, 13]])
