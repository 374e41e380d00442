"""Batches, paths, ranks and first looks over several tables under attack, by a person in all of them.

The tables are dense: few values, of which conditions keep many, and one person with more rows in each table than any
limit allows, who leaves all tables, or whose rows go to another person. What is measured moves no further than claimed.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st

import discreet as dp
from combined_tables import dense, protected
from depth import SLOW, examples
from discreet.engines.first_looks import key_totals, unit_histogram
from discreet.errors import InvalidQuery
from discreet.planning.group_keys import UNKNOWN
from discreet.planning.open_question_plan import Findings, plan_open_question
from discreet.planning.unspecified import open_values
from discreet.query.question import Question
from discreet.query.table import PrivateTable
from discreet.selection.gaussian_partition_selection import STEPS
from discreet.selection.partition_selection import KeySelection
from discreet.testing.neighbors import NeighborPair, Rows, databases, l1_distances, mass_distances
from drawn_batches import batches, distances, plan_of, totals_of_both
from drawn_hierarchies import hierarchies, level_distances, level_plan_of
from first_look_moves import moves
from neighbor_bench import Bench

SEVERAL = ("plan", "i", "b", "day", "at")
Moves = list[tuple[Any, Any]]
"""How far each measured number moves, and how far it may."""


def rank_moves(bench: Bench, plan: Any, *neighbors: NeighborPair) -> Moves:
    """How far the masses move that quantiles are chosen by, and how far they may."""
    before, after = (
        bench.masses(plan, *(rows.to_arrow() for rows in side))
        for side in zip(*((pair.first, pair.second) for pair in neighbors), strict=True)
    )
    most = 2 if neighbors[0].replaced else 1
    far = mass_distances(before, after)
    return [(moved, most * one.cuts.mass) for moved, one in zip(far, plan.ranks, strict=True)]


def open_moves(
    bench: Bench, question: Question, neighbors: tuple[NeighborPair, ...], *, most: int, steps: int
) -> Moves:
    """The bins of all histograms, how many keys move, and their totals together."""
    query = question._query
    priced = plan_open_question(query, question._open, epsilon=1, delta=1e-6)
    found: Moves = []
    for histogram in priced.histograms:
        apart = moves(bench, question, unit_histogram(query, histogram), *neighbors)
        found.append((sum(apart), histogram.noise.sensitivity))
    rule = KeySelection(epsilon=1, delta=1e-5, max_groups=most, method="weighted" if steps > 1 else "optimal")
    apart = moves(bench, question, key_totals(query, max_groups=most, steps=steps), *neighbors)
    units = query.units_changed
    weight = max(keys * rule.weight(keys) for keys in range(1, most + 1))
    return [*found, (len(apart), units * most), (sum(apart), units * weight)]


def last_moves(bench: Bench, question: Question, findings: Findings, *neighbors: NeighborPair) -> Moves:
    """The totals of what was settled, whatever was found."""
    priced = plan_open_question(question._query, question._open, epsilon=1, delta=1e-6)
    plan = priced.completed_plan(findings)
    if not plan.query.cells:
        return []
    apart = l1_distances(*totals_of_both(bench, plan, *neighbors))
    return [(far, block.sensitivity) for far, block in zip(apart, plan.blocks, strict=True)]


def all_within(found: Moves) -> bool:
    return all(moved <= claimed for moved, claimed in found)


@pytest.mark.long
@settings(max_examples=examples(3), suppress_health_check=SLOW)
@given(neighbors=dense() | databases(), data=st.data())
def test_batches_are_within_the_sensitivity_of_every_part(
    bench: Bench, neighbors: tuple[NeighborPair, ...], data: st.DataObject
) -> None:
    plan = plan_of(data, data.draw(batches(protected(data, bench, neighbors)), label="batch"))
    assert all_within(distances(bench, plan, *neighbors))


@pytest.mark.long
@settings(max_examples=examples(3), suppress_health_check=SLOW)
@given(neighbors=dense() | databases(), data=st.data())
def test_masses_of_ranks_are_within_the_sensitivity(
    bench: Bench, neighbors: tuple[NeighborPair, ...], data: st.DataObject
) -> None:
    table: Any = protected(data, bench, neighbors)
    where = table.b if data.draw(st.booleans(), label="where") else None
    names = LIMITS if table._source.declaration.unit else ()
    limits = {name: data.draw(st.integers(1, 3), label=name) for name in names}
    try:
        groups = table.group_by("plan", keys={"plan": ["a", "b", None]}, **limits)
        question = groups.agg(q=table.x.quantile(0.3, where=where), m=table.i.clip(0, 3).median())
        plan = bench.plan(question, epsilon=1)
    except InvalidQuery:
        reject()
    assert plan.ranks
    assert all_within(rank_moves(bench, plan, *neighbors))


@pytest.mark.long
@settings(max_examples=examples(3), suppress_health_check=SLOW)
@given(neighbors=dense() | databases(), data=st.data())
def test_paths_are_within_the_sensitivity_of_every_level(
    bench: Bench, neighbors: tuple[NeighborPair, ...], data: st.DataObject
) -> None:
    plan = level_plan_of(data, data.draw(hierarchies(protected(data, bench, neighbors)), label="hierarchy"))
    assert all_within(level_distances(bench, plan, *neighbors))


@pytest.mark.long
@settings(max_examples=examples(3), suppress_health_check=SLOW)
@given(neighbors=dense() | databases(), data=st.data())
def test_open_questions_are_within_the_claims_of_every_look(
    bench: Bench, neighbors: tuple[NeighborPair, ...], data: st.DataObject
) -> None:
    """The first looks, and the last one replayed on the neighbor with the findings frozen."""
    draw, unknown = data.draw, {"x": "auto", "v": "auto", "i": "auto"}
    facts: dict[str, Any] = {"max_rows": "auto", "max_groups": "auto"} if neighbors[0].unit else {}
    table = protected(data, bench, neighbors, bounds=unknown, **facts)
    names = draw(st.lists(st.sampled_from(SEVERAL), min_size=1, max_size=2, unique=True), label="groups")
    where = table.b if draw(st.booleans(), label="where") else None
    value = draw(st.sampled_from(("x", "v", "i")), label="value")
    try:
        question: Any = table.group_by(*names, keys=UNKNOWN).agg(s=table[value].sum(where=where), m=table.x.mean())
    except InvalidQuery:
        reject()
    most = draw(st.integers(1, 3), label="most") if not question._query.by_row else 1
    steps = draw(st.sampled_from((1, STEPS)), label="steps")
    assert all_within(open_moves(bench, question, neighbors, most=most, steps=steps))
    limits = {name: draw(st.sampled_from((1, 2, 4)), label=name) for name in question._open.limits}
    ends = tuple((Fraction(-draw(st.integers(0, 2))), Fraction(7)) for _value in open_values(question._query))
    look = key_totals(question._query, max_groups=99, steps=1)
    known = bench.found(question, look, *(pair.first.to_arrow() for pair in neighbors))
    keys = sorted((key if isinstance(key, tuple) else (key,) for key in known), key=repr)
    chosen = draw(st.lists(st.sampled_from(keys), unique=True)) if keys else []
    assert all_within(last_moves(bench, question, Findings(limits, ends, tuple(chosen)), *neighbors))


def edge(bench: Bench, *, replaced: bool, told_apart: int = 0) -> tuple[PrivateTable, tuple[NeighborPair, ...]]:
    """The rows of two tables together, and a person who has far more of them in each than may count; with `told_apart`
    that person has another name in the second table, as if limits were those of each table.
    """
    columns = (("person", pa.int64()), ("plan", pa.string()), ("x", pa.float64()))
    found = []
    for own in (0, told_apart):
        heavy = [(1 + own, plan, float(i % 7)) for plan in "abcd" for i in range(40)]
        new = [(9 + own, plan, float(i % 7)) for plan in "efg" for i in range(7)] if replaced else []
        before, after = (Rows(columns, (*own_rows, (2, "a", 1.0))) for own_rows in (heavy, new))
        found.append(NeighborPair(before, after, ("person",), replaced))
    facts: dict[str, Any] = {"neighbors": "replace-one", "units": 100} if replaced else {}
    arrow = [pair.first.to_arrow() for pair in found]
    first, second = bench.protect_all(arrow, unit="person", bounds={"x": (0, 5)}, **facts)
    together = first.union(second)
    bench.reads(together)
    return together, tuple(found)


LIMITS: dict[str, Any] = {"max_groups": 2, "max_rows": 3}
LETTERS = list("abcdefg")


def cube_at(bench: Bench, table: Any, *neighbors: NeighborPair) -> Moves:
    cube = table.group_by("plan", keys={"plan": LETTERS}, cube=True, **LIMITS)
    return distances(bench, cube.agg(n=table.plan.count(), s=table.x.sum()).plan(epsilon=1), *neighbors)


def ranks_at(bench: Bench, table: Any, *neighbors: NeighborPair) -> Moves:
    question = table.group_by("plan", keys={"plan": LETTERS}, **LIMITS).agg(q=table.x.median())
    return rank_moves(bench, bench.plan(question, epsilon=1), *neighbors)


def path_at(bench: Bench, table: Any, *neighbors: NeighborPair) -> Moves:
    places = dp.public_keys(pa.table({"plan": LETTERS}))
    question = table.hierarchy(["plan"], keys=places, **LIMITS).agg(n=table.plan.count())
    plan = question._plan((1, 0, None), None, (None, None), integers=False, confidence=0.95)
    return level_distances(bench, plan, *neighbors)


def looks_at(bench: Bench, table: Any, *neighbors: NeighborPair) -> Moves:
    question = table.group_by("plan", keys=UNKNOWN, max_groups="auto", max_rows="auto").agg(s=table.x.sum())
    return open_moves(bench, question, neighbors, most=2, steps=1)


def last_look_at(bench: Bench, table: Any, *neighbors: NeighborPair) -> Moves:
    question = table.group_by("plan", keys=UNKNOWN, **LIMITS).agg(n=table.plan.count(), s=table.x.sum())
    return last_moves(bench, question, Findings({}, (), tuple((one,) for one in LETTERS)), *neighbors)


ASKED: dict[str, Callable[..., Moves]] = {
    "cube": cube_at, "ranks": ranks_at, "path": path_at, "first looks": looks_at, "last look": last_look_at,
}  # fmt: skip


@pytest.mark.long
@pytest.mark.parametrize("replaced", [False, True], ids=["added", "replaced"])
@pytest.mark.parametrize("asked", ASKED)
def test_a_person_in_all_tables_uses_the_limits_up(bench: Bench, asked: str, *, replaced: bool) -> None:
    table, neighbors = edge(bench, replaced=replaced)
    found = ASKED[asked](bench, table, *neighbors)
    assert all_within(found)
    assert any(moved > 0.99 * float(claimed) for moved, claimed in found)


@pytest.mark.long
@pytest.mark.parametrize("replaced", [False, True], ids=["added", "replaced"])
@pytest.mark.parametrize("asked", ASKED)
def test_limits_of_each_table_alone_are_seen(bench: Bench, asked: str, *, replaced: bool) -> None:
    """Of a person who counts as two, where every claim is of one."""
    table, neighbors = edge(bench, replaced=replaced, told_apart=100)
    found = ASKED[asked](bench, table, *neighbors)
    assert any(moved > 1.9 * float(claimed) for moved, claimed in found)
