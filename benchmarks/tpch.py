"""TPC-H with the unit carried along foreign keys, beside the published figures of R2T (Dong et al., SIGMOD 2022).

``python benchmarks/tpch.py DATABASE`` takes a DuckDB database with the tables of TPC-H, as ``INSTALL tpch; LOAD tpch;
CALL dbgen(sf=1)`` makes them. The queries are those of the comparison whose unit is in one table: customers, orders or
suppliers. For each: the exact answer; R2T as published, and its closed form on the same data, the constants as in its
program (base 5.5, beta 0.1, global sensitivity 10^6); discreet's own race, at the same beta and up to 2^20, and its
total under a chosen limit (`truncated_total`), both with bounds for every table; and ``max_rows`` chosen by each
release, and stated. All at epsilon 0.8. The error is that of the published program: of ten runs, the mean without the
two best and the two worst. ``--queries`` and ``--kinds`` take some of them. ``--stated`` has none of these: it computes
the errors of a total in which a unit counts with a stated number of its rows, and that has noise for so many.
"""

from __future__ import annotations

import argparse
import math
import statistics
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import ibis
import numpy as np
from ibis import _
from numpy.typing import NDArray

import discreet as dp
from discreet.ledger.ledger import stated_guarantee
from discreet.mechanisms.race_to_the_top import RaceToTheTop
from discreet.truncation.truncated_total import priced_total

EPSILON = 0.8
RUNS, TRIMMED = 10, 2
BASE, BETA, GLOBAL = 5.5, 0.1, 10**6
"""Of R2T's published program."""

ORDERS = ("orders", {"l_orderkey": "o_orderkey"})
CUSTOMER = ("customer", {"o_custkey": "c_custkey"})
PARTSUPP = ("partsupp", {"l_partkey": "ps_partkey", "l_suppkey": "ps_suppkey"})
SUPPLIER = ("supplier", {"ps_suppkey": "s_suppkey"})


class Task(NamedTuple):
    """A query: its table and the way to the unit, what is asked, the published figures, and a limit to state."""

    table: str
    via: list[tuple[str, dict[str, str]]]
    unit: str
    rows: Callable[..., Any]
    """The rows that count, of the table and, where they are needed, the orders beside it."""
    parts: str
    """SQL of what each unit contributes."""
    published: tuple[float, float]
    """Error and seconds of R2T at scale 1, of the repository hkustDB/Race-to-the-Top, Result/TPCH."""
    max_rows: int
    bounds: dict[str, tuple[float, float]] = {}  # noqa: RUF012 (never changed)
    value: Any = None
    """What is added up; rows are counted where there is none."""
    most_of_a_row: float = 1
    """By its bounds."""


def early_lines(lines: Any, orders: Any) -> Any:
    """The lines of Q3, beside their orders."""
    early = orders.filter(_.o_orderdate < "1997-01-01").select("o_orderkey")
    kept = lines.filter(_.l_shipdate > "1994-01-01").rename(o_orderkey="l_orderkey")
    return kept.join(early, ["c_custkey", "o_orderkey"], how="semi")


def all_rows(rows: Any, _orders: Any) -> Any:
    """They count as they are."""
    return rows


