"""Values with their error bars, one panel for each column of an answer."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import date
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreet.plots.canvas import canvas, finished

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Reals = NDArray[np.float64]


class Panel(NamedTuple):
    """One column of an answer: values and the ends of their intervals, arrays of shape (groups,)."""

    title: str
    values: Reals
    low: Reals
    high: Reals
    truth: Reals | None = None
    """The exact values, where they are public; drawn as crosses."""


def drawn(values: Sequence[object]) -> Reals:
    """Values as floats; dates and times as days since 1970."""
    if values and isinstance(values[0], date):
        return np.asarray(values, dtype="datetime64[us]").astype(np.float64) / 86_400e6
    return np.asarray(values, dtype=np.float64)


MOST_LABELS = 40
"""Of more groups every second, third, ... is named."""


def intervals_figure(labels: Sequence[str], panels: Sequence[Panel], *, caption: str, by: str = "") -> Figure:
    """A figure with one row of points and error bars for each group.

    Args:
        labels: the names of the groups, n of them.
        panels: one for each column, with arrays of shape (n,).
        caption: one line below.
        by: what the groups are groups of.
    """
    height = 1.6 + 0.28 * min(len(labels), MOST_LABELS)
    figure = canvas(max(4.5, 3.6 * len(panels)), height)
    axes = figure.subplots(1, len(panels), sharey=True, squeeze=False)[0]
    places = np.arange(len(labels))
    for axis, panel in zip(axes, panels, strict=True):
        reach = np.stack([np.maximum(panel.values - panel.low, 0.0), np.maximum(panel.high - panel.values, 0.0)])
        axis.errorbar(
            panel.values,
            places,
            xerr=reach,
            fmt="o",
            color="black",
            ecolor="0.45",
            capsize=3,
            markersize=4,
            label="private answer, with its interval",
        )
        if panel.truth is not None:
            axis.plot(panel.truth, places, "x", color="#c2410c", markersize=7, label="true value")
        axis.set_title(panel.title, fontsize=10)
        axis.locator_params(axis="x", nbins=5)
        axis.xaxis.set_major_formatter("{x:,.10g}")
    every = max(1, math.ceil(len(labels) / MOST_LABELS))
    axes[0].set_yticks(places[::every], labels[::every])
    axes[0].set_ylabel(by)
    axes[0].invert_yaxis()
    if any(panel.truth is not None for panel in panels):
        handles, names = axes[0].get_legend_handles_labels()
        figure.legend(handles, names, loc="outside upper left", ncols=2, fontsize=8, frameon=False)
    return finished(figure, axes, caption, grid="x")
