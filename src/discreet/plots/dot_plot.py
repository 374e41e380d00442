"""Named values from the largest down, as dots on lines, with their intervals."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from discreet.plots.canvas import finished, literal_text, panels

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Reals = NDArray[np.float64]

LONGEST_NAME = 40


def ranks_figure(
    names: Sequence[str],
    values: Reals,
    *,
    ends: tuple[Reals, Reals] | None = None,
    truth: Reals | None = None,
    across: str = "",
    caption: str = "",
    ax: object = None,
    path: str | os.PathLike[str] | None = None,
) -> Figure:
    """One line for each name, the first at the top.

    Args:
        names: what the values belong to.
        values: shape (n,).
        ends: lower and upper ends of intervals, each of shape (n,).
        truth: exact values to draw beside, shape (n,).
        across: the label of the horizontal axis.
        caption: one line below.
        ax: the caller's axes to draw in.
        path: saves the figure.

    >>> [label.get_text() for label in ranks_figure(["a", "b"], np.array([3.0, 1.0])).axes[0].get_yticklabels()]
    ['a', 'b']
    """
    figure, [axis] = panels(ax, 1, size=(6.4, 1.2 + 0.2 * len(names)), path=path)
    places = np.arange(len(names))
    if ends is not None:
        axis.hlines(places, ends[0], ends[1], color="0.6", linewidth=3, label="interval")
    axis.plot(values, places, "o", color="black", markersize=4, label="released")
    if truth is not None:
        axis.plot(truth, places, "|", color="#c2410c", markersize=11, markeredgewidth=1.5, label="true")
    axis.set_yticks(places, [literal_text(name, LONGEST_NAME) for name in names])
    axis.set_ylim(len(names) - 0.5, -0.5)
    axis.set_xlim(left=0)
    axis.set_xlabel(across)
    if ends is not None or truth is not None:
        axis.legend(frameon=False, fontsize=8, loc="lower right")
    return finished(figure, [axis], caption, grid="x", path=path)
