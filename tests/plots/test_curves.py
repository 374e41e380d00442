from __future__ import annotations

import numpy as np

from discreet.plots.curves import curves_figure


def test_each_curve_is_drawn_in_a_style_of_its_own() -> None:
    places = np.array([1.0, 10.0, 100.0])
    curves = {"one": places, "two": places**2, "three": places / 2}
    (axis,) = curves_figure(places, curves, across="k", up="noise", caption="a caption").axes
    assert [line.get_label() for line in axis.lines] == list(curves)
    for line, values in zip(axis.lines, curves.values(), strict=True):
        assert np.asarray(line.get_ydata()).tolist() == values.tolist()
    assert len({(line.get_linestyle(), str(line.get_marker())) for line in axis.lines}) == len(curves)
