"""Pictures of exact clusters beside the private ones, and of which survive."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from discreet.clustering.point_oracle import Reals
from discreet.clustering.random_floats import RandomFloats
from discreet.clustering.weighted_kmeans import squared_distances, weighted_means
from discreet.errors import InvalidParameter, expected
from discreet.noise.entropy import fresh_words
from discreet.plots.canvas import Place
from discreet.plots.clusters import Scatter, bubbles_figure, clusters_figure, scattered

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST_ROWS = 50_000
"""The most rows of which exact centers are computed; of more rows, a part is used."""


def survivors(original: Reals, private: Reals) -> NDArray[np.bool_]:
    """Which of the original centers still have a private one that is theirs: nearer than half the way to the next
    original.

    >>> survivors(np.array([[0.0], [10.0]]), np.array([[1.0], [5.5]])).tolist()
    [True, True]
    >>> survivors(np.array([[0.0], [10.0]]), np.array([[1.0], [2.0]])).tolist()
    [True, False]
    """
    between = squared_distances(original, original)
    np.fill_diagonal(between, np.inf)
    kept: NDArray[np.bool_] = squared_distances(original, private).min(axis=1) < between.min(axis=1) / 4
    return kept


def plane(points: Reals, axes: tuple[int, ...]) -> Reals:
    """The two columns to draw; if there is only one, the second is zero.

    >>> plane(np.array([[1.0, 2.0, 3.0]]), (2, 0)).tolist(), plane(np.array([[1.0, 2.0]]), (1,)).tolist()
    ([[3.0, 1.0]], [[2.0, 0.0]])
    """
    shown: Reals = points[:, list(axes)]
    return shown if len(axes) == 2 else np.column_stack([shown[:, 0], np.zeros(len(shown))])


def survival_figure(
    rows: Reals, private: Reals, *, axes: tuple[int, ...], caption: str, ax: object = None, path: Place = None
) -> Figure:
    """The rows with their exact centers, and with the private ones; originals that did not survive are crossed out."""
    if not len(rows):
        cure = "give public rows, as an array with a column for each of the centers'."
        raise InvalidParameter(expected("a row to draw, or more", "rows", 0, cure))
    sample = rows[scattered(len(rows), MOST_ROWS)]
    original = weighted_means(sample, np.ones(len(sample)), len(private), RandomFloats(fresh_words()))
    kept = survivors(original, private) if len(original) > 1 else np.array([True])
    inertia = [float(squared_distances(rows, centers).min(axis=1).sum()) for centers in (original, private)]
    ratio = inertia[1] / inertia[0] if inertia[0] else 1.0
    owner = squared_distances(private, original).argmin(axis=1)  # the original whose color a private cluster takes
    panels = [
        Scatter("original", plane(original, axes), squared_distances(rows, original).argmin(axis=1), kept),
        Scatter("private", plane(private, axes), owner[squared_distances(rows, private).argmin(axis=1)], None),
    ]
    told = f"{int(kept.sum())} of {len(kept)} clusters survive · inertia {ratio:.3f} times the original's · {caption}"
    return clusters_figure(plane(rows, axes), panels, caption=told, ax=ax, path=path)


def centers_figure(
    centers: Reals, sizes: Reals, *, columns: Mapping[int, str], caption: str, ax: object = None, path: Place = None
) -> Figure:
    """Centers alone, as large as their clusters: what may be shown of a table that is not public. `columns` are the one
    or two to draw, by number, with their names.
    """
    shares = np.maximum(sizes, 0.0) / max(1.0, float(np.maximum(sizes, 0.0).sum()))
    across, up, *_ = *columns.values(), ""
    return bubbles_figure(plane(centers, tuple(columns)), shares, names=(across, up), caption=caption, ax=ax, path=path)
