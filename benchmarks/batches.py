"""Many questions at once beside one by one: error and time. ``python benchmarks/batches.py [rows]``.

Errors are half-widths at 95 %, as the root of their mean square over all cells, for a total of epsilon 1, pure unless a
delta is named; one by one, each question has an equal part of it. Times are of one release, beside DuckDB's own
statement on the same rows.
"""

from __future__ import annotations

import math
import sys
import time
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
from ibis import _

import discreet as dp
from discreet.query.batch_question import BatchQuestion
from discreet.query.table import PrivateTable

ROWS = int(float(sys.argv[1])) if len(sys.argv) > 1 else 1_000_000


def protected() -> tuple[pa.Table, PrivateTable]:
    """Five columns with few values, an age and a number."""
    random = np.random.default_rng(1)
    columns = {f"c{i}": random.integers(0, size, ROWS) for i, size in enumerate((5, 4, 3, 3, 2))}
    data = pa.table({**columns, "age": random.integers(0, 100, ROWS), "v": random.random(ROWS)})
    keys = {name: list(range(int(values.max()) + 1)) for name, values in columns.items()}
    budget = dp.Budget(epsilon=10**6, delta=1e-3)
    return data, dp.protect(data, unit=dp.ROW, keys=keys, bounds={"age": (0, 99), "v": (0, 1)}, budget=budget, name="t")


def rms(errors: list[tuple[float, int]]) -> float:
    """The root of the mean square over the cells of some tables."""
    return math.sqrt(sum(error**2 * cells for error, cells in errors) / sum(cells for _, cells in errors))


def compared(title: str, questions: dict[str, dp.Question], **price: Any) -> None:
    """The errors of some questions, one by one and together."""
    part = {"epsilon": price["epsilon"] / len(questions), "delta": price.get("delta", 0) / len(questions)}
    cells = {name: len(question.release(epsilon=0.001)) for name, question in questions.items()}
    apart = [(next(iter(q.explain(**part).accuracy.values())).amount, cells[name]) for name, q in questions.items()]
    start = time.perf_counter()
    found = dp.batch(questions).explain(**price)
    seconds = time.perf_counter() - start
    together = [(one.amount, cells[name.split(":")[0]]) for name, one in found.accuracy.items()]
    numbers = (rms(apart), rms(together), rms(apart) / rms(together))
    print(f"{title:44} {numbers[0]:9.1f} {numbers[1]:9.1f} {numbers[2]:7.2f} {seconds:8.2f} s  {found['strategy']}")


def timed(title: str, data: pa.Table, question: BatchQuestion, statement: str, **price: Any) -> None:
    """The time of a cube."""
    start = time.perf_counter()
    question.release(**price)
    ours = time.perf_counter() - start
    raw = duckdb.connect()
    raw.register("t", data)
    start = time.perf_counter()
    raw.sql(statement).fetchall()
    theirs = time.perf_counter() - start
    print(f"{title:44} {ours:9.2f} {theirs:9.2f} {ours / theirs:7.1f}")


def main() -> None:
    """All figures."""
    data, table = protected()
    print(f"{'error':44} {'apart':>9} {'together':>9} {'ratio':>7} {'planned':>10}")
    nested = {f"q{k}": table.filter(_.age >= k).count() for k in range(5, 85, 5)}
    compared("16 nested counts", nested, epsilon=1)
    compared("16 nested counts, delta 1e-6", nested, epsilon=1, delta=1e-6)
    ways = {f"by_{a}{b}": table.group_by(a, b).agg(n=_.count()) for a, b in (("c0", "c1"), ("c1", "c2"), ("c2", "c3"))}
    compared("3 two-way tables", ways, epsilon=1)
    compared("3 two-way tables, delta 1e-6", ways, epsilon=1, delta=1e-6)
    mixed = {**ways, **{f"q{k}": table.filter(_.age >= k).count() for k in (18, 40, 65)}}
    compared("3 two-way tables, 3 nested counts", mixed, epsilon=1)
    compared("3 two-way tables, 3 nested counts, delta 1e-6", mixed, epsilon=1, delta=1e-6)
    print(f"\n{f'seconds, {ROWS:,} rows':44} {'ours':>9} {'DuckDB':>9} {'ratio':>7}")
    for number in (2, 5):
        names = [f"c{i}" for i in range(number)]
        cube = table.group_by(names, cube=True).agg(n=_.count(), s=_.v.sum())
        text = f"SELECT {', '.join(names)}, COUNT(*), SUM(v) FROM t GROUP BY CUBE ({', '.join(names)})"  # noqa: S608 (names of our own)
        timed(f"cube of {number} columns", data, cube, text, epsilon=1)
        timed(f"cube of {number} columns, rho", data, cube, text, rho=0.5)


if __name__ == "__main__":
    main()
