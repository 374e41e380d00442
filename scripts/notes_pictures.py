"""Draws the pictures of docs/lecture-notes.md: ``python scripts/notes_pictures.py``.

They are the same bytes each time, so that a test can hold them to this file. The noise in the second one is therefore
foreseeable, which no noise on people may be.
"""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING

import matplotlib as mpl
import numpy as np

from discreet.mechanisms.laplace import Laplace
from discreet.plots.lines import lines_figure
from discreet.testing.scripted_words import splitmix

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FOLDER = Path(__file__).parent.parent / "docs" / "notes"
SEED = 6
"""Of the perturbed histogram."""
STATUS, ORIGINAL = ("yes", "no"), (4, 1)
"""The table of five: who has HIV."""


def laplace_densities() -> Figure:
    """Figure 1 of the notes: the densities of four scales."""
    places = np.linspace(-10, 10, 401)
    curves = {f"scale {scale}": (np.exp(-np.abs(places) / scale) / (2 * scale)).tolist() for scale in (1, 2, 4, 7)}
    return lines_figure(places.tolist(), curves, x_label="noise", y_label="density", logarithmic=False)


def perturbed() -> list[int]:
    """The histogram of the five with noise of scale 1."""
    noise = Laplace(sensitivity=1, epsilon=1)
    return [int(one) for one in noise.add_noise(np.array(ORIGINAL), splitmix(SEED))]


def hiv_histograms() -> Figure:
    """The two histograms of the notes: as they are, and with noise."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.4, 3.0), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots(1, 2, sharey=True)
    for axis, title, counts in zip(axes, ("original", "perturbed"), (ORIGINAL, perturbed()), strict=True):
        axis.bar(STATUS, counts, color="0.6", edgecolor="black")
        axis.bar_label(axis.containers[0])
        axis.axhline(0, color="black", linewidth=0.8)
        axis.set_title(title)
        axis.set_xlabel("HIV status")
        axis.margins(y=0.15)
    axes[0].set_ylabel("people")
    return figure


PICTURES = {"laplace-densities.svg": laplace_densities, "hiv-histograms.svg": hiv_histograms}


def drawn(name: str) -> bytes:
    """A picture as it is kept: texts as texts, without a date, with names that do not change."""
    with mpl.rc_context({"svg.hashsalt": name, "svg.fonttype": "none"}):
        target = io.BytesIO()
        PICTURES[name]().savefig(target, format="svg", metadata={"Date": None, "Creator": None})
    return b"\n".join(line.rstrip() for line in target.getvalue().splitlines()) + b"\n"


def main() -> None:
    """Writes all of them."""
    FOLDER.mkdir(exist_ok=True)
    for name in PICTURES:
        (FOLDER / name).write_bytes(drawn(name))


if __name__ == "__main__":
    main()
