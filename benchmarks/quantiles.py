"""By how many rows released quantiles are off, on average, for one, nine and ninety-nine of them at one charge.

``python benchmarks/quantiles.py`` releases quantiles of 1,000 made-up incomes between 0 and a million (log-normal, as
in the literature), each row a person, at epsilon 1 for all of them and their intervals together: of the whole table,
and of five such groups in one question, whose rows are different people. The rank of an answer is the number of incomes
below it.
"""

from __future__ import annotations

import argparse
import itertools
import platform
import time
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

import discreet as dp
from discreet.query.table import PrivateTable

ROWS, MOST, GROUPS = 1000, 1_000_000, 5
WANTED = {1: 1.05, 9: 6.3, 99: 12.0}
"""Mean rank errors to stay below: the best published ones (state of the art, several quantiles at once)."""

Reals = NDArray[np.float64]
_numbers = itertools.count()


def incomes(chance: np.random.Generator, groups: int) -> Reals:
    """Incomes of shape (groups, ROWS), sorted in each."""
    return np.sort(np.clip(chance.lognormal(10.5, 1.0, (groups, ROWS)), 0, MOST), axis=1)


def protected(values: Reals) -> PrivateTable:
    """A table of incomes, each row a person."""
    groups = [f"g{i}" for i in range(len(values))]
    data = pa.table({"group": np.repeat(groups, ROWS), "income": values.ravel()})
    return dp.protect(
        data, unit=dp.ROW, bounds={"income": (0, MOST)}, keys={"group": groups}, budget=dp.Budget(epsilon=10**6),
        name=f"incomes {next(_numbers)}",
    )  # fmt: skip


def error(number: int, groups: int, runs: int, chance: np.random.Generator) -> tuple[float, float]:
    """The mean rank error of so many quantiles, and the seconds of one release."""
    shares = [i / (number + 1) for i in range(1, number + 1)]
    missed, seconds = [], []
    for _ in range(runs):
        values = incomes(chance, groups)
        table = protected(values)
        asked = {"q": lambda t: t.income.quantile(shares)}
        question = table.agg(**asked) if groups == 1 else table.group_by("group").agg(**asked)
        start = time.perf_counter()
        answer = question.release(epsilon=1)
        seconds.append(time.perf_counter() - start)
        missed.append(_missed(values, [answer[name] for name in answer.columns], shares))
    return float(np.mean(missed)), float(np.median(seconds))


def _missed(values: Reals, found: Sequence[Reals], shares: Sequence[float]) -> float:
    ranks = [[np.searchsorted(group, value) for group, value in zip(values, column, strict=True)] for column in found]
    return float(np.abs(np.array(ranks) - ROWS * np.array(shares)[:, None]).mean())


def main() -> None:
    """Measures all, and prints the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=200)
    runs = parser.parse_args().runs
    chance = np.random.default_rng()
    print(f"Python {platform.python_version()}, NumPy {np.__version__}, {platform.machine()}; {runs} runs each\n")
    print("| quantiles | groups | mean rank error | wanted, at most | seconds |\n|--:|--:|--:|--:|--:|")
    for groups in (1, GROUPS):
        for number, wanted in WANTED.items():
            found, seconds = error(number, groups, runs if groups == 1 else runs // GROUPS, chance)
            print(f"| {number} | {groups} | {found:.2f} | {wanted:g} | {seconds:.2f} |", flush=True)


if __name__ == "__main__":
    main()
