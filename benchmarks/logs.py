"""How much of a log each way of releasing it keeps: ours, the multinomial release, and thresholds of the literature.

``python benchmarks/logs.py LOG.parquet USER ITEM [EPSILON]`` prints a table: items kept, pairs kept, and the error of
the 100 most frequent items. All count users by item; all but the multinomial release see at most K items of a user.
"""

from __future__ import annotations

import argparse
import math
import platform
import statistics
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa

import discreet as dp
from discreet.logs.integer_programs import OBJECTIVES
from discreet.mechanisms.threshold import Threshold

Counts = dict[Any, float]
TOP = 100
RUNS = 11
LIMITS = (1, 2, 5, 10, 20)


def bounded(log: pd.DataFrame, limit: int) -> pd.Series:
    """Users by item, at most `limit` items a user, as one draw of a shuffle chooses."""
    shuffled = log.sample(frac=1, random_state=1)
    return shuffled.groupby("user").head(limit).groupby("item").size()


def laplace_threshold(counts: pd.Series, limit: int, epsilon: float, delta: float) -> Counts:
    """Our own `Threshold`: exact discrete Laplace noise, delta for lone items exactly."""
    shown = Threshold(epsilon=epsilon, delta=delta, max_groups=limit).release(counts.to_numpy())
    return dict(zip(counts.index[shown.places], shown.noisy.astype(float), strict=True))


def korolova(counts: pd.Series, limit: int, epsilon: float, delta: float) -> Counts:
    """Korolova et al. (2009): Lap(d/e) and the threshold d (1 - ln(2 delta/d)/e) choose; fresh noise counts.

    Half of epsilon for each step; their counts are of rows, here each user has an item once.
    """
    chance, half = np.random.default_rng(), epsilon / 2
    least = limit * (1 - math.log(2 * delta / limit) / half)
    chosen = counts[counts + chance.laplace(0, limit / half, counts.size) > least]
    return dict(zip(chosen.index, chosen + chance.laplace(0, limit / half, chosen.size), strict=True))


def zealous(counts: pd.Series, limit: int, epsilon: float, delta: float, users: int) -> Counts:
    """Götz et al. (2011), probabilistic differential privacy: a first threshold, Lap(2m/e), a second one.

    The first is the one for which both together are smallest.
    """
    scale = 2 * limit / epsilon
    choices = []
    for first in range(1, 200):
        gap = max(
            -scale * math.log(2 - 2 * math.exp(-1 / scale)), -scale * math.log(2 * delta / (users * limit / first))
        )
        choices.append((first + gap, first))
    second, first = min(choices)
    kept = counts[counts >= first]
    noisy = kept + np.random.default_rng().laplace(0, scale, kept.size)
    shown = noisy[noisy >= second]
    return dict(zip(shown.index, shown, strict=True))


def ours(log: pa.Table, limit: int, epsilon: float, delta: float) -> Counts:
    """`dp.release_log`."""
    released = dp.release_log(
        log,
        user="user",
        item="item",
        epsilon=epsilon,
        delta=delta,
        max_items=limit,
        budget=dp.Budget(epsilon=epsilon, delta=delta),
    )
    return dict(zip(released.items["item"].to_pylist(), released.items["users"].to_pylist(), strict=True))


def multinomial(log: pa.Table, objective: str, epsilon: float, delta: float) -> Counts:
    """Hong et al. (2012), its rows scaled up to the number of rows that went in."""
    released = dp.sample_own_log(log, user="user", item="item", epsilon=epsilon, delta=delta, objective=objective)
    rows = sum(released.items["rows"].to_pylist())
    factor = log.num_rows / max(rows, 1)
    return {row["item"]: row["rows"] * factor for row in released.items.to_pylist()}


def figures(found: Counts, true: pd.Series) -> tuple[float, float, float]:
    """Items kept, the share of pairs whose item is kept, and the error of the top, in percent of its counts."""
    top = true.nlargest(TOP)
    missed = [abs(found.get(item, 0.0) - count) for item, count in top.items()]
    kept = [item for item in found if item in true.index]
    return len(kept), float(true[kept].sum() / true.sum()), 100 * sum(missed) / float(top.sum())


def line(name: str, release: Callable[[], Counts], true: pd.Series, runs: int = RUNS) -> None:
    """The median of several runs, printed."""
    start = time.perf_counter()
    found = [figures(release(), true) for _ in range(runs)]
    taken = (time.perf_counter() - start) / runs
    items, share, error = (statistics.median(column) for column in zip(*found, strict=True))
    print(f"| {name} | {items:.0f} | {100 * share:.1f} % | {error:.2f} % | {taken:.2f} s |")


def main() -> None:
    """Measures all, and prints the table."""
    parser = argparse.ArgumentParser(description="Compare releases of a log.")
    parser.add_argument("path")
    parser.add_argument("user")
    parser.add_argument("item")
    parser.add_argument("epsilon", nargs="?", type=float, default=1.0)
    parser.add_argument("--delta", type=float, default=1e-6)
    stated = parser.parse_args()
    epsilon, delta = stated.epsilon, stated.delta
    columns = f'"{stated.user}" AS user, "{stated.item}" AS item'
    distinct = f"SELECT DISTINCT {columns} FROM read_parquet(?) WHERE user IS NOT NULL AND item IS NOT NULL"  # noqa: S608 (the caller's own columns)
    table: Any = duckdb.connect().execute(distinct, [stated.path]).to_arrow_table()
    log = table.to_pandas()
    true = log.groupby("item").size()
    users = log["user"].nunique()
    print(
        f"Python {platform.python_version()}, DuckDB {duckdb.__version__}, NumPy {np.__version__}, {platform.machine()}"
    )
    print(f"{users:,} users, {true.size:,} items, {len(log):,} pairs; epsilon {epsilon:g}, delta {delta:g}\n")
    print("| release | items | pairs kept | error of the top 100 | time |\n|---|--:|--:|--:|--:|")
    for limit in LIMITS:
        counts = bounded(log, limit)
        line(f"`release_log`, K = {limit}", partial(ours, table, limit, epsilon, delta), true)
        line(f"Laplace threshold, K = {limit}", partial(laplace_threshold, counts, limit, epsilon, delta), true)
        line(f"Korolova et al., K = {limit}", partial(korolova, counts, limit, epsilon, delta), true)
        line(f"ZEALOUS, K = {limit}", partial(zealous, counts, limit, epsilon, delta, users), true)
    for objective in OBJECTIVES:
        for loose in (delta, 0.01, 0.5):
            name = f"multinomial, {objective}, delta = {loose:g}"
            line(name, partial(multinomial, table, objective, epsilon, loose), true, 1)


if __name__ == "__main__":
    main()
