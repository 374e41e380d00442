"""A table of every kind of column, protected, and the exact answers of a question about it."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

import discreet as dp
from discreet.inference.estimate import estimates
from discreet.planning.planner import price

Exact = Callable[[dp.Question], list[dict[str, Any]]]

ROWS = pa.table(
    {
        "person": [1, 1, 2, 3, 4, 4, 5, None],
        "plan": ["free", "25%", "free", None, "Free ", "95%", "25%", "free"],
        "age": [17, 18, 40, 64, None, 33, 7, 90],
        "visits": [3, 0, 5, None, 12, 1, 0, 7],
        "spending": [12.5, 0.0, 2.5, 3.75, None, 0.5, 1.5, 80.0],
        "joined": [datetime.date(2020, 1, 5), datetime.date(2021, 12, 31), None, *[datetime.date(2019, 6, 15)] * 5],
        "seen": [datetime.datetime(2020, 1, 5, 13, 7, 59), None, *[datetime.datetime(1999, 12, 31)] * 6],  # noqa: DTZ001 (naive means UTC here)
        "smokes": [True, False, None, True, False, True, None, False],
    }
)
BOUNDS = {"age": (0, 100), "visits": (0, 50), "spending": (0, 100)}


def protected(data: Any = ROWS, **stated: Any) -> dp.PrivateTable:
    """The table, each row a unit, with bounds that clip nothing; `stated` says otherwise."""
    default = {"unit": dp.ROW, "bounds": BOUNDS, "budget": dp.Budget(epsilon=100), "name": "people"}
    return dp.protect(data, **{**default, **stated})


@pytest.fixture
def data() -> pa.Table:
    return ROWS


@pytest.fixture
def protect() -> Callable[..., dp.PrivateTable]:
    return protected


@pytest.fixture
def people() -> dp.PrivateTable:
    """The same rows with a unit that has several of them."""
    return protected(unit="person", max_groups=2, max_rows=2, keys={"plan": ["free", "25%"]})


@pytest.fixture
def rows() -> dp.PrivateTable:
    return protected(keys={"plan": ["free", "25%", None]})


@pytest.fixture(scope="session")
def exact() -> Exact:
    """The answer to a question without any noise, by way of the engine's exact totals."""

    def answer(question: dp.Question) -> list[dict[str, Any]]:
        plan = price(question._query, epsilon=1)
        totals = question._source._engine.totals(plan)  # type: ignore[attr-defined]  # the curator's source has one
        columns = {name: estimate.values.tolist() for name, estimate in estimates(plan, totals, 0.95).items()}
        keys = plan.query.keys
        named = [{}] if keys is None else [dict(zip(keys.names, row, strict=True)) for row in keys.rows]
        return [{**key, **{name: values[i] for name, values in columns.items()}} for i, key in enumerate(named)]

    return answer
