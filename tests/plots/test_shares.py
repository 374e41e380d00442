"""Shares are drawn at their places, one line for each name."""

from __future__ import annotations

import numpy as np

from discreet.plots.shares import shares_figure


def test_what_is_drawn_is_what_was_given() -> None:
    figure = shares_figure([0.1, 1.0], {"a": [0.5, 0.2], "b": [1.0, 0.0]}, labels=("x", "y"), caption="c")
    (axis,) = figure.axes
    assert [np.asarray(line.get_ydata()).tolist() for line in axis.get_lines()] == [[0.5, 0.2], [1.0, 0.0]]
    assert [line.get_label() for line in axis.get_lines()] == ["a", "b"]
    assert (axis.get_xscale(), axis.get_xlabel(), axis.get_ylabel()) == ("log", "x", "y")
