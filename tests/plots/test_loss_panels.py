from __future__ import annotations

import numpy as np

from discreet.plots.loss_panels import LossCurves, loss_figure


def test_figure_holds_the_curves() -> None:
    grid = np.linspace(0.0, 1.0, 5)
    curves = LossCurves(grid, np.array([0.5, 0.25, 0.1, 0.01, 0.0]), grid, 1 - grid, np.array([0.1, 0.2, np.inf]))
    figure = loss_figure(curves, caption="a caption")
    profile, tradeoff, histogram = figure.axes
    assert np.asarray(profile.lines[0].get_ydata()).tolist() == [0.5, 0.25, 0.1, 0.01]
    assert np.asarray(tradeoff.lines[1].get_ydata()).tolist() == (1 - grid).tolist()
    assert len(histogram.patches) == 60
