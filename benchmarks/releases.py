"""What a release costs whatever the number of rows: ``python benchmarks/releases.py [columns ...]``.

A count and a mean of one column of a table with 1,000 rows and so many columns. *First* is the first release of a
process, after `dp.protect` has imported what it needs; *again* is the median of 15 fresh ones after it. Time of the
processor.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time

import numpy as np
import pyarrow as pa

import discreet as dp

ROWS = 1000
ROUNDS = 15


def question(columns: int) -> dp.Question:
    """The question about a table of so many columns, of which it names one."""
    values = np.random.default_rng(20).normal(size=(columns, ROWS))
    names = [f"x{i}" for i in range(columns)]
    rows = pa.table({"person": np.arange(ROWS), **dict(zip(names, values, strict=True))})
    bounds = dict.fromkeys(names, (0, 1))
    table = dp.protect(rows, unit="person", max_rows=1, bounds=bounds, budget=dp.Budget(epsilon=1000))
    asked: dp.Question = table.agg(n=lambda t: t.count(), mean=lambda t: t.x0.mean())
    return asked


def milliseconds(asked: dp.Question) -> float:
    """One fresh release, in time of the processor."""
    began = time.process_time()
    asked.release(epsilon=1, fresh=True)
    return 1000 * (time.process_time() - began)


def main() -> None:
    """One line for each number of columns, each in a process of its own."""
    if sys.argv[1:2] == ["one"]:
        asked = question(int(sys.argv[2]))
        first = milliseconds(asked)
        again = statistics.median(milliseconds(asked) for _ in range(ROUNDS))
        print(f"{sys.argv[2]:>5} columns   first {first:7.1f} ms   again {again:6.1f} ms", flush=True)
        return
    for columns in sys.argv[1:] or ("3", "30", "300"):
        subprocess.run([sys.executable, __file__, "one", columns], check=True)  # noqa: S603 (this file)


if __name__ == "__main__":
    main()
