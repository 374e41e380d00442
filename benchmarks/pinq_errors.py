"""How far off PINQ is in the five tasks, computed from the noise that its published source adds, without running it.

Run: python benchmarks/pinq_errors.py [--copies 50], as often as the table is repeated for the others.

PINQ 0.1.1 runs on .NET. Its `NoisyCount` adds Laplace noise of scale 1 / epsilon. `NoisyAverage` clamps values to
[-1, 1], so that those from 0 to 50 are scaled to it, adds noise of scale 2 / epsilon to their sum, divides by the exact
number, and draws again until the result is in [-1, 1], which hardly changes anything for thousands of rows.
`NoisyMedian` draws x with a density in proportion to exp(-epsilon |n / 2 - rank of x|). Keys are listed for
`Partition`, and records are protected: amounts that nobody listed, and persons with several rows, it cannot do.
"""

from __future__ import annotations

import argparse
import math
from collections import Counter
from importlib.resources import files

import duckdb
import numpy as np
from five_tasks import COPIES
from numpy.typing import NDArray

EPSILON = 1.0
TOP = 5000.0
"""The bound of spending."""


def mean_error(rows: NDArray[np.float64], reach: float) -> float:
    """Root mean square error of averages of so many rows each, over groups; `reach` is half the range of values."""
    return float(np.sqrt(np.mean((reach * 2 / EPSILON * math.sqrt(2) / rows) ** 2)))


def median_error(values: NDArray[np.float64]) -> float:
    """Root mean square error of the noisy median from the exact one, by integrating its density between values."""
    ends = np.concatenate([[0.0], np.sort(values), [TOP]])
    weight = np.diff(ends) * np.exp(-EPSILON * np.abs(len(values) / 2 - np.arange(len(values) + 1)))
    low, high = (side - np.median(values) for side in (ends[:-1], ends[1:]))
    return float(np.sqrt(np.average((low**2 + low * high + high**2) / 3, weights=weight)))


def main() -> None:
    """Prints the errors as a row of Markdown."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--copies", type=int, default=COPIES)
    copies = parser.parse_args().copies
    source = files("discreet.data") / "rand_hie.parquet"
    table = duckdb.connect().execute(f"SELECT plan, spending FROM '{source}'").fetchnumpy()  # noqa: S608 - ours
    rows = np.array([copies * count for count in Counter(table["plan"].tolist()).values()], dtype=np.float64)
    spending = np.repeat(np.minimum(table["spending"], TOP), copies)
    found = {"rows": math.sqrt(2) / EPSILON, "visits": mean_error(rows, 25.0), "median": median_error(spending)}
    print("| " + " | ".join(found) + " |\n" + "|--:" * len(found) + "|")
    print("| " + " | ".join(f"{one:.2g}" for one in found.values()) + " |")


if __name__ == "__main__":
    main()
