"""The privacy claim under attack: random tables, random neighbors, random questions.

Whatever is asked, the integer totals of two neighbors are at most the claimed sensitivity apart, in every block, before
any noise; and no accepted question ever fails, since a failure that one row brings about gives that row away.

In CI the examples are the same ones every time (tests/conftest.py): whoever looks at a red run sees it red again, and a
change is not blamed for what another one broke. New examples are drawn at a desk, where `FUZZ=5000` asks for many.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st

import discreet.planning.noise_laws as pricing
from depth import SLOW, examples
from discreet.errors import InvalidQuery
from discreet.mechanisms.staircase import Staircase
from discreet.planning.noise_laws import Law
from discreet.planning.plan import Plan
from discreet.privacy.definitions import ROW
from discreet.query.question import Question
from discreet.query.table import PrivateTable
from discreet.sensitivity.contributions import Size, sensitivity
from discreet.testing.neighbors import NeighborPair, Rows, databases, l1_distances, mass_distances, pairs, without
from neighbor_bench import Bench, plan_of
from random_questions import combined, questions

EXAMPLES = examples()
EPSILONS = (0.001, 0.1, 1, 3, 1000)


def declared(pair: NeighborPair, max_rows: int) -> dict[str, Any]:
    """What the curator states of the tables of a pair."""
    facts: dict[str, Any] = {
        "unit": list(pair.unit) or ROW,
        "bounds": {"x": (0, 5), "day": ("1960-01-01", "2030-01-01"), "at": ("1960-01-01", "2030-01-01")},
    }
    if pair.unit:
        facts["max_rows"] = max_rows
    if pair.replaced:
        facts |= {"neighbors": "replace-one", "units" if pair.unit else "rows": 100}
    return facts


def draw_plan(data: st.DataObject, bench: Bench, table: PrivateTable) -> Plan:
    """A plan of a random question, with noise of any law; one that has no price (the count of a public number of rows)
    is drawn again.
    """
    asked: Question = data.draw(questions(table), label="asked")
    delta = data.draw(st.sampled_from((0, 1e-6)), label="delta")
    try:
        plan = bench.plan(asked, epsilon=data.draw(st.sampled_from(EPSILONS), label="epsilon"), delta=delta)
    except InvalidQuery:
        reject()
    return data.draw(st.sampled_from((plan, *plan.runners_up)), label="plan")


def distances(bench: Bench, plan: Plan, *neighbors: NeighborPair) -> list[tuple[int, Fraction]]:
    """How far the totals of two neighbors are apart, and how far they may be, for each block of a plan: in L1 norm, or
    both as squares of the L2 norm; and how many totals one unit changes where there may be one alone.
    """
    totals, masses = bench.totals(plan), bench.masses(plan)
    others = bench.totals(plan, *(pair.second.to_arrow() for pair in neighbors))
    squared = plan.law is Law.GAUSSIAN
    apart = l1_distances(totals, others)
    if squared:
        apart = [int(((x.astype(object) - y.astype(object)) ** 2).sum()) for x, y in zip(totals, others, strict=True)]
    claimed = [block.sensitivity ** (1 + squared) for block in plan.blocks]
    changed = [int(np.count_nonzero(np.asarray(x != y))) for x, y in zip(totals, others, strict=True)]
    alone = [n for n, block in zip(changed, plan.blocks, strict=True) if isinstance(block.noise, Staircase)]
    shifted = mass_distances(masses, bench.masses(plan))
    changes = 2 if neighbors[0].replaced else 1
    mass = [(far, Fraction(changes * one.cuts.mass)) for far, one in zip(shifted, plan.ranks, strict=True)]
    return [*zip(apart, claimed, strict=True), *((n, Fraction(1)) for n in alone), *mass]


@pytest.mark.long
@settings(max_examples=EXAMPLES, suppress_health_check=SLOW)
@given(pair=pairs(), data=st.data())
def test_neighbors_are_within_the_sensitivity(bench: Bench, pair: NeighborPair, data: st.DataObject) -> None:
    table = bench.protect(pair.first.to_arrow(), **declared(pair, data.draw(st.integers(1, 5), label="max_rows")))
    plan = draw_plan(data, bench, table)
    assert all(distance <= claimed for distance, claimed in distances(bench, plan, pair))


def protected_all(bench: Bench, neighbors: Sequence[NeighborPair], max_rows: int) -> list[PrivateTable]:
    return bench.protect_all([pair.first.to_arrow() for pair in neighbors], **declared(neighbors[0], max_rows))


@pytest.mark.long
@settings(max_examples=examples(3), suppress_health_check=SLOW)
@given(neighbors=databases(), data=st.data())
def test_neighbors_in_all_tables_are_within_the_sensitivity(
    bench: Bench, neighbors: tuple[NeighborPair, ...], data: st.DataObject
) -> None:
    """One unit leaves all tables, enters all, or is replaced in all; the question is about several of them."""
    tables = protected_all(bench, neighbors, data.draw(st.integers(1, 5), label="max_rows"))
    plan = draw_plan(data, bench, data.draw(combined(tables), label="table"))
    assert all(distance <= claimed for distance, claimed in distances(bench, plan, *neighbors))


@pytest.mark.long
@settings(max_examples=examples(10), suppress_health_check=SLOW)
@given(pair=pairs().filter(lambda pair: pair.unit != ()), data=st.data())
def test_rows_without_a_unit_move_nothing(bench: Bench, pair: NeighborPair, data: st.DataObject) -> None:
    table = bench.protect(pair.first.to_arrow(), **declared(pair, 2))
    plan = draw_plan(data, bench, table)
    named = [row for row in pair.first.rows if pair.first.unit_of(row, pair.unit) is not None]
    totals, masses = bench.totals(plan), bench.masses(plan)
    others = bench.totals(plan, pair.first.with_rows(named[::-1]).to_arrow())
    assert set(l1_distances(totals, others)) | set(mass_distances(masses, bench.masses(plan))) == {0}


def edge(bench: Bench) -> list[tuple[int, Fraction]]:
    """How far a person with far more rows and groups than the limits moves each block, and what the plan claims."""
    rows = [(1, plan, float(i % 7)) for plan in "abcdef" for i in range(40)]
    table = Rows((("person", pa.int64()), ("plan", pa.string()), ("x", pa.float64())), tuple(rows))
    facts: dict[str, Any] = {"unit": "person", "bounds": {"x": (0, 5)}, "max_groups": 2, "max_rows": 3}
    protected = bench.protect(table.to_arrow(), keys={"plan": list("abcdef")}, **facts)
    asked = protected.group_by("plan").agg(
        n=protected.plan.count(), m=protected.x.mean(), v=protected.x.var(), q=protected.x.median()
    )
    plan = plan_of(asked, epsilon=1)
    totals, masses = bench.totals(plan), bench.masses(plan)
    apart = l1_distances(totals, bench.totals(plan, without(table, ["person"], (1,)).to_arrow()))
    found = [(distance, block.sensitivity) for distance, block in zip(apart, plan.blocks, strict=True)]
    shifted = mass_distances(masses, bench.masses(plan))
    assert all(0.9999 * one.cuts.mass < far <= one.cuts.mass for far, one in zip(shifted, plan.ranks, strict=True))
    return found


def test_a_unit_alone_contributes_no_more_than_it_may(bench: Bench) -> None:
    """The claim at its edge: limits are used up to the last step."""
    apart = edge(bench)
    assert apart
    for distance, claimed in apart:
        assert 0.999999 * claimed < distance <= claimed


Sensitivity = Callable[..., Size]

FAULTS: dict[str, Callable[[Sensitivity], Sensitivity]] = {
    "half the sensitivity": lambda sensitivity: lambda *args, **kwargs: -(-sensitivity(*args, **kwargs) // 2),
    "rows alone": lambda sensitivity: (
        lambda steps, limits, *args, **kwargs: sensitivity(
            steps, type(limits)(max_rows=limits.max_rows), *args, **kwargs
        )
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_false_claim_is_seen_at_the_edge(bench: Bench, monkeypatch: pytest.MonkeyPatch, fault: str) -> None:
    monkeypatch.setattr(pricing, "sensitivity", FAULTS[fault](sensitivity))
    assert all(distance > claimed for distance, claimed in edge(bench))
