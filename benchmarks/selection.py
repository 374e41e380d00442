"""How fast one of many is chosen, exactly, beside NumPy's argmax of floats with Gumbel noise (fast, and not private).

``python benchmarks/selection.py`` prints milliseconds for one release, the median of several; then, for the k best of a
million, time and error of four mechanisms at epsilon = 1 in all, on counts of several shapes. With ``--opendp PATH``,
the Python of an environment that has OpenDP 0.14 or later, only the latter is printed, for the k best of ten thousand,
beside its ``make_noisy_top_k``, the one of other libraries that does this.
"""

from __future__ import annotations

import argparse
import json
import platform
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.mechanisms.exponential import Exponential
from discreet.mechanisms.joint_exponential import JointExponential
from discreet.mechanisms.noisy_max import NoisyMax
from discreet.mechanisms.permute_and_flip import PermuteAndFlip
from discreet.selection.top_k import TopK

SIZES = (1000, 100_000, 1_000_000)
ROUNDS = 9
CANDIDATES = 1_000_000
SEVERAL = (10, 100)
DRAWS = 5
"""Of each mechanism on each table."""
FEWER, BESIDE = 10_000, 20
"""Candidates and draws beside OpenDP, which takes half a minute for the 10 best of a million, and minutes for 100."""


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


def shapes(chance: np.random.Generator, size: int = CANDIDATES) -> dict[str, NDArray[np.int64]]:
    """Counts of a million candidates: from those that stand out to those that no mechanism can tell apart."""
    rank = np.arange(1, size + 1)
    return {
        "10**6 / rank": (1e6 / rank).astype(np.int64),
        "10**4 / rank**0.7": (1e4 / rank**0.7).astype(np.int64),
        "log-normal": np.exp(chance.normal(2, 2, size)).astype(np.int64),
        "1,000 ahead by 300": np.where(rank <= 1000, 300, 0) + chance.poisson(100, size),
    }


def shortfall(counts: NDArray[np.int64], chosen: NDArray[np.int64]) -> int:
    """What the j-th best of the chosen falls short of the j-th best of all, at most."""
    best = np.sort(counts)[::-1][: chosen.size]
    return int((best - np.sort(counts[chosen])[::-1]).max())


def several(chance: np.random.Generator) -> None:
    """Prints the time and the error of ways to choose the k best."""
    tables = shapes(chance)
    print(f"\nthe k best of {CANDIDATES:,}, monotonic, epsilon = 1: mean shortfall of {DRAWS} draws (median ms)")
    print(f"{'':24}" + "".join(f"{name:>24}" for name in tables))
    for k in SEVERAL:
        for name, rule in rules(k).items():
            cells = []
            for counts in tables.values():
                taken, short = [], []
                for _ in range(DRAWS):
                    start = time.perf_counter()
                    chosen = rule.release(counts)
                    taken.append((time.perf_counter() - start) * 1e3)
                    short.append(shortfall(counts, chosen))
                cells.append(f"{statistics.mean(short):>13,.0f} ({statistics.median(taken):>6.0f}) ")
            print(f"{f'k = {k:>3}, {name}':27}" + "  ".join(cells))


def rules(k: int) -> dict[str, Any]:
    """The ways to choose the k best at epsilon 1."""
    price: dict[str, Any] = {"k": k, "sensitivity": 1, "epsilon": 1, "monotonic": True}
    return {
        "one-shot": TopK(**price),
        "peeling": TopK(method="peeling", **price),
        "joint, a sequence": JointExponential(**price),
        "joint, a set": JointExponential(order=False, **price),
    }


def beside_opendp(python: str, chance: np.random.Generator) -> None:
    """Prints the error and the time of all ways and of OpenDP's, on the same counts."""
    tables = shapes(chance, FEWER)
    print(f"\nthe k best of {FEWER:,}, monotonic, epsilon = 1: mean shortfall of {BESIDE} draws (median ms)")
    print(f"{'':24}" + "".join(f"{name:>24}" for name in tables))
    for k in SEVERAL:
        cells: dict[str, list[str]] = {}
        for counts in tables.values():
            for name, rule in rules(k).items():
                cells.setdefault(name, []).append(_cell(counts, *_drawn(rule, counts)))
            with tempfile.TemporaryDirectory() as folder:
                path = str(Path(folder) / "counts.npy")
                np.save(path, counts)
                script = str(Path(__file__).parent / "rivals" / "selection_opendp.py")
                command = [python, script, path, "1", str(BESIDE), str(k)]
                found = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)  # noqa: S603 (a command that its user named)
            chosen = [np.array(one) for one in found["chosen"]]
            cells.setdefault(f"OpenDP {found['version']}", []).append(_cell(counts, chosen, found["seconds"]))
        for name, row in cells.items():
            print(f"{f'k = {k:>3}, {name}':27}" + "  ".join(row))


def _drawn(rule: Any, counts: NDArray[np.int64]) -> tuple[list[NDArray[np.int64]], list[float]]:
    """What a rule chooses, several times, and the seconds of each."""
    chosen, seconds = [], []
    for _ in range(BESIDE):
        start = time.perf_counter()
        chosen.append(rule.release(counts))
        seconds.append(time.perf_counter() - start)
    return chosen, seconds


def _cell(counts: NDArray[np.int64], chosen: Sequence[NDArray[np.int64]], seconds: Sequence[float]) -> str:
    short = statistics.mean(shortfall(counts, one) for one in chosen)
    return f"{short:>13,.0f} ({statistics.median(seconds) * 1e3:>6.0f}) "


def main() -> None:
    """Measures all, and prints the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--opendp", help="the Python of an environment that has OpenDP")
    asked = parser.parse_args()
    if asked.opendp:
        beside_opendp(asked.opendp, np.random.default_rng(1))
        return
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
        ("the 100 best, joint", JointExponential(k=100, sensitivity=1, epsilon=1).release, whole),
        ("the set of the 100 best", JointExponential(k=100, sensitivity=1, epsilon=1, order=False).release, whole),
        ("the same, floats", JointExponential(k=100, sensitivity=1, epsilon=1, order=False).release, real),
        ("NumPy, not private", lambda t: np.argmax(t + chance.gumbel(0, 2, t.size)), whole),
    ):
        print(f"{name:28}{milliseconds(release, tables)}")
    several(chance)


if __name__ == "__main__":
    main()
