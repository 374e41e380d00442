"""How fast one of many is chosen, exactly, beside NumPy's argmax of floats with Gumbel noise (fast, and not private).

``python benchmarks/selection.py`` prints milliseconds for one release, the median of several.
"""

from __future__ import annotations

import platform
import statistics
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.mechanisms.exponential import Exponential
from discreet.mechanisms.noisy_max import NoisyMax
from discreet.mechanisms.permute_and_flip import PermuteAndFlip
from discreet.selection.top_k import TopK

SIZES = (1000, 100_000, 1_000_000)
ROUNDS = 9


def milliseconds(call: Callable[[NDArray[Any]], object], tables: Sequence[NDArray[Any]]) -> str:
    """The median time of several calls on each table."""
    medians = []
    for table in tables:
        call(table)
        taken = []
        for _ in range(ROUNDS):
            start = time.perf_counter()
            call(table)
            taken.append((time.perf_counter() - start) * 1e3)
        medians.append(f"{statistics.median(taken):12.2f}")
    return "".join(medians)


def main() -> None:
    """Measures all, and prints the table."""
    chance = np.random.default_rng(1)
    flip = PermuteAndFlip(sensitivity=1, epsilon=1)
    whole = [chance.integers(0, 10**6, size) for size in SIZES]
    real = [table + 0.1 for table in whole]
    print(f"Python {platform.python_version()}, NumPy {np.__version__}, {platform.machine()}")
    print(f"{'ms for one release of':28}" + "".join(f"{size:>12,}" for size in SIZES))
    for name, release, tables in (
        ("exponential mechanism", Exponential(sensitivity=1, epsilon=1).release, whole),
        ("permute-and-flip", flip.release, whole),
        ("permute-and-flip, floats", flip.release, real),
        ("noisy max, Laplace", NoisyMax(sensitivity=1, epsilon=1, noise="laplace").release, whole),
        ("the 100 best, one-shot", TopK(k=100, sensitivity=1, epsilon=1, delta=1e-6).release, whole),
        ("NumPy, not private", lambda t: np.argmax(t + chance.gumbel(0, 2, t.size)), whole),
    ):
        print(f"{name:28}{milliseconds(release, tables)}")


if __name__ == "__main__":
    main()
