"""Figures that notebooks show as pictures, in one style."""

from __future__ import annotations

import io
import os
import sys
import threading
from collections.abc import Iterable
from functools import cache
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from discreet.errors import InvalidParameter, expected, printable
from discreet.plots.saving import save

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

DOTS = 100
"""Dots per inch of what a notebook shows."""
LONGEST_TEXT = 200
"""Characters of a name in a picture."""


Place: TypeAlias = str | os.PathLike[str] | None
"""Where a figure is saved, if anywhere."""


def canvas(width: float, height: float, *, path: Place = None) -> Figure:
    """A figure of so many inches that notebooks show as a picture. Where there is a window to show it in, or a cell to
    show it below, it is one of pyplot's, and ``plt.show()`` shows it; elsewhere it is in no list and leaves no trace.

    >>> canvas(3, 2)._repr_png_()[1:4]
    b'PNG'
    """
    style: dict[str, Any] = {"figsize": (width, height), "layout": "constrained"}
    if _is_shown(path):
        from matplotlib import pyplot

        try:
            return pyplot.figure(FigureClass=_shown(), **style)
        except ImportError:  # the backend that the user chose has no screen here
            pass
    return _shown()(**style)


def _is_shown(path: Place) -> bool:
    """Whether pyplot has somewhere to show a figure. Whoever writes a file and has not imported pyplot wants no window,
    and windows can be made on the main thread alone.
    """
    if path is not None and "matplotlib.pyplot" not in sys.modules:
        return False
    if threading.current_thread() is not threading.main_thread():
        return False
    from matplotlib import get_backend
    from matplotlib.backends.registry import BackendFilter, backend_registry

    silent = backend_registry.list_builtin(BackendFilter.NON_INTERACTIVE)  # type: ignore[no-untyped-call]  # no types
    return get_backend().lower() not in silent


def panels(
    ax: object, number: int, *, size: tuple[float, float], path: Place = None, down: bool = False, **shared: Any
) -> tuple[Figure, list[Axes]]:
    """A figure and so many axes side by side, or one below the other: a new one of this size in inches, or the caller's
    axes, `ax`.

    Raises:
        InvalidParameter: `ax` is not axes of Matplotlib, as many as are needed, in one figure.
    """
    if ax is None:
        figure = canvas(*size, path=path)
        return figure, list(figure.subplots(*((number, 1) if down else (1, number)), squeeze=False, **shared).flat)
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


def add_legend(figure: Figure, axis: Axes, **style: Any) -> None:
    """A legend of what an axis has: outside the panels of a figure of ours, in the axis in one of the caller's, whose
    other axes it does not speak of.
    """
    if isinstance(figure, _shown()):
        figure.legend(*axis.get_legend_handles_labels(), fontsize=8, frameon=False, **style)
    else:
        axis.legend(fontsize=8, frameon=False, **style | {"loc": "best"})


def literal_text(text: str, longest: int = LONGEST_TEXT) -> str:
    r"""A name that Matplotlib draws as it is: on one line, with no formula between two dollars, and in every legend,
    from which it leaves out what begins with an underscore.

    >>> literal_text("$5 to $10"), literal_text("_plan"), literal_text("unlimited", 5)
    ('\\$5 to \\$10', ' _plan', 'unli…')
    """
    cut = text if len(text) <= longest else f"{text[: longest - 1]}…"
    shown = printable(cut).replace("$", r"\$")
    return f" {shown}" if shown.startswith("_") else shown


def finished(
    figure: Figure,
    axes: Iterable[Axes],
    caption: str = "",
    *,
    grid: Literal["both", "x", "y"] | None = "both",
    path: Place = None,
) -> Figure:
    """The figure in the style of all: a faint grid behind the data, frames open on two sides, a caption below; written
    to a path where one is given.

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
    if path is not None:
        save(figure, path)
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
            from IPython import get_ipython
            from IPython.display import Image, display

            # In a notebook, pyplot would show it a second time, below the cell; at a terminal it is still to be shown.
            if "matplotlib.pyplot" in sys.modules and hasattr(get_ipython(), "kernel"):
                sys.modules["matplotlib.pyplot"].close(self)
            display(Image(self._repr_png_()))  # type: ignore[no-untyped-call]  # it ships no types

        def __reduce__(self) -> tuple[Any, ...]:
            return _undrawn, (), self.__getstate__()

    return DisplayedFigure


def _undrawn() -> Figure:
    """A figure without anything in it, for `pickle`, which finds no class that a function made."""
    shown = _shown()
    return shown.__new__(shown)
