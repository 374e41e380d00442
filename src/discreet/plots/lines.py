"""Several curves over one axis, told apart by their dashes and marks as well as by color."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from discreet.plots.canvas import finished, literal_text, panels

if TYPE_CHECKING:
    from matplotlib.figure import Figure

STYLES = (("-", "o"), ("--", "s"), (":", "^"), ("-.", "D"), ((0, (5, 1, 1, 1, 1, 1)), "v"), ("-", "x"), ("--", "+"))
SHADES = ("black", "#c2410c", "#1d4ed8", "#15803d", "0.45", "#ca8a04", "#a21caf")
MARKS = 8
"""Each curve has about so many marks."""


def lines_figure(
    x: Sequence[float],
    curves: Mapping[str, Sequence[float]],
    *,
    x_label: str,
    y_label: str,
    caption: str = "",
    logarithmic: bool = True,
    ax: object = None,
    path: str | os.PathLike[str] | None = None,
) -> Figure:
    """A figure with one curve for each name.

    Args:
        x: the places, ascending.
        curves: a value for each place, by the name of the curve; at most seven.
        x_label: what is to the right.
        y_label: what is upward.
        caption: one line below.
        logarithmic: whether both axes are.
        ax: the caller's axes to draw in.
        path: saves the figure.

    >>> lines_figure([1, 2], {"a": [3, 4]}, x_label="n", y_label="error").axes[0].get_ylabel()
    'error'
    """
    figure, [axis] = panels(ax, 1, size=(6.4, 4.0), path=path)
    for (name, values), (dash, mark), shade in zip(curves.items(), STYLES, SHADES, strict=False):
        every = max(1, len(x) // MARKS)
        axis.plot(
            x, values, label=literal_text(name), color=shade, linestyle=dash, marker=mark, markevery=every, markersize=4
        )
    if logarithmic:
        axis.set_xscale("log")
        axis.set_yscale("log")
    axis.set_xlabel(x_label)
    axis.set_ylabel(y_label)
    axis.legend(frameon=False, fontsize=8)
    return finished(figure, [axis], caption, path=path)
