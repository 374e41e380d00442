"""The five tasks in discreet."""

from __future__ import annotations

from typing import Any

from ibis import _

import discreet as dp

VERSION = dp.__version__
PLANS = ["free", "25%", "50%", "95%", "deductible"]


def rows(path: str) -> dict[Any, float]:
    table = dp.protect(path, unit=dp.ROW, keys={"plan": PLANS}, budget=dp.Budget(epsilon=1))
    answer = table.group_by("plan").agg(rows=_.count()).release(epsilon=1)
    return answer.to_pandas().set_index("plan")["rows"].to_dict()


def visits(path: str) -> dict[Any, float]:
    table = dp.protect(path, unit=dp.ROW, bounds={"visits": (0, 50)}, keys={"plan": PLANS}, budget=dp.Budget(epsilon=1))
    answer = table.group_by("plan").agg(visits=_.visits.mean()).release(epsilon=1)
    return answer.to_pandas().set_index("plan")["visits"].to_dict()


def spending(path: str) -> dict[Any, float]:
    people = dp.protect(
        path, unit="person", bounds={"spending": (0, 5_000)}, keys={"plan": PLANS}, budget=dp.Budget(epsilon=1)
    )
    answer = people.group_by("plan", max_groups=1, max_rows=5).agg(spending=_.spending.mean()).release(epsilon=1)
    return answer.to_pandas().set_index("plan")["spending"].to_dict()


def median(path: str) -> dict[Any, float]:
    table = dp.protect(path, unit=dp.ROW, bounds={"spending": (0, 5_000)}, budget=dp.Budget(epsilon=1))
    answer = table.agg(median=_.spending.median()).release(epsilon=1)
    return {"all": answer.to_pandas()["median"].item()}


def levels(path: str) -> dict[Any, float]:
    table = dp.protect(path, unit=dp.ROW, budget=dp.Budget(epsilon=1, delta=1e-6))
    answer = table.group_by("level", keys=dp.UNKNOWN).agg(rows=_.count()).release(epsilon=1, delta=1e-6)
    return answer.to_pandas().set_index("level")["rows"].to_dict()