FROM = "FROM lineitem JOIN orders ON l_orderkey = o_orderkey"
EARLY = "WHERE o_orderdate < DATE '1997-01-01' AND l_shipdate > DATE '1994-01-01'"
TASKS = {
    "Q3": Task("lineitem", [ORDERS, CUSTOMER], "c_custkey", early_lines,
               f"SELECT count(*) {FROM} {EARLY} GROUP BY o_custkey", (7338.6, 3.02), 200),
    "Q10": Task("orders", [CUSTOMER], "c_custkey", all_rows,
                "SELECT count(*) FROM orders GROUP BY o_custkey", (2615.5, 1.67), 50),
    "Q12": Task("lineitem", [ORDERS], "o_orderkey", all_rows,
                "SELECT count(*) FROM lineitem GROUP BY l_orderkey", (1373.0, 7.64), 7),
    "Q18": Task("lineitem", [ORDERS, CUSTOMER], "c_custkey", all_rows,
                f"SELECT sum(l_quantity)::DOUBLE {FROM} GROUP BY o_custkey", (201957.5, 6.30), 200,
                {"l_quantity": (1, 50)}, _.l_quantity, 50),
    "Q20": Task("lineitem", [PARTSUPP, SUPPLIER], "s_suppkey", all_rows,
                "SELECT count(*) FROM lineitem GROUP BY l_suppkey", (34725.6, 4.99), 1000),
    "Q11": Task("partsupp", [SUPPLIER], "s_suppkey", all_rows,
                "SELECT (sum(ps_supplycost * ps_availqty) / 1000000)::DOUBLE FROM partsupp GROUP BY ps_suppkey",
                (36438.3, 0.77), 100, {"ps_supplycost": (1, 1000), "ps_availqty": (1, 9999)},
                _.ps_supplycost * _.ps_availqty / 10**6, 9.999),
}  # fmt: skip


def race(parts: NDArray[np.float64], random: np.random.Generator) -> float:
    """R2T in closed form, with floats for noise: what its program does where the unit is in one table."""
    scales = int(math.log(GLOBAL, BASE))
    found = []
    for power in range(1, scales + 1):
        tau = BASE**power
        step = tau / EPSILON * scales
        found.append(np.minimum(parts, tau).sum() + random.laplace(scale=step) - step * math.log(scales / BETA))
    return float(max(found))


def protected(connection: Any, task: Task, max_rows: int | str | None, budget: dp.Budget, kind: str) -> Any:
    """The rows of a task that count."""
    facts: dict[str, Any] = {"unit": task.unit, "max_rows": max_rows, "budget": budget}
    via = [(connection.table(name), on) for name, on in task.via]
    data = connection.table(task.table)
    table = dp.protect(data, via=via, bounds=task.bounds, name=f"{task.table}, {kind}", **facts)
    if task.rows is all_rows:
        return table
    to_customer = [(connection.table("customer"), CUSTOMER[1])]
    orders = dp.protect(connection.table("orders"), via=to_customer, name=f"orders, {kind}", **facts)
    return task.rows(table, orders)


def asked(connection: Any, task: Task, kind: str, budget: dp.Budget) -> Callable[[], float]:
    """What makes one release of a kind, with fresh noise, and gives its answer."""
    if kind in ("race", "chosen"):
        rows = protected(connection, task, None, budget, kind)
        total = rows.truncated_total(task.value, limit="race" if kind == "race" else "auto")

        def truncated() -> float:
            answer = total.release(epsilon=EPSILON, fresh=True)
            return float(answer.at_least(1 - BETA) if kind == "race" else answer.value)

        return truncated
    rows = protected(connection, task, "auto" if kind == "auto" else task.max_rows, budget, kind)
    question = rows.count() if task.value is None else rows.mutate(v=task.value).agg(s=_.v.sum())

    def released() -> float:
        answer = question.release(epsilon=EPSILON, fresh=True)
        return float(answer[answer.columns[0]].item())

    return released


def ours(connection: Any, task: Task, kind: str, runs: int, budget: dp.Budget) -> tuple[list[float], float]:
    """The answers of some releases, each with fresh noise, and the median of their seconds."""
    release = asked(connection, task, kind, budget)
    answers, seconds = [], []
    for _run in range(runs):
        start = time.perf_counter()
        answers.append(release())
        seconds.append(time.perf_counter() - start)
    return answers, statistics.median(seconds)


