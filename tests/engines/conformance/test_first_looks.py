"""First looks on each engine: what DuckDB finds, and no further between neighbors than claimed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from depth import examples
from discreet.curator.open_question_transaction import findings_of
from discreet.engines.first_looks import key_totals, unit_histogram
from discreet.planning.group_keys import UNKNOWN, UNKNOWN_BY_COUNT
from discreet.planning.open_question_plan import plan_open_question
from discreet.selection.gaussian_partition_selection import STEPS
from discreet.testing import splitmix
from discreet.testing.neighbors import Rows, rows_of
from neighbor_bench import Bench

EXAMPLES = examples(60)
COLUMNS = (
    *(("person", pa.int64()), ("plan", pa.string()), ("day", pa.date32())),
    *(("v", pa.float64()), ("i", pa.int32()), ("b", pa.bool_())),
)

_benches: dict[str, Bench] = {}


@pytest.fixture
def bench(backend_of: Callable[[str], Any], other: str) -> Bench:
    return _benches.setdefault(other, Bench(backend_of(other)))


def asked(bench: Bench, data: pa.Table) -> Any:
    facts: dict[str, Any] = {"unit": "person", "bounds": {"v": "auto", "i": "auto"}}
    table = bench.protect(data, max_groups="auto", max_rows="auto", **facts)
    grouped = table.group_by("plan", "day", keys=UNKNOWN)
    return grouped.agg(s=lambda t: t.v.sum(), m=lambda t: (t.i / 3).mean(where=t.b))


@pytest.mark.long
def test_engines_find_the_same(bench: Bench) -> None:
    rng, size = np.random.default_rng(3), 2000
    data = pa.table(
        {
            "person": rng.integers(0, 100, size),
            "plan": pa.array([None if p == 9 else f"p{p}" for p in rng.zipf(1.5, size).clip(0, 30)]),
            "day": pa.array(rng.integers(18_000, 18_003, size).astype(np.int32), pa.date32()),
            "v": rng.normal(size=size) * 10.0 ** rng.integers(-12, 20, size),
            "i": pa.array(rng.integers(-1000, 1000, size).astype(np.int32)),
            "b": rng.integers(0, 2, size).astype(bool),
        }
    )
    found = []
    for one in (Bench(), bench):
        question = asked(one, data)
        histograms = plan_open_question(question._query, question._open, epsilon=1, delta=1e-6).histograms
        looks = [unit_histogram(question._query, histogram) for histogram in histograms]
        looks += [key_totals(question._query, max_groups=99, steps=steps) for steps in (1, STEPS)]
        looks.append(key_totals(question._query, max_groups=99, steps=1, max_rows=3))
        found.append([one.found(question, look) for look in looks])
    assert len(found[0]) == 7
    assert found[0] == found[1]


@pytest.mark.parametrize("rows", [False, True])
def test_engines_show_the_same_lone_counts(bench: Bench, *, rows: bool) -> None:
    """Units by unknown keys, or their rows, in one look, with noise that can be foreseen: the same keys and counts."""
    rng, size = np.random.default_rng(4), 2000
    plans = pa.array([None if p == 9 else f"p{p}é" for p in rng.zipf(1.5, size).clip(0, 30)])
    data = pa.table({"person": rng.integers(0, 300, size), "plan": plans})
    looks = []
    for one in (Bench(), bench):
        persons: Any = one.protect(data, unit="person")
        if rows:
            grouped = persons.group_by("plan", keys=UNKNOWN_BY_COUNT, max_groups=31, max_rows=2)
        else:
            grouped = persons.per_unit(plan=lambda t: t.plan.min()).group_by("plan", keys=UNKNOWN)
        asked, epsilon = grouped.agg(n=lambda t: t.count()), 62 if rows else 2
        found = plan_open_question(asked._query, asked._open, epsilon=epsilon, delta=1e-6)
        assert found.placeholder_plan.shown
        looks.append(findings_of(asked._source._engine, found, splitmix(7)))
        assert ("least(" if rows else "min(") in asked.explain(epsilon=epsilon, delta=1e-6)["sql"].lower()
    counts = [look.counts.tolist() for look in looks if look.counts is not None]
    assert looks[0].keys == looks[1].keys
    assert counts[0] == counts[1]
    assert len(counts[0]) > 3


@settings(max_examples=EXAMPLES, suppress_health_check=list(HealthCheck))
@given(table=rows_of(COLUMNS), data=st.data())
def test_one_unit_more_moves_what_it_may(bench: Bench, table: Rows, data: st.DataObject) -> None:
    question = asked(bench, table.to_arrow())
    units = table.units(["person"])
    gone = data.draw(st.sampled_from(units)) if units else None
    less = table.with_rows(row for row in table.rows if table.unit_of(row, ["person"]) != gone)
    for histogram in plan_open_question(question._query, question._open, epsilon=1, delta=1e-6).histograms:
        assert sum(apart(bench, question, unit_histogram(question._query, histogram), table, less)) <= 1
    moves = apart(bench, question, key_totals(question._query, max_groups=2, steps=STEPS), table, less)
    assert len(moves) <= 2
    assert sum(move**2 for move in moves) <= STEPS**2
    moves = apart(bench, question, key_totals(question._query, max_groups=2, steps=1, max_rows=3), table, less)
    assert len(moves) <= 2
    assert max(moves, default=0) <= 3


def apart(bench: Bench, question: Any, look: Any, first: Rows, second: Rows) -> list[int]:
    before, after = (bench.found(question, look, rows.to_arrow()) for rows in (first, second))
    return [move for key in before.keys() | after.keys() if (move := abs(before.get(key, 0) - after.get(key, 0)))]
