"""A figure is its own picture in a notebook."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
from matplotlib.figure import Figure

from discreet.plots.canvas import DOTS, canvas
from discreet.plots.clusters import Scatter, bubbles_figure, clusters_figure
from discreet.plots.dot_plot import ranks_figure
from discreet.plots.lines import lines_figure
from discreet.plots.loss_panels import LossCurves, loss_figure


def test_it_shows_itself() -> None:
    figure = canvas(3, 2)
    assert isinstance(figure, Figure)
    picture = figure._repr_png_()  # type: ignore[attr-defined]  # what notebooks ask for
    assert picture.startswith(b"\x89PNG")
    assert int.from_bytes(picture[16:20], "big") == 3 * DOTS


PROGRAM = """
import sys, types
import matplotlib
from matplotlib.backends.backend_agg import FigureCanvasAgg, FigureManagerBase

class Manager(FigureManagerBase):
    @classmethod
    def pyplot_show(cls, *, block=None):
        import matplotlib.pyplot as plt
        print("shown", plt.get_fignums())

class Canvas(FigureCanvasAgg):
    manager_class = Manager

sys.modules["windows"] = types.ModuleType("windows")
sys.modules["windows"].FigureCanvas = Canvas
from discreet.plots.canvas import canvas
canvas(1, 1)
matplotlib.use("module://windows" if sys.argv[1] == "window" else "agg")
import matplotlib.pyplot as plt
canvas(1, 1)
canvas(1, 1)
print(plt.get_fignums())
plt.show()
"""


def test_pyplot_shows_what_was_drawn_since_it_was_imported() -> None:
    for backend, shown in (("window", "[1, 2]\nshown [1, 2]\n"), ("agg", "[]\n")):
        done = subprocess.run(
            [sys.executable, "-W", "ignore", "-c", PROGRAM, backend], capture_output=True, text=True, check=False
        )
        assert done.stdout == shown, done.stderr


def test_every_picture_is_drawn_in_axes_of_the_caller() -> None:
    own = Figure()
    axes = list(own.subplots(1, 6))
    values = np.array([2.0, 1.0])
    points = np.array([[0.0, 0.0], [1.0, 1.0]])
    curves = LossCurves(values, values / 4, np.array([0.0, 1.0]), np.array([1.0, 0.0]), values)
    drawn = [
        lines_figure([1, 2], {"a": [1, 2]}, x_label="x", y_label="y", ax=axes[0]),
        ranks_figure(["a", "b"], values, ax=axes[1]),
        bubbles_figure(points, values / 3, names=("x", "y"), caption="c", ax=axes[2]),
        loss_figure(curves, caption="c", ax=axes[3:6]),
        clusters_figure(
            points, [Scatter("a", points, np.array([0, 1]), np.array([True, False]))], caption="", ax=axes[2]
        ),
    ]
    assert all(figure is own for figure in drawn)
    assert all(axis.has_data() for axis in axes)
    assert (len(own.axes), own.legends) == (6, [])
