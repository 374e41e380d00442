"""Several curves over one axis, told apart without color."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import cycle
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from discreet.plots.canvas import canvas

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Reals = NDArray[np.float64]

STYLES = ("-", "--", "-.", ":")
MARKS = ("o", "s", "^", "D", "x", "v", "+")


def curves_figure(places: Reals, curves: Mapping[str, Reals], *, across: str, up: str, caption: str) -> Figure:
    """One line for each entry of `curves`, on logarithmic axes.

    Args:
        places: where the curves have values, of shape (n,).
        curves: the values of each, of shape (n,), by its label.
        across: the label of the horizontal axis.
        up: the label of the vertical axis.
        caption: one line below.
    """
    figure = canvas(6.4, 4.2)
    axis = figure.subplots()
    for (label, values), style, mark in zip(curves.items(), cycle(STYLES), cycle(MARKS), strict=False):
        axis.loglog(places, values, linestyle=style, marker=mark, color="black", markersize=4, label=label)
    axis.set(xlabel=across, ylabel=up)
    axis.grid(color="0.92")
    axis.spines[["top", "right"]].set_visible(False)
    axis.legend(fontsize=8, frameon=False)
    figure.supxlabel(caption, fontsize=8, color="0.35")
    return figure
