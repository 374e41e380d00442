"""How far off a sum is whose bounds, or whose limit on rows, a first look found: several rules beside the best bound.

Run: python benchmarks/clipping.py [FOLDER], with the tables of ``TABLES`` below FOLDER; without one it takes the table
that comes with discreet, and values that are drawn.

Each unit has one value, or a number of rows, and the error is what a user sees: what clipping takes, and the standard
deviation of the noise, as a root of squares over the exact sum. A tenth of epsilon finds the bounds (a twentieth the
limit), the rest adds up. Rules:

best         the bound with the least error, of all sizes that a unit has: nobody can know it
alone        a bin counts by itself, from its own noisy count on, and nothing is expected behind the last
rule         the one in use: bins count together, and the tail goes on behind the last
quantile     a private quantile, by the exponential mechanism on ranks over 16 candidates an octave, that aims as low as
             it has to so that noise alone is as unlikely to choose; Huang, Liang and Yi (2021), for one column

With ``--worst``, limits are chosen for numbers of rows as the rule does, of exact counts and of noisy ones, and their
error in the worst case (all values at their bounds: rows beyond the limit, and the noise) is compared with the least
that any limit has, by a search.

With ``--pydp PATH``, the Python of an environment that has PyDP, the sum of a whole release is compared with PyDP's at
the same epsilon instead, which finds the bounds of a sum within its own price; here at the usual part of
epsilon and, with ``first_look=``, at three tenths and a half.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from fractions import Fraction
from importlib.resources import files
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
from numpy.typing import NDArray

from discreet.mechanisms.laplace import Laplace
from discreet.noise.entropy import fresh_words
from discreet.planning.auto_bounds import (
    BESIDE,
    COUNTS,
    FALSE_ALARM,
    HIGHEST,
    LOWEST,
    MOST_CLIPPED,
    MOST_WEIGHTED,
    SIZES,
    bounds,
    least,
    limit,
)

Reals = NDArray[np.float64]
REPEATS = 200
PART, LIMIT_PART = 0.1, 0.05
BESIDE_PARTS = (PART, 0.3, 0.5)
BESIDE_PYDP = 50
"""Sums of each, beside PyDP."""
FINE = 16
"""Candidates of a private quantile in each octave."""

TABLES = {
    "wages": "SELECT income FROM 'people/PUMS_pid.csv'",
    "capital gains": "SELECT capital_gain FROM 'people/adult.parquet'",
    "money of a customer": "SELECT sum(Quantity * UnitPrice) FROM 'logs/online_retail.parquet' WHERE CustomerID IS NOT "
    "NULL AND Quantity > 0 GROUP BY CustomerID",
    "text added by an editor": "SELECT sum(added) FROM 'logs/wiki_edits_20150912.parquet' GROUP BY user_id",
}
ROWS = {
    "lines of a customer": "SELECT count(*) FROM 'logs/online_retail.parquet' WHERE CustomerID IS NOT NULL "
    "GROUP BY CustomerID",
    "pages of a visitor": "SELECT count(*) FROM 'logs/msweb_visits.parquet' GROUP BY user_id",
    "edits of an editor": "SELECT count(*) FROM 'logs/wiki_edits_20150912.parquet' GROUP BY user_id",
    "files of an author": "SELECT count(*) FROM 'logs/git_statsmodels.parquet' GROUP BY author_id",
}


def numbers(statement: str) -> Reals:
    """The one column of a statement."""
    found: Any = duckdb.sql(statement)
    return np.array([float(value or 0) for (value,) in found.fetchall()])


def of_bins(sizes: Reals) -> NDArray[np.int64]:
    """The exact histogram that a first look makes of values of 0 or more."""
    bins = np.ceil(np.log2(np.clip(sizes, 2.0**LOWEST, 2.0**HIGHEST)) - 2.0**-40).astype(int) - LOWEST
    return np.bincount(SIZES + bins, minlength=2 * SIZES + 1)


def alone(noisy: Reals, scale: float, most: float) -> tuple[Reals, float]:
    """Filled bins where each has to show by itself that somebody is there, and how many units may be beyond."""
    near = noisy >= scale * math.log(1 / (2 * BESIDE))
    kept = noisy >= scale * math.log(noisy.size / FALSE_ALARM)
    for _ in noisy:
        kept = kept | (near & (np.append(kept[1:], False) | np.append(False, kept[:-1])))
    counts = np.where(kept, noisy, 0.0)
    return counts, most * float(counts.sum())


def bound_alone(noisy: Reals, scale: float, cost: float) -> float:
    """The upper bound by such bins."""
    counts, most = alone(noisy, scale, MOST_CLIPPED)
    tops = np.append(0.0, 2.0 ** (LOWEST + np.arange(1, SIZES + 1)))
    return float(tops[least(counts[SIZES:], tops, cost, most)]) if counts.any() else 1.0


def limit_alone(noisy: Reals, scale: float, cost: float) -> float:
    """The limit by such bins."""
    counts, most = alone(noisy, scale, MOST_WEIGHTED)
    return float(1 << least(counts, np.exp2(np.arange(COUNTS)), cost, most))


def quantile(sizes: Reals, epsilon: float, rng: np.random.Generator) -> float:
    """A candidate with about so many units above it as keep it from being chosen where nobody is."""
    tops = 2.0 ** np.arange(LOWEST, HIGHEST, 1 / FINE)
    above = len(sizes) - np.searchsorted(np.sort(sizes), tops, side="right")
    aim = 2 / epsilon * math.log(len(tops) / FALSE_ALARM)
    weights = -epsilon / 2 * np.abs(above - aim)
    return float(tops[np.argmax(weights + rng.gumbel(size=len(tops)))])


def off(sizes: Reals, bound: float, epsilon: float) -> float:
    """The error of the sum with this bound, over the exact sum."""
    lost = float(np.maximum(sizes - bound, 0).sum())
    return math.hypot(lost, 2**0.5 * bound / epsilon) / float(sizes.sum())


def figures(sizes: Reals, epsilon: float, rng: np.random.Generator, *, rows: bool) -> list[str]:
    """The error of the best bound, and the median and the root of the mean square of each rule."""
    part = LIMIT_PART if rows else PART
    scale, rest = 1 / (part * epsilon), (1 - part) * epsilon
    cost = 2**0.5 / rest
    exact = np.bincount(np.ceil(np.log2(sizes)).astype(int), minlength=COUNTS) if rows else of_bins(sizes)
    blur = Laplace(
        sensitivity=1, epsilon=Fraction(part).limit_denominator(1000) * Fraction(epsilon).limit_denominator(1000)
    )
    one: Callable[[Any], float] = (
        (lambda noisy: float(limit(noisy, blur.scale, cost)))
        if rows
        else (lambda noisy: float(bounds(noisy, blur.scale, cost)[1]))
    )
    by: dict[str, list[float]] = {"alone": [], "rule": [], "quantile": []}
    words = fresh_words()
    for _ in range(REPEATS):
        noisy = blur.add_noise(exact, words)
        real = noisy.astype(np.float64)
        by["alone"].append(off(sizes, (limit_alone if rows else bound_alone)(real, scale, cost), rest))
        by["rule"].append(off(sizes, one(noisy), rest))
        by["quantile"].append(off(sizes, quantile(sizes, part * epsilon, rng), rest))
    candidates = np.unique(np.quantile(sizes, np.linspace(0.3, 1, 1001)))
    best = min(off(sizes, float(bound), epsilon) for bound in candidates if bound > 0)
    return [
        f"{best:.2%}",
        *(f"{np.median(found):.2%} ({np.sqrt(np.mean(np.square(found))):.2%})" for found in by.values()),
    ]


def drawn(rng: np.random.Generator) -> Iterator[tuple[str, Reals]]:
    """Values of distributions, of several numbers of units."""
    for units in (300, 1000, 5000, 20_000):
        yield f"log-normal, sigma 1, {units:,}", rng.lognormal(3, 1, units)
        yield f"log-normal, sigma 1.5, {units:,}", rng.lognormal(3, 1.5, units)
        yield f"the same up to 100, {units:,}", np.minimum(rng.lognormal(3, 1.5, units), 100)
        yield f"Pareto, 2, {units:,}", 100 * (rng.pareto(2, units) + 1)
        yield f"normal, 50 and 10, {units:,}", np.abs(rng.normal(50, 10, units))
        yield f"even up to 1,000, {units:,}", rng.uniform(0, 1000, units)


def shown(name: str, sizes: Reals, rng: np.random.Generator, *, rows: bool) -> None:
    """A line of the table for each epsilon."""
    for epsilon in (0.2, 1.0):
        cells = figures(sizes, epsilon, rng, rows=rows)
        print(f"| {name} | {len(sizes):,} | {epsilon:g} | {' | '.join(cells)} |", flush=True)


def beside_pydp(python: str, tables: Iterator[tuple[str, Reals]], rng: np.random.Generator) -> None:
    """Prints the errors of whole sums, here and in PyDP: the median, and the root of the mean square."""
    heads = " | ".join(f"here, {part:.0%}" for part in BESIDE_PARTS)
    print(f"| sizes | units | epsilon | {heads} | PyDP | of these without an answer |\n|---|---|---|{'---|' * 5}")
    for name, sizes in tables:
        for epsilon in (0.2, 1.0):
            with tempfile.TemporaryDirectory() as folder:
                path = str(Path(folder) / "sizes.npy")
                np.save(path, sizes)
                command = [
                    python,
                    str(Path(__file__).parent / "rivals" / "sums_pydp.py"),
                    path,
                    str(epsilon),
                    str(BESIDE_PYDP),
                ]
                found = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)["sums"]  # noqa: S603 (a command that its user named)
            sums = np.array([one for one in found if one is not None])
            cells = [_told(released(sizes, epsilon, rng, part) / sizes.sum() - 1) for part in BESIDE_PARTS]
            cells.append(_told(sums / sizes.sum() - 1))
            print(f"| {name} | {len(sizes):,} | {epsilon:g} | {' | '.join(cells)} | {found.count(None)} |", flush=True)


def released(sizes: Reals, epsilon: float, rng: np.random.Generator, part: float = PART) -> Reals:
    """Sums whose bounds the rule in use finds, with noise."""
    price = Fraction(epsilon).limit_denominator(1000)
    blur = Laplace(sensitivity=1, epsilon=Fraction(part).limit_denominator(1000) * price)
    rest, exact, words = (1 - part) * epsilon, of_bins(sizes), fresh_words()
    sums = []
    for _ in range(BESIDE_PYDP):
        bound = float(bounds(blur.add_noise(exact, words), blur.scale, 2**0.5 / rest)[1])
        sums.append(np.minimum(sizes, bound).sum() + rng.laplace(0, bound / rest))
    return np.array(sums)


def _told(errors: Reals) -> str:
    if not errors.size:
        return "none"
    return f"{np.median(np.abs(errors)):.2%} ({np.sqrt(np.mean(np.square(errors))):.2%})"


def bundled() -> Iterator[tuple[str, Reals]]:
    """The largest value of each person in the table that comes with discreet."""
    table = files("discreet.data") / "rand_hie.parquet"
    for column in ("spending", "income", "visits"):
        found = numbers(f"SELECT max({column}) FROM '{table}' GROUP BY person")  # noqa: S608 (its own file)
        yield f"largest {column} of a person", np.maximum(found, 0)


def worst(numbers: Reals, most: float, cost: float) -> float:
    """The error of a sum over all values up to 1: rows beyond the limit, and noise."""
    return float(np.maximum(numbers - most, 0).sum()) + cost * most


def numbers_of_rows(rng: np.random.Generator, units: int) -> Iterator[tuple[str, Any]]:
    """Numbers of rows of so many units."""
    yield "log-normal, sigma 1", np.ceil(rng.lognormal(2, 1, units))
    yield "log-normal, sigma 1.5", np.ceil(rng.lognormal(2, 1.5, units))
    yield "Pareto, 1", np.minimum(np.ceil(rng.pareto(1, units) + 1), 10**6)
    yield "Pareto, 2", np.ceil(3 * (rng.pareto(2, units) + 1))
    yield "Zipf, 2", np.minimum(rng.zipf(2, units), 10**6).astype(float)
    yield "Poisson, 3", rng.poisson(3, units) + 1.0
    yield "Poisson, 30", rng.poisson(30, units) + 1.0
    yield "even up to 100", rng.integers(1, 101, units).astype(float)
    yield "geometric, mean of 20", rng.geometric(0.05, units).astype(float)
    yield "9 rows each", np.full(units, 9.0)
    yield "one or two", rng.integers(1, 3, units).astype(float)
    yield "1 or, of 5 %, 1,000", np.where(rng.random(units) < 0.05, 1000.0, 1.0)


def in_the_worst_case(rng: np.random.Generator) -> None:
    """Prints how many times the least error a limit has: the best power of two, the rule, and with noise."""
    print("| rows of a unit | units | epsilon | power of two | rule, exact | rule, 5 % | rule, 30 % |")
    print("|---|--:|--:|--:|--:|--:|--:|")
    for units in (200, 1000, 5000, 20_000):
        for name, numbers in numbers_of_rows(rng, units):
            exact = np.bincount(np.ceil(np.log2(numbers)).astype(int), minlength=COUNTS)
            for epsilon in (0.2, 1.0):
                cost = 2**0.5 / epsilon
                least = min(worst(numbers, float(most), cost) for most in np.unique(numbers))
                power = min(worst(numbers, 2.0**k, cost) for k in range(24))
                ratios = [power, worst(numbers, float(limit(exact, Fraction(1, 1000), cost)), cost)]
                ratios += [noisy_limits(numbers, exact, epsilon, part) for part in (LIMIT_PART, 0.3)]
                shown = " | ".join(f"{one / least:.2f}" for one in ratios)
                print(f"| {name} | {units:,} | {epsilon:g} | {shown} |", flush=True)


def noisy_limits(numbers: Reals, exact: NDArray[np.int64], epsilon: float, part: float) -> float:
    """The median error in the worst case, with limits of noisy counts, at what they leave of epsilon."""
    price = Fraction(epsilon).limit_denominator(1000) * Fraction(part).limit_denominator(1000)
    blur, words, cost = Laplace(sensitivity=1, epsilon=price), fresh_words(), 2**0.5 / ((1 - part) * epsilon)
    found = [worst(numbers, float(limit(blur.add_noise(exact, words), blur.scale, cost)), cost) for _ in range(REPEATS)]
    return float(np.median(found))


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", nargs="?", help="of the tables")
    parser.add_argument("--pydp", help="the Python of an environment that has PyDP")
    parser.add_argument("--worst", action="store_true", help="limits, and their error in the worst case")
    asked = parser.parse_args()
    rng = np.random.default_rng(20261128)
    if asked.worst:
        in_the_worst_case(rng)
        return
    if asked.pydp:
        beside_pydp(asked.pydp, itertools.chain(bundled(), drawn(rng)), rng)
        return
    print("| sizes | units | epsilon | best | alone | rule | quantile |\n|---|---|---|---|---|---|---|")
    for name, sizes in bundled():
        shown(name, sizes, rng, rows=False)
    folder = Path(asked.folder) if asked.folder else None
    for tables, rows in ((TABLES, False), (ROWS, True)):
        for name, statement in tables.items() if folder else ():
            found = numbers(statement.replace("'people/", f"'{folder}/people/").replace("'logs/", f"'{folder}/logs/"))
            shown(name, np.maximum(found, 0), rng, rows=rows)
    for name, sizes in drawn(rng):
        shown(name, sizes, rng, rows=False)


if __name__ == "__main__":
    main()
