"""A figure is its own picture in a notebook."""

from __future__ import annotations

import subprocess
import sys

from matplotlib.figure import Figure

from discreet.plots.canvas import DOTS, canvas


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
