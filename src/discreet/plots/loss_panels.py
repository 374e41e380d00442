"""A privacy loss in three panels: profile, trade-off curve, histogram."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreet.plots.canvas import Place, finished, panels

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Reals = NDArray[np.float64]


class LossCurves(NamedTuple):
    """What is drawn: points of the two curves, and draws of the loss."""

    epsilons: Reals
    deltas: Reals
    levels: Reals
    errors: Reals
    draws: Reals


def loss_figure(curves: LossCurves, *, caption: str, ax: object = None, path: Place = None) -> Figure:
    """Delta against epsilon, type-II against type-I error, and how often each loss occurs."""
    figure, [profile, tradeoff, histogram] = panels(ax, 3, size=(10.5, 3.3), path=path)
    shown = curves.deltas > 0
    profile.semilogy(curves.epsilons[shown], curves.deltas[shown], color="black")
    profile.set(xlabel="epsilon", ylabel="delta", title="privacy profile")
    tradeoff.plot(curves.levels, 1.0 - curves.levels, color="0.6", linestyle="--", label="perfect privacy")
    tradeoff.plot(curves.levels, curves.errors, color="black", label="this release")
    tradeoff.set(xlabel="type-I error", ylabel="least type-II error", title="trade-off curve")
    tradeoff.legend(fontsize=8, frameon=False)
    finite = curves.draws[np.isfinite(curves.draws)]
    histogram.hist(finite, bins=60, color="0.75", edgecolor="black", linewidth=0.4, density=True)
    histogram.set(xlabel="privacy loss", ylabel="density", title="loss of a random output")
    for axis in (profile, tradeoff, histogram):
        axis.title.set_fontsize(10)
    return finished(figure, (profile, tradeoff, histogram), caption, grid=None, path=path)
