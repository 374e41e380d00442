"""Figures that notebooks show as pictures, in one style."""

from __future__ import annotations

import io
from collections.abc import Iterable
from functools import cache
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

DOTS = 100
"""Dots per inch of what a notebook shows."""


def canvas(width: float, height: float) -> Figure:
    """A figure of so many inches, without pyplot: no window, no state, no backend; notebooks show it as a picture.

    >>> canvas(3, 2)._repr_png_()[1:4]
    b'PNG'
    """
    return _shown()(figsize=(width, height), layout="constrained")


def finished(
    figure: Figure, axes: Iterable[Axes], caption: str = "", *, grid: Literal["both", "x"] | None = "both"
) -> Figure:
    """The figure in the style of all: a faint grid behind the data, frames open on two sides, a caption below.

    >>> figure = canvas(3, 2)
    >>> finished(figure, [figure.subplots()], "10,000 people").get_supxlabel()
    '10,000 people'
    """
    for axis in axes:
        if grid:
            axis.grid(axis=grid, color="0.92")
            axis.set_axisbelow(True)
        axis.spines[["top", "right"]].set_visible(False)
    if caption:
        figure.supxlabel(caption, fontsize=8, color="0.35")
    return figure


@cache
def _shown() -> type[Figure]:
    """Matplotlib's figure with the method that notebooks ask for; made when the first one is drawn."""
    from matplotlib.figure import Figure

    class DisplayedFigure(Figure):
        def _repr_png_(self) -> bytes:
            target = io.BytesIO()
            self.savefig(target, format="png", dpi=DOTS)
            return target.getvalue()

    return DisplayedFigure
