"""Figures that notebooks show as pictures, in one style."""

from __future__ import annotations

import io
import sys
from collections.abc import Iterable
from functools import cache
from typing import TYPE_CHECKING, Any, Literal

from discreet.errors import InvalidParameter, expected

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

DOTS = 100
"""Dots per inch of what a notebook shows."""


def canvas(width: float, height: float) -> Figure:
    """A figure of so many inches that notebooks show as a picture. It is without pyplot, so without a window or state,
    until pyplot is imported and has somewhere to show it: ``plt.show()`` shows it then.

    >>> canvas(3, 2)._repr_png_()[1:4]
    b'PNG'
    """
    style: dict[str, Any] = {"figsize": (width, height), "layout": "constrained"}
    return (
        sys.modules["matplotlib.pyplot"].figure(FigureClass=_shown(), **style) if _has_window() else _shown()(**style)
    )


def _has_window() -> bool:
    """Whether pyplot is in use, and shows figures: in a window, or below the cell of a notebook."""
    if "matplotlib.pyplot" not in sys.modules:
        return False
    from matplotlib import get_backend
    from matplotlib.backends.registry import BackendFilter, backend_registry

    silent = backend_registry.list_builtin(BackendFilter.NON_INTERACTIVE)  # type: ignore[no-untyped-call]  # no types
    return get_backend().lower() not in silent


def panels(ax: object, number: int, *, size: tuple[float, float], **shared: Any) -> tuple[Figure, list[Axes]]:
    """A figure and so many axes side by side: a new one of this size in inches, or the caller's axes, `ax`.

    Raises:
        InvalidParameter: `ax` is not axes of Matplotlib, as many as are needed, in one figure.
    """
    if ax is None:
        figure = canvas(*size)
        return figure, list(figure.subplots(1, number, squeeze=False, **shared)[0])
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    given = [ax] if isinstance(ax, Axes) else list(getattr(ax, "flat", ax if isinstance(ax, list | tuple) else ()))
    if len(given) != number or not all(isinstance(one, Axes) for one in given):
        cure = f"figure, ax = plt.subplots(1, {number}) makes them; without ax= there is a new figure."
        many = "axes of Matplotlib" if number == 1 else f"{number} axes of Matplotlib"
        raise InvalidParameter(expected(many, "ax", ax, cure))
    owner = given[0].get_figure(root=True)
    if not isinstance(owner, Figure):
        raise InvalidParameter(expected("axes that are in a figure", "ax", ax, "make them by plt.subplots()."))
    return owner, given


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
    if caption and isinstance(figure, _shown()):
        figure.supxlabel(caption, fontsize=8, color="0.35")
    elif caption:  # in a figure of the caller's, whose other axes it does not speak of
        for axis in list(axes)[:1]:
            axis.set_xlabel(f"{axis.get_xlabel()}\n{caption}".strip(), fontsize=8, color="0.35")
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

        def _ipython_display_(self) -> None:
            from IPython.display import Image, display

            if "matplotlib.pyplot" in sys.modules:  # which would show it a second time, below the cell
                sys.modules["matplotlib.pyplot"].close(self)
            display(Image(self._repr_png_()))  # type: ignore[no-untyped-call]  # it ships no types

    return DisplayedFigure
