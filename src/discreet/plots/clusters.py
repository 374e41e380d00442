"""Points in the colors of their clusters, with the centers, in panels side by side."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreet.plots.canvas import Place, add_legend, finished, literal_text, panels

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Reals = NDArray[np.float64]

MOST_POINTS = 5000
"""Of more points, so many are drawn."""
GOLDEN = (5**0.5 - 1) / 2
SHADES = ("#4c78a8", "#f58518", "#54a24b", "#b279a2", "#e45756", "#72b7b2", "#9d755d", "#eeca3b")


def scattered(number: int, most: int) -> NDArray[np.intp]:
    """Which of so many points stand for all, about `most` of them: not every second or third, since points may come in
    turns, but those at which multiples of the golden ratio fall into a part of the circle.

    >>> scattered(20, 5).tolist(), scattered(3, 5).tolist()
    ([0, 2, 5, 10, 13, 18], [0, 1, 2])
    """
    places = np.arange(number)
    return places if number <= most else np.flatnonzero(places * GOLDEN % 1.0 < most / number)


class Scatter(NamedTuple):
    """One panel: centers of shape (k, 2), the number of each point's color, and which centers are not crossed out."""

    title: str
    centers: Reals
    colors: NDArray[np.intp]
    kept: NDArray[np.bool_] | None = None


def clusters_figure(
    points: Reals, ways: Sequence[Scatter], *, caption: str, ax: object = None, path: Place = None
) -> Figure:
    """A figure with one panel for each way to cluster the same points.

    Args:
        points: shape (n, 2).
        ways: the clusters.
        caption: one line below.
        ax: the caller's axes to draw in, as many as ways.
        path: saves the figure.
    """
    figure, axes = panels(ax, len(ways), size=(4.2 * len(ways), 4.4), path=path, sharex=True, sharey=True)
    drawn = scattered(len(points), MOST_POINTS)
    shown = points[drawn]
    for axis, panel in zip(axes, ways, strict=True):
        shades = [SHADES[i % len(SHADES)] for i in panel.colors[drawn]]
        axis.scatter(shown[:, 0], shown[:, 1], s=3, c=shades, alpha=0.35, linewidths=0)
        kept = np.ones(len(panel.centers), dtype=bool) if panel.kept is None else panel.kept
        axis.plot(*panel.centers[kept].T, "o", color="black", markersize=8, markeredgecolor="white", label="center")
        if not kept.all():
            axis.plot(
                *panel.centers[~kept].T,
                "X",
                color="#b91c1c",
                markersize=11,
                markeredgecolor="white",
                label="does not survive",
            )
            # Beside the panels, where it hides no center.
            add_legend(figure, axis, loc="outside upper right", ncols=2)
        axis.set_title(panel.title, fontsize=10)
    return finished(figure, axes, caption, grid=None, path=path)


def bubbles_figure(
    places: Reals, shares: Reals, *, names: tuple[str, str], caption: str, ax: object = None, path: Place = None
) -> Figure:
    """A figure with one disc for each place, shape (k, 2), its area in proportion to its share."""
    figure, [axis] = panels(ax, 1, size=(5.0, 4.4), path=path)
    axis.scatter(places[:, 0], places[:, 1], s=40 + 3000 * shares, color="#4c78a8", alpha=0.5, edgecolor="black")
    for (x, y), share in zip(places.tolist(), shares.tolist(), strict=True):
        axis.annotate(f"{100 * share:.0f} %", (x, y), ha="center", va="center", fontsize=8)
    axis.margins(0.2)
    axis.set(xlabel=literal_text(names[0]), ylabel=literal_text(names[1]))
    return finished(figure, [axis], caption, grid=None, path=path)
