"""Batches, cubes and ranges that no release can answer: refused with a cure, and nothing is spent."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest
from ibis import _

import discreet as dp
from discreet.errors import InvalidParameter, InvalidQuery
from discreet.query.table import PrivateTable

ROWS = pa.table({"plan": ["a", "b"] * 20, "age": list(range(40)), "x": [float(i % 7) for i in range(40)]})


def protected() -> PrivateTable:
    return dp.protect(
        ROWS,
        unit=dp.ROW,
        budget=dp.Budget(epsilon=10, delta=1e-3),
        bounds={"age": (0, 90), "x": (0, 6)},
        keys={"plan": ["a", "b"]},
    )


UNANSWERABLE: dict[str, tuple[str, Callable[[PrivateTable], Any]]] = {
    "a domain too large to be written out": (
        "cells in all tables",
        lambda t: (
            t.group_by("age", b=_.x.floor(), cube=True, keys={"age": list(range(5000)), "b": list(range(5000))})
            .agg(n=_.count())
            .release(epsilon=1)
        ),
    ),
    "more conditions than fit": (
        "at most 60 conditions on a column",
        lambda t: dp.batch({f"q{k}": t.filter(_.age > k).count() for k in range(61)}).release(epsilon=1),
    ),
    "an answer that is 0 whoever is there": (
        "conditions that some row can meet",
        lambda t: dp.batch(n=t.count(), m=t.filter(_.age > 5, _.age < 2).count()).release(epsilon=1),
    ),
    "a target that no epsilon reaches": (
        "an error that some epsilon reaches",
        lambda t: dp.batch(n=t.count(), old=t.filter(_.age > 40).count()).release(within={"n": 1e-30}),
    ),
    "a worst range that no epsilon reaches": (
        "an error that some epsilon reaches",
        lambda t: t.histogram("age", [0, 45, 90], ranges=True).release(within=1e-30),
    ),
    "edges that overlap": (
        "rising order",
        lambda t: t.histogram("age", [0, 50, 40, 90], ranges=True).release(epsilon=1),
    ),
    "a question of another budget": (
        "questions about one protected table",
        lambda t: dp.batch(n=t.count(), m=protected().count()).release(epsilon=1),
    ),
    "a quantile in a cube": (
        "columns that add up",
        lambda t: t.group_by("plan", cube=True).agg(m=_.x.median()).release(epsilon=1),
    ),
    "unknown keys in a cube": (
        "keys that are lists",
        lambda t: t.group_by("plan", keys=dp.UNKNOWN, cube=True).agg(n=_.count()).release(epsilon=1, delta=1e-6),
    ),
}


@pytest.mark.parametrize("case", UNANSWERABLE)
def test_what_no_batch_can_answer_costs_nothing(case: str) -> None:
    text, ask = UNANSWERABLE[case]
    table = protected()
    with pytest.raises((InvalidQuery, InvalidParameter), match=text) as caught:
        ask(table)
    assert "\nHint: " in str(caught.value)
    assert table.budget.spent.epsilon == 0
