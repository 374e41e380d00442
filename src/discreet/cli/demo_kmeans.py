"""The study of clusters: the textbook's private k-means, the best known one, and which clusters survive in each."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.clustering.estimator import KMeans
from discreet.clustering.point_oracle import Reals
from discreet.clustering.random_floats import RandomFloats
from discreet.clustering.weighted_kmeans import squared_distances
from discreet.testing.scripted_words import splitmix

if TYPE_CHECKING:
    from rich.console import Console

KINDS = np.array(
    [[22.0, 4.0], [27.0, 26.0], [35.0, 12.0], [41.0, 33.0], [50.0, 5.0], [58.0, 22.0], [66.0, 34.0], [74.0, 11.0]]
)
CUSTOMERS = 20_000
BOUNDS = ([16, 0], [90, 45])
EPSILONS = (0.05, 0.1, 0.5, 1.0)
PICTURED = 0.5
RUNS = 5
INTRODUCTION = (
    f"[bold]Clusters[/]: what kinds of customers are there, by age and orders a year? {CUSTOMERS:,} customers are made "
    f"up here, of {len(KINDS)} kinds.\nEach center is a mean of people, and has noise that hides any one of them."
)


def customers() -> Reals:
    """Made-up customers around the kinds; the same each time."""
    off = RandomFloats(splitmix(8)).uniform(CUSTOMERS, 2, 6).sum(axis=2) - 3  # nearly normal, of deviation 0.7
    rows: Reals = KINDS[np.arange(CUSTOMERS) % len(KINDS)] + off * [3.1, 2.5]
    return rows


def run(console: Console, folder: Path) -> None:
    """Prints how good the centers of both algorithms are, and draws which clusters survive."""
    rows = customers()
    console.print(INTRODUCTION, highlight=False)
    console.print(_losses(rows))
    folder.mkdir(parents=True, exist_ok=True)
    for algorithm in ("lloyd", "best"):
        found = KMeans(len(KINDS), epsilon=PICTURED, bounds=BOUNDS, algorithm=algorithm).fit(rows)
        target = folder / f"clusters-{algorithm}.png"
        figure = found.plot(rows, path=target)
        console.print(f"{algorithm}: {figure.get_supxlabel()}\nPicture: {target}", highlight=False)


def _losses(rows: Reals) -> Any:
    """Inertia over that of the exact clusters, for both algorithms and several epsilons."""
    from rich.table import Table

    exact = float(squared_distances(rows, KINDS).min(axis=1).sum())
    table = Table(
        title="Inertia over that of the exact clusters (1 is perfect)",
        caption=f"medians of {RUNS} runs; every run costs its epsilon, all centers together",
    )
    for name in ("epsilon", "lloyd, 5 rounds", "best"):
        table.add_column(name, justify="right")
    for epsilon in EPSILONS:
        table.add_row(
            f"{epsilon:g}", *(f"{_loss(rows, algorithm, epsilon) / exact:.3f}" for algorithm in ("lloyd", "best"))
        )
    return table


def _loss(rows: Reals, algorithm: str, epsilon: float) -> float:
    each = [KMeans(len(KINDS), epsilon=epsilon, bounds=BOUNDS, algorithm=algorithm).fit(rows) for _ in range(RUNS)]
    return float(np.median([squared_distances(rows, found.cluster_centers_).min(axis=1).sum() for found in each]))
