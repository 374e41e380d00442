"""A table whose exact totals are easy to find again, and releases of all kinds about it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import discreet as dp
from discreet.curator.protected_table import Protected
from discreet.query.table import PrivateTable
from discreet.testing import splitmix
from ledger_fixtures import at_once, charge, folder, new_ledger, path, rewritten, run, start, used

__all__ = ("at_once", "charge", "folder", "new_ledger", "path", "rewritten", "run", "start", "used")
"""Fixtures that tests here ask for by name."""

PEOPLE = 12_347
ROWS = pa.table(
    {
        "person": range(PEOPLE),
        "plan": ["free" if i % 3 else "25%" for i in range(PEOPLE)],
        "age": [18 + i * i % 71 for i in range(PEOPLE)],
        "page": [f"/{min(i * i % 13, 3)}" for i in range(PEOPLE)],
        "visits": [1 + i * i % 53 for i in range(PEOPLE)],
    }
)


def protected(**budget: Any) -> PrivateTable:
    """A table with noise that is the same each time, and hides what it is added to."""
    table = dp.protect(
        ROWS,
        unit="person",
        bounds={"age": (0, 100), "visits": "auto"},
        max_rows=1,
        max_groups=1,
        budget=dp.Budget(**budget or {"epsilon": 9, "delta": 1e-3}),
        name="t",
    )
    source: Any = table._source
    return PrivateTable.of(Protected(source._engine, source.declaration, table.budget, lambda: splitmix(5)))


def _kept(table: PrivateTable, folder: Path) -> PrivateTable:
    """The same, with a folder for the steps of its series."""
    own: Any = table._source
    return PrivateTable.of(Protected(own._engine, own.declaration, table.budget, own._words, str(folder)))


def _cells(table: PrivateTable) -> Any:
    return table.group_by("plan", "page", cube=True, keys={**PLANS, "page": ["/0", "/1"]})


Ask = Callable[[PrivateTable, Path], Any]
PLANS = {"plan": ["free", "25%"]}
KINDS: dict[str, Ask] = {
    "plain": lambda t, _: t.agg(n=lambda t: t.count(), s=lambda t: t.age.sum()).release(epsilon=0.001),
    "grouped": lambda t, _: t.group_by("plan", keys=PLANS).agg(s=lambda t: t.age.sum()).release(epsilon=0.001),
    "ranks": lambda t, _: t.agg(m=t.age.median()).release(epsilon=0.001),
    "unknown keys": lambda t, _: (
        t.group_by("page", keys=dp.UNKNOWN).agg(s=lambda t: t.age.sum()).release(epsilon=0.02, delta=1e-4)
    ),
    "a report": lambda t, _: (
        t.mutate(a=lambda t: t.age * 2).agg(s=lambda t: t.a.sum()).release(epsilon=0.001, report="clipped")
    ),
    "automatic bounds": lambda t, _: t.agg(s=lambda t: t.visits.sum()).release(epsilon=0.02),
    "rounds": lambda t, _: t.count().release(within={"count": 1}, up_to=0.001),
    "file": lambda t, folder: (
        t.group_by("plan", keys=PLANS).agg(n=lambda t: t.count()).release(epsilon=0.001, to=folder / "a.parquet")
    ),
    "log": lambda t, _: dp.release_log(t, user="person", item="page", epsilon=0.05, delta=1e-3),
    "top": lambda t, _: t.top("page", keys=["/0", "/1", "/2", "/3"], k=2, epsilon=0.001),
    "choice": lambda t, _: t.choose(["/0", "/1"], score=lambda c: t.page == c, epsilon=0.001),
    "distinct values": lambda t, _: t.count_distinct("page", epsilon=0.000001),  # 1,000 is one of its exact scores
    "truncated total": lambda t, _: t.truncated_total("age", epsilon=0.001),
    "race": lambda t, _: t.truncated_total(limit="race", epsilon=0.001),
    "batch": lambda t, _: _cells(t).agg(n=lambda t: t.count(), s=lambda t: t.age.sum()).release(epsilon=0.001),
    "levels": lambda t, folder: (
        t.hierarchy(["plan"], keys=dp.public_keys(pa.table(PLANS)))
        .agg(s=lambda t: t.age.sum())
        .release(epsilon=0.001, to=folder / "levels")
    ),
    "kept steps": lambda t, folder: (
        _kept(t, folder)
        .series(by="age", start=18, until=30, every=1, max_steps=1)
        .agg(s=lambda t: t.age.sum())
        .release(through=20, epsilon=0.001, delta=1e-6)
    ),
    "k-means": lambda t, _: t.kmeans(["age"], n_clusters=2, algorithm="lloyd", rounds=1, epsilon=0.001),
}


@pytest.fixture(params=KINDS)
def ask(request: pytest.FixtureRequest) -> Ask:
    """A release of some kind."""
    return KINDS[request.param]


@pytest.fixture
def plain() -> Ask:
    """One of the plainest."""
    return KINDS["plain"]


@pytest.fixture
def hidden() -> Callable[..., PrivateTable]:
    """Makes tables for `ask`."""
    return protected
