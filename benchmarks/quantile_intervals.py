"""How often intervals of quantiles and ends hold where a person has several rows, and how wide they are.

``python benchmarks/quantile_intervals.py`` asks each table once for its exact masses and draws the noise many times. A
table of 1,000 persons or so is asked as a whole, a table of small groups group by group. *Beside* is the number of rows
within an interval other than those that have the exact value, on the median release. It is compared with the least mean
that any mechanism of this epsilon can have which holds with 95 % whatever the table is (`least`), and with what the
exponential mechanism alone would span with 95 %, were it known that the values lie evenly (`even`).
"""

from __future__ import annotations

import argparse
import math
import platform
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

import ibis
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from discreet.inference.estimate import estimates
from discreet.noise.entropy import fresh_words
from discreet.planning.plan import Column, Plan
from discreet.selection.rank_exponential import Histogram
from neighbor_bench import Bench, plan_of

CONFIDENCE = 0.95
EPSILONS = (0.5, 1, 3)
SHARES = (0.1, 0.5, 0.9)
GROUPS = (0, 1, 2, 5, 20, 50)
Numbers = NDArray[Any]


@dataclass(frozen=True, eq=False)
class Case:
    """A table of persons with several rows each."""

    words: str
    data: pa.Table
    bounds: tuple[float, float]
    max_rows: int
    grouped: bool = False


def case(words: str, rows: Numbers, values: Numbers, high: float, *, group: Numbers | None = None) -> Case:
    """A table in which each person has so many rows."""
    person = np.repeat(np.arange(len(rows)), rows)
    columns = {"person": person, "x": values, "g": np.zeros(len(person), dtype=int) if group is None else group[person]}
    return Case(words, pa.table(columns), (0, high), int(rows.max()), group is not None)


def cases() -> Iterator[Case]:
    """Skewed values, values with few or no differences, values far apart, the bundled table, and small groups."""
    chance = np.random.default_rng(8)
    rows = chance.integers(1, 6, 1000)
    size = rows.sum()
    yield case("incomes", rows, np.minimum(chance.lognormal(10.5, 1, size), 10**6), 10**6)
    yield case("visits, most of them none", rows, np.minimum(chance.zipf(1.8, size) - 1, 1000), 1000)
    yield case("ages of six kinds", rows, chance.integers(0, 6, size) * 10, 110)
    yield case("one value", rows, np.full(size, 7), 110)
    yield case("two heaps", rows, chance.integers(0, 2, size) * 1.0, 1)
    with files("discreet.data").joinpath("rand_hie.parquet").open("rb") as file:
        health = pq.read_table(file, columns=["person", "spending"])
    bundled = pa.table({"person": health["person"], "x": health["spending"], "g": np.zeros(len(health), dtype=int)})
    yield Case("spending, bundled", bundled, (0, 10_000), 5)
    few = np.array(GROUPS)
    group = np.repeat(np.arange(len(few)), few)
    rows = np.full(len(group), 2)
    yield case("small groups", rows, chance.lognormal(10.5, 1, rows.sum()) % 10**6, 10**6, group=group)


def questions(table: Any) -> dict[str, Any]:
    """Quantiles together, one alone, and either end."""
    return {
        "three": table.agg(q=lambda t: t.x.quantile(list(SHARES))),
        "median": table.agg(q=lambda t: t.x.median()),
        "min": table.agg(q=lambda t: t.x.min()),
        "max": table.agg(q=lambda t: t.x.max()),
    }


def drawn(plan: Plan, exact: Histogram, draws: int) -> dict[str, Any]:
    """What so many releases say of each column; each group of the answer is one of them."""
    [ranks] = plan.ranks
    many = Histogram(
        np.repeat(np.arange(draws), len(exact.cell)), np.tile(exact.cell, draws), np.tile(exact.mass, draws)
    )
    return estimates(plan, [ranks.cuts.made(many, draws, fresh_words())], CONFIDENCE)


