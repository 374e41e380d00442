"""How long a question takes before an engine sees it: ``python benchmarks/compile.py``.

Ten aggregates by one key, with rows and with persons as units, on DuckDB. *Priced* is checking and pricing, *compiled*
is the statement of a plan that was not seen before, *again* the statement of an equal plan that was. Medians of 15, in
time of the processor.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

import pyarrow as pa

import discreet as dp
from discreet.engines.duckdb import DuckDB
from neighbor_bench import plan_of

ROUNDS = 15
TARGETS = "targets: compiled 75 ms, again 5 ms"
DATA = pa.table({"person": [1, 2], "plan": ["a", "b"], "x": [1.0, 2.0], "y": [1.0, 2.0], "n": [1, 2]})


def question(table: Any, first: int) -> dp.Question:
    """Ten aggregates; `first` makes them other ones than before."""
    t = table.filter(table.n > first)
    asked: dp.Question = t.group_by("plan").agg(
        rows=t.plan.count(),
        low=t.plan.count(where=t.x < 1),
        x=t.x.sum(),
        y=t.y.sum(),
        x_mean=t.x.mean(),
        y_mean=t.y.mean(),
        n_mean=t.n.mean(),
        x_var=t.x.var(),
        both=(t.x * t.y).mean(),
        ratio=(t.x / (t.y + 1)).mean(),
    )
    return asked


def milliseconds(run: Callable[[int], object]) -> float:
    """The median of runs, each of which is told its number, in time of the processor."""
    taken = []
    for i in range(ROUNDS):
        began = time.process_time()
        run(i)
        taken.append(1000 * (time.process_time() - began))
    return statistics.median(taken)


def main() -> None:
    """One line for each kind of unit."""
    facts: dict[str, Any] = {
        "bounds": {"x": (0, 5), "y": (0, 5), "n": (0, 5)},
        "keys": {"plan": ["a", "b"]},
        "budget": dp.Budget(epsilon=1),
        "name": "t",
    }
    for name, stated in (("rows", {"unit": dp.ROW}), ("persons", {"unit": "person", "max_rows": 2, "max_groups": 1})):
        table = dp.protect(DATA, **facts, **stated)
        engine = DuckDB(DATA, None)
        plans = [plan_of(question(table, i), epsilon=1) for i in range(ROUNDS)]
        priced = milliseconds(lambda i, table=table: plan_of(question(table, 1000 + i), epsilon=1))  # type: ignore[misc]  # as above
        compiled = milliseconds(lambda i, engine=engine, plans=plans: engine.statement(plans[i]))  # type: ignore[misc]  # as above
        again = milliseconds(lambda i, engine=engine, plans=plans: engine.statement(plans[i]))  # type: ignore[misc]  # as above
        print(f"{name:8} priced {priced:6.1f} ms   compiled {compiled:6.1f} ms   again {again:6.2f} ms   {TARGETS}")


if __name__ == "__main__":
    main()
