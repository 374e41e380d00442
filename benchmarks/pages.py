"""The most liked page of a real log, asked in every way of `discreet.logs.favorite_page` at the same epsilon.

``python benchmarks/pages.py LOG.parquet USER PAGE [--catalogue FILE.csv COLUMN]`` prints a table for each epsilon.
Without a catalogue the log's own pages stand for one, which only the way for unknown pages does without.
"""

from __future__ import annotations

import argparse
import platform
import time

import numpy as np
import pandas as pd
import pyarrow.parquet as pq

from discreet.logs.favorite_page import Likes, most_liked_errors

EPSILONS = (0.03, 0.1, 1.0)
TOP = 10
RUNS = 20


def main() -> None:
    """Measures all, and prints the tables."""
    parser = argparse.ArgumentParser(description="Compare ways to ask for the most liked page.")
    parser.add_argument("path")
    parser.add_argument("user")
    parser.add_argument("page")
    parser.add_argument("--catalogue", nargs=2, metavar=("FILE", "COLUMN"))
    parser.add_argument("--delta", type=float, default=1e-6)
    parser.add_argument("--epsilons", nargs="+", type=float, default=EPSILONS)
    stated = parser.parse_args()
    table = pq.read_table(stated.path, columns=[stated.user, stated.page])
    listed = None
    if stated.catalogue is not None:
        listed = pd.read_csv(stated.catalogue[0])[stated.catalogue[1]].tolist()
    likes = Likes.of(table, person=stated.user, page=stated.page, catalogue=listed)
    people, most = np.unique(likes.people).size, int(np.bincount(likes.people).max())
    print(f"Python {platform.python_version()}, NumPy {np.__version__}, {platform.machine()}")
    print(f"{people:,} people, {len(likes.names):,} pages, {likes.people.size:,} likes, at most {most:,} of one person")
    for epsilon in stated.epsilons:
        start = time.perf_counter()
        found = most_liked_errors(likes, epsilon=epsilon, delta=stated.delta, k=TOP, runs=RUNS)
        print(f"\nepsilon {epsilon:g}, delta {stated.delta:g}, {RUNS} runs in {time.perf_counter() - start:.1f} s\n")
        print(
            f"| way | mode missed | top {TOP} found | likes of the top missed | count off by |\n|---|--:|--:|--:|--:|"
        )
        for one in found:
            off = "" if one.count_error is None else f"{one.count_error:,.0f}"
            shares = (f"{100 * share:.1f} %" for share in (one.mode_missed, one.top_found, one.top_missed))
            print(f"| {one.way} | {' | '.join(shares)} | {off} |")


if __name__ == "__main__":
    main()
