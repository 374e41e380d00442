"""How fast noise is made, on one core, beside NumPy's (fast, and not private): ``python benchmarks/noise.py``.

Prints tables in some seconds: millions of samples (or 64-bit words) a second, the best of several rounds, and the time
to choose one of a million candidates.
"""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Callable
from datetime import date
from fractions import Fraction
from functools import partial

import numpy as np
from numpy.typing import NDArray

from discreet.mechanisms.knorm import KNorm
from discreet.noise.bernoulli import Bernoulli
from discreet.noise.discrete_gaussian import DiscreteGaussianLaw
from discreet.noise.entropy import RandomWords, fresh_words
from discreet.noise.gaussian import RoundedNormal, _tabulated
from discreet.noise.geometric import Geometric
from discreet.noise.geometric import _tabulated as _geometric
from discreet.noise.half_gaussian import _tabulated as _strips
from discreet.noise.laplace import DiscreteLaplace
from discreet.noise.noisy_argmax import ScoreNoise, winners
from discreet.noise.staircase import StaircaseLaw
from discreet.noise.uniform import below

SAMPLES = 2_000_000
ROUNDS = 7
SCALES = {
    "10": Fraction(10),
    "50": Fraction(50),
    "10^3": Fraction(10**3),
    "10^6": Fraction(10**6),
    "2^45": Fraction(2**45),
}
CANDIDATES = 1_000_000

Draw = Callable[[int], object]


def rate(draw: Draw, samples: int = SAMPLES) -> float:
    """Millions a second."""
    draw(samples // 8)
    best = float("inf")
    for _ in range(ROUNDS):
        start = time.perf_counter()
        draw(samples)
        best = min(best, time.perf_counter() - start)
    return samples / best / 1e6


def first_use(make: Callable[[Fraction], object], scale: Fraction) -> float:
    """Milliseconds to make the tables of one scale."""
    for tables in (_geometric, _tabulated, _strips):
        tables.cache_clear()
    start = time.perf_counter()
    make(scale)
    return (time.perf_counter() - start) * 1e3


def laws(words: RandomWords) -> dict[str, Callable[[Fraction], Draw]]:
    """What is measured at each scale, by its name."""
    numpy = np.random.default_rng()
    return {
        "exact geometric": lambda b: lambda n: Geometric.of_scale(b).sample(n, words),
        "exact discrete Laplace": lambda b: lambda n: DiscreteLaplace.of_scale(b).sample(n, words),
        "NumPy Laplace": lambda b: lambda n: numpy.laplace(0.0, float(b), n),
        "certified rounded normal": lambda s: lambda n: RoundedNormal.of_variance(s**2).sample(n, words),
        "exact discrete Gaussian": lambda s: lambda n: DiscreteGaussianLaw.of_parameter(s**2).sample(n, words),
        "NumPy normal": lambda s: lambda n: numpy.normal(0.0, float(s), n),
    }


def print_scales(words: RandomWords) -> None:
    """The laws that have a scale."""
    print(f"{'M samples/s at scale':26}" + "".join(f"{name:>9}" for name in SCALES))
    for title, law in laws(words).items():
        print(f"{title:26}" + "".join(f"{rate(law(scale)):9.0f}" for scale in SCALES.values()))
    for title, make in (
        ("Laplace tables, ms", DiscreteLaplace.of_scale),
        ("normal tables, ms", lambda s: RoundedNormal.of_variance(s**2)),
    ):
        print(f"{title:26}" + "".join(f"{first_use(make, scale):9.1f}" for scale in SCALES.values()))


def print_others(words: RandomWords) -> None:
    """The laws that have none."""
    moments = KNorm.of_contributions([(1, y, y * y) for y in range(11)], epsilon=1)
    others: dict[str, Draw] = {
        "coins, p = 1/3": lambda n: Bernoulli.of(Fraction(1, 3)).sample(n, words),
        "coins, p = exp(-1/2)": lambda n: Bernoulli.of_exp(Fraction(1, 2)).sample(n, words),
        "integers below 1000": lambda n: below(1000, n, words),
        "staircase, width 2^20": lambda n: StaircaseLaw.of(Fraction(3), 1 << 20, 190_000).sample(n, words),
        "K-norm vectors of 3": lambda n: moments.body.noise.sample(Fraction(1), n, words),
    }
    print()
    for title, draw in others.items():
        print(f"{title:26}{rate(draw, SAMPLES // 8):9.1f} M/s")
    scores = np.random.default_rng().integers(0, 1000, CANDIDATES)
    for noise in ScoreNoise:
        chosen = partial(choose, scores, noise, words)
        print(f"{'one of a million, ' + noise.value:30}{1e3 / rate(chosen, CANDIDATES):5.0f} ms")


def choose(scores: NDArray[np.int64], noise: ScoreNoise, words: RandomWords, candidates: int) -> object:
    """One of the first so many candidates."""
    return winners(scores[:candidates], Fraction(1, 10), words, noise=noise)


def main() -> None:
    """Measures all, on one core, and prints the tables."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    words = fresh_words()
    today, versions = date.today(), f"Python {platform.python_version()}, NumPy {np.__version__}"  # noqa: DTZ011 - a label
    stream = rate(words)
    print(f"{today}, one core of {platform.machine()}, {versions}")
    print(f"Bit stream: {stream:.0f} M words/s, {stream * 8 / 1000:.1f} GB/s\n")
    print_scales(words)
    print_others(words)


if __name__ == "__main__":
    main()