def held(plan: Plan, column: Column, exact: Histogram, found: Any) -> tuple[Numbers, Numbers, Numbers]:
    """Which intervals hold, how many rows each has beside those of the exact value, and how wide it is."""
    [ranks] = plan.ranks
    lattice, mass = ranks.lattice, exact.mass / ranks.steps
    values = float(lattice.origin) + exact.cell * float(lattice.step)
    slack = float(lattice.step) * (0 if lattice.exact else 0.51)
    below = np.cumsum(mass)
    share = column.aggregate.share
    wanted = below[-1] * float(share) if share is not None else 0 if ranks.block.top is False else below[-1]
    first = min(np.searchsorted(below, wanted - 1e-9), len(below) - 1)
    last = min(np.searchsorted(below, wanted + 1e-9), len(below) - 1)
    low, high = (np.asarray(end, dtype=np.float64) for end in (found.low, found.high))
    holds = (low <= values[last] + slack) & (high >= values[first] - slack)
    from_, to = np.searchsorted(values, low - slack, "left"), np.searchsorted(values, high + slack, "right")
    whole = np.concatenate([[0.0], below])
    own = mass[first] * ((from_ <= first) & (first < to))
    return holds, whole[to] - whole[from_] - own, high - low


def least(epsilon: float, rows: int, share: float) -> float:
    """The least mean number of rows of any epsilon-private interval that holds with 95 % whatever the table is.

    k persons added or removed on one side move a quantile by w k rows of theirs, w = max(share, 1 - share), and each
    quantile that is made so must be held.
    """
    persons = range(1, 1 + math.ceil(40 / epsilon))
    chances = (max(1 - (1 - CONFIDENCE) * math.exp(k * epsilon), CONFIDENCE * math.exp(-k * epsilon)) for k in persons)
    return 2 * max(share, 1 - share) * rows * sum(chances)


def even(epsilon: float, rows: int, share: float) -> float:
    """The rows among which the exponential mechanism draws with 95 % where values lie evenly."""
    return 4 * max(share, 1 - share) * rows / epsilon * math.log(1 / (1 - CONFIDENCE))


def lines(one: Case, epsilon: float, draws: int) -> Iterator[str]:
    """The measured lines of one table at one price; of small groups, one for each."""
    bench = Bench()
    facts: dict[str, Any] = {"unit": "person", "bounds": {"x": one.bounds}, "max_rows": one.max_rows}
    table = bench.protect(one.data, **facts)
    for place in range(len(GROUPS)) if one.grouped else (None,):
        asked = table if place is None else table.filter(lambda t, place=place: t.g == ibis.literal(place))
        for name, question in questions(asked).items():
            plan = plan_of(question, epsilon=epsilon)
            [exact] = bench.masses(plan)
            if not len(exact.cell):
                continue  # no quantile of no rows
            words = one.words if place is None else f"{one.words}, {GROUPS[place]} persons"
            yield line(f"{words} | {epsilon:g} | {name}", plan, exact, drawn(plan, exact, draws), one)


def line(words: str, plan: Plan, exact: Histogram, found: dict[str, Any], one: Case) -> str:
    """The worst column by how often it holds, and the mean of all of how wide they are."""
    seen = [held(plan, column, exact, found[column.aggregate.name]) for column in plan.columns]
    holds = min(float(holds.mean()) for holds, _, _ in seen)
    beside = np.mean([np.median(rows) for _, rows, _ in seen])
    width = np.mean([np.median(size) for _, _, size in seen])
    epsilon = float(plan.charge.epsilon)
    shares = [float(column.aggregate.share) for column in plan.columns if column.aggregate.share is not None]
    bounds = [np.mean([bound(epsilon, one.max_rows, share) for share in shares]) for bound in (least, even) if shares]
    told = " | ".join(f"{value:.0f}" for value in bounds) or "|"
    rows = float(exact.mass.sum() / plan.ranks[0].steps)
    return f"| {words} | {holds:.1%} | {rows:.0f} | {beside:.0f} | {told} | {width:.4g} |"


def main() -> None:
    """Measures all, and prints the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=300)
    draws = parser.parse_args().draws
    print(f"Python {platform.python_version()}, NumPy {np.__version__}, {platform.machine()}; {draws} draws each\n")
    print("| table | ε | asked | held | rows | beside | least | even | width |")
    print("|---|--:|---|--:|--:|--:|--:|--:|--:|")
    for one in cases():
        for epsilon in EPSILONS:
            for told in lines(one, epsilon, draws):
                print(told, flush=True)


if __name__ == "__main__":
    main()
