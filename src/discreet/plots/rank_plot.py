"""Thousands of positive values by rank, with their intervals, and their errors where the truth is known."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from discreet.plots.canvas import finished, panels

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Reals = NDArray[np.float64]


def order_figure(
    values: Reals,
    ends: tuple[Reals, Reals],
    *,
    truth: Reals | None = None,
    up: str = "",
    caption: str = "",
    ax: object = None,
    path: str | os.PathLike[str] | None = None,
) -> Figure:
    """One point for each value, the largest first; where the truth is given, in its order, with a line for it, and
    with a second panel of the errors.

    Args:
        values: shape (n,); what is not above zero is left out of the picture.
        ends: lower and upper ends of intervals, each of shape (n,).
        truth: exact values, where they are public, shape (n,).
        up: the label of the vertical axis.
        caption: one line below.
        ax: the caller's axes to draw in, two where the truth is given.
        path: saves the figure.

    >>> order_figure(np.array([3.0, 1.0]), (np.array([2.0, 0.0]), np.array([4.0, 2.0]))).axes[0].get_xlabel()
    'rank'
    """
    order = np.argsort(values if truth is None else truth, kind="stable")[::-1]
    places = np.arange(1, len(order) + 1)
    low, high = (end[order] for end in ends)
    number, height = (1, 3.6) if truth is None else (2, 5.4)
    figure, axes = panels(ax, number, size=(7.2, height), path=path, down=True, sharex=True)
    top = axes[0]
    top.vlines(places, np.maximum(low, 1.0), np.maximum(high, 1.0), color="0.7", label="interval")
    top.plot(places, values[order], ".", color="black", markersize=3, label="released")
    top.set(yscale="log", ylabel=up)
    least = values if truth is None else truth
    top.set_ylim(bottom=max(1.0, float(np.min(np.abs(least))) / 3))
    if truth is not None:
        top.plot(places, truth[order], color="#c2410c", linewidth=1, label="true")
        exact = truth[order]
        middle = values[order]
        axes[1].fill_between(places, low - middle, high - middle, color="0.88", linewidth=0)
        axes[1].plot(places, values[order] - exact, ".", color="black", markersize=2)
        axes[1].axhline(0.0, color="#c2410c", linewidth=1)
        axes[1].set_ylabel("released less true")
    axes[-1].set_xlabel("rank")
    top.legend(frameon=False, fontsize=8)
    return finished(figure, axes, caption, path=path)
