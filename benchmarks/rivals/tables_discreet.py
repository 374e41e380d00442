"""The same tables in discreet: all of them are planned together."""

from __future__ import annotations

from typing import Any

import numpy as np
from tables import ATTRIBUTES, DELTA, EPSILON, MARGINALS, ORDERED, RHO, filled

import discreet as dp

VERSION = dp.__version__
PRICES: dict[str, dict[str, Any]] = {
    "epsilon": {"epsilon": EPSILON},
    "delta": {"epsilon": EPSILON, "delta": DELTA},
    "rho": {"rho": RHO["rho"]},
}


def cube(path: str, price: str) -> dict[tuple[str, ...], Any]:
    table = dp.protect(path, unit=dp.ROW, keys=ATTRIBUTES, budget=dp.Budget(**PRICES[price]))
    answer = table.crosstabs(*ATTRIBUTES, ways=2).release(**PRICES[price])
    rows = {names: answer[names].to_pandas()[[*names, "count"]] for names in MARGINALS}
    return {names: filled(names, found.itertuples(index=False)) for names, found in rows.items()}


def ordered(path: str, column: str, price: str) -> Any:
    cells = ORDERED[column]
    table = dp.protect(path, unit=dp.ROW, bounds={column: (0, cells)}, budget=dp.Budget(**PRICES[price]))
    answer = table.histogram(column, list(range(cells + 1)), ranges=True).release(**PRICES[price])
    return np.asarray(answer.table.to_pandas()["count"])
