"""Runs one task of one library over and over, and prints its answers and how long each took, as JSON.

A library's file has a function for each task that it can do, named as in `TASKS`; it takes the table's path and returns
a value for each group. Each may spend epsilon 1 and, where it needs one, a delta of 1e-6.
"""

from __future__ import annotations

import importlib
import json
import sys
import time
import warnings
from typing import Any

TASKS = {
    "rows": "How many rows has each plan? A row is protected",
    "visits": "How many visits are there in a row, by plan? A row is protected",
    "spending": "What does a year cost, by plan? A person is protected, with all rows",
    "median": "What is the median of spending? A row is protected",
    "levels": "How often does each amount occur, of amounts that nobody listed? A row is protected",
}


def answered(name: str, task: str, path: str, runs: int) -> dict[str, Any]:
    """The answers and seconds of all runs but the first, which warms up."""
    library = importlib.import_module(f"tasks_{name}")
    function = getattr(library, task, None)
    if function is None:
        return {"outcome": "absent", "version": library.VERSION}
    answers, seconds = [], []
    for _ in range(runs + 1):
        began = time.perf_counter()
        answer = function(path)
        seconds.append(time.perf_counter() - began)
        answers.append({str(key): float(value) for key, value in answer.items()})
    return {"outcome": "done", "version": library.VERSION, "answers": answers[1:], "seconds": seconds[1:]}


def main() -> None:
    """Takes the library, the path, the task and the number of runs from the command line."""
    name, path, task, runs = sys.argv[1:]
    warnings.simplefilter("ignore")
    sys.stdout.write("\n" + json.dumps(answered(name, task, path, int(runs))) + "\n")


if __name__ == "__main__":
    main()
