"""A figure is its own picture in a notebook."""

from __future__ import annotations

from matplotlib.figure import Figure

from discreet.plots.canvas import DOTS, canvas


def test_it_shows_itself() -> None:
    figure = canvas(3, 2)
    assert isinstance(figure, Figure)
    picture = figure._repr_png_()  # type: ignore[attr-defined]  # what notebooks ask for
    assert picture.startswith(b"\x89PNG")
    assert int.from_bytes(picture[16:20], "big") == 3 * DOTS
