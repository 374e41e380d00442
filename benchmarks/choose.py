"""How far below the best the chosen candidate is: `choose` beside its enumerated law and beside what others draw.

Run: python benchmarks/choose.py [ROWS] [--opendp PATH], a million rows without it, with the Python of an environment
that has OpenDP at PATH. One Parquet file, DuckDB, 2 threads.

All scores are counts of rows, or sums of a value between 0 and 1 (which OpenDP is not asked for), and each row is one
unit. First the exact scores are computed; then every rule chooses by them, at equal epsilon, with the sensitivity that
holds for it. Printed is the mean shortfall, in the units of the scores:

law           of permute-and-flip, which `choose` draws, by the enumerated probability of each candidate
measured      the mean of so many whole calls of `choose`, each of which scans the file
exponential   the exponential mechanism with a sensitivity of one that only rises or only falls, by its exact law
laplace       report-noisy-max with Laplace noise of scale 2 / epsilon, as in textbooks, by its exact law
laplace, one  the same of scale 1 / epsilon, which suffices where no score falls when a row is added
opendp        `make_noisy_max` of OpenDP, with the smallest scale that its own map lets epsilon have

Then the time of one `choose`, beside the SQL of its scores alone.
"""

from __future__ import annotations

import argparse
import json
import platform
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

import duckdb
import ibis
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from ibis import _
from numpy.typing import NDArray

import discreet as dp
from discreet.mechanisms.exponential import Exponential
from discreet.mechanisms.permute_and_flip import PermuteAndFlip
from discreet.mechanisms.selection_probabilities import table
from discreet.noise.noisy_argmax import ScoreNoise

THREADS = 2
CALLS = 30
ROUNDS = 7
DRAWS = 2_000

Reals = NDArray[np.float64]


class Case(NamedTuple):
    """Candidates, what they are scored by, and the SQL of one score."""

    candidates: list[Any]
    score: Callable[[Any], Any]
    sql: Callable[[Any], str]
    epsilons: tuple[float, ...]


CASES = {
    "20 thresholds, rows near them": Case(
        list(range(10, 90, 4)),
        lambda c: (_.morning - c).abs() < 5,
        lambda c: f"count(*) FILTER (WHERE abs(morning - {c}) < 5)",
        (0.0001, 0.001, 0.01),
    ),
    "the best split of 19": Case(
        list(range(5, 100, 5)),
        lambda c: (_.morning >= c) == _.late,
        lambda c: f"count(*) FILTER (WHERE (morning >= {c}) = late)",
        (0.00001, 0.0001, 0.001),
    ),
    "the most common of 40 codes": Case(
        list(range(1, 41)),
        lambda c: _.code == c,
        lambda c: f"count(*) FILTER (WHERE code = {c})",
        (0.00001, 0.0001, 0.001),
    ),
    "20 thresholds, a sum of parts": Case(
        list(range(10, 90, 4)),
        lambda c: 1 - (_.morning - c).abs() / 100,
        lambda c: f"sum(1 - abs(morning - {c}) / 100.0)",
        (0.00001, 0.0001, 0.001),
    ),
}


def write(path: Path, rows: int) -> None:
    """A row for each of so many events."""
    chance = np.random.default_rng(20261128)
    morning = chance.integers(0, 101, rows)
    late = (morning >= 40) ^ (chance.random(rows) < 0.3)
    code = np.minimum(chance.zipf(1.3, rows), 100_000)
    pq.write_table(pa.table({"morning": morning, "late": late, "code": code}), path, row_group_size=200_000)


def shortfall(scores: Reals, chances: Reals) -> float:
    """The mean of how far below the best a choice with these chances is."""
    return float(np.dot(scores.max() - scores, chances))


def laws(scores: Reals, epsilon: float) -> list[float]:
    """The mean shortfalls by exact laws."""
    price = Fraction(epsilon).limit_denominator(10**6)
    own = PermuteAndFlip(sensitivity=1, epsilon=price, monotonic=True)
    known = Exponential(sensitivity=1, epsilon=price, monotonic=True)
    return [
        shortfall(scores, np.asarray(own.probabilities(scores))),
        shortfall(scores, np.asarray(known.probabilities(scores))),
        *(shortfall(scores, laplace(scores, epsilon / by)) for by in (2, 1)),
    ]


