"""The queries of TPC-H whose rows belong to two private units each, beside the published figures of R2T.

``python benchmarks/tpch_shared.py DATABASE`` takes what `tpch.py` takes. In Q5, Q7 and Q8 each row of the join belongs
to a customer and to a supplier, and in Q21 to an order and to a supplier; both are protected. The queries are those of
the comparison (hkustDB/Race-to-the-Top, Query), without their keys. For each: the exact answer; R2T as published; R2T
with its constants on the same data, whose linear programs are our flows; and `truncated_total` of discreet, by race and
with the chosen limit, up to 2^20. All at epsilon 0.8; errors as in `tpch.py`. The exact totals under all limits are
found once for ten draws of noise, and the seconds are those of this look: the statement, and the flows. At scale 10,
``--memory 5GB`` leaves room for the pairs.
"""

from __future__ import annotations

import argparse
import math
import resource
import time
from typing import Any, NamedTuple

import ibis
import numpy as np
from ibis import _
from tpch import BASE, BETA, EPSILON, GLOBAL, RUNS, error

import discreet as dp
from discreet.ledger.ledger import stated_guarantee
from discreet.mechanisms.race_to_the_top import RaceToTheTop
from discreet.sensitivity.shared_totals import totals_under_limits
from discreet.truncation.pair_totals import AMOUNT, FIRST, SECOND
from discreet.truncation.truncated_total import priced_total

FINE = 2**8
"""Parts of one in which R2T's limits, powers of 5.5, are whole, or nearly."""


class Task(NamedTuple):
    """A query: its rows, who is protected, and the published figures."""

    rows: str
    each_of: tuple[str, str]
    published: tuple[float, float]
    """Error and seconds of R2T at scale 1, of Result/TPCH."""
    bounds: dict[str, tuple[float, float]] = {}  # noqa: RUF012 (never changed)
    value: Any = None


LINES = "FROM lineitem JOIN orders ON l_orderkey = o_orderkey"
PEOPLE = f"{LINES} JOIN customer ON o_custkey = c_custkey JOIN supplier ON l_suppkey = s_suppkey"
YEARS = "WHERE o_orderdate BETWEEN DATE '1995-01-01' AND DATE '1996-12-31'"
BOTH = ("o_custkey", "l_suppkey")
TASKS = {
    "Q5": Task(f"SELECT o_custkey, l_suppkey {PEOPLE} WHERE c_nationkey = s_nationkey", BOTH, (3901.5, 2.70)),
    "Q8": Task(f"SELECT o_custkey, l_suppkey {PEOPLE} {YEARS}", BOTH, (35086.6, 24.77)),
    "Q21": Task(f"SELECT o_orderkey, l_suppkey {LINES}", ("o_orderkey", "l_suppkey"), (39262.2, 82.89)),
    "Q7": Task(f"SELECT o_custkey, l_suppkey, l_extendedprice, l_discount {PEOPLE}", BOTH, (1324463.0, 91.51),
               {"l_extendedprice": (0, 200_000), "l_discount": (0, 1)}, _.l_extendedprice * (1 - _.l_discount) / 1000),
}  # fmt: skip


def looked(table: dp.SharedTable, task: Task, limit: str) -> tuple[Any, list[int], Any, float]:
    """The priced question, the exact totals under its limits, the pairs, and the seconds of all of it."""
    reading, source = priced_total(table, task.value, price=stated_guarantee(EPSILON), limit=limit)
    start = time.perf_counter()
    engine: Any = source._engine  # noqa: SLF001 (what a release runs, without its charge)
    found = engine.run_statement(source.declaration, engine.compiled(reading.expression))
    exact = reading.steps_of(found)
    return reading, exact, found, time.perf_counter() - start


def drawn(reading: Any, exact: list[int], runs: int) -> list[float]:
    """The answers that some releases would have."""
    rule = reading.mechanism
    if isinstance(rule, RaceToTheTop):
        steps = [rule.best(rule.release(exact), 1 - BETA).at_least for _run in range(runs)]
    else:
        steps = [rule.release(exact).noisy for _run in range(runs)]
    return [float(reading.amount(one)) for one in steps]


def published_race(found: Any, parts: int, runs: int, random: np.random.Generator) -> list[float]:
    """R2T with its own constants."""
    pairs = found[FIRST].to_numpy(), found[SECOND].to_numpy()
    scales = int(math.log(GLOBAL, BASE))
    limits = [BASE**power for power in range(1, scales + 1)]
    scale = FINE if parts == 1 else 1
    whole = [round(one * scale * parts) for one in limits]
    totals = totals_under_limits(*pairs, found[AMOUNT].to_numpy() * scale, whole)
    answers = []
    for _run in range(runs):
        noisy = []
        for limit, total in zip(limits, totals, strict=True):
            step = limit / EPSILON * scales
            noisy.append(total / (scale * parts) + random.laplace(scale=step) - step * math.log(scales / BETA))
        answers.append(max(noisy))
    return answers


def main() -> None:
    """Prints a line for each query."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("database")
    parser.add_argument("--runs", type=int, default=RUNS)
    parser.add_argument("--queries", nargs="*", default=list(TASKS))
    parser.add_argument("--kinds", nargs="*", default=["race", "auto"])
    parser.add_argument("--memory", default="80%", help="of DuckDB, which keeps the rest on disk")
    given = parser.parse_args()
    connection = ibis.duckdb.connect(given.database, read_only=True)
    connection.con.execute(f"SET memory_limit = '{given.memory}'")
    random = np.random.default_rng(1)
    print(
        "         exact answer | pairs | R2T published: error, s | R2T here: error |",
        " | ".join(given.kinds),
        flush=True,
    )
    for name in given.queries:
        task = TASKS[name]
        connection.con.execute(f"CREATE OR REPLACE TEMP VIEW {name} AS {task.rows}")
        table = dp.protect_shared(
            connection.table(name), each_of=task.each_of, bounds=task.bounds, budget=dp.Budget(epsilon=1), name=name
        )
        value = "1" if task.value is None else "l_extendedprice::DOUBLE * (1 - l_discount::DOUBLE) / 1000"
        whole = float(connection.con.execute(f"SELECT sum({value}) FROM ({task.rows})").fetchone()[0])  # noqa: S608 (our own)
        cells = []
        found: Any = None
        for kind in given.kinds:
            found = None
            reading, exact, found, seconds = looked(table, task, kind)
            cells.append(f"{error(drawn(reading, exact, given.runs), whole):11,.0f} {seconds:6.1f}")
        here = error(published_race(found, reading.parts, given.runs, random), whole)
        first = f"{name:4} {whole:14,.0f} | {len(found):9,}", f"{task.published[0]:9,.0f} {task.published[1]:5.1f}"
        print(" | ".join([*first, f"{here:9,.0f}", *cells]), flush=True)
    print(f"most memory: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20:.1f} GB")


if __name__ == "__main__":
    main()
