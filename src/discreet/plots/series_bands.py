"""Numbers over time with their bands, one panel for each window."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from discreet.plots.canvas import Place, add_legend, finished, literal_text
from discreet.plots.canvas import panels as axes_of
from discreet.plots.lines import SHADES, STYLES

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class Band(NamedTuple):
    """One line: values over moments, and the ends that the exact ones lie between."""

    label: str
    moments: Sequence[Any]
    values: Sequence[float]
    low: Sequence[float]
    high: Sequence[float]
    truth: Sequence[float] | None = None
    """The exact values, where they are public."""


def bands_figure(
    panels: Mapping[str, Sequence[Band]], *, y_label: str, caption: str = "", ax: object = None, path: Place = None
) -> Figure:
    """A figure with one panel below the other, over the same time.

    Args:
        panels: the lines of each panel by its title; at most seven lines are told apart.
        y_label: what is upward.
        caption: one line below.
        ax: axes of the caller's, one for each panel.
        path: saves the figure.
    """
    number = max(1, len(panels))
    figure, axes = axes_of(ax, number, size=(7.2, 0.6 + 1.9 * number), path=path, down=True, sharex=True)
    for axis, (title, bands) in zip(axes, panels.items(), strict=False):
        for band, shade, (dash, _) in zip(bands, SHADES, STYLES, strict=False):
            line = band.moments, band.values
            axis.fill_between(band.moments, band.low, band.high, color=shade, alpha=0.18, linewidth=0)
            axis.plot(
                *line, color=shade, linestyle=dash, linewidth=1.2, label=literal_text(band.label) or "private answer"
            )
            if band.truth is not None:
                axis.plot(band.moments, band.truth, ".", color="#c2410c", markersize=2.5, label="true value")
        axis.set_title(title, fontsize=10, loc="left")
        axis.set_ylabel(literal_text(y_label))
        axis.yaxis.set_major_formatter("{x:,.10g}")
        axis.margins(x=0.01)
    first = next(iter(panels.values()), ())
    if any(band.label or band.truth is not None for band in first):
        add_legend(figure, axes[0], loc="outside upper right", ncols=4)
    for label in axes[-1].get_xticklabels():
        label.set_rotation(20)
        label.set_horizontalalignment("right")
    return finished(figure, axes, caption, path=path)
