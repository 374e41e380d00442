"""Values with their error bars, one panel for each column of an answer."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import date
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreet.plots.canvas import finished, panels

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


UNTOLD = "—"
MOST_LABELS = 40
"""Of more groups every second, third, ... is named."""


def intervals_figure(
    labels: Sequence[str], columns: Sequence[Panel], *, caption: str, by: str = "", ax: object = None
) -> Figure:
    """A figure with one row of points and error bars for each group; of a value that is not known, a dash.

    Args:
        labels: the names of the groups, n of them.
        columns: one for each panel, with arrays of shape (n,).
        caption: one line below.
        by: what the groups are groups of.
        ax: the caller's axes to draw in, as many as columns.
    """
    height = 1.6 + 0.28 * min(len(labels), MOST_LABELS)
    figure, axes = panels(ax, len(columns), size=(max(4.5, 3.6 * len(columns)), height), sharey=True)
    places = np.arange(len(labels))
    for axis, panel in zip(axes, columns, strict=True):
        middles = _middles(panel)
        shown = axis.errorbar(
            middles,
            places,
            xerr=_reach(panel, middles),
            fmt="o",
            color="black",
            ecolor="0.45",
            capsize=3,
            markersize=4,
            label="private answer, with its interval",
        )
        shown.lines[0].set_xdata(panel.values)
        for place in np.flatnonzero(np.isnan(panel.values)):
            axis.text(float(middles[place]), float(place), UNTOLD, ha="center", va="bottom", color="0.45")
        if panel.truth is not None:
            axis.plot(panel.truth, places, "x", color="#c2410c", markersize=7, label="true value")
        axis.set_title(panel.title, fontsize=10)
        axis.locator_params(axis="x", nbins=5)
        axis.xaxis.set_major_formatter("{x:,.10g}")
    every = max(1, math.ceil(len(labels) / MOST_LABELS))
    axes[0].set_yticks(places[::every], labels[::every])
    axes[0].set_ylabel(by)
    for axis in axes[:1] if ax is None else axes:
        axis.set_ylim(max(len(labels), 1) - 0.5, -0.5)
    if any(panel.truth is not None for panel in columns):
        handles, names = axes[0].get_legend_handles_labels()
        style: dict[str, Any] = {"ncols": 2, "fontsize": 8, "frameon": False}
        if ax is None:
            figure.legend(handles, names, loc="outside upper left", **style)
        else:
            axes[0].legend(handles, names, **style)
    return finished(figure, axes, caption, grid="x")


def bars_figure(
    labels: Sequence[str], columns: Sequence[Panel], *, caption: str, by: str = "", ax: object = None
) -> Figure:
    """A figure with one bar for each bin of a histogram, and its interval as an error bar; arguments as above."""
    figure, axes = panels(ax, len(columns), size=(max(5.5, (1.5 + 0.32 * len(labels)) * len(columns)), 3.8))
    places = np.arange(len(labels))
    for axis, panel in zip(axes, columns, strict=True):
        axis.bar(places, np.nan_to_num(panel.values), width=1.0, color="0.8", edgecolor="white", label="private answer")
        middles = _middles(panel)
        axis.errorbar(places, middles, yerr=_reach(panel, middles), fmt="none", ecolor="0.25", capsize=2)
        if panel.truth is not None:
            axis.plot(places, panel.truth, "x", color="#c2410c", markersize=7, label="true value")
            axis.legend(fontsize=8, frameon=False)
        axis.set_title(panel.title, fontsize=10)
        axis.yaxis.set_major_formatter("{x:,.10g}")
        every = max(1, math.ceil(len(labels) / MOST_LABELS))
        axis.set_xticks(places[::every], labels[::every], rotation=90 if len(labels) > 6 else 0, fontsize=8)
        axis.set_xlabel(by)
    finished(figure, axes, caption, grid=None)
    for axis in axes:
        axis.grid(axis="y", color="0.92")
    return figure


def _middles(panel: Panel) -> Reals:
    """The values; where one is not known, the middle of its interval."""
    with np.errstate(invalid="ignore"):  # an interval of all numbers has no middle
        return np.where(np.isnan(panel.values), (panel.low + panel.high) / 2, panel.values)


def _reach(panel: Panel, middles: Reals) -> Reals:
    """How far the interval reaches to either side."""
    return np.stack([np.maximum(middles - panel.low, 0.0), np.maximum(panel.high - middles, 0.0)])
