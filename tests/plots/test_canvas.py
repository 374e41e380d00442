"""A figure is its own picture in a notebook."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from matplotlib.figure import Figure

from discreet.plots.canvas import DOTS, canvas


def test_it_shows_itself() -> None:
    figure = canvas(3, 2)
    assert isinstance(figure, Figure)
    picture = figure._repr_png_()  # type: ignore[attr-defined]  # what notebooks ask for
    assert picture.startswith(b"\x89PNG")
    assert int.from_bytes(picture[16:20], "big") == 3 * DOTS


WINDOWS = """
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
"""
PROGRAM = """
import gc, threading, weakref
if sys.argv[1] == "window":
    matplotlib.use("module://windows")
canvas(1, 1, path="a.png")
print("matplotlib.pyplot" in sys.modules)
canvas(1, 1)
import matplotlib.pyplot as plt
canvas(1, 1)
canvas(1, 1, path="b.png")
elsewhere = threading.Thread(target=canvas, args=(1, 1))
elsewhere.start()
elsewhere.join()
plt.show()
last = weakref.ref(canvas(1, 1))
plt.close("all")
gc.collect()
print(plt.get_fignums(), last() is None)
"""


SILENT = "False\n[] True\n"
BY_VARIABLE = pytest.mark.skipif(sys.platform != "linux", reason="only there does a variable say whether there is one")


@pytest.mark.parametrize(
    ("backend", "stated", "shown"),
    [
        ("window", None, "False\nshown [1, 2, 3]\n[] True\n"),
        ("none", "agg", SILENT),
        pytest.param("none", "tkagg", SILENT, marks=BY_VARIABLE),
        pytest.param("none", None, SILENT, marks=BY_VARIABLE),
    ],
)
def test_pyplot_shows_every_figure_that_can_be_shown(backend: str, stated: str | None, shown: str) -> None:
    """Those that were drawn before pyplot was imported, too; but none of other threads, and none without a screen."""
    without = {"MPLBACKEND", "DISPLAY", "WAYLAND_DISPLAY"}
    settings = {name: value for name, value in os.environ.items() if name not in without}
    settings |= {} if stated is None else {"MPLBACKEND": stated}
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", WINDOWS + PROGRAM, backend],
        capture_output=True,
        text=True,
        check=False,
        env=settings,
    )
    assert done.stdout == shown, done.stderr


TERMINAL = """
from IPython.core.interactiveshell import InteractiveShell
matplotlib.use("module://windows")
shell = InteractiveShell.instance()
shell.user_ns["canvas"] = canvas
shell.run_cell("canvas(1, 1)")
shell.run_cell("import matplotlib.pyplot as plt; plt.show()")
"""


def test_a_figure_that_a_terminal_names_is_still_to_be_shown(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", WINDOWS + TERMINAL],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"IPYTHONDIR": str(tmp_path)},
    )
    assert done.stdout.endswith("shown [1]\n"), done.stderr
