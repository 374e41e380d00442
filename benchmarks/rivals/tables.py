"""Runs one task of one library over and over, and prints its noisy tables and how long each run took, as JSON.

A library's file has ``counts(path, sets, price)``, which gives the table of each set at an even share of the price, and
where it has them ``cube(path, price)``, which plans all marginals together, and ``ordered(path, column, price)``, which
gives noisy cells whose sums are better than those of separate counts. Rows are protected: one comes or goes.
"""

from __future__ import annotations

import importlib
import itertools
import json
import math
import sys
import time
import warnings
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

Names = tuple[str, ...]
Tables = Mapping[Names, NDArray[np.float64]]

ATTRIBUTES: dict[str, list[Any]] = {
    "plan": ["free", "25%", "50%", "95%", "deductible"],
    "site": [1, 2, 3, 4, 5, 6],
    "health": ["excellent", "good", "fair", "poor"],
    "wave": [1, 2, 3, 4, 5],
    "female": [0, 1],
    "decade": [0, 1, 2, 3, 4, 5, 6],
}
ORDERED = {"level_128": 128, "level_256": 256}
KEYS: dict[str, list[Any]] = {**ATTRIBUTES, **{name: list(range(cells)) for name, cells in ORDERED.items()}}
MARGINALS: list[Names] = [names for ways in range(3) for names in itertools.combinations(ATTRIBUTES, ways)]
PAIRS = [names for names in MARGINALS if len(names) == 2]

EPSILON, DELTA = 1.0, 1e-6
RHO = {"delta": 0.024355, "rho": 0.5}
"""At which a library that knows zCDP alone is asked: the first gives (EPSILON, DELTA), by the tight conversion."""

APART, PLANNED = "each table", "planned together"
MEASURED = {APART: MARGINALS, "pairs, added up": PAIRS}
"""What is measured of the marginals, each at an even share, where a library does not plan them together."""


def shape(names: Names) -> tuple[int, ...]:
    """How many keys each of some attributes has."""
    return tuple(len(KEYS[name]) for name in names)


def filled(names: Names, rows: Iterable[tuple[Any, ...]]) -> NDArray[np.float64]:
    """The table with an axis for each attribute, from rows of keys and a count; cells that are not there are 0."""
    places = [{key: place for place, key in enumerate(KEYS[name])} for name in names]
    table = np.zeros(shape(names))
    for *keys, count in rows:
        table[tuple(place[key] for place, key in zip(places, keys, strict=True))] = count
    return table


def marginals(measured: Tables) -> list[float]:
    """The cells of all marginals, one after another: each from the measured table with the fewest cells to add up."""
    cells: list[float] = []
    for wanted in MARGINALS:
        fit = min((names for names in measured if set(wanted) <= set(names)), key=lambda names: math.prod(shape(names)))
        left_out = tuple(axis for axis, name in enumerate(fit) if name not in wanted)
        cells += measured[fit].sum(axis=left_out).ravel().tolist()
    return cells


def answer(library: Any, path: str, task: str, way: str, price: str) -> list[float] | None:
    """The cells of one run; None where the library has no such way."""
    name = "counts" if way != PLANNED else "ordered" if task in ORDERED else "cube"
    function = getattr(library, name, None)
    if function is None or price not in getattr(library, "PRICES", (price,)):
        return None
    if task not in ORDERED:
        return marginals(function(path, price) if way == PLANNED else function(path, MEASURED[way], price))
    cells = function(path, task, price) if way == PLANNED else function(path, [(task,)], price)[task,]
    return [float(count) for count in cells]


def answered(library: Any, path: str, asked: tuple[str, str, str], most: tuple[int, float]) -> dict[str, Any]:
    """The cells and seconds of so many runs, or of a first one and those that end within so many seconds after it."""
    answers: list[list[float]] = []
    seconds: list[float] = []
    while len(answers) < most[0] and (not answers or sum(seconds[1:]) + seconds[-1] < most[1]):
        began = time.perf_counter()
        found = answer(library, path, *asked)
        if found is None:
            return {"outcome": "absent", "version": library.VERSION}
        seconds.append(time.perf_counter() - began)
        answers.append(found)
    return {"outcome": "done", "version": library.VERSION, "answers": answers, "seconds": seconds}


def main() -> None:
    """Takes the library, the path, the task, the way, the price, and the most runs and seconds."""
    name, path, task, way, price, runs, seconds = sys.argv[1:]
    warnings.simplefilter("ignore")
    library = importlib.import_module(f"tables_{name}")
    found = answered(library, path, (task, way, price), (int(runs), float(seconds)))
    sys.stdout.write("\n" + json.dumps(found) + "\n")


if __name__ == "__main__":
    main()
