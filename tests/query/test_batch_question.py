"""Batches, cubes and ranges that no release can answer: refused with a cure, and nothing is spent."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest
from ibis import _

import discreet as dp
from discreet.errors import InvalidParameter, InvalidQuery
from discreet.query.batch_question import BatchQuestion
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


def limited() -> PrivateTable:
    rows = {"who": list(range(60)) * 2, "plan": ["a", "b"] * 60, "age": list(range(120)), "x": [1.0] * 120}
    bounds: dict[str, Any] = {"age": (0, 120), "x": "auto"}
    declared: dict[str, Any] = {"keys": {"plan": ["a", "b"]}, "max_groups": 1, "max_rows": 2}
    return dp.protect(pa.table(rows), unit="who", bounds=bounds, budget=dp.Budget(epsilon=99, delta=1e-3), **declared)


def asked_of(table: PrivateTable, parts: str) -> BatchQuestion:
    """Listed tables, ranges or something to be found, beside each other."""
    known = {
        "listed": table.count(),
        "ranges": table.histogram("age", [0, 60, 120], ranges=True),
        "found": table.group_by("plan", keys=dp.UNKNOWN).agg(n=_.count()),
    }
    chosen: Any = {name: known[name] for name in parts.split()}
    made: BatchQuestion = dp.batch(chosen)
    return made


ALL_PARTS = ("listed", "listed ranges", "ranges", "listed found", "found", "listed ranges found")


@pytest.mark.parametrize("parts", ALL_PARTS)
def test_what_is_wrong_with_a_price_is_named(parts: str) -> None:
    """Not what was left out, whatever stands beside the tables."""
    table = limited()
    question = asked_of(table, parts)
    prices: tuple[dict[str, Any], ...] = ({"epsilon": 1}, {"epsilon": 1, "delta": 1e-6}, {"rho": 0.1})
    for price in prices:
        calls: tuple[Callable[..., Any], ...] = (question.explain, question.release)
        for call in calls:
            with pytest.raises(InvalidParameter, match="beside a stated price, got relative=True"):
                call(relative=True, **price)
            with pytest.raises(InvalidParameter, match="True or False, got relative=1"):
                call(relative=1, **price)
            with pytest.raises(InvalidParameter, match="within, got both"):
                call(within={question.names[0]: 1}, **price)
            with pytest.raises(InvalidParameter, match="got assume="):
                call(assume={"rows": 0}, **price)
    missing = r"within=.* beside relative=True, got none"
    if "found" in parts:
        missing = "a price where something is to be found, got relative=True"
    with pytest.raises(InvalidParameter, match=missing):
        question.explain(relative=True)
    assert table.budget.spent.epsilon == 0


def limits_to_find(table: PrivateTable, **auto: Any) -> BatchQuestion:
    found: BatchQuestion = dp.batch(n=table.count(), **auto)
    return found


NAMED: dict[str, tuple[str, Callable[[PrivateTable], Any]]] = {
    "groups to find": ("got max_groups='auto'", lambda t: limits_to_find(t, max_groups="auto")),
    "rows to find": ("got max_rows='auto'", lambda t: limits_to_find(t, max_rows="auto")),
    "bounds to find": (
        "got bounds='none of x'",
        lambda t: t.group_by("plan", cube=True, max_groups=1, max_rows=1).agg(s=_.x.sum()),
    ),
    "several groups of units": (
        "got max_groups=3",
        lambda t: dp.batch(n=t.nunique(), m=t.filter(_.plan == "a").nunique(), max_groups=3, max_rows=1),
    ),
    "a quantile": ("got q='quantile'", lambda t: dp.batch(n=t.count(), m=t.agg(q=_.age.median()))),
    "limits of nothing": (
        "got max_rows=3",
        lambda t: dp.batch(n=t.group_by("plan", keys=dp.UNKNOWN, max_groups=1).agg(n=_.count()), max_rows=3),
    ),
    "a column that is not there": (
        r"got within\['n'\]='m'",
        lambda t: dp.batch(n=t.count(), max_groups=1, max_rows=1).plan(within={"n": {"m": 1}}),
    ),
}


@pytest.mark.parametrize("case", NAMED)
def test_refusals_name_the_argument_at_fault(case: str) -> None:
    text, ask = NAMED[case]
    with pytest.raises((InvalidQuery, InvalidParameter), match=text):
        ask(limited())
