"""Values with their error bars, one panel for each column of an answer."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import date
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreet.plots.canvas import Place, add_legend, finished, literal_text, panels

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.transforms import Transform

Reals = NDArray[np.float64]


class Panel(NamedTuple):
    """One column of an answer: values and the ends of their intervals, arrays of shape (groups,)."""

    title: str
    values: Reals
    low: Reals
    high: Reals
    truth: Reals | None = None
    """The exact values, where they are public; drawn as crosses."""


def as_floats(values: Sequence[object]) -> Reals:
    """Values as floats; dates and times as days since 1970."""
    if values and isinstance(values[0], date):
        return np.asarray(values, dtype="datetime64[us]").astype(np.float64) / 86_400e6
    return np.asarray(values, dtype=np.float64)


UNTOLD = "—"
MOST_LABELS = 40
"""Of more groups every second, third, ... is named."""


def intervals_figure(
    labels: Sequence[str],
    columns: Sequence[Panel],
    *,
    caption: str,
    by: str = "",
    ax: object = None,
    path: Place = None,
) -> Figure:
    """A figure with one row of points and error bars for each group; of a value that is not known, a dash.

    Args:
        labels: the names of the groups, n of them.
        columns: one for each panel, with arrays of shape (n,).
        caption: one line below.
        by: what the groups are groups of.
        ax: the caller's axes to draw in, as many as columns.
        path: saves the figure.
    """
    height = 1.6 + 0.28 * min(len(labels), MOST_LABELS)
    figure, axes = panels(ax, len(columns), size=(max(4.5, 3.6 * len(columns)), height), path=path, sharey=True)
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
        _draw_open_ends(axis, panel, middles, upright=False)
        for place in np.flatnonzero(np.isnan(panel.values)):
            x, own = _seen(axis, middles[place], upright=False)
            axis.text(x, float(place), UNTOLD, ha="center", va="bottom", color="0.45", transform=own)
        if panel.truth is not None:
            axis.plot(panel.truth, places, "x", color="#c2410c", markersize=7, label="true value")
        axis.set_title(literal_text(panel.title), fontsize=10)
        axis.locator_params(axis="x", nbins=5)
        axis.xaxis.set_major_formatter("{x:,.10g}")
    every = max(1, math.ceil(len(labels) / MOST_LABELS))
    axes[0].set_yticks(places[::every], list(map(literal_text, labels[::every])))
    axes[0].set_ylabel(literal_text(by))
    for axis in axes[:1] if ax is None else axes:
        axis.set_ylim(max(len(labels), 1) - 0.5, -0.5)
    if any(panel.truth is not None for panel in columns):
        add_legend(figure, axes[0], loc="outside upper left", ncols=2)
    return finished(figure, axes, caption, grid="x", path=path)


def bars_figure(
    labels: Sequence[str],
    columns: Sequence[Panel],
    *,
    caption: str,
    by: str = "",
    ax: object = None,
    path: Place = None,
) -> Figure:
    """A figure with one bar for each bin of a histogram, and its interval as an error bar; arguments as above."""
    width = max(5.5, (1.5 + 0.32 * len(labels)) * len(columns))
    figure, axes = panels(ax, len(columns), size=(width, 3.8), path=path)
    places = np.arange(len(labels))
    for axis, panel in zip(axes, columns, strict=True):
        axis.bar(places, np.nan_to_num(panel.values), width=1.0, color="0.8", edgecolor="white", label="private answer")
        middles = _middles(panel)
        axis.errorbar(places, middles, yerr=_reach(panel, middles), fmt="none", ecolor="0.25", capsize=2)
        _draw_open_ends(axis, panel, middles, upright=True)
        if panel.truth is not None:
            axis.plot(places, panel.truth, "x", color="#c2410c", markersize=7, label="true value")
            axis.legend(fontsize=8, frameon=False)
        axis.set_title(literal_text(panel.title), fontsize=10)
        axis.yaxis.set_major_formatter("{x:,.10g}")
        every = max(1, math.ceil(len(labels) / MOST_LABELS))
        names = list(map(literal_text, labels[::every]))
        axis.set_xticks(places[::every], names, rotation=90 if len(labels) > 6 else 0, fontsize=8)
        axis.set_xlabel(literal_text(by))
    return finished(figure, axes, caption, grid="y", path=path)


def _middles(panel: Panel) -> Reals:
    """The values; where one is not known, the middle of its interval, or the one end that it has."""
    with np.errstate(invalid="ignore"):  # an interval of all numbers has no middle
        ends = np.stack([panel.low, panel.high])
        ends = np.where(np.isinf(ends), ends[::-1], ends)
        middles = np.where(np.isnan(panel.values), ends.mean(axis=0), panel.values)
    return np.where(np.isinf(middles), np.nan, middles)


def _reach(panel: Panel, middles: Reals) -> Reals:
    """How far the interval reaches to either side; not at all where it has no end."""
    reach = np.stack([np.maximum(middles - panel.low, 0.0), np.maximum(panel.high - middles, 0.0)])
    return np.where(np.isinf(reach), 0.0, reach)


def _draw_open_ends(axis: Axes, panel: Panel, middles: Reals, *, upright: bool) -> None:
    """An arrow to the edge of the picture wherever an interval has no end."""
    for ends, edge in ((panel.low, 0.0), (panel.high, 1.0)):
        for place in np.flatnonzero(np.isinf(ends)):
            start, own = _seen(axis, middles[place], upright=upright)
            points = [(float(place), at) if upright else (at, float(place)) for at in (edge, start)]
            style = {"arrowstyle": "-|>", "color": "0.45", "shrinkA": 0, "shrinkB": 0}
            sides = _edges(axis, upright=upright)
            axis.annotate("", points[0], points[1], xycoords=sides, textcoords=own, arrowprops=style)


def _seen(axis: Axes, middle: float, *, upright: bool) -> tuple[float, Transform]:
    """Where a value is drawn, and in which coordinates; in the middle of the picture where it has no place."""
    if np.isfinite(middle):
        return float(middle), axis.transData
    return 0.5, _edges(axis, upright=upright)


def _edges(axis: Axes, *, upright: bool) -> Transform:
    """The coordinates in which values go from 0 to 1 across the picture."""
    return axis.get_xaxis_transform() if upright else axis.get_yaxis_transform()
