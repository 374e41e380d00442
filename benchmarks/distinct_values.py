"""How far below the number of distinct values a private bound lies, beside a fixed sample of each person's values.

``python benchmarks/distinct_values.py`` prints, for tables of several shapes and three epsilons, the mean over releases
of the number of values less the bound of 95 %: of `count_distinct`, which chooses the limit; of the best stated limit,
known to nobody beforehand, and of 1, 8 and 64, each in a largest assignment and in a sample that keeps so many values
of each person, in a random order; and of a choice with the normalization of Knop and Steinke (2023). It says, too, how
many bounds were above the truth, and the seconds that all assignments take.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import Any

import numpy as np
import pyarrow.parquet as pq
from numpy.typing import NDArray

from discreet.mechanisms.contribution_limit_selection import CountsUnderLimits
from discreet.sensitivity.capped_matching import assigned

Codes = NDArray[np.int64]
LIMITS = tuple(2**i for i in range(13))
EPSILONS = (0.1, 0.5, 1.0)
SHOWN = (1, 8, 64)
RUNS = 400


def tables(chance: np.random.Generator) -> dict[str, tuple[Codes, Codes]]:
    """Pairs of person and value."""
    real = pq.read_table(str(files("discreet.data") / "rand_hie.parquet"))
    persons = _codes(real["person"].to_numpy())
    many = np.maximum(1, np.exp(chance.normal(1, 1.5, 3000))).astype(np.int64)
    own = np.repeat(np.arange(3000), many)
    people = np.floor(20_000 * chance.random(300_000) ** 2).astype(np.int64)
    return {
        "RAND: spending, in dollars": (persons, np.floor(real["spending"].to_numpy()).astype(np.int64)),
        "RAND: visits": (persons, real["visits"].to_numpy().astype(np.int64)),
        "diagnoses: Zipf 1.2 of a million": (people, chance.zipf(1.2, people.size).clip(0, 10**6)),
        "pages: log-normal numbers of 60,000": (own, chance.integers(0, 60_000, own.size)),
        "common and own: 20 for all, 3 alone": (
            np.repeat(np.arange(2000), 23),
            np.concatenate([[*range(20), *(100 + 3 * person + np.arange(3))] for person in range(2000)]),
        ),
    }


def _codes(values: Any) -> Codes:
    return np.unique(values, return_inverse=True)[1].astype(np.int64)


def sampled(units: Codes, values: Codes, limits: Sequence[int], chance: np.random.Generator) -> list[int]:
    """How many values are left if each person keeps so many of them, in a random order of their own."""
    pairs = np.unique(np.stack([units, values], axis=1), axis=0)
    pairs = pairs[np.lexsort((chance.random(len(pairs)), pairs[:, 0]))]
    first = np.searchsorted(pairs[:, 0], pairs[:, 0])
    rank = np.arange(len(pairs)) - first
    return [int(np.unique(pairs[rank < limit, 1]).size) for limit in limits]


def fixed(counts: Sequence[int], epsilon: float, true: int) -> dict[int, float]:
    """The mean shortfall of the bound under each limit, if it is stated: the noise has mean 0."""
    rules = {limit: CountsUnderLimits(limits=[limit], epsilon=epsilon) for limit in LIMITS}
    return {limit: true - count + rules[limit].margin(0) for limit, count in zip(LIMITS, counts, strict=True)}


def chosen(counts: Sequence[int], epsilon: float, true: int, *, both_ways: bool) -> tuple[float, int, int]:
    """Of releases that choose the limit: the mean shortfall, how many bounds were too high, the median limit."""
    rule = CountsUnderLimits(limits=LIMITS, epsilon=epsilon, both_ways=both_ways)
    margins = [rule.margin(place) for place in range(len(LIMITS))]
    drawn = [rule.release(counts) for _ in range(RUNS)]
    bounds = np.array([max(0, noisy - margins[place]) for place, noisy in drawn])
    return float(true - bounds.mean()), int((bounds > true).sum()), LIMITS[int(np.median([one.place for one in drawn]))]


def report(name: str, units: Codes, values: Codes, chance: np.random.Generator) -> None:
    """Prints a table's figures."""
    true = int(np.unique(values).size)
    start = time.perf_counter()
    best = assigned(units, values, LIMITS)
    taken = time.perf_counter() - start
    sample = sampled(units, values, LIMITS, chance)
    pairs = np.unique(np.stack([units, values], axis=1), axis=0).shape[0]
    print(f"\n{name}: {true:,} values, {pairs:,} pairs, {np.unique(units).size:,} persons; {taken:.2f} s")
    held: Mapping[str, list[int]] = {"assigned": best, "sampled": sample}
    for way, counts in held.items():
        print(f"  {way:9} under 1, 8, 64: " + ", ".join(f"{counts[LIMITS.index(limit)]:,}" for limit in SHOWN))
    for epsilon in EPSILONS:
        own, missed, limit = chosen(best, epsilon, true, both_ways=False)
        theirs = chosen(best, epsilon, true, both_ways=True)[0]
        line = f"  epsilon {epsilon:<4} chosen {own:8,.0f} (limit {limit}; too high {missed} of {RUNS})"
        line += f"   by the sum of limits {theirs:8,.0f}"
        for way, counts in held.items():
            short = fixed(counts, epsilon, true)
            line += f"   {way}: best {min(short.values()):8,.0f}"
            line += "".join(f", {limit}: {short[limit]:,.0f}" for limit in SHOWN)
        print(line)


def main() -> None:
    """Prints all figures."""
    chance = np.random.default_rng(7)
    print(f"the number of values less the bound of 95 %: mean of {RUNS} releases; of stated limits, exact")
    for name, (units, values) in tables(chance).items():
        report(name, units, values, chance)


if __name__ == "__main__":
    main()
