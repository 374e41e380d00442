"""How far private centers are from the exact ones, and how long they take, beside diffprivlib where it is installed.

``python benchmarks/clusters.py [--sets FILE.npz] [--rows N]`` prints the median over several runs of the inertia over
that of scikit-learn's k-means (10 starts), and seconds for one run. Every run has an epsilon of its own. The sets of
the file are two-dimensional arrays, ``NAME_labels`` beside ``NAME`` giving the number of clusters; columns are scaled
to [0, 1], which all sides get as bounds. `--rows` sizes a table for the same on DuckDB; 0 leaves it out.
"""

from __future__ import annotations

import argparse
import platform
import statistics
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import KMeans as Exact
from sklearn.datasets import make_blobs

from discreet.clustering.estimator import KMeans

Rows = NDArray[np.float64]
EPSILONS = (0.1, 1.0, 10.0)
RUNS = 11
WITHOUT_LABELS = 5
"""Clusters of a set that has no labels."""


def blobs(rows: int) -> Rows:
    """Eight overlapping clusters in the plane."""
    made: Rows = make_blobs(
        n_samples=rows, n_features=2, centers=8, cluster_std=1.0, center_box=(-10, 10), random_state=0
    )[0]
    return made


def sets(path: str | None) -> Iterator[tuple[str, Rows, int, tuple[Any, Any]]]:
    """Name, rows, number of clusters and bounds."""
    yield "blobs", blobs(100_000), 8, ([-15.0, -15.0], [15.0, 15.0])
    if path is None:
        return
    found = np.load(path, allow_pickle=False)
    for name in found.files:
        rows = found[name].astype(np.float64) if found[name].ndim == 2 else None
        if rows is None:
            continue
        low, high = rows.min(axis=0), rows.max(axis=0)
        rows = ((rows - low) / np.where(high > low, high - low, 1.0))[:, high > low]
        labels = f"{name}_labels"
        clusters = len(np.unique(found[labels])) if labels in found.files else WITHOUT_LABELS
        yield name, rows, clusters, (np.zeros(rows.shape[1]), np.ones(rows.shape[1]))


def inertia(rows: Rows, centers: Rows) -> float:
    """The sum of squared distances to the nearest center."""
    far = (rows**2).sum(axis=1)[:, None] - 2 * rows @ centers.T + (centers**2).sum(axis=1)
    return float(np.maximum(far, 0).min(axis=1).sum())


def ways() -> dict[str, Callable[..., Any]]:
    """What is compared: a fit each, of (clusters, epsilon, bounds, rows)."""
    own: dict[str, Callable[..., Any]] = {
        name: lambda k, e, b, x, name=name: KMeans(k, epsilon=e, bounds=b, algorithm=name).fit(x)
        for name in ("best", "lloyd")
    }
    try:
        from diffprivlib.models import KMeans as Peer  # type: ignore[import-not-found]  # installed by hand
    except ImportError:
        return own
    return {**own, "diffprivlib": lambda k, e, b, x: Peer(n_clusters=k, epsilon=e, bounds=b).fit(x)}


def compared(rows: Rows, clusters: int, bounds: Any, epsilon: float, least: float) -> str:
    """Median inertia and time of each way, their runs taking turns."""
    losses: dict[str, list[float]] = {name: [] for name in ways()}
    times: dict[str, list[float]] = {name: [] for name in ways()}
    for _ in range(RUNS):
        for name, fit in ways().items():
            start = time.perf_counter()
            found = fit(clusters, epsilon, bounds, rows)
            times[name].append(time.perf_counter() - start)
            losses[name].append(inertia(rows, found.cluster_centers_) / least)
    each = zip(losses.values(), times.values(), strict=True)
    return "".join(f" | {statistics.median(loss):7.3f} {statistics.median(took):7.3f} s" for loss, took in each)


def on_a_table(size: int) -> None:
    """The same on DuckDB: seconds and inertia for a table of this many rows."""
    import pyarrow as pa

    from discreet.curator.protect import protect
    from discreet.ledger.budget import Budget
    from discreet.privacy.definitions import ROW

    rows = blobs(size)
    sample = rows[:: max(1, size // 100_000)]
    least = inertia(sample, Exact(8, n_init=3, random_state=0).fit(sample).cluster_centers_)
    table = pa.table({"x": rows[:, 0], "y": rows[:, 1], "person": np.arange(size) // 4})
    bounds = {"x": (-15, 15), "y": (-15, 15)}
    limits: dict[str, Any] = {"max_groups": 2, "max_rows": 2}
    for what, unit, stated in (("each row a unit", ROW, {}), ("four rows a unit", "person", limits)):
        people = protect(table, unit=unit, bounds=bounds, budget=Budget(epsilon=1000), name=what)
        for algorithm in ("best", "lloyd"):
            start = time.perf_counter()
            found = people.kmeans(["x", "y"], n_clusters=8, epsilon=1, algorithm=algorithm, **stated)
            took = time.perf_counter() - start
            print(
                f"{size:>11,} rows, {what}, {algorithm:6} {inertia(sample, found.centers) / least:6.3f} {took:7.2f} s"
            )


def main() -> None:
    """Measures all, and prints the tables."""
    warnings.filterwarnings("ignore")
    parser = argparse.ArgumentParser(description="Private k-means against exact k-means.")
    parser.add_argument("--sets", metavar="FILE.npz", help="further sets of points")
    parser.add_argument("--rows", type=int, default=1_000_000, help="rows of a table on DuckDB; 0: none")
    asked = parser.parse_args()
    print(f"Python {platform.python_version()}, NumPy {np.__version__}, {platform.machine()}")
    print(f"{'set':16} {'rows':>7} {'d':>3} {'k':>3} {'epsilon':>7}" + "".join(f" | {name:17}" for name in ways()))
    for name, rows, clusters, bounds in sets(asked.sets):
        least = float(Exact(clusters, n_init=10, random_state=0).fit(rows).inertia_)
        for epsilon in EPSILONS:
            line = compared(rows, clusters, bounds, epsilon, least)
            print(f"{name:16} {len(rows):>7} {rows.shape[1]:>3} {clusters:>3} {epsilon:>7g}{line}", flush=True)
    if asked.rows:
        on_a_table(asked.rows)


if __name__ == "__main__":
    main()
