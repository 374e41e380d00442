"""An empty figure that shows itself: as the last line of a notebook's cell, with nothing to set up."""

from __future__ import annotations

import io
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DOTS = 100
"""Dots per inch of what a notebook shows."""


def canvas(width: float, height: float) -> Figure:
    """A figure of so many inches, without pyplot: no window, no state, no backend; notebooks show it as a picture.

    >>> canvas(3, 2)._repr_png_()[1:4]
    b'PNG'
    """
    return _shown()(figsize=(width, height), layout="constrained")


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
