"""The same tables in discreet, OpenDP, Tumult Analytics and SmartNoise SQL, at one price: how far off, and how long.

``python benchmarks/same_tables.py --python opendp=PATH --python tumult=PATH --python smartnoise=PATH`` runs
`rivals/tables_NAME.py` with the given Python for each rival, since their requirements clash, and discreet with the
running one; who is not named is left out. Asked are all marginals of up to two of six attributes, and all ranges and
prefixes of ordered cells. What is printed is the root of the mean squared error of all cells, ranges or prefixes of all
runs against the exact answers, and its standard error where there are several runs; the bound that no Gaussian
mechanism is below, at the same price; both ratios; and the seconds of a run, its start and its reading included.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import platform
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from datetime import date
from fractions import Fraction
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

import duckdb
import numpy as np
from numpy.typing import NDArray
from rivals.tables import APART, ATTRIBUTES, DELTA, EPSILON, MARGINALS, MEASURED, ORDERED, PLANNED, RHO, filled

from discreet.accounting.calibration import gaussian_sigma
from discreet.workloads.marginals import Marginals
from discreet.workloads.ordered_queries import OrderedQueries

HERE = Path(__file__).parent
LIBRARIES = {
    "discreet": "discreet",
    "opendp": "OpenDP",
    "tumult": "Tumult Analytics",
    "smartnoise": "SmartNoise SQL",
}
INSTALL = {
    "opendp": "'opendp[polars,mbi]'",
    "tumult": "tmlt.analytics",
    "smartnoise": "smartnoise-sql pyarrow",
}
PRICES = {"epsilon": f"epsilon {EPSILON:g}", "delta": f"epsilon {EPSILON:g}, delta {DELTA:g}", "rho": "rho 1/2"}
COPIES = 10
"""How often the bundled table is repeated: 201,900 rows."""
PATIENCE = 600
"""Seconds after which all runs of one kind are given up."""
SEVERAL = 3
"""Runs from which a standard error is shown."""
Reals = NDArray[np.float64]


class Asked(NamedTuple):
    """One kind of run."""

    task: str
    way: str
    price: str


def kinds(name: str) -> Iterator[Asked]:
    """What a library is asked, each as its documentation has it."""
    for price in ("epsilon", "delta"):
        ways = {"discreet": [PLANNED], "opendp": [*MEASURED, PLANNED]}.get(name, [*MEASURED])
        yield from (Asked("marginals", way, price) for way in ways)
    planned = PLANNED if name in ("discreet", "opendp") else APART
    for task in ORDERED:
        yield from (Asked(task, planned, price) for price in ("epsilon", "rho"))


def write_table(path: Path, copies: int) -> dict[str, Reals]:
    """Writes the table that all are asked of, and returns the exact cells of each task."""
    source = files("discreet.data") / "rand_hie.parquet"
    connection = duckdb.connect()
    levels = ", ".join(
        f"least(CAST(floor(spending * {cells} / 1280) AS BIGINT), {cells - 1}) AS {name}"
        for name, cells in ORDERED.items()
    )
    connection.sql(
        "CREATE TABLE people AS SELECT plan, site, health, year AS wave, CAST(female AS BIGINT) AS female, "  # noqa: S608 - ours
        f"age // 10 AS decade, {levels} FROM '{source}', range({copies})"
    )
    connection.sql(f"COPY people TO '{path}'")

    def exact(names: tuple[str, ...]) -> Reals:
        chosen = ", ".join([*names, "count(*)"])
        rows = connection.sql(f"SELECT {chosen} FROM people GROUP BY ({', '.join(names)})")  # noqa: S608 - ours
        return filled(names, rows.fetchall()).ravel()

    tables = [exact(names) for names in MARGINALS]
    return {"marginals": np.concatenate(tables), **{name: exact((name,)) for name in ORDERED}}


def told(python: str, name: str, path: Path, asked: Asked, most: tuple[int, float]) -> dict[str, Any]:
    """What a library answers to one kind, in a process of its own."""
    words = [python, str(HERE / "rivals" / "tables.py"), name, str(path), *asked, *map(str, most)]
    try:
        done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=PATIENCE)  # noqa: S603 - ours
    except subprocess.TimeoutExpired:
        return {"outcome": f"not in {PATIENCE} s"}
    if done.returncode:
        print(done.stderr, file=sys.stderr)
        return {"outcome": "fails"}
    answered: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return answered


def squares(misses: Reals, task: str) -> dict[str, float]:
    """The mean squared errors of one run: of all cells, or of all ranges and of all prefixes."""
    if task not in ORDERED:
        return {"marginals": float((misses**2).mean())}
    cells = len(misses)
    sums = np.concatenate([[0.0], np.cumsum(misses)])
    ranges = ((cells + 1) * (sums**2).sum() - sums.sum() ** 2) / ((cells + 1) * cells / 2)
    return {f"{cells} ranges": float(ranges), f"{cells} prefixes": float((sums[1:] ** 2).mean())}


def bounds(task: str, price: str) -> dict[str, float]:
    """What no Gaussian mechanism is below at this price; nothing is known of a pure epsilon that is attained."""
    if price == "epsilon":
        return {}
    if task in ORDERED:
        cells = ORDERED[task]
        every = {"ranges": OrderedQueries.ranges(cells), "prefixes": OrderedQueries.prefixes(cells)}
        rho = Fraction(RHO[price])
        return {f"{cells} {kind}": queries.strategy().bound(rho=rho) for kind, queries in every.items()}
    sizes = {name: len(keys) for name, keys in ATTRIBUTES.items()}
    rho = 1 / (2 * gaussian_sigma(1, EPSILON, DELTA) ** 2)
    return {"marginals": Marginals(sizes, ways=[0, 1, 2]).total().bound(rho=rho)}


class Found(NamedTuple):
    """A measured figure."""

    question: str
    price: str
    library: str
    way: str
    error: float
    spread: float | None
    runs: int
    seconds: float


def measured(name: str, asked: Asked, answered: dict[str, Any], exact: Reals) -> list[Found]:
    """The errors of one kind of run."""
    each = [squares(np.array(answer) - exact, asked.task) for answer in answered["answers"]]
    found = []
    for question in each[0]:
        own = [one[question] for one in each]
        error = math.sqrt(statistics.fmean(own))
        spread = statistics.stdev(own) / math.sqrt(len(own)) / (2 * error) if len(own) >= SEVERAL else None
        seconds = statistics.median(answered["seconds"][1:] or answered["seconds"])
        library = f"{LIBRARIES[name]} {answered['version']}"
        found.append(Found(question, PRICES[asked.price], library, asked.way, error, spread, len(own), seconds))
    return found


def table(found: list[Found], least: dict[tuple[str, str], float]) -> str:
    """The figures as Markdown, those of one question and price together."""
    lines = ["| tables | price | library | measured | rmse | bound | over it | over discreet | runs | seconds |"]
    lines.append("|---|---|---|---|--:|--:|--:|--:|--:|--:|")
    ours = {(one.question, one.price): one.error for one in found if one.library.startswith("discreet")}
    order = {key: place for place, key in enumerate(ours)}
    for one in sorted(found, key=lambda one: order[one.question, one.price]):
        bound = least.get((one.question, one.price))
        error = f"{one.error:.3g}" if one.spread is None else f"{one.error:.3g} ± {one.spread:.1g}"
        told_bound = f"{bound:.3g} | {one.error / bound:.2f}" if bound else " | "
        ratio = f"{one.error / ours[one.question, one.price]:.2f}"
        words = [one.question, one.price, one.library, one.way, error, told_bound, ratio, str(one.runs)]
        lines.append(f"| {' | '.join([*words, f'{one.seconds:.3g}'])} |")
    return "\n".join(lines)


def figures(pythons: dict[str, str], copies: int, most: tuple[int, float]) -> str:
    """Everything that is measured, as Markdown."""
    found: list[Found] = []
    least: dict[tuple[str, str], float] = {}
    failed = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "people.parquet"
        exact = write_table(path, copies)
        for name, python in pythons.items():
            for asked in kinds(name):
                answered = told(python, name, path, asked, most)
                if answered["outcome"] != "done":
                    outcome = {"absent": "cannot"}.get(answered["outcome"], answered["outcome"])
                    failed.append(f"{LIBRARIES[name]}, {asked.task}, {asked.way}, at {PRICES[asked.price]}: {outcome}.")
                    print(failed[-1], file=sys.stderr, flush=True)
                    continue
                own = measured(name, asked, answered, exact[asked.task])
                found += own
                print(*own, sep="\n", file=sys.stderr, flush=True)
                if name == "discreet":
                    own_bounds = bounds(asked.task, asked.price)
                    least |= {(question, PRICES[asked.price]): bound for question, bound in own_bounds.items()}
    machine = f"{date.today()}, {os.cpu_count()} cores ({platform.machine()}), Python {platform.python_version()}"  # noqa: DTZ011 - a label
    rows = f"{int(exact['marginals'][0]):,} rows, {len(exact['marginals'])} cells in {len(MARGINALS)} marginals"
    return "\n".join([table(found, least), "", *failed, "", f"{machine}; {rows}."])


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", action="append", default=[], metavar="NAME=PATH", help="a rival, and its Python")
    parser.add_argument("--copies", type=int, default=COPIES)
    parser.add_argument("--runs", type=int, default=40, help="at most, of each kind")
    parser.add_argument("--seconds", type=float, default=30, help="in which runs of one kind end, after the first")
    given = parser.parse_args()
    pythons = {"discreet": sys.executable, **dict(entry.split("=", 1) for entry in given.python)}
    for name, packages in INSTALL.items():
        if name not in pythons:
            left = f"{LIBRARIES[name]} is left out: pip install {packages}, in an environment of its own,"
            print(f"{left} and name it: --python {name}=PATH", file=sys.stderr)
    print(figures(pythons, given.copies, (given.runs, given.seconds)))


if __name__ == "__main__":
    main()
