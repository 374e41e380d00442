"""How fast local reports are made, tallied and read: ten million people, a thousand categories, on one core.

``python benchmarks/local.py`` prints seconds, and how the errors compare with their exact standard deviation (about 1).
"""

from __future__ import annotations

import platform
import time

import numpy as np

from discreet.local.choose_report import Choice
from discreet.local.hadamard_response import HadamardResponse
from discreet.local.local_hashing import LocalHashing
from discreet.local.unary_encoding import UnaryResponse
from discreet.mechanisms.randomized_response import RandomizedResponse

PEOPLE = 10_000_000
FEW = 100_000
"""Unary reports are 125 bytes each, so of them fewer are made, and the time is scaled."""
CATEGORIES = 1000


def main() -> None:
    """Measures all, and prints the table."""
    people = np.random.default_rng(1).geometric(0.01, PEOPLE) % CATEGORIES
    oracles: list[Choice] = [
        LocalHashing(epsilon=1, categories=CATEGORIES),
        LocalHashing(epsilon=4, categories=CATEGORIES),
        HadamardResponse(epsilon=1, categories=CATEGORIES),
        RandomizedResponse(epsilon=1, categories=CATEGORIES),
        UnaryResponse(epsilon=1, categories=CATEGORIES),
    ]
    print(f"Python {platform.python_version()}, NumPy {np.__version__}, {platform.machine()}: {PEOPLE:,} reports")
    print(f"{'':20}{'epsilon':>8}{'report, s':>12}{'estimate, s':>13}{'error / sd':>12}")
    for oracle in oracles:
        values = people[:FEW] if isinstance(oracle, UnaryResponse) else people
        start = time.perf_counter()
        reports = oracle.report(values)
        reported = time.perf_counter()
        shares = oracle.estimate(reports)
        done = time.perf_counter()
        truth = np.bincount(values, minlength=CATEGORIES) / values.size
        ratio = np.sqrt(np.mean((shares - truth) ** 2 / oracle.variance(truth, people=values.size)))
        scale = PEOPLE / values.size
        times = f"{(reported - start) * scale:12.2f}{(done - reported) * scale:13.2f}"
        print(f"{type(oracle).__name__:20}{float(oracle.epsilon):8g}{times}{ratio:12.3f}")


if __name__ == "__main__":
    main()