def one_look(connection: Any, task: Task, kind: str, runs: int, budget: dp.Budget) -> tuple[list[float], float]:
    """The answers that some releases would have, of exact totals that are found once; and the seconds of that."""
    rows = protected(connection, task, None, budget, kind)
    limit, price = "race" if kind == "race" else "auto", stated_guarantee(EPSILON)
    reading, source = priced_total(rows, task.value, price=price, limit=limit)
    start = time.perf_counter()
    engine: Any = source._engine  # noqa: SLF001 (what a release runs, without its charge)
    found = engine.run_statement(source.declaration, engine.compiled(reading.expression))
    seconds, exact, rule = time.perf_counter() - start, reading.steps_of(found), reading.mechanism
    if isinstance(rule, RaceToTheTop):
        steps = [rule.best(rule.release(exact), 1 - BETA).at_least for _run in range(runs)]
    else:
        steps = [rule.release(exact).noisy for _run in range(runs)]
    return [float(reading.amount(one)) for one in steps], seconds


def error(answers: list[float], exact: float) -> float:
    """The mean error without the best and the worst."""
    errors = sorted(abs(answer - exact) for answer in answers)
    kept = errors[TRIMMED:-TRIMMED] if len(errors) > 2 * TRIMMED else errors
    return statistics.mean(kept)


KINDS = {"race": "race", "chosen": "total, limit chosen", "auto": "max_rows chosen", "stated": "max_rows stated"}
"""Of discreet: what is released."""


def expected_under(connection: Any, task: Task) -> list[float]:
    """The mean error under a stated limit: twice the rows that any unit has, as many, a tenth less, and half.

    A unit with more counts with some of its rows, whatever they have; the noise is Laplace noise for that many of the
    largest amount that the bounds allow. So it is in Tumult Analytics, after `MaxRowsPerID` and a join beforehand.
    """
    counted = connection.con.execute(task.parts.replace("SELECT", "SELECT count(*),", 1)).fetchnumpy()
    rows, values = (np.asarray(column, dtype=np.float64) for column in counted.values())
    found = []
    for share in (2, 1, 0.9, 0.5):
        limit = max(1, round(share * rows.max()))
        cut, scale = float((values * np.maximum(0, 1 - limit / rows)).sum()), limit * task.most_of_a_row / EPSILON
        found.append(cut + scale * math.exp(-cut / scale))
    return found


def main() -> None:
    """Prints a line for each query."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("database")
    parser.add_argument("--runs", type=int, default=RUNS)
    parser.add_argument("--queries", nargs="*", default=list(TASKS))
    parser.add_argument("--one-look", action="store_true", help="of a large table: the same exact totals in all runs")
    parser.add_argument("--kinds", nargs="*", default=list(KINDS))
    parser.add_argument("--stated", action="store_true", help="errors under stated limits, and nothing else")
    given = parser.parse_args()
    connection = ibis.duckdb.connect(given.database, read_only=True)
    if given.stated:
        for name in given.queries:
            print(f"{name:4}", " | ".join(f"{off:12,.0f}" for off in expected_under(connection, TASKS[name])))
        return
    random, budget = np.random.default_rng(1), dp.Budget(epsilon=len(KINDS) * len(TASKS) * given.runs)
    head = ["R2T at scale 1, ", "R2T here,", *(f"{KINDS[kind]:>19}" for kind in given.kinds), "plain"]
    under = ["published: error, s", "    error", *("          error,  s" for _kind in given.kinds), "SQL, s"]
    print(" " * 22, " | ".join(head))
    print("         exact answer", " | ".join(under))
    for name in given.queries:
        task = TASKS[name]
        start = time.perf_counter()
        parts = connection.con.execute(task.parts).fetchnumpy()
        plain = time.perf_counter() - start
        [column] = parts.values()
        values = np.asarray(column, dtype=np.float64)
        exact = float(values.sum())
        raced = error([race(values, random) for _run in range(given.runs)], exact)
        cells = [f"{exact:14,.0f}", _cell(*task.published), f"{raced:9,.0f}"]
        for kind in given.kinds:
            look = one_look if given.one_look and kind in ("race", "chosen") else ours
            answers, seconds = look(connection, task, kind, given.runs, budget)
            cells.append(_cell(error(answers, exact), seconds))
        print(f"{name:4}", " | ".join([*cells, f"{plain:6.2f}"]), flush=True)


def _cell(off: float, seconds: float) -> str:
    return f"{off:12,.0f} {seconds:6.2f}"


if __name__ == "__main__":
    main()
