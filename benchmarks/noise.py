"""How fast noise is made, on one core, beside NumPy's Laplace (fast, and not private): ``python benchmarks/noise.py``.

Prints one table in a few seconds: millions of samples (or 64-bit words) a second, the best of several rounds.
"""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Callable
from datetime import date
from fractions import Fraction

import numpy as np

from discreet.noise.entropy import fresh_words
from discreet.noise.geometric import Geometric, _tabulated
from discreet.noise.laplace import DiscreteLaplace

SAMPLES = 4_000_000
ROUNDS = 7
SCALES = {"10": Fraction(10), "10^3": Fraction(10**3), "10^6": Fraction(10**6), "2^45": Fraction(2**45)}


def rate(draw: Callable[[int], object]) -> float:
    """Millions a second."""
    draw(SAMPLES // 8)
    best = float("inf")
    for _ in range(ROUNDS):
        start = time.perf_counter()
        draw(SAMPLES)
        best = min(best, time.perf_counter() - start)
    return SAMPLES / best / 1e6


def first_use(scale: Fraction) -> float:
    """Milliseconds to make the tables of one scale."""
    _tabulated.cache_clear()
    start = time.perf_counter()
    Geometric.of_scale(scale)
    return (time.perf_counter() - start) * 1e3


def rates(law: Callable[[Fraction], Callable[[int], object]]) -> dict[str, float]:
    """Millions of samples a second at each scale."""
    return {name: rate(law(scale)) for name, scale in SCALES.items()}


def main() -> None:
    """Measures all, on one core, and prints the table."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    words, numpy = fresh_words(), np.random.default_rng()
    stream = rate(words)
    numpys = rates(lambda scale: lambda n: numpy.laplace(0.0, float(scale), n))
    laplace = rates(lambda scale: lambda n: DiscreteLaplace.of_scale(scale).sample(n, words))
    geometric = rates(lambda scale: lambda n: Geometric.of_scale(scale).sample(n, words))

    today, versions = date.today(), f"Python {platform.python_version()}, NumPy {np.__version__}"  # noqa: DTZ011 - a label
    print(f"{today}, one core of {platform.machine()}, {versions}")
    print(f"Bit stream: {stream:.0f} M words/s, {stream * 8 / 1000:.1f} GB/s\n")
    print(f"{'M samples/s at scale':24}" + "".join(f"{name:>9}" for name in SCALES))
    for title, row in (("exact geometric", geometric), ("exact discrete Laplace", laplace), ("NumPy Laplace", numpys)):
        print(f"{title:24}" + "".join(f"{row[name]:9.0f}" for name in SCALES))
    print(f"{'exact / NumPy Laplace':24}" + "".join(f"{laplace[name] / numpys[name]:9.1f}" for name in SCALES))
    print(f"{'tables, first use, ms':24}" + "".join(f"{first_use(scale):9.1f}" for scale in SCALES.values()))


if __name__ == "__main__":
    main()
