"""Ranked values are drawn where they are, the first at the top."""

from __future__ import annotations

import numpy as np
from matplotlib.collections import LineCollection

from discreet.plots.dot_plot import LONGEST_NAME, ranks_figure


def test_what_is_drawn_is_what_was_given() -> None:
    values, low, high = np.array([5.0, 3.0]), np.array([4.0, 2.0]), np.array([6.0, 4.0])
    figure = ranks_figure(["a", "b" * 99], values, ends=(low, high), truth=np.array([5.5, 1.0]), across="users")
    (axis,) = figure.axes
    dots, truth = axis.get_lines()
    assert np.asarray(dots.get_xdata()).tolist() == [5.0, 3.0]
    assert np.asarray(truth.get_xdata()).tolist() == [5.5, 1.0]
    (lines,) = axis.collections
    assert isinstance(lines, LineCollection)
    bars = [np.asarray(segment).tolist() for segment in lines.get_segments()]
    assert bars == [[[4.0, 0.0], [6.0, 0.0]], [[2.0, 1.0], [4.0, 1.0]]]
    assert axis.get_ylim()[0] > axis.get_ylim()[1]
    assert [len(label.get_text()) for label in axis.get_yticklabels()] == [1, LONGEST_NAME]
    assert axis.get_xlabel() == "users"


def test_intervals_and_truth_may_be_missing() -> None:
    (axis,) = ranks_figure(["a"], np.array([1.0])).axes
    assert len(axis.get_lines()) == 1
    assert axis.get_legend() is None
