"""Shares between 0 and 1 over an axis that spans powers of ten."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import cycle
from typing import TYPE_CHECKING

from discreet.plots.canvas import Place, add_legend, finished, panels

if TYPE_CHECKING:
    from matplotlib.figure import Figure

STYLES = (("-", "o"), ("--", "s"), (":", "^"), ("-.", "D"), ("-", "v"), ("--", "x"), (":", "+"))
SHADES = ("0.6", "#c2410c", "#ea9a6b", "black", "#1d4ed8", "#15803d", "#a21caf")


def shares_figure(
    x: Sequence[float],
    curves: Mapping[str, Sequence[float]],
    *,
    labels: tuple[str, str],
    caption: str = "",
    ax: object = None,
    path: Place = None,
) -> Figure:
    """One curve for each name, with shares as percentages.

    Args:
        x: the places, above 0, ascending.
        curves: a share for each place, by the name of the curve.
        labels: what is to the right, and what is upward.
        caption: one line below.
        ax: the caller's axes to draw in.
        path: saves the figure.
    """
    figure, [axis] = panels(ax, 1, size=(6.8, 4.4), path=path)
    for (name, shares), (dash, mark), shade in zip(curves.items(), cycle(STYLES), cycle(SHADES), strict=False):
        axis.plot(x, shares, label=name, color=shade, linestyle=dash, marker=mark, markersize=4, linewidth=1.4)
    axis.set_xscale("log")
    axis.set_ylim(-0.03, 1.03)
    axis.set_xticks(x, [f"{place:g}" for place in x])
    axis.set_xticks([], minor=True)
    axis.set_yticks([0, 0.25, 0.5, 0.75, 1], ["0 %", "25 %", "50 %", "75 %", "100 %"])
    axis.set(xlabel=labels[0], ylabel=labels[1])
    add_legend(figure, axis, loc="outside right upper")
    return finished(figure, [axis], caption, path=path)