def laplace(scores: Reals, rate: float) -> Reals:
    """The chances of report-noisy-max with Laplace noise of scale 1 / rate."""
    return table(scores, Fraction(rate).limit_denominator(10**7), ScoreNoise.LAPLACE)


def of_opendp(python: str, scores: Reals, epsilon: float) -> tuple[float, float, str]:
    """The mean shortfall of its draws, the milliseconds of one, and its version."""
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "scores.npy")
        np.save(path, scores.astype(np.int64))
        script = str(Path(__file__).parent / "rivals" / "selection_opendp.py")
        command = [python, script, path, str(epsilon), str(DRAWS)]
        found = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)  # noqa: S603 (a command that its user named)
    short = float(np.mean(scores.max() - scores[found["chosen"]]))
    return short, 1000 * statistics.median(found["seconds"]), found["version"]


def scored(raw: duckdb.DuckDBPyConnection, case: Case) -> Reals:
    """The exact scores."""
    found: Any = raw.execute(f"SELECT {', '.join(map(case.sql, case.candidates))} FROM events").fetchone()  # noqa: S608 (of this file)
    return np.array(found, dtype=np.float64)


def errors(events: Any, raw: duckdb.DuckDBPyConnection, opendp: str | None) -> None:
    """Prints the shortfall of each rule."""
    print("| scores | epsilon | law | measured | exponential | laplace | laplace, one | opendp |")
    print("|---|--:|--:|--:|--:|--:|--:|--:|")
    for name, case in CASES.items():
        scores = scored(raw, case)
        whole = bool((scores == np.round(scores)).all())
        for epsilon in case.epsilons:
            short = [
                scores.max() - scores[case.candidates.index(asked(events, case, epsilon).value)] for _i in range(CALLS)
            ]
            own, known, two, one = (f"{value:,.1f}" for value in laws(scores, epsilon))
            other = f"{of_opendp(opendp, scores, epsilon)[0]:,.1f}" if opendp and whole else "-"
            measured = f"{np.mean(short):,.1f} ± {np.std(short) / len(short) ** 0.5:,.1f}"
            print(f"| {name} | {epsilon:g} | {own} | {measured} | {known} | {two} | {one} | {other} |", flush=True)


def asked(events: Any, case: Case, epsilon: float) -> Any:
    """One whole call, drawn anew."""
    return events.choose(case.candidates, score=case.score, epsilon=epsilon, fresh=True)


def times(events: Any, raw: duckdb.DuckDBPyConnection, opendp: str | None) -> None:
    """Prints the time of a call, beside that of the scores alone, in turn."""
    print(
        "\n| scores | choose, ms | SQL of the scores, ms | ratio | OpenDP, of scores known, ms |\n|---|--:|--:|--:|--:|"
    )
    for name, case in CASES.items():
        ours, its = [], []
        for _i in range(ROUNDS):
            start = time.perf_counter()
            asked(events, case, case.epsilons[1])
            between = time.perf_counter()
            scores = scored(raw, case)
            ours.append(between - start)
            its.append(time.perf_counter() - between)
        mine, raws = 1000 * statistics.median(ours), 1000 * statistics.median(its)
        known = f"{of_opendp(opendp, scores, case.epsilons[1])[1]:.2f}" if opendp else "-"
        print(f"| {name} | {mine:.0f} | {raws:.0f} | {mine / raws:.1f} | {known} |", flush=True)


def main() -> None:
    """Prints both tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("rows", nargs="?", type=lambda text: int(float(text)), default=10**6)
    parser.add_argument("--opendp", help="the Python of an environment that has OpenDP")
    given = parser.parse_args()
    print(f"{platform.machine()}, DuckDB {duckdb.__version__}, {given.rows:,} rows, {THREADS} threads, {CALLS} calls\n")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "events.parquet"
        write(path, given.rows)
        raw = duckdb.connect(config={"threads": THREADS})
        raw.execute(f"CREATE VIEW events AS FROM '{path}'")
        rows = ibis.duckdb.connect(threads=THREADS).read_parquet(str(path), table_name="events")
        stated: dict[str, Any] = {"bounds": {"morning": (0, 100)}, "budget": dp.Budget(epsilon=10**6), "name": "events"}
        events = dp.protect(rows, unit=dp.ROW, **stated)
        errors(events, raw, given.opendp)
        times(events, raw, given.opendp)


if __name__ == "__main__":
    main()
