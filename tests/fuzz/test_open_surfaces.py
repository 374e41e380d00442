"""What can be seen beside an answer that left something open: of the rows, nothing but what a mechanism let through."""

from __future__ import annotations

import json
import logging
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from ibis import _

import discreet as dp
from discreet.testing import not_private

COMMON = ["north", "south", "west"]


def rows(*more: tuple[int | None, str | None, float | None]) -> pa.Table:
    """Three hundred people in three places, and some rows more."""
    rng = np.random.default_rng(1)
    everybody: list[Any] = [(i, COMMON[i % 3], float(v)) for i, v in enumerate(rng.lognormal(2, 1, 300))]
    parts = list(zip(*(everybody + list(more)), strict=True))
    kinds = (pa.int64(), pa.string(), pa.float64())
    return pa.table({name: pa.array(part, kind) for name, part, kind in zip("pgv", parts, kinds, strict=True)})


OTHERS: dict[str, list[tuple[int | None, str | None, float | None]]] = {
    "a key of one's own": [(999, "a place that nobody else knows " + "x" * 300, 1.0)],
    "a key that sorts first": [(999, "", 1.0)],
    "a key that looks like another": [(999, "North", 1.0), (999, "north ", 1.0)],
    "NULL": [(999, None, None), (None, "north", 1.0)],
    "an outlier": [(999, "north", 1e300)],
    "infinities": [(999, "north", float("inf")), (999, "south", float("-inf")), (999, "west", float("nan"))],
    "many keys": [(999, f"key {i}", 1.0) for i in range(500)],
    "many rows": [(999, "north", 1.0)] * 500,
}


def several(table: Any) -> Any:
    return table.group_by("g", keys=dp.UNKNOWN).agg(n=_.count(), m=_.v.mean(), u=_.p.nunique())


def lone(table: Any) -> Any:
    return table.per_unit(g=_.g.min()).group_by("g", keys=dp.UNKNOWN).agg(n=_.count())


def surfaces(data: pa.Table, caplog: pytest.LogCaptureFixture, ask: Any = several) -> dict[str, Any]:
    caplog.clear()
    with caplog.at_level(logging.DEBUG):
        stated: dict[str, Any] = {
            "unit": "p",
            "bounds": {"v": "auto"},
            "max_rows": "auto",
            "max_groups": 2,
            "name": "d",
        }
        budget = dp.Budget(epsilon=100, delta=1e-2)
        table = not_private(dp.protect(data, budget=budget, **stated), seed=3)
        asked = ask(table)
        answer = asked.release(epsilon=8, delta=1e-6)
    receipt = {name: fact for name, fact in answer.receipt.items() if name != "time"}
    return {
        "question": repr(asked),
        "explain": repr(asked.explain(epsilon=8, delta=1e-6)),
        "first looks": json.dumps(asked.explain(epsilon=8, delta=1e-6)["first looks"]),
        "receipt": json.dumps(receipt),
        "schema": str(answer.to_pyarrow().schema),
        "keys": answer.to_pyarrow()["g"].to_pylist(),
        "spent": str(table.budget.spent),
        "entries": [(entry.what, entry.key, str(entry.guarantee)) for entry in table.budget.entries()],
        "logs": [(record.name, record.getMessage()) for record in caplog.records],
        "shape": (len(answer), answer.columns, answer.groups),
    }


@pytest.mark.long
@pytest.mark.cases
@pytest.mark.parametrize("ask", [several, lone])
@pytest.mark.parametrize("other", OTHERS)
def test_one_person_more_shows_nowhere(other: str, ask: Any, caplog: pytest.LogCaptureFixture) -> None:
    """Keys and bounds come out of mechanisms; the words of this test are such that they come out the same."""
    plain, changed = (surfaces(rows(*more), caplog, ask) for more in ((), OTHERS[other]))
    assert plain["keys"] == COMMON
    assert plain == changed


def test_an_empty_table_looks_like_any_other(caplog: pytest.LogCaptureFixture) -> None:
    """But for the keys and bounds that were found, and what follows from them."""
    empty, full = surfaces(rows().slice(0, 0), caplog), surfaces(rows(), caplog)
    same = ("question", "explain", "first looks", "schema", "spent", "entries", "logs")
    assert {name: empty[name] for name in same} == {name: full[name] for name in same}
    assert empty["keys"] == []


@pytest.mark.parametrize("keys", [dp.UNKNOWN, dp.UNKNOWN_BY_COUNT], ids=repr)
def test_a_key_of_one_person_is_shown_about_as_often_as_delta_says(keys: Any) -> None:
    """Two thousand people, each with two keys of their own, in one release at delta = 0.02, of which half finds keys
    or all of it: no more of them than that are given away (binomial, one in a million).
    """
    data = pa.table({"p": np.repeat(np.arange(2000), 2), "g": [f"{i}" for i in range(4000)]})
    table = dp.protect(data, unit="p", budget=dp.Budget(epsilon=10, delta=0.5, own_delta=0.5), name="d")
    answer = table.group_by("g", keys=keys, max_groups=2).agg(n=_.p.nunique()).release(epsilon=1, delta=0.02)
    people = {int(key) // 2 for key in answer.to_pyarrow()["g"].to_pylist()}
    assert 0 < len(people) <= 75
